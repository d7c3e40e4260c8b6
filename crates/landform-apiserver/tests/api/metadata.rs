//! Metadata: what every object has (C1), when the generation moves (C2), and conflicts (C4).

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Api, DEFINITIONS, MAPS, WIDGETS, map, widget, widgets};

#[tokio::test]
async fn c1_a_created_object_has_all_its_metadata() {
    let api = Api::start().await;
    let mut sent = map("a");
    sent["metadata"]["labels"] = json!({"x": "y"});
    // What only the server may set is not taken from the client.
    sent["metadata"]["uid"] = json!("mine");
    sent["metadata"]["creationTimestamp"] = json!("2001-01-01T00:00:00Z");
    sent["metadata"]["deletionTimestamp"] = json!("2001-01-01T00:00:00Z");
    sent["metadata"]["generation"] = json!(77);
    let answer = api.post(MAPS, sent).await;
    assert_eq!(answer.code, 201);
    let metadata = &answer.value["metadata"];
    assert_eq!(metadata["name"], "a");
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["labels"], json!({"x": "y"}));
    assert_eq!(metadata["generation"], 1);
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert!(
        metadata["resourceVersion"]
            .as_str()
            .unwrap()
            .parse::<u64>()
            .unwrap()
            > 0
    );
    assert_ne!(metadata["creationTimestamp"], "2001-01-01T00:00:00Z");
    assert!(metadata.get("deletionTimestamp").is_none());
    assert_eq!(api.get(&format!("{MAPS}/a")).await.ok(), answer.value);
}

#[tokio::test]
async fn c1_an_object_without_a_name_is_refused() {
    let api = Api::start().await;
    let answer = api.post(MAPS, json!({"metadata": {}})).await;
    let (code, reason, message) = answer.failed();
    assert_eq!((code, reason), (422, "Invalid"));
    assert!(
        message.contains("metadata.name: Required value: name or generateName is required"),
        "{message}"
    );
}

#[tokio::test]
async fn c2_a_changed_spec_counts_the_generation_up() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    api.post(WIDGETS, widget("a", json!({"size": 1})))
        .await
        .ok();
    let path = format!("{WIDGETS}/a");
    let changed = api
        .patch(&path, "merge", json!({"spec": {"size": 2}}))
        .await
        .ok();
    assert_eq!(changed["metadata"]["generation"], 2);
    let marked = api
        .send(
            Method::DELETE,
            &format!("{path}?propagationPolicy=Foreground"),
            &[],
            "",
        )
        .await
        .ok();
    assert_eq!(
        marked["metadata"]["generation"], 3,
        "a deletion mark counts as a change"
    );
}

#[tokio::test]
async fn c2_labels_status_and_writes_that_change_nothing_leave_the_generation() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    let created = api
        .post(WIDGETS, widget("a", json!({"size": 1})))
        .await
        .ok();
    let path = format!("{WIDGETS}/a");
    let labelled = api
        .patch(&path, "merge", json!({"metadata": {"labels": {"a": "b"}}}))
        .await
        .ok();
    assert_eq!(labelled["metadata"]["generation"], 1);
    let with_status = api
        .patch(
            &format!("{path}/status"),
            "merge",
            json!({"status": {"phase": "Ready"}}),
        )
        .await
        .ok();
    assert_eq!(with_status["metadata"]["generation"], 1);
    assert_eq!(with_status["status"]["phase"], "Ready");
    let same = api
        .patch(&path, "merge", json!({"spec": {"size": 1}}))
        .await
        .ok();
    assert_eq!(
        same["metadata"]["resourceVersion"],
        with_status["metadata"]["resourceVersion"]
    );
    assert_ne!(
        created["metadata"]["resourceVersion"],
        same["metadata"]["resourceVersion"]
    );
}

#[tokio::test]
async fn c3_a_status_can_say_which_generation_it_has_seen() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    api.post(WIDGETS, widget("a", json!({"size": 1})))
        .await
        .ok();
    let path = format!("{WIDGETS}/a");
    let observed = api
        .patch(
            &format!("{path}/status"),
            "merge",
            json!({"status": {"observedGeneration": 1}}),
        )
        .await
        .ok();
    assert_eq!(
        observed["status"]["observedGeneration"],
        observed["metadata"]["generation"]
    );
    let changed = api
        .patch(&path, "merge", json!({"spec": {"size": 2}}))
        .await
        .ok();
    assert_ne!(
        changed["status"]["observedGeneration"], changed["metadata"]["generation"],
        "after a change the status is no longer up to date"
    );
}

#[tokio::test]
async fn c4_a_write_with_a_stale_version_gets_409_and_changes_nothing() {
    let api = Api::start().await;
    let first = api.post(MAPS, map("a")).await.ok();
    let path = format!("{MAPS}/a");
    let second = api
        .patch(&path, "merge", json!({"data": {"a": "2"}}))
        .await
        .ok();
    let mut stale = first.clone();
    stale["data"]["a"] = json!("3");
    let answer = api.put(&path, stale).await;
    let (code, reason, message) = answer.failed();
    assert_eq!((code, reason), (409, "Conflict"));
    assert!(
        message.contains("the object has been modified"),
        "{message}"
    );
    let version = first["metadata"]["resourceVersion"].clone();
    let patch = json!({"metadata": {"resourceVersion": version}, "data": {"a": "4"}});
    assert_eq!(api.patch(&path, "merge", patch).await.code, 409);
    assert_eq!(api.get(&path).await.ok(), second);
}

