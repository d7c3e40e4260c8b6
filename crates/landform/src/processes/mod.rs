//! `landform ps`, `restart`, `stop` and `start`: the processes of deploy items.
//!
//! `view.rs` is the server's side of `ps`; `row.rs` is one process for people; `ask.rs` asks for something by annotations of the
//! items, with the caller's own rights, and waits until it is done. This file finds the items, and lists them.

mod ask;
mod row;
mod view;

use std::process::ExitCode;

use clap::Args;
use futures::future::join_all;
use kube::Client;
use landform_api::landscaper;
use landform_deployers::process::ProcessDeployer;
use serde_json::{Value, json};

pub(crate) use self::ask::{AskArgs, restart, start, stop};
use self::row::Row;
pub(crate) use self::view::ProcessesView;
use crate::client::object::{FileArgs, places};
use crate::client::{ClientArgs, block_on, get};
use crate::logs::{item_path, items_of};
use crate::output::color::Paint;
use crate::output::format::format;
use crate::output::table::Table;
use crate::output::time::now;
use crate::output::{ColorArgs, Format, one};
use crate::{AnyError, exit, say};

const VIEW: &str = "/apis/landform.dev/v1alpha1/processes";

const EXAMPLES: &str = "Examples:
  landform ps                    all processes, of all namespaces
  landform ps -n shop            those of one namespace
  landform ps inst/shop          those of an installation
  landform ps -o json            for programs

`landform logs di/NAME` shows what one prints; `landform stop`, `start` and `restart` act.";

/// Arguments of `landform ps`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PsArgs {
    /// KIND/NAME…: deploy items, or what owns some [default: all].
    #[arg(value_name = "KIND/NAME")]
    objects: Vec<String>,
    /// The form of the answer [default: a table].
    #[arg(short, long, value_parser = format, value_name = "FORM", help_heading = "Output")]
    output: Option<Format>,
    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn ps(args: PsArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        let client = args.server.connect().await?;
        let items = if args.objects.is_empty() {
            all(&client, args.server.namespace.as_deref()).await?
        } else {
            named(&client, &args.objects).await?
        };
        let rows = join_all(items.iter().map(|item| look(&client, item))).await;
        let rows = rows.into_iter().collect::<Result<Vec<Row>, AnyError>>()?;
        match args.output {
            Some(Format::Name) => {
                for row in &rows {
                    say(&format!("deployitem/{}\n", row.name))?;
                }
            }
            Some(form @ (Format::Json | Format::Yaml | Format::Made(_))) => {
                let items: Vec<Value> = rows.iter().map(Row::value).collect();
                say(&one(&json!({"items": items}), form)?)?;
            }
            None | Some(Format::Wide) if rows.is_empty() => say("There are no processes.\n")?,
            None | Some(Format::Wide) => {
                let mut table = Table::new(&row::TITLES);
                for row in &rows {
                    table.push(row.cells(now()));
                }
                say(&table.text(Paint::new(args.color.color)))?;
            }
        }
        Ok(exit::OK)
    })
}

/// The process items of a namespace, or of all.
async fn all(client: &Client, namespace: Option<&str>) -> Result<Vec<Value>, AnyError> {
    let (group, version) = (landscaper::GROUP, landscaper::VERSION);
    let within = namespace.map_or(String::new(), |name| format!("/namespaces/{name}"));
    let path = format!("/apis/{group}/{version}{within}/deployitems");
    let list = get(client, &path).await?.unwrap_or_default();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    Ok(items.into_iter().filter(is_process).collect())
}

/// The process items that objects stand for; an error when one has none.
async fn named(client: &Client, objects: &[String]) -> Result<Vec<Value>, AnyError> {
    let mut found: Vec<Value> = Vec::new();
    for place in places(client, objects, &FileArgs::default()).await? {
        let mut some = false;
        for (namespace, name) in items_of(client, &place).await? {
            let item = get(client, &item_path(&namespace, &name)).await?;
            let Some(item) = item.filter(is_process) else {
                continue;
            };
            some = true;
            if !found.contains(&item) {
                found.push(item);
            }
        }
        if !some {
            let message = format!(
                "{} has no processes: only deploy items of type {} are some; `landform ps` lists them",
                place.short(),
                ProcessDeployer::KIND
            );
            return Err(message.into());
        }
    }
    Ok(found)
}

fn is_process(item: &Value) -> bool {
    item["spec"]["type"] == ProcessDeployer::KIND
}

/// What there is to see of an item's process. Without the right to look at the process there is what the status says.
async fn look(client: &Client, item: &Value) -> Result<Row, AnyError> {
    let text = |name: &str| item["metadata"][name].as_str().unwrap_or_default();
    let path = format!("{VIEW}/{}/{}", text("namespace"), text("name"));
    let request = http::Request::get(path).body(Vec::new())?;
    let seen = match client.request::<Value>(request).await {
        Ok(seen) => Some(seen),
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => None,
        Err(error) => return Err(crate::client::plain(error)),
    };
    Ok(Row::of(item, seen.as_ref()))
}
