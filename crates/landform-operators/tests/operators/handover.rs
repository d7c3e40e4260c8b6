//! Resources go from one version to the next (O12–O15), and those of others stay as they are.

use kube::api::{Api, ListParams};
use kube::core::DynamicObject;
use landform_operators::adoption;
use serde_json::{Value, json};

use crate::harness::{World, text};
use crate::operator::{after, config_map, owned, reference, version};
use crate::record::Record;

const OURS: [&str; 3] = ["data-a", "data-b", "data-c"];

/// A world in which 1.0.0 runs and owns three ConfigMaps, and others own others.
async fn prepared() -> (World, Value) {
    let world = World::new().await;
    world.create(version("etcd", "1.0.0", json!({}))).await;
    let old = world.phase("etcd.v1.0.0", "Succeeded").await;
    let labels = json!({"app": "etcd"});
    for name in OURS {
        let object = owned(config_map(name, json!({})), labels.clone(), &old);
        world.create(object).await;
    }
    // Labelled, and nobody's.
    let mut free = config_map("free", json!({}));
    free["metadata"]["labels"] = labels.clone();
    world.create(free).await;
    // Labelled, and somebody else's.
    let stranger = world.create(config_map("stranger", json!({}))).await;
    let strange = owned(config_map("strange", json!({})), labels, &stranger);
    world.create(strange).await;
    // Neither.
    world.create(config_map("plain", json!({}))).await;
    (world, old)
}

async fn revisions(world: &World) -> Vec<String> {
    let mut all = Vec::new();
    for name in ["free", "stranger", "strange", "plain"] {
        let found = world.get("ConfigMap", name).await;
        all.push(text(&found["metadata"]["resourceVersion"]).to_owned());
    }
    all
}

/// The operator's own loop: takes over what the old version owns.
async fn adopt_all(api: &Api<DynamicObject>, old: &Value, new: &Value) {
    let version = adoption::Version {
        name: text(&new["metadata"]["name"]),
        uid: text(&new["metadata"]["uid"]),
    };
    let from = text(&old["metadata"]["uid"]);
    for found in api.list(&ListParams::default()).await.unwrap().items {
        let name = found.metadata.name.unwrap();
        // Landform may write the same resource at this moment.
        while adoption::adopt(api, &name, from, &version, &[])
            .await
            .is_err()
        {}
    }
}

