//! A TargetSync whose source is the server itself: Secrets of one namespace become Targets in another one.

use landform_e2e::Server;
use serde_json::{Value, json};

use crate::assert_contains;

const GROUP: &str = "landscaper.gardener.cloud/v1alpha1";
const NAMESPACES: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: garden}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
";

fn secret(namespace: &str, name: &str, kubeconfig: &str) -> String {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
        "stringData": {"kubeconfig": kubeconfig},
    });
    secret.to_string()
}

fn sync(spec: &Value) -> String {
    let mut whole = json!({
        "sourceNamespace": "garden", "secretNameExpression": r"\.kubeconfig$",
        "secretRef": {"name": "access", "key": "kubeconfig"},
    });
    for (field, value) in spec.as_object().unwrap() {
        whole[field] = value.clone();
    }
    let metadata = json!({"name": "sync", "namespace": "team"});
    json!({"apiVersion": GROUP, "kind": "TargetSync", "metadata": metadata, "spec": whole})
        .to_string()
}

/// Asks for a run now and waits until it is done; returns the errors.
fn reconcile(server: &Server) -> Vec<String> {
    let operation = "landscaper.gardener.cloud/operation=reconcile";
    server.kubectl(&["annotate", "tgs/sync", "-n", "team", operation]);
    let column = r"-ocustom-columns=OP:.metadata.annotations.landscaper\.gardener\.cloud/operation";
    let watch = ["get", "tgs/sync", "-n", "team", column, "-w"];
    server.kubectl_lines(&watch).expect(&["<none>"]);
    errors(server)
}

fn errors(server: &Server) -> Vec<String> {
    let sync = server.kubectl_json(&["get", "tgs", "sync", "-n", "team"]);
    let errors = sync["status"]["lastErrors"].as_array();
    let errors = errors.into_iter().flatten();
    errors
        .map(|error| error.as_str().unwrap().to_owned())
        .collect()
}

fn names(server: &Server, kind: &str) -> Vec<String> {
    let label = "landscaper.gardener.cloud/targetsync=ok";
    let found = server.kubectl(&["get", kind, "-n", "team", "-l", label, "-o", "name"]);
    let names = found.lines().filter_map(|line| line.split('/').nth(1));
    names.map(str::to_owned).collect()
}

/// The value of a kubeconfig in a Secret of the team.
fn copied(server: &Server, name: &str) -> String {
    let path = "-ojsonpath={.data.kubeconfig}";
    server.kubectl(&["get", "secret", name, "-n", "team", path])
}

fn wait(server: &Server, object: &str, jsonpath: &str, value: &str) {
    let condition = format!("--for=jsonpath={{{jsonpath}}}={value}");
    server.kubectl(&["wait", &condition, object, "-n", "team", "--timeout=55s"]);
}

