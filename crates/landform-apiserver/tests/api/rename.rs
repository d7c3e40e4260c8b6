//! Renames: one transaction moves an object to another name, and it stays the object that it is (R15).

use landform_apiserver::{AUTHENTICATED, Identity};
use serde_json::{Value, json};

use crate::harness::{Api, DEFINITIONS, MAPS, WIDGETS, map, widget, widgets};

fn rename(to: &str) -> Value {
    json!({"apiVersion": "landform.dev/v1alpha1", "kind": "Rename", "name": to})
}

fn owned_by(name: &str, owner: &Value) -> Value {
    let mut object = map(name);
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "example.com/v1", "kind": "Widget", "controller": true,
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
    }]);
    object
}

async fn with_widgets() -> Api {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    api
}

#[tokio::test]
async fn r15_a_renamed_object_keeps_uid_status_and_what_it_owns() {
    let api = with_widgets().await;
    let made = api
        .post(WIDGETS, widget("old", json!({"size": 1})))
        .await
        .ok();
    let status = json!({"status": {"phase": "Ready"}});
    let at = format!("{WIDGETS}/old");
    api.patch(&format!("{at}/status"), "merge", status)
        .await
        .ok();
    api.post(MAPS, owned_by("owned", &made)).await.ok();
    let mut events = api.watch(&format!("{WIDGETS}?watch=true")).await;
    events.next().await;
    let moved = api.post(&format!("{at}/rename"), rename("new")).await.ok();

    assert_eq!(moved["metadata"]["name"], "new");
    assert_eq!(moved["metadata"]["uid"], made["metadata"]["uid"]);
    assert_eq!(
        moved["metadata"]["creationTimestamp"],
        made["metadata"]["creationTimestamp"]
    );
    assert_eq!(
        moved["metadata"]["generation"],
        made["metadata"]["generation"]
    );
    assert_eq!(moved["status"], json!({"phase": "Ready"}));
    let former = &moved["metadata"]["annotations"]["landform.dev/renamed-from"];
    assert_eq!(former, "old");
    let note = &moved["metadata"]["annotations"]["landform.dev/former-name"];
    let uid = made["metadata"]["uid"].as_str().unwrap();
    assert_eq!(*note, format!("{uid}/old"));
    assert_eq!(api.get(&at).await.code, 404);
    assert_eq!(api.get(&format!("{WIDGETS}/new")).await.ok(), moved);
    let owned = api.get(&format!("{MAPS}/owned")).await.ok();
    let reference = &owned["metadata"]["ownerReferences"][0];
    assert_eq!(reference["name"], "new");
    assert_eq!(reference["uid"], made["metadata"]["uid"]);

    // The former name goes first, and says where to.
    let (type_, leaving) = events.next().await.unwrap();
    assert_eq!(type_, "MODIFIED");
    let (type_, old) = events.next().await.unwrap();
    assert_eq!(
        (type_.as_str(), &old["metadata"]["name"]),
        ("DELETED", &json!("old"))
    );
    for object in [&leaving, &old] {
        let to = &object["metadata"]["annotations"]["landform.dev/renamed-to"];
        assert_eq!(to, "new");
    }
    let (type_, new) = events.next().await.unwrap();
    assert_eq!((type_.as_str(), &new), ("ADDED", &moved));
}

#[tokio::test]
async fn c5_r15_a_watch_that_is_resumed_after_any_event_of_a_rename_misses_nothing() {
    let api = with_widgets().await;
    let owner = api
        .post(WIDGETS, widget("old", json!({"size": 1})))
        .await
        .ok();
    for name in ["one", "two"] {
        let mut owned = widget(name, json!({"size": 1}));
        owned["metadata"]["ownerReferences"] =
            owned_by("x", &owner)["metadata"]["ownerReferences"].clone();
        api.post(WIDGETS, owned).await.ok();
    }
    let before = landform_store::Store::revision(&*api.store);
    let path = format!("{WIDGETS}/old/rename");
    api.post(&path, rename("new")).await.ok();
    let events = async |after: &str| {
        let url = format!("{WIDGETS}?resourceVersion={after}&timeoutSeconds=1");
        let mut watch = api.watch(&url).await;
        let mut events = Vec::new();
        while events
            .last()
            .is_none_or(|(_, object): &(String, Value)| object["metadata"]["name"] != "two")
        {
            events.push(watch.next().await.unwrap());
        }
        events
    };
    let whole = events(&before.to_string()).await;
    let names: Vec<String> = whole
        .iter()
        .map(|(type_, object)| format!("{type_} {}", object["metadata"]["name"].as_str().unwrap()))
        .collect();
    assert_eq!(
        names,
        [
            "MODIFIED old",
            "DELETED old",
            "ADDED new",
            "MODIFIED one",
            "MODIFIED two"
        ]
    );
    for seen in 1..whole.len() {
        let last = whole[seen - 1].1["metadata"]["resourceVersion"]
            .as_str()
            .unwrap();
        assert_eq!(events(last).await, whole[seen..], "after {seen} events");
    }
    // Only a rename says so.
    let forged = json!({"metadata": {"annotations": {"landform.dev/renamed-to": "x", "a": "b"}}});
    let patched = api
        .patch(&format!("{WIDGETS}/new"), "merge", forged)
        .await
        .ok();
    let annotations = &patched["metadata"]["annotations"];
    assert_eq!(
        (
            &annotations["a"],
            annotations.get("landform.dev/renamed-to")
        ),
        (&json!("b"), None)
    );
}

