//! How editors save files: the objects change, and are never deleted for a moment.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{World, map};

#[tokio::test]
async fn r15_editors_may_save_as_they_like() {
    let world = World::new(&[("a.yaml", &map("a", "0"))]).await;
    world.synced(1).await;
    let uid = world.get("ConfigMap", "a").await["metadata"]["uid"].clone();
    let path = world.path("a.yaml");
    for (round, way) in ["rename over", "backup", "truncate", "delete and create"]
        .iter()
        .enumerate()
    {
        let value = format!("{}", round + 1);
        let text = map("a", &value);
        match *way {
            "rename over" => {
                world.write(".a.yaml.swp", "x");
                world.write("a.yaml.tmp", &text);
                std::fs::rename(world.path("a.yaml.tmp"), &path).unwrap();
            }
            "backup" => {
                world.write("4913", "");
                std::fs::rename(&path, world.path("a.yaml~")).unwrap();
                std::fs::write(&path, &text).unwrap();
            }
            "truncate" => {
                std::fs::write(&path, "").unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
                std::fs::write(&path, &text).unwrap();
            }
            _ => {
                std::fs::remove_file(&path).unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
                std::fs::write(&path, &text).unwrap();
            }
        }
        let found = world
            .until("ConfigMap", "a", |found| found["data"]["a"] == value)
            .await;
        assert_eq!(found["metadata"]["uid"], uid, "{way}");
    }
    world.synced(1).await;
}

#[tokio::test]
async fn r15_new_directories_are_followed() {
    let world = World::new(&[("a.yaml", &map("a", "1"))]).await;
    world.synced(1).await;
    world.write("new/deep/b.yaml", &map("b", "1"));
    world.synced(2).await;
    world.write("new/deep/b.yaml", &map("b", "2"));
    world
        .until("ConfigMap", "b", |found| found["data"]["a"] == "2")
        .await;
    std::fs::remove_dir_all(world.path("new")).unwrap();
    world.gone("ConfigMap", "b").await;
    world.write("new/deep/b.yaml", &map("b", "3"));
    world
        .until("ConfigMap", "b", |found| found["data"]["a"] == "3")
        .await;
}

const SETTINGS: &str = "apiVersion: landform.dev/v1alpha1\nkind: Project\nspec: ";

#[tokio::test]
async fn r15b_what_is_missing_is_kept_for_a_while_and_the_status_says_so() {
    let files = [("a.yaml", &*map("a", "1")), ("b.yaml", &map("b", "1"))];
    let world = World::new(&files).await;
    world.write("landform.yaml", &format!("{SETTINGS}{{grace: 10m}}\n"));
    world.synced(2).await;
    let uid = world.get("ConfigMap", "a").await["metadata"]["uid"].clone();
    world.remove("a.yaml");
    let status = world.status(|status| status["phase"] == "Settling").await;
    let waits = &status["waitingOn"][0];
    assert_eq!(
        (&waits["rule"], &waits["object"]["name"]),
        (&json!("R15b"), &json!("a"))
    );
    let reason = waits["reason"].as_str().unwrap();
    assert!(reason.contains("it is kept until 20"), "{reason}");
    // In another file, and changed: still the same object.
    world.write("c.yaml", &map("a", "2"));
    let back = world
        .until("ConfigMap", "a", |found| found["data"]["a"] == "2")
        .await;
    assert_eq!(back["metadata"]["uid"], uid);
    world.synced(2).await;
    // A deletion that somebody asks for waits for nothing, though the grace is long.
    world.delete("Project", "shop").await;
    world.gone("ConfigMap", "a").await;
    world.gone("Project", "shop").await;
}

#[tokio::test]
async fn r15b_what_is_already_being_deleted_is_made_anew_when_it_is_gone() {
    let world = World::new(&[("a.yaml", &map("a", "1"))]).await;
    world.write("landform.yaml", &format!("{SETTINGS}{{grace: 10ms}}\n"));
    world.synced(1).await;
    let held = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
    world
        .patch("ConfigMap", "a", held(json!(["example.com/slow"])))
        .await;
    let uid = world.get("ConfigMap", "a").await["metadata"]["uid"].clone();
    world.remove("a.yaml");
    world
        .until("ConfigMap", "a", |found| {
            found["metadata"]["deletionTimestamp"].is_string()
        })
        .await;
    world.write("a.yaml", &map("a", "2"));
    let status = world
        .status(|status| status["phase"] == "Settling" && status["objects"] == 1)
        .await;
    let waits = &status["waitingOn"][0];
    assert_eq!(waits["object"]["name"], "a");
    assert_eq!(
        waits["reason"],
        "it is being deleted, and is made anew when it is gone"
    );
    world.patch("ConfigMap", "a", held(Value::Null)).await;
    let anew = world
        .until("ConfigMap", "a", |found| found["data"]["a"] == "2")
        .await;
    assert_ne!(anew["metadata"]["uid"], uid);
    world.synced(1).await;
}
