//! `landform __complete`: kinds and names for shells, asked of the server. Quick, and silent when that isn't there.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use kube::Client;

use crate::client::kind::Kinds;
use crate::client::{ClientArgs, block_on, get, is_everywhere};
use crate::{AnyError, exit, say};

/// A person waits for this with a finger on a key.
const PATIENCE: Duration = Duration::from_millis(1500);
/// More names are of no help.
const NAMES: usize = 500;

/// Arguments of `landform __complete`.
#[derive(Args)]
pub(crate) struct CompleteArgs {
    /// The words of the command line, the last one as far as it is written.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Commands whose words are objects.
const OBJECTS: [&str; 20] = [
    "adopt",
    "annotate",
    "abort",
    "delete",
    "describe",
    "edit",
    "events",
    "get",
    "interrupt",
    "label",
    "logs",
    "patch",
    "reconcile",
    "restart",
    "retry",
    "start",
    "stop",
    "trace",
    "wait",
    "why",
];

/// What is to be completed.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Namespaces,
    Kinds,
    /// Names of a kind, each with this before it.
    Names {
        kind: String,
        before: String,
    },
    Nothing,
}

pub(crate) fn run(args: CompleteArgs) -> Result<ExitCode, AnyError> {
    let found = block_on(async {
        let answer = tokio::time::timeout(PATIENCE, answer(&args.words)).await;
        Ok(answer.ok().and_then(Result::ok).unwrap_or_default())
    });
    let lines: String = found
        .unwrap_or_default()
        .iter()
        .map(|word| format!("{word}\n"))
        .collect();
    say(&lines)?;
    Ok(exit::OK)
}

async fn answer(words: &[String]) -> Result<Vec<String>, AnyError> {
    let wanted = wanted(words);
    if wanted == Wanted::Nothing {
        return Ok(Vec::new());
    }
    let value = |names: &[&str]| {
        let at = words
            .iter()
            .position(|word| names.contains(&word.as_str()))?;
        words.get(at + 1).cloned()
    };
    let server = ClientArgs {
        kubeconfig: value(&["--kubeconfig"]).map(Into::into),
        context: value(&["--context"]),
        namespace: value(&["-n", "--namespace"]).filter(|_| wanted != Wanted::Namespaces),
        data_dir: value(&["--data-dir"]).map(Into::into),
    };
    let client = server.connect().await?;
    match wanted {
        Wanted::Namespaces => names(&client, "/api/v1/namespaces", "").await,
        Wanted::Kinds => {
            let mut all: Vec<String> = Kinds::load(&client)
                .await?
                .names()
                .map(str::to_owned)
                .collect();
            all.sort();
            all.dedup();
            Ok(all)
        }
        Wanted::Names { kind, before } => {
            let kind = Kinds::load(&client).await?.find(&kind)?;
            let everywhere = is_everywhere() || words.iter().any(|word| word == "-A");
            let namespace = if everywhere {
                ""
            } else {
                client.default_namespace()
            };
            names(&client, &kind.list_path(namespace), &before).await
        }
        Wanted::Nothing => Ok(Vec::new()),
    }
}

async fn names(client: &Client, path: &str, before: &str) -> Result<Vec<String>, AnyError> {
    // Of a list only the names matter.
    let form = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
    let found = crate::client::get_as(client, &format!("{path}?limit={NAMES}"), form).await?;
    let found = match found {
        Some(found) => found,
        None => get(client, path).await?.unwrap_or_default(),
    };
    let items = found["items"].as_array().into_iter().flatten();
    let names = items.filter_map(|item| item["metadata"]["name"].as_str());
    Ok(names.map(|name| format!("{before}{name}")).collect())
}

