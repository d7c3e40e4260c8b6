//! An object that gets another name stays the object that it is.

use landform_api::keys::ANNOTATION_RENAMED_FROM;
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::harness::{World, map, widget};

/// A widget whose file tells its former name.
fn told(name: &str, former: &str, size: u32) -> String {
    let annotated =
        format!("{{name: {name}, annotations: {{landform.dev/renamed-from: {former}}}}}");
    widget(name, size).replace(&format!("{{name: {name}}}"), &annotated)
}

#[tokio::test]
async fn r15_a_renamed_object_keeps_its_state_and_its_reconciler_is_told() {
    let world = World::new(&[("a.yaml", &widget("old", 1)), ("b.yaml", &map("b", "1"))]).await;
    world.synced(2).await;
    let old = world
        .until("Widget", "old", |found| found["status"]["seen"] == true)
        .await;
    let uid = &old["metadata"]["uid"];
    world
        .create(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "owned", "ownerReferences": [
                {"apiVersion": "example.com/v1", "kind": "Widget", "name": "old", "uid": uid},
            ]},
        }))
        .await;
    let owned = world.get("ConfigMap", "owned").await["metadata"]["uid"].clone();
    world.write("a.yaml", &widget("new", 1));
    let new = world.until("Widget", "new", Value::is_object).await;
    assert_eq!(new["metadata"]["uid"], *uid);
    assert_eq!(new["status"], old["status"]);
    world.gone("Widget", "old").await;
    world
        .until("Widget", "new", |found| {
            found["metadata"]["annotations"]
                .get(ANNOTATION_RENAMED_FROM)
                .is_none()
        })
        .await;
    let told = ("new".to_owned(), Some("old".to_owned()));
    assert!(world.widgets.told.lock().contains(&told));
    let kept = world.get("ConfigMap", "owned").await;
    assert_eq!(kept["metadata"]["uid"], owned);
    assert_eq!(kept["metadata"]["ownerReferences"][0]["name"], "new");
    world.synced(2).await;
}

#[tokio::test]
async fn r15_a_rename_is_found_after_a_restart_too() {
    let mut world = World::new(&[("a.yaml", &widget("old", 1))]).await;
    world.synced(1).await;
    let uid = world.get("Widget", "old").await["metadata"]["uid"].clone();
    world.stop().await;
    world.write("a.yaml", &widget("new", 1));
    world.restart().await;
    let new = world.until("Widget", "new", Value::is_object).await;
    assert_eq!(new["metadata"]["uid"], uid);
    world.gone("Widget", "old").await;
}

#[tokio::test]
async fn r15_a_file_may_tell_the_former_name() {
    let world = World::new(&[("a.yaml", &widget("old", 1))]).await;
    world.synced(1).await;
    let uid = world.get("Widget", "old").await["metadata"]["uid"].clone();
    let renamed = widget("new", 7).replace(
        "{name: new}",
        "{name: new, annotations: {landform.dev/renamed-from: old}}",
    );
    world.write("b.yaml", &renamed);
    world.remove("a.yaml");
    let new = world
        .until("Widget", "new", |found| found["spec"]["size"] == 7)
        .await;
    assert_eq!(new["metadata"]["uid"], uid);
    world.synced(1).await;
}

#[tokio::test]
async fn r15_renaming_onto_a_living_name_is_refused() {
    let world = World::new(&[("a.yaml", &widget("old", 1))]).await;
    world.synced(1).await;
    let somebodys = world.create(json!({
        "apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "new"}, "spec": {"size": 9},
    })).await;
    let old = world.get("Widget", "old").await;
    world.write("a.yaml", &widget("new", 1));
    let problem = world.problem("already exists").await;
    assert_eq!(
        (&problem["file"], &problem["line"]),
        (&json!("a.yaml"), &json!(1))
    );
    let now = world.get("Widget", "new").await;
    assert_eq!(
        (&now["spec"], &now["metadata"]["uid"]),
        (&somebodys["spec"], &somebodys["metadata"]["uid"])
    );
    assert_eq!(
        world.get("Widget", "old").await["metadata"]["uid"],
        old["metadata"]["uid"]
    );
    world.delete("Widget", "new").await;
    let renamed = world
        .until("Widget", "new", |found| found["spec"]["size"] == 1)
        .await;
    assert_eq!(renamed["metadata"]["uid"], old["metadata"]["uid"]);
}

