//! Whether an installation needs nothing at all, from the index alone: at the start of a process most do.

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::landscaper::{Operation, keys};
use landform_decide::installation::{Automatic, Decision, Observed};

use super::observe::{annotation, held};
use crate::landscape::blueprints::{Blueprints, Sums};
use crate::landscape::facts::{self, BlueprintUsed};
use crate::landscape::index::Index;

/// Whether a decision asks for nothing.
pub(super) fn asks_for_nothing(decision: &Decision) -> bool {
    let Decision {
        rule: _,
        actions,
        phase,
        waiting_on,
        problem,
        afterwards,
        again,
        look_ms,
    } = decision;
    actions.is_empty()
        && afterwards.is_empty()
        && phase.is_none()
        && waiting_on.is_empty()
        && problem.is_none()
        && !again
        && look_ms.is_none()
}

/// What the decision would see, if all of it is in the index and no import changed. Siblings don't matter
/// then: they are looked at for an update or a deletion only.
pub(super) fn observed(
    object: &DynamicObject,
    index: &Index,
    blueprints: &Blueprints,
) -> Option<Observed> {
    let glance = facts::read(object);
    if glance.spec.automatic_reconcile.is_some() {
        // What it needs depends on the time.
        return None;
    }
    let status = glance.status;
    let metadata = &object.metadata;
    let namespace = object.namespace()?;
    let own = object.name_any();
    let facts = index.facts(&namespace, &own)?;
    let known = status.imports.len() == facts.sources.len();
    if facts.marked || !known || !index.is_current(&namespace, &facts) {
        return None;
    }
    let sums = Sums::new(blueprints);
    let unrecorded = |used: &BlueprintUsed| used.digest.is_empty() && sums.of(&used.path).is_some();
    if facts.blueprint.as_ref().is_some_and(unrecorded)
        || index.is_outdated(&namespace, &facts, &sums)
    {
        return None;
    }
    let mut children = index.family(&namespace, &own)?;
    if status.execution_ref.is_some() {
        children.push(index.execution(&namespace, &own)?);
    }
    let nested = status.installation_refs.iter();
    let lost = nested
        .map(|found| &found.reference.name)
        .find(|name| !children.iter().any(|child| child.name == **name));
    let given = status
        .exported_objects
        .iter()
        .chain(&status.context_objects);
    if lost.is_some()
        || index.is_edited(&namespace, &own)
        || index.drift(&namespace, given.clone()).is_some()
        || !index.unclear(&namespace, given).is_empty()
    {
        return None;
    }
    Some(Observed {
        now_ms: 0,
        automatic: Automatic::default(),
        failed_as_it_is: false,
        refused: facts.refused,
        generation: metadata.generation.unwrap_or_default(),
        observed_generation: status.observed_generation,
        phase: status.phase,
        update_begun: false,
        force_begun: status.force_begun,
        marked: false,
        held: held(metadata),
        operation: annotation(metadata, keys::OPERATION).and_then(Operation::parse),
        ignore: annotation(metadata, keys::IGNORE) == Some(keys::TRUE),
        aborted: false,
        parent: None,
        children,
        imports: Vec::new(),
        imports_differ: false,
        blueprint_changed: false,
        dependencies: Vec::new(),
        importers: Vec::new(),
        rivals: Vec::new(),
        bare: false,
        lost: None,
        exports_lost: false,
    })
}
