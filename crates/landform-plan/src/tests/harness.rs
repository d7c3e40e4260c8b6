//! A store with a control plane that comes and goes: started for each change, on a clock of its own, with
//! deployers that note what they do.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landform_api::{catalog, landscaper};
use landform_apiserver::Identity;
use landform_deployers::manifest::ManifestDeployer;
use landform_deployers::mock::{self, Mock};
use landform_deployers::{DeployError, DeployItems, Deployed, Deployer, Job};
use landform_engine::{definitions, hooks};
use landform_store::memory::MemoryStore;
use landform_store::{Bucket, Key, Revision, Store as _};
use serde_json::{Value, json};

use crate::changes::Story;
use crate::log::{Done, Log};
use crate::objects::Objects;
use crate::world::World;
use crate::{Action, Change, Named, Plan, Question, Settings, plan};

/// A type of deploy items whose exports nobody knows before.
pub(super) const OUTSIDE: &str = "example.dev/outside";
pub(super) const API: &str = "landscaper.gardener.cloud/v1alpha1";

/// A store, and what may be done with it.
pub(super) struct Site {
    pub(super) store: Arc<MemoryStore>,
    pub(super) settings: Settings,
}

/// Deploys as its type says, and notes it.
struct Noting(Log, &'static str);

impl Deployer for Noting {
    fn kind(&self) -> &str {
        self.1
    }

    fn deploy<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Deployed, DeployError>> {
        let what = Done::Deployed(Vec::new());
        self.0.note("DeployItem", job.name(), what);
        Mock.deploy(job)
    }

    fn remove<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        self.0.note("DeployItem", job.name(), Done::Removed);
        Mock.remove(job)
    }
}

/// Runs something on a runtime whose time goes on by itself.
pub(super) fn on_paused<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(work)
}

/// A store in which all kinds are installed.
fn template() -> &'static MemoryStore {
    static TEMPLATE: OnceLock<MemoryStore> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let store = Arc::new(MemoryStore::new());
        let site = Site {
            store: store.clone(),
            settings: Settings::default(),
        };
        on_paused(async {
            let world = site.world().await;
            hooks::install(&world.client).await.unwrap();
            let kinds = landscaper::definition::definitions().into_iter();
            for definition in kinds.chain(catalog::definition::definitions()) {
                definitions::install(&world.client, &definition)
                    .await
                    .unwrap();
            }
            assert!(world.settle().await);
        });
        store.fork().now_or_never().unwrap().unwrap()
    })
}

impl Site {
    pub(super) fn new() -> Self {
        let store = template().fork().now_or_never().unwrap().unwrap();
        Self {
            store: Arc::new(store),
            settings: Settings::default(),
        }
    }

    pub(super) async fn world(&self) -> World {
        let log = Log::new(self.store.clone());
        let items = DeployItems::new()
            .with(Noting(log.clone(), mock::KIND))
            .with(Noting(log.clone(), OUTSIDE))
            .with(ManifestDeployer::new());
        let world = World::start_with(self.store.clone(), &self.settings, log, items);
        world.await.unwrap()
    }

    /// Makes a change in earnest; what came of it.
    pub(super) fn make(&self, question: &Question) -> Vec<Change> {
        on_paused(async {
            let world = self.world().await;
            assert!(world.settle().await);
            let _ = (world.record.take(), world.log.take());
            let base = world.store.fork().await.unwrap();
            let _ = world.change(question, &Identity::internal()).await;
            assert!(world.settle().await);
            let (touched, entries) = (world.record.take(), world.log.take());
            let objects = Objects::new(&base, &world.store);
            Story::new(&objects, question).tell(&touched, &entries)
        })
    }

    /// Applies manifests in earnest.
    pub(super) fn apply(&self, objects: Vec<Value>) {
        self.make(&applied(objects));
    }

    pub(super) fn plan(&self, question: &Question) -> Plan {
        self.plan_as(question, &Identity::internal())
    }

