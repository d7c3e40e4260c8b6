//! Problems with their place, and the line itself.

use landform_api::project::ProjectProblem;

/// A line longer than this is cut.
const LONGEST_LINE: usize = 160;

/// Kinds whose fields hold credentials.
const SECRET_KINDS: [&str; 2] = ["Secret", "Target"];

/// A problem of a file as a whole.
pub(crate) fn of_file(file: &str, message: impl Into<String>) -> ProjectProblem {
    ProjectProblem {
        file: file.to_owned(),
        message: message.into(),
        ..ProjectProblem::default()
    }
}

/// A problem at a place in a text, which is the file's.
pub(crate) fn at(
    file: &str,
    text: &str,
    (line, column): (usize, usize),
    message: impl Into<String>,
) -> ProjectProblem {
    ProjectProblem {
        file: file.to_owned(),
        line,
        column,
        excerpt: excerpt(text, line),
        message: message.into(),
    }
}

/// The line itself. In a file with Secrets or Targets, values are left out: problems are shown to more people than those
/// who may read Secrets.
pub(crate) fn excerpt(text: &str, line: usize) -> String {
    let Some(found) = text.lines().nth(line.saturating_sub(1)) else {
        return String::new();
    };
    let found = if has_secrets(text) {
        hidden(found)
    } else {
        found.to_owned()
    };
    let found = found.trim_end();
    if found.chars().count() <= LONGEST_LINE {
        return found.to_owned();
    }
    let kept: String = found.chars().take(LONGEST_LINE).collect();
    kept + "…"
}

pub(crate) fn has_secrets(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start_matches(['-', ' ', '{', ',']);
        let line = line.trim_start_matches('"');
        let value = line
            .strip_prefix("kind")
            .map(|rest| rest.trim_start_matches(['"', ':', ' ', '\'']).trim_end());
        value.is_some_and(|value| SECRET_KINDS.iter().any(|kind| value.starts_with(kind)))
            || SECRET_KINDS.iter().any(|kind| {
                let line = line.replace([' ', '"', '\''], "");
                line.contains(&format!("kind:{kind}"))
            })
    })
}

/// A line without what stands behind its key.
fn hidden(line: &str) -> String {
    let known = [
        "kind",
        "apiVersion",
        "name",
        "namespace",
        "type",
        "metadata",
    ];
    let trimmed = line.trim_start_matches([' ', '-', '\t']);
    match line.split_once(':') {
        Some((key, rest)) if !rest.trim().is_empty() => {
            let word = trimmed
                .split(':')
                .next()
                .unwrap_or_default()
                .trim_matches('"');
            if known.contains(&word) {
                line.to_owned()
            } else {
                format!("{key}: …")
            }
        }
        Some(_) => line.to_owned(),
        None if trimmed.is_empty() || trimmed.chars().all(|c| "-{}[],.".contains(c)) => {
            line.to_owned()
        }
        None => {
            let indent = &line[..line.len() - trimmed.len()];
            format!("{indent}…")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_itself_is_shown_but_not_the_values_of_secrets() {
        let plain = "kind: ConfigMap\ndata:\n  a: b c\n";
        assert_eq!(excerpt(plain, 3), "  a: b c");
        assert_eq!(excerpt(plain, 9), "");
        for text in [
            "kind: Secret\ndata:\n  a: hush\n",
            "data: {}\n---\n- \"kind\": \"Secret\"\n  a: hush\n  hush\n",
            "kind: Target\nspec:\n  config: hush\n",
            "{\"apiVersion\": \"v1\", \"kind\": \"Secret\",\n \"a\": \"hush\"}",
        ] {
            for line in 1..6 {
                assert!(!excerpt(text, line).contains("hush"), "{text}");
            }
        }
        assert_eq!(excerpt("kind: Secret\n  a: hush\n", 2), "  a: …");
    }
}
