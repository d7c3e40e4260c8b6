//! `kubectl create` with its generators.

use landform_e2e::Server;
use serde_json::{Value, json};

use crate::{assert_contains, config_map};

#[test]
fn generators_of_all_kinds() {
    let server = Server::start();
    let table: [(&[&str], &str); 11] = [
        (&["namespace", "team"], "namespace/team created"),
        (
            &["configmap", "c", "--from-literal=a=1"],
            "configmap/c created",
        ),
        (
            &["secret", "generic", "s", "--from-literal=p=x"],
            "secret/s created",
        ),
        (&["serviceaccount", "robot"], "serviceaccount/robot created"),
        (
            &["deployment", "d", "--image=nginx"],
            "deployment.apps/d created",
        ),
        (
            &["service", "clusterip", "svc", "--tcp=80:8080"],
            "service/svc created",
        ),
        (&["job", "j", "--image=busybox"], "job.batch/j created"),
        (
            &["role", "r", "--verb=get", "--resource=pods"],
            "role.rbac.authorization.k8s.io/r created",
        ),
        (
            &[
                "rolebinding",
                "rb",
                "--role=r",
                "--serviceaccount=default:robot",
            ],
            "rolebinding.rbac.authorization.k8s.io/rb created",
        ),
        (
            &[
                "clusterrole",
                "cr",
                "--verb=get,list",
                "--resource=deployments.apps",
            ],
            "clusterrole.rbac.authorization.k8s.io/cr created",
        ),
        (
            &[
                "clusterrolebinding",
                "crb",
                "--clusterrole=cr",
                "--user=ann",
            ],
            "clusterrolebinding.rbac.authorization.k8s.io/crb created",
        ),
    ];
    for (arguments, expected) in table {
        let arguments = [&["create"], arguments].concat();
        assert_eq!(server.kubectl(&arguments), expected, "for {arguments:?}");
        let said = server.kubectl_fails(&arguments);
        assert_contains(&said, &["already exists"]);
    }
    let found = server.kubectl_json(&["get", "deployment", "d"]);
    assert_eq!(found["spec"]["replicas"], 1);
    assert_eq!(
        found["spec"]["template"]["spec"]["containers"][0]["image"],
        "nginx"
    );
}

#[test]
fn data_from_files_and_literals() {
    let server = Server::start();
    let file = server.file("motd.txt", "hello\nworld\n");
    let from_file = format!("--from-file=motd={file}");
    server.kubectl(&["create", "cm", "c", &from_file, "--from-literal=a=1"]);
    let found = server.kubectl_json(&["get", "cm", "c"]);
    assert_eq!(found["data"], json!({"a": "1", "motd": "hello\nworld\n"}));
    server.kubectl(&["create", "secret", "generic", "s", &from_file]);
    let found = server.kubectl_json(&["get", "secret", "s"]);
    assert_eq!(
        (&found["type"], &found["data"]),
        (&json!("Opaque"), &json!({"motd": "aGVsbG8Kd29ybGQK"}))
    );
}

#[test]
fn c1_the_server_fills_in_the_metadata() {
    let server = Server::start();
    let manifest = config_map("settings", "web", &[]);
    server.kubectl_with(&["create", "-f", "-"], &manifest);
    let metadata = server.kubectl_json(&["get", "cm", "settings"])["metadata"].clone();
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(
        metadata["uid"].as_str().map(str::len),
        Some(36),
        "{metadata}"
    );
    assert!(
        metadata["resourceVersion"]
            .as_str()
            .is_some_and(|version| version.parse::<u64>().is_ok())
    );
    let created = metadata["creationTimestamp"].as_str().unwrap_or_default();
    assert!(created.len() == 20 && created.ends_with('Z'), "{metadata}");
    server.kubectl(&["delete", "cm", "settings"]);
    server.kubectl_with(&["create", "-f", "-"], &manifest);
    let again = server.kubectl_json(&["get", "cm", "settings"])["metadata"].clone();
    assert_ne!(
        again["uid"], metadata["uid"],
        "a new object has a new identity"
    );
}

#[test]
fn names_are_generated_on_request() {
    let server = Server::start();
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: run-}\n";
    let first = server.kubectl_with(&["create", "-f", "-", "-o", "name"], manifest);
    let second = server.kubectl_with(&["create", "-f", "-", "-o", "name"], manifest);
    assert_ne!(first, second);
    for name in [&first, &second] {
        assert!(
            name.starts_with("configmap/run-") && name.len() == "configmap/run-".len() + 5,
            "{name}"
        );
    }
}

#[test]
fn what_kubectl_prints_can_be_created_again() {
    let server = Server::start();
    server.apply(&config_map(
        "settings",
        "web",
        &[("port", "8080"), ("on", "yes"), ("text", "a: b #c")],
    ));
    let yaml = server.kubectl(&["get", "cm", "settings", "-o", "yaml"]);
    let data = |server: &Server| -> Value {
        server.kubectl_json(&["get", "cm", "settings"])["data"].clone()
    };
    let json = server.kubectl(&["get", "cm", "settings", "-o", "json"]);
    let before = data(&server);
    server.kubectl(&["delete", "cm", "settings"]);
    // kubectl takes the resourceVersion out; the server refuses one that comes through.
    let raw = server.file("settings.json", &json);
    let collection = "/api/v1/namespaces/default/configmaps";
    let said = server.kubectl_fails(&["create", "--raw", collection, "-f", &raw]);
    assert_contains(
        &said,
        &["resourceVersion should not be set on objects to be created"],
    );
    let file = server.file("settings.yaml", &yaml);
    server.kubectl(&["create", "-f", &file]);
    assert_eq!(data(&server), before);
}