#[tokio::test]
async fn r15_what_is_ambiguous_is_deleted_and_made_anew() {
    let world = World::new(&[("a.yaml", &widget("old", 1))]).await;
    world.synced(1).await;
    let uid = world.get("Widget", "old").await["metadata"]["uid"].clone();
    world.write(
        "a.yaml",
        &format!("{}---\n{}", widget("x1", 1), widget("x2", 1)),
    );
    world.gone("Widget", "old").await;
    for name in ["x1", "x2"] {
        let found = world.until("Widget", name, Value::is_object).await;
        assert_ne!(found["metadata"]["uid"], uid);
    }
}

/// The uids of widgets, by name.
async fn uids(world: &World, names: &[&str]) -> Vec<Value> {
    let mut uids = Vec::new();
    for name in names {
        let found = world.until("Widget", name, Value::is_object).await;
        uids.push(found["metadata"]["uid"].clone());
    }
    uids
}

/// An edit, the files after it, and the names that what was x1, x2 and x3 has then; the sizes stay.
type Edit = (
    &'static str,
    &'static [(&'static str, &'static [(&'static str, u32)])],
    [&'static str; 3],
);

#[tokio::test]
async fn r15b_every_renamed_object_stays_the_object_that_it_is() {
    // Each edit is made to the files: a.yaml with x1 (size 1) and x2 (size 2), b.yaml with x3 (size 3).
    let edits: [Edit; 7] = [
        (
            "file and object together",
            &[
                ("a.yaml", &[("x1", 1), ("x2", 2)]),
                ("c.yaml", &[("x4", 3)]),
            ],
            ["x1", "x2", "x4"],
        ),
        (
            "two in one save",
            &[
                ("a.yaml", &[("y1", 1), ("y2", 2)]),
                ("b.yaml", &[("x3", 3)]),
            ],
            ["y1", "y2", "x3"],
        ),
        (
            "a chain in a file",
            &[
                ("a.yaml", &[("x2", 1), ("x9", 2)]),
                ("b.yaml", &[("x3", 3)]),
            ],
            ["x2", "x9", "x3"],
        ),
        (
            "a chain across files",
            &[
                ("a.yaml", &[("x2", 1), ("x3", 2)]),
                ("b.yaml", &[("x4", 3)]),
            ],
            ["x2", "x3", "x4"],
        ),
        (
            "a swap in a file",
            &[
                ("a.yaml", &[("x2", 1), ("x1", 2)]),
                ("b.yaml", &[("x3", 3)]),
            ],
            ["x2", "x1", "x3"],
        ),
        (
            "a swap across files",
            &[
                ("a.yaml", &[("x3", 1), ("x2", 2)]),
                ("b.yaml", &[("x1", 3)]),
            ],
            ["x3", "x2", "x1"],
        ),
        (
            "a circle",
            &[
                ("a.yaml", &[("x2", 1), ("x3", 2)]),
                ("b.yaml", &[("x1", 3)]),
            ],
            ["x2", "x3", "x1"],
        ),
    ];
    for (what, files, names) in edits {
        let first = format!("{}---\n{}", widget("x1", 1), widget("x2", 2));
        let mut world = World::new(&[("a.yaml", &first), ("b.yaml", &widget("x3", 3))]).await;
        world.synced(3).await;
        let before = uids(&world, &["x1", "x2", "x3"]).await;
        // At once, as one checkout would.
        world.stop().await;
        for file in ["a.yaml", "b.yaml"] {
            world.remove(file);
        }
        for (file, widgets) in files {
            let texts: Vec<_> = widgets
                .iter()
                .map(|(name, size)| widget(name, *size))
                .collect();
            world.write(file, &texts.join("---\n"));
        }
        world.widgets.told.lock().clear();
        world.restart().await;
        for (at, name) in names.iter().enumerate() {
            let found = world
                .until("Widget", name, |found| found["spec"]["size"] == at + 1)
                .await;
            assert_eq!(found["metadata"]["uid"], before[at], "{what}: {name}");
            let former = format!("x{}", at + 1);
            if *name != former {
                // The reconciler is told, and then the annotation goes.
                world
                    .until("Widget", name, |found| {
                        let annotations = &found["metadata"]["annotations"];
                        annotations.get(ANNOTATION_RENAMED_FROM).is_none()
                    })
                    .await;
                let told = world.widgets.told.lock();
                let mut mine = told
                    .iter()
                    .filter(|(of, former)| of == name && former.is_some());
                assert!(
                    mine.next().is_some(),
                    "{what}: {name} was told nothing: {told:?}"
                );
            }
        }
        world.synced(3).await;
        let mut names = names.map(ToOwned::to_owned);
        names.sort();
        assert_eq!(world.names("Widget").await, names, "{what}");
    }
}

