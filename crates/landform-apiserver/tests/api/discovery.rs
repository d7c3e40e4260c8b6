//! Discovery and OpenAPI: what clients read before they do anything.

use http::Method;
use serde_json::{Value, json};

use crate::harness::{Api, DEFINITIONS, widgets};

#[tokio::test]
async fn groups_versions_and_resources_are_listed() {
    let api = Api::start().await;
    assert_eq!(api.get("/api").await.ok()["versions"], json!(["v1"]));
    let groups = api.get("/apis").await.ok();
    let apps = groups["groups"]
        .as_array()
        .unwrap()
        .iter()
        .find(|group| group["name"] == "apps")
        .unwrap();
    assert_eq!(apps["preferredVersion"]["groupVersion"], "apps/v1");
    assert_eq!(api.get("/apis/apps").await.ok()["kind"], "APIGroup");
    let resources = api.get("/api/v1").await.ok();
    let find = |name: &str| {
        resources["resources"]
            .as_array()
            .unwrap()
            .iter()
            .find(|r| r["name"] == name)
            .cloned()
    };
    assert_eq!(find("configmaps").unwrap()["shortNames"], json!(["cm"]));
    assert_eq!(
        find("namespaces/finalize").unwrap()["verbs"],
        json!(["update"])
    );
    let apps = api.get("/apis/apps/v1").await.ok();
    let scale = apps["resources"]
        .as_array()
        .unwrap()
        .iter()
        .find(|r| r["name"] == "deployments/scale")
        .unwrap();
    assert_eq!(
        (&scale["group"], &scale["kind"]),
        (&json!("autoscaling"), &json!("Scale"))
    );
    assert_eq!(api.get("/apis/nope").await.code, 404);
    assert_eq!(api.get("/apis/apps/v9").await.code, 404);
}

#[tokio::test]
async fn aggregated_discovery_has_everything_at_once() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    let accept =
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let answer = api
        .send(Method::GET, "/apis", &[("accept", accept)], "")
        .await;
    assert!(
        answer.headers["content-type"]
            .to_str()
            .unwrap()
            .contains("as=APIGroupDiscoveryList")
    );
    let list = answer.ok();
    let group = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|g| g["metadata"]["name"] == "example.com")
        .unwrap();
    let resource = &group["versions"][0]["resources"][0];
    assert_eq!(
        (&resource["resource"], &resource["scope"]),
        (&json!("widgets"), &json!("Namespaced"))
    );
    let parts: Vec<&Value> = resource["subresources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| &s["subresource"])
        .collect();
    assert_eq!(parts, ["scale", "status"]);
}

#[tokio::test]
async fn openapi_describes_built_in_and_custom_kinds_and_follows_changes() {
    let api = Api::start().await;
    let before = api.get("/openapi/v3").await.ok();
    assert!(before["paths"].get("apis/example.com/v1").is_none());
    api.post(DEFINITIONS, widgets()).await.ok();
    let index = api.get("/openapi/v3").await.ok();
    let address = index["paths"]["apis/example.com/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap();
    let document = api.get(address).await;
    assert_eq!(document.headers["cache-control"], "public, immutable");
    let document = document.ok();
    let kind = &document["components"]["schemas"]["com.example.v1.Widget"];
    assert_eq!(
        kind["properties"]["spec"]["properties"]["size"]["maximum"],
        10
    );
    assert_eq!(kind["x-kubernetes-group-version-kind"][0]["kind"], "Widget");
    let path = "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}";
    let parameters = document["paths"][path]["patch"]["parameters"]
        .as_array()
        .unwrap();
    assert!(parameters.iter().any(|p| p["name"] == "fieldValidation"));
    let v2 = api.get("/openapi/v2").await.ok();
    assert!(
        v2["definitions"]
            .get("io.k8s.api.apps.v1.Deployment")
            .is_some()
    );
    assert!(v2["definitions"].get("com.example.v1.Widget").is_some());
    let accept = [(
        "accept",
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    )];
    let protobuf = api.send(Method::GET, "/openapi/v2", &accept, "").await;
    assert_eq!(
        protobuf.headers["content-type"],
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    );
    assert!(
        protobuf
            .bytes
            .windows(20)
            .any(|w| w == b"com.example.v1.Widge")
    );
}

#[tokio::test]
async fn every_reference_in_openapi_leads_somewhere() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    let index = api.get("/openapi/v3").await.ok();
    for (path, entry) in index["paths"].as_object().unwrap() {
        let document = api
            .get(entry["serverRelativeURL"].as_str().unwrap())
            .await
            .ok();
        let mut references = Vec::new();
        collect(&document, &mut references);
        assert!(!references.is_empty(), "{path}");
        for reference in references {
            let pointer = reference.trim_start_matches('#');
            assert!(document.pointer(pointer).is_some(), "{path}: {reference}");
        }
    }
    let v2 = api.get("/openapi/v2").await.ok();
    let mut references = Vec::new();
    collect(&v2, &mut references);
    for reference in references {
        assert!(
            v2.pointer(reference.trim_start_matches('#')).is_some(),
            "v2: {reference}"
        );
    }
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if key == "$ref" => found.push(text.clone()),
                    other => collect(other, found),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn version_health_metrics_and_index() {
    let api = Api::start().await;
    assert_eq!(api.get("/version").await.ok()["minor"], "34");
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(&api.get(path).await.bytes[..], b"ok", "{path}");
    }
    assert_eq!(
        &api.get("/readyz?verbose").await.bytes[..],
        b"[+]ping ok\n[+]disk ok\n[+]store-quota ok\nreadyz check passed\n"
    );
    for path in [
        "/healthz/ping",
        "/livez/ping/",
        "/readyz/disk",
        "/readyz/store-quota",
    ] {
        assert_eq!(&api.get(path).await.bytes[..], b"ok", "{path}");
    }
    for path in [
        "/healthz/anything",
        "/healthz/disk",
        "/livez/ping/ping",
        "/readyz/..",
        "/readyz/api/v1/secrets",
    ] {
        assert_eq!(api.get(path).await.failed().0, 404, "{path}");
    }
    let metrics = String::from_utf8(api.get("/metrics").await.bytes.to_vec()).unwrap();
    assert!(metrics.contains("apiserver_request_total{"), "{metrics}");
    assert!(metrics.contains("landform_store_revision "), "{metrics}");
    let paths = api.get("/").await.ok();
    assert!(
        paths["paths"]
            .as_array()
            .unwrap()
            .contains(&json!("/apis/apps/v1"))
    );
    assert_eq!(api.get("/favicon.ico").await.failed().0, 404);
    assert_eq!(api.post("/version", json!({})).await.failed().0, 405);
}

