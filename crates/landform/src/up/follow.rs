//! Follows all objects of the kinds that can be waited for, by watches.

use futures::StreamExt as _;
use kube::Client;
use kube::api::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher::{self, watcher};
use landform_api::{catalog, landscaper, project};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// What a watch shows.
pub(crate) enum News {
    /// An object as it is now.
    Seen(Value),
    /// The object with this uid is gone.
    Gone(String),
    /// Everything of one more kind that was there has been seen.
    Listed,
}

/// A kind, as URLs have it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Followed {
    group: String,
    version: String,
    kind: String,
    plural: String,
}

/// The kinds of Landform that have phases.
pub(crate) fn kinds() -> Vec<Followed> {
    let of = |group: &str, version: &str, kinds: &[&str]| -> Vec<Followed> {
        let kinds = kinds.iter();
        kinds
            .map(|kind| Followed {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: (*kind).to_owned(),
                plural: format!("{}s", kind.to_lowercase()),
            })
            .collect()
    };
    let mut kinds = of(project::GROUP, project::VERSION, &["Project", "Reconciler"]);
    let landscape = ["Installation", "Execution", "DeployItem"];
    kinds.extend(of(landscaper::GROUP, landscaper::VERSION, &landscape));
    let operators = ["Catalog", "AppType", "OperatorVersion"];
    kinds.extend(of(catalog::GROUP, catalog::VERSION, &operators));
    kinds
}

/// Watches kinds until it is dropped.
pub(crate) struct Follower {
    news: mpsc::UnboundedReceiver<News>,
    /// So many kinds have not been listed yet.
    unlisted: usize,
    _watches: JoinSet<()>,
}

impl Follower {
    pub(crate) fn new(client: &Client, kinds: &[Followed]) -> Self {
        let (send, news) = mpsc::unbounded_channel();
        let mut watches = JoinSet::new();
        for kind in kinds {
            watches.spawn(follow(client.clone(), kind.clone(), send.clone()));
        }
        Self {
            news,
            unlisted: kinds.len(),
            _watches: watches,
        }
    }

    /// Whether all that was there at the beginning has been seen.
    pub(crate) fn is_complete(&self) -> bool {
        self.unlisted == 0
    }

    /// The next news; waits for it.
    pub(crate) async fn next(&mut self) -> Option<News> {
        let news = self.news.recv().await;
        if matches!(news, Some(News::Listed)) {
            self.unlisted = self.unlisted.saturating_sub(1);
        }
        news
    }
}

async fn follow(client: Client, kind: Followed, news: mpsc::UnboundedSender<News>) {
    let name = GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind);
    let resource = ApiResource::from_gvk_with_plural(&name, &kind.plural);
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()));
    let mut listed = false;
    while let Some(event) = events.next().await {
        let sent = match event {
            Ok(watcher::Event::Apply(object) | watcher::Event::InitApply(object)) => {
                serde_json::to_value(object).map_or(Ok(()), |object| news.send(News::Seen(object)))
            }
            Ok(watcher::Event::Delete(object)) => {
                let uid = object.metadata.uid.unwrap_or_default();
                news.send(News::Gone(uid))
            }
            Ok(watcher::Event::InitDone) if !listed => {
                listed = true;
                news.send(News::Listed)
            }
            Ok(watcher::Event::Init | watcher::Event::InitDone) => Ok(()),
            // The watcher begins again by itself.
            Err(error) => {
                tracing::debug!(kind = kind.kind, %error, "a watch broke off");
                Ok(())
            }
        };
        if sent.is_err() {
            return;
        }
    }
}
