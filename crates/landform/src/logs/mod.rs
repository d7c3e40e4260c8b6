//! `landform logs`: what processes and commands of deploy items have written, and what hooks said when a call failed.
//!
//! `view.rs` is the server's side: logs are read through the API. This file finds the items that an object stands
//! for, and shows and follows their logs.

mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use futures::future::join_all;
use kube::Client;
use landform_api::{catalog, landscaper};
use serde_json::Value;

pub(crate) use view::LogsView;

use crate::client::object::{FileArgs, Place, places};
use crate::client::{ClientArgs, block_on, get};
use crate::output::ColorArgs;
use crate::output::color::{Paint, Tone};
use crate::output::harmless::one_line;
use crate::output::live::cut;
use crate::{AnyError, exit, say_output};

const VIEW: &str = "/apis/landform.dev/v1alpha1/logs";
/// Stands in the place of a namespace for the logs of Reconcilers. No namespace has a dot in its name.
const HOOKS: &str = "reconcilers.landform.dev";
/// Of a line that is shown beside an error there is so much.
const LONGEST_LINE: usize = 500;
/// How often a log is looked at that is followed.
const REFRESH: Duration = Duration::from_millis(250);

const EXAMPLES: &str = "Examples:
  landform logs di/db-abc12 --tail=20     the last lines of one deploy item
  landform logs inst/shop -f              all processes and commands of an installation, as they write
  landform logs inst/shop --previous      what the processes before the present ones have written
  landform logs reconciler/toys           what a hook printed or answered when a call of it failed";

/// Arguments of `landform logs`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LogsArgs {
    /// KIND/NAME: a deploy item, or what owns some: an installation, an execution, an operator version; or a Reconciler.
    #[arg(value_name = "KIND/NAME", required = true)]
    object: Vec<String>,
    /// Shows what is written from now on, too, until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
    /// Only the last so many lines of each.
    #[arg(long, value_name = "LINES")]
    tail: Option<u64>,
    /// What was written before the present process was started, or by the command's run before the last one.
    #[arg(short, long, conflicts_with = "follow")]
    previous: bool,
    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: LogsArgs) -> Result<ExitCode, AnyError> {
    block_on(logs(args))
}

/// Where a deploy item is.
pub(crate) fn item_path(namespace: &str, name: &str) -> String {
    let (group, version) = (landscaper::GROUP, landscaper::VERSION);
    format!("/apis/{group}/{version}/namespaces/{namespace}/deployitems/{name}")
}

async fn logs(args: LogsArgs) -> Result<ExitCode, AnyError> {
    let client = args.server.connect().await?;
    let places = places(&client, &args.object, &FileArgs::default()).await?;
    let paint = Paint::new(args.color.color);
    let mut offsets: BTreeMap<(String, String), u64> = BTreeMap::new();
    let mut problems = BTreeSet::new();
    loop {
        let mut items = BTreeSet::new();
        for place in &places {
            items.extend(items_of(&client, place).await?);
        }
        if items.is_empty() && !args.follow {
            let titles: Vec<String> = places.iter().map(Place::short).collect();
            return Err(format!("{} has no deploy items", titles.join(", ")).into());
        }
        let several = items.len() > 1;
        let mut silent = 0;
        for item in &items {
            let prefix = several.then(|| paint.tone(Tone::Dim, &format!("{} | ", item.1)));
            let offset = offsets.get(item).copied();
            match rest(&client, item, offset, &args, prefix.as_deref()).await? {
                Rest::Read(offset) => {
                    offsets.insert(item.clone(), offset);
                }
                Rest::Closed => return Ok(exit::OK),
                Rest::None(problem) => {
                    silent += 1;
                    // Of several items some write nothing, and that is nothing to tell.
                    if problems.insert(problem.clone()) && !several {
                        eprintln!("{}", one_line(&problem));
                    }
                }
            }
        }
        if !args.follow {
            if silent == items.len() {
                if several {
                    for problem in &problems {
                        eprintln!("{}", one_line(problem));
                    }
                }
                return Ok(exit::FAILED);
            }
            return Ok(exit::OK);
        }
        tokio::time::sleep(REFRESH).await;
    }
}

