//! Asks for processes to be started again, stopped or started, by annotations of their items (ADR 0036).

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use kube::Client;
use landform_api::keys::{ANNOTATION_RESTART, ANNOTATION_STOPPED};
use landform_api::landscaper::{Operation, keys};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::Instant;

use super::named;
use super::row::is_to_stop;
use crate::client::{ClientArgs, block_on, get, merge};
use crate::logs::item_path;
use crate::{AnyError, exit, say};

/// How often an item is looked at that was asked.
const REFRESH: Duration = Duration::from_millis(100);

const EXAMPLES: &str = "Examples:
  landform stop di/db-abc12      one process
  landform stop inst/shop        all processes that an installation has now
  landform start inst/shop       they run again
  landform restart inst/shop     each is replaced by a new one

A process that is stopped stays so, over restarts of the server too, until it is started. What its item exports stays,
and nothing that depends on it is deployed again. `landform ps` lists processes.";

/// Arguments of `landform restart`, `stop` and `start`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AskArgs {
    /// KIND/NAME…: deploy items of type landform.dev/process, or what owns some.
    #[arg(value_name = "KIND/NAME", required = true)]
    objects: Vec<String>,
    /// Only asks, and doesn't wait until it is done.
    #[arg(long)]
    no_wait: bool,
    /// How long to wait at most, for instance 90s or 5m.
    #[arg(long, value_name = "TIME", default_value = "2m")]
    timeout: String,
    #[command(flatten)]
    server: ClientArgs,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Restart,
    Stop,
    Start,
}

pub(crate) fn restart(args: AskArgs) -> Result<ExitCode, AnyError> {
    ask(args, Wish::Restart)
}

pub(crate) fn stop(args: AskArgs) -> Result<ExitCode, AnyError> {
    ask(args, Wish::Stop)
}

pub(crate) fn start(args: AskArgs) -> Result<ExitCode, AnyError> {
    ask(args, Wish::Start)
}

fn ask(args: AskArgs, wish: Wish) -> Result<ExitCode, AnyError> {
    let Some(timeout) = landform_api::duration::parse(&args.timeout) else {
        let text = &args.timeout;
        return exit::misused(format!(
            "--timeout {text:?} is no length of time: say for instance 90s or 5m"
        ));
    };
    block_on(async {
        let client = args.server.connect().await?;
        let items = named(&client, &args.objects).await?;
        let now = OffsetDateTime::now_utc().format(&Rfc3339)?;
        for item in &items {
            merge(&client, &path(item), &patch(wish, item, &now)).await?;
        }
        let end = Instant::now() + timeout;
        let mut code = exit::OK;
        for item in &items {
            let title = format!("DeployItem/{}", name(item));
            let text = if args.no_wait {
                format!("{title} was asked to {}", wish.verb())
            } else {
                match outcome(&client, wish, item, end).await? {
                    Ok(done) => format!("{title} {done}"),
                    Err(trouble) => {
                        code = exit::FAILED;
                        format!("{title} {trouble}")
                    }
                }
            };
            say(&format!("{text}\n"))?;
        }
        Ok(code)
    })
}

impl Wish {
    fn verb(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Stop => "stop",
            Self::Start => "start",
        }
    }
}

fn name(item: &Value) -> &str {
    item["metadata"]["name"].as_str().unwrap_or_default()
}

fn path(item: &Value) -> String {
    let namespace = item["metadata"]["namespace"].as_str().unwrap_or_default();
    item_path(namespace, name(item))
}

/// What is written on an item. One that has failed is looked at again only when that is asked for, too.
fn patch(wish: Wish, item: &Value, now: &str) -> Value {
    let mut annotations = match wish {
        Wish::Stop => json!({ANNOTATION_STOPPED: keys::TRUE}),
        Wish::Start => json!({ANNOTATION_STOPPED: null}),
        Wish::Restart => json!({ANNOTATION_STOPPED: null, ANNOTATION_RESTART: now}),
    };
    let changes = match wish {
        Wish::Stop => !is_to_stop(item),
        Wish::Start => is_to_stop(item),
        Wish::Restart => true,
    };
    if item["status"]["phase"] == "Failed" && changes {
        annotations[keys::OPERATION] = Operation::Reconcile.as_str().into();
    }
    json!({"metadata": {"annotations": annotations}})
}

