//! Names that objects provide: others refer to them whether an object of that name exists or not.

use serde_json::json;

use crate::harness::{Toys, World};

#[tokio::test(start_paused = true)]
async fn r2_r4_whoever_refers_to_a_provided_name_runs_after_its_provider() {
    let world = World::new().await;
    world.create("b", json!({"maps": ["m"]})).await;
    world
        .create("a", json!({"value": 1, "provides": ["m"]}))
        .await;
    let mut running = world.engine(Toys::adding());
    assert_eq!(running.starts().await, ["a", "b"]);

    running.engine.ask(crate::harness::key("a"));
    assert_eq!(running.starts().await, ["a"], "nothing moved");

    world.update("a", json!({"value": 2})).await;
    assert_eq!(running.starts().await, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn r11_a_provided_name_comes_and_goes_with_its_provider_and_its_object() {
    let world = World::new().await;
    let mut running = world.engine(Toys::adding());
    world.create("b", json!({"maps": ["m"]})).await;
    assert_eq!(running.starts().await, ["b"]);
    world.create_map("m", "v").await;
    assert_eq!(running.starts().await, ["b"], "the object appeared");
    world
        .create("a", json!({"value": 1, "provides": ["m"]}))
        .await;
    assert_eq!(running.starts().await, ["a", "b"], "it has a provider now");
    world.delete("a").await;
    assert_eq!(running.starts().await, ["b"], "it has none any more");
}

#[tokio::test(start_paused = true)]
async fn r7_a_cycle_through_provided_names_is_found_before_anything_exists() {
    let world = World::new().await;
    world
        .create("a", json!({"maps": ["y"], "provides": ["x"]}))
        .await;
    world
        .create("b", json!({"maps": ["x"], "provides": ["y"]}))
        .await;
    let mut running = world.engine(Toys::adding());
    assert!(running.starts().await.is_empty());
    for name in ["a", "b"] {
        let error = world.status(name).await["error"].to_string();
        assert!(
            error.contains("default/a") && error.contains("default/b"),
            "{error}"
        );
    }
    world.update("b", json!({"maps": []})).await;
    let starts = running.starts().await;
    assert_eq!(starts.first().map(String::as_str), Some("b"), "{starts:?}");
    assert!(starts.contains(&"a".to_owned()), "{starts:?}");
}
