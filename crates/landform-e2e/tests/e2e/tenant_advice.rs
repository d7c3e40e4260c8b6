//! C6 as a tenant meets it: refusals that tell nothing about what exists, advice that leads on when it is followed, and what a role in
//! one namespace shows.

use landform_e2e::{Server, landform, run};
use serde_json::{Value, json};

use crate::assert_contains;
use crate::shop::Leftovers;
use crate::tenant::{JANE, RIGHTS, TEAM, installation, item, manifest, map, reconciler, world};

const MANIFESTS: &str = "landscaper.gardener.cloud/kubernetes-manifest";
const ACCOUNT: &str = "landform.dev/service-account";

fn by_jane(server: &Server, object: &Value) {
    server.kubectl_with(&["apply", "-f", "-", JANE], &object.to_string());
}

/// Waits until an object of the team tells all of this, and returns its error.
fn error_of(server: &Server, object: &str, parts: &[&str]) -> String {
    let said = "jsonpath={.metadata.annotations.landform\\.dev/error}{.status.lastError.message}{.status.waitingOn[*].reason}{\"\\n\"}";
    let arguments = [&["get", object, "--watch", "-o", said][..], &TEAM].concat();
    server.kubectl_lines(&arguments).expect(parts)
}

fn why(server: &Server, object: &str) -> String {
    let arguments = [&["why", object][..], &TEAM].concat();
    run(server.client(landform()).args(arguments)).stdout
}

/// Runs the command of Landform that an answer advises.
fn follow(server: &Server, answer: &str) {
    let (_, command) = answer.rsplit_once(": landform ").expect(answer);
    let arguments = command.trim().split(' ');
    let done = run(server.client(landform()).args(arguments));
    assert!(done.status.success(), "{}", done.report());
}

fn succeeds(server: &Server, object: &str) {
    let phase = "--for=jsonpath={.status.phase}=Succeeded";
    server.kubectl(&[&["wait", phase, object, "--timeout=55s"][..], &TEAM].concat());
}

/// Lets a user do something in the namespace.
fn grant(server: &Server, name: &str, verbs: &str, resources: &str) {
    let verbs = format!("--verb={verbs}");
    let resources = format!("--resource={resources}");
    let role = format!("--role={name}");
    server.kubectl(&["create", "role", name, &verbs, &resources, "-n", "team"]);
    let bind = [
        "create",
        "rolebinding",
        name,
        &role,
        "--user=jane",
        "-n",
        "team",
    ];
    server.kubectl(&bind);
}

#[test]
fn c6_an_admin_who_names_an_account_doesnt_vouch_for_a_tenants_program() {
    let server = Server::start();
    server.apply(RIGHTS);
    let proof = server.home().join("proof");
    let program = json!({"command": ["touch", proof]});
    by_jane(&server, &item("theirs", "landform.dev/command", &program));
    error_of(
        &server,
        "deployitem/theirs",
        &["run processes.landform.dev"],
    );
    // The admin names an account and takes it back, and has it tried again: it is still Jane's program.
    let annotate = |value: &str| {
        server.kubectl(&["annotate", "deployitem", "theirs", value, "-n", "team"]);
    };
    annotate(&format!("{ACCOUNT}=strong"));
    annotate(&format!("{ACCOUNT}-"));
    let before = server.kubectl_json(&["get", "deployitem", "theirs", "-n", "team"]);
    let retried = ["retry", "deployitem/theirs", "-n", "team"];
    let retried = run(server.client(landform()).args(retried));
    assert_contains(&retried.stdout, &["is tried again"]);
    let was = before["status"]["lastReconcileTime"]
        .as_str()
        .unwrap()
        .to_owned();
    let said =
        "jsonpath={.status.lastReconcileTime} {.status.phase} {.status.lastError.message}{\"\\n\"}";
    let watch = [
        "get",
        "deployitem",
        "theirs",
        "--watch",
        "-o",
        said,
        "-n",
        "team",
    ];
    let mut lines = server.kubectl_lines(&watch);
    while lines
        .expect(&["Failed", "jane", "run processes.landform.dev"])
        .contains(&was)
    {}
    assert!(!proof.exists());
    // While it is named, the account's rights count.
    annotate(&format!("{ACCOUNT}=strong"));
    let retried = ["retry", "deployitem/theirs", "-n", "team"];
    run(server.client(landform()).args(retried));
    let told = [
        "system:serviceaccount:team:strong",
        "the service account that this object names",
    ];
    error_of(&server, "deployitem/theirs", &told);
    assert!(!proof.exists());
    // An account that isn't there is told apart.
    annotate(&format!("{ACCOUNT}-"));
    annotate(&format!("{ACCOUNT}=nowhere"));
    run(server.client(landform()).args(retried));
    error_of(
        &server,
        "deployitem/theirs",
        &["team:nowhere", "and that doesn't exist"],
    );
}

