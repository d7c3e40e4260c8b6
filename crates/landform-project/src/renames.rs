//! Which objects of a project only have another name, and the steps that give it to them (R15, R15b). Pure.
//!
//! 1. A file tells the former name by the annotation `landform.dev/renamed-from`.
//! 2. Otherwise an object that is there and one that a file wants are the same when they differ in nothing but name
//!    and file, and no third one is like them. Objects whose names come and go are paired first, and objects of
//!    one file before those of two.
//! 3. Pairs count as far as all names add up: a name is free, or its object gets another name too. So pairs form
//!    chains, from a name that no file has any more to a name that no object has yet, and cycles.
//!
//! The API renames one object at a time, onto a free name. A chain runs from its free end; in a cycle one object is
//! parked under a name that says where it belongs, so that the next run goes on wherever this one ended.

use std::collections::{BTreeMap, BTreeSet};

use landform_api::keys::PREFIX_RENAMING;
use landform_api::project::{ANNOTATION_APPLIED, ANNOTATION_BLUEPRINT, ANNOTATION_FILE};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::apply::{Difference, difference};
use crate::decide::{Live, Observed};
use crate::object::{ObjectId, Wanted};
use crate::order::rank;

/// Marks that follow from where an object stands and not from what its file says of it.
const MARKS: [&str; 3] = [ANNOTATION_FILE, ANNOTATION_BLUEPRINT, ANNOTATION_APPLIED];

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// From, to: each name at most once on either side.
    pub(crate) renames: BTreeMap<ObjectId, ObjectId>,
    /// What is wrong with wanted objects; they are left alone.
    pub(crate) problems: Vec<(ObjectId, String)>,
    /// Objects that are not deleted, though no file has their names, because of these problems.
    pub(crate) kept: BTreeSet<ObjectId>,
    /// Wanted objects whose names others still have, each with the missing object at the beginning of its chain: the
    /// rest of the chain may be in a file that is saved a moment later.
    pub(crate) held_back: BTreeMap<ObjectId, ObjectId>,
}

/// Finds the renames. `unchanged` are the objects that are as their files say.
pub(crate) fn find(observed: &Observed<'_>, unchanged: &BTreeSet<&ObjectId>) -> Found {
    let mut search = Search {
        observed,
        unchanged,
        pairs: BTreeMap::new(),
        taken: BTreeMap::new(),
        told: BTreeSet::new(),
        found: Found::default(),
    };
    search.parked();
    search.told();
    search.alike();
    search.hold_back();
    search.doubt();
    search.prune();
    search.drop_edits();
    search.found.renames = search.pairs;
    search.found
}

struct Search<'a> {
    observed: &'a Observed<'a>,
    unchanged: &'a BTreeSet<&'a ObjectId>,
    pairs: BTreeMap<ObjectId, ObjectId>,
    /// The same the other way round.
    taken: BTreeMap<ObjectId, ObjectId>,
    /// Objects that are paired because somebody says so.
    told: BTreeSet<ObjectId>,
    found: Found,
}

impl<'a> Search<'a> {
    /// Cycles that an earlier run did not finish.
    fn parked(&mut self) {
        let observed = self.observed;
        for to in observed.wanted.keys() {
            let from = parked(to);
            if self.movable(&from).is_some() {
                self.told.insert(from.clone());
                self.pair(from, to.clone());
            }
        }
    }

    /// Former names that files tell.
    fn told(&mut self) {
        let observed = self.observed;
        let mut told: BTreeMap<ObjectId, Vec<&ObjectId>> = BTreeMap::new();
        for (to, from) in self.news() {
            if self.movable(&from).is_some() {
                told.entry(from).or_default().push(to);
            }
        }
        for (from, to) in told {
            match to.as_slice() {
                [to] => {
                    self.told.insert(from.clone());
                    self.pair(from, (*to).clone());
                }
                several if !observed.wanted.contains_key(&from) => {
                    let names: Vec<_> = several.iter().map(|to| to.name.as_str()).collect();
                    let message = format!(
                        "{from} is the former name of {}: leave landform.dev/renamed-from at one of them",
                        names.join(" and ")
                    );
                    for to in several {
                        self.problem(&from, to, message.clone());
                    }
                }
                _ => {}
            }
        }
    }

