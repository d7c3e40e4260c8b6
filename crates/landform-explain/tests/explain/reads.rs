//! How much is read for an explanation: it must be quick in a landscape of any size.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use landform_api::landscaper;
use landform_engine::custom_kinds::CustomKinds;
use landform_explain::object::{KindRef, ObjectRef};
use landform_explain::reader::{Listed, ReadError, Reader};
use landform_explain::{ClientReader, explain, render};
use serde_json::{Value, json};

use crate::harness::World;

/// Counts what is asked of another reader.
struct Counting {
    reader: ClientReader,
    count: AtomicUsize,
}

impl Counting {
    fn one(&self) -> &ClientReader {
        self.count.fetch_add(1, Ordering::SeqCst);
        &self.reader
    }
}

impl Reader for Counting {
    fn kind<'a>(
        &'a self,
        group: &'a str,
        kind: &'a str,
    ) -> BoxFuture<'a, Result<KindRef, ReadError>> {
        self.reader.kind(group, kind)
    }

    fn custom_kinds(&self) -> BoxFuture<'_, CustomKinds> {
        self.one().custom_kinds()
    }

    fn get<'a>(&'a self, object: &'a ObjectRef) -> BoxFuture<'a, Result<Option<Value>, ReadError>> {
        self.one().get(object)
    }

    fn list<'a>(
        &'a self,
        kind: &'a KindRef,
        namespace: Option<&'a str>,
        labels: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Listed, ReadError>> {
        self.one().list(kind, namespace, labels, limit)
    }

    fn engine<'a>(&'a self, object: &'a ObjectRef) -> BoxFuture<'a, Option<Value>> {
        self.one().engine(object)
    }

    fn deletion<'a>(&'a self, object: &'a ObjectRef) -> BoxFuture<'a, Option<Value>> {
        self.one().deletion(object)
    }

    fn references<'a>(
        &'a self,
        namespace: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<(ObjectRef, ObjectRef)>> {
        self.one().references(namespace)
    }
}

/// Installations that each wait for the one before, the first for data that doesn't exist. Nobody reconciles them.
async fn chain(world: &World, length: usize) {
    for at in 0..length {
        let name = format!("i{at}");
        let object = match at.checked_sub(1) {
            None => json!({"kind": "DataObject", "name": "start"}),
            Some(before) => json!({"kind": "Installation", "name": format!("i{before}")}),
        };
        let waiting = json!([{"rule": "I14", "object": object, "reason": "it is needed"}]);
        let spec = json!({"blueprint": {"inline": {"filesystem": {"blueprint.yaml": "{}"}}}});
        world
            .make("Installation", &name, json!({"spec": spec}))
            .await;
        let status =
            json!({"phase": "PendingDependencies", "observedGeneration": 1, "waitingOn": waiting});
        world.patch_status("Installation", &name, status).await;
    }
}

fn installation(name: &str) -> ObjectRef {
    ObjectRef {
        api_version: landscaper::API_VERSION.into(),
        kind: "Installation".into(),
        namespace: "default".into(),
        name: name.into(),
    }
}

#[tokio::test]
async fn a_long_chain_is_explained_with_few_reads_and_told_in_few_lines() {
    let world = World::without_engine().await;
    chain(&world, 60).await;
    let reader = Counting {
        reader: ClientReader::new(world.client.clone()),
        count: AtomicUsize::new(0),
    };
    let why = explain(&reader, &installation("i19")).await.unwrap();
    assert_eq!(why.chain.len(), 21);
    assert_eq!(why.roots.len(), 1);
    assert_eq!(why.roots[0].object.name, "start");
    let reads = reader.count.swap(0, Ordering::SeqCst);
    assert!(reads <= 20, "{reads} reads");
    let why = explain(&reader, &installation("i59")).await.unwrap();
    assert_eq!(why.chain.len(), 61);
    let reads = reader.count.load(Ordering::SeqCst);
    assert!(reads <= 20, "{reads} reads");
    let text = render::why(&why);
    assert!(text.lines().count() < 30, "{text}");
    assert!(text.contains("more that each wait for the next"), "{text}");
}

#[tokio::test]
#[ignore = "measures time, which says something on a quiet machine only"]
async fn a_chain_of_a_thousand_is_explained_in_a_tenth_of_a_second() {
    let world = World::without_engine().await;
    chain(&world, 1_000).await;
    let reader = ClientReader::new(world.client.clone());
    explain(&reader, &installation("i999")).await.unwrap();
    let begun = Instant::now();
    let why = explain(&reader, &installation("i999")).await.unwrap();
    let took = begun.elapsed();
    assert_eq!(why.chain.len(), 1_001);
    assert!(took < Duration::from_millis(100), "{took:?}");
}