#[tokio::test]
async fn c4_a_write_with_the_present_version_goes_through() {
    let api = Api::start().await;
    let mut object = api.post(MAPS, map("a")).await.ok();
    object["data"]["a"] = json!("2");
    let updated = api.put(&format!("{MAPS}/a"), object).await.ok();
    assert_eq!(updated["data"]["a"], "2");
}

#[tokio::test]
async fn c4_a_wrong_uid_is_a_conflict_too() {
    let api = Api::start().await;
    let mut object = api.post(MAPS, map("a")).await.ok();
    object["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000");
    let answer = api.put(&format!("{MAPS}/a"), object).await;
    assert_eq!(answer.failed().0, 409);
}

#[tokio::test]
async fn c4_many_writers_of_one_object_lose_no_change() {
    let api = Api::start().await;
    api.post(MAPS, map("a")).await.ok();
    let patches = (0..40).map(|n| {
        let api = api.clone();
        tokio::spawn(async move {
            let patch = json!({"data": {format!("key-{n}"): "x"}});
            api.patch(&format!("{MAPS}/a"), "merge", patch).await.ok()
        })
    });
    for patch in patches.collect::<Vec<_>>() {
        patch.await.unwrap();
    }
    let data = api.get(&format!("{MAPS}/a")).await.ok()["data"].clone();
    assert_eq!(data.as_object().unwrap().len(), 41);
}

#[tokio::test]
async fn names_are_generated_and_unique() {
    let api = Api::start().await;
    let mut names = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let made = api
            .post(MAPS, json!({"metadata": {"generateName": "gen-"}}))
            .await
            .ok();
        let name = made["metadata"]["name"].as_str().unwrap().to_owned();
        assert!(name.starts_with("gen-") && name.len() == 9, "{name}");
        assert!(names.insert(name));
    }
}

#[tokio::test]
async fn a_taken_name_is_409_and_names_the_object() {
    let api = Api::start().await;
    api.post(MAPS, map("a")).await.ok();
    let answer = api.post(MAPS, map("a")).await;
    assert_eq!(
        answer.failed(),
        (409, "AlreadyExists", "configmaps \"a\" already exists")
    );
    assert_eq!(answer.value["details"]["name"], "a");
}

#[tokio::test]
async fn bad_names_labels_and_owners_are_422_with_a_cause_each() {
    let api = Api::start().await;
    let answer = api
        .post(
            MAPS,
            json!({"metadata": {
                "name": "Not_A_Name",
                "labels": {"bad key": "x"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o"}],
            }}),
        )
        .await;
    assert_eq!(answer.failed().0, 422);
    let fields: Vec<&Value> = answer.value["details"]["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cause| &cause["field"])
        .collect();
    assert_eq!(
        fields,
        [
            "metadata.name",
            "metadata.labels[bad key]",
            "metadata.ownerReferences[0].uid"
        ]
    );
}

#[tokio::test]
async fn name_and_namespace_never_change() {
    let api = Api::start().await;
    let mut object = api.post(MAPS, map("a")).await.ok();
    object["metadata"]["name"] = json!("b");
    assert_eq!(
        api.put(&format!("{MAPS}/a"), object.clone())
            .await
            .failed()
            .0,
        400
    );
    let patch = json!({"metadata": {"name": "b"}});
    assert_eq!(
        api.patch(&format!("{MAPS}/a"), "merge", patch)
            .await
            .failed()
            .0,
        422
    );
    object["metadata"]["name"] = json!("a");
    object["metadata"]["namespace"] = json!("kube-system");
    assert_eq!(api.put(&format!("{MAPS}/a"), object).await.failed().0, 400);
}

#[tokio::test]
async fn a_dry_run_answers_as_if_and_stores_nothing() {
    let api = Api::start().await;
    let created = api.post(&format!("{MAPS}?dryRun=All"), map("a")).await.ok();
    assert_eq!(created["metadata"]["name"], "a");
    assert_eq!(api.get(&format!("{MAPS}/a")).await.code, 404);
    let kept = api.post(MAPS, map("a")).await.ok();
    let tried = api
        .patch(
            &format!("{MAPS}/a?dryRun=All"),
            "merge",
            json!({"data": {"a": "9"}}),
        )
        .await
        .ok();
    assert_eq!(tried["data"]["a"], "9");
    api.delete(&format!("{MAPS}/a?dryRun=All")).await.ok();
    assert_eq!(api.get(&format!("{MAPS}/a")).await.ok(), kept);
    assert_eq!(
        api.post(&format!("{MAPS}?dryRun=All"), map("a")).await.code,
        409
    );
    assert_eq!(
        api.post(&format!("{MAPS}?dryRun=Maybe"), map("b"))
            .await
            .failed()
            .0,
        400
    );
}
