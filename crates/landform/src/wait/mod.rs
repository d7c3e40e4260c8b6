//! `landform wait`: until objects are as asked for, with the reason when they never will be.
//!
//! `goal.rs` reads what is asked for and decides whether it is so; `settled.rs` waits until that is about the present;
//! this file watches.

mod goal;
mod settled;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use futures::StreamExt as _;
use futures::future::join_all;
use kube::Client;
use kube::api::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher::{self, Event};
use serde_json::Value;

use crate::client::object::{FileArgs, Place, places};
use crate::client::{ClientArgs, block_on, get};
use crate::output::ColorArgs;
use crate::output::color::Paint;
use crate::output::harmless::one_line;
use crate::output::live::Live;
use crate::{AnyError, exit, say};
use goal::{Goal, Standing};

const EXAMPLES: &str = "Examples:
  landform wait inst/db                                until it has Succeeded; fails at once when it Failed
  landform wait inst/db inst/web --timeout=10m         until both have
  landform wait project/shop                           until its files are read and all objects are as they say
  landform wait inst/db --for=delete                   until it is gone
  landform wait crd/shops.example.com --for=condition=Established
  landform wait deploy/web --for=jsonpath='{.status.readyReplicas}'=2
  landform wait inst/db --for=phase=Failed             until it has failed";

/// Arguments of `landform wait`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WaitArgs {
    /// KIND/NAME… or KIND NAME…
    #[arg(value_name = "KIND/NAME")]
    objects: Vec<String>,
    #[command(flatten)]
    files: FileArgs,
    /// delete, condition=TYPE[=STATUS], jsonpath='{.PATH}'[=VALUE] or phase=PHASE [default: phase=Succeeded for
    /// Landform's kinds, phase=Synced for projects, phase=Ready for catalogs].
    #[arg(long = "for", value_name = "WHAT")]
    goal: Option<String>,
    /// Waiting ends after this time, for instance 30s or 5m; 0s looks once.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    timeout: Duration,
    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    server: ClientArgs,
}

/// `30s`, `5m`; a number alone is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(Duration::from_secs(seconds));
    }
    let found = landform_api::duration::parse(text);
    found.ok_or_else(|| "write a time as 500ms, 30s, 5m or 1m30s".to_owned())
}

pub(crate) fn run(args: WaitArgs) -> Result<ExitCode, AnyError> {
    block_on(wait(args))
}

async fn wait(args: WaitArgs) -> Result<ExitCode, AnyError> {
    let client = args.server.connect().await?;
    let places = places(&client, &args.objects, &args.files).await?;
    let goals = places.iter().map(|place| match &args.goal {
        Some(text) => Goal::parse(text),
        None => Goal::usual(place),
    });
    let goals: Vec<Goal> = goals.collect::<Result<_, _>>()?;
    let paint = Paint::new(args.color.color);
    let said = Arc::new(Mutex::new(vec![String::new(); places.len()]));
    let waits = places.iter().zip(&goals).enumerate();
    let waits = waits.map(|(at, (place, goal))| {
        let said = Arc::clone(&said);
        let client = client.clone();
        async move {
            let tell = |text: String| {
                let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(line) = said.get_mut(at) {
                    *line = text;
                }
            };
            let waiting = one(&client, place, goal, &tell);
            match tokio::time::timeout(args.timeout.max(Duration::from_millis(1)), waiting).await {
                Ok(ended) => ended,
                Err(_) if args.timeout.is_zero() => once(&client, place, goal).await,
                Err(_) => Err(late(&client, place, goal, args.timeout).await),
            }
        }
    });
    let waiting = join_all(waits);
    let ended = with_line(waiting, &said).await;
    let mut failed = false;
    for (place, ended) in places.iter().zip(ended) {
        match ended {
            Ok(how) => say(&format!(
                "{} {}\n",
                place.short(),
                paint.phase(&one_line(&how))
            ))?,
            Err(error) => {
                failed = true;
                eprintln!("error: {}", one_line(&error.to_string()));
            }
        }
    }
    Ok(if failed { exit::FAILED } else { exit::OK })
}