enum Rest {
    Read(u64),
    None(String),
    Closed,
}

/// Shows a log from a position on, or from where the question says.
async fn rest(
    client: &Client,
    (namespace, name): &(String, String),
    offset: Option<u64>,
    args: &LogsArgs,
    prefix: Option<&str>,
) -> Result<Rest, AnyError> {
    let mut query = match (offset, args.tail) {
        (Some(offset), _) => format!("offset={offset}"),
        (None, Some(tail)) => format!("tail={tail}"),
        (None, None) => "offset=0".to_owned(),
    };
    let previous = if args.previous { "&previous=true" } else { "" };
    loop {
        let path = format!("{VIEW}/{namespace}/{name}?{query}{previous}");
        let part = match read(client, &path).await? {
            Ok(part) => part,
            Err(problem) => {
                return elsewhere(client, namespace, name, problem, args.previous).await;
            }
        };
        let text = part["text"].as_str().unwrap_or_default();
        if !text.is_empty() && !say_output(&prefixed(text, prefix))? {
            return Ok(Rest::Closed);
        }
        let offset = part["offset"].as_u64().unwrap_or_default();
        if part["more"] != true {
            return Ok(Rest::Read(offset));
        }
        query = format!("offset={offset}");
    }
}

/// Reads a part; what the server says when there is none.
async fn read(client: &Client, path: &str) -> Result<Result<Value, String>, AnyError> {
    let request = http::Request::get(path).body(Vec::new())?;
    match client.request(request).await {
        Ok(value) => Ok(Ok(value)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Err(status.message.clone())),
        Err(error) => Err(crate::client::plain(error)),
    }
}

/// Reasons of errors about which a process may have said more.
const REASONS_OF_PROCESSES: [&str; 3] = ["Ended", "NotReady", "ProgressingTimeout"];
/// So many lines of a log are shown beside an error.
const LAST_LINES: usize = 10;

/// The end of the log of an item whose process is in trouble, as lines that look like nobody else's. Nothing without the
/// right to read the log: statuses, which more people read, don't have it for that reason.
pub(crate) async fn last_lines(
    client: &Client,
    namespace: &str,
    name: &str,
    reason: &str,
) -> Vec<String> {
    if !REASONS_OF_PROCESSES.contains(&reason) {
        return Vec::new();
    }
    let path = format!("{VIEW}/{namespace}/{name}?tail={LAST_LINES}");
    let Ok(Ok(part)) = read(client, &path).await else {
        return Vec::new();
    };
    shown_end(part["text"].as_str().unwrap_or_default())
}

fn shown_end(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let last = lines.iter().skip(lines.len().saturating_sub(LAST_LINES));
    let last = last.map(|line| format!("  | {}", one_line(&cut(line, LONGEST_LINE))));
    std::iter::once("the end of its log:".to_owned())
        .chain(last)
        .collect()
}

/// The server reads no logs: the file may be on this machine.
async fn elsewhere(
    client: &Client,
    namespace: &str,
    name: &str,
    problem: String,
    previous: bool,
) -> Result<Rest, AnyError> {
    if namespace == HOOKS {
        return Ok(Rest::None(problem));
    }
    let item = get(client, &item_path(namespace, name)).await?;
    let item = item.unwrap_or_default();
    let file = item["status"]["providerStatus"]["log"].as_str();
    // A status can be written by others: only the log of this very item is read.
    let own = format!(
        "/processes/{}/log/process.log",
        item["metadata"]["uid"].as_str().unwrap_or_default()
    );
    let Some(file) = file.filter(|file| !previous && file.ends_with(&own) && !file.contains(".."))
    else {
        return Ok(Rest::None(problem));
    };
    match std::fs::read(file) {
        Ok(bytes) => {
            say_output(&String::from_utf8_lossy(&bytes))?;
            Ok(Rest::Read(bytes.len() as u64))
        }
        Err(_) => Ok(Rest::None(format!(
            "the log of {name} is {file} on the machine where the deployer runs, and neither this server nor this machine can read it: look there"
        ))),
    }
}

