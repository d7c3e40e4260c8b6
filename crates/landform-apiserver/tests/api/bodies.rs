//! Bodies: JSON and YAML, field validation, events in two groups, secrets.

use http::Method;
use serde_json::json;

use crate::harness::{Api, DEFINITIONS, MAPS, WIDGETS, map, widget, widgets};

#[tokio::test]
async fn yaml_is_read_and_aliases_are_refused() {
    let api = Api::start().await;
    let yaml = [("content-type", "application/yaml")];
    let text = "metadata:\n  name: a\ndata:\n  b: 'yes'\n";
    let made = api.send(Method::POST, MAPS, &yaml, text).await.ok();
    assert_eq!(made["data"]["b"], "yes");
    let bomb = "metadata: {name: b}\ndata: &x {a: b}\nbinaryData: *x\n";
    let answer = api.send(Method::POST, MAPS, &yaml, bomb).await;
    let (code, _, message) = answer.failed();
    assert_eq!(code, 400);
    assert!(message.contains("line 2"), "{message}");
}

#[tokio::test]
async fn letters_of_media_types_may_be_large_or_small() {
    let api = Api::start().await;
    let headers = [
        ("content-type", "APPLICATION/JSON; Charset=UTF-8"),
        ("accept", "Application/YAML"),
    ];
    let body = json!({"metadata": {"name": "a"}, "data": {"b": "c"}}).to_string();
    let made = api.send(Method::POST, MAPS, &headers, body).await;
    assert_eq!(made.code, 201);
    assert_eq!(made.headers["content-type"], "application/yaml");
    let one = format!("{MAPS}/a");
    let patch = [("content-type", "Application/Merge-Patch+JSON")];
    let patched = api.send(Method::PATCH, &one, &patch, r#"{"data":{"b":"d"}}"#);
    assert_eq!(patched.await.ok()["data"]["b"], "d");
    let table = [("accept", "Application/Json; As=Table; V=v1; G=meta.k8s.io")];
    let table = api.send(Method::GET, MAPS, &table, "").await.ok();
    assert_eq!(table["kind"], "Table");
}

#[tokio::test]
async fn unknown_fields_are_ignored_warned_of_or_refused() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    let odd = || widget("a", json!({"size": 1, "colour": "red"}));
    let strict = api
        .post(&format!("{WIDGETS}?fieldValidation=Strict"), odd())
        .await;
    let (code, _, message) = strict.failed();
    assert_eq!(code, 400);
    assert!(
        message.contains("unknown field \"spec.colour\""),
        "{message}"
    );
    let warned = api.post(WIDGETS, odd()).await;
    let warning = warned.headers["warning"].to_str().unwrap();
    assert_eq!(warning, "299 - \"unknown field \\\"spec.colour\\\"\"");
    assert!(
        warned.ok()["spec"].get("colour").is_none(),
        "what the schema doesn't know is dropped"
    );
    let ignored = api
        .post(
            &format!("{WIDGETS}?fieldValidation=Ignore"),
            widget("b", json!({"size": 1, "x": 1})),
        )
        .await;
    assert!(ignored.headers.get("warning").is_none());
    let built_in = json!({"metadata": {"name": "c"}, "dato": {}});
    assert_eq!(
        api.post(&format!("{MAPS}?fieldValidation=Strict"), built_in)
            .await
            .failed()
            .0,
        400
    );
}

#[tokio::test]
async fn duplicate_fields_are_noticed() {
    let api = Api::start().await;
    let text = r#"{"metadata":{"name":"a"},"data":{"x":"1","x":"2"}}"#;
    let json = [("content-type", "application/json")];
    let strict = api
        .send(
            Method::POST,
            &format!("{MAPS}?fieldValidation=Strict"),
            &json,
            text,
        )
        .await;
    assert!(
        strict.failed().2.contains("duplicate field \"data.x\""),
        "{:?}",
        strict.failed()
    );
    let warned = api.send(Method::POST, MAPS, &json, text).await;
    assert!(
        warned.headers["warning"]
            .to_str()
            .unwrap()
            .contains("duplicate field")
    );
    assert_eq!(warned.ok()["data"]["x"], "2");
}

#[tokio::test]
async fn the_kind_in_the_body_must_be_that_of_the_path() {
    let api = Api::start().await;
    let mut object = map("a");
    object["kind"] = json!("Secret");
    assert!(
        api.post(MAPS, object)
            .await
            .failed()
            .2
            .contains("(Secret) does not match")
    );
    let mut object = map("a");
    object["metadata"]["namespace"] = json!("other");
    assert_eq!(api.post(MAPS, object).await.failed().0, 400);
    assert_eq!(
        api.send(Method::POST, MAPS, &[], "[1]").await.failed().0,
        400
    );
    assert_eq!(api.send(Method::POST, MAPS, &[], "").await.failed().0, 400);
}