/// Waits for the end: what was done, or why it can't be.
async fn outcome(
    client: &Client,
    wish: Wish,
    before: &Value,
    end: Instant,
) -> Result<Result<String, String>, AnyError> {
    loop {
        let Some(item) = get(client, &path(before)).await? else {
            return Ok(Err("is gone".to_owned()));
        };
        if let Some(outcome) = reached(wish, before, &item) {
            return Ok(outcome);
        }
        if Instant::now() >= end {
            let phase = item["status"]["phase"].as_str().unwrap_or("none");
            let trouble = item["status"]["lastError"]["message"].as_str();
            let trouble = trouble.map_or(String::new(), |trouble| format!(": {trouble}"));
            return Ok(Err(format!(
                "was asked to {}, and that takes longer; its phase is {phase}{trouble}",
                wish.verb()
            )));
        }
        tokio::time::sleep(REFRESH).await;
    }
}

fn reached(wish: Wish, before: &Value, item: &Value) -> Option<Result<String, String>> {
    let (was, status) = (&before["status"], &item["status"]);
    let phase = status["phase"].as_str().unwrap_or_default();
    let error = &status["lastError"];
    if item["metadata"]["annotations"][keys::OPERATION].is_string() {
        return None;
    }
    let stopped = status["providerStatus"]["stopped"] == true;
    if wish == Wish::Stop {
        let never_ready = phase == "Failed" && error["reason"] == "Stopped";
        return (stopped || never_ready).then(|| Ok("is stopped".to_owned()));
    }
    let pid = &status["providerStatus"]["pid"];
    let same = pid == &was["providerStatus"]["pid"];
    match phase {
        "Succeeded" if stopped => None,
        "Succeeded" if wish == Wish::Restart && same && pid.is_i64() => None,
        "Succeeded" if pid.is_i64() => Some(Ok(format!("runs as process {pid}"))),
        "Succeeded" => Some(Ok("has run and ended".to_owned())),
        // What it failed with before is no news.
        "Failed" if error != &was["lastError"] || status["observedGeneration"].is_null() => {
            let message = error["message"].as_str().unwrap_or_default();
            Some(Err(format!("has failed: {message}")))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(phase: &str, provider: Value) -> Value {
        json!({"metadata": {"name": "db"}, "status": {"phase": phase, "providerStatus": provider}})
    }

    #[test]
    fn one_that_has_failed_is_looked_at_again() {
        let stop = patch(Wish::Stop, &item("Succeeded", json!({})), "now");
        assert_eq!(
            stop,
            json!({"metadata": {"annotations": {"landform.dev/stopped": "true"}}})
        );
        let restart = patch(Wish::Restart, &item("Failed", json!({})), "now");
        let wanted = json!({
            "landform.dev/stopped": null, "landform.dev/restart": "now",
            "landscaper.gardener.cloud/operation": "reconcile",
        });
        assert_eq!(restart["metadata"]["annotations"], wanted);
        // One that isn't stopped need not be started.
        let start = patch(Wish::Start, &item("Failed", json!({})), "now");
        assert_eq!(
            start["metadata"]["annotations"],
            json!({"landform.dev/stopped": null})
        );
    }

    #[test]
    fn the_end_is_what_was_asked_for_and_not_what_was_before() {
        let before = item("Succeeded", json!({"pid": 7}));
        let stopped = item("Succeeded", json!({"stopped": true}));
        let next = item("Succeeded", json!({"pid": 8}));
        let done = |text: &str| Some(Ok(text.to_owned()));
        assert_eq!(reached(Wish::Restart, &before, &before), None);
        assert_eq!(
            reached(Wish::Restart, &before, &next),
            done("runs as process 8")
        );
        assert_eq!(reached(Wish::Stop, &before, &before), None);
        assert_eq!(reached(Wish::Stop, &before, &stopped), done("is stopped"));
        assert_eq!(reached(Wish::Start, &stopped, &stopped), None);
        assert_eq!(
            reached(Wish::Start, &stopped, &next),
            done("runs as process 8")
        );
        let mut failed = item("Failed", json!({"pid": 9}));
        failed["status"]["lastError"] = json!({"message": "no such file"});
        let trouble = Some(Err("has failed: no such file".to_owned()));
        assert_eq!(reached(Wish::Start, &stopped, &failed), trouble);
    }
}