    /// The former names that files tell of renames which have not been carried out. Files go on to tell of those that
    /// were: then the object of that name had the former one. But when that object is told to leave, what takes its
    /// name is another one, and the telling is new.
    fn news(&self) -> Vec<(&'a ObjectId, ObjectId)> {
        let observed = self.observed;
        let told = observed.wanted.iter();
        let told = told.filter_map(|(to, wanted)| Some((to, former(to, wanted)?)));
        let told = told.filter(|(to, _)| !self.taken.contains_key(*to));
        let (mut done, mut news): (Vec<_>, Vec<_>) = told.partition(|(to, from)| {
            let live = observed.live.get(*to).filter(|live| !live.deleting);
            let former = live.and_then(|live| live.former.as_deref());
            // What had a name for the moment between two others was renamed because it was told.
            former.is_some_and(|former| *former == from.name || former.starts_with(PREFIX_RENAMING))
        });
        loop {
            let leaves = |to: &ObjectId| news.iter().any(|(_, from)| from == to);
            let (more, rest): (Vec<_>, Vec<_>) = done.into_iter().partition(|(to, _)| leaves(to));
            if more.is_empty() {
                return news;
            }
            news.extend(more);
            done = rest;
        }
    }

    /// Pairs objects that differ in nothing but the name.
    fn alike(&mut self) {
        let observed = self.observed;
        let named = |id: &ObjectId| observed.wanted.contains_key(id);
        let is_there = |id: &ObjectId| observed.live.contains_key(id);
        let mut left: BTreeMap<_, Vec<&'a ObjectId>> = BTreeMap::new();
        for id in observed.live.keys() {
            let free = !self.pairs.contains_key(id) && !self.found.kept.contains(id);
            // The names of namespaces and definitions are what they are.
            if free && rank(id) > 1 && self.movable(id).is_some() && !self.is_in_place(id) {
                left.entry(place(id)).or_default().push(id);
            }
        }
        let mut came: BTreeMap<_, Vec<&'a ObjectId>> = BTreeMap::new();
        for (id, wanted) in observed.wanted {
            let free = !self.taken.contains_key(id) && !self.has_problem(id);
            let paired = left.contains_key(&place(id));
            if free && paired && !wanted.only_there && !self.is_in_place(id) {
                came.entry(place(id)).or_default().push(id);
            }
        }
        for (place, came) in came {
            let left = left.remove(&place).unwrap_or_default();
            // Most edits change one object: then there is nobody to be mistaken for.
            if left == came && left.len() == 1 {
                continue;
            }
            for come_and_go in [true, false] {
                for one_file in [true, false] {
                    let left = left.iter().filter(|id| !(come_and_go && named(id)));
                    let came = came.iter().filter(|id| !(come_and_go && is_there(id)));
                    self.pair_unique(
                        &left.collect::<Vec<_>>(),
                        &came.collect::<Vec<_>>(),
                        one_file,
                    );
                }
            }
        }
    }

    fn pair_unique(&mut self, left: &[&&'a ObjectId], came: &[&&'a ObjectId], one_file: bool) {
        let left = left.iter().filter(|id| !self.pairs.contains_key(**id));
        let came = came.iter().filter(|id| !self.taken.contains_key(**id));
        let came: Vec<&ObjectId> = came.map(|id| **id).collect();
        let mut by_left: Vec<(&ObjectId, Vec<&ObjectId>)> = Vec::new();
        let mut claims: BTreeMap<&ObjectId, usize> = BTreeMap::new();
        for from in left {
            let like = came.iter().filter(|to| self.is_alike(from, to, one_file));
            let like: Vec<_> = like.copied().collect();
            for to in &like {
                *claims.entry(to).or_default() += 1;
            }
            by_left.push((from, like));
        }
        for (from, like) in by_left {
            if let [to] = like.as_slice()
                && claims.get(to) == Some(&1)
            {
                self.pair(from.clone(), (*to).clone());
            }
        }
    }

    /// Notes chains that begin with a missing object, and end with a name whose object stays for now.
    fn hold_back(&mut self) {
        let observed = self.observed;
        for chain in components(&self.pairs) {
            let (Some((_, end)), Some((missing, _))) = (chain.first(), chain.last()) else {
                continue;
            };
            let is_cut = observed.live.contains_key(end) && !self.pairs.contains_key(end);
            if is_cut && !observed.wanted.contains_key(missing) {
                let held = chain.iter().map(|(_, to)| (to.clone(), missing.clone()));
                self.found.held_back.extend(held);
            }
        }
    }

