//! A small world for tests: versions of one package, what they own, and what is owned by strangers. Decisions
//! are carried out on it one write at a time, and after every write it is checked that nothing is lost.
//!
//! [`explore`] visits every state that any order of steps leads to: each version may be decided next, each
//! decision may be cut off after any of its writes, and what people do may happen at any moment.

mod checks;
mod explore;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::hash::Hash;

use landform_api::catalog::operator_version::{Requirement, Upgrade};
use landform_api::catalog::{AdoptionBy, Phase, RequirementStatus, UpgradeMode};
use landform_catalog::{Edges, Range, Replaces};
use semver::Version;

use super::observed::Former;
use super::{Action, Family, Install, Member, Need, Observed, OwnedBy, Reason, Remedy, Resource};
use super::{Decision, decide};
use crate::app_type::OwnVersion;

pub(crate) use explore::{explore, walk};

pub(crate) type Name = &'static str;

/// A version as its author made it.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) version: Version,
    pub(crate) edges: Edges,
    pub(crate) upgrade: Upgrade,
    /// Its install fails until it is fixed.
    pub(crate) broken: bool,
    /// Something that it needs is missing for good.
    pub(crate) lacking: bool,
}

/// All versions that could ever exist.
pub(crate) type Package = BTreeMap<Name, Made>;

/// A version, for instance `made("2.0.0", "a")`: what it replaces is a name, a version or a range.
pub(crate) fn made(version: &str, replaces: &str) -> Made {
    Made {
        version: Version::parse(version).unwrap(),
        edges: Edges {
            replaces: (!replaces.is_empty()).then(|| Replaces::parse(replaces)),
            ..Edges::default()
        },
        upgrade: Upgrade::default(),
        broken: false,
        lacking: false,
    }
}

impl Made {
    pub(crate) fn skips(mut self, skipped: &str) -> Self {
        self.edges.skips.push(skipped.into());
        self
    }

    pub(crate) fn skip_range(mut self, range: &str) -> Self {
        self.edges.skip_range = Some(Range::parse(range).unwrap());
        self
    }

    pub(crate) fn broken(mut self) -> Self {
        self.broken = true;
        self
    }

    pub(crate) fn lacking(mut self) -> Self {
        self.lacking = true;
        self
    }
}

/// A version that exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Living {
    pub(crate) uid: String,
    pub(crate) generation: i64,
    pub(crate) phase: Option<Phase>,
    pub(crate) marked: bool,
    held: bool,
    begun: bool,
    stuck: bool,
    broken: bool,
    execution: Execution,
    written: i64,
    told: i64,
    replaced: BTreeSet<Name>,
    reasserted_for: Option<String>,
    pub(crate) rollback_of: Option<Name>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Execution {
    Absent,
    Working,
    Ready,
    Failed,
    Leaving,
}

/// A resource: who owns it, by uid, and whether as controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Thing {
    pub(crate) owners: Vec<(String, bool)>,
    labelled: bool,
}

/// What people do, once, at any moment at which it makes sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    Create(Name),
    /// It is created to take the place of a higher one.
    CreateInsteadOf(Name, Name),
    /// It takes its place back from a higher one.
    TakeBack(Name, Name),
    Delete(Name),
    /// What made its install fail is put right.
    Fix(Name),
    /// Its operator makes something.
    Make(Name, &'static str),
    /// The same, as soon as it runs.
    Has(Name, &'static str),
    /// It is created, but only after a version of this name has gone.
    CreateAfter(Name, Name),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) versions: BTreeMap<Name, Living>,
    pub(crate) things: BTreeMap<&'static str, Thing>,
    pub(crate) events: Vec<Event>,
    /// Whose objects the operator's Deployment is made of: the last that wrote it.
    pub(crate) deployment: Option<String>,
    /// Versions whose install began, in this order.
    pub(crate) installs: Vec<Name>,
    /// Versions that are gone.
    pub(crate) gone: BTreeSet<Name>,
    /// Things that were deleted because somebody deleted their only owner.
    pub(crate) deleted: BTreeSet<&'static str>,
    pub(crate) births: u32,
}

/// One write to one object.
#[derive(Clone, Debug)]
enum Write {
    Do(Action),
    Status,
}

const FOREIGN: [&str; 3] = ["nobody's", "nobody's without labels", "a stranger's"];
pub(crate) const STRANGER: &str = "stranger";

