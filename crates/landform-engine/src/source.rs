//! One kind's objects: listed once, then watched, for as long as somebody needs them.
//!
//! kube's `watcher` does the protocol: pages, bookmarks, resuming after a lost connection, listing anew
//! after 410. What is added here: which resource a kind is, waiting for a kind that doesn't exist yet, and
//! a pause between failures.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::Api;
use kube::core::{ApiResource, GroupVersionKind as KubeKind};
use kube::runtime::watcher::{self, watcher};
use kube::{Client, Error, ResourceExt as _};
use landform_api::keys::ANNOTATION_RENAMED_TO;
use landform_api::{GroupKind, GroupVersionKind};
use tokio::sync::watch;

use crate::message::{Inbox, Message, SourceEvent};
use crate::reconciler::chain;
use crate::sighted::Sighted;

/// The pause after the first failure; it doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A watch that has been silent for so long after a failure is open again.
const QUIET: Duration = Duration::from_secs(5);
/// Objects per page of a list.
const PAGE: u32 = 500;

/// How a kind is read: its plural, and whether its objects live in namespaces.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) api: ApiResource,
    pub(crate) namespaced: bool,
}

pub(crate) struct Source {
    pub(crate) client: Client,
    /// The seconds that a watch lasts, if not as long as usual.
    pub(crate) watch_s: Option<u32>,
    pub(crate) kind: GroupVersionKind,
    pub(crate) key: Arc<GroupKind>,
    pub(crate) epoch: u64,
    pub(crate) inbox: Inbox,
    /// What the kind is, for those who read its objects.
    pub(crate) resource: watch::Sender<Option<Arc<Resource>>>,
    /// Moves when kinds were added or removed.
    pub(crate) kinds_changed: watch::Receiver<u64>,
}

impl Source {
    /// Follows the kind until the task is dropped.
    pub(crate) async fn follow(mut self) {
        let mut pause = Pause::default();
        loop {
            self.kinds_changed.mark_unchanged();
            match find(&self.client, &self.kind).await {
                Ok(Some(resource)) => {
                    let resource = Arc::new(resource);
                    self.resource.send_replace(Some(resource.clone()));
                    self.read(&resource).await;
                }
                Ok(None) => {}
                Err(error) => {
                    self.put(SourceEvent::Failing(chain(&error)));
                    pause.wait().await;
                    continue;
                }
            }
            pause = Pause::default();
            self.resource.send_replace(None);
            self.put(SourceEvent::Absent);
            let _ = tokio::time::timeout(LONGEST_PAUSE, self.kinds_changed.changed()).await;
        }
    }

    /// Lists and watches until the API doesn't know the kind any more. Whatever else fails is tried
    /// again from where it was.
    async fn read(&self, resource: &Resource) {
        let api: Api<Sighted> = Api::all_with(self.client.clone(), &resource.api);
        let mut config = watcher::Config::default().page_size(PAGE);
        config.timeout = self.watch_s.or(config.timeout);
        let mut events = pin!(watcher(api, config));
        let mut listed = Vec::new();
        let mut pause = Pause::default();
        let mut failing = false;
        loop {
            let next = if failing {
                let Ok(next) = tokio::time::timeout(QUIET, events.next()).await else {
                    // Nothing came, not even an error: the watch is open again.
                    failing = false;
                    self.put(SourceEvent::Recovered);
                    continue;
                };
                next
            } else {
                events.next().await
            };
            let Some(next) = next else { return };
            let error = match next {
                Ok(event) => {
                    (pause, failing) = (Pause::default(), false);
                    self.pass_on(event, &mut listed);
                    continue;
                }
                Err(error) => error,
            };
            match verdict(&error) {
                Verdict::ListAnew => {}
                Verdict::Absent => return,
                Verdict::Resume => pause.wait().await,
                Verdict::Failed => {
                    failing = true;
                    self.put(SourceEvent::Failing(chain(&error)));
                    pause.wait().await;
                }
            }
        }
    }

    fn pass_on(&self, event: watcher::Event<Sighted>, listed: &mut Vec<Sighted>) {
        match event {
            watcher::Event::Init => listed.clear(),
            watcher::Event::InitApply(object) => listed.push(object),
            watcher::Event::InitDone => self.put(SourceEvent::Listed(std::mem::take(listed))),
            // The last word under a former name; its end and the new name follow.
            watcher::Event::Apply(object)
                if object.annotations().contains_key(ANNOTATION_RENAMED_TO) => {}
            watcher::Event::Apply(object) => self.put(SourceEvent::Applied(object)),
            watcher::Event::Delete(object) => self.put(SourceEvent::Deleted(object)),
        }
    }

    fn put(&self, event: SourceEvent) {
        self.inbox.put(Message::Source {
            kind: self.key.clone(),
            epoch: self.epoch,
            event,
        });
    }
}

/// Pauses that double.
struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Self(FIRST_PAUSE)
    }
}

impl Pause {
    async fn wait(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(LONGEST_PAUSE);
    }
}

enum Verdict {
    /// The history was too short; the watcher lists anew.
    ListAnew,
    /// The connection broke off; the watcher resumes where it was.
    Resume,
    /// The API doesn't know the kind.
    Absent,
    /// People should know.
    Failed,
}

fn verdict(error: &watcher::Error) -> Verdict {
    let code = match error {
        watcher::Error::InitialListFailed(Error::Api(status))
        | watcher::Error::WatchStartFailed(Error::Api(status)) => Some(status.code),
        watcher::Error::WatchError(status) => Some(status.code),
        _ => None,
    };
    match (error, code) {
        (_, Some(410)) => Verdict::ListAnew,
        (_, Some(404)) => Verdict::Absent,
        (watcher::Error::WatchFailed(_), _) => Verdict::Resume,
        _ => Verdict::Failed,
    }
}

/// Asks the API which resource a kind is; `None` when there is no such kind.
async fn find(client: &Client, kind: &GroupVersionKind) -> Result<Option<Resource>, Error> {
    let list = if kind.group.is_empty() {
        client.list_core_api_resources(&kind.version).await
    } else {
        client.list_api_group_resources(&kind.api_version()).await
    };
    let list = match list {
        Ok(list) => list,
        Err(Error::Api(status)) if status.code == 404 => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut resources = list.resources.into_iter();
    let found = resources.find(|found| found.kind == kind.kind && !found.name.contains('/'));
    Ok(found.map(|found| {
        let name = KubeKind::gvk(&kind.group, &kind.version, &kind.kind);
        Resource {
            api: ApiResource::from_gvk_with_plural(&name, &found.name),
            namespaced: found.namespaced,
        }
    }))
}
