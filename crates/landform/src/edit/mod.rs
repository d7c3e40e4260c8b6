//! `landform edit`: an object in one's own editor, written back as the difference that was made.
//!
//! `change.rs` finds that difference, and what somebody else has changed meanwhile.

mod change;

use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Args;
use kube::Client;
use landform_yaml::Budget;
use serde_json::{Value, json};

use crate::client::object::{FileArgs, Place, places};
use crate::client::{ClientArgs, block_on, get, merge};
use crate::output::readable;
use crate::{AnyError, exit, say};

const EXAMPLES: &str = "Examples:
  landform edit inst/db
  EDITOR='code --wait' landform edit cm/settings

The editor is $VISUAL, $EDITOR or vi. What is refused is opened again, with the reason on top; leaving the file as it
is, or empty, changes nothing.";

/// Arguments of `landform edit`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EditArgs {
    /// KIND/NAME or KIND NAME
    #[arg(value_name = "KIND/NAME", required = true)]
    object: Vec<String>,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: EditArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        let client = args.server.connect().await?;
        for place in places(&client, &args.object, &FileArgs::default()).await? {
            let line = edit(&client, &place).await?;
            say(&format!("{} {line}\n", place.short()))?;
        }
        Ok(exit::OK)
    })
}

/// Lets one object be edited until it is written or given up.
async fn edit(client: &Client, place: &Place) -> Result<&'static str, AnyError> {
    let read = || async {
        let found = get(client, &place.path()).await?;
        found
            .map(readable)
            .ok_or_else(|| AnyError::from(place.missing()))
    };
    let mut original = read().await?;
    let mut shown = landform_yaml::write(&original);
    let mut problem = String::new();
    let directory = tempfile::tempdir()?;
    let file = directory.path().join(format!("{}.yaml", place.name));
    loop {
        let text = format!("{}{shown}", header(place, &problem));
        std::fs::write(&file, &text)?;
        open(&file)?;
        let edited = std::fs::read_to_string(&file)?;
        let body = without_header(&edited);
        if body.trim().is_empty() {
            return Ok("was left as it is: the file is empty");
        }
        if edited == text {
            if problem.is_empty() {
                return Ok("unchanged");
            }
            return Err(format!("it was not changed: {problem}").into());
        }
        body.clone_into(&mut shown);
        let wanted = match landform_yaml::parse_one(&body, &Budget::FILE) {
            Ok(wanted) => wanted,
            Err(error) => {
                problem = error.to_string();
                continue;
            }
        };
        let Some(patch) = change::patch(&original, &wanted) else {
            return Ok("unchanged");
        };
        let live = read().await?;
        let taken = change::conflicts(&patch, &original, &live);
        if !taken.is_empty() {
            problem = format!(
                "somebody else has changed {} meanwhile; below is your text on the newest state",
                taken.join(", ")
            );
            // What was edited stays; what others changed elsewhere comes in.
            let mut merged = live.clone();
            change::merge(&mut merged, &patch);
            shown = landform_yaml::write(&merged);
            original = live;
            continue;
        }
        match write(client, place, patch, &live).await {
            Ok(()) => return Ok("edited"),
            Err(error) => problem = error.to_string(),
        }
    }
}

/// Sends the change, for the state that it was compared with.
async fn write(
    client: &Client,
    place: &Place,
    mut patch: Value,
    live: &Value,
) -> Result<(), AnyError> {
    let version = live["metadata"]["resourceVersion"].clone();
    if !patch["metadata"].is_object() {
        patch["metadata"] = json!({});
    }
    patch["metadata"]["resourceVersion"] = version;
    merge(client, &place.path(), &patch).await.map(drop)
}

/// Opens the editor and waits for its end.
fn open(file: &Path) -> Result<(), AnyError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let editor = variable("VISUAL").or_else(|| variable("EDITOR"));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    // An editor may have arguments: a shell takes them apart.
    let script = format!("{editor} \"$1\"");
    let status = Command::new("sh")
        .args(["-c", &script, "sh"])
        .arg(file)
        .status()?;
    if status.success() {
        return Ok(());
    }
    Err(format!("the editor {editor:?} ended with {status}: nothing was changed; name another one with EDITOR").into())
}

fn header(place: &Place, problem: &str) -> String {
    let mut text = format!(
        "# {}: save and leave the editor to change it; lines with # at the top are not part of it.\n",
        place.title()
    );
    for line in problem.lines() {
        text.push_str(&format!("# refused: {line}\n"));
    }
    text.push_str("#\n");
    text
}

/// What was edited, without the comment lines at its top.
fn without_header(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.skip_while(|line| line.starts_with('#')).collect()
}

#[cfg(test)]
mod tests {
    use super::without_header;

    #[test]
    fn the_header_is_no_part_of_the_object() {
        assert_eq!(without_header("# a\n# b\nkind: A\n# c\n"), "kind: A\n# c\n");
        assert_eq!(without_header("# a\n"), "");
    }
}
