//! Ten kinds of trouble, and what people are told: each names the root cause, checked word by word.

use landform_explain::why::Rank;
use serde_json::{Value, json};

use crate::harness::{FINE, World, product, wiring};

#[tokio::test]
async fn nothing_is_wrong() {
    let world = World::new().await;
    world
        .install("web", product(&[], &[], FINE), json!({}))
        .await;
    world.phase("Installation", "web", "Succeeded").await;
    let expected = "Installation/web is Succeeded since TIME; nothing is wrong with it\n";
    world.says("Installation", "web", expected).await;
}

#[tokio::test]
async fn a_missing_import_that_nobody_exports() {
    let world = World::new().await;
    world
        .install(
            "db",
            product(&[], &["db-url"], FINE),
            wiring(&[], &["db-url"]),
        )
        .await;
    world
        .install(
            "web",
            product(&["db-uri"], &[], FINE),
            wiring(&["db-uri"], &[]),
        )
        .await;
    world
        .phase("Installation", "web", "PendingDependencies")
        .await;
    let expected = "\
Installation/web is PendingDependencies since TIME

Installation/web PendingDependencies
└─ DataObject/db-uri missing: the import db-uri needs it, and it doesn't exist [I14]

Root cause
  DataObject/db-uri doesn't exist, and no installation in the namespace default exports it
  Missing, since TIME, rule I14
  → create DataObject/db-uri in the namespace default, let an installation export it, or change Installation/web in the file web.yaml; did you mean db-url, which Installation/db exports?
";
    world.says("Installation", "web", expected).await;
}

#[tokio::test]
async fn a_failed_item_behind_two_installations() {
    let world = World::new().await;
    let broken = "{fails: the disk is full}";
    world
        .install("db", product(&[], &["url"], broken), wiring(&[], &["url"]))
        .await;
    world
        .install(
            "api",
            product(&["url"], &["api"], FINE),
            wiring(&["url"], &["api"]),
        )
        .await;
    world
        .install("web", product(&["api"], &[], FINE), wiring(&["api"], &[]))
        .await;
    world.phase("Installation", "db", "Failed").await;
    let expected = "\
Installation/web is PendingDependencies since TIME

Installation/web PendingDependencies
└─ Installation/api PendingDependencies: its phase is PendingDependencies, not Succeeded [I14]
   └─ Installation/db Failed: its phase is Failed, not Succeeded [I14]
      └─ Execution/db Failed: the Execution db has not succeeded [I16]
         └─ DeployItem/db-main-##### Failed: the deploy item main has failed [E9]

Root cause
  DeployItem/db-main-#####: the disk is full
  Refused, since TIME
  → fix the blueprint or the imports of Installation/db in the file db.yaml; Landform goes on by itself when they change
";
    world.says("Installation", "web", expected).await;
}

#[tokio::test]
async fn i4_what_is_reconciled_automatically_says_when_and_that_it_goes_on_by_itself() {
    let world = World::new().await;
    let mut rest = wiring(&[], &["url"]);
    rest["automaticReconcile"] = json!({"failedReconcile": {"interval": "1h"}});
    let broken = product(&[], &["url"], "{fails: the disk is full}");
    world.install("db", broken, rest).await;
    let expected = "\
Installation/db is Failed since TIME

Installation/db Failed
└─ Execution/db Failed: the Execution db has not succeeded [I16]
   └─ DeployItem/db-main-##### Failed: the deploy item main has failed [E9]

Root cause
  DeployItem/db-main-#####: the disk is full
  Refused, since TIME
  → fix the blueprint or the imports of Installation/db in the file db.yaml; Landform goes on by itself when they change; it is also tried again by itself, next at TIME (spec.automaticReconcile of Installation/db)
";
    world.says("Installation", "db", expected).await;
}

#[tokio::test]
async fn c6_a_write_that_was_refused_says_when_it_is_tried_again() {
    let world = World::new().await;
    let hard = json!({"count/executions.landscaper.gardener.cloud": "0"});
    world
        .create(json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
            "spec": {"hard": hard},
        }))
        .await;
    world
        .install("db", product(&[], &[], FINE), json!({}))
        .await;
    world.phase("Installation", "db", "Failed").await;
    let why = world.why_of("Installation", "db").await;
    let root = &why.roots[0];
    assert_eq!(root.reason, "WriteRefused");
    assert!(root.act.contains("tries again"), "{}", root.act);
    assert!(!root.act.contains("landform reconcile"), "{}", root.act);
}

