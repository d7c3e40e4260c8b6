//! Waits by watching until objects are as they should be.

use std::collections::BTreeMap;
use std::mem;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt as _;
use kube::ResourceExt as _;
use kube::api::Api;
use kube::core::DynamicObject;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Config, Event, watcher};
use landform_api::budget::Size;

use super::answers::cells;
use super::cluster::{Cluster, Place};
use super::object::ObjectName;
use super::report;
use crate::DeployError;

/// A watch may fail this often in a row before the target counts as unreachable.
const WATCH_FAILURES: usize = 3;
/// At most this many objects are listed in one answer.
const OBJECTS_IN_AN_ANSWER: u32 = 100;

/// How waiting ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Waited<T> {
    Done(T),
    /// What was still missing, for people.
    TimedOut(String),
}

/// How watching ended.
enum Watched<T> {
    Done(T),
    Failed(String),
}

/// Waits for one object.
pub(super) async fn for_object<T>(
    cluster: &Cluster<'_>,
    place: &Place,
    object: &ObjectName,
    timeout: Duration,
    mut check: impl FnMut(Option<&DynamicObject>) -> Result<T, String> + Send,
) -> Result<Waited<T>, DeployError> {
    // Most objects are as they should be at once.
    let live = cluster.get(place, object).await?;
    if let Ok(done) = check(live.as_ref()) {
        return Ok(Waited::Done(done));
    }
    let api = cluster.api(place, object.namespace.as_deref());
    let config = Config::default().fields(&format!("metadata.name={}", object.name));
    let secret = object.is_secret();
    until(cluster, api, config, secret, timeout, |objects| {
        check(objects.first().copied())
    })
    .await
}

/// Waits for all objects of a selection together.
pub(super) async fn until<T>(
    cluster: &Cluster<'_>,
    api: Api<DynamicObject>,
    config: Config,
    secret: bool,
    timeout: Duration,
    mut check: impl FnMut(&[&DynamicObject]) -> Result<T, String> + Send,
) -> Result<Waited<T>, DeployError> {
    let mut missing = "it was not seen yet".to_owned();
    let watching = async {
        let config = config.page_size(OBJECTS_IN_AN_ANSWER);
        let mut events = pin!(watcher(api, config).default_backoff());
        let mut objects = Objects::default();
        let mut listed = Objects::default();
        let mut is_known = false;
        let mut failures = 0;
        while let Some(event) = events.next().await {
            failures = match &event {
                Err(_) => failures + 1,
                // Every attempt to list begins with this, before anything was answered.
                Ok(Event::Init) => failures,
                Ok(_) => 0,
            };
            match event {
                Ok(Event::Init) => listed = Objects::default(),
                Ok(Event::InitApply(object)) => listed.put(object),
                Ok(Event::InitDone) => {
                    objects = mem::take(&mut listed);
                    is_known = true;
                }
                Ok(Event::Apply(object)) => objects.put(object),
                Ok(Event::Delete(object)) => objects.remove(&object),
                Err(error) if failures >= WATCH_FAILURES => {
                    return Watched::Failed(told(secret, &error));
                }
                Err(_) => {}
            }
            let limits = cluster.limits.as_ref();
            let kept = limits.map_or(Ok(()), |limits| limits.keep(objects.cells + listed.cells));
            if let Err(too_large) = kept {
                return Watched::Failed(too_large.to_string());
            }
            if is_known {
                let all: Vec<_> = objects.all.values().map(|(object, _)| object).collect();
                match check(&all) {
                    Ok(done) => return Watched::Done(done),
                    Err(text) => missing = text,
                }
            }
        }
        Watched::Failed("the watch ended".into())
    };
    let ended = tokio::time::timeout(timeout, cluster.job.or_cancelled(watching)).await;
    match ended {
        Ok(Ok(Watched::Done(done))) => Ok(Waited::Done(done)),
        Ok(Ok(Watched::Failed(text))) => {
            let message = format!("target {}: it can't be watched: {text}", cluster.target);
            Err(DeployError::transient("Watch", "Unreachable", message))
        }
        Ok(Err(cancelled)) => Err(cancelled),
        Err(_) => Ok(Waited::TimedOut(missing)),
    }
}

/// What a watch has shown, and how large it is.
#[derive(Default)]
struct Objects {
    all: BTreeMap<(Option<String>, String), (DynamicObject, usize)>,
    cells: usize,
}

impl Objects {
    fn put(&mut self, mut object: DynamicObject) {
        // Checks don't look at who wrote what, and it can be as large as the rest.
        object.metadata.managed_fields = None;
        let text = serde_json::to_vec(&object).unwrap_or_default();
        let cells = cells(&Size::of_text(&text));
        self.remove(&object);
        self.cells += cells;
        self.all.insert(key(&object), (object, cells));
    }

    fn remove(&mut self, object: &DynamicObject) {
        if let Some((_, cells)) = self.all.remove(&key(object)) {
            self.cells -= cells;
        }
    }
}

fn key(object: &DynamicObject) -> (Option<String>, String) {
    (object.namespace(), object.name_any())
}

fn told(secret: bool, error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => report::in_short(secret, error),
        watcher::Error::WatchError(status) if secret => status.reason.clone(),
        watcher::Error::WatchError(status) => report::without_values(&status.message),
        watcher::Error::NoResourceVersion => "its list has no resourceVersion".into(),
    }
}
