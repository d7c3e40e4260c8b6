//! `landform events`: what was reported about an object, a namespace or everything, oldest first.

use std::process::ExitCode;

use clap::Args;
use futures::StreamExt as _;
use http::Request;
use kube::Client;
use kube::core::WatchEvent;
use serde_json::Value;
use time::OffsetDateTime;

use crate::client::object::{FileArgs, Place, places};
use crate::client::{ClientArgs, block_on, get, in_query, is_everywhere, plain};
use crate::exit;
use crate::output::color::{Paint, Tone};
use crate::output::harmless::one_line;
use crate::output::table::Table;
use crate::output::time::{age, now, parse};
use crate::output::{self, Format, OutputArgs};
use crate::{AnyError, say, say_open};

const EXAMPLES: &str = "Examples:
  landform events                    of the namespace
  landform events inst/db            of one object
  landform events -A -w              of everything, as it happens";

/// Arguments of `landform events`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EventsArgs {
    /// KIND/NAME or KIND NAME [default: all objects of the namespace].
    #[arg(value_name = "KIND/NAME")]
    object: Vec<String>,
    /// In all namespaces.
    #[arg(short = 'A', long, conflicts_with = "object")]
    all_namespaces: bool,
    /// Shows those that come, too, until Ctrl-C.
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: EventsArgs) -> Result<ExitCode, AnyError> {
    block_on(events(args))
}

async fn events(args: EventsArgs) -> Result<ExitCode, AnyError> {
    let client = args.server.connect().await?;
    let mut about = Vec::new();
    if !args.object.is_empty() {
        about = places(&client, &args.object, &FileArgs::default()).await?;
    }
    let path = match about.as_slice() {
        [place] => path_of(place),
        _ if args.all_namespaces || is_everywhere() => "/api/v1/events".to_owned(),
        _ => format!("/api/v1/namespaces/{}/events", client.default_namespace()),
    };
    let answer = get(&client, &path).await?.unwrap_or_default();
    let wanted =
        |event: &Value| about.is_empty() || about.iter().any(|place| is_about(event, place));
    let mut found: Vec<Value> = sorted(&answer);
    found.retain(wanted);
    let paint = Paint::new(args.output.color.color);
    match args.output.form() {
        Some(format @ (Format::Json | Format::Yaml | Format::Made(_))) => {
            let found = found.into_iter().map(with_kind).collect();
            say(&output::objects(found, false, format)?)?;
        }
        Some(Format::Name) => {
            let names = found.iter().map(|event| format!("event/{}\n", name(event)));
            say(&names.collect::<String>())?;
        }
        None | Some(Format::Wide) if found.is_empty() => eprintln!("No events."),
        None | Some(Format::Wide) => {
            let table = table(&found, now(), true);
            say(&table.text(paint))?;
        }
    }
    if !args.watch {
        return Ok(exit::OK);
    }
    let revision = answer["metadata"]["resourceVersion"].as_str();
    let joint = if path.contains('?') { '&' } else { '?' };
    let path = format!(
        "{path}{joint}watch=true&resourceVersion={}",
        revision.unwrap_or_default()
    );
    follow(&client, path, wanted, &args, paint).await
}

async fn follow(
    client: &Client,
    path: String,
    wanted: impl Fn(&Value) -> bool,
    args: &EventsArgs,
    paint: Paint,
) -> Result<ExitCode, AnyError> {
    let request = Request::get(path).body(Vec::new())?;
    let stream = client.request_events::<Value>(request).await;
    let mut stream = Box::pin(stream.map_err(plain)?);
    while let Some(event) = stream.next().await {
        let event = match event {
            Ok(WatchEvent::Added(event) | WatchEvent::Modified(event)) if wanted(&event) => event,
            Ok(WatchEvent::Error(status)) => return Err(status.message.clone().into()),
            Ok(_) => continue,
            Err(error) => return Err(plain(error)),
        };
        let text = match args.output.form() {
            Some(format @ (Format::Json | Format::Yaml | Format::Made(_))) => {
                output::one(&output::readable(event), format)?
            }
            Some(Format::Name) => format!("event/{}\n", name(&event)),
            None | Some(Format::Wide) => line(&event, paint),
        };
        if !say_open(&text)? {
            return Ok(exit::OK);
        }
    }
    Err("the server has ended the watch: ask again".into())
}