#[tokio::test]
async fn a_cycle_of_imports() {
    let world = World::new().await;
    for (name, from) in [("a", "b"), ("b", "a")] {
        world
            .install(
                name,
                product(&[from], &[name], FINE),
                wiring(&[from], &[name]),
            )
            .await;
    }
    world.phase("Installation", "b", "Failed").await;
    let expected = "\
Installation/b is Failed since TIME

Root cause
  Installation/b: installations import from each other in a circle, so none of them can be first: DataObject.landscaper.gardener.cloud default/a → Installation.landscaper.gardener.cloud default/a → DataObject.landscaper.gardener.cloud default/b → Installation.landscaper.gardener.cloud default/b → DataObject.landscaper.gardener.cloud default/a; take one import out of it
  CyclicDependencies, since TIME
  → take one reference out of the circle, for instance in Installation/b in the file b.yaml; Landform goes on by itself then
";
    world.says("Installation", "b", expected).await;
    // The other one had begun before there was a circle; it is told of the same one.
    let other = world.why_of("Installation", "a").await;
    assert_eq!(other.roots.len(), 1);
    assert_eq!(other.roots[0].rank, Rank::Person);
    assert!(other.roots[0].message.contains("default/b"), "{other:#?}");
}

#[tokio::test]
async fn a_deletion_that_an_importer_and_a_finalizer_block() {
    let world = World::new().await;
    world
        .install("db", product(&[], &["url"], FINE), wiring(&[], &["url"]))
        .await;
    world
        .install("web", product(&["url"], &[], FINE), wiring(&["url"], &[]))
        .await;
    world.phase("Installation", "web", "Succeeded").await;
    world.delete("Installation", "db").await;
    let expected = "\
Installation/db is being deleted since TIME

Installation/db Succeeded, being deleted
└─ Installation/web Succeeded: it imports what this one exports [I31]

Root cause
  Installation/db waits for Installation/web: it imports what this one exports
  WaitedFor, since TIME, rule I31
  → delete Installation/web first, or change its imports, so that Installation/db can go
";
    world.says("Installation", "db", expected).await;

    let execution = world.api("Execution").get("web").await.unwrap();
    let mut finalizers = execution.metadata.finalizers.unwrap_or_default();
    finalizers.push("backup.example.com/hold".into());
    world
        .patch(
            "Execution",
            "web",
            json!({"metadata": {"finalizers": finalizers}}),
        )
        .await;
    world.delete("Installation", "web").await;
    let expected = "\
Installation/db is being deleted since TIME

Installation/db Succeeded, being deleted
└─ Installation/web Deleting: it imports what this one exports [I31]
   └─ Execution/web Deleting: it must go first [I33]

Root cause
  Execution/web is held by backup.example.com/hold, which the controller of backup.example.com has to remove
  Finalizer, since TIME
  → the controller of backup.example.com has to remove the finalizer backup.example.com/hold: see whether it runs; if it never will again, remove the finalizer from Execution/web yourself
";
    world.says("Installation", "db", expected).await;
}

fn version(version: &str, more: Value) -> Value {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "etcd-operator"}, "data": {"version": version},
    });
    let mut spec = json!({
        "package": "etcd", "version": version,
        "manages": {"matchLabels": {"app": "etcd"}, "kinds": [{"group": "", "version": "v1", "kind": "ConfigMap"}]},
        "install": {"manifests": {"objects": [map]}},
    });
    if let Value::Object(more) = more {
        for (name, value) in more {
            spec[name] = value;
        }
    }
    json!({
        "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "OperatorVersion",
        "metadata": {"name": format!("etcd.v{version}")}, "spec": spec,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_upgrade() {
    let world = World::new().await;
    let catalog = |versions: Value| {
        json!({
            "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "Catalog", "metadata": {"name": "tests"},
            "spec": {"inline": versions},
        })
    };
    world
        .create(catalog(json!([version("1.0.0", json!({}))])))
        .await;
    world
        .create(json!({
            "apiVersion": "catalog.landform.dev/v1alpha1", "kind": "AppType", "metadata": {"name": "etcd"},
            "spec": {"package": "etcd", "upgradePolicy": "Manual"},
        }))
        .await;
    world.phase("AppType", "etcd", "Succeeded").await;
    let next = version("1.1.0", json!({"replaces": "etcd.v1.0.0"}));
    let spec = catalog(json!([version("1.0.0", json!({})), next]))["spec"].clone();
    world.patch("Catalog", "tests", json!({"spec": spec})).await;
    world
        .until("AppType", "etcd", |object| {
            object["status"]["blockedBy"].is_array()
        })
        .await;
    let expected = "\
AppType/etcd is Succeeded since TIME

Root cause
  AppType/etcd: 1.1.0 waits for approval
  NotApproved, since TIME, rule O5
  → approve it with `landform approve`
";
    world.says("AppType", "etcd", expected).await;
}

/// Defines the kind Toy, and has it reconciled by a hook that never ends.
async fn define_toys(world: &World, finalize: bool, command: Value) {
    world
        .create(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "toys.toys.example.com"},
            "spec": {
                "group": "toys.example.com", "scope": "Namespaced",
                "names": {"kind": "Toy", "plural": "toys", "singular": "toy"},
                "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
            },
        }))
        .await;
    world
        .create(json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "Reconciler", "metadata": {"name": "toys"},
            "spec": {
                "for": {"group": "toys.example.com", "version": "v1", "kind": "Toy"},
                "hook": {"command": command}, "timeout": "60s", "finalize": finalize,
                "refs": [{"path": ".spec.needs"}],
            },
        }))
        .await;
}