#[tokio::test]
async fn r15b_a_swap_that_a_crash_interrupted_is_carried_on() {
    let mut world = World::new(&[("a.yaml", &widget("a", 1)), ("b.yaml", &widget("b", 2))]).await;
    world.synced(2).await;
    let before = uids(&world, &["a", "b"]).await;
    world.stop().await;
    world.write("a.yaml", &widget("b", 1));
    world.write("b.yaml", &widget("a", 2));
    // What the first request of the swap leaves behind.
    let sum = format!("{:x}", sha2::Sha256::digest("b"));
    world
        .rename("Widget", "a", &format!("landform-renaming-{}", &sum[..16]))
        .await;
    world.restart().await;
    for (name, size) in [("b", 1), ("a", 2)] {
        let found = world
            .until("Widget", name, |found| found["spec"]["size"] == size)
            .await;
        assert_eq!(found["metadata"]["uid"], before[size - 1], "{name}");
    }
    world.synced(2).await;
    assert_eq!(world.names("Widget").await, ["a", "b"]);
}

#[tokio::test]
async fn r15b_a_name_that_was_taken_over_before_can_be_taken_over_again() {
    // An object that was once called b is c now, by its content; another b came.
    let mut world = World::new(&[("b.yaml", &widget("b", 1))]).await;
    world.synced(1).await;
    let first = uids(&world, &["b"]).await;
    world.write("b.yaml", &widget("c", 1));
    world.until("Widget", "c", Value::is_object).await;
    world.write("x.yaml", &widget("b", 2));
    world.synced(2).await;
    let before = uids(&world, &["c", "b"]).await;
    assert_eq!(before[0], first[0]);
    // Both are told to move on, and change: b takes the name of the one that had its own.
    world.stop().await;
    world.write("b.yaml", &told("d", "c", 11));
    world.write("x.yaml", &told("c", "b", 12));
    world.restart().await;
    for (name, size) in [("d", 11), ("c", 12)] {
        let changed = |found: &Value| found["spec"]["size"] == size;
        world.until("Widget", name, changed).await;
    }
    assert_eq!(uids(&world, &["d", "c"]).await, before);
}

#[tokio::test]
async fn r15b_a_swap_that_files_tell_is_made_once() {
    let mut world = World::new(&[("a.yaml", &widget("a", 1)), ("b.yaml", &widget("b", 2))]).await;
    world.synced(2).await;
    let before = uids(&world, &["a", "b"]).await;
    world.write(
        "a.yaml",
        &format!("{}---\n{}", told("b", "a", 11), told("a", "b", 12)),
    );
    world.remove("b.yaml");
    for round in 0..2 {
        for (name, at) in [("b", 0), ("a", 1)] {
            let found = world
                .until("Widget", name, |found| found["spec"]["size"] == 11 + at)
                .await;
            assert_eq!(
                found["metadata"]["uid"], before[at],
                "{name}, round {round}"
            );
        }
        world.synced(2).await;
        // The files still tell it: nothing may come of that.
        world.restart().await;
        let seen = &round.to_string();
        world.write("c.yaml", &map("seen", seen));
        world
            .until("ConfigMap", "seen", |found| found["data"]["a"] == *seen)
            .await;
        world.remove("c.yaml");
        world.gone("ConfigMap", "seen").await;
    }
}

/// An editor empties the file before it writes it, and Landform starts just then.
#[tokio::test]
async fn r15b_a_file_that_is_empty_at_a_start_may_come_back_with_another_name() {
    let mut world = World::new(&[("a.yaml", &map("a", "1"))]).await;
    world.synced(1).await;
    let before = world.get("ConfigMap", "a").await["metadata"]["uid"].clone();
    world.stop().await;
    world.write("a.yaml", "");
    world.restart().await;
    world.status(|status| status["phase"] == "Settling").await;
    world.write("a.yaml", &map("b", "1"));
    world.synced(1).await;
    let after = world.get("ConfigMap", "b").await["metadata"]["uid"].clone();
    assert_eq!(after, before);
}
