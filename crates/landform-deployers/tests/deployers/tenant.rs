//! C6: what deployers do for a tenant, with Landform's own rights and with the tenant's.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use landform_apiserver::{Identity, LocalService};
use landform_deployers::DeployItems;
use landform_deployers::manifest::{KIND, ManifestDeployer};
use landform_deployers::mock::Mock;
use serde_json::{Value, json};

use crate::harness::World;

/// A refusal comes within this time.
const PATIENCE: Duration = Duration::from_secs(30);

/// A world, and Jane in it, who may write deploy items and no more than a test grants.
struct Tenancy {
    world: World,
    jane: Client,
}

impl Tenancy {
    async fn new() -> Self {
        let items = DeployItems::new().with(ManifestDeployer::new()).with(Mock);
        let world = World::new(items).await;
        let jane = Identity::new("jane", ["system:authenticated"]);
        let jane = Client::new(LocalService::new(world.server.clone(), jane), "default");
        let tenancy = Self { world, jane };
        let items = json!({
            "apiGroups": ["landscaper.gardener.cloud"],
            "resources": ["deployitems", "deployitems/status"], "verbs": ["*"],
        });
        tenancy.grant("items", json!([items])).await;
        tenancy
    }

    async fn make(&self, object: Value) {
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let kind = kube::core::GroupVersionKind::try_from(object.types.as_ref().unwrap()).unwrap();
        let resource = kube::core::ApiResource::from_gvk(&kind);
        let api: Api<DynamicObject> = match &object.metadata.namespace {
            Some(namespace) => {
                Api::namespaced_with(self.world.client.clone(), namespace, &resource)
            }
            None => Api::all_with(self.world.client.clone(), &resource),
        };
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Gives Jane rights in the whole cluster.
    async fn grant(&self, name: &str, rules: Value) {
        let group = "rbac.authorization.k8s.io";
        let api = format!("{group}/v1");
        let metadata = json!({"name": name});
        let role =
            json!({"apiVersion": api, "kind": "ClusterRole", "metadata": metadata, "rules": rules});
        self.make(role).await;
        self.make(json!({
            "apiVersion": api, "kind": "ClusterRoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "User", "name": "jane", "apiGroup": group}],
        }))
        .await;
    }

    fn items(&self) -> Api<DynamicObject> {
        let kind = kube::core::GroupVersionKind::gvk(
            "landscaper.gardener.cloud",
            "v1alpha1",
            "DeployItem",
        );
        let resource = kube::core::ApiResource::from_gvk_with_plural(&kind, "deployitems");
        Api::default_namespaced_with(self.jane.clone(), &resource)
    }

    /// Jane writes an item, which is handed out.
    async fn item(&self, name: &str, spec: Value) -> DynamicObject {
        let item = json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
            "metadata": {"name": name, "annotations": {
                "landscaper.gardener.cloud/reconcile-time":
                    landform_engine::write_time(crate::harness::now_ms()),
            }},
            "spec": spec,
        });
        let item = serde_json::from_value(item).unwrap();
        let created = self.items().create(&PostParams::default(), &item).await;
        created.unwrap()
    }

    async fn patch(&self, name: &str, patch: Value) {
        let (items, options) = (self.items(), PatchParams::default());
        let patched = items.patch(name, &options, &Patch::Merge(patch)).await;
        patched.unwrap();
    }

    async fn patch_status(&self, name: &str, patch: Value) {
        let (items, options) = (self.items(), PatchParams::default());
        let patched = items
            .patch_status(name, &options, &Patch::Merge(patch))
            .await;
        patched.unwrap();
    }

    async fn delete(&self, name: &str) {
        let items = self.items();
        items
            .delete(name, &DeleteParams::background())
            .await
            .unwrap();
    }

    /// What the item says while it can't go.
    async fn refusal(&self, name: &str) -> String {
        let item = self.world.until(name, |item| {
            item.data["status"]["lastError"]["reason"] == "Forbidden"
        });
        let item = tokio::time::timeout(PATIENCE, item);
        let item = item.await.unwrap();
        item.data["status"]["lastError"]["message"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::default_namespaced(self.world.client.clone())
    }

    async fn has_map(&self, name: &str) -> bool {
        self.maps().get_opt(name).await.unwrap().is_some()
    }

    async fn has_namespace(&self, name: &str) -> bool {
        let namespaces: Api<Namespace> = Api::all(self.world.client.clone());
        let found = namespaces.get_opt(name).await.unwrap();
        found.is_some_and(|found| found.metadata.deletion_timestamp.is_none())
    }
}

