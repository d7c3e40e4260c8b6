//! What must be done so that a project's objects are as its files say. Pure.
//!
//! 1. What is there and wanted no more has vanished, unless its file could not be read.
//! 2. What is there under one name and wanted under another may be the same object (`renames`).
//! 3. What is wanted and differs is applied.
//! 4. What vanished is deleted: not at once, not too much, and what others may need last.
//! 5. A definition takes all objects of its kind along: when some of them were not removed, a person must agree.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use landform_api::project::{Deletions, HeldDeletions};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::apply::{Difference, difference};
use crate::leaving::{self, Whose};
use crate::namespaces::is_namespace;
use crate::object::{ObjectId, Wanted};
use crate::order::{Departures, definition, is_definition, rank};
use crate::renames;

/// In a project with this many objects or more, deleting more than half of them needs consent.
pub const LARGE: usize = 8;
/// Whether an object is still protected is looked at after this time: no event says it.
const LOOK_MS: u64 = 5_000;
/// At most this many held deletions are named.
const NAMED: usize = 10;

/// An object of the project that is there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// Its uid.
    pub uid: String,
    /// The file that it stood in when it was applied.
    pub file: String,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The name that it had before it was last renamed.
    pub former: Option<String>,
    /// The object itself, as it was read; none when it is known what its file said of it.
    pub object: Option<Arc<Value>>,
    /// Whether a finalizer holds it: something has to be taken down before it goes.
    pub held: bool,
    /// Whether it is protected from deletion.
    pub protected: bool,
    /// That its kind isn't served, if so: then nothing can be done with it.
    pub unserved: Option<Unserved>,
}

/// Of an object whose kind isn't served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unserved {
    /// The name of the definition.
    pub definition: String,
    /// Whether it has finalizers.
    pub held: bool,
}

/// Why an object that is wanted no more stays for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stays {
    /// Its kind isn't served (G12b); this is the definition.
    Unserved(String),
    /// A namespace in which this object of the project is (R15).
    Occupied(ObjectId),
    /// It is wanted in another namespace, and is not there yet (R15).
    Moving(ObjectId),
    /// It is protected from deletion (R15b).
    Protected,
}

/// Everything that the decision may see.
pub struct Observed<'a> {
    /// What the files want.
    pub wanted: &'a BTreeMap<ObjectId, Wanted>,
    /// What is there of the project.
    pub live: &'a BTreeMap<ObjectId, Live>,
    /// What the files said of an object when it was last applied, as far as that is known.
    pub said: &'a BTreeMap<ObjectId, Arc<Value>>,
    /// Whether nothing may be concluded from an object's absence in a file.
    pub is_unsure: &'a dyn Fn(&str) -> bool,
    /// When objects were first missed.
    pub missed: &'a BTreeMap<ObjectId, u64>,
    /// An object must be missing for this long until it is deleted.
    pub grace_ms: u64,
    /// What happens then to one that a finalizer holds.
    pub deletions: Deletions,
    /// The deletions that were agreed to.
    pub approved: Option<&'a str>,
    /// The uids of objects whose deletion was agreed to before.
    pub agreed: &'a BTreeSet<String>,
    /// What goes with definitions, as far as that is known: no definition goes of which it isn't.
    pub going_along: &'a BTreeMap<ObjectId, GoingAlong>,
    /// The time of day.
    pub now_ms: u64,
}

/// All objects of a definition's kind that are there when it is its turn to go: their names and uids.
pub type GoingAlong = Vec<(ObjectId, String)>;

