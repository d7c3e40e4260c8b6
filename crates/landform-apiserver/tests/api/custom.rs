//! Custom kinds: definitions, schemas, versions, names, columns, deletion.

use std::sync::Arc;

use http::Method;
use landform_apiserver::{ApiServer, Config};
use landform_store::{Bucket, Compare, Key, Op, Store, Txn};
use serde_json::{Value, json};

use crate::harness::{Api, DEFINITIONS, WIDGETS, widget, widgets};

fn condition<'a>(definition: &'a Value, type_: &str) -> &'a Value {
    let list = definition["status"]["conditions"].as_array().unwrap();
    list.iter()
        .find(|c| c["type"] == type_)
        .map_or(&Value::Null, |c| &c["status"])
}

#[tokio::test]
async fn a_definition_is_usable_the_moment_it_is_established() {
    let api = Api::start().await;
    let made = api.post(DEFINITIONS, widgets()).await.ok();
    assert_eq!(condition(&made, "Established"), "True");
    assert_eq!(condition(&made, "NamesAccepted"), "True");
    assert_eq!(made["status"]["acceptedNames"]["listKind"], "WidgetList");
    assert_eq!(made["status"]["storedVersions"], json!(["v1"]));
    let widget = api
        .post(WIDGETS, widget("a", json!({"size": 3})))
        .await
        .ok();
    assert_eq!(
        widget["spec"],
        json!({"size": 3, "replicas": 2}),
        "defaults are filled in"
    );
}

#[tokio::test]
async fn a_schema_refuses_what_does_not_fit_with_all_causes() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    for (spec, expected) in [
        (json!({}), "spec.size: Required value"),
        (json!({"size": 11}), "spec.size"),
        (json!({"size": "big"}), "spec.size"),
        (
            json!({"size": 1, "color": "blue"}),
            "supported values: \"red\", \"green\"",
        ),
        (json!({"size": 7, "color": "green"}), "big widgets are red"),
    ] {
        let answer = api.post(WIDGETS, widget("a", spec.clone())).await;
        let (code, reason, message) = answer.failed();
        assert_eq!((code, reason), (422, "Invalid"), "{spec}");
        assert!(message.contains(expected), "{spec}: {message}");
        assert!(
            !answer.value["details"]["causes"]
                .as_array()
                .unwrap()
                .is_empty()
        );
    }
    api.post(WIDGETS, widget("a", json!({"size": 7, "color": "red"})))
        .await
        .ok();
}