impl World {
    /// Nothing of the package exists; others' resources do.
    pub(crate) fn new(events: &[Event]) -> Self {
        let foreign = |owners: &[(&str, bool)], labelled| Thing {
            owners: owners
                .iter()
                .map(|(uid, controller)| ((*uid).to_owned(), *controller))
                .collect(),
            labelled,
        };
        let things = BTreeMap::from([
            (FOREIGN[0], foreign(&[], true)),
            (FOREIGN[1], foreign(&[], false)),
            (FOREIGN[2], foreign(&[(STRANGER, true)], true)),
        ]);
        Self {
            versions: BTreeMap::new(),
            things,
            events: events.to_vec(),
            deployment: None,
            installs: Vec::new(),
            gone: BTreeSet::new(),
            deleted: BTreeSet::new(),
            births: 0,
        }
    }

    fn member(&self, package: &Package, name: Name) -> Member {
        let (made, living) = (&package[name], &self.versions[name]);
        let former = |name: &Name| {
            let edges = &package[name].edges;
            let skips = edges.skips.iter().map(|text| Replaces::parse(text));
            let range = edges.skip_range.clone().map(Replaces::Range);
            Former {
                name: (*name).to_owned(),
                edges: edges
                    .replaces
                    .clone()
                    .into_iter()
                    .chain(skips)
                    .chain(range)
                    .collect(),
            }
        };
        Member {
            name: name.to_owned(),
            uid: living.uid.clone(),
            generation: living.generation,
            version: made.version.clone(),
            edges: made.edges.clone(),
            rollback_of: living.rollback_of.map(str::to_owned),
            phase: living.phase,
            up_to_date: living.told == living.generation,
            marked: living.marked,
            begun: living.begun || living.execution != Execution::Absent,
            stuck: living.stuck,
            upgradeable: Ok(()),
            message: String::new(),
            replaced: living.replaced.iter().map(former).collect(),
            reasserted_for: living.reasserted_for.clone(),
        }
    }

    /// As its app type sees it.
    pub(crate) fn own_versions(&self, package: &Package) -> Vec<OwnVersion> {
        let seen = |name: &Name| {
            let member = self.member(package, name);
            OwnVersion {
                name: member.name,
                version: member.version,
                phase: member.phase,
                marked: member.marked,
                begun: member.begun,
                mine: true,
                rollback_of: member.rollback_of,
                upgradeable: Ok(()),
                message: String::new(),
            }
        };
        self.versions.keys().map(seen).collect()
    }

    fn others(&self, package: &Package, name: Name) -> Vec<Member> {
        let others = self.versions.keys().filter(|other| **other != name);
        others.map(|other| self.member(package, other)).collect()
    }

    fn family_owns(&self, uid: &str) -> bool {
        self.versions.values().any(|living| living.uid == uid)
    }