/// Every line with the name of its item in front, when there are several.
fn prefixed(text: &str, prefix: Option<&str>) -> String {
    let Some(prefix) = prefix else {
        return text.to_owned();
    };
    let lines = text.lines();
    lines.map(|line| format!("{prefix}{line}\n")).collect()
}

/// The deploy items that an object stands for, by namespace and name.
pub(crate) async fn items_of(
    client: &Client,
    place: &Place,
) -> Result<BTreeSet<(String, String)>, AnyError> {
    let Some(object) = get(client, &place.path()).await? else {
        return Err(place.missing().into());
    };
    if place.kind.kind == "Reconciler" {
        return Ok(BTreeSet::from([(HOOKS.to_owned(), place.name.clone())]));
    }
    if place.kind.kind == "DeployItem" {
        return Ok(BTreeSet::from([(
            place.namespace.clone(),
            place.name.clone(),
        )]));
    }
    let landscaper = (landscaper::GROUP, landscaper::VERSION);
    let catalog = (catalog::GROUP, catalog::VERSION);
    let lists = [
        (landscaper, "installations"),
        (landscaper, "executions"),
        (landscaper, "deployitems"),
        (catalog, "operatorversions"),
    ];
    let namespace = &place.namespace;
    let reads = lists.map(|((group, version), plural)| async move {
        let path = format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}");
        let list = get(client, &path).await?.unwrap_or_default();
        let items = list["items"].as_array().cloned().unwrap_or_default();
        Ok::<_, AnyError>((plural, items))
    });
    let mut objects = Vec::new();
    for read in join_all(reads).await {
        let (plural, items) = read?;
        objects.extend(items.into_iter().map(|item| (plural, item)));
    }
    let root = object["metadata"]["uid"].as_str().unwrap_or_default();
    let names = owned(root, &objects).into_iter();
    Ok(names.map(|name| (namespace.clone(), name)).collect())
}

/// The names of deploy items below a root, by owner references.
fn owned(root: &str, objects: &[(&str, Value)]) -> Vec<String> {
    let mut known = BTreeSet::from([root.to_owned()]);
    let mut names = Vec::new();
    loop {
        let before = known.len();
        for (plural, object) in objects {
            let metadata = &object["metadata"];
            let uid = metadata["uid"].as_str().unwrap_or_default();
            let owners = metadata["ownerReferences"].as_array();
            let mut owners = owners.into_iter().flatten();
            let below = owners.any(|owner| {
                let owner = owner["uid"].as_str().unwrap_or_default();
                known.contains(owner)
            });
            if below && known.insert(uid.to_owned()) && *plural == "deployitems" {
                names.push(metadata["name"].as_str().unwrap_or_default().to_owned());
            }
        }
        if known.len() == before {
            return names;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_are_found_below_nested_installations() {
        let object = |name: &str, owner: &str| json!({"metadata": {"name": name, "uid": name, "ownerReferences": [{"uid": owner}]}});
        let objects = [
            ("deployitems", object("item", "exec")),
            ("deployitems", object("stranger", "other")),
            ("executions", object("exec", "nested")),
            ("installations", object("nested", "root")),
        ];
        assert_eq!(owned("root", &objects), ["item"]);
        assert_eq!(owned("nobody", &objects), Vec::<String>::new());
    }

    #[test]
    fn the_end_of_a_log_looks_like_nothing_else() {
        let text = "one\n\n\u{1b}[2Jtwo\n";
        let lines = ["the end of its log:", "  | one", "  | \\u{1b}[2Jtwo"];
        assert_eq!(shown_end(text), lines);
        assert_eq!(shown_end("\n"), Vec::<String>::new());
        let long = "x\n".repeat(30);
        assert_eq!(shown_end(&long).len(), 1 + LAST_LINES);
    }

    #[test]
    fn lines_of_several_items_say_whose_they_are() {
        assert_eq!(prefixed("a\nb\n", None), "a\nb\n");
        assert_eq!(prefixed("a\nb", Some("x | ")), "x | a\nx | b\n");
    }
}