#[tokio::test]
async fn reviews_answer_what_the_caller_may_do() {
    let api = Api::start().await;
    let review = api
        .post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            json!({"spec": {"resourceAttributes": {"verb": "get"}}}),
        )
        .await
        .ok();
    assert_eq!(review["status"]["allowed"], true);
    let who = api
        .post(
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            json!({}),
        )
        .await
        .ok();
    assert_eq!(who["status"]["userInfo"]["username"], "system:landform");
    let other = json!({"spec": {"user": "eve", "resourceAttributes": {"verb": "get"}}});
    let review = api
        .post("/apis/authorization.k8s.io/v1/subjectaccessreviews", other)
        .await
        .ok();
    assert_eq!(review["status"]["allowed"], false);
    assert_eq!(
        api.get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
            .await
            .failed()
            .0,
        405
    );
}

#[tokio::test]
async fn what_rules_name_besides_kinds_is_found_and_hides_no_kind() {
    let api = Api::start().await;
    let list = "/apis/landform.dev/v1alpha1";
    assert_eq!(api.get(list).await.code, 404, "there is no such group yet");
    let mut own = widgets();
    own["metadata"]["name"] = json!("widgets.landform.dev");
    own["spec"]["group"] = json!("landform.dev");
    own["spec"]["versions"][0]["name"] = json!("v1alpha1");
    api.post(DEFINITIONS, own).await.ok();
    api.get(list).await.ok();
    for name in ["echo", "configmaps"] {
        api.server
            .mount(name, std::sync::Arc::new(crate::views::Echo));
    }
    let resources = api.get(list).await.ok();
    let find = |name: &str| {
        let found = resources["resources"].as_array().unwrap().iter();
        found.clone().find(|found| found["name"] == name).cloned()
    };
    assert_eq!(
        find("processes").unwrap(),
        json!({"name": "processes", "singularName": "process", "namespaced": true,
               "kind": "ProcessView", "verbs": ["run"]})
    );
    assert_eq!(find("echo").unwrap()["verbs"], json!(["get"]));
    assert_eq!(
        find("configmaps"),
        None,
        "kubectl would take it for the kind"
    );
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let accept = [("accept", accept)];
    let all = api.send(Method::GET, "/apis", &accept, "").await.ok();
    let items = all["items"].as_array().unwrap().iter();
    let groups = items.filter(|group| group["metadata"]["name"] == "landform.dev");
    let found: Vec<Value> = groups
        .flat_map(|group| group["versions"][0]["resources"].as_array().unwrap())
        .filter(|found| found["resource"] == "processes")
        .cloned()
        .collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["verbs"], json!(["run"]));
    assert_eq!(found[0]["scope"], "Namespaced");
}