/// Shows what is waited for while it is.
async fn with_line<T>(waiting: impl Future<Output = T>, said: &Mutex<Vec<String>>) -> T {
    let mut live = Live::new();
    let mut waiting = std::pin::pin!(waiting);
    loop {
        tokio::select! {
            ended = &mut waiting => return ended,
            () = tokio::time::sleep(Duration::from_millis(100)), if live.is_shown() => {
                let said = said.lock().unwrap_or_else(PoisonError::into_inner);
                let open: Vec<&str> = said.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
                let text = match open.as_slice() {
                    [] => "waiting".to_owned(),
                    [one] => (*one).to_owned(),
                    [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
                };
                live.show(&text);
            }
        }
    }
}

/// Waits for one object; says how it ended.
async fn one(
    client: &Client,
    place: &Place,
    goal: &Goal,
    tell: &(dyn Fn(String) + Sync),
) -> Result<String, AnyError> {
    // A watch can't be told from one that shows nothing: a first look finds what isn't there.
    let found = get(client, &place.path()).await?;
    if let Some(ended) = judge_settled(client, place, goal, found.as_ref(), tell).await? {
        return Ok(ended);
    }
    let kind = &place.kind;
    let gvk = GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, &kind.plural);
    let api: Api<DynamicObject> = if kind.namespaced {
        Api::namespaced_with(client.clone(), &place.namespace, &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    };
    let config = watcher::Config::default().fields(&format!("metadata.name={}", place.name));
    let mut events = Box::pin(watcher::watcher(api, config));
    let mut listed = false;
    while let Some(event) = events.next().await {
        let found = match event {
            Ok(Event::Init) => {
                listed = false;
                continue;
            }
            Ok(Event::InitApply(object) | Event::Apply(object)) => {
                listed = true;
                Some(serde_json::to_value(object)?)
            }
            Ok(Event::InitDone) if listed => continue,
            Ok(Event::InitDone | Event::Delete(_)) => None,
            Err(watcher::Error::WatchError(status)) if status.code == 410 => continue,
            // The connection may come back before the time is over.
            Err(error) => {
                tell(format!("{}: {error}", place.short()));
                tokio::time::sleep(Duration::from_millis(200)).await;
                continue;
            }
        };
        let ended = judge_settled(client, place, goal, found.as_ref(), tell).await?;
        if let Some(ended) = ended {
            return Ok(ended);
        }
    }
    Err("the server has ended the watch: ask again".into())
}

/// The same, of the present: an end by a phase may be that of files, imports or nested objects as they were before.
async fn judge_settled(
    client: &Client,
    place: &Place,
    goal: &Goal,
    found: Option<&Value>,
    tell: &(dyn Fn(String) + Sync),
) -> Result<Option<String>, AnyError> {
    let judged = judge(place, goal, found, tell);
    if matches!(judged, Ok(None)) || !goal.tells_of_a_run() {
        return judged;
    }
    tell(format!("{}: its files are read", place.short()));
    settled::settle(client, place, found).await;
    let found = get(client, &place.path()).await?;
    judge(place, goal, found.as_ref(), tell)
}

fn judge(
    place: &Place,
    goal: &Goal,
    found: Option<&Value>,
    tell: &(dyn Fn(String) + Sync),
) -> Result<Option<String>, AnyError> {
    match goal.judge(found) {
        Standing::Reached(how) => {
            tell(String::new());
            Ok(Some(how))
        }
        Standing::Missing => Err(place.missing().into()),
        Standing::Never(why) => Err(format!("{} {why}", place.short()).into()),
        Standing::Open(why) => {
            tell(format!("{}: {why}", place.short()));
            Ok(None)
        }
    }
}

/// Waits until an object has Succeeded; says how it ended.
pub(crate) async fn succeeded(
    client: &Client,
    place: &Place,
    patience: Duration,
) -> Result<String, AnyError> {
    let goal = Goal::Phase("Succeeded".to_owned());
    let waiting = one(client, place, &goal, &|_| ());
    match tokio::time::timeout(patience, waiting).await {
        Ok(ended) => ended,
        Err(_) => Err(late(client, place, &goal, patience).await),
    }
}

async fn once(client: &Client, place: &Place, goal: &Goal) -> Result<String, AnyError> {
    let found = get(client, &place.path()).await?;
    match judge(place, goal, found.as_ref(), &|_| ())? {
        Some(how) => Ok(how),
        None => Err(late(client, place, goal, Duration::ZERO).await),
    }
}

/// The sentence for an object that was not in time.
async fn late(client: &Client, place: &Place, goal: &Goal, timeout: Duration) -> AnyError {
    let found = get(client, &place.path()).await.ok().flatten();
    let why = match goal.judge(found.as_ref()) {
        Standing::Open(why) | Standing::Never(why) => why,
        Standing::Reached(_) => {
            "it says so, and something that it depends on is still at work".to_owned()
        }
        Standing::Missing => "it is gone".to_owned(),
    };
    format!(
        "{} is not {goal} after {}: {why}; `landform why {}/{}` says more",
        place.short(),
        landform_api::duration::write(timeout),
        place.kind.singular,
        place.name
    )
    .into()
}

#[cfg(test)]
mod tests {
    use super::duration;
    use std::time::Duration;

    #[test]
    fn times_may_be_seconds_alone() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert!(duration("soon").is_err());
    }
}
