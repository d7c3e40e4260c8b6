//! C6 with the real binary: a tenant with the least rights tries every way to make Landform act, finds a refusal that
//! lists what is missing, and nothing has happened; with the rights it works.

use landform_e2e::Server;
use serde_json::{Value, json};

use crate::assert_contains;
use crate::shop::Leftovers;

pub(crate) const JANE: &str = "--as=jane";
pub(crate) const TEAM: [&str; 2] = ["-n", "team"];

/// Jane may write all kinds of Landform in her namespace, and Reconcilers, Projects and Catalogs. She has no right to run
/// programs, and none to Secrets, ConfigMaps and roles.
pub(crate) const RIGHTS: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: landform-user}
rules:
- apiGroups: [landscaper.gardener.cloud, catalog.landform.dev, landform.dev, example.com]
  resources: ['*']
  verbs: [get, list, watch, create, update, patch, delete]
- {apiGroups: [landform.dev], resources: [projectdirectories], verbs: [use], resourceNames: [files]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: jane}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: landform-user}
subjects: [{kind: User, name: jane, apiGroup: rbac.authorization.k8s.io}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: v1
kind: Secret
metadata: {name: theirs, namespace: team}
stringData: {config: 'canary: 1'}
---
apiVersion: v1
kind: Secret
metadata: {name: elsewhere, namespace: kube-system}
stringData: {config: 'canary: 1'}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: strong, namespace: team}
";

/// One way to make Landform act.
struct Way {
    name: &'static str,
    objects: Vec<Value>,
    /// The object that tells of the refusal.
    told_by: &'static str,
    /// What that lists as missing.
    missing: &'static [&'static str],
}

pub(crate) fn item(name: &str, kind: &str, config: &Value) -> Value {
    json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"type": kind, "config": config},
    })
}

pub(crate) fn manifest(objects: &[Value]) -> Value {
    let manifests: Vec<Value> = objects
        .iter()
        .map(|object| json!({"policy": "manage", "manifest": object}))
        .collect();
    json!({"thisServer": true, "manifests": manifests})
}

fn takeover() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "takeover"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}],
    })
}

pub(crate) fn map(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace}, "data": {"a": "b"},
    })
}

pub(crate) fn installation(name: &str, imports: Value, item: &Value) -> Value {
    let template = json!({"deployItems": [item]}).to_string();
    let blueprint = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint",
        "imports": imports["data"].as_array().into_iter().flatten()
            .map(|import| json!({"name": import["name"], "type": "data", "schema": {}})).collect::<Vec<_>>(),
        "deployExecutions": [{"name": "d", "type": "GoTemplate", "template": template}],
    });
    json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Installation",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {
            "imports": imports,
            "blueprint": {"inline": {"filesystem": {"blueprint.yaml": blueprint.to_string()}}},
        },
    })
}

pub(crate) fn reconciler(name: &str, kind: &str, hook: Value, more: Value) -> Value {
    let mut spec = json!({
        "for": {"group": "example.com", "version": "v1", "kind": kind}, "hook": hook,
    });
    if let (Value::Object(spec), Value::Object(more)) = (&mut spec, more) {
        spec.extend(more);
    }
    json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler",
        "metadata": {"name": name}, "spec": spec,
    })
}