#[tokio::test]
async fn r15_a_living_name_is_not_taken() {
    let api = with_widgets().await;
    for name in ["a", "b"] {
        api.post(WIDGETS, widget(name, json!({"size": 1})))
            .await
            .ok();
    }
    let before = api.get(WIDGETS).await.ok()["items"].clone();
    let answer = api.post(&format!("{WIDGETS}/a/rename"), rename("b")).await;
    assert_eq!(answer.failed().0, 409);
    assert_eq!(answer.failed().1, "AlreadyExists");
    let dry = api
        .post(&format!("{WIDGETS}/a/rename?dryRun=All"), rename("b"))
        .await;
    assert_eq!(dry.failed().1, "AlreadyExists");
    api.post(&format!("{WIDGETS}/a/rename?dryRun=All"), rename("c"))
        .await
        .ok();
    assert_eq!(api.get(WIDGETS).await.ok()["items"], before);
}

#[tokio::test]
async fn r15_what_can_not_be_renamed_is_refused_and_stays() {
    let api = with_widgets().await;
    api.post(MAPS, map("a")).await.ok();
    let at = format!("{MAPS}/a/rename");
    let absent = api
        .post(&format!("{MAPS}/absent/rename"), rename("x"))
        .await;
    assert_eq!(absent.failed().0, 404);
    assert_eq!(api.post(&at, rename("Not A Name")).await.failed().0, 422);
    assert_eq!(api.post(&at, json!({"to": "b"})).await.failed().0, 400);
    assert_eq!(
        api.post(&at, json!({"kind": "Scale", "name": "b"}))
            .await
            .failed()
            .0,
        400
    );
    let other = json!({"name": "b", "uid": "of-another-one"});
    assert_eq!(api.post(&at, other).await.failed().0, 409);
    assert_eq!(api.get(&at).await.failed().0, 405);
    let definition = format!("{DEFINITIONS}/widgets.example.com/rename");
    assert_eq!(api.post(&definition, rename("x.y")).await.failed().0, 405);
    let namespace = "/api/v1/namespaces/default/rename";
    assert_eq!(api.post(namespace, rename("x")).await.failed().0, 405);
    assert_eq!(api.get(&format!("{MAPS}/a")).await.code, 200);

    let held = json!({"metadata": {"finalizers": ["a.b/c"]}});
    api.patch(&format!("{MAPS}/a"), "merge", held).await.ok();
    api.delete(&format!("{MAPS}/a?propagationPolicy=Background"))
        .await
        .ok();
    let going = api.post(&at, rename("b")).await;
    assert!(
        going.failed().2.contains("being deleted"),
        "{}",
        going.value
    );
}

#[tokio::test]
async fn r15_a_reconciler_that_was_not_told_of_a_rename_is_told_the_first_name() {
    let api = Api::start().await;
    api.post(MAPS, map("a")).await.ok();
    let go = |from: &str, to: &str| {
        let path = format!("{MAPS}/{from}/rename");
        let body = rename(to);
        let api = &api;
        async move { api.post(&path, body).await.ok() }
    };
    let former =
        |object: &Value| object["metadata"]["annotations"]["landform.dev/renamed-from"].clone();
    assert_eq!(former(&go("a", "b").await), "a");
    assert_eq!(former(&go("b", "c").await), "a");
    // Back to a name that half of the first rename may have left behind: the last one is told.
    assert_eq!(former(&go("c", "a").await), "c");
    let same = api
        .post(&format!("{MAPS}/a/rename"), rename("a"))
        .await
        .ok();
    assert_eq!(former(&same), "c");
}

/// The name by which a config map refers to its owner.
fn owner_name(object: &Value) -> Value {
    object["metadata"]["ownerReferences"][0]["name"].clone()
}

