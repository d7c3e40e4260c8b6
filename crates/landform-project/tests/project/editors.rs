//! How editors save files: the objects change, and are never deleted for a moment.

use std::time::Duration;

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