fn ways(proof: &str) -> Vec<Way> {
    let run = json!({"command": ["sh", "-c", format!("id > {proof}/$0"), "program"]});
    let program = |name: &str| json!({"command": ["touch", format!("{proof}/{name}")]});
    let target = |name: &str, spec: Value| {
        json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Target",
            "metadata": {"name": name, "namespace": "team"}, "spec": spec,
        })
    };
    let mut with_target = item(
        "in-target",
        "landscaper.gardener.cloud/kubernetes-manifest",
        &manifest(&[takeover()]),
    );
    with_target["spec"]["target"] = json!({"name": "here"});
    with_target["spec"]["config"]["thisServer"] = Value::Null;
    let mut with_secret = item("of-secret", "landform.dev/command", &program("of-secret"));
    with_secret["spec"]["target"] = json!({"name": "secretive"});
    let mut by_account = item(
        "account",
        "landscaper.gardener.cloud/kubernetes-manifest",
        &manifest(&[map("m", "team")]),
    );
    by_account["metadata"]["annotations"] = json!({"landform.dev/service-account": "strong"});
    let version = |name: &str, install: Value| {
        json!({
            "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "OperatorVersion",
            "metadata": {"name": format!("{name}.v1.0.0"), "namespace": "team"},
            "spec": {"package": name, "version": "1.0.0", "install": install},
        })
    };
    let imports =
        json!({"data": [{"name": "a", "secretRef": {"name": "theirs", "key": "config"}}]});
    let manifests = "landscaper.gardener.cloud/kubernetes-manifest";
    let execution = json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Execution",
        "metadata": {"name": "direct", "namespace": "team"},
        "spec": {"deployItems": [{"name": "i", "type": "landform.dev/command", "config": program("execution")}]},
    });
    let mut with_access = program("access");
    with_access["access"] = json!({"serviceAccount": "strong"});
    let mut looks = manifest(&[]);
    looks["exports"] = json!({"exports": [{
        "key": "x", "jsonPath": ".data",
        "fromResource": {"apiVersion": "v1", "kind": "Secret", "name": "elsewhere", "namespace": "kube-system"},
    }]});
    looks["readinessChecks"] = json!({"custom": [{
        "name": "c", "labelSelector": {"apiVersion": "v1", "kind": "ConfigMap", "matchLabels": {"a": "b"}},
        "requirements": [{"jsonPath": ".data", "operator": "exists"}],
    }]});
    const PROGRAMS: &[&str] = &["run processes.landform.dev", "in the namespace team"];
    const BINDINGS: &[&str] =
        &["create clusterrolebindings.rbac.authorization.k8s.io in the whole cluster"];
    vec![
        Way {
            name: "a command",
            objects: vec![item("command", "landform.dev/command", &run)],
            told_by: "deployitem/command",
            missing: PROGRAMS,
        },
        Way {
            name: "a process",
            objects: vec![item("process", "landform.dev/process", &program("process"))],
            told_by: "deployitem/process",
            missing: PROGRAMS,
        },
        Way {
            name: "objects of this server, all that is missing at once",
            objects: vec![item(
                "manifest",
                manifests,
                &manifest(&[takeover(), map("m", "kube-system")]),
            )],
            told_by: "deployitem/manifest",
            missing: &[
                "create clusterrolebindings.rbac.authorization.k8s.io in the whole cluster",
                "create configmaps in the namespace kube-system",
                "patch configmaps",
            ],
        },
        Way {
            name: "this server as a target",
            objects: vec![
                target("here", json!({"type": "landform.dev/this-server"})),
                with_target,
            ],
            told_by: "deployitem/in-target",
            missing: BINDINGS,
        },
        Way {
            name: "a target whose Secret she can't read",
            objects: vec![
                target(
                    "secretive",
                    json!({"type": "x", "secretRef": {"name": "theirs", "key": "config"}}),
                ),
                with_secret,
            ],
            told_by: "deployitem/of-secret",
            missing: &["get secrets", "theirs", "in the namespace team"],
        },
        Way {
            name: "an account that she may not act as",
            objects: vec![by_account],
            told_by: "deployitem/account",
            missing: &[
                "impersonate serviceaccounts",
                "strong",
                "in the namespace team",
            ],
        },
        Way {
            name: "an execution",
            objects: vec![execution],
            told_by: "execution/direct",
            missing: PROGRAMS,
        },
        Way {
            name: "an installation that runs a program",
            objects: vec![installation(
                "runs",
                json!({}),
                &json!({
                    "name": "i", "type": "landform.dev/command", "config": program("installation"),
                }),
            )],
            told_by: "installation/runs",
            missing: PROGRAMS,
        },
        Way {
            name: "an installation that imports a Secret",
            objects: vec![installation(
                "imports",
                imports,
                &json!({
                    "name": "i", "type": "landscaper.gardener.cloud/mock", "config": {},
                }),
            )],
            told_by: "installation/imports",
            missing: &["get secrets", "theirs", "in the namespace team"],
        },
        Way {
            name: "a hook that is a program",
            objects: vec![
                reconciler("mine", "Gadget", program("hook"), json!({})),
                json!({
                    "apiVersion": "example.com/v1", "kind": "Gadget",
                    "metadata": {"name": "g", "namespace": "team"}, "spec": {},
                }),
            ],
            told_by: "reconciler/mine",
            missing: &[
                "the Reconciler mine",
                "run processes.landform.dev",
                "in the whole cluster",
            ],
        },
        Way {
            name: "a hook that would hold all Secrets",
            objects: vec![json!({
                "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler",
                "metadata": {"name": "secrets"},
                "spec": {
                    "for": {"group": "", "version": "v1", "kind": "Secret"}, "finalize": true,
                    "hook": {"url": "http://127.0.0.1:1/"},
                },
            })],
            told_by: "reconciler/secrets",
            missing: &[
                "Forbidden",
                "get secrets in the whole cluster",
                "update secrets",
            ],
        },
        Way {
            name: "children of the admin's hook",
            objects: vec![json!({
                "apiVersion": "example.com/v1", "kind": "Widget",
                "metadata": {"name": "child", "namespace": "team"}, "spec": {},
            })],
            told_by: "widget/child",
            missing: &[
                "create configmaps",
                "patch configmaps",
                "in the namespace team",
            ],
        },
        Way {
            name: "a Secret that a hook is shown",
            objects: vec![json!({
                "apiVersion": "example.com/v1", "kind": "Widget",
                "metadata": {"name": "shown", "namespace": "team"}, "spec": {"secret": "theirs"},
            })],
            told_by: "widget/shown",
            missing: &["get secrets", "theirs", "in the namespace team"],
        },
        Way {
            name: "a Secret of another namespace",
            objects: vec![json!({
                "apiVersion": "example.com/v1", "kind": "Widget",
                "metadata": {"name": "stray", "namespace": "team"},
                "spec": {"secret": {"name": "elsewhere", "namespace": "kube-system"}},
            })],
            told_by: "widget/stray",
            missing: &[
                "anyNamespace: true",
                ".spec.secret names Secret kube-system/elsewhere",
            ],
        },
        Way {
            name: "an operator of objects",
            objects: vec![version(
                "objects",
                json!({"manifests": {"objects": [takeover()]}}),
            )],
            told_by: "operatorversion/objects.v1.0.0",
            missing: BINDINGS,
        },
        Way {
            name: "an operator that is a process",
            objects: vec![version(
                "process",
                json!({"process": {"config": program("operator")}}),
            )],
            told_by: "operatorversion/process.v1.0.0",
            missing: &["jane", "these are missing"],
        },
        Way {
            name: "a catalog in a ConfigMap of others",
            objects: vec![json!({
                "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "Catalog",
                "metadata": {"name": "theirs"},
                "spec": {"configMap": {"name": "kube-root-ca.crt", "namespace": "kube-system"}},
            })],
            told_by: "catalog/theirs",
            missing: &["jane", "get configmaps"],
        },
        Way {
            name: "a project",
            objects: vec![json!({
                "apiVersion": "landform.dev/v1alpha1", "kind": "Project",
                "metadata": {"name": "files"}, "spec": {"directory": format!("{proof}/projects/files")},
            })],
            told_by: "project/files",
            missing: &[
                "jane",
                "get configmaps",
                "create configmaps",
                "patch configmaps",
            ],
        },
        Way {
            name: "a project of a directory that she may not use",
            objects: vec![json!({
                "apiVersion": "landform.dev/v1alpha1", "kind": "Project",
                "metadata": {"name": "others"}, "spec": {"directory": "others"},
            })],
            told_by: "project/others",
            missing: &["use projectdirectories.landform.dev", "others"],
        },
        Way {
            name: "a process with access, all that is missing at once",
            objects: vec![item("access", "landform.dev/process", &with_access)],
            told_by: "deployitem/access",
            missing: &["run processes.landform.dev", "create serviceaccounts/token"],
        },
        Way {
            name: "exports and checks of objects, all that is missing at once",
            objects: vec![item("looks", manifests, &looks)],
            told_by: "deployitem/looks",
            missing: &[
                "get secrets",
                "elsewhere",
                "in the namespace kube-system",
                "list configmaps in the whole cluster",
            ],
        },
    ]
}

