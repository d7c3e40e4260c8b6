//! kube-rs in the same process: the server's service instead of a socket, the same semantics.

use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::{reflector, watcher};
use kube::{Client, ResourceExt as _};
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_controllers::collector::Collector;
use landform_store::memory::MemoryStore;
use serde_json::json;

async fn client() -> Client {
    let store = Arc::new(MemoryStore::new());
    let server = ApiServer::start(store, Config::default()).await.unwrap();
    tokio::spawn(server.clone().keep_house());
    let service = LocalService::new(server.clone(), Identity::internal());
    let client = Client::new(service, "default");
    tokio::spawn(Collector::new(client.clone(), &server.metrics_registry()).run());
    client
}

fn config_map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}

#[tokio::test]
async fn a_client_without_a_socket_does_what_one_with_a_socket_does() {
    let maps: Api<ConfigMap> = Api::default_namespaced(client().await);
    let created = maps
        .create(&PostParams::default(), &config_map("a"))
        .await
        .unwrap();
    let patch = Patch::Merge(json!({"data": {"k": "v"}}));
    let patched = maps
        .patch("a", &PatchParams::default(), &patch)
        .await
        .unwrap();
    assert_eq!(patched.uid(), created.uid());
    let mut stale = created.clone();
    stale.data = Some([("k".to_owned(), "stale".to_owned())].into());
    let refused = maps.replace("a", &PostParams::default(), &stale).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 409));
    let names: Vec<String> = maps
        .list(&ListParams::default())
        .await
        .unwrap()
        .iter()
        .map(ConfigMap::name_any)
        .collect();
    assert!(names.contains(&"a".to_owned()), "{names:?}");
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(maps.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn a_reflector_without_a_socket_follows_every_change() {
    let maps: Api<ConfigMap> = Api::default_namespaced(client().await);
    maps.create(&PostParams::default(), &config_map("before"))
        .await
        .unwrap();
    let (reader, writer) = reflector::store();
    let events = watcher(maps.clone(), watcher::Config::default().streaming_lists());
    let mut applied = reflector(writer, events).applied_objects().boxed();
    while applied.try_next().await.unwrap().unwrap().name_any() != "before" {}
    for n in 0..100 {
        maps.create(&PostParams::default(), &config_map(&format!("m{n}")))
            .await
            .unwrap();
    }
    while applied.try_next().await.unwrap().unwrap().name_any() != "m99" {}
    let names = reader
        .state()
        .iter()
        .filter(|map| map.name_any().starts_with('m'))
        .count();
    assert_eq!(names, 100);
}