/// What the last word may be.
fn wanted(words: &[String]) -> Wanted {
    let Some((last, before)) = words.split_last() else {
        return Wanted::Nothing;
    };
    let Some((command, before)) = before.split_first() else {
        return Wanted::Nothing;
    };
    if before
        .last()
        .is_some_and(|word| word == "-n" || word == "--namespace")
    {
        return Wanted::Namespaces;
    }
    let takes_value = before
        .last()
        .is_some_and(|word| word.starts_with("--") && !word.contains('=') && word != "--json")
        || before
            .last()
            .is_some_and(|word| matches!(word.as_str(), "-o" | "-f" | "-l" | "-p"));
    if takes_value || last.starts_with('-') {
        return Wanted::Nothing;
    }
    if command == "explain" {
        return Wanted::Kinds;
    }
    if command == "rollback" || command == "approve" {
        return match last.split_once('/') {
            Some((kind, _)) => Wanted::Names {
                kind: kind.to_owned(),
                before: format!("{kind}/"),
            },
            None => Wanted::Nothing,
        };
    }
    if !OBJECTS.contains(&command.as_str()) && command != "tree" {
        return Wanted::Nothing;
    }
    if let Some((kind, _)) = last.split_once('/') {
        return Wanted::Names {
            kind: kind.to_owned(),
            before: format!("{kind}/"),
        };
    }
    // A word alone before is a kind; one after an option may be its value.
    let mut kinds = before.iter().enumerate().filter(|(at, word)| {
        let follows = at.checked_sub(1).and_then(|at| before.get(at));
        !word.starts_with('-') && !follows.is_some_and(|follows| follows.starts_with('-'))
    });
    match kinds.next() {
        Some((_, kind)) if !kind.contains(['/', ',']) => Wanted::Names {
            kind: kind.clone(),
            before: String::new(),
        },
        _ => Wanted::Kinds,
    }
}

/// The kinds and names of the server, beside what the shell's script has from the program: for each shell, behind it.
pub(crate) fn script(shell: clap_complete::Shell) -> &'static str {
    use clap_complete::Shell;
    match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        _ => "",
    }
}

const BASH: &str = r#"
# Kinds and names come from the server.
_landform_words() {
    local current="${COMP_WORDS[COMP_CWORD]}" found
    _landform "$@"
    if [[ "$current" != -* && $COMP_CWORD -gt 1 ]]; then
        found=$("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
        if [[ -n "$found" ]]; then
            COMPREPLY=($(compgen -W "$found" -- "$current"))
        fi
    fi
}
complete -F _landform_words -o bashdefault -o default landform
"#;

const ZSH: &str = r#"
# Kinds and names come from the server.
_landform_words() {
    local -a found
    if [[ $CURRENT -gt 2 && "$words[CURRENT]" != -* ]]; then
        found=(${(f)"$($words[1] __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
        if (( $#found )); then
            compadd -a found
            return
        fi
    fi
    _landform "$@"
}
compdef _landform_words landform
"#;

const FISH: &str = r#"
# Kinds and names come from the server.
complete -c landform -a '(landform __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_before_say_what_is_wanted() {
        let names = |kind: &str, before: &str| Wanted::Names {
            kind: kind.to_owned(),
            before: before.to_owned(),
        };
        for (line, expected) in [
            ("get |", Wanted::Kinds),
            ("get in|", Wanted::Kinds),
            ("get inst |", names("inst", "")),
            ("get inst db w|", names("inst", "")),
            ("describe inst/d|", names("inst", "inst/")),
            ("describe inst/db |", Wanted::Kinds),
            ("get -n team inst |", names("inst", "")),
            ("get inst -n |", Wanted::Namespaces),
            ("get inst -o |", Wanted::Nothing),
            ("get --so|", Wanted::Nothing),
            ("explain in|", Wanted::Kinds),
            (
                "rollback installation/|",
                names("installation", "installation/"),
            ),
            ("up |", Wanted::Nothing),
            ("ge|", Wanted::Nothing),
            ("|", Wanted::Nothing),
        ] {
            let line = line.trim_end_matches('|');
            let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            if line.is_empty() || line.ends_with(' ') {
                words.push(String::new());
            }
            assert_eq!(wanted(&words), expected, "{line}");
        }
    }
}