#[test]
fn secrets_of_another_namespace_become_targets_and_go_with_them() {
    let server = Server::start();
    if !server.kubectl_is_at_least(23) {
        return;
    }
    let admin = std::fs::read_to_string(server.kubeconfig()).unwrap();
    server.apply(NAMESPACES);
    server.apply(&secret("garden", "red.kubeconfig", &admin));
    server.apply(&secret("garden", "blue.kubeconfig", "canary-blue"));
    server.apply(&secret("garden", "other", "canary-other"));
    server.apply(&secret("team", "access", &admin));
    server.apply(&sync(
        &json!({"createTargetToSource": true, "targetToSourceName": "source"}),
    ));
    wait(&server, "tgs/sync", ".status.observedGeneration", "1");
    assert_eq!(errors(&server), [""; 0]);
    assert_eq!(
        names(&server, "targets"),
        ["blue.kubeconfig", "red.kubeconfig", "source"]
    );
    assert_eq!(
        names(&server, "secrets"),
        ["blue.kubeconfig", "red.kubeconfig"]
    );
    let red = server.kubectl_json(&["get", "target", "red.kubeconfig", "-n", "team"]);
    assert_eq!(
        red["spec"],
        json!({
            "type": "landscaper.gardener.cloud/kubernetes-cluster",
            "secretRef": {"name": "red.kubeconfig", "key": "kubeconfig"},
        })
    );

    // What was made is good for deploying.
    let manifest = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made", "namespace": "garden"},
    });
    let item = json!({
        "apiVersion": GROUP, "kind": "DeployItem", "metadata": {"name": "web", "namespace": "team"},
        "spec": {
            "type": "landscaper.gardener.cloud/kubernetes-manifest", "target": {"name": "red.kubeconfig"},
            "config": {"manifests": [{"policy": "manage", "manifest": manifest}]},
        },
    });
    server.apply(&item.to_string());
    wait(&server, "di/web", ".status.phase", "Succeeded");
    server.kubectl(&["get", "cm", "made", "-n", "garden"]);

    // A change, a new one and one that goes.
    let before = copied(&server, "blue.kubeconfig");
    server.apply(&secret("garden", "blue.kubeconfig", "canary-changed"));
    server.apply(&secret("garden", "green.kubeconfig", "canary-green"));
    server.kubectl(&["delete", "secret", "red.kubeconfig", "-n", "garden"]);
    assert_eq!(reconcile(&server), [""; 0]);
    assert_ne!(copied(&server, "blue.kubeconfig"), before);
    for kind in ["targets", "secrets"] {
        let mut expected = vec!["blue.kubeconfig", "green.kubeconfig"];
        if kind == "targets" {
            expected.push("source");
        }
        assert_eq!(names(&server, kind), expected);
    }
    // What was made is brought back.
    server.kubectl(&["delete", "target", "green.kubeconfig", "-n", "team"]);
    let created = "--for=jsonpath={.spec.secretRef.name}=green.kubeconfig";
    let target = ["target/green.kubeconfig", "-n", "team", "--timeout=55s"];
    let mut lines = server.kubectl_lines(&["get", "targets", "-n", "team", "-w", "-oname"]);
    lines.expect(&["green.kubeconfig"]);
    server.kubectl(&["wait", created, target[0], target[1], target[2], target[3]]);

    // Another one's Secret of that name is left alone, and named.
    server.apply(&secret("team", "mine.kubeconfig", "own"));
    server.apply(&secret("garden", "mine.kubeconfig", "canary-mine"));
    let own = copied(&server, "mine.kubeconfig");
    let found = reconcile(&server);
    assert_contains(
        &found.join("\n"),
        &["the Secret mine.kubeconfig exists and is not this TargetSync's"],
    );
    assert_eq!(copied(&server, "mine.kubeconfig"), own);
    let log = server.log();
    assert!(
        !found.join("").contains("canary") && !log.contains("canary"),
        "{log}"
    );

    // A second one in the namespace stops both, until it is gone.
    let second = sync(&json!({})).replace("\"name\":\"sync\"", "\"name\":\"second\"");
    server.apply(&second);
    wait(&server, "tgs/second", ".status.observedGeneration", "1");
    assert_contains(
        &reconcile(&server).join(""),
        &["more than one TargetSync", "second, sync"],
    );
    server.kubectl(&["delete", "tgs", "second", "-n", "team"]);
    server.kubectl(&["delete", "secret", "mine.kubeconfig", "-n", "garden"]);
    assert_eq!(reconcile(&server), [""; 0]);

    server.kubectl(&["delete", "tgs", "sync", "-n", "team"]);
    for object in [
        "secret/blue.kubeconfig",
        "target/blue.kubeconfig",
        "target/source",
    ] {
        let gone = [
            "wait",
            "--for=delete",
            object,
            "-n",
            "team",
            "--timeout=55s",
        ];
        server.kubectl(&gone);
    }
    server.kubectl(&["get", "secret", "access", "-n", "team"]);
    server.kubectl(&["get", "secret", "blue.kubeconfig", "-n", "garden"]);
}

/// May write TargetSyncs in the namespace, and nothing else.
const JANE: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: jane, namespace: team}
rules:
- apiGroups: [landscaper.gardener.cloud]
  resources: [targetsyncs]
  verbs: [get, create, update, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: jane, namespace: team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: jane}
subjects: [{kind: User, name: jane, apiGroup: rbac.authorization.k8s.io}]
";
/// The rest of what a TargetSync needs.
const MORE: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: jane, namespace: team}
rules:
- apiGroups: [landscaper.gardener.cloud]
  resources: [targetsyncs]
  verbs: [get, create, update, patch]