fn rule(resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [""], "resources": resources, "verbs": verbs})
}

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"}, "data": {"a": "b"}})
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn adopting(mut object: Value) -> Value {
    object["metadata"]["annotations"] = json!({"landform.dev/adopt": "true"});
    object
}

fn manifests(objects: &[Value]) -> Value {
    let manifests: Vec<Value> = objects
        .iter()
        .map(|object| json!({"policy": "manage", "manifest": object}))
        .collect();
    json!({"type": KIND, "config": {"thisServer": true, "manifests": manifests}})
}

#[tokio::test]
async fn c6_what_an_item_adopted_goes_only_with_the_writers_right_to_delete_it() {
    let tenancy = Tenancy::new().await;
    let writes = rule(&["configmaps", "namespaces"], &["get", "create", "patch"]);
    tenancy.grant("writes", json!([writes])).await;
    tenancy.make(map("precious")).await;
    tenancy.make(namespace("victim")).await;
    let objects = [
        adopting(map("precious")),
        adopting(namespace("victim")),
        map("own"),
    ];
    tenancy.item("a", manifests(&objects)).await;
    tenancy.world.until_phase("a", "Succeeded").await;
    tenancy.delete("a").await;
    let message = tenancy.refusal("a").await;
    for part in [
        "delete configmaps \"precious\" in the namespace default",
        "delete namespaces \"victim\" in the whole cluster",
        "delete-without-uninstall=true",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(!message.contains("own"), "{message}");
    assert!(tenancy.has_map("precious").await && tenancy.has_namespace("victim").await);

    // With the rights it goes by itself.
    let deletes = rule(&["configmaps", "namespaces"], &["delete"]);
    tenancy.grant("deletes", json!([deletes])).await;
    tenancy.world.until_gone("a").await;
    assert!(!tenancy.has_map("precious").await && !tenancy.has_namespace("victim").await);
    assert!(!tenancy.has_map("own").await);
}

#[tokio::test]
async fn c6_what_an_item_adopted_stays_when_the_item_goes_without_uninstall() {
    let tenancy = Tenancy::new().await;
    let writes = rule(&["configmaps"], &["get", "create", "patch"]);
    tenancy.grant("writes", json!([writes])).await;
    tenancy.make(map("precious")).await;
    tenancy
        .item("a", manifests(&[adopting(map("precious"))]))
        .await;
    tenancy.world.until_phase("a", "Succeeded").await;
    tenancy.delete("a").await;
    tenancy.refusal("a").await;
    let way_out = json!({"metadata": {"annotations": {
        "landscaper.gardener.cloud/delete-without-uninstall": "true",
    }}});
    tenancy.patch("a", way_out).await;
    tenancy.world.until_gone("a").await;
    assert!(tenancy.has_map("precious").await);
}

#[tokio::test]
async fn c6_what_an_item_made_goes_without_a_right_but_not_a_namespace() {
    let tenancy = Tenancy::new().await;
    let writes = rule(&["configmaps", "namespaces"], &["get", "create", "patch"]);
    tenancy.grant("writes", json!([writes])).await;
    tenancy.item("a", manifests(&[map("own")])).await;
    tenancy.item("b", manifests(&[namespace("made")])).await;
    tenancy.world.until_phase("a", "Succeeded").await;
    tenancy.world.until_phase("b", "Succeeded").await;
    tenancy.delete("a").await;
    tenancy.world.until_gone("a").await;
    assert!(!tenancy.has_map("own").await);
    // Others may have put into it what she may not delete.
    tenancy.delete("b").await;
    let message = tenancy.refusal("b").await;
    assert!(message.contains("delete namespaces \"made\""), "{message}");
    assert!(tenancy.has_namespace("made").await);
}

#[tokio::test]
async fn c6_a_mark_and_a_status_that_a_client_wrote_delete_nothing() {
    let tenancy = Tenancy::new().await;
    let writes = rule(&["configmaps"], &["get", "create", "patch"]);
    tenancy.grant("writes", json!([writes])).await;
    tenancy.make(map("victim")).await;
    let item = tenancy.item("a", manifests(&[map("own")])).await;
    let deployed = tenancy.world.until_phase("a", "Succeeded").await;
    let victim = tenancy.maps().get("victim").await.unwrap();
    let own = tenancy.maps().get("own").await.unwrap();
    let marks = json!({"metadata": {"annotations": {
        "landform.dev/deploy-item": item.metadata.uid,
        "landform.dev/maker": own.metadata.annotations.as_ref().unwrap().get("landform.dev/maker"),
    }}});
    let maps: Api<ConfigMap> = Api::default_namespaced(tenancy.jane.clone());
    let options = PatchParams::default();
    let marked = maps.patch("victim", &options, &Patch::Merge(marks)).await;
    marked.unwrap();
    let remembered = &deployed.data["status"]["providerStatus"];
    let forged = remembered.to_string();
    let forged = forged.replace(
        own.metadata.uid.as_ref().unwrap(),
        &victim.metadata.uid.unwrap(),
    );
    let forged: Value = serde_json::from_str(&forged.replace("\"own\"", "\"victim\"")).unwrap();
    tenancy
        .patch_status("a", json!({"status": {"providerStatus": forged}}))
        .await;
    tenancy.delete("a").await;
    let message = tenancy.refusal("a").await;
    assert!(
        message.contains("delete configmaps \"victim\""),
        "{message}"
    );
    assert!(tenancy.has_map("victim").await);
}

#[tokio::test]
async fn c6_a_secret_that_isnt_the_items_is_neither_overwritten_nor_deleted() {
    let tenancy = Tenancy::new().await;
    let mock = |config: Value| json!({"type": "landscaper.gardener.cloud/mock", "config": config});
    tenancy
        .make(json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "a-export", "namespace": "default"},
            "stringData": {"config": "theirs"}}))
        .await;
    tenancy
        .item("a", mock(json!({"export": {"k": "evil"}})))
        .await;
    let item = tenancy.world.until_phase("a", "Failed").await;
    let message = item.data["status"]["lastError"]["message"]
        .as_str()
        .unwrap();
    assert!(message.contains("Secret a-export"), "{message}");
    let secrets: Api<Secret> = Api::default_namespaced(tenancy.world.client.clone());
    let content = async || {
        let secret = secrets.get("a-export").await.unwrap();
        String::from_utf8(secret.data.unwrap().remove("config").unwrap().0).unwrap()
    };
    assert_eq!(content().await, "theirs");
    // An item that exports nothing, with a status that says it had exported.
    let forged = json!({"exportRef": {"name": "a-export", "namespace": "default"}});
    tenancy.patch_status("a", json!({"status": forged})).await;
    let nothing = json!({"spec": {"config": {"export": null}}, "metadata": {"annotations": {
        "landscaper.gardener.cloud/operation": "reconcile",
    }}});
    tenancy.patch("a", nothing).await;
    tenancy.world.until_phase("a", "Succeeded").await;
    assert_eq!(content().await, "theirs");
}