/// All that an object can refer to, by a name.
fn referring(name: &str) -> Vec<(String, Value)> {
    let target = |own: &str, spec: Value| {
        json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target",
            "metadata": {"name": own, "namespace": "team"}, "spec": spec,
        })
    };
    let mut of_secret = item(&format!("of-{name}"), MANIFESTS, &manifest(&[]));
    of_secret["spec"]["target"] = json!({"name": format!("t-{name}")});
    let secret = json!({"type": "x", "secretRef": {"name": name, "key": "config"}});
    let import =
        |kind: &str| json!({"data": [{"name": "a", kind: {"name": name, "key": "config"}}]});
    let nothing = json!({"name": "i", "type": "landscaper.gardener.cloud/mock"});
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": format!("w-{name}"), "namespace": "team"}, "spec": {"secret": name},
    });
    let mut account = item(
        &format!("as-{name}"),
        MANIFESTS,
        &manifest(&[map("m", "team")]),
    );
    account["metadata"]["annotations"] = json!({ACCOUNT: name});
    let own = format!("t-{name}");
    vec![
        (format!("widget/w-{name}"), widget),
        (String::new(), target(&own, secret)),
        (format!("deployitem/of-{name}"), of_secret),
        (
            format!("installation/s-{name}"),
            installation(&format!("s-{name}"), import("secretRef"), &nothing),
        ),
        (
            format!("installation/c-{name}"),
            installation(&format!("c-{name}"), import("configMapRef"), &nothing),
        ),
        (format!("deployitem/as-{name}"), account),
    ]
}

#[test]
fn c6_a_refusal_is_the_same_whether_the_object_exists() {
    let (server, _proof) = world();
    let _leftovers = Leftovers(server.home().to_owned());
    // `theirs` is a Secret already.
    server.apply(&map("theirs", "team").to_string());
    server.kubectl(&["create", "serviceaccount", "theirs", "-n", "team"]);
    let errors = |name: &str| -> Vec<String> {
        let mut errors = Vec::new();
        for (told_by, object) in referring(name) {
            by_jane(&server, &object);
            if !told_by.is_empty() {
                let error = error_of(&server, &told_by, &["these are missing", name]);
                errors.push(error.replace(name, "NAME"));
            }
        }
        errors
    };
    let (of_these, of_none) = (errors("theirs"), errors("absent"));
    assert_eq!(of_these.len(), 5);
    assert_eq!(of_these, of_none);
}

#[test]
fn c6_what_why_advises_a_tenant_leads_on() {
    let (server, proof) = world();
    let _leftovers = Leftovers(server.home().to_owned());
    let proof = proof.path().join("ran");
    // Whose item fails has it run again.
    let program = json!({"command": ["touch", proof]});
    by_jane(&server, &item("command", "landform.dev/command", &program));
    error_of(
        &server,
        "deployitem/command",
        &["run processes.landform.dev"],
    );
    let advice = why(&server, "deployitem/command");
    assert_contains(
        &advice,
        &[
            "grant the rights that the error lists",
            "a Role and a RoleBinding in that namespace",
            "`user` in its configuration",
            "landform retry DeployItem/command -n team",
        ],
    );
    grant(&server, "runs", "run", "processes.landform.dev");
    // kubectl knows what it grants.
    let can = [
        "auth",
        "can-i",
        "run",
        "processes.landform.dev/root",
        "-n",
        "team",
        JANE,
    ];
    assert_eq!(server.kubectl(&can).trim(), "yes");
    follow(&server, &advice);
    succeeds(&server, "deployitem/command");
    assert!(proof.exists());
    // What it imports.
    let import = json!({"data": [{"name": "a", "secretRef": {"name": "theirs", "key": "config"}}]});
    let nothing = json!({"name": "i", "type": "landscaper.gardener.cloud/mock"});
    by_jane(&server, &installation("imports", import, &nothing));
    error_of(&server, "installation/imports", &["get secrets"]);
    let advice = why(&server, "installation/imports");
    assert_contains(
        &advice,
        &[
            "grant the rights",
            "landform reconcile Installation/imports -n team",
        ],
    );
    assert!(!advice.contains("change Secret"), "{advice}");
    // Nothing has failed, and yet it can be tried again.
    grant(&server, "reads", "get", "secrets");
    let retried = ["retry", "installation/imports", "-n", "team"];
    let retried = run(server.client(landform()).args(retried)).stdout;
    assert_contains(&retried, &["is tried again"]);
    succeeds(&server, "installation/imports");
    // An annotation that names no account.
    let mut wrong = item("wrong", "landscaper.gardener.cloud/mock", &json!({}));
    wrong["metadata"]["annotations"] = json!({ACCOUNT: "a/b"});
    by_jane(&server, &wrong);
    error_of(
        &server,
        "deployitem/wrong",
        &["must be the name of a service account"],
    );
    let advice = why(&server, "deployitem/wrong");
    assert_contains(
        &advice,
        &["kubectl annotate deployitem wrong -n team landform.dev/service-account-"],
    );
    let taken_away = format!("{ACCOUNT}-");
    server.kubectl(&["annotate", "deployitem", "wrong", &taken_away, "-n", "team"]);
    succeeds(&server, "deployitem/wrong");
    let object = server.kubectl_json(&["get", "deployitem", "wrong", "-n", "team"]);
    assert_eq!(
        object["metadata"]["annotations"]["landform.dev/error"],
        Value::Null
    );
    // Children of a hook: all rights at once, and the hook is called again when they are there.
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "team"}, "spec": {"secret": "theirs"},
    });
    by_jane(&server, &widget);
    let told = [
        "create configmaps in the namespace team",
        "delete configmaps in the namespace team",
        "patch configmaps in the namespace team",
    ];
    error_of(&server, "widget/w", &told);
    let advice = why(&server, "widget/w");
    assert_contains(
        &advice,
        &[
            "grant the rights that the error lists",
            "tries again by itself",
        ],
    );
    assert!(!advice.contains("cannot create resource"), "{advice}");
    grant(&server, "maps", "create,patch,delete", "configmaps");
    let child = [
        "wait",
        "--for=create",
        "configmap/child",
        "-n",
        "team",
        "--timeout=55s",
    ];
    server.kubectl(&child);
}