/// The events of an object, oldest first.
pub(crate) async fn of(client: &Client, place: &Place) -> Result<Vec<Value>, AnyError> {
    let answer = get(client, &path_of(place)).await?.unwrap_or_default();
    let mut found = sorted(&answer);
    found.retain(|event| is_about(event, place));
    Ok(found)
}

fn path_of(place: &Place) -> String {
    // Events of objects of the cluster are in namespace default.
    let namespace = match place.namespace.as_str() {
        "" => "default",
        namespace => namespace,
    };
    let selector = in_query(&format!("involvedObject.name={}", place.name));
    format!("/api/v1/namespaces/{namespace}/events?fieldSelector={selector}")
}

fn is_about(event: &Value, place: &Place) -> bool {
    let object = &event["involvedObject"];
    object["kind"] == place.kind.kind.as_str() && object["name"] == place.name.as_str()
}

fn with_kind(mut event: Value) -> Value {
    event["apiVersion"] = "v1".into();
    event["kind"] = "Event".into();
    event
}

fn name(event: &Value) -> &str {
    event["metadata"]["name"].as_str().unwrap_or_default()
}

/// When an event was last seen.
fn time_of(event: &Value) -> &str {
    let series = &event["series"]["lastObservedTime"];
    let times = [
        series,
        &event["lastTimestamp"],
        &event["eventTime"],
        &event["firstTimestamp"],
        &event["metadata"]["creationTimestamp"],
    ];
    let found = times.into_iter().find_map(Value::as_str);
    found.unwrap_or_default()
}

fn sorted(answer: &Value) -> Vec<Value> {
    let mut events = answer["items"].as_array().cloned().unwrap_or_default();
    // What is of one second stands in the order in which it was written.
    let revision = |event: &Value| {
        let text = event["metadata"]["resourceVersion"].as_str();
        text.and_then(|text| text.parse::<u64>().ok())
    };
    events.sort_by_key(|event| (parse(time_of(event)), revision(event)));
    events
}

/// Events as rows.
pub(crate) fn table(events: &[Value], now: OffsetDateTime, objects: bool) -> Table {
    let mut titles = vec!["SEEN", "TYPE", "REASON"];
    if objects {
        titles.push("OBJECT");
    }
    titles.extend(["COUNT", "MESSAGE"]);
    let mut table = Table::new(&titles);
    for event in events {
        let cell = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let mut row = vec![age(time_of(event), now), cell("type"), cell("reason")];
        if objects {
            row.push(object_of(event));
        }
        row.push(event["count"].as_u64().unwrap_or(1).to_string());
        row.push(cell("message").trim().to_owned());
        table.push(row);
    }
    table
}

fn object_of(event: &Value) -> String {
    let object = &event["involvedObject"];
    let word = |name: &str| object[name].as_str().unwrap_or_default();
    format!("{}/{}", word("kind"), word("name"))
}

fn line(event: &Value, paint: Paint) -> String {
    let cell = |name: &str| event[name].as_str().unwrap_or_default();
    let kind = match cell("type") {
        "Warning" => paint.tone(Tone::Bad, "Warning"),
        other => other.to_owned(),
    };
    format!(
        "{}  {kind}  {}  {}  {}\n",
        time_of(event),
        one_line(cell("reason")),
        one_line(&object_of(event)),
        one_line(cell("message").trim())
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_are_in_the_order_of_their_last_time() {
        let event = |name: &str, time: &str, revision: &str| {
            json!({"metadata": {"name": name, "resourceVersion": revision}, "lastTimestamp": time,
                   "type": "Normal", "reason": "R", "message": "m", "involvedObject": {"kind": "A", "name": name}})
        };
        let answer = json!({"items": [
            event("c", "2026-01-01T00:00:02Z", "3"),
            event("b", "2026-01-01T00:00:01Z", "12"),
            event("a", "2026-01-01T00:00:01Z", "2"),
        ]});
        let found = sorted(&answer);
        let names: Vec<&str> = found.iter().map(name).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let now = parse("2026-01-01T00:00:10Z").unwrap();
        let table = table(&found, now, true);
        assert_eq!(table.rows[0], ["9s", "Normal", "R", "A/a", "1", "m"]);
    }
}
