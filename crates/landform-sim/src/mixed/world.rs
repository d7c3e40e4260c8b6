//! A process with the engine, hooks, and people who write.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landform_api::{GroupKind, GroupVersionKind};
use landform_engine::hooks::{Dial, Machine, Registry};
use landform_engine::{Engine, Key, Reconciler, TraceEntry};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::hook::HookServer;
use super::machine::SimMachine;
use super::oracle::Oracle;
use super::people::{PATCHERS, People};
use super::waiting::Bounds;
use super::{Kind, Plan};
use crate::chance::Chance;
use crate::disk::Disk;
use crate::end_state::objects;
use crate::log::KEEPSAKE;
use crate::process::Process;
use crate::simulation::{RETRIES, World};
use crate::user::ObjectName;

/// The number of writes by people who know nothing of each other.
const WRITES: u64 = 40;

/// How often is looked whether something waits too long.
const LOOK: Duration = Duration::from_secs(2);

/// The engine with hooks, and those who watch and disturb it.
pub struct MixedWorld {
    bounds: Bounds,
    inner: Mutex<Option<Inner>>,
    running: Mutex<Option<Engine>>,
}

#[derive(Clone)]
struct Inner {
    oracle: Oracle,
    people: People,
    hook: HookServer,
    machine: SimMachine,
}

/// The engine, whose hooks are reached by pipes and run on a machine that outlives it.
struct Piped {
    engine: Engine,
    dial: Dial,
    machine: Arc<dyn Machine>,
}

impl Registry for Piped {
    fn register(&self, reconciler: Arc<dyn Reconciler>) -> BoxFuture<'_, Result<(), String>> {
        Registry::register(&self.engine, reconciler)
    }

    fn unregister(&self, kind: GroupKind) -> BoxFuture<'_, Result<(), String>> {
        Registry::unregister(&self.engine, kind)
    }

    fn ask(&self, key: Key) {
        Registry::ask(&self.engine, key);
    }

    fn dial(&self) -> Option<Dial> {
        Some(self.dial.clone())
    }

    fn machine(&self) -> Option<Arc<dyn Machine>> {
        Some(self.machine.clone())
    }
}

impl MixedWorld {
    /// A world in which nothing goes wrong, or everything.
    #[must_use]
    pub fn new(calm: bool) -> Self {
        Self {
            bounds: if calm {
                Bounds::CALM
            } else {
                Bounds::DISTURBED
            },
            inner: Mutex::new(None),
            running: Mutex::new(None),
        }
    }

    fn inner(&self, process: &Process) -> Inner {
        let around = process.surroundings();
        let make = || {
            let oracle = Oracle::new(around, self.bounds);
            let hook = HookServer {
                oracle: oracle.clone(),
                faults: around.faults.clone(),
                chance: Chance::new(around.seed, "hooks"),
            };
            let commands = Chance::new(around.seed, "commands");
            Inner {
                people: People::new(oracle.clone(), Chance::new(around.seed, "people"), WRITES),
                machine: SimMachine::new(hook.clone(), around.clock.clone(), commands),
                hook,
                oracle,
            }
        };
        self.inner.lock().get_or_insert_with(make).clone()
    }

    fn oracle(&self) -> Option<Oracle> {
        let inner = self.inner.lock();
        inner.as_ref().map(|inner| inner.oracle.clone())
    }

    /// Compares what is stored with what people asked for.
    ///
    /// # Errors
    /// The first difference.
    pub fn judge(&self, disk: &Disk, plan: &Plan) -> Result<(), String> {
        if let Some(inner) = &*self.inner.lock() {
            inner.people.judge(disk)?;
        }
        let stored = objects(disk.store());
        let mut maps = BTreeMap::new();
        for ((kind, namespace, name), (spec, number)) in plan.numbers() {
            let object = stored.get(&format!("{} {namespace}/{name}", kind.bucket()));
            let object = object.ok_or_else(|| format!("{namespace}/{name} is not there"))?;
            let status = json!({"number": number, "generation": object["metadata"]["generation"]});
            let found = without_foreign(&object["status"]);
            if found != status {
                return Err(format!(
                    "a trigger was lost: the status of {namespace}/{name} is {found} instead of {status}"
                ));
            }
            for index in 0..spec.children {
                maps.insert(
                    format!("{namespace}/{}-{index}", spec.key),
                    number.to_string(),
                );
            }
        }
        let count = Kind::ALL.map(|kind| {
            let bucket = format!("{} ", kind.bucket());
            stored.keys().filter(|key| key.starts_with(&bucket)).count()
        });
        let (count, expected) = (count.iter().sum::<usize>(), plan.numbers().len());
        if count != expected {
            return Err(format!("there are {count} objects instead of {expected}"));
        }
        judge_maps(&stored, &maps)
    }
}