#[tokio::test]
async fn an_event_is_the_same_object_in_both_groups() {
    let api = Api::start().await;
    let new = json!({
        "metadata": {"name": "e1"}, "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal",
        "reason": "Tested", "action": "Test", "note": "it works", "reportingController": "x.io/test",
        "reportingInstance": "test-1",
        "regarding": {"kind": "ConfigMap", "namespace": "default", "name": "a"},
    });
    let made = api
        .post("/apis/events.k8s.io/v1/namespaces/default/events", new)
        .await
        .ok();
    assert_eq!(
        (&made["apiVersion"], &made["note"]),
        (&json!("events.k8s.io/v1"), &json!("it works"))
    );
    let core = api.get("/api/v1/namespaces/default/events/e1").await.ok();
    assert_eq!(
        (&core["apiVersion"], &core["message"]),
        (&json!("v1"), &json!("it works"))
    );
    assert_eq!(core["involvedObject"]["name"], "a");
    assert_eq!(core["metadata"]["uid"], made["metadata"]["uid"]);
    let selected = api
        .get("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3Da")
        .await
        .ok();
    assert_eq!(selected["items"].as_array().unwrap().len(), 1);
    let listed = api.get("/apis/events.k8s.io/v1/events").await.ok();
    assert_eq!(listed["items"][0]["regarding"]["name"], "a");
    let patched = api
        .patch(
            "/apis/events.k8s.io/v1/namespaces/default/events/e1",
            "merge",
            json!({"note": "again"}),
        )
        .await
        .ok();
    assert_eq!(patched["note"], "again");
}

#[tokio::test]
async fn a_secret_takes_plain_text_and_keeps_it_encoded() {
    let api = Api::start().await;
    let path = "/api/v1/namespaces/default/secrets";
    let made = api
        .post(
            path,
            json!({"metadata": {"name": "s"}, "stringData": {"a": "hi"}}),
        )
        .await
        .ok();
    assert_eq!(
        (&made["data"], &made["type"]),
        (&json!({"a": "aGk="}), &json!("Opaque"))
    );
    assert!(made.get("stringData").is_none());
    let broken = json!({"metadata": {"name": "t"}, "data": {"a": "not base64!"}});
    assert_eq!(api.post(path, broken).await.failed().0, 422);
}

#[tokio::test]
async fn built_in_kinds_are_checked_and_defaulted() {
    let api = Api::start().await;
    let path = "/apis/apps/v1/namespaces/default/deployments";
    let answer = api
        .post(
            path,
            json!({"metadata": {"name": "d"}, "spec": {"replicas": "x"}}),
        )
        .await;
    let (code, _, message) = answer.failed();
    assert_eq!(code, 422);
    for part in ["spec.selector", "spec.template", "spec.replicas"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let fine = json!({"metadata": {"name": "d"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }});
    let made = api.post(path, fine).await.ok();
    assert_eq!(made["spec"]["replicas"], 1);
    assert_eq!(made["spec"]["strategy"]["type"], "RollingUpdate");
    assert_eq!(made["spec"]["template"]["spec"]["restartPolicy"], "Always");
    assert_eq!(
        made["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"],
        "Always"
    );
}

/// Browsers send some forms of bodies to other origins without asking: none of these is read, on any path.
#[tokio::test]
async fn a_form_that_browsers_send_anywhere_is_refused_wherever_something_is_posted() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    api.post(WIDGETS, widget("a", json!({"size": 1})))
        .await
        .ok();
    api.server
        .mount("echo", std::sync::Arc::new(crate::views::Echo));
    let mut paths = vec![
        format!("{WIDGETS}/a/rename"),
        "/apis/landform.dev/v1alpha1/echo/a".to_owned(),
        "/apis/landform.dev/v1alpha1/echo".to_owned(),
        "/api/v1/namespaces/default/serviceaccounts/default/token".to_owned(),
    ];
    let groups = api.get("/apis").await.ok();
    let groups = groups["groups"].as_array().unwrap().iter();
    let versions = groups.flat_map(|group| group["versions"].as_array().unwrap().iter());
    let versions =
        versions.map(|version| format!("/apis/{}", version["groupVersion"].as_str().unwrap()));
    for prefix in std::iter::once("/api/v1".to_owned()).chain(versions) {
        let list = api.get(&prefix).await.ok();
        for resource in list["resources"].as_array().unwrap() {
            let creates = resource["verbs"]
                .as_array()
                .unwrap()
                .contains(&json!("create"));
            let name = resource["name"].as_str().unwrap();
            if !creates || name.contains('/') {
                continue;
            }
            paths.push(match resource["namespaced"].as_bool() {
                Some(true) => format!("{prefix}/namespaces/default/{name}"),
                _ => format!("{prefix}/{name}"),
            });
        }
    }
    assert!(paths.len() > 20, "{paths:?}");
    for path in paths {
        for form in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
        ] {
            let headers = [("content-type", form)];
            let answer = api.send(Method::POST, &path, &headers, "{}").await;
            let (code, reason, _) = answer.failed();
            assert_eq!(
                (code, reason),
                (415, "UnsupportedMediaType"),
                "{path} {form}"
            );
        }
    }
}

#[tokio::test]
async fn a_refusal_names_the_label_and_the_encoding_and_of_a_secret_no_value() {
    let api = Api::start().await;
    let paths = [MAPS, "/api/v1/namespaces/default/secrets"];
    for path in paths {
        let labelled =
            json!({"metadata": {"name": "a", "labels": {"team": "-canary-", "b c": "d"}}});
        let answer = api.post(path, labelled).await;
        let (code, _, message) = answer.failed();
        assert_eq!(code, 422);
        for part in [
            "metadata.labels[team]",
            "metadata.labels[b c]",
            "a label's value is empty",
        ] {
            assert!(message.contains(part), "{part}: {message}");
        }
        let shown = message.contains("canary");
        assert_eq!(shown, path == MAPS, "{message}");
    }
    let plain = json!({"metadata": {"name": "a"}, "data": {"k": "not base64!"}});
    let answer = api.post(paths[1], plain).await;
    let (_, _, message) = answer.failed();
    assert!(
        message.contains("data[k] in body must be of type byte (base64)"),
        "{message}"
    );
    assert!(!message.contains("not base64!"), "{message}");
}
