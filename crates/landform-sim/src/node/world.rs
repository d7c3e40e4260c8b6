//! A process with the engine and the reconciler of nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landform_api::kind::GroupKind;
use landform_engine::{Engine, Key};
use parking_lot::Mutex;
use serde_json::Value;

use super::reconciler::Pauses;
use super::{Flaw, NodeReconciler, Oracle, Outside, Spec, fixed_point};
use crate::clock::SimClock;
use crate::disk::Disk;
use crate::end_state::{EndState, end_state, objects};
use crate::log::{CALM_HEARING, DISTURBED_HEARING};
use crate::process::Process;
use crate::simulation::{RETRIES, World};
use crate::user::ObjectName;

/// The engine, its reconciler, and those who watch them.
pub struct NodeWorld {
    outside: Outside,
    pauses: Pauses,
    hearing: Duration,
    flaw: Option<Flaw>,
    running: Mutex<Option<Engine>>,
    oracle: Mutex<Option<Oracle>>,
}

impl landform_engine::Clock for SimClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(SimClock::now_ms(self)).unwrap_or(0)
    }
}

impl NodeWorld {
    /// A world whose reconciler makes no mistakes.
    #[must_use]
    pub fn new() -> Self {
        Self::with_flaw(None)
    }

    /// A world whose reconciler makes a mistake.
    #[must_use]
    pub fn with_flaw(flaw: Option<Flaw>) -> Self {
        Self {
            outside: Outside::default(),
            pauses: Pauses::default(),
            hearing: DISTURBED_HEARING,
            flaw,
            running: Mutex::new(None),
            oracle: Mutex::new(None),
        }
    }

    /// A world whose network is in order, so that everything is heard of at once.
    #[must_use]
    pub fn calm() -> Self {
        Self {
            hearing: CALM_HEARING,
            ..Self::new()
        }
    }

    /// What exists outside of the cluster.
    #[must_use]
    pub fn outside(&self) -> &Outside {
        &self.outside
    }

    /// Compares the nodes with what users asked for: no trigger was lost.
    ///
    /// # Errors
    /// The first difference.
    pub fn judge_nodes(&self, disk: &Disk, wanted: &BTreeMap<String, Spec>) -> Result<(), String> {
        if let Some(oracle) = &*self.oracle.lock() {
            oracle.nothing_runs()?;
        }
        let numbers = fixed_point(wanted);
        let nodes = stored(disk, super::BUCKET);
        for (name, node) in &nodes {
            let (generation, status) = (&node["metadata"]["generation"], &node["status"]);
            if !wanted.contains_key(name) {
                return Err(format!("{name} should be gone: {node}"));
            }
            if status["number"].as_u64() != numbers.get(name).copied()
                || status["observedGeneration"] != *generation
                || !status["cycle"].is_null()
            {
                let expected = numbers.get(name);
                return Err(format!(
                    "a trigger was lost: {name} should have the number {expected:?}: {node}"
                ));
            }
        }
        if let Some(lost) = wanted.keys().find(|name| !nodes.contains_key(*name)) {
            return Err(format!("{lost} is not there"));
        }
        let outside = self.outside.things();
        if outside != numbers {
            return Err(format!(
                "outside there is {outside:?} instead of {numbers:?}"
            ));
        }
        Ok(())
    }
}

/// The objects of a bucket in the namespace default, by name.
fn stored(disk: &Disk, bucket: &str) -> BTreeMap<String, Value> {
    let objects = objects(disk.store()).into_iter();
    let in_bucket = objects.filter_map(|(key, object)| {
        let name = key.strip_prefix(bucket)?.strip_prefix(" default/")?;
        Some((name.to_owned(), object))
    });
    in_bucket.collect()
}

impl Default for NodeWorld {
    fn default() -> Self {
        Self::new()
    }
}

/// Annotations that tell of the way: when to look again, and what the name was.
const OF_THE_WAY: [&str; 2] = ["landform.dev/renamed-from", "landform.dev/retrigger-at"];

impl World for NodeWorld {
    fn start<'a>(&'a self, process: &'a Process) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let around = process.surroundings();
            let oracle = self
                .oracle
                .lock()
                .get_or_insert_with(|| Oracle::new(around, self.hearing))
                .clone();
            let reconciler = NodeReconciler {
                outside: self.outside.clone(),
                pauses: self.pauses.clone(),
                faults: around.faults.clone(),
                life: process.life().clone(),
                flaw: self.flaw,
                made: Mutex::default(),
            };
            let life = process.life().clone();
            let observer = Arc::new(move |entry: &landform_engine::TraceEntry| {
                if !life.is_over() {
                    oracle.hears(entry);
                }
            });
            let engine = Engine::builder(process.kube_client("engine"))
                .api_in_process()
                .reconciler(reconciler)
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
        self.oracle.lock().as_ref().map_or(0, Oracle::runs)
    }

    fn patience(&self) -> Duration {
        RETRIES
    }

    fn process_ended(&self) {
        *self.running.lock() = None;
        if let Some(oracle) = &*self.oracle.lock() {
            oracle.forget();
        }
    }

    fn story(&self) -> Vec<String> {
        let oracle = self.oracle.lock();
        oracle.as_ref().map(Oracle::story).unwrap_or_default()
    }

    fn check(&self) -> Result<(), String> {
        self.oracle.lock().as_ref().map_or(Ok(()), Oracle::check)
    }

    fn ask(&self, name: &ObjectName) {
        if let Some(engine) = &*self.running.lock() {
            let (group, _) = name.api_version.split_once('/').unwrap_or_default();
            let kind = GroupKind {
                group: group.to_owned(),
                kind: name.kind.clone(),
            };
            engine.ask(Key::new(Arc::new(kind), &name.namespace, &name.name));
        }
    }

    fn end_state(&self, disk: &Disk) -> EndState {
        let mut state = end_state(disk.store());
        for text in state.values_mut() {
            let mut object: Value = serde_json::from_str(text).unwrap_or(Value::Null);
            if let Some(Value::Object(metadata)) = object.get_mut("metadata")
                && let Some(Value::Object(annotations)) = metadata.get_mut("annotations")
            {
                annotations.retain(|name, _| !OF_THE_WAY.contains(&name.as_str()));
                if annotations.is_empty() {
                    metadata.remove("annotations");
                }
            }
            // How often a spec was written depends on the way.
            if let Some(Value::Object(status)) = object.get_mut("status") {
                status.remove("observedGeneration");
            }
            *text = object.to_string();
        }
        for (name, value) in self.outside.things() {
            state.insert(format!("outside {name}"), value.to_string());
        }
        state
    }
}