    /// What is wanted may be what a file had that has problems now: it is left alone until they are solved, and so is
    /// what would take the name of such an object.
    fn doubt(&mut self) {
        let observed = self.observed;
        let live = observed.live.iter();
        let live = live.filter(|(_, live)| !live.deleting && live.unserved.is_none());
        let unsure = live.filter(|(_, live)| (observed.is_unsure)(&live.file));
        let gone = unsure.filter(|(id, _)| !observed.wanted.contains_key(id));
        let mut doubtful: BTreeSet<&ObjectId> = gone.map(|(id, _)| id).collect();
        while let Some((from, to)) = self.next_doubt(&doubtful) {
            let file = observed.live.get(&from).map(|live| live.file.as_str());
            let message = format!(
                "{to} may be {from} of {}: nothing is done with it until the problems of files are solved",
                file.unwrap_or_default()
            );
            self.part(&from);
            self.problem(&from, to, message);
            doubtful.extend(observed.live.get_key_value(to).map(|(id, _)| id));
        }
    }

    fn next_doubt(&self, doubtful: &BTreeSet<&ObjectId>) -> Option<(ObjectId, &'a ObjectId)> {
        if doubtful.is_empty() {
            return None;
        }
        self.observed.wanted.keys().find_map(|to| {
            let is_paired = |from: &ObjectId| !doubtful.contains(from);
            let is_settled = self.taken.get(to).is_some_and(is_paired)
                || self.unchanged.contains(to)
                || self.has_problem(to);
            let mut like = doubtful.iter().filter(|from| {
                !is_settled
                    && rank(to) > 1
                    && place(from) == place(to)
                    && self.is_alike(from, to, false)
            });
            like.next().map(|from| ((*from).clone(), to))
        })
    }

    /// Takes back what doesn't add up, until all of it does.
    fn prune(&mut self) {
        let observed = self.observed;
        loop {
            let wrong = self.pairs.iter().find(|(from, to)| {
                let stays = observed.live.contains_key(*to) && !self.pairs.contains_key(*to);
                let wanted = observed.wanted.contains_key(*from) && !self.taken.contains_key(*from);
                stays || wanted
            });
            let Some((from, to)) = wrong.map(|(from, to)| (from.clone(), to.clone())) else {
                return;
            };
            self.part(&from);
            let holder = observed.live.get(&to);
            if holder.is_some_and(|holder| holder.deleting) {
                // The name becomes free: until then the object stays as it is, and what should have its name too.
                self.found.kept.insert(from);
            } else if holder.is_some() && self.found.kept.contains(&to) {
                let message =
                    format!("{from} is renamed when {to} has its new name, which is not free yet");
                self.problem(&from, &to, message);
            } else if self.told.contains(&from) && !observed.wanted.contains_key(&from) {
                let message = format!(
                    "{from} can't be renamed: {to} already exists. Choose another name, or remove that object first"
                );
                self.problem(&from, &to, message);
            }
        }
    }

    /// Contents that changed places while each name stayed in its own file are edits of these files.
    fn drop_edits(&mut self) {
        let parts = components(&self.pairs).into_iter();
        for cycle in parts.filter(|part| is_cycle(part)) {
            let live = cycle
                .iter()
                .filter_map(|(id, _)| self.observed.live.get(id));
            let files: BTreeSet<_> = live.map(|live| live.file.as_str()).collect();
            let found = cycle.iter().all(|(from, _)| {
                let wanted = self.observed.wanted.get(from);
                let at_home = self.observed.live.get(from).map(|live| &live.file)
                    == wanted.map(|wanted| &wanted.file);
                at_home && !self.told.contains(from)
            });
            if found && files.len() > 1 {
                for (from, _) in &cycle {
                    self.part(from);
                }
            }
        }
    }

    fn pair(&mut self, from: ObjectId, to: ObjectId) {
        self.taken.insert(to.clone(), from.clone());
        self.pairs.insert(from, to);
    }

    fn part(&mut self, from: &ObjectId) {
        if let Some(to) = self.pairs.remove(from) {
            self.taken.remove(&to);
        }
    }

    fn problem(&mut self, from: &ObjectId, to: &ObjectId, message: String) {
        self.found.kept.insert(from.clone());
        self.found.problems.push((to.clone(), message));
    }

    fn has_problem(&self, id: &ObjectId) -> bool {
        self.found.problems.iter().any(|(wrong, _)| wrong == id)
    }