async fn hands_over(upgrade: Value, waits_for: Option<&str>) {
    let (world, _) = prepared().await;
    let before = revisions(&world).await;
    let record = Record::of(world.api("ConfigMap")).await;
    let versions = Record::of(world.api("OperatorVersion")).await;
    let next = after("etcd", "1.0.0", "2.0.0", json!({"upgrade": upgrade}));
    world.create(next).await;
    let mut new = world.phase("etcd.v2.0.0", "Succeeded").await;
    if let Some(rule) = waits_for {
        new = world
            .until("OperatorVersion", "etcd.v2.0.0", |found| {
                found["status"]["waitingOn"][0]["rule"] == rule
            })
            .await;
        world.quiet().await;
        assert_eq!(new["status"]["reason"], "TakingOver");
        let old = world.get("OperatorVersion", "etcd.v1.0.0").await;
        assert_eq!(
            old["status"]["phase"], "Replacing",
            "it waits until it owns nothing"
        );
        let first = world.get("ConfigMap", OURS[0]).await;
        let owners = first["metadata"]["ownerReferences"].as_array().unwrap();
        let managed = rule == "O13";
        assert_eq!(owners.len(), if managed { 2 } else { 1 }, "{owners:?}");
        adopt_all(&world.api("ConfigMap"), &old, &new).await;
    }
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    world.quiet().await;
    for name in OURS {
        let found = world.get("ConfigMap", name).await;
        let owners = &found["metadata"]["ownerReferences"];
        assert_eq!(*owners, json!([reference(&new, true)]), "{name}");
    }
    record.assert_owned(&OURS);
    assert_eq!(
        revisions(&world).await,
        before,
        "what is others' was touched"
    );
    // O16: the old one goes after it owns nothing.
    let written = record.events().into_iter();
    let ours = written.filter(|event| OURS.contains(&event.name()));
    let last = ours.map(|event| event.revision()).max().unwrap();
    assert!(last < versions.gone_at("etcd.v1.0.0"));
    // The new one reports that nothing is left to do.
    let end = world.get("OperatorVersion", "etcd.v2.0.0").await;
    assert_eq!(end["status"]["reason"], "Running");
    assert_eq!(end["status"]["waitingOn"], json!(null));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o12_o13_o15_option_1_landform_adds_the_owner_and_adopts() {
    hands_over(json!({"mode": "managed", "adoption": "landform"}), None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o12_o13_o15_option_1_landform_adds_the_owner_and_the_operator_adopts() {
    let upgrade = json!({"mode": "managed", "adoption": "operator"});
    hands_over(upgrade, Some("O13")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o14_o15_option_2_landform_adopts_for_operators_that_have_no_loop() {
    hands_over(json!({"mode": "operator", "adoption": "landform"}), None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o14_o15_option_2_the_operator_adds_itself_and_adopts() {
    let upgrade = json!({"mode": "operator", "adoption": "operator"});
    hands_over(upgrade, Some("O14")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o14_an_operator_that_takes_over_by_plain_patches_is_waited_for() {
    let (world, _) = prepared().await;
    let upgrade = json!({"upgrade": {"mode": "operator", "adoption": "operator"}});
    world.create(after("etcd", "1.0.0", "2.0.0", upgrade)).await;
    let new = world.phase("etcd.v2.0.0", "Succeeded").await;
    for name in OURS {
        let owners = json!({"metadata": {"ownerReferences": [reference(&new, true)]}});
        world.quiet().await;
        assert!(!world.get("OperatorVersion", "etcd.v1.0.0").await.is_null());
        world.patch("ConfigMap", name, owners).await;
    }
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    for name in OURS {
        assert!(
            !world.get("ConfigMap", name).await.is_null(),
            "{name} is lost"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o12_what_the_old_version_owns_without_its_labels_needs_a_person() {
    let (world, old) = prepared().await;
    let odd = owned(config_map("odd", json!({})), json!({"app": "other"}), &old);
    world.create(odd).await;
    world
        .create(after("etcd", "1.0.0", "2.0.0", json!({})))
        .await;
    let waits = world.until("OperatorVersion", "etcd.v2.0.0", |found| {
        found["status"]["waitingOn"]
            .to_string()
            .contains("ConfigMap odd")
    });
    waits.await;
    world.quiet().await;
    assert!(!world.get("OperatorVersion", "etcd.v1.0.0").await.is_null());
    world
        .patch(
            "ConfigMap",
            "odd",
            json!({"metadata": {"labels": {"app": "etcd"}}}),
        )
        .await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    assert!(!world.get("ConfigMap", "odd").await.is_null());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o15_o16_deleting_the_old_version_in_a_handover_loses_nothing() {
    let (world, _) = prepared().await;
    let record = Record::of(world.api("ConfigMap")).await;
    let upgrade = json!({"upgrade": {"mode": "operator", "adoption": "operator"}});
    world.create(after("etcd", "1.0.0", "2.0.0", upgrade)).await;
    let new = world.phase("etcd.v2.0.0", "Succeeded").await;
    world.delete("OperatorVersion", "etcd.v1.0.0").await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    world.quiet().await;
    record.assert_owned(&OURS);
    for name in OURS {
        let found = world.get("ConfigMap", name).await;
        let owners = &found["metadata"]["ownerReferences"];
        assert_eq!(*owners, json!([reference(&new, true)]), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o15_o17_deleting_the_new_version_in_a_handover_gives_all_back() {
    let (world, old) = prepared().await;
    let record = Record::of(world.api("ConfigMap")).await;
    let upgrade = json!({"upgrade": {"mode": "managed", "adoption": "operator"}});
    world.create(after("etcd", "1.0.0", "2.0.0", upgrade)).await;
    let new = world.phase("etcd.v2.0.0", "Succeeded").await;
    let both = world.until("ConfigMap", OURS[0], |found| {
        found["metadata"]["ownerReferences"][1].is_object()
    });
    both.await;
    // One of them is the new one's already.
    let version = adoption::Version {
        name: "etcd.v2.0.0",
        uid: text(&new["metadata"]["uid"]),
    };
    let from = text(&old["metadata"]["uid"]);
    let api = world.api("ConfigMap");
    while adoption::adopt(&api, OURS[0], from, &version, &[])
        .await
        .is_err()
    {}
    world.delete("OperatorVersion", "etcd.v2.0.0").await;
    world.gone("OperatorVersion", "etcd.v2.0.0").await;
    world.phase("etcd.v1.0.0", "Succeeded").await;
    world.quiet().await;
    record.assert_owned(&OURS);
    for name in OURS {
        let found = world.get("ConfigMap", name).await;
        let owners = &found["metadata"]["ownerReferences"];
        assert_eq!(*owners, json!([reference(&old, true)]), "{name}");
    }
    let operator = world.until("ConfigMap", "etcd-operator", |found| {
        found["data"]["version"] == "1.0.0"
    });
    operator.await;
}
