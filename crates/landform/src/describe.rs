//! `landform describe`: one object for people, with what it waits for and what happened to it.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value};
use time::OffsetDateTime;

use crate::client::object::{FileArgs, Place, places};
use crate::client::{ClientArgs, block_on, get};
use crate::events;
use crate::exit;
use crate::logs::last_lines;
use crate::output::color::{Paint, Tone};
use crate::output::harmless::{one_line, one_lined};
use crate::output::table::Table;
use crate::output::time::{age, now};
use crate::output::{ColorArgs, HIDDEN, indented, readable, without_secrets};
use crate::{AnyError, say};

const EXAMPLES: &str = "Examples:
  landform describe inst/db          an installation, its last error, what it waits for, its events
  landform describe cm a b           several objects of a kind

`landform why KIND/NAME` follows what it waits for to the root.";

/// Arguments of `landform describe`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DescribeArgs {
    /// KIND/NAME… or KIND NAME…
    #[arg(value_name = "KIND/NAME")]
    objects: Vec<String>,
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: DescribeArgs) -> Result<ExitCode, AnyError> {
    block_on(describe(args))
}

async fn describe(args: DescribeArgs) -> Result<ExitCode, AnyError> {
    let client = args.server.connect().await?;
    let places = places(&client, &args.objects, &args.files).await?;
    let paint = Paint::new(args.color.color);
    let mut texts = Vec::new();
    let mut missing = false;
    for place in &places {
        let Some(object) = get(&client, &place.path()).await? else {
            eprintln!("error: {}", one_line(&place.missing()));
            missing = true;
            continue;
        };
        let events = events::of(&client, place).await?;
        let reason = object["status"]["lastError"]["reason"].as_str();
        let log = match (place.kind.kind.as_str(), reason) {
            ("DeployItem", Some(reason)) => {
                last_lines(&client, &place.namespace, &place.name, reason).await
            }
            _ => Vec::new(),
        };
        texts.push(text(place, object, &events, &log, now(), paint));
    }
    say(&texts.join("\n"))?;
    Ok(if missing { exit::FAILED } else { exit::OK })
}

/// The whole description.
fn text(
    place: &Place,
    object: Value,
    events: &[Value],
    log: &[String],
    now: OffsetDateTime,
    paint: Paint,
) -> String {
    let whole = without_secrets(readable(object), HIDDEN);
    let object = one_lined(&whole).unwrap_or_default();
    let title = match place.namespace.as_str() {
        "" => place.short(),
        namespace => format!("{} {namespace}/{}", place.kind.kind, place.name),
    };
    let mut out = paint.tone(Tone::Bold, &title) + "\n";
    let metadata = &object["metadata"];
    let status = &object["status"];
    let field = |out: &mut String, name: &str, value: &str| {
        let _ = writeln!(out, "  {:<14} {value}", format!("{name}:"));
    };
    field(&mut out, "API version", &place.kind.api_version());
    if let Some(created) = metadata["creationTimestamp"].as_str() {
        field(
            &mut out,
            "Created",
            &format!("{} ago ({created})", age(created, now)),
        );
    }
    if let Some(deleted) = metadata["deletionTimestamp"].as_str() {
        let finalizers = words(&metadata["finalizers"]);
        let what = format!("{} ago, held by {finalizers}", age(deleted, now));
        field(&mut out, "Deleted", &paint.tone(Tone::Busy, &what));
    }
    if let Some(phase) = status["phase"].as_str() {
        field(&mut out, "Phase", &paint.phase(phase));
    }
    pairs(&mut out, "Labels", &metadata["labels"]);
    pairs(&mut out, "Annotations", &metadata["annotations"]);
    let owners = list(&metadata["ownerReferences"]);
    let owners = owners.map(|owner| format!("{}/{}", word(&owner["kind"]), word(&owner["name"])));
    let owners: Vec<String> = owners.collect();
    if !owners.is_empty() {
        field(&mut out, "Owners", &owners.join(", "));
    }
    out.push_str(&last_error(&status["lastError"], now, paint));
    for line in log {
        let _ = writeln!(out, "  {line}");
    }
    out.push_str(&waits(&status["waitingOn"], paint));
    out.push_str(&conditions(&status["conditions"], now, paint));
    out.push_str(&content(&whole, paint));
    if events.is_empty() {
        out.push_str("Events: none\n");
    } else {
        out.push_str("Events:\n");
        let table = events::table(events, now, false);
        out.push_str(&indented(&table.text(paint), 2));
    }
    out
}

/// Everything that says what is wanted, and what of the status was not told yet.
fn content(object: &Value, paint: Paint) -> String {
    let told = ["apiVersion", "kind", "metadata", "status"];
    let mut out = String::new();
    let fields = object.as_object().into_iter().flatten();
    for (name, value) in fields.filter(|(name, _)| !told.contains(&name.as_str())) {
        out.push_str(&section(name, value, paint));
    }
    let told = ["phase", "lastError", "waitingOn", "conditions"];
    let rest = object["status"].as_object().into_iter().flatten();
    let rest = rest.filter(|(name, _)| !told.contains(&name.as_str()));
    let rest: Map<String, Value> = rest.map(|(n, v)| (n.clone(), v.clone())).collect();
    if !rest.is_empty() {
        out.push_str(&section("status", &Value::Object(rest), paint));
    }
    out
}

