//! A process with the controllers of operators, and with those that install them.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use landform_controllers::landscape::{self, Blueprints};
use landform_deployers::DeployItems;
use landform_deployers::manifest::ManifestDeployer;
use landform_engine::{Engine, TraceEntry, TraceEvent};
use landform_operators::Operators;
use parking_lot::Mutex;

use super::operator;
use super::oracle::Oracle;
use super::state::operators_state;
use crate::disk::Disk;
use crate::end_state::EndState;
use crate::process::Process;
use crate::simulation::World;

/// The controllers, an operator, and those who watch them.
#[derive(Default)]
pub struct OperatorsWorld {
    running: Mutex<Option<Engine>>,
    oracle: Mutex<Option<Oracle>>,
    runs: Arc<Mutex<u64>>,
}

impl World for OperatorsWorld {
    fn start<'a>(&'a self, process: &'a Process) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let around = process.surroundings();
            self.oracle
                .lock()
                .get_or_insert_with(|| Oracle::new(&around.disk));
            let (life, runs) = (process.life().clone(), self.runs.clone());
            let (trace, who): (_, Arc<str>) = (around.trace.clone(), "engine".into());
            let observer = Arc::new(move |entry: &TraceEntry| {
                if life.is_over() {
                    return;
                }
                let (kind, name) = (&entry.key.kind.kind, &entry.key.name);
                trace.note(&who, format!("{kind} {name} {}", entry.event));
                if matches!(entry.event, TraceEvent::Started { .. }) {
                    *runs.lock() += 1;
                }
            });
            let items = DeployItems::new().with(ManifestDeployer::new());
            let wake = items.wake();
            let (installations, executions) = landscape::reconcilers(Blueprints::new(None));
            let operators = Operators::default();
            let builder = Engine::builder(process.kube_client("engine"))
                .api_in_process()
                .reconciler(installations)
                .reconciler(executions)
                .reconciler(items)
                .clock(Arc::new(around.clock.clone()))
                .seed(around.seed)
                .observer(observer);
            let engine = operators
                .register(builder, None)
                .start()
                .map_err(|error| error.to_string())?;
            operators.connect(&engine);
            wake.connect(&engine);
            *self.running.lock() = Some(engine);
            tokio::spawn(operator::run(process.kube_client("operator")));
            Ok(())
        }
        .boxed()
    }

    fn activity(&self) -> u64 {
        *self.runs.lock()
    }

    fn process_ended(&self) {
        *self.running.lock() = None;
    }

    fn check(&self) -> Result<(), String> {
        let oracle = self.oracle.lock();
        oracle.as_ref().map_or(Ok(()), Oracle::check)
    }

    fn at_rest(&self) -> Result<(), String> {
        self.check()
    }

    fn end_state(&self, disk: &Disk) -> EndState {
        operators_state(disk)
    }
}
