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

use super::cluster::{Cluster, Place};
use super::object::ObjectName;
use super::report;
use crate::{DeployError, Job};

/// How waiting ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Waited<T> {
    Done(T),
    /// What was still missing, for people.
    TimedOut(String),
}

/// Waits for one object.
pub(super) async fn for_object<T>(
    cluster: &Cluster<'_>,
    place: &Place,
    object: &ObjectName,
    timeout: Duration,
    mut check: impl FnMut(Option<&DynamicObject>) -> Result<T, String> + Send,
) -> Result<Waited<T>, DeployError> {
    let api = cluster.api(place, object.namespace.as_deref());
    let config = Config::default().fields(&format!("metadata.name={}", object.name));
    let secret = object.is_secret();
    until(cluster.job, api, config, secret, timeout, |objects| {
        check(objects.first().copied())
    })
    .await
}

/// Waits for all objects of a selection together.
pub(super) async fn until<T>(
    job: &Job<'_>,
    api: Api<DynamicObject>,
    config: Config,
    secret: bool,
    timeout: Duration,
    mut check: impl FnMut(&[&DynamicObject]) -> Result<T, String> + Send,
) -> Result<Waited<T>, DeployError> {
    let mut missing = "it was not seen yet".to_owned();
    let watching = async {
        let mut events = pin!(watcher(api, config).default_backoff());
        let mut objects = BTreeMap::new();
        let mut listed = BTreeMap::new();
        let mut is_known = false;
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(object)) => {
                    listed.insert(key(&object), object);
                }
                Ok(Event::InitDone) => {
                    objects = mem::take(&mut listed);
                    is_known = true;
                }
                Ok(Event::Apply(object)) => {
                    objects.insert(key(&object), object);
                }
                Ok(Event::Delete(object)) => {
                    objects.remove(&key(&object));
                }
                Err(error) => missing = format!("it can't be watched: {}", told(secret, &error)),
            }
            if is_known {
                let all: Vec<_> = objects.values().collect();
                match check(&all) {
                    Ok(done) => return Some(done),
                    Err(text) => missing = text,
                }
            }
        }
        None
    };
    let ended = tokio::time::timeout(timeout, job.or_cancelled(watching)).await;
    match ended {
        Ok(Ok(Some(done))) => Ok(Waited::Done(done)),
        Ok(Err(cancelled)) => Err(cancelled),
        Ok(Ok(None)) | Err(_) => Ok(Waited::TimedOut(missing)),
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
        watcher::Error::WatchError(status) => status.message.clone(),
        _ => "the watch failed".into(),
    }
}
