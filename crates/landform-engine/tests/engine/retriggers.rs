//! Times that runs ask for (R12b): a random script of outcomes, and what every reader of the rule expects of it.

use std::sync::Arc;
use std::time::Duration;

use landform_engine::{Failure, Outcome, Reason};
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::json;

use crate::harness::{PausedClock, Toys, World, key};

/// No run follows another one sooner because of a time that was asked for, but for a first one that is past.
const FLOOR_MS: u64 = 100;

/// What a run says.
#[derive(Clone, Copy, Debug)]
struct Said {
    /// It asks to be called after this time.
    after_ms: Option<u64>,
    end: End,
}

#[derive(Clone, Copy, Debug)]
enum End {
    Done,
    Wait,
    Transient,
    Invalid,
}

/// What was seen of a run.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at_ms: u64,
    reason: Reason,
    said: Said,
}

fn said() -> impl Strategy<Value = Said> {
    let after_ms = prop_oneof![
        3 => Just(None),
        1 => Just(Some(0)),
        1 => Just(Some(20)),
        2 => (1_000..400_000_u64).prop_map(Some),
    ];
    let end = prop_oneof![
        Just(End::Done),
        Just(End::Wait),
        Just(End::Transient),
        Just(End::Invalid)
    ];
    (after_ms, end).prop_map(|(after_ms, end)| Said { after_ms, end })
}

/// Whether a time was honoured: a run began then, unless another time was asked for before.
fn honoured(runs: &[Seen], asked: usize) -> bool {
    let Seen { at_ms, said, .. } = runs[asked];
    let Some(after_ms) = said.after_ms else {
        return true;
    };
    let due_ms = at_ms + after_ms;
    for run in &runs[asked + 1..] {
        if run.at_ms >= due_ms {
            return run.at_ms <= due_ms.max(at_ms + FLOOR_MS);
        }
        if run.said.after_ms.is_some() {
            return true;
        }
    }
    false
}

async fn play(script: Vec<Said>, asks_at_ms: Vec<u64>, restart: bool) -> Vec<Seen> {
    let world = World::new().await;
    let runs = Arc::new(Mutex::new(Vec::new()));
    let toys = || {
        let (log, script) = (runs.clone(), script.clone());
        Toys::new(move |context| {
            let mut log = log.lock();
            let quiet = Said {
                after_ms: None,
                end: End::Done,
            };
            let said = script.get(log.len()).copied().unwrap_or(quiet);
            log.push(Seen {
                at_ms: context.now_ms() - PausedClock::START_MS,
                reason: context.reason(),
                said,
            });
            drop(log);
            Box::pin(async move {
                if let Some(after_ms) = said.after_ms {
                    context.retrigger_after(Duration::from_millis(after_ms));
                }
                match said.end {
                    End::Done => Ok(Outcome::Done),
                    End::Wait => Ok(Outcome::Wait("a change".into())),
                    End::Transient => Err(Failure::Transient("no".into())),
                    End::Invalid => Err(Failure::Invalid("no".into())),
                }
            })
        })
    };
    let mut running = world.engine(toys());
    world.create("a", json!({})).await;
    running.wait_for("end a").await;
    for at_ms in asks_at_ms {
        tokio::time::sleep(Duration::from_millis(at_ms)).await;
        running.engine.ask(key("a"));
    }
    if restart {
        running.engine.stop(Duration::from_secs(5)).await;
        let registry = prometheus::Registry::new();
        running = World { registry, ..world }.engine(toys());
    }
    // Pauses after errors and times that were asked for are all shorter than this.
    tokio::time::sleep(Duration::from_secs(3600)).await;
    running.until_silent().await;
    let runs = runs.lock();
    runs.clone()
}

proptest! {
    #[test]
    fn r12b_a_time_is_kept_whatever_else_is_said_and_whatever_runs_come_between(
        script in prop::collection::vec(said(), 1..8),
        asks_at_ms in prop::collection::vec(0..200_000_u64, 0..4),
        restart in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let runs = runtime.block_on(play(script, asks_at_ms, restart));
        for asked in 0..runs.len() {
            prop_assert!(honoured(&runs, asked), "{asked} of {runs:?}");
        }
        for pair in runs.windows(2) {
            let again = pair[0].reason == Reason::Retrigger && pair[1].reason == Reason::Retrigger;
            prop_assert!(!again || pair[1].at_ms - pair[0].at_ms >= FLOOR_MS, "{runs:?}");
        }
    }
}