fn section(name: &str, value: &Value, paint: Paint) -> String {
    let mut letters = name.chars();
    let title: String = letters
        .next()
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect();
    let title = paint.tone(Tone::Bold, &format!("{title}:"));
    if !value.is_object() && !value.is_array() {
        return format!(
            "{title} {}",
            indented(&landform_yaml::write(value), 2).trim_start()
        );
    }
    format!("{title}\n{}", indented(&landform_yaml::write(value), 2))
}

fn last_error(error: &Value, now: OffsetDateTime, paint: Paint) -> String {
    let message = word(&error["message"]);
    if message.is_empty() {
        return String::new();
    }
    let title = paint.tone(Tone::Bad, "Last error:");
    let since = error["lastTransitionTime"].as_str();
    let since = since.map_or(String::new(), |since| format!(", for {}", age(since, now)));
    let codes = words(&error["codes"]);
    let codes = if codes.is_empty() {
        codes
    } else {
        format!(", {codes}")
    };
    let (operation, reason) = (word(&error["operation"]), word(&error["reason"]));
    format!("{title}\n  {message}\n  ({operation}: {reason}{codes}{since})\n")
}

fn waits(waiting: &Value, paint: Paint) -> String {
    let mut out = String::new();
    for wait in list(waiting) {
        if out.is_empty() {
            out = paint.tone(Tone::Busy, "Waiting on:") + "\n";
        }
        let object = &wait["object"];
        let name = match (word(&object["kind"]), word(&object["name"])) {
            ("", _) => String::new(),
            (kind, name) => format!("{kind}/{name}: "),
        };
        let _ = writeln!(
            out,
            "  {:<5} {name}{}",
            word(&wait["rule"]),
            word(&wait["reason"])
        );
    }
    out
}

fn conditions(conditions: &Value, now: OffsetDateTime, paint: Paint) -> String {
    let mut table = Table::new(&["TYPE", "STATUS", "SINCE", "REASON", "MESSAGE"]);
    for condition in list(conditions) {
        let cell = |name: &str| word(&condition[name]).to_owned();
        let since = condition["lastTransitionTime"].as_str();
        table.push([
            cell("type"),
            cell("status"),
            since.map_or(String::new(), |since| age(since, now)),
            cell("reason"),
            cell("message"),
        ]);
    }
    if table.rows.is_empty() {
        return String::new();
    }
    format!("Conditions:\n{}", indented(&table.text(paint), 2))
}

fn pairs(out: &mut String, title: &str, pairs: &Value) {
    for (at, (name, value)) in pairs.as_object().into_iter().flatten().enumerate() {
        let title = if at == 0 {
            format!("{title}:")
        } else {
            String::new()
        };
        let _ = writeln!(out, "  {title:<14} {name}={}", word(value));
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn words(value: &Value) -> String {
    let words: Vec<&str> = list(value).map(word).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::kind::Kind;
    use crate::output::color::When;
    use crate::output::time::parse;
    use serde_json::json;

    #[test]
    fn an_installation_shows_its_error_and_what_it_waits_for_with_the_rule() {
        let kind = Kind {
            group: "landscaper.gardener.cloud".into(),
            version: "v1alpha1".into(),
            kind: "Installation".into(),
            plural: "installations".into(),
            singular: "installation".into(),
            short_names: Vec::new(),
            namespaced: true,
        };
        let object = json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Installation",
            "metadata": {"name": "web", "namespace": "team", "creationTimestamp": "2026-01-01T00:00:00Z",
                "labels": {"app": "web"}, "ownerReferences": [{"kind": "Installation", "name": "root"}]},
            "spec": {"blueprint": {"path": "web"}},
            "status": {"phase": "Failed", "observedGeneration": 2,
                "lastError": {"operation": "Render", "reason": "Bad", "message": "no such import",
                    "codes": ["ERR_CONFIGURATION_PROBLEM"], "lastTransitionTime": "2026-01-01T00:00:30Z"},
                "waitingOn": [{"rule": "I14", "object": {"kind": "Installation", "name": "db"}, "reason": "must succeed"}],
                "conditions": [{"type": "ValidateImports", "status": "False", "reason": "NotThere"}]},
        });
        let shown = text(
            &Place::new(kind, "team", "web"),
            object,
            &[],
            &[],
            parse("2026-01-01T00:01:00Z").unwrap(),
            Paint::new(When::Never),
        );
        let expected = "Installation team/web
  API version:   landscaper.gardener.cloud/v1alpha1
  Created:       60s ago (2026-01-01T00:00:00Z)
  Phase:         Failed
  Labels:        app=web
  Owners:        Installation/root
Last error:
  no such import
  (Render: Bad, ERR_CONFIGURATION_PROBLEM, for 30s)
Waiting on:
  I14   Installation/db: must succeed
Conditions:
  TYPE              STATUS   SINCE   REASON     MESSAGE
  ValidateImports   False            NotThere
Spec:
  blueprint:
    path: web
Status:
  observedGeneration: 2
Events: none
";
        assert_eq!(shown, expected);
    }
}
