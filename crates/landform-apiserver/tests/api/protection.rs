//! Protection from deletion: a table of what is protected × what is deleted. Nothing is marked that is refused, and
//! everything goes when the protection is taken away.

use http::Method;
use landform_store::{RangeQuery, Store as _};
use serde_json::{Value, json};

use crate::harness::{Api, DEFINITIONS, MAPS, WIDGETS, map, widget, widgets};

const PROTECT: &str = "landform.dev/protect";
const NAMESPACES: &str = "/api/v1/namespaces";

async fn uid(api: &Api, path: &str) -> String {
    let found = api.get(path).await.ok();
    found["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// A config map with an owner.
async fn owned(api: &Api, name: &str, owners: &[&str]) {
    let mut object = map(name);
    let mut references = Vec::new();
    for owner in owners {
        let uid = uid(api, &format!("{MAPS}/{owner}")).await;
        references
            .push(json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid}));
    }
    object["metadata"]["ownerReferences"] = json!(references);
    api.post(MAPS, object).await.ok();
}

async fn protect(api: &Api, path: &str, place: &str, value: Value) {
    let patch = json!({"metadata": {place: {PROTECT: value}}});
    api.patch(path, "merge", patch).await.ok();
}

/// Everything that is marked for deletion.
async fn marked(api: &Api) -> Vec<String> {
    let mut marked = Vec::new();
    for bucket in api.store.buckets().await.unwrap() {
        let query = RangeQuery {
            bucket,
            prefix: String::new(),
            after: None,
            limit: None,
            at: None,
        };
        for record in api.store.range(query).await.unwrap().records {
            let object: Value = serde_json::from_slice(&record.value).unwrap();
            if object["metadata"]["deletionTimestamp"].is_string() {
                marked.push(record.key.name.to_string());
            }
        }
    }
    marked
}

/// A delete is refused with all of these words, and nothing is marked.
async fn refused(api: &Api, request: (&str, &str), words: &[&str]) {
    let (path, body) = request;
    let headers = [("content-type", "application/json")];
    let answer = api
        .send(Method::DELETE, path, &headers, body.to_owned())
        .await;
    let (code, reason, message) = answer.failed();
    assert_eq!((code, reason), (403, "Forbidden"), "{path}: {message}");
    for word in words {
        assert!(
            message.contains(word),
            "{path}: {word:?} is missing in {message}"
        );
    }
    assert_eq!(marked(api).await, Vec::<String>::new(), "{path}");
}

fn with(policy: &str) -> String {
    json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy}).to_string()
}

#[tokio::test]
async fn a_protected_object_stays_until_the_protection_is_taken_away() {
    for place in ["labels", "annotations"] {
        let api = Api::start().await;
        let path = format!("{MAPS}/a");
        api.post(MAPS, map("a")).await.ok();
        protect(&api, &path, place, json!("true")).await;
        let verb = if place == "labels" {
            "label"
        } else {
            "annotate"
        };
        let advice = format!("kubectl {verb} configmaps a -n default {PROTECT}-");
        refused(&api, (&path, ""), &["it is protected", &advice]).await;
        for policy in ["Cascade", "Background", "Foreground", "Orphan"] {
            refused(&api, (&path, &with(policy)), &["it is protected"]).await;
        }
        refused(&api, (&format!("{path}?dryRun=All"), ""), &[]).await;
        // A second object of the collection would have gone first.
        api.post(MAPS, map("0")).await.ok();
        refused(&api, (MAPS, ""), &["configmaps \"a\"", "it is protected"]).await;
        protect(&api, &path, place, json!("false")).await;
        protect(&api, &path, place, json!("true")).await;
        refused(&api, (&path, ""), &[]).await;
        protect(&api, &path, place, Value::Null).await;
        api.delete(&path).await.ok();
        api.gone(&path).await;
    }
}