#[test]
fn c6_a_reconciler_says_which_rights_it_lacks_and_whose() {
    let (server, _proof) = world();
    let hook = json!({"command": ["true"]});
    let mut gadgets = reconciler("toys", "Gadget", hook, json!({"finalize": true}));
    by_jane(&server, &gadgets);
    let said = "jsonpath={.status.lastError} {.status.conditions}{\"\\n\"}";
    let watch = ["get", "reconciler", "toys", "--watch", "-o", said];
    let told = [
        "run processes.landform.dev",
        "Forbidden",
        "a ClusterRole and a ClusterRoleBinding",
    ];
    server.kubectl_lines(&watch).expect(&told);
    let advice = why(&server, "reconciler/toys");
    assert_contains(
        &advice,
        &["grant the rights that the error lists", "by itself"],
    );
    // An account that can't be one is an error of the Reconciler, too.
    gadgets["metadata"]["annotations"] = json!({ACCOUNT: "strong"});
    by_jane(&server, &gadgets);
    let told = ["NAMESPACE/NAME of a service account", "Forbidden"];
    server.kubectl_lines(&watch).expect(&told);
    // In kubectl's form.
    gadgets["metadata"]["annotations"] = json!({ACCOUNT: "team/strong"});
    server.apply(&gadgets.to_string());
    let told = [
        "update gadgets.example.com/status",
        "team:strong",
        "the service account that",
    ];
    server.kubectl_lines(&watch).expect(&told);
}

#[test]
fn c6_in_a_namespace_that_goes_the_advice_is_one_that_works_there() {
    let server = Server::start();
    server.apply(RIGHTS);
    grant(&server, "runs", "run", "processes.landform.dev");
    let program = json!({"command": ["true"]});
    by_jane(&server, &item("command", "landform.dev/command", &program));
    succeeds(&server, "deployitem/command");
    server.kubectl(&["delete", "rolebinding", "runs", "-n", "team"]);
    server.kubectl(&["delete", "namespace", "team", "--wait=false"]);
    let told = [
        "run processes.landform.dev",
        "The namespace team is being deleted",
        "ClusterRoleBinding",
    ];
    error_of(&server, "deployitem/command", &told);
    let role = [
        "create",
        "clusterrole",
        "runs",
        "--verb=run",
        "--resource=processes.landform.dev",
    ];
    server.kubectl(&role);
    server.kubectl(&[
        "create",
        "clusterrolebinding",
        "runs",
        "--clusterrole=runs",
        "--user=jane",
    ]);
    server.kubectl(&["wait", "--for=delete", "namespace/team", "--timeout=55s"]);
}

/// A kubeconfig of the service account `strong`.
fn of_account(server: &Server) -> String {
    let token = server.kubectl(&["create", "token", "strong", "-n", "team"]);
    let mut config = server.kubectl_json(&["config", "view", "--raw"]);
    config["users"][0]["user"] = json!({"token": token.trim()});
    server.file("account.json", &config.to_string())
}

