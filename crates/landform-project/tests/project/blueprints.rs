//! Installations that name a blueprint of the project run again when its files change.

use landform_api::landscaper::{self, keys};
use landform_api::project::ANNOTATION_BLUEPRINT;
use serde_json::Value;

use crate::harness::{World, manifest};

#[tokio::test]
async fn a_changed_blueprint_has_its_installations_run_again() {
    let world = World::empty().await;
    for definition in landscaper::definition::definitions() {
        landform_engine::definitions::install(&world.client, &definition)
            .await
            .unwrap();
    }
    let installation = |name: &str, path: &str| {
        format!(
            "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Installation\nmetadata: {{name: {name}}}\nspec: {{blueprint: {{path: {path}}}}}\n"
        )
    };
    world.write("blue/web/blueprint.yaml", "kind: Blueprint\n");
    world.write("blue/db/blueprint.yaml", "kind: Blueprint\n");
    world.write("web.yaml", &installation("web", "./blue/web"));
    world.write("db.yaml", &installation("db", "blue/db"));
    world.create(manifest()).await;
    world.synced(2).await;
    let sum = |object: &Value| object["metadata"]["annotations"][ANNOTATION_BLUEPRINT].clone();
    let before = world.get("Installation", "web").await;
    let other = world.get("Installation", "db").await;
    assert!(sum(&before).is_string());
    let operation = |object: &Value| object["metadata"]["annotations"][keys::OPERATION].clone();
    assert_eq!(operation(&before), Value::Null);
    world.write("blue/web/deep/values.yaml", "a: 1\n");
    let after = world
        .until("Installation", "web", |found| sum(found) != sum(&before))
        .await;
    assert_eq!(operation(&after), "reconcile");
    assert_eq!(world.get("Installation", "db").await, other);
}