fn toy(name: &str, needs: Value) -> Value {
    json!({
        "apiVersion": "toys.example.com/v1", "kind": "Toy", "metadata": {"name": name},
        "spec": {"needs": needs},
    })
}

#[tokio::test]
async fn a_hook_that_does_not_let_go() {
    let world = World::new().await;
    // It answers for objects that live, and has a complaint about those that are deleted.
    let script = r#"case "$(cat)" in *'"deleting":true'*) echo '{"error": {"message": "the bucket is not empty", "retry": false}}';; *) echo '{}';; esac"#;
    define_toys(&world, true, json!(["sh", "-c", script])).await;
    world.create(toy("car", Value::Null)).await;
    let held = |car: &Value| !car["metadata"]["finalizers"].is_null();
    world.until("Toy", "car", held).await;
    world.delete("Toy", "car").await;
    let expected = "\
Toy/car is being deleted since TIME

Root cause
  Toy/car is held until the hook of Reconciler/toys is done: its last call failed: the bucket is not empty
  Hook, since TIME
  → see what keeps the hook `sh` of Reconciler/toys from being done; it is called again when Toy/car or something that it owns or refers to changes; to let all objects of the kind go without it, set spec.finalize to false with `landform edit reconciler/toys`
";
    world.says("Toy", "car", expected).await;
    // The advice works.
    let let_go = json!({"spec": {"finalize": false}});
    world.patch("Reconciler", "toys", let_go).await;
    world.until("Toy", "car", Value::is_null).await;
}

#[tokio::test]
async fn a_hook_that_hangs() {
    let world = World::new().await;
    define_toys(&world, false, json!(["sleep", "600"])).await;
    world.create(toy("car", Value::Null)).await;
    world.create(toy("train", json!("car"))).await;
    let expected = "\
Toy/train is Pending

Toy/train Pending
└─ Toy/car Running: it is referred to and must have run first

Root cause
  Toy/car: it is being reconciled: appeared
  Running, since TIME
  → the hook `sleep` of Reconciler/toys was called at TIME and has not answered: see what it does
";
    world.says("Toy", "train", expected).await;
}

#[tokio::test]
async fn an_import_against_its_schema() {
    let world = World::new().await;
    world
        .make("DataObject", "port", json!({"data": "many"}))
        .await;
    let mut blueprint = product(&["port"], &[], FINE);
    blueprint["imports"][0]["schema"] = json!({"type": "integer"});
    world
        .install("web", blueprint, wiring(&["port"], &[]))
        .await;
    world.phase("Installation", "web", "Failed").await;
    let expected = "\
Installation/web is Failed since TIME

Root cause
  Installation/web: import \"port\": has to be an integer, and is a string
  InvalidImports, since TIME
  → fix Installation/web in the file web.yaml, or what it imports; Landform goes on by itself when that changes
";
    world.says("Installation", "web", expected).await;
}

#[tokio::test]
async fn an_error_in_a_template() {
    let world = World::new().await;
    let config = "{name: {{ .imports.name | nindent }}}";
    world
        .install("web", product(&[], &[], config), json!({}))
        .await;
    world.phase("Installation", "web", "Failed").await;
    let expected = "\
Installation/web is Failed since TIME

Root cause
  Installation/web: blueprint.yaml (executor \"main\"):1:82: `nindent` takes 2 arguments, and 1 are given
  InvalidBlueprint, since TIME
  → fix Installation/web in the file web.yaml, or what it imports; Landform goes on by itself when that changes
";
    world.says("Installation", "web", expected).await;
}

#[tokio::test]
async fn a_target_that_can_not_be_reached() {
    let world = World::new().await;
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    });
    let kind = "landscaper.gardener.cloud/kubernetes-cluster";
    let spec = json!({"type": kind, "config": {"kubeconfig": kubeconfig.to_string()}});
    world.make("Target", "far", json!({"spec": spec})).await;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}});
    let item = json!({"deployItems": [{
        "name": "main", "type": "landscaper.gardener.cloud/kubernetes-manifest", "target": {"name": "far"},
        "config": {
            "apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderConfiguration",
            "manifests": [{"policy": "manage", "manifest": map}],
        },
    }]});
    let blueprint = json!({
        "imports": [{"name": "cluster", "type": "target", "targetType": kind}],
        "deployExecutions": [{"name": "main", "type": "GoTemplate", "template": item.to_string()
            .replace("\"far\"", "\"{{ .imports.cluster.metadata.name }}\"")}],
    });
    let rest = json!({"imports": {"targets": [{"name": "cluster", "target": "far"}]}});
    world.install("web", blueprint, rest).await;
    let expected = "\
Installation/web is Progressing since TIME