/// Waits until an object says all of this in one line; quotes are escaped there, so none may be asked for.
fn told(server: &Server, way: &Way) {
    let said = "jsonpath={.metadata.annotations.landform\\.dev/error} {.status}{\"\\n\"}";
    let arguments = [&["get", way.told_by, "--watch", "-o", said][..], &TEAM].concat();
    let mut lines = server.kubectl_lines(&arguments);
    let seen = std::panic::AssertUnwindSafe(|| lines.expect(way.missing));
    if std::panic::catch_unwind(seen).is_err() {
        panic!(
            "{} is not refused:\n{}\n{}\n{}",
            way.name,
            lines.report(),
            server.kubectl(&["get", "execution,deployitem", "-n", "team", "-o", "yaml"]),
            server.log()
        );
    }
}

pub(crate) fn world() -> (Server, tempfile::TempDir) {
    let proof = tempfile::tempdir().unwrap();
    let projects = proof.path().join("projects");
    std::fs::create_dir_all(projects.join("files")).unwrap();
    std::fs::write(
        projects.join("files/map.yaml"),
        map("of-project", "team").to_string(),
    )
    .unwrap();
    let server = Server::start_with(&["--projects", projects.to_str().unwrap()]);
    server.apply(RIGHTS);
    let gadgets = server
        .kubectl(&["get", "crd", "widgets.example.com", "-o", "json"])
        .replace("widget", "gadget")
        .replace("Widget", "Gadget");
    let mut gadgets: Value = serde_json::from_str(&gadgets).unwrap();
    gadgets["metadata"] = json!({"name": "gadgets.example.com"});
    gadgets["status"] = Value::Null;
    server.apply(&gadgets.to_string());
    // The admin's hook makes a ConfigMap for each widget, and sees the Secret that it names.
    let answer = json!({"owned": [{
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}, "data": {"a": "b"},
    }]});
    let hook = json!({"command": ["sh", "-c", format!("cat > /dev/null; echo '{answer}'")]});
    let more = json!({
        "owns": [{"version": "v1", "kind": "ConfigMap"}],
        "refs": [{"path": ".spec.secret", "group": "", "version": "v1", "kind": "Secret"}],
    });
    server.apply(&reconciler("admins", "Widget", hook, more).to_string());
    (server, proof)
}

