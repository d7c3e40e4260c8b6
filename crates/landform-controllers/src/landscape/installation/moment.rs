//! Whether what a nested installation has read was so at one moment (I10b).
//!
//! A parent writes what its nested installations import object by object, and one of them may read in between, of this
//! update some and of the last one the rest. While it writes, the parent isn't `Progressing`. So a run that finds the
//! parent `Progressing`, or failed for what is nested, then all objects as it has read them, and then the parent as before, has read one update.

use std::collections::BTreeMap;

use landform_api::landscaper::report::{NESTED_FAILED, ObjectName};
use landform_api::landscaper::{InstallationPhase, installation::ImportStatus};
use landform_engine::{Context, Failure};

use super::observe::World;
use crate::landscape::facts::{self, Given};
use crate::landscape::objects::is_owned_by;

/// The generations of the DataObjects and Targets that a run has read because its installation imports them.
pub(super) fn generations_read(context: &Context) -> BTreeMap<Given, String> {
    let refs = context.refs().iter();
    let read = refs.filter_map(|found| {
        let given = facts::given_of(&ObjectName {
            kind: found.reference.kind.kind.clone(),
            name: found.reference.name.clone(),
            ..ObjectName::default()
        })?;
        let object = found.object.as_ref()?;
        let generation = facts::generation(given.kind, object);
        Some((given, generation))
    });
    read.collect()
}

/// What of a parent moves with each of its updates.
#[derive(PartialEq)]
struct Standing {
    uid: Option<String>,
    phase: Option<InstallationPhase>,
    failed_below: bool,
    observed_generation: Option<i64>,
    imports: Vec<ImportStatus>,
    force_begun: bool,
}

/// Asks whether a nested installation that is to be updated has read one update of its parent. If not, the run is tried
/// again.
pub(super) async fn is_one(context: &Context, world: &World) -> Result<(), Failure> {
    if context.is_cancelled() {
        return Err(Failure::Cancelled);
    }
    let Some(parent) = &world.parent else {
        return Ok(());
    };
    let Some(before) = standing(world, parent).await? else {
        // It goes, or is gone.
        return Ok(());
    };
    // What a refused write has failed doesn't wait for its parent, which has written all that is nested.
    let rests = before.phase == Some(InstallationPhase::Progressing) || before.failed_below;
    if !rests || before.force_begun || !as_read(context, world, &before).await? {
        return Err(another_moment(parent));
    }
    match standing(world, parent).await? {
        Some(after) if after != before => Err(another_moment(parent)),
        _ => Ok(()),
    }
}

fn another_moment(parent: &str) -> Failure {
    Failure::Conflict(format!(
        "the installation {parent} is writing what this one imports"
    ))
}

async fn standing(world: &World, parent: &str) -> Result<Option<Standing>, Failure> {
    let found = world.objects.get("Installation", parent).await?;
    let found = found.filter(|found| found.metadata.deletion_timestamp.is_none());
    Ok(found.map(|found| {
        let status = facts::read(&found).status;
        Standing {
            uid: found.metadata.uid,
            phase: status.phase,
            failed_below: facts::has_failed_by(&status, NESTED_FAILED),
            observed_generation: status.observed_generation,
            imports: status.imports,
            force_begun: status.force_begun,
        }
    }))
}

/// Whether what the parent has written is as this run has read it.
async fn as_read(context: &Context, world: &World, parent: &Standing) -> Result<bool, Failure> {
    for (given, generation) in generations_read(context) {
        let found = world.objects.get(given.kind.word(), &given.name).await?;
        let found = found.filter(|found| is_owned_by(&found.metadata, parent.uid.as_deref()));
        if found.is_some_and(|found| facts::generation(given.kind, &found) != generation) {
            return Ok(false);
        }
    }
    Ok(true)
}