/// What must be done, in this order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Objects that get another name: from, to. [`renames::steps`] has the order.
    pub renames: BTreeMap<ObjectId, ObjectId>,
    /// Objects that are created or changed; definitions and namespaces first.
    pub applies: Vec<ObjectId>,
    /// Objects that are deleted, with their uids.
    pub deletions: Vec<(ObjectId, String)>,
    /// Objects that are deleted when these are gone.
    pub deletions_later: Vec<(ObjectId, String)>,
    /// Deletions that need consent.
    pub held: Option<HeldDeletions>,
    /// Objects whose end would end that need, too.
    pub held_for: GoingAlong,
    /// Definitions that are deleted as soon as it is known what goes along.
    pub unknown_company: Vec<ObjectId>,
    /// The uids of all objects whose deletion is agreed to.
    pub agreed: BTreeSet<String>,
    /// What is wrong with wanted objects; they are left alone.
    pub problems: Vec<(ObjectId, String)>,
    /// Objects that are made anew when they are gone.
    pub waiting: Vec<ObjectId>,
    /// Wanted objects that are left as they are while others are missing that may be meant by them (R15b).
    pub held_back: BTreeSet<ObjectId>,
    /// When objects were first missed.
    pub missed: BTreeMap<ObjectId, u64>,
    /// Objects that are missing and kept for now, with the time until which they are kept (R15b).
    pub missing: BTreeMap<ObjectId, u64>,
    /// Objects that are wanted no more and stay for now, for another reason than time.
    pub stays: BTreeMap<ObjectId, Stays>,
    /// When the first of these times is over.
    pub look_again_at: Option<u64>,
}

/// Decides.
#[must_use]
pub fn decide(observed: &Observed<'_>) -> Decision {
    let unchanged = unchanged(observed);
    let found = renames::find(observed, &unchanged);
    let mut decision = Decision {
        renames: found.renames,
        problems: found.problems,
        ..Decision::default()
    };
    let waits = |missing: &ObjectId| sure_at(observed, missing) > observed.now_ms;
    let held_back = found.held_back.into_iter();
    let held_back = held_back.filter(|(_, missing)| waits(missing));
    decision.held_back = held_back.map(|(id, _)| id).collect();
    let mut vanished = vanished(observed);
    vanished.retain(|id| !decision.renames.contains_key(id) && !found.kept.contains(id));
    apply(observed, &unchanged, &mut decision);
    delete(observed, &vanished, &mut decision);
    decision
}

/// What is there and wanted no more.
fn vanished(observed: &Observed<'_>) -> BTreeSet<ObjectId> {
    let live = observed.live.iter();
    let gone = live.filter(|(id, live)| {
        !live.deleting && !observed.wanted.contains_key(id) && !(observed.is_unsure)(&live.file)
    });
    gone.map(|(id, _)| id.clone()).collect()
}

/// What is there as its file says.
fn unchanged<'a>(observed: &Observed<'a>) -> BTreeSet<&'a ObjectId> {
    let wanted = observed.wanted.iter();
    let same = wanted.filter(|(id, wanted)| {
        observed
            .live
            .get(id)
            .is_some_and(|live| match &live.object {
                Some(live) => difference(&wanted.object, Some(live)) == Difference::Same,
                None => observed.said.get(id) == Some(&wanted.object),
            })
    });
    same.map(|(id, _)| id).collect()
}

fn apply(observed: &Observed<'_>, unchanged: &BTreeSet<&ObjectId>, decision: &mut Decision) {
    let settled: BTreeSet<ObjectId> = {
        let wrong = decision.problems.iter().map(|(id, _)| id);
        decision.renames.values().chain(wrong).cloned().collect()
    };
    for (id, wanted) in observed.wanted {
        if settled.contains(id) || decision.held_back.contains(id) {
            continue;
        }
        let Some(live) = observed.live.get(id) else {
            decision.applies.push(id.clone());
            continue;
        };
        if live.unserved.is_some() {
            continue;
        }
        if live.deleting {
            decision.waiting.push(id.clone());
            continue;
        }
        let elsewhere = live.file != wanted.file && !live.file.is_empty();
        if elsewhere && (observed.is_unsure)(&live.file) {
            let message = format!(
                "{id} stood in {}, which has problems: nothing is done with it until they are solved, or it is removed here",
                live.file
            );
            decision.problems.push((id.clone(), message));
            continue;
        }
        if !unchanged.contains(id) {
            decision.applies.push(id.clone());
        }
    }
    let wanted = observed.wanted;
    decision.applies.sort_by_key(|id| {
        let wanted = wanted.get(id);
        (
            rank(id),
            wanted.map(|wanted| (wanted.file.clone(), wanted.line)),
        )
    });
}