#[test]
fn c6_a_tenant_with_the_least_rights_is_refused_with_what_is_missing() {
    let (server, proof) = world();
    let _leftovers = Leftovers(server.home().to_owned());
    let directory = proof.path().display().to_string();
    for way in ways(&directory) {
        for object in &way.objects {
            server.kubectl_with(&["apply", "-f", "-", JANE], &object.to_string());
        }
        told(&server, &way);
    }
    // Nothing of all that was done.
    let made: Vec<_> = std::fs::read_dir(proof.path()).unwrap().flatten().collect();
    assert_eq!(made.len(), 1, "{made:?}");
    for (kind, name, namespace) in [
        ("clusterrolebinding", "takeover", "team"),
        ("configmap", "m", "kube-system"),
        ("configmap", "m", "team"),
        ("configmap", "child", "team"),
        ("configmap", "of-project", "team"),
    ] {
        let found = server.try_kubectl(&["get", kind, name, "-n", namespace]);
        assert_contains(&found.stderr, &["NotFound"]);
    }
    let held = server.kubectl(&[
        "get",
        "secret",
        "theirs",
        "-n",
        "team",
        "-o",
        "jsonpath={.metadata.finalizers}",
    ]);
    assert_eq!(held, "");
    assert!(!server.log().contains("canary"), "{}", server.log());
}