    /// The plan that a user is given.
    pub(super) fn plan_as(&self, question: &Question, who: &Identity) -> Plan {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let plan = plan(&*self.store, question.clone(), &self.settings, who);
        let patience = Duration::from_secs(120);
        let plan = async { tokio::time::timeout(patience, plan).await };
        let plan = runtime.unwrap().block_on(plan).unwrap().unwrap();
        assert!(plan.settled, "{plan:#?}");
        plan
    }

    pub(super) fn revision(&self) -> Revision {
        self.store.revision()
    }

    pub(super) fn get(&self, bucket: &str, name: &str) -> Option<Value> {
        let key = Key::new(&Bucket::new(bucket), name);
        let record = self.store.get(&key).now_or_never().unwrap().unwrap();
        record.map(|record| serde_json::from_slice(&record.value).unwrap())
    }

    pub(super) fn phase(&self, installation: &str) -> Value {
        let name = format!("default/{installation}");
        let found = self.get("installations.landscaper.gardener.cloud", &name);
        found.unwrap()["status"]["phase"].clone()
    }
}

pub(super) fn applied(objects: Vec<Value>) -> Question {
    Question {
        objects,
        ..Question::default()
    }
}

pub(super) fn deleted(kind: &str, name: &str) -> Question {
    Question {
        delete: vec![named(kind, name)],
        ..Question::default()
    }
}

pub(super) fn named(kind: &str, name: &str) -> Named {
    Named {
        api_version: API.into(),
        kind: kind.into(),
        namespace: "default".into(),
        name: name.into(),
    }
}

/// Action and path of each change, as `Create Installation/a > Execution/a`.
pub(super) fn lines(changes: &[Change]) -> Vec<String> {
    let changes = changes.iter();
    changes.map(line).collect()
}

pub(super) fn line(change: &Change) -> String {
    format!("{:?} {}", change.action, change.object.path.join(" > "))
}

pub(super) fn has(plan: &Plan, action: Action, path: &str) -> bool {
    let wanted = format!("{action:?} {path}");
    lines(&plan.changes).contains(&wanted)
}

pub(super) fn data(name: &str, value: Value) -> Value {
    json!({
        "apiVersion": API, "kind": "DataObject",
        "metadata": {"name": name, "namespace": "default"}, "data": value,
    })
}

/// An installation of one item, of a type, that exports under its own name what it imports and a constant.
pub(super) fn installation(kind: &str, name: &str, imports: &[&str], constant: &Value) -> Value {
    let deploy = format!(
        "deployItems: [{{name: item, type: {kind}, config: {{imports: {{{{ toJson .imports }}}}, \
         export: {{value: {{constant: {constant}, imports: {{{{ toJson .imports }}}}}}}}}}}}]"
    );
    with_items(name, imports, &deploy)
}

/// An installation with this executor, whose item `item` exports `value`.
pub(super) fn with_items(name: &str, imports: &[&str], deploy: &str) -> Value {
    let executor =
        |name: &str, text: &str| json!([{"name": name, "type": "GoTemplate", "template": text}]);
    let declared = |name: &&str| json!({"name": name, "type": "data", "schema": {}});
    let exports = "exports:\n  out: {{ .values.deployitems.item.value | toJson }}\n";
    let blueprint = json!({
        "imports": imports.iter().map(declared).collect::<Vec<_>>(),
        "exports": [declared(&"out")],
        "deployExecutions": executor("items", deploy),
        "exportExecutions": executor("exports", exports),
    });
    let given = |name: &&str| json!({"name": name, "dataRef": name});
    json!({
        "apiVersion": API, "kind": "Installation",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "blueprint": {"inline": {"filesystem": {"blueprint.yaml": blueprint.to_string()}}},
            "imports": {"data": imports.iter().map(given).collect::<Vec<_>>()},
            "exports": {"data": [{"name": "out", "dataRef": name}]},
        },
    })
}
