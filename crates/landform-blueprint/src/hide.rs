//! What may be said of what went wrong while secrets were rendered.
//!
//! A message can hold whatever a template made of a secret: a name, a key of its output, the text of `fail`. As with values, it is
//! compared with what the rendering with stand-ins says at the same place, and what differs is not shown. So no message has to know
//! whether what it names is secret.

use crate::problem::{BlueprintError, Problem};
use crate::secret::MASK;

/// Instead of a message that the rendering with stand-ins doesn't have.
const DEPENDS: &str = "what is wrong here depends on a secret import, so it isn't shown: `landform blueprint render` with values of \
     your own as --imports shows it";
/// Marks around a word that are no part of it.
const MARKS: &[char] = &['"', '`', '\'', ',', ';', ':', '(', ')', '[', ']', '{', '}'];

/// An error of the real rendering as it may be shown, beside that of the rendering with stand-ins if that failed, too.
pub(crate) fn error(real: BlueprintError, twin: Option<BlueprintError>) -> BlueprintError {
    let twin = twin.map(|twin| twin.problems);
    BlueprintError {
        problems: problems(real.problems, twin.as_deref()),
    }
}

/// Problems as they may be shown, beside those of the rendering with stand-ins; none if that has no such list.
pub(crate) fn problems(real: Vec<Problem>, twin: Option<&[Problem]>) -> Vec<Problem> {
    let twins = twin.unwrap_or_default();
    let same_length = twins.len() == real.len();
    let shown = real.into_iter().enumerate().map(|(at, problem)| {
        if twins.contains(&problem) {
            return problem;
        }
        let twin = twins.get(at).filter(|_| same_length);
        let compared = twin.and_then(|twin| compared(&problem, twin));
        compared.unwrap_or_else(|| Problem {
            path: String::new(),
            message: DEPENDS.to_owned(),
            // Where it is in a template is its author's text. An output has no excerpts.
            ..problem
        })
    });
    let mut shown: Vec<_> = shown.collect();
    shown.dedup();
    shown
}

/// A problem without what differs from its twin; none if they are about different things.
fn compared(problem: &Problem, twin: &Problem) -> Option<Problem> {
    if problem.file != twin.file || problem.excerpt != twin.excerpt {
        return None;
    }
    Some(Problem {
        path: text(&problem.path, &twin.path, '.')?,
        message: text(&problem.message, &twin.message, ' ')?,
        ..problem.clone()
    })
}

/// A text with a mask in place of each part that differs; none if it has not the same parts.
fn text(real: &str, twin: &str, between: char) -> Option<String> {
    if real == twin {
        return Some(real.to_owned());
    }
    let (parts, twins): (Vec<_>, Vec<_>) = (parts(real, between), parts(twin, between));
    if parts.len() != twins.len() {
        return None;
    }
    let mut shown: Vec<String> = Vec::new();
    for (part, twin) in parts.into_iter().zip(twins) {
        let part = masked(part, twin);
        // A secret of several words is one secret.
        if part != MASK || shown.last().is_none_or(|last| last != MASK) {
            shown.push(part);
        }
    }
    Some(shown.join(&between.to_string()))
}

fn parts(text: &str, between: char) -> Vec<&str> {
    text.split(|c: char| c == between || (between == ' ' && c.is_whitespace()))
        .collect()
}

/// A part without what differs, but for the marks around it.
fn masked(part: &str, twin: &str) -> String {
    if part == twin {
        return part.to_owned();
    }
    let marks = |text: &str| {
        let inner = text.trim_start_matches(MARKS);
        let before = text.len() - inner.len();
        let after = inner.len() - inner.trim_end_matches(MARKS).len();
        (before, after)
    };
    let (before, after) = marks(part);
    if (before, after) != marks(twin) {
        return MASK.to_owned();
    }
    format!("{}{MASK}{}", &part[..before], &part[part.len() - after..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_masked_and_the_rest_is_shown() {
        let cases = [
            (
                "the import \"ab-1\" is missing",
                "the import \"bc-2\" is missing",
                Some("the import \"(secret)\" is missing"),
            ),
            (
                "it is my own word, really",
                "it is nz pxo xpse, really",
                Some("it is (secret) (secret), really"),
            ),
            ("ab", "bc", Some("(secret)")),
            ("same", "same", Some("same")),
            ("one word", "two words more", None),
            ("x \"ab\\\"c\"", "x \"bc\\\"d\"", Some("x \"(secret)\"")),
        ];
        for (real, twin, expected) in cases {
            assert_eq!(text(real, twin, ' ').as_deref(), expected, "{real}");
        }
        let path = text("items[0].ab.x", "items[0].bc.x", '.');
        assert_eq!(path.as_deref(), Some("items[0].(secret).x"));
    }

    #[test]
    fn without_a_twin_only_the_place_is_told() {
        let problem = Problem::new("file", "ab is wrong")
            .at(Some((1, 2)))
            .field("a.ab");
        for twin in [
            None,
            Some(&[][..]),
            Some(&[Problem::new("other", "ab")][..]),
        ] {
            let shown = problems(vec![problem.clone(), problem.clone()], twin);
            assert_eq!(shown.len(), 1);
            assert_eq!(shown[0].to_string(), format!("file:1:2: {DEPENDS}"));
        }
    }
}