/// A configuration whose manifest is another item, and asks it to run.
fn asking(other: &str) -> Value {
    manifests(&[json!({
        "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
        "metadata": {"name": other, "namespace": "default", "annotations": {
            "landscaper.gardener.cloud/operation": "reconcile", "landform.dev/adopt": "true",
        }},
    })])
}

#[tokio::test]
async fn items_that_ask_each_other_to_run_come_to_rest_and_go() {
    for ring in [&["a", "b"][..], &["a", "b", "c"]] {
        let tenancy = Tenancy::new().await;
        for (place, name) in ring.iter().enumerate() {
            let next = ring[(place + 1) % ring.len()];
            tenancy.item(name, asking(next)).await;
        }
        for name in ring {
            tenancy.world.until_phase(name, "Succeeded").await;
        }
        let versions = async || {
            let mut all = Vec::new();
            for name in ring {
                let item = tenancy.items().get(name).await.unwrap();
                all.push(item.metadata.resource_version);
            }
            all
        };
        let mut before = versions().await;
        let mut rested = false;
        // Each comes up while the others would go on.
        for number in 0..10 {
            let name = format!("other{number}");
            let spec = json!({"type": "landscaper.gardener.cloud/mock", "config": {}});
            tenancy.item(&name, spec).await;
            tenancy.world.until_phase(&name, "Succeeded").await;
            let now = versions().await;
            rested = now == before;
            before = now;
        }
        assert!(rested, "{ring:?} go on");
        for name in ring {
            tenancy.delete(name).await;
        }
        for name in ring {
            tenancy.world.until_gone(name).await;
        }
    }
}