#[tokio::test]
async fn a_bad_definition_says_what_is_wrong_where() {
    let api = Api::start().await;
    let bad = |change: fn(&mut Value)| {
        let mut definition = widgets();
        change(&mut definition);
        definition
    };
    for (definition, expected) in [
        (
            bad(|d| d["metadata"]["name"] = json!("other")),
            "metadata.name",
        ),
        (bad(|d| d["spec"]["scope"] = json!("Galaxy")), "spec.scope"),
        (
            bad(|d| d["spec"]["versions"][0]["storage"] = json!(false)),
            "exactly one version",
        ),
        (
            bad(|d| {
                d["spec"]["versions"][0]
                    .as_object_mut()
                    .unwrap()
                    .remove("schema");
            }),
            "schemas are required",
        ),
        (
            bad(|d| {
                d["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
                    ["size"] = json!({"minimum": 1});
            }),
            "spec.versions[0].schema.openAPIV3Schema",
        ),
        (
            bad(|d| {
                d["spec"]["versions"][0]["additionalPrinterColumns"][0]["jsonPath"] = json!(".a[");
            }),
            "additionalPrinterColumns[0].jsonPath",
        ),
        (
            bad(|d| {
                d["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"]
                    [0]["rule"] = json!("self.size <=");
            }),
            "x-kubernetes-validations[0].rule",
        ),
        (
            bad(|d| d["spec"]["conversion"] = json!({"strategy": "Webhook"})),
            "spec.conversion.strategy",
        ),
    ] {
        let answer = api.post(DEFINITIONS, definition).await;
        let (code, _, message) = answer.failed();
        assert_eq!(code, 422, "{expected}");
        assert!(message.contains(expected), "{expected}: {message}");
    }
    assert_eq!(api.get(WIDGETS).await.code, 404);
}

#[tokio::test]
async fn two_versions_show_the_same_object() {
    let api = Api::start().await;
    let mut definition = widgets();
    let mut second = definition["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    definition["spec"]["versions"]
        .as_array_mut()
        .unwrap()
        .push(second);
    api.post(DEFINITIONS, definition).await.ok();
    let made = api
        .post(WIDGETS, widget("a", json!({"size": 1})))
        .await
        .ok();
    let other = WIDGETS.replace("/v1/", "/v2/");
    let seen = api.get(&format!("{other}/a")).await.ok();
    assert_eq!(seen["apiVersion"], "example.com/v2");
    assert_eq!(seen["metadata"], made["metadata"]);
    let list = api.get(&other).await.ok();
    assert_eq!(
        (&list["apiVersion"], &list["items"][0]["apiVersion"]),
        (&json!("example.com/v2"), &json!("example.com/v2"))
    );
    let mut watch = api.watch(&other).await;
    assert_eq!(
        watch.next().await.unwrap().1["apiVersion"],
        "example.com/v2"
    );
    let patched = api
        .patch(&format!("{other}/a"), "merge", json!({"spec": {"size": 2}}))
        .await
        .ok();
    assert_eq!(patched["apiVersion"], "example.com/v2");
    assert_eq!(
        watch.next().await.unwrap().1["apiVersion"],
        "example.com/v2"
    );
    assert_eq!(
        api.get(&format!("{WIDGETS}/a")).await.ok()["apiVersion"],
        "example.com/v1"
    );
}

#[tokio::test]
async fn names_that_are_taken_are_not_accepted_until_they_are_free() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    let mut rival = widgets();
    rival["metadata"]["name"] = json!("gadgets.example.com");
    rival["spec"]["names"] = json!({"plural": "gadgets", "kind": "Gadget", "shortNames": ["wd"]});
    let made = api.post(DEFINITIONS, rival).await.ok();
    assert_eq!(condition(&made, "NamesAccepted"), "False");
    assert_eq!(condition(&made, "Established"), "False");
    let gadgets = "/apis/example.com/v1/namespaces/default/gadgets";
    assert_eq!(api.get(gadgets).await.code, 404);
    let mut watch = api
        .watch(&format!(
            "{DEFINITIONS}?fieldSelector=metadata.name%3Dgadgets.example.com"
        ))
        .await;
    watch.next().await.unwrap();
    api.delete(&format!("{DEFINITIONS}/widgets.example.com"))
        .await
        .ok();
    let (_, established) = watch.next().await.unwrap();
    assert_eq!(condition(&established, "Established"), "True");
    assert_eq!(api.get(gadgets).await.code, 200);
}

#[tokio::test]
async fn deleting_a_definition_deletes_its_objects_and_waits_for_them() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    for n in 0..5 {
        api.post(WIDGETS, widget(&format!("w{n}"), json!({"size": 1})))
            .await
            .ok();
    }
    let mut held = widget("held", json!({"size": 1}));
    held["metadata"]["finalizers"] = json!(["x.io/hold"]);
    api.post(WIDGETS, held).await.ok();
    let path = format!("{DEFINITIONS}/widgets.example.com");
    api.delete(&path).await.ok();
    for n in 0..5 {
        api.gone(&format!("{WIDGETS}/w{n}")).await;
    }
    let terminating = api.get(&path).await.ok();
    assert_eq!(condition(&terminating, "Terminating"), "True");
    assert_eq!(
        api.post(WIDGETS, widget("late", json!({"size": 1})))
            .await
            .failed()
            .0,
        405
    );
    api.patch(
        &format!("{WIDGETS}/held"),
        "merge",
        json!({"metadata": {"finalizers": null}}),
    )
    .await
    .ok();
    api.gone(&path).await;
    assert_eq!(api.get(WIDGETS).await.code, 404);
    api.post(DEFINITIONS, widgets()).await.ok();
    assert_eq!(
        api.get(WIDGETS).await.ok()["items"],
        json!([]),
        "nothing of the old ones comes back"
    );
}

#[tokio::test]
async fn a_stored_version_can_not_be_dropped() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    let patch = json!([{"op": "replace", "path": "/spec/versions/0/name", "value": "v9"}]);
    let answer = api
        .patch(&format!("{DEFINITIONS}/widgets.example.com"), "json", patch)
        .await;
    assert!(
        answer.failed().2.contains("status.storedVersions[0]"),
        "{:?}",
        answer.failed()
    );
    let patch = json!({"spec": {"scope": "Cluster"}});
    let answer = api
        .patch(
            &format!("{DEFINITIONS}/widgets.example.com"),
            "merge",
            patch,
        )
        .await;
    assert!(answer.failed().2.contains("field is immutable"));
}

