//! kube-rs over the socket: typed and dynamic objects, `watcher` and `reflector`.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;

use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams, PostParams,
};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::watcher::{self, Event, watcher};
use kube::runtime::{WatchStreamExt, reflector as reflect};
use kube::{Client, Config, ResourceExt};
use landform_e2e::{DEADLINE, Server};
use serde_json::json;

use crate::custom_resources::{widget, with_widgets};

async fn client(server: &Server) -> Client {
    let kubeconfig = Kubeconfig::read_from(server.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    Client::try_from(config.unwrap()).unwrap()
}

/// Waits no longer than the deadline of all tests.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, what)
        .await
        .expect("nothing came until the deadline")
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([("app".to_owned(), "w".to_owned())])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("k".to_owned(), value.to_owned())])),
        ..ConfigMap::default()
    }
}

/// An event with the name of its object, without the marks of the first list.
async fn next(
    events: &mut (impl Stream<Item = Result<Event<ConfigMap>, watcher::Error>> + Unpin),
) -> (&'static str, String) {
    loop {
        match soon(events.try_next())
            .await
            .unwrap()
            .expect("a watcher never ends")
        {
            Event::Apply(object) => return ("apply", object.name_any()),
            Event::InitApply(object) => return ("init", object.name_any()),
            Event::Delete(object) => return ("delete", object.name_any()),
            Event::Init | Event::InitDone => {}
        }
    }
}

#[tokio::test]
async fn objects_are_created_read_changed_and_deleted() {
    let server = Server::start();
    let maps: Api<ConfigMap> = Api::namespaced(client(&server).await, "default");
    let created = maps
        .create(&PostParams::default(), &config_map("one", "1"))
        .await
        .unwrap();
    assert!(created.uid().is_some() && created.resource_version().is_some());
    let again = maps
        .create(&PostParams::default(), &config_map("one", "1"))
        .await;
    assert!(matches!(again, Err(kube::Error::Api(status)) if status.reason == "AlreadyExists"));

    let patch = json!({"data": {"l": "2"}});
    let patched = maps
        .patch("one", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
    assert_eq!(patched.data.map(|data| data.len()), Some(2));
    let stale = maps.replace("one", &PostParams::default(), &created).await;
    assert!(matches!(stale, Err(kube::Error::Api(status)) if status.code == 409));

    let listed = maps
        .list_metadata(&ListParams::default().labels("app=w"))
        .await
        .unwrap();
    assert_eq!(listed.items.len(), 1);
    maps.delete("one", &DeleteParams::default()).await.unwrap();
    assert!(maps.get_opt("one").await.unwrap().is_none());
}

#[tokio::test]
async fn c5_a_watcher_sees_every_change_in_order() {
    for strategy in [
        watcher::InitialListStrategy::ListWatch,
        watcher::InitialListStrategy::StreamingList,
    ] {
        let server = Server::start();
        let maps: Api<ConfigMap> = Api::namespaced(client(&server).await, "default");
        maps.create(&PostParams::default(), &config_map("before", "1"))
            .await
            .unwrap();
        let config = watcher::Config {
            initial_list_strategy: strategy,
            ..watcher::Config::default()
        };
        let mut events = pin!(watcher(maps.clone(), config.labels("app=w")));
        assert_eq!(next(&mut events).await, ("init", "before".to_owned()));
        maps.create(&PostParams::default(), &config_map("one", "1"))
            .await
            .unwrap();
        assert_eq!(next(&mut events).await, ("apply", "one".to_owned()));
        let patch = Patch::Merge(json!({"data": {"k": "2"}}));
        maps.patch("one", &PatchParams::default(), &patch)
            .await
            .unwrap();
        maps.delete("before", &DeleteParams::background())
            .await
            .unwrap();
        assert_eq!(next(&mut events).await, ("apply", "one".to_owned()));
        assert_eq!(next(&mut events).await, ("delete", "before".to_owned()));
    }
}

#[tokio::test]
async fn a_watcher_survives_the_death_of_the_server() {
    let server = Server::start();
    let maps: Api<ConfigMap> = Api::namespaced(client(&server).await, "default");
    let config = watcher::Config::default().labels("app=w");
    let mut events = pin!(watcher(maps.clone(), config).default_backoff());
    maps.create(&PostParams::default(), &config_map("before", "1"))
        .await
        .unwrap();
    wait_for("before", &mut events).await;
    let server = server.restart(|_| {});
    server.apply(&crate::config_map("after", "w", &[]));
    wait_for("after", &mut events).await;
}

/// Waits for an object. Errors are part of the stream while the server is away: the watcher goes on
/// by itself.
async fn wait_for(
    name: &str,
    events: &mut (impl Stream<Item = Result<Event<ConfigMap>, watcher::Error>> + Unpin),
) {
    loop {
        let event = soon(events.next()).await.expect("a watcher never ends");
        if let Ok(Event::Apply(object) | Event::InitApply(object)) = event
            && object.name_any() == name
        {
            return;
        }
    }
}

#[tokio::test]
async fn a_reflector_mirrors_what_the_server_has() {
    let server = Server::start();
    let maps: Api<ConfigMap> = Api::namespaced(client(&server).await, "default");
    maps.create(&PostParams::default(), &config_map("one", "1"))
        .await
        .unwrap();
    let (store, writer) = reflector::store();
    let mut mirrored = pin!(
        reflect(
            writer,
            watcher(maps.clone(), watcher::Config::default().labels("app=w"))
        )
        .default_backoff()
        .applied_objects()
    );
    let object = soon(mirrored.try_next()).await.unwrap().unwrap();
    assert_eq!(object.name_any(), "one");
    maps.create(&PostParams::default(), &config_map("two", "2"))
        .await
        .unwrap();
    let object = soon(mirrored.try_next()).await.unwrap().unwrap();
    let found = store.get(&ObjectRef::from_obj(&object)).unwrap();
    assert_eq!(
        found.data.as_ref().map(|data| data["k"].as_str()),
        Some("2")
    );
    assert_eq!(store.len(), 2);
}

#[tokio::test]
async fn dynamic_objects_of_a_custom_kind() {
    let server = with_widgets();
    let kind = GroupVersionKind::gvk("example.com", "v1", "Widget");
    let (resource, _) = kube::discovery::pinned_kind(&client(&server).await, &kind)
        .await
        .unwrap();
    assert_eq!(
        resource,
        ApiResource::from_gvk_with_plural(&kind, "widgets")
    );
    let widgets: Api<DynamicObject> =
        Api::default_namespaced_with(client(&server).await, &resource);
    server.apply(&widget("w", "{color: red}"));
    let found = widgets.get("w").await.unwrap();
    assert_eq!(found.data["spec"], json!({"color": "red", "count": 1}));
    let status = json!({"status": {"ready": true}});
    let patched = widgets
        .patch_status("w", &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
    assert_eq!(patched.data["status"]["ready"], true);
    let scale = widgets.get_scale("w").await.unwrap();
    assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(1));
}