    /// Names of the things that the family owns, in the order of `Observed::resources`.
    fn owned(&self) -> Vec<&'static str> {
        let ours = |thing: &Thing| thing.owners.iter().any(|(uid, _)| self.family_owns(uid));
        let owned = self.things.iter().filter(|(_, thing)| ours(thing));
        owned.map(|(name, _)| *name).collect()
    }

    fn observed(&self, package: &Package, name: Name) -> Observed {
        let living = &self.versions[name];
        let resource = |title: &'static str| {
            let thing = &self.things[title];
            let ours = thing.owners.iter().filter(|(uid, _)| self.family_owns(uid));
            Resource {
                title: title.to_owned(),
                marked: false,
                owners: ours
                    .map(|(uid, controller)| OwnedBy {
                        uid: uid.clone(),
                        controller: *controller,
                        selected: thing.labelled,
                    })
                    .collect(),
            }
        };
        let need = Need {
            requirement: Requirement {
                kind: "Package".into(),
                name: "other".into(),
                status: RequirementStatus::NotPresent,
                message: "it is not here".into(),
            },
            remedy: Remedy::Nothing,
        };
        Observed {
            me: self.member(package, name),
            held: living.held,
            orphaning: false,
            problem: None,
            others: self.others(package, name),
            needs: if package[name].lacking {
                vec![need]
            } else {
                Vec::new()
            },
            install: match living.execution {
                Execution::Absent => Install::Absent,
                Execution::Leaving => Install::Leaving(None),
                _ if living.written != living.generation && !living.marked => Install::Outdated,
                Execution::Working => Install::Working,
                Execution::Ready => Install::Ready,
                Execution::Failed => Install::Failed("it doesn't start".into()),
            },
            upgrade: package[name].upgrade,
            resources: self.owned().into_iter().map(resource).collect(),
            offer: None,
        }
    }

    /// Every world in which a decision about a version may leave this one: cut off after each of its writes,
    /// the last one is the whole decision.
    fn decided(&self, package: &Package, name: Name) -> Vec<World> {
        let decision = decide(&self.observed(package, name));
        let place = self.owned();
        let before = decision.actions.iter().cloned().map(Write::Do);
        let after = decision.afterwards.iter().cloned().map(Write::Do);
        let mut worlds: Vec<World> = Vec::new();
        for write in before.chain([Write::Status]).chain(after) {
            let mut world = worlds.last().unwrap_or(self).clone();
            world.carry_out(package, name, &decision, &place, &write);
            world.check();
            if world != *worlds.last().unwrap_or(self) {
                worlds.push(world);
            }
        }
        worlds
    }

    fn carry_out(
        &mut self,
        package: &Package,
        name: Name,
        decision: &Decision,
        places: &[&'static str],
        write: &Write,
    ) {
        let Write::Do(action) = write else {
            return self.write_status(name, decision);
        };
        let uid = self.versions[name].uid.clone();
        match action {
            Action::Hold => self.living(name).held = true,
            Action::LetGo => {
                assert!(self.versions[name].marked);
                self.forget(name);
            }
            Action::ForgetRollback => self.living(name).rollback_of = None,
            Action::WriteDefinition(_) | Action::Ask(_) => unreachable!("no such need"),
            Action::Install => {
                self.check_install(package, name);
                let living = self.living(name);
                if living.execution == Execution::Absent {
                    self.installs.push(name);
                }
                let living = self.living(name);
                living.execution = Execution::Working;
                living.written = living.generation;
                self.deployment = Some(uid);
            }
            Action::Uninstall => {
                self.living(name).execution = Execution::Leaving;
                if self.deployment.as_ref() == Some(&uid) {
                    self.deployment = None;
                }
            }
            Action::Reassert(_) => self.deployment = Some(uid),
            Action::AddOwner(place) => {
                let thing = self.things.get_mut(places[*place]).unwrap();
                assert!(
                    thing.labelled,
                    "{name} touches what nobody said was managed"
                );
                assert!(thing.owners.iter().all(|(owner, _)| *owner != uid));
                thing.owners.push((uid, false));
            }
            Action::Adopt(place, old) => {
                let thing = self.things.get_mut(places[*place]).unwrap();
                assert!(
                    thing.labelled,
                    "{name} touches what nobody said was managed"
                );
                adopt(thing, &uid);
                thing.owners.retain(|(owner, _)| owner != old);
            }
            Action::DeleteResource(place) => {
                assert!(self.versions[name].marked);
                self.check_nobody_could_have_it(package, name);
                let thing = self.things.get_mut(places[*place]).unwrap();
                thing.owners.retain(|(owner, _)| *owner != uid);
                if thing.owners.is_empty() {
                    self.things.remove(places[*place]);
                    self.deleted.insert(places[*place]);
                }
            }
            Action::DeleteSelf => {
                self.check_collected(name);
                self.mark(name);
            }
        }
    }

    fn write_status(&mut self, name: Name, decision: &Decision) {
        let replaces = self.versions.keys().copied();
        let replaces: Vec<_> = replaces
            .filter(|found| decision.replaces.iter().any(|replaced| replaced == found))
            .collect();
        let living = self.living(name);
        living.phase = decision.phase.or(living.phase);
        living.begun |= living.execution != Execution::Absent;
        living.told = living.generation;
        living.stuck = decision.reason == Reason::RequirementsNotMet;
        living.replaced.extend(replaces);
        for action in &decision.actions {
            if let Action::Reassert(token) = action {
                living.reasserted_for = Some(token.clone());
            }
        }
    }

    pub(crate) fn living(&mut self, name: Name) -> &mut Living {
        self.versions.get_mut(name).unwrap()
    }

    pub(crate) fn mark(&mut self, name: Name) {
        let living = self.living(name);
        if !living.marked {
            living.marked = true;
            living.generation += 1;
        }
        if !living.held {
            self.forget(name);
        }
    }

    /// A version is gone: it is an owner no more, and what has no owner left is collected.
    fn forget(&mut self, name: Name) {
        let uid = self.versions.remove(name).unwrap().uid;
        self.gone.insert(name);
        for (title, thing) in &mut self.things {
            let owners = thing.owners.len();
            thing.owners.retain(|(owner, _)| *owner != uid);
            let lost = owners > 0 && thing.owners.is_empty();
            assert!(!lost, "{title} is lost with {name}");
        }
    }

    /// What the execution of a version, or its operator, does next.
    fn moved(&self, package: &Package, name: Name) -> Vec<World> {
        let mut world = self.clone();
        let living = world.living(name);
        match living.execution {
            Execution::Working => {
                if living.broken {
                    living.execution = Execution::Failed;
                    return vec![world];
                }
                living.execution = Execution::Ready;
                for event in std::mem::take(&mut world.events) {
                    match event {
                        Event::Has(whose, title) if whose == name => world.make(name, title),
                        other => world.events.push(other),
                    }
                }
                vec![world]
            }
            Execution::Leaving => {
                living.execution = Execution::Absent;
                vec![world]
            }
            Execution::Ready => self.operated(package, name),
            Execution::Absent | Execution::Failed => Vec::new(),
        }
    }

    /// The operator's own adoption loop: each of its writes on each resource.
    fn operated(&self, package: &Package, name: Name) -> Vec<World> {
        let upgrade = package[name].upgrade;
        let me = self.member(package, name);
        if upgrade.adoption != AdoptionBy::Operator || me.marked {
            return Vec::new();
        }
        let others = self.others(package, name);
        let family = Family::new(&me, &others);
        let mut worlds = Vec::new();
        for from in &others {
            let mine = family.heir(from).is_some_and(|heir| heir.uid == me.uid);
            if !mine || from.version > me.version {
                continue;
            }
            for (title, thing) in &self.things {
                let owner = |uid: &str| thing.owners.iter().find(|(owner, _)| owner == uid);
                if owner(&from.uid).is_none() || !thing.labelled {
                    continue;
                }
                let mut world = self.clone();
                let changed = world.things.get_mut(title).unwrap();
                match (owner(&me.uid), upgrade.mode) {
                    (None, UpgradeMode::Managed) => continue,
                    (None, UpgradeMode::Operator) => changed.owners.push((me.uid.clone(), false)),
                    (Some((_, false)), _) => adopt(changed, &me.uid),
                    (Some((_, true)), _) => changed.owners.retain(|(uid, _)| *uid != from.uid),
                }
                world.check();
                worlds.push(world);
            }
        }
        worlds
    }

    /// The world after something that a person did, if it can be done now.
    fn happened(&self, package: &Package, place: usize) -> Option<World> {
        let mut world = self.clone();
        match world.events.remove(place) {
            Event::Create(name) => world.create(package, name, None)?,
            Event::CreateAfter(name, gone) => {
                // An app type waits until the rollback is over.
                let named = self
                    .versions
                    .values()
                    .any(|found| found.rollback_of == Some(name));
                if !self.gone.contains(gone) || self.versions.contains_key(gone) || named {
                    return None;
                }
                world.create(package, name, None)?;
            }
            Event::CreateInsteadOf(name, of) => {
                self.versions
                    .get(of)
                    .filter(|of| of.phase == Some(Phase::Succeeded))?;
                world.create(package, name, Some(of))?;
            }
            Event::TakeBack(name, of) => {
                self.versions.get(of).filter(|of| !of.marked)?;
                let living = world.versions.get_mut(name).filter(|found| !found.marked)?;
                living.rollback_of = Some(of);
            }
            Event::Delete(name) => {
                self.versions.get(name).filter(|found| !found.marked)?;
                world.mark(name);
            }
            Event::Fix(name) => {
                let living = world.versions.get_mut(name)?;
                (living.execution == Execution::Failed && !living.marked).then_some(())?;
                living.broken = false;
                living.generation += 1;
            }
            Event::Make(name, title) => {
                let living = self.versions.get(name)?;
                (living.execution == Execution::Ready).then_some(())?;
                world.make(name, title);
            }
            Event::Has(..) => return None,
        }
        Some(world)
    }

    fn make(&mut self, name: Name, title: &'static str) {
        let thing = Thing {
            owners: vec![(self.versions[name].uid.clone(), true)],
            labelled: true,
        };
        self.things.insert(title, thing);
    }

    pub(crate) fn create(
        &mut self,
        package: &Package,
        name: Name,
        rollback_of: Option<Name>,
    ) -> Option<()> {
        if self.versions.contains_key(name) {
            return None;
        }
        self.births += 1;
        let living = Living {
            uid: format!("{name}#{}", self.births),
            generation: 1,
            phase: None,
            marked: false,
            held: false,
            begun: false,
            stuck: false,
            broken: package[name].broken,
            execution: Execution::Absent,
            written: 0,
            told: 0,
            replaced: BTreeSet::new(),
            reasserted_for: None,
            rollback_of,
        };
        self.versions.insert(name, living);
        Some(())
    }

    /// All worlds that may come next, without those in which somebody crashed last.
    pub(crate) fn next(&self, package: &Package) -> (Vec<World>, Vec<World>) {
        let (mut whole, mut cut) = (Vec::new(), Vec::new());
        for name in self.versions.keys() {
            let mut worlds = self.decided(package, name);
            whole.extend(worlds.pop());
            cut.extend(worlds);
            whole.extend(self.moved(package, name));
        }
        whole.extend((0..self.events.len()).filter_map(|place| self.happened(package, place)));
        (whole, cut)
    }
}

/// In one write: it is the controller, and nobody else is.
fn adopt(thing: &mut Thing, uid: &str) {
    if thing.owners.iter().all(|(owner, _)| owner != uid) {
        thing.owners.push((uid.to_owned(), false));
    }
    for (owner, controller) in &mut thing.owners {
        *controller = owner == uid;
    }
}
