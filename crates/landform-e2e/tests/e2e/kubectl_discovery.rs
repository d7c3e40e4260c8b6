//! What kubectl learns about the server: kinds, versions, documentation.

use landform_e2e::Server;

use crate::assert_contains;

#[test]
fn api_resources_with_short_names() {
    let server = Server::start();
    let table = server.kubectl(&["api-resources", "--no-headers"]);
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let expected: [&[&str]; 9] = [
        &["configmaps", "cm", "v1", "true", "ConfigMap"],
        &["namespaces", "ns", "v1", "false", "Namespace"],
        &["secrets", "v1", "true", "Secret"],
        &["serviceaccounts", "sa", "v1", "true", "ServiceAccount"],
        &["deployments", "deploy", "apps/v1", "true", "Deployment"],
        &["leases", "coordination.k8s.io/v1", "true", "Lease"],
        &["roles", "rbac.authorization.k8s.io/v1", "true", "Role"],
        &[
            "clusterroles",
            "rbac.authorization.k8s.io/v1",
            "false",
            "ClusterRole",
        ],
        &[
            "customresourcedefinitions",
            "crd,crds",
            "apiextensions.k8s.io/v1",
            "false",
            "CustomResourceDefinition",
        ],
    ];
    for row in expected {
        assert!(
            rows.iter().any(|found| found == row),
            "{row:?} is missing in:\n{table}"
        );
    }
    let apps = server.kubectl(&["api-resources", "--api-group=apps", "-o", "name"]);
    assert_contains(
        &apps,
        &[
            "deployments.apps",
            "statefulsets.apps",
            "daemonsets.apps",
            "replicasets.apps",
        ],
    );
    let cluster = server.kubectl(&["api-resources", "--namespaced=false", "-o", "name"]);
    assert!(
        cluster.contains("namespaces") && !cluster.contains("configmaps"),
        "{cluster}"
    );
    let verbs = server.kubectl(&["api-resources", "--verbs=deletecollection", "-o", "name"]);
    assert_contains(&verbs, &["configmaps"]);
}

#[test]
fn api_versions() {
    let server = Server::start();
    let versions = server.kubectl(&["api-versions"]);
    let lines: Vec<&str> = versions.lines().collect();
    let expected = [
        "v1",
        "apps/v1",
        "batch/v1",
        "apiextensions.k8s.io/v1",
        "coordination.k8s.io/v1",
        "events.k8s.io/v1",
        "rbac.authorization.k8s.io/v1",
    ];
    for version in expected {
        assert!(
            lines.contains(&version),
            "{version} is missing in:\n{versions}"
        );
    }
}

#[test]
fn version_and_health() {
    let server = Server::start();
    let version = server.kubectl_json(&["version"])["serverVersion"].clone();
    assert_eq!(version["major"], "1");
    let minor = version["minor"]
        .as_str()
        .map(|minor| minor.trim_end_matches('+').parse::<u32>());
    assert!(
        minor.is_some_and(|minor| minor.is_ok_and(|minor| minor >= 34)),
        "{version}"
    );
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(server.kubectl(&["get", "--raw", path]), "ok", "for {path}");
    }
    assert_contains(
        &server.kubectl(&["cluster-info"]),
        &["is running at", server.url()],
    );
}

#[test]
fn explain_built_in_kinds() {
    let server = Server::start();
    let text = server.kubectl(&["explain", "deployment"]);
    assert_contains(
        &text,
        &[
            "Deployment",
            "DESCRIPTION:",
            "apiVersion",
            "metadata",
            "spec",
        ],
    );
    let text = server.kubectl(&["explain", "deployment.spec.replicas"]);
    assert_contains(&text, &["replicas", "<integer>"]);
    let text = server.kubectl(&["explain", "deployment.spec.template.spec.containers.env"]);
    assert_contains(&text, &["name", "value", "valueFrom"]);
    let text = server.kubectl(&["explain", "configmap", "--recursive"]);
    assert_contains(&text, &["binaryData", "immutable", "ownerReferences"]);
    let said = server.kubectl_fails(&["explain", "deployment.spec.nothing"]);
    assert_contains(&said, &["field \"nothing\" does not exist"]);
}

#[test]
fn the_openapi_documents_are_there_in_both_versions() {
    let server = Server::start();
    let document: serde_json::Value =
        serde_json::from_str(&server.kubectl(&["get", "--raw", "/openapi/v2"])).unwrap();
    assert_eq!(document["swagger"], "2.0");
    assert!(document["definitions"]["io.k8s.api.apps.v1.Deployment"].is_object());
    let index: serde_json::Value =
        serde_json::from_str(&server.kubectl(&["get", "--raw", "/openapi/v3"])).unwrap();
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap();
    let document: serde_json::Value =
        serde_json::from_str(&server.kubectl(&["get", "--raw", url])).unwrap();
    assert!(
        document["openapi"]
            .as_str()
            .is_some_and(|version| version.starts_with("3."))
    );
    assert!(
        document["paths"]
            .as_object()
            .is_some_and(|paths| !paths.is_empty())
    );
}