/// Looks whether anything waits too long, also when nothing happens.
async fn look_around(oracle: Oracle) {
    while oracle.check().is_ok() {
        tokio::time::sleep(LOOK).await;
    }
}

/// The status that the hook wrote: what others wrote after its last call is theirs.
fn without_foreign(status: &Value) -> Value {
    let mut status = status.clone();
    if let Value::Object(fields) = &mut status {
        fields.remove("foreign");
    }
    status
}

/// The config maps of hooks are those that they asked for; of keepsakes just those are left whose owner is.
fn judge_maps(
    stored: &BTreeMap<String, Value>,
    expected: &BTreeMap<String, String>,
) -> Result<(), String> {
    let uids: Vec<&str> = stored
        .values()
        .filter_map(|object| object["metadata"]["uid"].as_str())
        .collect();
    let mut found = BTreeMap::new();
    for (key, map) in stored {
        let Some(name) = key.strip_prefix("configmaps ") else {
            continue;
        };
        if map["metadata"]["labels"][KEEPSAKE].is_null() {
            let number = map["data"]["number"].as_str().unwrap_or_default();
            found.insert(name.to_owned(), number.to_owned());
            continue;
        }
        let owner = map["metadata"]["ownerReferences"][0]["uid"].as_str();
        if !owner.is_some_and(|owner| uids.contains(&owner)) {
            return Err(format!("G12: {name} outlived its owner: {map}"));
        }
    }
    if found == *expected {
        Ok(())
    } else {
        Err(format!(
            "the config maps are {found:?} instead of {expected:?}"
        ))
    }
}

impl World for MixedWorld {
    fn start<'a>(&'a self, process: &'a Process) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let around = process.surroundings();
            let Inner {
                oracle,
                people,
                hook,
                machine,
            } = self.inner(process);
            for who in 0..PATCHERS {
                let client = process.client(&format!("patcher-{who}"));
                tokio::spawn(people.clone().patch(client, who));
            }
            tokio::spawn(people.meddle(process.client("meddler")));
            tokio::spawn(look_around(oracle.clone()));
            let dial = hook.dial();
            let machine = machine.for_process(process.life().clone());
            let life = process.life().clone();
            let observer = Arc::new(move |entry: &TraceEntry| {
                if !life.is_over() {
                    oracle.hears(entry);
                }
            });
            let engine = Engine::builder(process.kube_client("engine"))
                .api_in_process()
                .hooks_by(|engine| {
                    let engine = engine.clone();
                    Arc::new(Piped {
                        engine,
                        dial,
                        machine,
                    })
                })
                .clock(Arc::new(around.clock.clone()))
                .seed(around.seed)
                .observer(observer)
                .start()
                .map_err(|error| error.to_string())?;
            *self.running.lock() = Some(engine);
            Ok(())
        }
        .boxed()
    }

    fn activity(&self) -> u64 {
        self.oracle().map_or(0, |oracle| oracle.calls())
    }

    fn patience(&self) -> Duration {
        RETRIES
    }

    fn process_ended(&self) {
        *self.running.lock() = None;
        if let Some(inner) = &*self.inner.lock() {
            inner.machine.owner_died();
            inner.oracle.forget();
        }
    }

    fn check(&self) -> Result<(), String> {
        self.oracle().map_or(Ok(()), |oracle| oracle.check())
    }

    fn at_rest(&self) -> Result<(), String> {
        self.oracle().map_or(Ok(()), |oracle| oracle.nothing_runs())
    }

    fn ask(&self, name: &ObjectName) {
        if let Some(oracle) = self.oracle() {
            let name = name.clone();
            oracle.asked_for(&(name.kind, name.namespace, name.name));
        }
        if let Some(engine) = &*self.running.lock() {
            let kind = GroupVersionKind::new(super::GROUP, "v1", &name.kind);
            let kind = GroupKind {
                group: kind.group,
                kind: kind.kind,
            };
            engine.ask(Key::new(Arc::new(kind), &name.namespace, &name.name));
        }
    }
}
