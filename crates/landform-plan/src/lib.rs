//! What would change: the real reconcilers on a fork of the store, with deployers that only look.
//!
//! In reading order: `question.rs` is what is asked and `model.rs` the answer; `world.rs` starts a control plane
//! on a fork, with `deployer.rs` and `hooks.rs` in the place of what would reach outside, which note in
//! `log.rs` what they would have done; `apply.rs` makes the change there, as far as `rights.rs` allows it; `record.rs` follows what is written;
//! `objects.rs`, `diff.rs`, `changes.rs` and `trouble.rs` compare before with after; `render.rs` is for people
//! and `view.rs` for the API. `docs/plan.md` is for those who read plans.
//!
//! # Guarantees
//! - Nothing real is touched: the fork is a copy, no process is started, no hook is called, no file written.
//! - If nothing changes in between, applying does what the plan says, as far as it doesn't say otherwise.
//! - No value that Landform made from imports, exports or Secrets is in a plan.
//! - The change is made with the rights of the user who asks, and so is what comes of it (C6).

mod apply;
mod changes;
mod deployer;
mod diff;
mod hooks;
mod log;
mod model;
mod objects;
mod question;
mod record;
pub mod render;
mod rights;
#[cfg(test)]
mod tests;
mod trouble;
mod view;
mod world;

use std::time::Duration;

use landform_apiserver::Identity;
use landform_engine::view::Filter;
use landform_store::Store;
use landform_store::memory::MemoryStore;
use tokio::sync::oneshot;

pub use model::{
    Action, Assumption, BlastRadius, Change, FieldChange, ObjectView, Plan, Problem, Unknown,
};
pub use question::{Blueprints, Named, Question, Rename};
pub use view::Plans;
pub use world::Settings;

use changes::Story;
use objects::Objects;
use trouble::Errors;
use world::World;

/// Unless said otherwise, a plan may take so long: less than a request to the server may.
const PATIENCE: Duration = Duration::from_secs(50);
/// So many objects of the engine are looked at for errors.
const OBJECTS: usize = 1_000_000;

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The store can't be copied.
    #[error("the store can't be copied for the plan")]
    Fork(#[source] landform_store::Error),
    /// The control plane doesn't start on the copy.
    #[error("the reconcilers can't be started on a copy of the store: {0}")]
    Start(String),
    /// It took too long.
    #[error(
        "the plan took too long and was given up; ask for a smaller change, or when less is under way"
    )]
    TooLong,
    /// A bug ended it.
    #[error("the plan ended without an answer, which is a bug of Landform; the log says more")]
    Ended,
}

/// What a change by a user would do to what is in a store. Nothing of it is done.
///
/// The change is made with the rights of `who` asks for it, and what comes of it acts with these rights (C6), as it would in
/// earnest: a plan shows nothing that its planner couldn't come by.
///
/// # Errors
/// When the store can't be copied, or the plan takes too long.
pub async fn plan(
    store: &dyn Store,
    question: Question,
    settings: &Settings,
    who: &Identity,
) -> Result<Plan, PlanError> {
    let fork = store.fork().await.map_err(PlanError::Fork)?;
    let patience = settings.patience.unwrap_or(PATIENCE);
    let (answer, answered) = oneshot::channel();
    // Dropped with this future: a plan that nobody waits for ends.
    let (_wanted, unwanted) = oneshot::channel::<()>();
    let (settings, who) = (settings.clone(), who.clone());
    let work = move || {
        let result = on_a_runtime(async {
            tokio::select! {
                result = make(fork, &question, &settings, &who) => Some(result),
                _ = unwanted => None,
            }
        });
        if let Some(result) = result {
            // Whoever asked may have gone.
            let _ = answer.send(result);
        }
    };
    let thread = std::thread::Builder::new().name("plan".to_owned());
    thread
        .spawn(work)
        .map_err(|error| PlanError::Start(error.to_string()))?;
    match tokio::time::timeout(patience, answered).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(PlanError::Ended),
        Err(_) => Err(PlanError::TooLong),
    }
}

/// Runs something on a runtime of its own whose time stands still while there is work to do.
fn on_a_runtime<T>(
    work: impl Future<Output = Option<Result<T, PlanError>>>,
) -> Option<Result<T, PlanError>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(work),
        Err(error) => Some(Err(PlanError::Start(error.to_string()))),
    }
}

async fn make(
    fork: MemoryStore,
    question: &Question,
    settings: &Settings,
    who: &Identity,
) -> Result<Plan, PlanError> {
    let original = fork.fork().await.map_err(PlanError::Fork)?;
    let world = World::start(fork, settings).await?;
    // What is under way goes on first, so that it isn't taken for a part of the change.
    let calm = world.settle().await;
    let (touched, earlier) = (world.record.take(), world.log.take());
    let base = world.store.fork().await.map_err(PlanError::Fork)?;
    let before = errors(&world).await;
    let already_under_way = {
        let objects = Objects::new(&original, &base);
        Story::new(&objects, &Question::default()).tell(&touched, &earlier)
    };
    let refused = world.change(question, who).await;
    let settled = world.settle().await && calm;
    let (touched, entries) = (world.record.take(), world.log.take());
    let mut errors = errors(&world).await;
    errors.retain(|name, message| before.get(name) != Some(message));
    let objects = Objects::new(&base, &world.store);
    let story = Story::new(&objects, question);
    let changes = story.tell(&touched, &entries);
    let trouble = trouble::look(&objects, touched.keys(), &earlier, &entries, &errors);
    let mut problems: Vec<_> = refused.into_iter().map(refusal).collect();
    problems.extend(trouble.problems);
    Ok(Plan {
        blast_radius: Story::reach(&changes),
        changes,
        unknown: trouble.unknown,
        assumed: trouble.assumed,
        problems,
        already_under_way,
        settled,
        revision: original.revision().0,
    })
}

fn refusal(refused: apply::Refused) -> Problem {
    let Named {
        api_version,
        kind,
        namespace,
        name,
    } = refused.object;
    let path = vec![format!("{kind}/{name}")];
    Problem {
        object: ObjectView {
            api_version,
            kind,
            namespace,
            name,
            known_as: None,
            path,
        },
        message: refused.message,
    }
}

/// What the last runs of objects failed with.
async fn errors(world: &World) -> Errors {
    let filter = Filter {
        limit: OBJECTS,
        ..Filter::default()
    };
    let objects = world.engine.objects(filter).await;
    let objects = objects.map(|(objects, _)| objects).unwrap_or_default();
    let failed = objects.into_iter().filter_map(|view| {
        let name = view.object;
        let message = view.last_error?;
        Some(((name.kind, name.namespace, name.name), message))
    });
    failed.collect()
}
