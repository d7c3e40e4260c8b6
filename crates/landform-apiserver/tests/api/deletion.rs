//! Deletion, as far as the API does it: marks (G2), removal (G3), preconditions, collections.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Api, MAPS, map};

/// A config map with finalizers.
fn held(name: &str, finalizers: &[&str]) -> Value {
    let mut object = map(name);
    object["metadata"]["finalizers"] = json!(finalizers);
    object
}

async fn names(api: &Api) -> Vec<String> {
    let list = api.get(MAPS).await.ok();
    let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(name)
        .filter(|name| name != "kube-root-ca.crt")
        .collect()
}

#[tokio::test]
async fn g2_a_delete_marks_and_adds_the_finalizer() {
    // Nobody collects here, so the mark stays to be seen.
    let api = Api::without_background(quick()).await;
    api.post(MAPS, map("a")).await.ok();
    let marked = api.delete(&format!("{MAPS}/a")).await.ok();
    assert!(
        marked["metadata"]["deletionTimestamp"].is_string(),
        "{marked}"
    );
    assert_eq!(
        marked["metadata"]["finalizers"],
        json!(["cascade_deletion"])
    );
}

/// A server whose deletes don't wait for a collector.
pub(crate) fn quick() -> landform_apiserver::Config {
    landform_apiserver::Config {
        delete_patience: std::time::Duration::ZERO,
        ..landform_apiserver::Config::default()
    }
}

#[tokio::test]
async fn g2_no_later_write_clears_the_mark() {
    let api = Api::without_background(quick()).await;
    api.post(MAPS, map("a")).await.ok();
    let path = format!("{MAPS}/a");
    let mut marked = api.delete(&path).await.ok();
    let since = marked["metadata"]["deletionTimestamp"].clone();
    marked["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("deletionTimestamp");
    let put = api.put(&path, marked).await.ok();
    assert_eq!(put["metadata"]["deletionTimestamp"], since);
    let patched = api
        .patch(
            &path,
            "merge",
            json!({"metadata": {"deletionTimestamp": null}}),
        )
        .await
        .ok();
    assert_eq!(patched["metadata"]["deletionTimestamp"], since);
    let remove = json!([{"op": "remove", "path": "/metadata/deletionTimestamp"}]);
    let patched = api.patch(&path, "json", remove).await.ok();
    assert_eq!(patched["metadata"]["deletionTimestamp"], since);
}

#[tokio::test]
async fn g2_a_marked_object_takes_no_new_finalizers() {
    let api = Api::without_background(quick()).await;
    api.post(MAPS, held("a", &["x.io/hold"])).await.ok();
    let path = format!("{MAPS}/a");
    api.delete(&path).await.ok();
    let patch = json!({"metadata": {"finalizers": ["x.io/hold", "x.io/more"]}});
    let answer = api.patch(&path, "merge", patch).await;
    let (code, _, message) = answer.failed();
    assert_eq!(code, 422);
    assert!(message.contains("x.io/more"), "{message}");
}

#[tokio::test]
async fn g3_an_update_that_leaves_no_finalizer_removes_a_marked_object() {
    let api = Api::start().await;
    api.post(MAPS, held("a", &["x.io/hold"])).await.ok();
    let path = format!("{MAPS}/a");
    let mut watch = api
        .watch(&format!("{MAPS}?fieldSelector=metadata.name=a"))
        .await;
    assert_eq!(watch.next_name().await, "ADDED a");
    let marked = api
        .delete(&format!("{path}?propagationPolicy=Background"))
        .await
        .ok();
    assert_eq!(watch.next_name().await, "MODIFIED a");
    assert_eq!(marked["metadata"]["finalizers"], json!(["x.io/hold"]));
    let last = api
        .patch(&path, "merge", json!({"metadata": {"finalizers": null}}))
        .await
        .ok();
    assert_eq!(api.get(&path).await.code, 404);
    let (type_, object) = watch.next().await.unwrap();
    assert_eq!(
        (type_.as_str(), &object["metadata"]["name"]),
        ("DELETED", &json!("a"))
    );
    assert_eq!(
        object["metadata"]["resourceVersion"],
        last["metadata"]["resourceVersion"]
    );
    // It was the last event: the next one is of something else.
    api.post(MAPS, map("a")).await.ok();
    assert_eq!(watch.next_name().await, "ADDED a");
}

#[tokio::test]
async fn g3_an_object_that_still_has_a_finalizer_or_no_mark_stays() {
    let api = Api::start().await;
    api.post(MAPS, held("a", &["x.io/one", "x.io/two"]))
        .await
        .ok();
    let path = format!("{MAPS}/a");
    api.delete(&format!("{path}?propagationPolicy=Background"))
        .await
        .ok();
    let patch = json!({"metadata": {"finalizers": ["x.io/two"]}});
    api.patch(&path, "merge", patch).await.ok();
    assert_eq!(api.get(&path).await.code, 200);
    api.post(MAPS, held("b", &["x.io/one"])).await.ok();
    api.patch(
        &format!("{MAPS}/b"),
        "merge",
        json!({"metadata": {"finalizers": null}}),
    )
    .await
    .ok();
    assert_eq!(
        api.get(&format!("{MAPS}/b")).await.code,
        200,
        "without a mark it stays"
    );
}

#[tokio::test]
async fn preconditions_are_held_to() {
    let api = Api::start().await;
    let object = api.post(MAPS, map("a")).await.ok();
    let path = format!("{MAPS}/a");
    for preconditions in [json!({"uid": "other"}), json!({"resourceVersion": "1"})] {
        let options =
            json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions});
        let answer = api
            .send(Method::DELETE, &path, &[], options.to_string())
            .await;
        assert_eq!(answer.failed().0, 409, "{options}");
    }
    let options = json!({"preconditions": {"uid": object["metadata"]["uid"]}});
    api.send(Method::DELETE, &path, &[], options.to_string())
        .await
        .ok();
    assert_eq!(api.get(&path).await.code, 404);
}