#[tokio::test]
async fn what_would_take_it_along_stays_too() {
    let api = Api::start().await;
    for name in ["root", "other"] {
        api.post(MAPS, map(name)).await.ok();
    }
    owned(&api, "middle", &["root"]).await;
    owned(&api, "leaf", &["middle"]).await;
    let (root, middle) = (format!("{MAPS}/root"), format!("{MAPS}/middle"));
    protect(&api, &format!("{MAPS}/leaf"), "annotations", json!("true")).await;
    let words = ["the ConfigMap leaf in default, which would go with it, is protected"];
    for policy in ["Cascade", "Background", "Foreground"] {
        refused(&api, (&root, &with(policy)), &words).await;
        refused(&api, (&middle, &with(policy)), &words).await;
    }
    refused(&api, (&root, ""), &words).await;
    // What others own as well loses its reference only.
    owned(&api, "shared", &["other", "root"]).await;
    protect(&api, &format!("{MAPS}/leaf"), "annotations", Value::Null).await;
    protect(
        &api,
        &format!("{MAPS}/shared"),
        "annotations",
        json!("true"),
    )
    .await;
    refused(&api, (&root, &with("Cascade")), &["the ConfigMap shared"]).await;
    let headers = [("content-type", "application/json")];
    let answer = api
        .send(Method::DELETE, &root, &headers, with("Background"))
        .await;
    answer.ok();
    api.gone(&root).await;
    // Nothing is taken along.
    protect(&api, &format!("{MAPS}/leaf"), "annotations", json!("true")).await;
    let answer = api
        .send(Method::DELETE, &middle, &headers, with("Orphan"))
        .await;
    answer.ok();
}

#[tokio::test]
async fn a_namespace_a_definition_and_a_project_stay_with_what_is_in_them() {
    let api = Api::start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    api.post(NAMESPACES, namespace).await.ok();
    let maps = format!("{NAMESPACES}/shop/configmaps");
    let mut part = map("a");
    part["metadata"]["namespace"] = json!("shop");
    api.post(&maps, part).await.ok();
    let (shop, a) = (format!("{NAMESPACES}/shop"), format!("{maps}/a"));
    protect(&api, &a, "labels", json!("true")).await;
    refused(&api, (&shop, ""), &["the ConfigMap a in shop"]).await;
    protect(&api, &a, "labels", Value::Null).await;
    protect(&api, &shop, "labels", json!("true")).await;
    refused(&api, (&shop, ""), &["kubectl label namespaces shop"]).await;
    protect(&api, &shop, "labels", Value::Null).await;

    // A definition protects all its objects, and itself.
    api.post(DEFINITIONS, widgets()).await.ok();
    let name = "widgets.example.com";
    let path = WIDGETS.replace("default", "shop");
    api.post(&path, widget("t", json!({"size": 1}))).await.ok();
    let of_kind = format!("{DEFINITIONS}/{name}");
    protect(&api, &of_kind, "annotations", json!("true")).await;
    let advice = format!("kubectl annotate customresourcedefinition {name} {PROTECT}-");
    refused(
        &api,
        (&format!("{path}/t"), ""),
        &["it is protected", &advice],
    )
    .await;
    refused(&api, (&shop, ""), &["the Widget t in shop", &advice]).await;
    refused(&api, (&of_kind, ""), &["it is protected"]).await;
    protect(&api, &of_kind, "annotations", Value::Null).await;
    protect(&api, &format!("{path}/t"), "annotations", json!("true")).await;
    refused(&api, (&of_kind, ""), &["the Widget t in shop"]).await;
    protect(&api, &format!("{path}/t"), "annotations", Value::Null).await;
    api.delete(&of_kind).await.ok();
    api.gone(&of_kind).await;
    api.delete(&shop).await.ok();
    api.gone(&shop).await;
}

#[tokio::test]
async fn protection_that_comes_during_a_deletion_holds_what_is_not_marked() {
    let api = Api::without_background(crate::deletion::quick()).await;
    api.post(MAPS, map("root")).await.ok();
    owned(&api, "leaf", &["root"]).await;
    let (root, leaf) = (format!("{MAPS}/root"), format!("{MAPS}/leaf"));
    api.delete(&root).await.ok();
    protect(&api, &leaf, "annotations", json!("true")).await;
    // The deletion that is under way may be asked for again, and another policy named.
    api.delete(&root).await.ok();
    let answer = api.delete(&leaf).await;
    assert!(answer.failed().2.contains("it is protected"), "{answer:?}");
    assert_eq!(marked(&api).await, ["default/root"]);
}
