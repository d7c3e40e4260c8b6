//! `ResourceQuota`: numbers of objects in a namespace.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use landform_apiserver::{ApiServer, Config, Identity, MASTERS};
use landform_store::memory::MemoryStore;
use landform_store::{
    Bucket, Error, Key, Page, RangeQuery, Record, Revision, Store, Txn, TxnOutcome, Usage, Watch,
    WatchError,
};
use serde_json::{Value, json};

use crate::harness::{Api, DEFINITIONS, MAPS, WIDGETS, map, widget, widgets};

const QUOTAS: &str = "/api/v1/namespaces/default/resourcequotas";

fn quota(name: &str, hard: Value) -> Value {
    json!({"metadata": {"name": name}, "spec": {"hard": hard}})
}

/// Waits until a quota's status is this.
async fn status_is(api: &Api, name: &str, expected: &Value) {
    let mut watch = api
        .watch(&format!("{QUOTAS}?fieldSelector=metadata.name%3D{name}"))
        .await;
    while let Some((_, quota)) = watch.next().await {
        if quota["status"] == *expected {
            return;
        }
    }
    panic!("the watch ended");
}

#[tokio::test]
async fn creates_beyond_a_quota_are_refused_and_its_status_says_what_is_used() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    // Every namespace has one config map: the server's certificate, where there is one.
    let before = api.get(MAPS).await.ok()["items"].as_array().unwrap().len();
    let hard =
        json!({"configmaps": (before + 2).to_string(), "count/widgets.example.com": 1, "cpu": "2"});
    api.post(QUOTAS, quota("few", hard)).await.ok();
    for name in ["a", "b"] {
        api.post(MAPS, map(name)).await.ok();
    }
    let refused = api.post(MAPS, map("c")).await;
    let limit = before + 2;
    assert_eq!(
        refused.failed(),
        (
            403,
            "Forbidden",
            format!(
                "configmaps \"c\" is forbidden: exceeded quota: few, requested: configmaps=1, used: configmaps={limit}, limited: configmaps={limit}"
            )
            .as_str()
        )
    );
    assert_eq!(
        api.post(&format!("{MAPS}?dryRun=All"), map("c")).await.code,
        403
    );
    api.post(WIDGETS, widget("w", json!({"size": 1})))
        .await
        .ok();
    let message = api.post(WIDGETS, widget("x", json!({"size": 1}))).await;
    let (code, _, message) = message.failed();
    assert_eq!(code, 403);
    assert!(message.contains("count/widgets.example.com=1"), "{message}");
    let status = |maps: usize| {
        json!({
            "hard": {"configmaps": limit.to_string(), "count/widgets.example.com": "1"},
            "used": {"configmaps": maps.to_string(), "count/widgets.example.com": "1"},
        })
    };
    status_is(&api, "few", &status(limit)).await;

    // Updates are no creates; a delete makes room; other namespaces and kinds are free.
    let change = json!({"data": {"a": "2"}});
    let one = format!("{MAPS}/a");
    api.patch(&one, "merge", change).await.ok();
    let elsewhere = "/api/v1/namespaces/kube-system/configmaps";
    api.post(elsewhere, map("c")).await.ok();
    let secret = json!({"metadata": {"name": "s"}});
    api.post("/api/v1/namespaces/default/secrets", secret)
        .await
        .ok();
    api.delete(&format!("{one}?propagationPolicy=Background"))
        .await
        .ok();
    status_is(&api, "few", &status(limit - 1)).await;
    api.post(MAPS, map("c")).await.ok();
    api.delete(&format!("{QUOTAS}/few?propagationPolicy=Background"))
        .await
        .ok();
    api.post(MAPS, map("d")).await.ok();
}

/// A store whose commits take a while, as those on a disk do: others are looked at meanwhile.
struct SlowStore(Arc<MemoryStore>);

impl Store for SlowStore {
    fn revision(&self) -> Revision {
        self.0.revision()
    }

    fn compacted(&self) -> Revision {
        self.0.compacted()
    }

    fn usage(&self) -> Usage {
        self.0.usage()
    }

    fn get(&self, key: &Key) -> BoxFuture<'_, Result<Option<Record>, Error>> {
        self.0.get(key)
    }

    fn range(&self, query: RangeQuery) -> BoxFuture<'_, Result<Page, Error>> {
        self.0.range(query)
    }

    fn count(&self, bucket: &Bucket) -> BoxFuture<'_, Result<usize, Error>> {
        self.0.count(bucket)
    }

    fn commit(&self, txn: Txn) -> BoxFuture<'_, Result<TxnOutcome, Error>> {
        Box::pin(async move {
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            self.0.commit(txn).await
        })
    }

    fn watch(
        &self,
        bucket: &Bucket,
        prefix: &str,
        after: Revision,
    ) -> Result<Box<dyn Watch>, WatchError> {
        self.0.watch(bucket, prefix, after)
    }

    fn watch_all(&self, after: Revision) -> Result<Box<dyn Watch>, WatchError> {
        self.0.watch_all(after)
    }

    fn compact(&self, before: Revision) -> BoxFuture<'_, Result<(), Error>> {
        self.0.compact(before)
    }

    fn buckets(&self) -> BoxFuture<'_, Result<Vec<Bucket>, Error>> {
        self.0.buckets()
    }

    fn backup<'a>(&'a self, file: &'a Path) -> BoxFuture<'a, Result<Revision, Error>> {
        self.0.backup(file)
    }

    fn fork(&self) -> BoxFuture<'_, Result<MemoryStore, Error>> {
        self.0.fork()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.0.close()
    }
}

#[tokio::test]
async fn many_creates_at_once_leave_exactly_what_is_allowed() {
    let store = Arc::new(MemoryStore::new());
    let slow = Arc::new(SlowStore(store.clone()));
    let server = ApiServer::start(slow, Config::default()).await.unwrap();
    let api = Api::of(server, store);
    let before = api.get(MAPS).await.ok()["items"].as_array().unwrap().len();
    let hard = json!({"count/configmaps": (before + 10).to_string()});
    api.post(QUOTAS, quota("ten", hard)).await.ok();
    let admin = api.by(Identity::new("admin", [MASTERS]));
    let posts = (0..60).map(|number| {
        let admin = admin.clone();
        tokio::spawn(async move {
            // Half of them fail for another reason, after they were counted.
            let name = if number % 2 == 0 {
                format!("m{number}")
            } else {
                "taken".to_owned()
            };
            admin.post(MAPS, map(&name)).await.code
        })
    });
    let codes = futures::future::join_all(posts).await;
    let created = codes.iter().filter(|code| *code.as_ref().unwrap() == 201);
    assert_eq!(created.count(), 10);
    let after = api.get(MAPS).await.ok()["items"].as_array().unwrap().len();
    assert_eq!(after, before + 10);
}

#[tokio::test]
async fn a_limit_that_is_no_number_of_objects_is_refused() {
    let api = Api::without_background(Config::default()).await;
    for hard in [json!({"pods": "-1"}), json!({"count/pods": "1500m"})] {
        let answer = api.post(QUOTAS, quota("bad", hard.clone())).await;
        assert_eq!(answer.failed().0, 422, "{hard}");
    }
}