    /// An object that may get another name: nothing is concluded from a file that can't be read.
    fn movable(&self, id: &ObjectId) -> Option<&'a Live> {
        let live = self.observed.live.get(id)?;
        (!live.deleting && live.unserved.is_none() && !(self.observed.is_unsure)(&live.file))
            .then_some(live)
    }

    /// Whether a file has the object under its name as it is: perhaps another file.
    fn is_in_place(&self, id: &ObjectId) -> bool {
        self.unchanged.contains(id) || self.is_alike(id, id, false)
    }

    /// Whether what is there and what is wanted differ in nothing but the name and the file.
    fn is_alike(&self, from: &ObjectId, to: &ObjectId, one_file: bool) -> bool {
        let (Some(live), Some(wanted)) =
            (self.observed.live.get(from), self.observed.wanted.get(to))
        else {
            return false;
        };
        if one_file && live.file != wanted.file {
            return false;
        }
        if let Some(said) = self.observed.said.get(from) {
            return same_but_name(said, &wanted.object);
        }
        let Some(live) = live.object.as_deref() else {
            return false;
        };
        let mut wanted = (*wanted.object).clone();
        wanted["metadata"]["name"] = live["metadata"]["name"].clone();
        for mark in [ANNOTATION_FILE, ANNOTATION_BLUEPRINT] {
            let mark_there = &live["metadata"]["annotations"][mark];
            if mark_there.is_string() {
                wanted["metadata"]["annotations"][mark] = mark_there.clone();
            }
        }
        difference(&wanted, Some(live)) == Difference::Same
    }
}

/// Objects can only change places with objects of the same kind in the same namespace.
fn place(id: &ObjectId) -> (&str, &str, Option<&str>) {
    (&id.group, &id.kind, id.namespace.as_deref())
}

fn former(to: &ObjectId, wanted: &Wanted) -> Option<ObjectId> {
    let name = wanted.renamed_from.clone()?;
    Some(ObjectId { name, ..to.clone() })
}

/// Compares what files say of two objects, without their names and marks.
fn same_but_name(left: &Value, right: &Value) -> bool {
    let same = |left: &Value, right: &Value, without: &[&str]| {
        let fields = |value: &Value| {
            let fields = value.as_object().cloned().unwrap_or_default();
            let kept = |name: &String| !without.contains(&name.as_str());
            fields.into_iter().filter(move |(name, _)| kept(name))
        };
        fields(left).eq(fields(right))
    };
    let (meta_left, meta_right) = (&left["metadata"], &right["metadata"]);
    same(left, right, &["metadata"])
        && same(meta_left, meta_right, &["name", "annotations"])
        && same(
            &meta_left["annotations"],
            &meta_right["annotations"],
            &MARKS,
        )
}

/// The name under which an object waits while another one still has the name that it should get.
#[must_use]
pub(crate) fn parked(to: &ObjectId) -> ObjectId {
    let sum = format!("{:x}", Sha256::digest(&to.name));
    ObjectId {
        name: format!("{PREFIX_RENAMING}{}", &sum[..16]),
        ..to.clone()
    }
}

/// Renames that depend on each other, in the order in which they can be carried out one by one: when one of them
/// fails, those behind it must not be tried.
#[must_use]
pub fn steps(renames: &BTreeMap<ObjectId, ObjectId>) -> Vec<Vec<(ObjectId, ObjectId)>> {
    let parts = components(renames).into_iter();
    let parts = parts.map(|mut part| {
        if is_cycle(&part)
            && let Some((_, first)) = part.first_mut()
        {
            let waiting = parked(first);
            let to = std::mem::replace(first, waiting.clone());
            part.push((waiting, to));
        }
        part
    });
    parts.collect()
}

/// Chains with their free end first, and cycles, in which each name follows the one that it is freed for.
fn components(renames: &BTreeMap<ObjectId, ObjectId>) -> Vec<Vec<(ObjectId, ObjectId)>> {
    let back: BTreeMap<_, _> = renames.iter().map(|(from, to)| (to, from)).collect();
    let mut left: BTreeSet<_> = renames.keys().collect();
    let free_ends = renames.iter().filter(|(_, to)| !renames.contains_key(*to));
    let ends: Vec<_> = free_ends
        .map(|(from, _)| from)
        .chain(renames.keys())
        .collect();
    let mut parts = Vec::new();
    for end in ends {
        let mut part = Vec::new();
        let mut next = Some(end);
        while let Some(from) = next.filter(|from| left.remove(*from)) {
            part.extend(renames.get(from).map(|to| (from.clone(), to.clone())));
            next = back.get(from).copied();
        }
        if !part.is_empty() {
            parts.push(part);
        }
    }
    parts
}

fn is_cycle(part: &[(ObjectId, ObjectId)]) -> bool {
    let (first, last) = (part.first(), part.last());
    first
        .zip(last)
        .is_some_and(|((_, to), (from, _))| to == from)
}