Installation/web Progressing
└─ Execution/web Progressing: it is in work [I11]
   └─ DeployItem/web-main-##### Progressing: it is in work [E7]

Root cause
  DeployItem/web-main-#####: target far: client error (Connect): tcp connect error: Connection refused (os error 111)
  Unreachable, since TIME
  → Landform tries again by itself until TIME; see that Target/far can be reached
";
    world.says("Installation", "web", expected).await;
}

#[tokio::test]
async fn an_item_that_takes_too_long() {
    let world = World::new().await;
    let mut blueprint = product(&[], &[], FINE);
    let template =
        "deployItems: [{name: main, type: test.dev/toy, timeout: 1s, config: {hold: true}}]";
    blueprint["deployExecutions"][0]["template"] = template.into();
    world.install("web", blueprint, json!({})).await;
    world.phase("Installation", "web", "Failed").await;
    let expected = "\
Installation/web is Failed since TIME

Installation/web Failed
└─ Execution/web Failed: the Execution web has not succeeded [I16]
   └─ DeployItem/web-main-##### Failed: the deploy item main has failed [E9]

Root cause
  DeployItem/web-main-#####: the deployer test.dev/toy did not finish within 1s
  ProgressingTimeout, since TIME
  → find out why it took so long, or allow more time in Installation/web in the file web.yaml; then run: landform reconcile Installation/web
";
    world.says("Installation", "web", expected).await;
}

#[tokio::test]
async fn g12b_an_owner_whose_kind_is_defined_nowhere() {
    let world = World::new().await;
    let reference = json!({
        "apiVersion": "example.com/v1", "kind": "Box", "name": "box", "uid": "some-uid",
    });
    world
        .create(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "child", "ownerReferences": [reference]},
        }))
        .await;
    let expected = "\
ConfigMap/child is not as it should be

Root cause
  ConfigMap/child: an owner of it is unknown (it may exist: its kind Box of example.com/v1 is not served), so that it stays until that is known
  OwnerUnknown, rule G12b
  → install the definition of its owner's kind again; if the owner will not come back, delete ConfigMap/child, or keep it without the owner: run landform edit ConfigMap/child and remove the entry with uid some-uid from metadata.ownerReferences
";
    world.says("ConfigMap", "child", expected).await;
}

/// Files of a deleted project are read no more: what is advised is to change the object, and that works.
#[tokio::test]
async fn r13_an_object_of_a_deleted_project_is_not_corrected_in_its_file() {
    let world = World::new().await;
    let project = json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Project",
        "metadata": {"name": "shop", "finalizers": ["landform.dev/project"]}, "spec": {},
    });
    world.create(project).await;
    world
        .install("web", product(&[], &[], FINE), json!({}))
        .await;
    let label = json!({"metadata": {"labels": {"landform.dev/project": "shop"}}});
    world.patch("Installation", "web", label).await;
    world.phase("Installation", "web", "Succeeded").await;
    let wrong = json!({"spec": {"imports": {"data": [{"name": "a", "dataRef": "a"}]}}});
    world.patch("Installation", "web", wrong).await;
    let waits = |found: &Value| found["status"]["phase"] == "PendingDependencies";
    world.until("Installation", "web", waits).await;
    let before = world.why("Installation", "web").await;
    let by_file = "or change Installation/web in the file web.yaml";
    assert!(before.contains(by_file), "{before}");
    // It has its turn later.
    world.delete("Project", "shop").await;
    let said = world.why("Installation", "web").await;
    assert!(!said.contains("web.yaml"), "{said}");
    assert!(said.contains("landform edit Installation/web"), "{said}");
    let edited = json!({"spec": {"imports": {"data": []}}});
    world.patch("Installation", "web", edited).await;
    world.phase("Installation", "web", "Succeeded").await;
}