fn delete(observed: &Observed<'_>, vanished: &BTreeSet<ObjectId>, decision: &mut Decision) {
    let now = observed.now_ms;
    let mut believed: Vec<(ObjectId, String)> = Vec::new();
    let absent = if vanished.is_empty() {
        BTreeMap::new()
    } else {
        absent(observed)
    };
    for id in vanished {
        let stays = stays(observed, &absent, id);
        let since = observed.missed.get(id).copied().unwrap_or(now);
        if !matches!(stays, Some(Stays::Unserved(_))) {
            decision.missed.insert(id.clone(), since);
        }
        if let Some(stays) = stays {
            if stays == Stays::Protected {
                let at = decision.look_again_at.unwrap_or(u64::MAX);
                decision.look_again_at = Some(at.min(now.saturating_add(LOOK_MS)));
            }
            decision.stays.insert(id.clone(), stays);
            continue;
        }
        let sure_at = sure_at(observed, id);
        if sure_at > now {
            decision.missing.insert(id.clone(), sure_at);
            let at = decision.look_again_at.unwrap_or(u64::MAX);
            decision.look_again_at = Some(at.min(sure_at));
        } else if let Some(live) = observed.live.get(id) {
            believed.push((id.clone(), live.uid.clone()));
        }
    }
    // Files of one checkout go one after the other: what they had is judged together.
    let all = believed.len() + decision.missing.len();
    let is_whole = decision.missing.is_empty() || !is_many(observed, all);
    if !is_whole || hold_together(observed, &believed, decision) {
        return;
    }
    // What is on its way out may need what has its turn later.
    let order = departures(observed);
    let leaving = observed.live.iter();
    let leaving = leaving.filter(|(id, live)| live.deleting && !observed.wanted.contains_key(id));
    let leaving = leaving.map(|(id, _)| id);
    let leaves = |id: &ObjectId| vanished.contains(id);
    let unserved = observed.live.iter().filter(|(id, live)| {
        live.unserved.is_some() && vanished.contains(id) && !goes_with_definition(live, leaves)
    });
    let leaving = leaving.chain(unserved.map(|(id, _)| id));
    let first = leaving.chain(believed.iter().map(|(id, _)| id));
    let first = first.map(|id| order.turn(id)).max();
    let (now, later) = believed
        .into_iter()
        .partition(|(id, _)| Some(order.turn(id)) == first);
    decision.deletions = now;
    decision.deletions_later = later;
    hold_definitions(observed, decision);
}

/// When it can be believed that an object is missing.
fn sure_at(observed: &Observed<'_>, id: &ObjectId) -> u64 {
    let since = observed.missed.get(id).copied();
    let since = since.unwrap_or(observed.now_ms);
    since.saturating_add(observed.grace_ms)
}

/// Holds everything back when it is more than half of a large project, or when something would be taken down with it, and
/// no agreement is there. What has no state of its own may be needed until then. Returns whether.
fn hold_together(
    observed: &Observed<'_>,
    believed: &[(ObjectId, String)],
    decision: &mut Decision,
) -> bool {
    let is_held =
        |(id, _): &(ObjectId, String)| observed.live.get(id).is_some_and(|live| live.held);
    let asks = observed.deletions == Deletions::Approve && believed.iter().any(is_held);
    if !asks && !is_many(observed, believed.len()) {
        return false;
    }
    let uids: BTreeSet<String> = believed.iter().map(|(_, uid)| uid.clone()).collect();
    if is_agreed(observed, &uids) {
        decision.agreed = uids;
        return false;
    }
    let first = believed.iter().take(NAMED);
    let first = first.map(|(id, _)| id.to_string()).collect();
    decision.held = Some(HeldDeletions {
        count: believed.len(),
        of: living(observed),
        first,
        others: Vec::new(),
        token: token(&uids),
    });
    true
}

