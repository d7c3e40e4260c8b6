//! A server in memory with everything that reconciles, and short ways to write, to wait and to ask.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher;
use landform_api::{catalog, landscaper, project};
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_controllers::collector::Collector;
use landform_controllers::landscape::{self, Blueprints};
use landform_deployers::DeployItems;
use landform_deployers::manifest::ManifestDeployer;
use landform_engine::{Engine, definitions, hooks};
use landform_explain::{Explain, Why, render};
use landform_operators::Operators;
use landform_store::memory::MemoryStore;
use regex::Regex;
use serde_json::{Value, json};

use crate::deployer::{TOY, Toy};

/// Everything that should happen happens within this time.
const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) struct World {
    pub(crate) client: Client,
    _explain: Option<Arc<Explain>>,
}

impl World {
    pub(crate) async fn new() -> Self {
        let (server, client) = serve().await;
        let collector = Collector::new(client.clone(), &server.metrics_registry());
        server.mount("deletion", collector.view());
        tokio::spawn(collector.run());
        let (installations, executions) = landscape::reconcilers(Blueprints::new(None));
        let items = DeployItems::new().with(Toy).with(ManifestDeployer::new());
        let wake = items.wake();
        let operators = Operators::default();
        let builder = Engine::builder(client.clone())
            .hooks()
            .reconciler(installations)
            .reconciler(executions)
            .reconciler(items);
        let engine = operators.register(builder, None).start().unwrap();
        operators.connect(&engine);
        wake.connect(&engine);
        let explain = Explain::mount(&server, client.clone(), engine);
        Self {
            client,
            _explain: Some(explain),
        }
    }

    /// Objects stay as they are written.
    pub(crate) async fn without_engine() -> Self {
        let (_, client) = serve().await;
        Self {
            client,
            _explain: None,
        }
    }

    pub(crate) fn api(&self, kind: &str) -> Api<DynamicObject> {
        let (group, version, of_cluster) = match kind {
            "Secret" | "ConfigMap" | "Event" | "ResourceQuota" => ("", "v1", false),
            "Namespace" => ("", "v1", true),
            "Catalog" => (catalog::GROUP, catalog::VERSION, true),
            "AppType" | "OperatorVersion" => (catalog::GROUP, catalog::VERSION, false),
            "Reconciler" | "Project" => ("landform.dev", "v1alpha1", true),
            "CustomResourceDefinition" => ("apiextensions.k8s.io", "v1", true),
            "Toy" => ("toys.example.com", "v1", false),
            _ => (landscaper::GROUP, landscaper::VERSION, false),
        };
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let plural = format!("{}s", kind.to_lowercase());
        let resource = ApiResource::from_gvk_with_plural(&gvk, &plural);
        if of_cluster {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::default_namespaced_with(self.client.clone(), &resource)
        }
    }

    pub(crate) async fn create(&self, object: Value) {
        let api = self.api(text(&object["kind"]));
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }

    /// Makes an object of a landscape.
    pub(crate) async fn make(&self, kind: &str, name: &str, mut content: Value) {
        content["apiVersion"] = landscaper::API_VERSION.into();
        content["kind"] = kind.into();
        content["metadata"]["name"] = name.into();
        self.create(content).await;
    }

    /// Makes an installation from a blueprint, with the other fields of its spec, in a file of a project.
    pub(crate) async fn install(&self, name: &str, blueprint: Value, rest: Value) {
        let mut spec = rest;
        let files = json!({"blueprint.yaml": blueprint.to_string()});
        spec["blueprint"] = json!({"inline": {"filesystem": files}});
        let annotations = json!({project::ANNOTATION_FILE: format!("{name}.yaml")});
        let content = json!({"metadata": {"annotations": annotations}, "spec": spec});
        self.make("Installation", name, content).await;
    }

    pub(crate) async fn patch(&self, kind: &str, name: &str, patch: Value) {
        let (api, patch) = (self.api(kind), Patch::Merge(patch));
        let parameters = PatchParams::default();
        // Others write the same object at the same time.
        while let Err(error) = api.patch(name, &parameters, &patch).await {
            assert!(error.to_string().contains("Conflict"), "{error}");
        }
    }

    pub(crate) async fn patch_status(&self, kind: &str, name: &str, status: Value) {
        let (api, patch) = (self.api(kind), Patch::Merge(json!({"status": status})));
        let parameters = PatchParams::default();
        let patched = api.patch_status(name, &parameters, &patch);
        patched.await.unwrap();
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        let deleted = self
            .api(kind)
            .delete(name, &DeleteParams::background())
            .await;
        deleted.unwrap();
    }

    /// Waits until an object is as wanted, by watching it.
    pub(crate) async fn until(
        &self,
        kind: &str,
        name: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let found = async {
            let mut watch = std::pin::pin!(watcher::watch_object(self.api(kind), name));
            while let Some(found) = watch.next().await {
                let Ok(found) = found else { continue };
                let object = serde_json::to_value(found).unwrap();
                if wanted(&object) {
                    return object;
                }
            }
            panic!("the watch ended");
        };
        match tokio::time::timeout(PATIENCE, found).await {
            Ok(found) => found,
            Err(_) => {
                let found = self.api(kind).get_opt(name).await.unwrap();
                let found = serde_json::to_value(found).unwrap();
                panic!("{kind} {name} is never so: {found:#}");
            }
        }
    }

