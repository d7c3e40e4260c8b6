//! Cycles of owners: refused when they would close, also by two writes at once (G11).

use landform_apiserver::{AUTHENTICATED, Identity};
use serde_json::{Value, json};

use crate::harness::{Api, DEFINITIONS, MAPS, WIDGETS, map, widget, widgets};

async fn made(api: &Api, names: &[&str]) -> Vec<Value> {
    let mut objects = Vec::new();
    for name in names {
        objects.push(api.post(MAPS, map(name)).await.ok());
    }
    objects
}

fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
    })
}

fn owners(owners: &[&Value]) -> Value {
    let list: Vec<Value> = owners.iter().map(|owner| reference(owner)).collect();
    json!({"metadata": {"ownerReferences": list}})
}

fn path(object: &Value) -> String {
    format!("{MAPS}/{}", object["metadata"]["name"].as_str().unwrap())
}

#[tokio::test]
async fn g11_the_edge_that_would_close_a_cycle_is_refused_and_the_cycle_is_told() {
    let api = Api::start().await;
    let all = made(&api, &["a", "b", "c"]).await;
    api.patch(&path(&all[1]), "merge", owners(&[&all[0]]))
        .await
        .ok();
    api.patch(&path(&all[2]), "merge", owners(&[&all[1]]))
        .await
        .ok();
    let answer = api.patch(&path(&all[0]), "merge", owners(&[&all[2]])).await;
    let (code, reason, message) = answer.failed();
    assert_eq!((code, reason), (422, "Invalid"));
    let cycle = "ConfigMap default/a is owned by ConfigMap default/c is owned by ConfigMap default/b is owned by ConfigMap default/a";
    assert!(message.contains(cycle), "{message}");
    let itself = api.patch(&path(&all[0]), "merge", owners(&[&all[0]])).await;
    assert!(itself.failed().2.contains("cycle"), "{}", itself.value);
    let unchanged = api.get(&path(&all[0])).await.ok();
    assert!(unchanged["metadata"].get("ownerReferences").is_none());
}

#[tokio::test]
async fn g11_a_diamond_and_a_cycle_of_names_alone_are_allowed() {
    let api = Api::start().await;
    let all = made(&api, &["a", "b", "c", "d"]).await;
    api.patch(&path(&all[1]), "merge", owners(&[&all[0]]))
        .await
        .ok();
    api.patch(&path(&all[2]), "merge", owners(&[&all[0]]))
        .await
        .ok();
    api.patch(&path(&all[3]), "merge", owners(&[&all[1], &all[2]]))
        .await
        .ok();
    // The same names with another uid are another object.
    let mut other = all[3].clone();
    other["metadata"]["uid"] = json!("of-a-former-object");
    api.patch(&path(&all[0]), "merge", owners(&[&other]))
        .await
        .ok();
}