#[tokio::test]
async fn printer_columns_and_selectable_fields() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    api.post(WIDGETS, widget("a", json!({"size": 1, "color": "red"})))
        .await
        .ok();
    api.post(WIDGETS, widget("b", json!({"size": 2, "color": "green"})))
        .await
        .ok();
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = api.send(Method::GET, WIDGETS, &accept, "").await.ok();
    assert_eq!(table["columnDefinitions"][1]["name"], "Size");
    assert_eq!(table["columnDefinitions"][2]["priority"], 1);
    assert_eq!(table["rows"][0]["cells"], json!(["a", 1, "red"]));
    let red = api
        .get(&format!("{WIDGETS}?fieldSelector=spec.color%3Dred"))
        .await
        .ok();
    assert_eq!(red["items"].as_array().unwrap().len(), 1);
    assert_eq!(
        api.get(&format!("{WIDGETS}?fieldSelector=spec.size%3D1"))
            .await
            .failed()
            .0,
        400
    );
}

#[tokio::test]
async fn an_update_of_a_custom_resource_needs_its_version() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    let mut object = api
        .post(WIDGETS, widget("a", json!({"size": 1})))
        .await
        .ok();
    object["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("resourceVersion");
    let answer = api.put(&format!("{WIDGETS}/a"), object).await;
    assert!(
        answer.failed().2.contains("metadata.resourceVersion"),
        "{:?}",
        answer.failed()
    );
}

/// Whoever may define kinds must not take those of the server, nor delete their objects with a definition.
#[tokio::test]
async fn groups_of_built_in_kinds_take_no_definitions() {
    let api = Api::start().await;
    for (plural, group, kind) in [
        ("roles", "rbac.authorization.k8s.io", "Role"),
        ("others", "rbac.authorization.k8s.io", "Other"),
        (
            "customresourcedefinitions",
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
        ),
        ("leases", "coordination.k8s.io", "Lease"),
        ("tokenreviews", "authentication.k8s.io", "TokenReview"),
        ("new", "snapshots.k8s.io", "New"),
        ("new", "a.kubernetes.io", "New"),
    ] {
        let mut definition = widgets();
        definition["metadata"]["name"] = json!(format!("{plural}.{group}"));
        definition["spec"]["group"] = json!(group);
        definition["spec"]["names"] = json!({"plural": plural, "kind": kind});
        let answer = api.post(DEFINITIONS, definition.clone()).await;
        assert_eq!(answer.code, 422, "{group}: {:?}", answer.value);
        // The word of Kubernetes' community opens its domains, and not the server's own groups.
        definition["metadata"]["annotations"] =
            json!({"api-approved.kubernetes.io": "https://example.com/1"});
        let answer = api.post(DEFINITIONS, definition).await;
        let expected = if plural == "new" { 201 } else { 422 };
        assert_eq!(answer.code, expected, "{group}: {:?}", answer.value);
    }
}

/// A limit that came later than a definition must not lock its objects in.
#[tokio::test]
async fn objects_of_a_stored_definition_that_is_refused_by_now_can_be_used_and_deleted() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    api.post(WIDGETS, widget("old", json!({"size": 3})))
        .await
        .ok();
    let definitions = Bucket::new("customresourcedefinitions.apiextensions.k8s.io");
    let key = Key::new(&definitions, "widgets.example.com");
    let stored = api.store.get(&key).await.unwrap().unwrap();
    let text = String::from_utf8(stored.value.to_vec()).unwrap();
    let pattern = r#""pattern":"(a{1,1000}){1,1000}","enum":["red""#;
    let refused = text.replacen(r#""enum":["red""#, pattern, 1);
    assert_ne!(refused, text);
    let put = Txn::one(key, Compare::Any, Op::Put(refused.into()));
    api.store.commit(put).await.unwrap();

    let server = ApiServer::start(api.store.clone() as Arc<dyn Store>, Config::default())
        .await
        .unwrap();
    let api = Api::of(server, api.store.clone());
    let one = format!("{WIDGETS}/old");
    assert_eq!(api.get(WIDGETS).await.ok()["items"][0]["spec"]["size"], 3);
    let change = json!({"spec": {"size": 50}});
    let changed = api.patch(&one, "merge", change).await.ok();
    assert_eq!(
        changed["spec"],
        json!({"size": 50, "replicas": 2}),
        "nothing is checked or lost"
    );
    // The definition is repaired as any object is, and checks again from then on.
    let definition = format!("{DEFINITIONS}/widgets.example.com");
    let mut repaired = widgets();
    repaired["metadata"] = api.get(&definition).await.ok()["metadata"].take();
    api.put(&definition, repaired).await.ok();
    let answer = api
        .patch(&one, "merge", json!({"spec": {"size": 51}}))
        .await;
    assert_eq!(answer.code, 422, "{:?}", answer.value);
    api.delete(&one).await.ok();
}