#[tokio::test]
async fn a_policy_that_does_not_exist_is_refused() {
    let api = Api::start().await;
    api.post(MAPS, map("a")).await.ok();
    let answer = api
        .delete(&format!("{MAPS}/a?propagationPolicy=Sideways"))
        .await;
    assert!(
        answer
            .failed()
            .2
            .contains("must be Cascade, Background, Foreground or Orphan")
    );
    let answer = api
        .delete(&format!(
            "{MAPS}/a?propagationPolicy=Orphan&orphanDependents=true"
        ))
        .await;
    assert_eq!(answer.failed().0, 400);
}

#[tokio::test]
async fn a_collection_is_deleted_by_selector() {
    let api = Api::start().await;
    for (name, app) in [("a", "x"), ("b", "x"), ("c", "y")] {
        let mut object = map(name);
        object["metadata"]["labels"] = json!({"app": app});
        api.post(MAPS, object).await.ok();
    }
    let answer = api
        .delete(&format!("{MAPS}?labelSelector=app%3Dx"))
        .await
        .ok();
    assert_eq!(answer["status"], "Success");
    assert_eq!(names(&api).await, ["c"]);
}

#[tokio::test]
async fn g13_a_policy_that_is_named_counts_and_else_what_the_object_carries() {
    let api = Api::without_background(quick()).await;
    let table: [(&[&str], &str, &[&str]); 9] = [
        (&[], "", &["cascade_deletion"]),
        (&["orphan"], "", &["orphan"]),
        (&["foregroundDeletion"], "", &["foregroundDeletion"]),
        (&["foregroundDeletion", "orphan"], "", &["orphan"]),
        (&["x.io/hold", "orphan"], "", &["x.io/hold", "orphan"]),
        (
            &["orphan"],
            "?propagationPolicy=Cascade",
            &["cascade_deletion"],
        ),
        (
            &["orphan"],
            "?propagationPolicy=Foreground",
            &["foregroundDeletion"],
        ),
        (
            &["x.io/hold", "orphan"],
            "?propagationPolicy=Background",
            &["x.io/hold"],
        ),
        (
            &["foregroundDeletion"],
            "?propagationPolicy=Orphan",
            &["orphan"],
        ),
    ];
    for (index, (preset, query, expected)) in table.into_iter().enumerate() {
        let name = format!("a{index}");
        api.post(MAPS, held(&name, preset)).await.ok();
        api.delete(&format!("{MAPS}/{name}{query}")).await.ok();
        let stored = api.get(&format!("{MAPS}/{name}")).await.ok();
        assert_eq!(
            stored["metadata"]["finalizers"],
            json!(expected),
            "{preset:?}{query}"
        );
        // A second delete that names no policy changes nothing.
        api.delete(&format!("{MAPS}/{name}")).await.ok();
        assert_eq!(api.get(&format!("{MAPS}/{name}")).await.ok(), stored);
    }
}