#[tokio::test]
async fn g11_an_edge_that_is_not_new_is_not_looked_at_again() {
    let api = Api::start().await;
    let all = made(&api, &["a", "b"]).await;
    api.patch(&path(&all[1]), "merge", owners(&[&all[0]]))
        .await
        .ok();
    let label = json!({"metadata": {"labels": {"x": "y"}}});
    api.patch(&path(&all[1]), "merge", label).await.ok();
    api.patch(
        &path(&all[1]),
        "merge",
        json!({"metadata": {"ownerReferences": null}}),
    )
    .await
    .ok();
    api.patch(&path(&all[0]), "merge", owners(&[&all[1]]))
        .await
        .ok();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g11_of_writes_that_close_a_cycle_together_one_is_refused() {
    let api = Api::start().await;
    for round in 0..50 {
        let names: Vec<String> = (0..3).map(|n| format!("r{round}-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let all = made(&api, &names).await;
        let write = |from: usize, to: usize| {
            let (api, path, body) = (api.clone(), path(&all[from]), owners(&[&all[to]]));
            tokio::spawn(async move { api.patch(&path, "merge", body).await.code })
        };
        let writes = [write(0, 1), write(1, 2), write(2, 0)];
        let mut codes = Vec::new();
        for write in writes {
            codes.push(write.await.unwrap());
        }
        codes.sort_unstable();
        assert_eq!(codes, [200, 200, 422], "round {round}");
    }
}

#[tokio::test]
async fn g11_a_cycle_is_found_by_uid_whatever_the_names_say() {
    let api = Api::start().await;
    let all = made(&api, &["a", "b"]).await;
    api.patch(&path(&all[1]), "merge", owners(&[&all[0]]))
        .await
        .ok();
    // The reference names what the owner was called before, or never was.
    let renamed = json!({"kind": "Rename", "name": "other"});
    api.post(&format!("{}/rename", path(&all[1])), renamed)
        .await
        .ok();
    for name in ["b", "never"] {
        let mut stale = all[1].clone();
        stale["metadata"]["name"] = json!(name);
        let answer = api.patch(&path(&all[0]), "merge", owners(&[&stale])).await;
        let (code, _, message) = answer.failed();
        assert_eq!(code, 422);
        let cycle = "ConfigMap default/a is owned by ConfigMap default/other is owned by ConfigMap default/a";
        assert!(message.contains(cycle), "{message}");
    }
    // Another object of that name closes none.
    let other = api.post(MAPS, map("b")).await.ok();
    api.patch(&path(&all[0]), "merge", owners(&[&other]))
        .await
        .ok();
}

#[tokio::test]
async fn g12b_a_uid_is_found_under_any_name_and_without_being_served_or_definitely_not() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    let made = api
        .post(WIDGETS, widget("a", json!({"size": 1})))
        .await
        .ok();
    let uid = made["metadata"]["uid"].as_str().unwrap();
    let lookup = format!("/apis/landform.dev/v1alpha1/uids/{uid}");
    let expect = async |served: bool, name: &str| {
        let found = api.get(&lookup).await.ok();
        let object = json!({"apiVersion": "example.com/v1", "kind": "Widget", "namespace": "default", "name": name});
        assert_eq!(
            (&found["exists"], &found["served"]),
            (&json!(true), &json!(served)),
            "{found}"
        );
        assert_eq!(found["object"], object);
    };
    expect(true, "a").await;
    let renamed = json!({"kind": "Rename", "name": "b"});
    api.post(&format!("{WIDGETS}/a/rename"), renamed).await.ok();
    expect(true, "b").await;
    let definition = format!("{DEFINITIONS}/widgets.example.com");
    let serve = |served: bool| json!([{"op": "replace", "path": "/spec/versions/0/served", "value": served}]);
    api.patch(&definition, "json", serve(false)).await.ok();
    assert_eq!(api.get(&format!("{WIDGETS}/b")).await.code, 404);
    expect(false, "b").await;
    // The history is cut: the index is made anew.
    landform_store::Store::compact(&*api.store, landform_store::Store::revision(&*api.store))
        .await
        .unwrap();
    expect(false, "b").await;
    api.patch(&definition, "json", serve(true)).await.ok();
    api.delete(&format!("{WIDGETS}/b?propagationPolicy=Background"))
        .await
        .ok();
    let found = api.get(&lookup).await.ok();
    assert_eq!(
        (&found["exists"], found.get("object")),
        (&json!(false), None)
    );
    let never = "/apis/landform.dev/v1alpha1/uids/never";
    assert_eq!(api.get(never).await.ok()["exists"], false);
    assert_eq!(api.get("/apis/landform.dev/v1alpha1/uids").await.code, 404);
}

#[tokio::test]
async fn g13_what_an_object_owns_is_found_whatever_serves_it_and_follows_its_owners_name() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    let owner = api.post(MAPS, map("owner")).await.ok();
    let uid = owner["metadata"]["uid"].as_str().unwrap();
    let mut inner = widget("inner", json!({"size": 1}));
    inner["metadata"]["ownerReferences"] = json!([reference(&owner)]);
    let inner = api.post(WIDGETS, inner).await.ok();
    // A value that happens to hold the uid owns nothing.
    let mut namesake = map("namesake");
    namesake["data"] = json!({"text": uid});
    api.post(MAPS, namesake).await.ok();
    let definition = format!("{DEFINITIONS}/widgets.example.com");
    let serve = |served: bool| json!([{"op": "replace", "path": "/spec/versions/0/served", "value": served}]);
    let kinds = "/apis/landform.dev/v1alpha1/customkinds";
    let shown = api.get(kinds).await.ok();
    assert_eq!(shown["items"][0]["served"], true, "{shown}");
    assert_eq!(shown["items"][0]["unserved"], json!([]), "{shown}");
    api.patch(&definition, "json", serve(false)).await.ok();
    let shown = api.get(kinds).await.ok();
    assert_eq!(shown["items"][0]["served"], false, "{shown}");
    let hidden = &shown["items"][0]["unserved"][0];
    assert_eq!(hidden["metadata"], inner["metadata"], "{shown}");
    assert_eq!(hidden.get("spec"), None, "{shown}");
    let dependents = api
        .get(&format!(
            "/apis/landform.dev/v1alpha1/uids/{uid}/dependents"
        ))
        .await
        .ok();
    let expected = json!([{
        "apiVersion": "example.com/v1", "kind": "Widget", "namespace": "default", "name": "inner",
        "uid": inner["metadata"]["uid"], "blocks": false,
    }]);
    assert_eq!(dependents["items"], expected);
    let renamed = json!({"kind": "Rename", "name": "renamed"});
    api.post(&format!("{MAPS}/owner/rename"), renamed)
        .await
        .ok();
    api.patch(&definition, "json", serve(true)).await.ok();
    let inner = api.get(&format!("{WIDGETS}/inner")).await.ok();
    assert_eq!(inner["metadata"]["ownerReferences"][0]["name"], "renamed");
}

#[tokio::test]
async fn an_owner_for_the_whole_cluster_needs_a_right_to_it() {
    let api = Api::start().await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let owner = json!({"metadata": {"name": "shared"}, "rules": []});
    let owner = api.post(&format!("{rbac}/clusterroles"), owner).await.ok();
    let bound = json!({"metadata": {"name": "jane"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]});
    let bindings = format!("{rbac}/namespaces/default/rolebindings");
    api.post(&bindings, bound).await.ok();
    let jane = api.by(Identity::new("jane", [AUTHENTICATED]));
    let reference = json!([{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "name": "shared", "uid": owner["metadata"]["uid"]}]);
    let mut held = map("held");
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    held["metadata"]["ownerReferences"] = reference.clone();
    let refused = jane.post(MAPS, held.clone()).await;
    let (code, _, message) = refused.failed();
    assert_eq!(code, 403);
    assert!(message.contains("\"clusterroles/finalizers\""), "{message}");
    jane.post(MAPS, map("free")).await.ok();
    let change = json!({"metadata": {"ownerReferences": reference}});
    let free = format!("{MAPS}/free");
    assert_eq!(jane.patch(&free, "merge", change.clone()).await.code, 403);

    // An owner in the namespace is the namespace's own affair, and who may update the owner may refer to it.
    let owner = jane.get(&free).await.ok();
    let mut owned = map("owned");
    owned["metadata"]["ownerReferences"] = json!([self::reference(&owner)]);
    jane.post(MAPS, owned).await.ok();
    api.patch(&free, "merge", change).await.ok();
    let more = json!({"data": {"b": "2"}});
    jane.patch(&free, "merge", more).await.ok();
    let role = json!({"metadata": {"name": "finish"}, "rules": [{"verbs": ["update"],
        "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles/finalizers"]}]});
    api.post(&format!("{rbac}/clusterroles"), role).await.ok();
    let bound = json!({"metadata": {"name": "jane"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "finish"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]});
    api.post(&format!("{rbac}/clusterrolebindings"), bound)
        .await
        .ok();
    jane.post(MAPS, held).await.ok();
}
