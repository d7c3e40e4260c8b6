//! Following the kinds: list, then watch, metadata only; new kinds as they appear.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::core::{DynamicObject, PartialObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::utils::{Backoff, ResetTimerBackoff};
use kube::runtime::watcher::{self, Event, watcher};
use landform_api::keys::ANNOTATION_RENAMED_TO;
use landform_graph::owners::Uid;
use tokio::task::{AbortHandle, JoinSet};

use super::cycles;
use super::kinds::{self, Kind, KindId, Known};
use super::run::Shared;
use super::state::Health;

/// After a discovery that failed, the next one comes after this time.
const DISCOVERY_RETRY: Duration = Duration::from_secs(1);
/// The pause after the first failure of a kind, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(800);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Pauses begin anew when there was no failure for this time.
const RECOVERED: Duration = Duration::from_secs(120);
/// The seconds that a watch lasts. It stays in this process: no connection can die unnoticed.
const WATCH_S: u32 = 1_740;
/// Lists come in pages of so many objects.
const PAGE: u32 = 5_000;

impl Shared {
    /// Follows every kind there is, for ever.
    pub(super) async fn follow_kinds(self: Arc<Self>) {
        let mut tasks = JoinSet::new();
        let mut followed: BTreeMap<KindId, AbortHandle> = BTreeMap::new();
        loop {
            match kinds::discover(&self.client).await {
                Ok(known) => self.follow_known(&mut tasks, &mut followed, known),
                Err(error) => {
                    tracing::warn!(%error, "the collector can't find out which kinds there are");
                    tokio::time::sleep(DISCOVERY_RETRY).await;
                    continue;
                }
            }
            self.definitions_changed.notified().await;
        }
    }

    fn follow_known(
        self: &Arc<Self>,
        tasks: &mut JoinSet<()>,
        followed: &mut BTreeMap<KindId, AbortHandle>,
        known: Known,
    ) {
        let mut gone = std::mem::take(followed);
        for kind in known.served {
            let id = self.state.lock().kind_id(&kind);
            let changed = {
                let mut state = self.state.lock();
                let known = state.kind_mut(id);
                let changed = known.kind != kind || known.health == Health::Gone;
                if changed {
                    known.kind = kind.clone();
                    known.health = Health::Listing;
                }
                changed
            };
            match gone.remove(&id) {
                Some(task) if !changed => {
                    followed.insert(id, task);
                }
                task => {
                    if let Some(task) = task {
                        task.abort();
                    }
                    followed.insert(id, tasks.spawn(self.clone().follow(id, kind)));
                }
            }
        }
        let mut state = self.state.lock();
        for (id, task) in gone {
            task.abort();
            state.drop_kind(id);
        }
        let hidden = known.hidden.iter();
        let shown = hidden.map(|(kind, objects)| state.take_hidden(kind, objects));
        let shown = shown.collect();
        state.ask_again(&shown);
        drop(state);
        self.start_when_listed(true);
        self.changed.notify_one();
    }

    /// Follows one kind.
    async fn follow(self: Arc<Self>, id: KindId, kind: Kind) {
        let api: Api<PartialObjectMeta<DynamicObject>> =
            Api::all_with(self.client.clone(), &kind.resource);
        let config = watcher::Config::default().page_size(PAGE).timeout(WATCH_S);
        let mut changes = watcher(api, config)
            .backoff(ResetTimerBackoff::new(Pauses::of(id), RECOVERED))
            .boxed();
        let is_definition = matches!(
            kind.resource.kind.as_str(),
            "CustomResourceDefinition" | "APIService"
        );
        let is_namespace = kind.resource.group.is_empty() && kind.resource.kind == "Namespace";
        while let Some(change) = changes.next().await {
            match change {
                Ok(change) => {
                    if is_definition && !matches!(change, Event::Init | Event::InitApply(_)) {
                        self.definitions_changed.notify_one();
                    }
                    let emptied = is_namespace.then(|| emptied(&change)).flatten();
                    self.take(id, change);
                    if let Some(namespace) = emptied {
                        self.state.lock().doubt_hidden_in(&namespace);
                        self.changed.notify_one();
                    }
                }
                Err(error) => self.report_failure(id, &kind, &error),
            }
        }
    }

    /// Takes a change of one kind in.
    fn take(&self, kind: KindId, change: Event<PartialObjectMeta<DynamicObject>>) {
        let mut state = self.state.lock();
        match change {
            Event::Init => state.begin_list(kind),
            Event::InitApply(object) => state.put(kind, &object.metadata),
            Event::Apply(object) => {
                state.kind_mut(kind).health = Health::Followed;
                state.put(kind, &object.metadata);
            }
            Event::Delete(object) => match renamed(&object.metadata) {
                Some(uid) => state.doubt(&uid),
                None => state.remove(&object.metadata),
            },
            Event::InitDone => {
                state.end_list(kind);
                drop(state);
                self.start_when_listed(false);
                self.changed.notify_one();
                return;
            }
        }
        let idle = state.queue.is_quiet() && !state.cycles_unchecked;
        drop(state);
        if !idle {
            self.changed.notify_one();
        }
    }

    fn report_failure(&self, id: KindId, kind: &Kind, error: &watcher::Error) {
        tracing::warn!(kind = kind.title(), %error, "the collector can't follow a kind; others go on");
        self.metrics.failed(&kind.title());
        self.state.lock().kind_mut(id).health = Health::Failing(error.to_string());
        if is_not_found(error) {
            // Perhaps its definition has gone.
            self.definitions_changed.notify_one();
        }
        self.start_when_listed(false);
        self.changed.notify_one();
    }

    /// Decisions begin when each kind was listed or has failed to be.
    fn start_when_listed(&self, discovered: bool) {
        let mut state = self.state.lock();
        state.discovered |= discovered;
        let listing = |kind: &super::state::FollowedKind| kind.health == Health::Listing;
        if state.discovered && !state.started && !state.kinds.iter().any(listing) {
            state.start();
            tracing::debug!(
                objects = state.graph.len(),
                "the collector knows all objects"
            );
            self.recorder.report_cycles(cycles::all(&state));
        }
    }
}

/// The pauses between the failures of a kind: doubling. Kinds differ a little, so that they don't all come back at
/// once, and not by chance, so that a simulation does the same twice.
struct Pauses {
    first: Duration,
    next: Duration,
}

impl Pauses {
    fn of(kind: KindId) -> Self {
        let first = FIRST_PAUSE + Duration::from_millis(7) * u32::from(kind.0);
        Self { first, next: first }
    }
}

impl Iterator for Pauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let pause = self.next.min(LONGEST_PAUSE);
        self.next = pause * 2;
        Some(pause)
    }
}

impl Backoff for Pauses {
    fn reset(&mut self) {
        self.next = self.first;
    }
}

/// The uid of an object whose removal is the first half of a rename: the second half follows.
fn renamed(metadata: &ObjectMeta) -> Option<Uid> {
    let annotations = metadata.annotations.as_ref()?;
    annotations.get(ANNOTATION_RENAMED_TO)?;
    metadata.uid.as_deref().map(Uid::new)
}

/// The namespace that is being deleted: what is in it goes, also what isn't served.
fn emptied(change: &Event<PartialObjectMeta<DynamicObject>>) -> Option<String> {
    let (Event::Apply(namespace) | Event::InitApply(namespace) | Event::Delete(namespace)) = change
    else {
        return None;
    };
    let metadata = &namespace.metadata;
    metadata.deletion_timestamp.as_ref()?;
    metadata.name.clone()
}

fn is_not_found(error: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error)) =
        error
    else {
        return false;
    };
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
