//! Definitions of kinds: who brings them, who owns them, and changes that would break objects (O3, O5, O11).

use serde_json::{Value, json};

use crate::harness::{GROUP, World, contains, text};
use crate::operator::{CLUSTERS, after, cluster, clusters, owning, sized, version};

/// A package that needs Clusters.
fn backup() -> Value {
    let needs = json!({"requirements": {"definitions": [
        {"group": GROUP, "version": "v1", "kind": "Cluster"},
    ]}});
    version("backup", "1.0.0", needs)
}

fn annotation<'a>(object: &'a Value, key: &str) -> &'a Value {
    &object["metadata"]["annotations"][format!("catalog.landform.dev/{key}")]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o10_an_operator_brings_its_kinds_and_its_app_type_owns_them() {
    let world = World::new().await;
    world
        .catalog("tests", vec![version("etcd", "1.0.0", owning(&sized()))])
        .await;
    world.app_type("etcd", json!({"package": "etcd"})).await;
    let app_type = world.installed("etcd", "Succeeded", "1.0.0").await;
    let found = world.get("CustomResourceDefinition", CLUSTERS).await;
    assert_eq!(annotation(&found, "owner"), "AppType/default/etcd");
    assert_eq!(
        *annotation(&found, "owner-uid"),
        app_type["metadata"]["uid"]
    );
    assert_eq!(annotation(&found, "package"), "etcd");
    assert_eq!(annotation(&found, "version"), "1.0.0");
    let installed = world.phase("etcd.v1.0.0", "Succeeded").await;
    let needs = &installed["status"]["requirements"];
    assert_eq!(needs[0]["kind"], "Owned");
    assert_eq!(needs[0]["status"], "Present");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o3_a_definition_brings_the_app_type_that_owns_it() {
    let world = World::new().await;
    world
        .catalog("tests", vec![version("etcd", "1.0.0", owning(&sized()))])
        .await;
    let mut definition = sized();
    definition["metadata"]["annotations"] = json!({
        "catalog.landform.dev/package": "etcd",
        "catalog.landform.dev/owner": "AppType/default/etcd",
    });
    world.create(definition).await;
    let app_type = world.installed("etcd", "Succeeded", "1.0.0").await;
    contains(annotation(&app_type, "required-by"), &[CLUSTERS]);
    let uid = &app_type["metadata"]["uid"];
    let noted = |found: &Value| annotation(found, "owner-uid") == uid;
    world
        .until("CustomResourceDefinition", CLUSTERS, noted)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o11_a_required_kind_comes_from_the_catalog_with_its_app_type() {
    let world = World::new().await;
    let etcd = version("etcd", "1.0.0", owning(&sized()));
    world.catalog("tests", vec![etcd, backup()]).await;
    world.app_type("backup", json!({"package": "backup"})).await;
    world.installed("backup", "Succeeded", "1.0.0").await;
    let etcd = world.installed("etcd", "Succeeded", "1.0.0").await;
    // The loop over definitions may have been quicker (O3).
    let by = text(annotation(&etcd, "required-by"));
    assert!(
        by.contains("backup.v1.0.0") || by.contains(CLUSTERS),
        "{by}"
    );
    let found = world.get("CustomResourceDefinition", CLUSTERS).await;
    assert_eq!(annotation(&found, "owner"), "AppType/default/etcd");
    let installed = world.phase("backup.v1.0.0", "Succeeded").await;
    let needs = &installed["status"]["requirements"];
    assert_eq!(needs[0]["kind"], "Definition");
    assert_eq!(needs[0]["status"], "Present");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o11_a_required_kind_that_nobody_has_is_waited_for() {
    let world = World::new().await;
    world.create(backup()).await;
    let waits = world.phase("backup.v1.0.0", "Pending").await;
    let need = &waits["status"]["requirements"][0];
    assert_eq!(need["status"], "NotPresent");
    contains(&need["message"], &["no catalog"]);
    assert_eq!(waits["status"]["reason"], "RequirementsNotMet");
    // A catalog that comes later has it.
    world
        .catalog("tests", vec![version("etcd", "1.0.0", owning(&sized()))])
        .await;
    world.phase("backup.v1.0.0", "Succeeded").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o11_a_required_package_comes_in_its_range() {
    let world = World::new().await;
    let needs = json!({"requirements": {"packages": [{"package": "etcd", "range": "^1"}]}});
    let versions = vec![
        version("etcd", "1.5.0", json!({})),
        version("etcd", "2.0.0", json!({"skipRange": "<2.0.0"})),
        version("backup", "1.0.0", needs),
    ];
    world.catalog("tests", versions).await;
    world.app_type("backup", json!({"package": "backup"})).await;
    world.installed("backup", "Succeeded", "1.0.0").await;
    let etcd = world.installed("etcd", "Succeeded", "1.5.0").await;
    assert_eq!(etcd["spec"]["version"], "^1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o10_a_second_owner_of_a_kind_fails_with_the_name_of_the_first() {
    let world = World::new().await;
    world
        .create(version("etcd", "1.0.0", owning(&sized())))
        .await;
    world.phase("etcd.v1.0.0", "Succeeded").await;
    world
        .create(version("rival", "1.0.0", owning(&sized())))
        .await;
    let failed = world.phase("rival.v1.0.0", "Failed").await;
    assert_eq!(failed["status"]["reason"], "RequirementsRefused");
    contains(
        &failed["status"]["message"],
        &["etcd.v1.0.0", "package etcd"],
    );
    assert!(world.get("Execution", "rival.v1.0.0").await.is_null());
    // By way of an app type it isn't even created.
    world
        .catalog("tests", vec![version("third", "1.0.0", owning(&sized()))])
        .await;
    world.app_type("third", json!({"package": "third"})).await;
    let blocked = world.blocked("third", "DefinitionOwned").await;
    contains(&blocked["message"], &["etcd.v1.0.0"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o10_a_definition_of_somebody_else_is_used_and_never_written() {
    let world = World::new().await;
    world.create(sized()).await;
    let established = |found: &Value| found["status"]["storedVersions"].is_array();
    let before = world
        .until("CustomResourceDefinition", CLUSTERS, established)
        .await;
    world.quiet().await;
    let wider = clusters(&[(
        "v1",
        json!({"size": {"type": "integer"}, "zone": {"type": "string"}}),
    )]);
    world.create(version("etcd", "1.0.0", owning(&wider))).await;
    let installed = world.phase("etcd.v1.0.0", "Succeeded").await;
    contains(
        &installed["status"]["requirements"][0]["message"],
        &["somebody else"],
    );
    world.delete("OperatorVersion", "etcd.v1.0.0").await;
    world.gone("OperatorVersion", "etcd.v1.0.0").await;
    world.quiet().await;
    let after = world.get("CustomResourceDefinition", CLUSTERS).await;
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(
        after["metadata"]["annotations"],
        before["metadata"]["annotations"]
    );
}

/// Changes of the definition that break a Cluster with `size: 3`, what is said, and what puts it right.
fn breaking() -> Vec<(&'static str, Value, &'static str, Value)> {
    vec![
        (
            "a field in use",
            clusters(&[("v1", json!({"replicas": {"type": "integer"}}))]),
            "spec.size",
            json!({"spec": {"size": null}}),
        ),
        (
            "a value in use",
            clusters(&[("v1", json!({"size": {"type": "integer", "maximum": 2}}))]),
            "spec.size",
            json!({"spec": {"size": 1}}),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o5_a_definition_that_would_break_objects_is_refused_and_goes_on_when_they_changed() {
    for (what, definition, piece, fix) in breaking() {
        let world = World::new().await;
        let first = version("etcd", "1.0.0", owning(&sized()));
        world.catalog("tests", vec![first.clone()]).await;
        world.app_type("etcd", json!({"package": "etcd"})).await;
        world.installed("etcd", "Succeeded", "1.0.0").await;
        world
            .create(cluster("default", "shop", json!({"size": 3})))
            .await;
        let before = world.get("CustomResourceDefinition", CLUSTERS).await;
        let second = after("etcd", "1.0.0", "2.0.0", owning(&definition));
        world.catalog("tests", vec![first, second]).await;
        let blocked = world.blocked("etcd", "DefinitionWouldBreak").await;
        contains(&blocked["message"], &["Cluster default/shop", piece]);
        world.quiet().await;
        assert_eq!(
            world.names("OperatorVersion").await,
            ["etcd.v1.0.0"],
            "{what}"
        );
        let now = world.get("CustomResourceDefinition", CLUSTERS).await;
        assert_eq!(now["spec"], before["spec"], "{what}");
        world.patch("Cluster", "shop", fix).await;
        world.installed("etcd", "Succeeded", "2.0.0").await;
        let now = world.get("CustomResourceDefinition", CLUSTERS).await;
        assert_eq!(annotation(&now, "version"), "2.0.0", "{what}");
        assert!(!world.get("Cluster", "shop").await.is_null(), "{what}");
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o5_a_version_by_itself_is_refused_too_and_goes_on_when_the_objects_changed() {
    for (what, definition, piece, fix) in breaking() {
        let world = World::new().await;
        world
            .create(version("etcd", "1.0.0", owning(&sized())))
            .await;
        world.phase("etcd.v1.0.0", "Succeeded").await;
        world
            .create(cluster("default", "shop", json!({"size": 3})))
            .await;
        world
            .create(after("etcd", "1.0.0", "2.0.0", owning(&definition)))
            .await;
        let refused = world.phase("etcd.v2.0.0", "Failed").await;
        assert_eq!(refused["status"]["reason"], "RequirementsRefused");
        contains(
            &refused["status"]["message"],
            &["Cluster default/shop", piece],
        );
        world.quiet().await;
        assert!(
            world.get("Execution", "etcd.v2.0.0").await.is_null(),
            "{what}"
        );
        world.phase("etcd.v1.0.0", "Succeeded").await;
        world.patch("Cluster", "shop", fix).await;
        world.phase("etcd.v2.0.0", "Succeeded").await;
        world.gone("OperatorVersion", "etcd.v1.0.0").await;
        world.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn o5_a_definition_that_drops_a_stored_version_is_refused_by_name() {
    let world = World::new().await;
    world
        .create(version("etcd", "1.0.0", owning(&sized())))
        .await;
    world.phase("etcd.v1.0.0", "Succeeded").await;
    world
        .create(cluster("default", "shop", json!({"size": 3})))
        .await;
    let before = world.get("CustomResourceDefinition", CLUSTERS).await;
    let other = clusters(&[("v2", json!({"size": {"type": "integer"}}))]);
    let mut owns = owning(&other);
    owns["owned"][0]["version"] = json!("v2");
    world.create(after("etcd", "1.0.0", "2.0.0", owns)).await;
    let refused = world.phase("etcd.v2.0.0", "Failed").await;
    contains(
        &refused["status"]["message"],
        &["drops version v1", "Cluster default/shop"],
    );
    let now = world.get("CustomResourceDefinition", CLUSTERS).await;
    assert_eq!(now["spec"], before["spec"]);
    // A person stores them in v2 and says so.
    let size = json!({"size": {"type": "integer"}});
    let both = clusters(&[("v1", size.clone()), ("v2", size)]);
    world
        .patch(
            "CustomResourceDefinition",
            CLUSTERS,
            json!({"spec": both["spec"]}),
        )
        .await;
    world.quiet().await;
    world.phase("etcd.v2.0.0", "Failed").await;
    let stored = json!({"storedVersions": ["v2"]});
    world
        .patch_status("CustomResourceDefinition", CLUSTERS, stored)
        .await;
    world.phase("etcd.v2.0.0", "Succeeded").await;
    let now = world.get("CustomResourceDefinition", CLUSTERS).await;
    assert_eq!(now["spec"]["versions"].as_array().unwrap().len(), 1);
}
