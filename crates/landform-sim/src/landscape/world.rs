//! A process with the controllers of landscapes: installations, executions and deploy items.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landform_api::kind::GroupKind;
use landform_controllers::landscape::{self, Blueprints};
use landform_deployers::DeployItems;
use landform_deployers::mock::Mock;
use landform_engine::{Engine, Key, TraceEntry, TraceEvent};
use parking_lot::Mutex;

use super::deployer::Numbers;
use super::oracle::Oracle;
use super::state::landscape_state;
use super::target::Target;
use crate::disk::Disk;
use crate::end_state::EndState;
use crate::process::Process;
use crate::simulation::World;
use crate::user::ObjectName;

/// The controllers, the target, and those who watch them.
pub struct LandscapeWorld {
    target: Target,
    prompt: bool,
    /// Whether numbers tell where they come from, and must not be mixed.
    refuses_mixes: bool,
    running: Mutex<Option<Engine>>,
    oracle: Mutex<Option<Oracle>>,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Default)]
struct Heard {
    runs: u64,
    story: Vec<String>,
}

impl LandscapeWorld {
    /// A world in which watches are prompt, so that controllers can be held to what they must have known.
    #[must_use]
    pub fn new() -> Self {
        Self::with(true)
    }

    /// A world in which watches may lag behind.
    #[must_use]
    pub fn lagging() -> Self {
        Self::with(false)
    }

    /// The same with numbers that tell where they come from: a mix of versions is never deployed (I10b).
    #[must_use]
    pub fn without_mixes(self) -> Self {
        Self {
            refuses_mixes: true,
            ..self
        }
    }

    fn with(prompt: bool) -> Self {
        Self {
            target: Target::default(),
            prompt,
            refuses_mixes: false,
            running: Mutex::new(None),
            oracle: Mutex::new(None),
            heard: Arc::default(),
        }
    }
}

impl Default for LandscapeWorld {
    fn default() -> Self {
        Self::new()
    }
}

/// What people want to read of a run: that it was, and of what.
fn in_short(entry: &TraceEntry) -> Option<String> {
    match &entry.event {
        TraceEvent::Started { reason, .. } => {
            let (kind, name) = (&entry.key.kind.kind, &entry.key.name);
            Some(format!("{kind} {name} runs: {reason}"))
        }
        TraceEvent::Queued(_)
        | TraceEvent::Cancelled { .. }
        | TraceEvent::Finished { .. }
        | TraceEvent::Stuck(_)
        | TraceEvent::Cyclic(_)
        | TraceEvent::CycleBroken
        | TraceEvent::Gone => None,
    }
}

impl World for LandscapeWorld {
    fn start<'a>(&'a self, process: &'a Process) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let around = process.surroundings();
            let oracle = self
                .oracle
                .lock()
                .get_or_insert_with(|| Oracle::new(&around.disk, self.prompt))
                .clone();
            let (life, heard) = (process.life().clone(), self.heard.clone());
            let (trace, who): (_, Arc<str>) = (around.trace.clone(), "engine".into());
            let observer = Arc::new(move |entry: &TraceEntry| {
                if life.is_over() {
                    return;
                }
                let (kind, name) = (&entry.key.kind.kind, &entry.key.name);
                trace.note(&who, format!("{kind} {name} {}", entry.event));
                if matches!(entry.event, TraceEvent::Started { .. }) {
                    heard.lock().runs += 1;
                    if kind == "Installation" {
                        oracle.begins(name);
                    }
                }
                heard.lock().story.extend(in_short(entry));
            });
            let numbers = Numbers {
                target: self.target.clone(),
                disk: around.disk.clone(),
                life: process.life().clone(),
                faults: around.faults.clone(),
            };
            let items = DeployItems::new().with(Mock).with(numbers);
            let wake = items.wake();
            let (installations, executions) = landscape::reconcilers(Blueprints::new(None));
            let engine = Engine::builder(process.kube_client("engine"))
                .api_in_process()
                .writers_noted()
                .reconciler(installations)
                .reconciler(executions)
                .reconciler(items)
                .clock(Arc::new(around.clock.clone()))
                .seed(around.seed)
                .observer(observer)
                .start()
                .map_err(|error| error.to_string())?;
            wake.connect(&engine);
            *self.running.lock() = Some(engine);
            Ok(())
        }
        .boxed()
    }

    fn activity(&self) -> u64 {
        self.heard.lock().runs + self.target.writes()
    }

    fn process_ended(&self) {
        *self.running.lock() = None;
    }

    fn wished(&self) {
        if let Some(oracle) = &*self.oracle.lock() {
            oracle.wish();
        }
    }

    fn check(&self) -> Result<(), String> {
        self.target.check()?;
        let news = self.target.news();
        let oracle = self.oracle.lock();
        let Some(oracle) = oracle.as_ref() else {
            return Ok(());
        };
        oracle.check()?;
        if self.refuses_mixes {
            oracle.judge_mixes(&news)?;
        }
        Ok(())
    }

    fn at_rest(&self) -> Result<(), String> {
        let oracle = self.oracle.lock();
        oracle.as_ref().map_or(Ok(()), Oracle::judge_at_rest)
    }

    fn story(&self) -> Vec<String> {
        std::mem::take(&mut self.heard.lock().story)
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
        let mut state = landscape_state(disk);
        for (place, number) in self.target.numbers() {
            state.insert(format!("outside {place}"), number.to_string());
        }
        state
    }
}