#[test]
fn c6_a_role_in_a_namespace_shows_logs_and_reasons_of_its_objects_and_no_more() {
    let server = Server::start();
    let _leftovers = Leftovers(server.home().to_owned());
    server.apply(RIGHTS);
    server.apply(
        "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: views, namespace: team}
rules:
- {apiGroups: [landform.dev], resources: [logs, why, tree, history], verbs: [get]}
- {apiGroups: [landscaper.gardener.cloud], resources: ['*'], verbs: [get, list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: views, namespace: team}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: views}
subjects: [{kind: ServiceAccount, name: strong, namespace: team}]
",
    );
    let config = json!({
        "command": ["sh", "-c", "echo started; exec sleep 1000"],
        "readiness": {"log": {"pattern": "started"}},
    });
    let process = |namespace: &str| {
        let mut process = item("process", "landform.dev/process", &config);
        process["metadata"]["namespace"] = json!(namespace);
        process
    };
    for namespace in ["team", "default"] {
        server.apply(&process(namespace).to_string());
    }
    succeeds(&server, "deployitem/process");
    let import = json!({"data": [{"name": "a", "secretRef": {"name": "theirs", "key": "none"}}]});
    let nothing = json!({"name": "i", "type": "landscaper.gardener.cloud/mock"});
    server.apply(&installation("imports", import, &nothing).to_string());
    error_of(&server, "installation/imports", &["has no key"]);
    let account = of_account(&server);
    let ask = |arguments: &[&str]| {
        run(server
            .client(landform())
            .args(arguments)
            .args(["--kubeconfig", &account]))
    };
    let shown = ask(&["logs", "deployitem/process", "-n", "team"]);
    assert_contains(&shown.stdout, &["started"]);
    let shown = ask(&["tree", "deployitem/process", "-n", "team"]);
    assert_contains(&shown.stdout, &["process", "Succeeded"]);
    // The Secret is named, and nothing of it is shown.
    let shown = ask(&["why", "installation/imports", "-n", "team"]).stdout;
    assert_contains(&shown, &["Secret/theirs", "you have no right to read it"]);
    for refused in [
        ["logs", "deployitem/process", "-n", "default"],
        ["why", "deployitem/process", "-n", "default"],
        ["why", "secret/theirs", "-n", "team"],
    ] {
        let refused = ask(&refused);
        assert!(!refused.status.success(), "{}", refused.report());
        assert!(!refused.stdout.contains("started"), "{}", refused.report());
    }
    for path in [
        "tree",
        "graph",
        "why/core/Secret/team/theirs",
        "logs/reconcilers.landform.dev/x",
    ] {
        let path = format!("/apis/landform.dev/v1alpha1/{path}");
        let config = format!("--kubeconfig={account}");
        let refused = server.try_kubectl(&["get", "--raw", &path, &config]);
        assert_contains(&refused.stderr, &["Forbidden"]);
    }
}

#[test]
fn c6_a_deployer_for_other_namespaces_leaves_items_alone() {
    let server = Server::start_with(&["--deployer", "mock=others", "--deployer", "process"]);
    server.apply(RIGHTS);
    let mock = item("mock", "landscaper.gardener.cloud/mock", &json!({}));
    server.apply(&mock.to_string());
    server.apply(
        &item(
            "command",
            "landform.dev/command",
            &json!({"command": ["true"]}),
        )
        .to_string(),
    );
    for (name, kind) in [
        ("mock", "landscaper.gardener.cloud/mock"),
        ("command", "landform.dev/command"),
    ] {
        let awaited = format!("a deployer of type {kind} to pick it up");
        let said = "jsonpath={.status}{\"\\n\"}";
        let watch = [
            "get",
            "deployitem",
            name,
            "--watch",
            "-o",
            said,
            "-n",
            "team",
        ];
        let said = server.kubectl_lines(&watch).expect(&[&awaited]);
        assert!(
            !said.contains("Failed") && !said.contains("others"),
            "{said}"
        );
        let advice = why(&server, &format!("deployitem/{name}"));
        let switched_off = format!("doesn't deploy items of type {kind} in the namespace team");
        assert_contains(&advice, &[&awaited, &switched_off, "--deployer"]);
        assert!(!advice.contains("others"), "{advice}");
    }
    // Who limits deployers in vain is told so at the start.
    for (arguments, told) in [
        (
            vec!["--deployer", "process=Bad_NS"],
            "can't be the name of a namespace",
        ),
        (
            vec!["--without-engine", "--deployer", "mock"],
            "cannot be used with",
        ),
        (vec!["--store-quota", "1Ki"], "must be at least 1Mi"),
    ] {
        let mut serve = server.client(landform());
        let refused = run(serve.arg("serve").args(&arguments));
        assert!(!refused.status.success());
        assert_contains(&refused.stderr, &[told]);
        assert!(refused.stderr.lines().count() < 8, "{}", refused.stderr);
    }
}
