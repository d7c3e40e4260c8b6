//! Writes down every event of a kind, to be judged when all is over.

use std::sync::Arc;

use futures::StreamExt as _;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::core::DynamicObject;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinHandle;

/// All events of a kind since it was made.
pub(crate) struct Record {
    events: Arc<Mutex<Vec<Event>>>,
    task: JoinHandle<()>,
}

/// One event.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) gone: bool,
    pub(crate) object: Value,
}

impl Event {
    pub(crate) fn name(&self) -> &str {
        self.object["metadata"]["name"].as_str().unwrap_or_default()
    }

    pub(crate) fn revision(&self) -> u64 {
        let revision = self.object["metadata"]["resourceVersion"].as_str();
        revision.unwrap().parse().unwrap()
    }

    pub(crate) fn owners(&self) -> &[Value] {
        let owners = self.object["metadata"]["ownerReferences"].as_array();
        owners.map(Vec::as_slice).unwrap_or_default()
    }
}

impl Record {
    pub(crate) async fn of(api: Api<DynamicObject>) -> Self {
        let listed = api.list(&ListParams::default()).await.unwrap();
        let revision = listed.metadata.resource_version.unwrap();
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let written = events.clone();
        let parameters = WatchParams::default().timeout(290);
        let watch = api.watch(&parameters, &revision).await.unwrap();
        let task = tokio::spawn(async move {
            let mut watch = watch.boxed();
            while let Some(event) = watch.next().await {
                let (gone, object) = match event.unwrap() {
                    WatchEvent::Added(object) | WatchEvent::Modified(object) => (false, object),
                    WatchEvent::Deleted(object) => (true, object),
                    WatchEvent::Bookmark(_) => continue,
                    WatchEvent::Error(error) => panic!("{error}"),
                };
                let object = serde_json::to_value(object).unwrap();
                written.lock().push(Event { gone, object });
            }
        });
        Self { events, task }
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().clone()
    }

    /// The events of one object.
    pub(crate) fn about(&self, name: &str) -> Vec<Event> {
        let mut events = self.events();
        events.retain(|event| event.name() == name);
        events
    }

    /// The revision at which an object was gone.
    #[track_caller]
    pub(crate) fn gone_at(&self, name: &str) -> u64 {
        let events = self.about(name);
        let gone = events.iter().find(|event| event.gone);
        gone.unwrap_or_else(|| panic!("{name} never went"))
            .revision()
    }

    /// O15: whoever had an owner always has one, and never two controllers.
    #[track_caller]
    pub(crate) fn assert_owned(&self, names: &[&str]) {
        for event in self.events() {
            let owners = event.owners();
            let controllers = owners.iter().filter(|owner| owner["controller"] == true);
            assert!(
                controllers.count() <= 1,
                "two controllers: {}",
                event.object
            );
            if names.contains(&event.name()) {
                assert!(!owners.is_empty(), "nobody owns {}", event.object);
                assert!(!event.gone, "it is lost: {}", event.object);
            }
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.task.abort();
    }
}
