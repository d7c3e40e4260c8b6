//! Rights, as kubectl asks about them, and as a process with access of its own has them.

use std::process::Command;

use landform_e2e::{Server, run};
use serde_json::json;

use crate::assert_contains;
use crate::shop::Leftovers;

const RIGHTS: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: x}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: maps}
rules:
- {apiGroups: [''], resources: [configmaps], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: maps}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: maps}
subjects: [{kind: ServiceAccount, name: x, namespace: default}]
";

const AS: &str = "--as=system:serviceaccount:default:x";

#[test]
fn kubectl_asks_what_somebody_may_do() {
    let server = Server::start();
    server.apply(RIGHTS);
    assert_eq!(server.kubectl(&["auth", "can-i", "*", "*"]), "yes");
    assert_eq!(
        server.kubectl(&["auth", "can-i", "list", "configmaps", AS]),
        "yes"
    );
    let no = server.try_kubectl(&["auth", "can-i", "delete", "configmaps", AS]);
    assert_eq!(no.stdout.trim(), "no", "{}", no.report());
    let no = server.try_kubectl(&[
        "auth",
        "can-i",
        "list",
        "configmaps",
        AS,
        "-n",
        "kube-system",
    ]);
    assert_eq!(no.stdout.trim(), "no", "{}", no.report());
    let list = server.kubectl(&["auth", "can-i", "--list", AS]);
    let line = list.lines().find(|line| line.starts_with("configmaps"));
    assert_contains(line.unwrap_or(&list), &["[get list]"]);
    assert_contains(
        &list,
        &[
            "selfsubjectaccessreviews.authorization.k8s.io",
            "[/openapi/*]",
        ],
    );
    let denied = server.kubectl_fails(&["get", "secrets", AS]);
    assert_contains(
        &denied,
        &[
            r#"secrets is forbidden: User "system:serviceaccount:default:x" cannot list resource "secrets" in API group "" in the namespace "default""#,
        ],
    );
    server.kubectl(&["get", "configmaps", AS]);
}

#[test]
fn a_process_with_access_may_do_what_its_role_allows() {
    let server = Server::start();
    let _leftovers = Leftovers(server.home().to_owned());
    if !server.kubectl_is_at_least(23) {
        return;
    }
    server.apply(RIGHTS);
    server.kubectl(&[
        "create",
        "configmap",
        "settings",
        "--from-literal=colour=green",
    ]);
    let kubectl = std::env::var("LANDFORM_TEST_KUBECTL").unwrap_or_else(|_| "kubectl".into());
    let script = format!(
        "{kubectl} get cm settings -o 'jsonpath={{.data.colour}}'; echo; \
         {kubectl} delete cm settings; {kubectl} get cm -n kube-system; echo done; exec sleep 1000"
    );
    let item = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
        "metadata": {"name": "operator"},
        "spec": {"type": "landform.dev/process", "config": {
            "command": ["sh", "-c", script],
            "readiness": {"log": {"pattern": "^done$"}},
            "access": {"serviceAccount": "x"},
        }},
    });
    server.apply(&item.to_string());
    let succeeded = "--for=jsonpath={.status.phase}=Succeeded";
    server.kubectl(&["wait", succeeded, "di/operator", "--timeout=55s"]);
    let status = server.kubectl_json(&["get", "di", "operator"]);
    let log = status["status"]["providerStatus"]["log"].as_str().unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.starts_with("green\n"), "{log}");
    let user = r#"User "system:serviceaccount:default:x""#;
    assert_contains(
        &log,
        &[
            &format!(r#"configmaps "settings" is forbidden: {user} cannot delete"#),
            &format!(
                r#"configmaps is forbidden: {user} cannot list resource "configmaps" in API group "" in the namespace "kube-system""#
            ),
        ],
    );
    server.kubectl(&["get", "cm", "settings"]);
    server.kubectl(&["delete", "di", "operator", "--timeout=55s"]);
}

/// The commands of docs/api.md, as they stand there.
#[test]
fn a_client_certificate_that_is_made_as_the_documentation_says_is_a_user() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```sh\n").skip(1);
    let mut blocks = blocks.filter_map(|block| Some(block.split_once("```")?.0));
    let commands = blocks.find(|block| block.contains("openssl req")).unwrap();
    let server = Server::start();
    let data = server.kubeconfig().parent().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    let shell = shell.args(["-ec", commands]).env("DATA", data);
    let made = run(shell.current_dir(directory.path()));
    assert!(made.status.success(), "{}", made.report());
    let mut config = server.kubectl_json(&["config", "view", "--raw"]);
    let file = |name: &str| directory.path().join(name);
    config["users"][0]["user"] = json!({
        "client-certificate": file("jane.crt"), "client-key": file("jane.key"),
    });
    let config = server.file("jane.json", &config.to_string());
    let config = format!("--kubeconfig={config}");
    let who = server.kubectl(&["auth", "whoami", "-o", "json", &config]);
    assert_contains(
        &who,
        &["\"username\": \"jane\"", "\"dev\"", "system:authenticated"],
    );
}
