//! C6 in landscapes: what an installation and an execution read for a tenant.

use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use landform_apiserver::{Identity, LocalService};
use serde_json::{Value, json};

use crate::harness::{Landscape, contains, data_import, spec, template, text};

const LANDSCAPER: &str = "landscaper.gardener.cloud";

/// The API of a kind, as Jane sees it.
fn as_jane(landscape: &Landscape, kind: &str) -> Api<DynamicObject> {
    let jane = Identity::new("jane", ["system:authenticated"]);
    let jane = Client::new(LocalService::new(landscape.server.clone(), jane), "default");
    let plural = format!("{}s", kind.to_lowercase());
    let kind = GroupVersionKind::gvk(LANDSCAPER, "v1alpha1", kind);
    Api::default_namespaced_with(jane, &ApiResource::from_gvk_with_plural(&kind, &plural))
}

/// Gives Jane rights to kinds of landscapes.
async fn grant(landscape: &Landscape, name: &str, resources: &[&str], verbs: &[&str]) {
    let group = "rbac.authorization.k8s.io";
    let metadata = json!({"name": name});
    let rules = json!([{"apiGroups": [LANDSCAPER], "resources": resources, "verbs": verbs}]);
    for (kind, content) in [
        ("ClusterRole", json!({"rules": rules})),
        (
            "ClusterRoleBinding",
            json!({
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "User", "name": "jane", "apiGroup": group}],
            }),
        ),
    ] {
        let mut object = content;
        object["apiVersion"] = json!(format!("{group}/v1"));
        object["kind"] = json!(kind);
        object["metadata"] = metadata.clone();
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        let api: Api<DynamicObject> = Api::all_with(landscape.client.clone(), &resource);
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }
}

async fn install_as_jane(landscape: &Landscape, name: &str, blueprint: Value, rest: Value) {
    let object = json!({
        "apiVersion": format!("{LANDSCAPER}/v1alpha1"), "kind": "Installation",
        "metadata": {"name": name}, "spec": spec(blueprint, rest),
    });
    let object = serde_json::from_value(object).unwrap();
    let api = as_jane(landscape, "Installation");
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// Shows what it imports in the state of its template, which others read.
fn reader(imports: Value) -> Value {
    json!({
    "imports": imports,
    "deployExecutions": template("e", "state: {all: {{ .imports | toJson | quote }}}\ndeployItems: []"),
    })
}

#[tokio::test]
async fn c6_an_installation_imports_only_what_its_writer_may_read() {
    let landscape = Landscape::new().await;
    grant(&landscape, "installations", &["installations"], &["*"]).await;
    landscape
        .data("config", json!({"password": "canary"}))
        .await;
    landscape
        .target("cluster", json!({"kubeconfig": "canary"}))
        .await;
    let imports = json!([
        data_import("d", json!({})),
        {"name": "t", "type": "target", "targetType": "test.dev/place"},
        {"name": "l", "type": "targetList", "targetType": "test.dev/place"},
    ]);
    let wiring = json!({"imports": {
        "data": [{"name": "d", "dataRef": "config"}],
        "targets": [{"name": "t", "target": "cluster"}, {"name": "l", "targets": ["cluster"]}],
    }});
    install_as_jane(&landscape, "reads", reader(imports), wiring).await;
    let refused = landscape.until("Installation", "reads", |object| {
        object["status"].to_string().contains("are missing")
    });
    let refused = refused.await["status"].to_string();
    let dataobject = "get dataobjects.landscaper.gardener.cloud";
    contains(
        &refused,
        &[dataobject, "get targets.landscaper.gardener.cloud"],
    );
    assert!(!refused.contains("canary"), "{refused}");

    grant(&landscape, "reads", &["dataobjects", "targets"], &["get"]).await;
    landscape
        .annotate(
            "Installation",
            "reads",
            crate::harness::OPERATION,
            "reconcile",
        )
        .await;
    landscape.phase("reads", "Succeeded").await;
}

#[tokio::test]
async fn c6_what_installations_hand_on_needs_no_right() {
    let landscape = Landscape::new().await;
    grant(&landscape, "installations", &["installations"], &["*"]).await;
    let exporter = json!({
        "exports": [data_import("v", json!({}))],
        "exportExecutions": template("e", "exports: {v: {port: 1}}"),
    });
    let imports = json!({"data": [{"name": "d", "dataRef": "shared"}]});
    let reads = reader(json!([data_import("d", json!({}))]));
    // Before there is anything to import.
    install_as_jane(&landscape, "reads", reads, json!({"imports": imports})).await;
    let exports = json!({"exports": {"data": [{"name": "v", "dataRef": "shared"}]}});
    install_as_jane(&landscape, "writes", exporter, exports).await;
    landscape.phase("writes", "Succeeded").await;
    landscape.phase("reads", "Succeeded").await;
}

#[tokio::test]
async fn c6_an_execution_reads_only_the_secret_of_its_item() {
    let landscape = Landscape::new().await;
    grant(&landscape, "status", &["deployitems/status"], &["*"]).await;
    let secret = json!({"stringData": {"config": r#"{"k": "canary"}"#}});
    landscape.create("Secret", "theirs", secret).await;
    let blueprint = json!({
    "exports": [data_import("v", json!({}))],
    "deployExecutions": template("d", "deployItems:\n- {name: it, type: landscaper.gardener.cloud/mock, config: {export: {k: orig}}}"),
    "exportExecutions": template("e", "exports: {v: {{ .values.deployitems.it | toJson }} }"),
    });
    let exports = json!({"exports": {"data": [{"name": "v", "dataRef": "out"}]}});
    landscape.install("adm", blueprint, exports).await;
    landscape.phase("adm", "Succeeded").await;
    let names = landscape.names("DeployItem").await;
    let (items, options) = (as_jane(&landscape, "DeployItem"), PatchParams::default());
    let forge = async |status: Value| {
        let patch = Patch::Merge(json!({"status": status}));
        let patched = items.patch_status(&names[0], &options, &patch).await;
        patched.unwrap();
    };
    forge(json!({"phase": "Progressing"})).await;
    let execution = "adm";
    landscape
        .until("Execution", execution, |object| {
            object["status"]["phase"] == "Progressing"
        })
        .await;
    let reference = json!({"name": "theirs", "namespace": "default"});
    forge(json!({"phase": "Succeeded", "exportRef": reference})).await;
    let told = landscape.until("Execution", execution, |object| {
        text(&object["status"]["lastError"]["message"]).contains("isn't its own")
    });
    told.await;
    for object in landscape.list("DataObject").await {
        assert!(!object.to_string().contains("canary"), "{object}");
    }
}