    pub(crate) async fn phase(&self, kind: &str, name: &str, phase: &str) -> Value {
        self.until(kind, name, |object| object["status"]["phase"] == phase)
            .await
    }

    /// Waits until an object is gone.
    pub(crate) async fn until_gone(&self, kind: &str, name: &str) {
        let gone = async {
            let mut watch = std::pin::pin!(watcher::watch_object(self.api(kind), name));
            while let Some(found) = watch.next().await {
                if matches!(found, Ok(None)) {
                    return;
                }
            }
        };
        let ended = tokio::time::timeout(PATIENCE, gone).await;
        assert!(ended.is_ok(), "{kind} {name} is still there");
    }

    /// Reads a path below the views.
    pub(crate) async fn view(&self, path: &str) -> Value {
        let request = http::Request::get(format!("/apis/landform.dev/v1alpha1/{path}"));
        let request = request.body(Vec::new()).unwrap();
        self.client.request(request).await.unwrap()
    }

    pub(crate) async fn why_of(&self, kind: &str, name: &str) -> Why {
        let group = match kind {
            "AppType" | "OperatorVersion" => catalog::GROUP,
            "Toy" => "toys.example.com",
            "ConfigMap" | "Namespace" => "core",
            "Reconciler" => "landform.dev",
            "CustomResourceDefinition" => "apiextensions.k8s.io",
            _ => landscaper::GROUP,
        };
        let of_cluster = matches!(
            kind,
            "Namespace" | "Reconciler" | "CustomResourceDefinition"
        );
        let namespace = if of_cluster { "-" } else { "default" };
        let answer = self
            .view(&format!("why/{group}/{kind}/{namespace}/{name}"))
            .await;
        serde_json::from_value(answer).unwrap()
    }

    /// The explanation as people read it, without what differs from run to run.
    pub(crate) async fn why(&self, kind: &str, name: &str) -> String {
        normal(&render::why(&self.why_of(kind, name).await))
    }

    /// Asks until the answer is this one: what is asked for is in several statuses.
    #[track_caller]
    pub(crate) fn says(
        &self,
        kind: &str,
        name: &str,
        expected: &str,
    ) -> impl Future<Output = ()> + '_ {
        let place = std::panic::Location::caller();
        let (kind, name, expected) = (kind.to_owned(), name.to_owned(), expected.to_owned());
        async move {
            let end = tokio::time::Instant::now() + PATIENCE / 4;
            loop {
                let said = self.why(&kind, &name).await;
                if said == expected {
                    return;
                }
                if tokio::time::Instant::now() > end {
                    panic!("at {place}\n--- expected\n{expected}\n--- said\n{said}");
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve() -> (ApiServer, Client) {
    let server = ApiServer::start(Arc::new(MemoryStore::new()), Config::default()).await;
    let server = server.unwrap();
    tokio::spawn(server.clone().keep_house());
    let service = LocalService::new(server.clone(), Identity::internal());
    let client = Client::new(service, "default");
    hooks::install(&client).await.unwrap();
    let all = landscaper::definition::definitions().into_iter();
    let all = all.chain(catalog::definition::definitions());
    for definition in all.chain(project::definition::definitions()) {
        definitions::install(&client, &definition).await.unwrap();
    }
    (server, client)
}

/// Times are TIME, and the ends of generated names are #####.
pub(crate) fn normal(text: &str) -> String {
    let time = Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").unwrap();
    let name = Regex::new(r"(-main-)[bcdfghjklmnpqrstvwxz2456789]{5}\b").unwrap();
    let text = time.replace_all(text, "TIME");
    name.replace_all(&text, "$1#####").into_owned()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A blueprint with one item of this configuration, which may hold templates.
pub(crate) fn product(imports: &[&str], exports: &[&str], config: &str) -> Value {
    let named = |names: &[&str]| -> Vec<Value> {
        let all = names.iter();
        all.map(|name| json!({"name": name, "type": "data", "schema": {}}))
            .collect()
    };
    let outcome: String = exports
        .iter()
        .map(|name| format!("  {name}: {{{{ .values.deployitems.main.value | toJson }}}}\n"))
        .collect();
    let items = format!("deployItems: [{{name: main, type: {TOY}, config: {config}}}]");
    let executor =
        |template: &str| json!([{"name": "main", "type": "GoTemplate", "template": template}]);
    json!({
        "imports": named(imports), "exports": named(exports),
        "deployExecutions": executor(&items),
        "exportExecutions": executor(&format!("exports:\n{outcome}")),
    })
}

/// What exports a value.
pub(crate) const FINE: &str = "{export: {value: 1}}";

/// Imports and exports of data under the same names outside and inside.
pub(crate) fn wiring(imports: &[&str], exports: &[&str]) -> Value {
    let named = |names: &[&str]| -> Vec<Value> {
        let names = names.iter();
        names
            .map(|name| json!({"name": name, "dataRef": name}))
            .collect()
    };
    json!({"imports": {"data": named(imports)}, "exports": {"data": named(exports)}})
}
