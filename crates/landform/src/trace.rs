//! `landform trace`: what the engine does, as it happens.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use crate::client::object::{FileArgs, places};
use crate::client::{ClientArgs, block_on, get};
use crate::output::color::{Paint, Tone};
use crate::output::harmless::one_lined;
use crate::output::{ColorArgs, ReportArgs, one};
use crate::{AnyError, exit, say_open};

const VIEW: &str = "/apis/landform.dev/v1alpha1/engine/trace";
/// How often the engine is asked.
const REFRESH: Duration = Duration::from_millis(300);
/// So many entries are read at once; more in between are missed, and that is said.
const ENTRIES: usize = 1000;

const EXAMPLES: &str = "Examples:
  landform trace                 everything, until Ctrl-C
  landform trace inst/db         what happens to one object
  landform trace --once          what happened last, and no more";

/// Arguments of `landform trace`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TraceArgs {
    /// KIND/NAME or KIND NAME [default: all objects].
    #[arg(value_name = "KIND/NAME")]
    object: Vec<String>,
    /// Shows what happened so far, and ends.
    #[arg(long)]
    once: bool,
    /// Begins with the last so many entries.
    #[arg(long, value_name = "ENTRIES", default_value_t = 50)]
    tail: usize,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: TraceArgs) -> Result<ExitCode, AnyError> {
    block_on(trace(args))
}

async fn trace(args: TraceArgs) -> Result<ExitCode, AnyError> {
    let client = args.server.connect().await?;
    let path = if args.object.is_empty() {
        format!("{VIEW}?limit={ENTRIES}")
    } else {
        let found = places(&client, &args.object, &FileArgs::default()).await?;
        let [place] = found.as_slice() else {
            return exit::misused("one object at a time can be traced");
        };
        format!("{VIEW}/{}?limit={ENTRIES}", place.view_path())
    };
    let paint = Paint::new(args.color.color);
    let mut seen: Option<Vec<Value>> = None;
    loop {
        let Some(answer) = get(&client, &path).await? else {
            return Err("this server runs no engine that could be traced: `landform engine` shows its own under /engine/trace".into());
        };
        let entries = answer["items"].as_array().cloned().unwrap_or_default();
        let (fresh, missed) = match &seen {
            None => (entries.len().min(args.tail), false),
            Some(seen) => fresh(seen, &entries),
        };
        let mut text = String::new();
        if missed && args.report.form().is_none() {
            text.push_str("… more happened than could be read\n");
        }
        let new = entries.iter().take(fresh).rev();
        for entry in new {
            match args.report.form() {
                // One after the other, as they come.
                Some(form) => text.push_str(&one(entry, form)?),
                None => text.push_str(&line(entry, paint)),
            }
        }
        if !text.is_empty() && !say_open(&text)? {
            return Ok(exit::OK);
        }
        if args.once {
            return Ok(exit::OK);
        }
        seen = Some(entries);
        tokio::time::sleep(REFRESH).await;
    }
}

/// How many of the newest entries were not there before, both newest first; and whether some may have been missed.
fn fresh(seen: &[Value], now: &[Value]) -> (usize, bool) {
    for skipped in 0..now.len() {
        let rest = now.get(skipped..).unwrap_or_default();
        if rest.iter().zip(seen).all(|(now, seen)| now == seen) && !seen.is_empty() {
            return (skipped, false);
        }
    }
    (now.len(), !seen.is_empty())
}

fn line(entry: &Value, paint: Paint) -> String {
    let entry = one_lined(entry).unwrap_or_default();
    let word = |name: &str| entry[name].as_str().unwrap_or_default();
    let time = word("time");
    let time = time.split_once('T').map_or(time, |(_, time)| time);
    let name = match word("namespace") {
        "" => format!("{}/{}", word("kind"), word("name")),
        namespace => format!("{}/{namespace}/{}", word("kind"), word("name")),
    };
    let message = word("message");
    let tone = if message.contains(": failed") || matches!(word("event"), "Stuck" | "Cyclic") {
        Some(Tone::Bad)
    } else {
        match word("event") {
            "Finished" => Some(Tone::Good),
            "Queued" => Some(Tone::Dim),
            _ => None,
        }
    };
    let message = tone.map_or_else(|| message.to_owned(), |tone| paint.tone(tone, message));
    format!(
        "{}  {name}  {message}\n",
        paint.tone(Tone::Dim, time.trim_end_matches('Z'))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entries(names: &str) -> Vec<Value> {
        names.chars().map(|name| json!(name.to_string())).collect()
    }

    #[test]
    fn only_what_is_new_is_shown() {
        for (seen, now, expected) in [
            ("", "ba", (2, false)),
            ("ba", "ba", (0, false)),
            ("ba", "dcba", (2, false)),
            ("cba", "edc", (2, false)),
            ("ba", "dc", (2, true)),
            ("aa", "aaa", (0, false)),
            ("ba", "", (0, true)),
        ] {
            assert_eq!(
                fresh(&entries(seen), &entries(now)),
                expected,
                "{seen} {now}"
            );
        }
    }
}