- apiGroups: ['', landscaper.gardener.cloud]
  resources: [secrets, targets]
  verbs: [get, create, update]
";

#[test]
fn c6_a_target_sync_acts_with_the_rights_of_its_writer() {
    let server = Server::start();
    if !server.kubectl_is_at_least(23) {
        return;
    }
    let admin = std::fs::read_to_string(server.kubeconfig()).unwrap();
    server.apply(NAMESPACES);
    server.apply(&secret("garden", "red.kubeconfig", "canary"));
    server.apply(&secret("team", "access", &admin));
    server.apply(JANE);
    server.kubectl_with(&["apply", "-f", "-", "--as=jane"], &sync(&json!({})));
    wait(&server, "tgs/sync", ".status.observedGeneration", "1");
    let found = errors(&server).join("\n");
    assert_contains(
        &found,
        &["jane", "get", "secrets", "access", "create", "targets"],
    );
    assert_eq!(names(&server, "targets"), [""; 0]);
    assert_eq!(names(&server, "secrets"), [""; 0]);

    // With the rights it works, and what it makes is noted as hers.
    server.apply(MORE);
    assert_eq!(reconcile(&server), [""; 0]);
    assert_eq!(names(&server, "targets"), ["red.kubeconfig"]);
    let target = server.kubectl_json(&["get", "target", "red.kubeconfig", "-n", "team"]);
    let writer = target["metadata"]["annotations"]["landform.dev/writer"].as_str();
    assert_contains(writer.unwrap(), &["jane"]);
}

/// A service account of the source that may list its Secrets and request tokens for itself.
const ROBOT: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot, namespace: garden}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: robot, namespace: garden}
rules:
- apiGroups: ['']
  resources: [secrets]
  verbs: [list]
- apiGroups: ['']
  resources: [serviceaccounts/token]
  resourceNames: [robot]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: robot, namespace: garden}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: robot}
subjects: [{kind: ServiceAccount, name: robot, namespace: garden}]
";

#[test]
fn the_token_of_the_source_is_replaced_when_that_is_asked_for() {
    let server = Server::start();
    if !server.kubectl_is_at_least(24) {
        return;
    }
    server.apply(NAMESPACES);
    server.apply(ROBOT);
    server.apply(&secret("garden", "red.kubeconfig", "canary"));
    let admin = std::fs::read_to_string(server.kubeconfig()).unwrap();
    let admin: Value = serde_json::from_str(&admin).unwrap_or_else(|_| {
        let shown = server.kubectl(&["config", "view", "--raw", "-ojson"]);
        serde_json::from_str(&shown).unwrap()
    });
    let token = server.kubectl(&["create", "token", "robot", "-n", "garden", "--duration=20m"]);
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "garden",
        "clusters": [{"name": "garden", "cluster": admin["clusters"][0]["cluster"]}],
        "contexts": [{"name": "garden", "context": {"cluster": "garden", "user": "robot"}}],
        "users": [{"name": "robot", "user": {"token": token.trim()}}],
    });
    server.apply(&secret("team", "access", &kubeconfig.to_string()));
    let before = copied(&server, "access");
    server.apply(&sync(&json!({"tokenRotation": {"enabled": true}})));
    wait(&server, "tgs/sync", ".status.observedGeneration", "1");
    assert_eq!(errors(&server), [""; 0]);
    let first = copied(&server, "access");
    assert_ne!(first, before);
    assert_eq!(names(&server, "targets"), ["red.kubeconfig"]);
    let time = [
        "get",
        "tgs",
        "sync",
        "-n",
        "team",
        "-ojsonpath={.status.lastTokenRotationTime}",
    ];
    assert_contains(&server.kubectl(&time), &["T", "Z"]);
    // Not again before its time, but when it is asked for. The new token works.
    assert_eq!(reconcile(&server), [""; 0]);
    assert_eq!(copied(&server, "access"), first);
    let rotate = "landscaper.gardener.cloud/rotate-token=true";
    server.kubectl(&["annotate", "tgs/sync", "-n", "team", rotate]);
    assert_eq!(reconcile(&server), [""; 0]);
    assert_ne!(copied(&server, "access"), first);
    assert_eq!(reconcile(&server), [""; 0]);
}
