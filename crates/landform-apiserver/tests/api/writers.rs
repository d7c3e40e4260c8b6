//! Writers that know nothing of each other: a patch that names no version is never refused for a conflict, and none is
//! lost (C4, C2).

use std::collections::BTreeSet;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::harness::{Api, DEFINITIONS, MAPS, WIDGETS, map, widget, widgets};

const WRITERS: usize = 16;
const TURNS: usize = 60;

/// One writer: in each turn a patch, of a form of its own.
async fn write(api: Api, path: String, writer: usize) {
    for turn in 0..TURNS {
        let (form, patch) = match writer % 3 {
            0 => (
                "merge",
                json!({"data": {format!("w{writer}"): turn.to_string()}}),
            ),
            1 => (
                "strategic-merge",
                json!({"metadata": {"annotations": {format!("x.io/w{writer}"): turn.to_string()}}}),
            ),
            _ => (
                "json",
                json!([{"op": "add", "path": "/metadata/finalizers/-", "value": format!("x.io/w{writer}-{turn}")}]),
            ),
        };
        let answer = api.patch(&path, form, patch).await;
        assert_eq!(answer.code, 200, "{form}: {}", answer.value);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c4_patches_that_name_no_version_are_never_refused_and_none_is_lost() {
    let api = Api::start().await;
    let mut object = map("a");
    object["metadata"]["finalizers"] = json!(["x.io/first"]);
    api.post(MAPS, object).await.ok();
    let path = format!("{MAPS}/a");
    let tasks = (0..WRITERS).map(|writer| tokio::spawn(write(api.clone(), path.clone(), writer)));
    for ended in join_all(tasks).await {
        ended.unwrap();
    }
    let found = api.get(&path).await.ok();
    let last = json!((TURNS - 1).to_string());
    let mut expected = BTreeSet::from(["x.io/first".to_owned()]);
    for writer in 0..WRITERS {
        match writer % 3 {
            0 => assert_eq!(found["data"][format!("w{writer}")], last),
            1 => assert_eq!(
                found["metadata"]["annotations"][format!("x.io/w{writer}")],
                last
            ),
            _ => expected.extend((0..TURNS).map(|turn| format!("x.io/w{writer}-{turn}"))),
        }
    }
    let appended = found["metadata"]["finalizers"].as_array().unwrap();
    let names: BTreeSet<String> = appended
        .iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect();
    assert_eq!((appended.len(), names), (expected.len(), expected));
    // Each change of the data counts, nothing else does.
    let changes = (0..WRITERS).filter(|writer| writer % 3 == 0).count() * TURNS;
    assert_eq!(found["metadata"]["generation"], json!(1 + changes));
}

/// A counter that is read, and raised by a patch that says what it has read, until that works.
async fn count_up(api: &Api, path: &str) {
    for _ in 0..TURNS {
        loop {
            let now = api.get(path).await.ok();
            let count = now["spec"]["size"].as_i64().unwrap();
            let next = json!([
                {"op": "test", "path": "/spec/size", "value": count},
                {"op": "replace", "path": "/spec/size", "value": 1 + count % 5},
            ]);
            match api.patch(path, "json", next).await.code {
                200 => break,
                // Its own test failed: another writer has counted.
                422 => {}
                other => panic!("{other}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c2_c4_writers_of_status_spec_and_scale_do_not_disturb_each_other() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    api.post(WIDGETS, widget("a", json!({"size": 1})))
        .await
        .ok();
    let path = format!("{WIDGETS}/a");
    let status = format!("{path}/status");
    let mut tasks = Vec::new();
    for writer in 0..4 {
        let (api, path, status) = (api.clone(), path.clone(), status.clone());
        tasks.push(tokio::spawn(async move {
            for turn in 0..TURNS {
                match writer {
                    0 | 1 => {
                        let patch =
                            json!({"status": {format!("w{writer}"): turn}, "spec": {"size": 9}});
                        api.patch(&status, "merge", patch).await.ok();
                    }
                    2 => count_up_once(&api, &path).await,
                    _ => {
                        let patch = json!({"spec": {"replicas": turn + 3}});
                        let scaled = api
                            .patch(&format!("{path}/scale"), "merge", patch)
                            .await
                            .ok();
                        assert_eq!(scaled["spec"]["replicas"], turn + 3);
                        let dry = format!("{path}?dryRun=All");
                        api.patch(&dry, "merge", json!({"spec": {"color": "red"}}))
                            .await
                            .ok();
                    }
                }
            }
        }));
    }
    for ended in join_all(tasks).await {
        ended.unwrap();
    }
    let found = api.get(&path).await.ok();
    let last = json!(TURNS - 1);
    assert_eq!(found["status"], json!({"w0": last, "w1": last}));
    assert_eq!(
        found["spec"],
        json!({"size": 1 + TURNS % 5, "replicas": TURNS + 2})
    );
    // One for the object, one for each count, one for each scale.
    assert_eq!(found["metadata"]["generation"], json!(1 + 2 * TURNS));
}

/// Raises a counter that only this writer writes: its test holds whatever others change.
async fn count_up_once(api: &Api, path: &str) {
    let now = api.get(path).await.ok();
    let count = now["spec"]["size"].as_i64().unwrap();
    let next = json!([
        {"op": "test", "path": "/spec/size", "value": count},
        {"op": "replace", "path": "/spec/size", "value": 1 + count % 5},
    ]);
    api.patch(path, "json", next).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c4_a_counter_that_many_raise_counts_every_one() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    api.post(WIDGETS, widget("a", json!({"size": 1})))
        .await
        .ok();
    let path = format!("{WIDGETS}/a");
    let tasks = (0..4).map(|_| {
        let (api, path) = (api.clone(), path.clone());
        tokio::spawn(async move { count_up(&api, &path).await })
    });
    for ended in join_all(tasks).await {
        ended.unwrap();
    }
    let found = api.get(&path).await.ok();
    assert_eq!(found["spec"]["size"], json!(1 + 4 * TURNS % 5));
    assert_eq!(found["metadata"]["generation"], json!(1 + 4 * TURNS));
}

#[tokio::test]
async fn c4_only_a_version_that_the_patch_names_binds_it() {
    let api = Api::start().await;
    let made = api.post(MAPS, map("a")).await.ok();
    let path = format!("{MAPS}/a");
    let first = made["metadata"]["resourceVersion"].clone();
    let second = api
        .patch(&path, "merge", json!({"data": {"a": "2"}}))
        .await
        .ok();
    let second = second["metadata"]["resourceVersion"].clone();
    let merge =
        |version: &Value| json!({"metadata": {"resourceVersion": version}, "data": {"a": "3"}});
    let by_json = |op: &str, version: &Value| {
        json!([
            {"op": op, "path": "/metadata/resourceVersion", "value": version},
            {"op": "replace", "path": "/data/a", "value": "3"},
        ])
    };
    let table = [
        ("merge", merge(&first), 409),
        ("strategic-merge", merge(&first), 409),
        ("json", by_json("replace", &first), 409),
        ("json", by_json("test", &first), 422),
        ("json", by_json("test", &second), 200),
        ("merge", merge(&json!(null)), 200),
        ("merge", merge(&json!("0")), 200),
    ];
    for (form, patch, expected) in table {
        let answer = api.patch(&path, form, patch.clone()).await;
        assert_eq!(answer.code, expected, "{patch}: {}", answer.value);
        if expected == 200 {
            continue;
        }
        assert_eq!(
            api.get(&path).await.ok()["data"]["a"],
            "2",
            "nothing was written"
        );
    }
    let newest = api.get(&path).await.ok()["metadata"]["resourceVersion"].clone();
    api.patch(&path, "merge", merge(&newest)).await.ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn c4_r15_a_rename_is_never_refused_however_often_others_write_what_it_writes() {
    const OWNED: usize = 300;
    const RENAMES: usize = 3;
    let api = Api::start().await;
    let owner = api.post(MAPS, map("owner-0")).await.ok();
    let mut rival = Vec::new();
    for number in 0..2 {
        rival.push(api.post(MAPS, map(&format!("rival-{number}-0"))).await.ok());
    }
    for number in 0..OWNED {
        let mut object = map(&format!("owned-{number}"));
        let references = [&owner, &rival[0], &rival[1]].map(|owner| {
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
            })
        });
        object["metadata"]["ownerReferences"] = json!(references);
        api.post(MAPS, object).await.ok();
    }
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writers = (0..WRITERS).map(|writer| {
        let (api, done) = (api.clone(), done.clone());
        tokio::spawn(async move {
            let mut turn = writer;
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                turn += 1;
                let path = format!("{MAPS}/owned-{}", turn % OWNED);
                let patch = json!({"data": {format!("w{writer}"): turn.to_string()}});
                api.patch(&path, "merge", patch).await.ok();
                // A store in memory answers at once: others want to run, too.
                tokio::task::yield_now().await;
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    let renames = ["owner", "rival-0", "rival-1"].map(|name| {
        let api = api.clone();
        tokio::spawn(async move {
            for turn in 0..RENAMES {
                let path = format!("{MAPS}/{name}-{turn}/rename");
                let rename = json!({"kind": "Rename", "name": format!("{name}-{}", turn + 1)});
                let answer = api.post(&path, rename).await;
                assert_eq!(answer.code, 200, "{}", answer.value);
            }
        })
    });
    let renamed = join_all(renames).await;
    done.store(true, std::sync::atomic::Ordering::SeqCst);
    for ended in renamed.into_iter().chain(join_all(writers).await) {
        ended.unwrap();
    }
    for number in 0..OWNED {
        let owned = api.get(&format!("{MAPS}/owned-{number}")).await.ok();
        let names = &owned["metadata"]["ownerReferences"];
        for (at, name) in ["owner", "rival-0", "rival-1"].iter().enumerate() {
            assert_eq!(names[at]["name"], format!("{name}-{RENAMES}"), "{owned}");
        }
    }
}