#[test]
fn c6_with_the_rights_the_same_objects_work_and_are_hers() {
    let (server, proof) = world();
    let _leftovers = Leftovers(server.home().to_owned());
    let directory = proof.path().display().to_string();
    server.kubectl(&[
        "create",
        "role",
        "maps",
        "--verb=get,list,watch,create,patch,delete",
        "--resource=configmaps",
        "-n",
        "team",
    ]);
    server.kubectl(&[
        "create",
        "rolebinding",
        "maps",
        "--role=maps",
        "--serviceaccount=team:strong",
        "-n",
        "team",
    ]);
    // An account that she may act as has the rights to ConfigMaps; she has the one to run programs.
    server.apply(
        "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: jane, namespace: team}
rules:
- {apiGroups: [''], resources: [serviceaccounts], verbs: [impersonate], resourceNames: [strong]}
- {apiGroups: [landform.dev], resources: [processes], verbs: [run]}
",
    );
    server.kubectl(&[
        "create",
        "rolebinding",
        "jane",
        "--role=jane",
        "--user=jane",
        "-n",
        "team",
    ]);
    for way in ways(&directory) {
        let object = way.told_by;
        if ![
            "deployitem/account",
            "deployitem/command",
            "installation/runs",
        ]
        .contains(&object)
        {
            continue;
        }
        for object in &way.objects {
            server.kubectl_with(&["apply", "-f", "-", JANE], &object.to_string());
        }
        let succeeded = "--for=jsonpath={.status.phase}=Succeeded";
        server.kubectl(&[&["wait", succeeded, object, "--timeout=55s"][..], &TEAM].concat());
    }
    assert!(proof.path().join("program").exists());
    assert!(proof.path().join("installation").exists());
    let writer = "jsonpath={.metadata.annotations.landform\\.dev/writer}";
    let of = |object: &str| server.kubectl(&[&["get", object, "-o", writer][..], &TEAM].concat());
    assert_contains(&of("configmap/m"), &["system:serviceaccount:team:strong"]);
    // What is made for her installation is hers.
    for kind in ["execution", "deployitem"] {
        let all = server.kubectl_json(&[&["get", kind][..], &TEAM].concat());
        for object in all["items"].as_array().unwrap() {
            let note = &object["metadata"]["annotations"]["landform.dev/writer"];
            assert_eq!(note.as_str(), Some(r#"{"user":"jane"}"#), "{object}");
        }
    }
    // A right that was taken away is gone at the next run.
    server.kubectl(&["delete", "rolebinding", "jane", "-n", "team"]);
    let again = "landscaper.gardener.cloud/operation=reconcile";
    server.kubectl(&["annotate", "deployitem", "command", again, "-n", "team"]);
    told(
        &server,
        &Way {
            name: "a command, without the right again",
            objects: Vec::new(),
            told_by: "deployitem/command",
            missing: &["run processes.landform.dev"],
        },
    );
    // Her namespace goes all the same, with what she deployed; her commands are not run once more.
    let go = "landscaper.gardener.cloud/delete-without-uninstall=true";
    server.kubectl(&["annotate", "deployitem", "--all", go, "-n", "team"]);
    server.kubectl(&["delete", "namespace", "team", "--timeout=55s"]);
}