#[tokio::test]
async fn r15_a_reference_to_an_owner_has_its_present_name_whatever_name_a_client_sends() {
    let api = with_widgets().await;
    let owner = api
        .post(WIDGETS, widget("old", json!({"size": 1})))
        .await
        .ok();
    api.post(MAPS, map("adopted")).await.ok();
    api.post(MAPS, owned_by("changed", &owner)).await.ok();
    let path = format!("{WIDGETS}/old/rename");
    api.post(&path, rename("new")).await.ok();
    // Another object has the former name by now.
    let namesake = api
        .post(WIDGETS, widget("old", json!({"size": 2})))
        .await
        .ok();
    let former = owned_by("child", &owner);
    let created = api.post(MAPS, former.clone()).await.ok();
    assert_eq!(owner_name(&created), "new");
    let patch = json!({"metadata": {"ownerReferences": former["metadata"]["ownerReferences"]}});
    for name in ["adopted", "changed"] {
        let path = format!("{MAPS}/{name}");
        let patched = api.patch(&path, "merge", patch.clone()).await.ok();
        assert_eq!(owner_name(&patched), "new", "{name}");
    }
    // What has that name is referred to by its own uid, and what isn't there stays as it was sent.
    let other = api.post(MAPS, owned_by("other", &namesake)).await.ok();
    assert_eq!(owner_name(&other), "old");
    let mut absent = owned_by("orphan", &owner);
    absent["metadata"]["ownerReferences"][0]["uid"] = json!("of-none");
    assert_eq!(owner_name(&api.post(MAPS, absent).await.ok()), "old");
    // An owner in another namespace can't be meant.
    let elsewhere = "/api/v1/namespaces/kube-system/configmaps";
    let mut far = owned_by("far", &owner);
    far["metadata"]["namespace"] = json!("kube-system");
    assert_eq!(owner_name(&api.post(elsewhere, far).await.ok()), "old");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r15_children_that_are_made_while_their_owner_is_renamed_know_its_name() {
    const ROUNDS: usize = 60;
    let api = with_widgets().await;
    let owner = api
        .post(WIDGETS, widget("w0", json!({"size": 1})))
        .await
        .ok();
    let makers = (0..3).map(|maker| {
        let (api, owner) = (api.clone(), owner.clone());
        tokio::spawn(async move {
            for turn in 0..ROUNDS {
                let child = owned_by(&format!("child-{maker}-{turn}"), &owner);
                api.post(MAPS, child).await.ok();
            }
        })
    });
    let makers: Vec<_> = makers.collect();
    for turn in 0..ROUNDS {
        let path = format!("{WIDGETS}/w{turn}/rename");
        api.post(&path, rename(&format!("w{}", turn + 1)))
            .await
            .ok();
    }
    for maker in makers {
        maker.await.unwrap();
    }
    let children = api.get(MAPS).await.ok();
    for child in children["items"].as_array().unwrap() {
        let name = child["metadata"]["name"].as_str().unwrap();
        if name.starts_with("child-") {
            assert_eq!(owner_name(child), format!("w{ROUNDS}"), "{name}");
        }
    }
}

#[tokio::test]
async fn c6_a_rename_takes_the_rights_to_read_to_delete_and_to_create() {
    let api = Api::start().await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let secrets = "/api/v1/namespaces/default/secrets";
    let rule = |verb: &str, resource: &str, names: &[&str]| json!({"verbs": [verb], "apiGroups": [""], "resources": [resource], "resourceNames": names});
    let rows = [
        ("none", vec![], "cannot get"),
        ("get", vec![rule("get", "secrets", &[])], "cannot delete"),
        (
            "delete",
            vec![
                rule("get", "secrets", &[]),
                rule("delete", "secrets", &["mine"]),
                rule("create", "secrets", &[]),
            ],
            "cannot delete",
        ),
        (
            "create",
            vec![
                rule("get", "secrets", &[]),
                rule("delete", "secrets", &["top"]),
                rule("create", "secrets", &["other"]),
            ],
            "cannot create",
        ),
        (
            "all",
            vec![
                rule("get", "secrets", &["top"]),
                rule("delete", "secrets", &["top"]),
                rule("create", "secrets", &["mine"]),
            ],
            "",
        ),
    ];
    let secret = json!({"metadata": {"name": "top"}, "stringData": {"key": "canary"}});
    api.post(secrets, secret).await.ok();
    for (user, mut rules, refused) in rows {
        rules.push(rule("create", "secrets/rename", &[]));
        let role = json!({"metadata": {"name": user}, "rules": rules});
        api.post(&format!("{rbac}/roles"), role).await.ok();
        let binding = json!({
            "metadata": {"name": user},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        });
        api.post(&format!("{rbac}/rolebindings"), binding)
            .await
            .ok();
        let caller = api.by(Identity::new(user, [AUTHENTICATED]));
        for query in ["?dryRun=All", ""] {
            // What isn't there gets the same answer.
            for name in ["top", "absent"] {
                let path = format!("{secrets}/{name}/rename{query}");
                let answer = caller.post(&path, rename("mine")).await;
                if refused.is_empty() && name == "top" {
                    assert_eq!(answer.ok()["metadata"]["name"], "mine");
                    continue;
                }
                let (code, _, message) = answer.failed();
                assert_eq!(code, 403, "{user} {path}");
                let refused = if name == "top" { refused } else { "cannot" };
                assert!(message.contains(refused), "{user}: {message}");
            }
        }
    }
}