/// Definitions whose turn it is go only when nothing goes along, or somebody has agreed to just that: what else is of
/// the kind by now was not removed from a file. What has its turn later waits for them.
fn hold_definitions(observed: &Observed<'_>, decision: &mut Decision) {
    let (definitions, others): (Vec<_>, _) = std::mem::take(&mut decision.deletions)
        .into_iter()
        .partition(|(id, _)| is_definition(id));
    decision.deletions = others;
    let (mut company, mut sentences) = (GoingAlong::new(), Vec::new());
    let mut accompanied = Vec::new();
    for (id, uid) in definitions {
        match observed.going_along.get(&id) {
            None => decision.unknown_company.push(id),
            Some(along) if along.is_empty() => decision.deletions.push((id, uid)),
            Some(along) => {
                sentences.push(sentence(&id, along));
                company.extend(along.iter().cloned());
                accompanied.push((id, uid));
            }
        }
    }
    if accompanied.is_empty() {
        return;
    }
    let uids: BTreeSet<String> = accompanied
        .iter()
        .chain(&company)
        .map(|(_, uid)| uid.clone())
        .collect();
    if is_agreed(observed, &uids) {
        decision.agreed.extend(uids);
        decision.deletions.extend(accompanied);
    } else {
        decision.held = Some(HeldDeletions {
            count: accompanied.len(),
            of: living(observed),
            first: accompanied.iter().map(|(id, _)| id.to_string()).collect(),
            others: sentences,
            token: token(&uids),
        });
        decision.held_for = company;
    }
}

/// Whether these are more than half of a large project.
fn is_many(observed: &Observed<'_>, deletions: usize) -> bool {
    let living = living(observed);
    living >= LARGE && deletions * 2 > living
}

fn living(observed: &Observed<'_>) -> usize {
    observed.live.values().filter(|live| !live.deleting).count()
}

fn is_agreed(observed: &Observed<'_>, uids: &BTreeSet<String>) -> bool {
    observed.approved == Some(&token(uids)) || uids.is_subset(observed.agreed)
}

fn sentence(definition: &ObjectId, along: &GoingAlong) -> String {
    let names: Vec<_> = along.iter().map(|(id, _)| id.clone()).collect();
    leaving::sentence(definition, &names, Whose::NotRemoved)
}

/// Why an object that has vanished isn't deleted, however long it is missing.
fn stays(
    observed: &Observed<'_>,
    absent: &BTreeMap<Named<'_>, &ObjectId>,
    id: &ObjectId,
) -> Option<Stays> {
    if let Some(unserved) = observed
        .live
        .get(id)
        .and_then(|live| live.unserved.as_ref())
    {
        return Some(Stays::Unserved(unserved.definition.clone()));
    }
    if observed.live.get(id).is_some_and(|live| live.protected) {
        return Some(Stays::Protected);
    }
    if is_namespace(id) {
        let mut inside = observed.live.keys();
        let inside = inside.find(|inside| inside.namespace.as_ref() == Some(&id.name));
        return inside.map(|inside| Stays::Occupied(inside.clone()));
    }
    let moved = absent.get(&named(id))?;
    Some(Stays::Moving((*moved).clone()))
}

/// Group, kind and name: what stays the same when an object moves to another namespace.
type Named<'a> = (&'a str, &'a str, &'a str);

fn named(id: &ObjectId) -> Named<'_> {
    (&id.group, &id.kind, &id.name)
}

/// Objects that are wanted and not there.
fn absent<'a>(observed: &Observed<'a>) -> BTreeMap<Named<'a>, &'a ObjectId> {
    let wanted = observed.wanted.keys();
    let absent = wanted.filter(|id| observed.live.get(id).is_none_or(|live| live.deleting));
    absent.map(|id| (named(id), id)).collect()
}

/// Whether an object whose kind isn't served goes with its definition: nothing holds it, and that one goes.
pub(crate) fn goes_with_definition(live: &Live, leaves: impl Fn(&ObjectId) -> bool) -> bool {
    let unserved = live.unserved.as_ref().filter(|unserved| !unserved.held);
    unserved.is_some_and(|unserved| leaves(&definition(&unserved.definition)))
}

/// The order of deletions, from all that is known of Reconcilers: one that is deleted is in no file any more.
fn departures(observed: &Observed<'_>) -> Departures {
    let wanted = observed
        .wanted
        .iter()
        .map(|(id, wanted)| (id, &*wanted.object));
    let said = observed.said.iter().map(|(id, said)| (id, &**said));
    let live = observed.live.iter();
    let live = live.filter_map(|(id, live)| Some((id, &**live.object.as_ref()?)));
    Departures::of(wanted.chain(said).chain(live))
}

/// Names exactly these deletions.
#[must_use]
pub fn token(uids: &BTreeSet<String>) -> String {
    let mut hash = Sha256::new();
    for uid in uids {
        hash.update(uid);
        hash.update("\n");
    }
    let sum = format!("{:x}", hash.finalize());
    sum[..16].to_owned()
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
