//! The rules R3–R8 in the naive way: every question is answered by walking the whole graph.
//!
//! The model is told what people do, and checks what the machine commands: nothing starts that may not,
//! and nothing is left that may.

use std::collections::{BTreeMap, BTreeSet};

use super::world::{Action, How, Name};
use crate::{Cause, Command, Order, Phase, RunId};

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Thing {
    pub(super) refs: BTreeSet<Name>,
    phase: Phase,
    pub(super) passive: bool,
    /// Marked and found in a cycle: its refs count no more.
    pub(super) cut: bool,
    order: Order<Name>,
    /// Its last run failed, and nobody has changed it since.
    failed: bool,
}

impl Thing {
    /// Whether R8 holds between this object and another one (R8b).
    fn is_ordered_with(&self, name: &Name, other: &Self, other_name: &Name) -> bool {
        match (&self.order, &other.order) {
            (Order::Strict, Order::Strict) => name.namespace_part() == other_name.namespace_part(),
            (
                Order::Related { owners, names },
                Order::Related {
                    owners: others_owners,
                    names: others_names,
                },
            ) => {
                owners.contains(other_name)
                    || others_owners.contains(name)
                    || names.iter().any(|name| others_names.contains(name))
            }
            (Order::Strict | Order::Related { .. } | Order::Free, _) => false,
        }
    }

    /// Without a run it can't go first.
    fn phase(&self) -> Phase {
        if self.passive {
            Phase::Ordinary
        } else {
            self.phase
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Fly {
    pub(super) name: Name,
    /// Its object as it was at the start.
    thing: Thing,
    pub(super) phase: Phase,
    pub(super) cancelled: bool,
    pub(super) stuck: bool,
    /// All that has been above it since it started, by all names, and what is above that: it is protected from all of
    /// that until it returns.
    above: BTreeSet<Name>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) things: BTreeMap<Name, Thing>,
    pub(super) flights: BTreeMap<RunId, Fly>,
    /// Who must run.
    pub(super) must: BTreeSet<Name>,
    /// The names that reconcilers know, and whether a run was started since.
    pub(super) known_as: BTreeMap<Name, (Name, bool)>,
    /// Whose timer is one that it asked for, and has not waited yet.
    asked: BTreeSet<Name>,
    /// Whose time has come, and who let those below finish first (R12b).
    pub(super) patient: BTreeSet<Name>,
    cyclic: BTreeSet<Name>,
    /// Of this step: whose object others touched while it ran.
    touched: BTreeSet<Name>,
    were_cyclic: BTreeSet<Name>,
}

type Checked = Result<(), String>;

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(message()) }
}

impl Model {
    pub(super) fn flight_of(&self, name: &Name) -> Option<RunId> {
        let mut flights = self.flights.iter();
        flights
            .find(|(_, fly)| fly.name == *name)
            .map(|(run, _)| *run)
    }

    fn ancestors(&self, name: &Name) -> BTreeSet<Name> {
        let mut found = BTreeSet::new();
        let refs = |name: &Name| self.things.get(name).map(|thing| thing.refs.clone());
        let mut next: Vec<_> = refs(name).into_iter().flatten().collect();
        while let Some(name) = next.pop() {
            if found.insert(name.clone()) {
                next.extend(refs(&name).into_iter().flatten());
            }
        }
        found
    }

    pub(super) fn is_cyclic(&self, name: &Name) -> bool {
        self.ancestors(name).contains(name)
    }

    /// Passive objects hold back those below them, but only their own changes bring runs.
    fn trigger_dependents(&mut self, name: &Name) {
        let dependents = self
            .things
            .iter()
            .filter(|(other, thing)| thing.refs.contains(name) && *other != name && !thing.passive);
        self.must.extend(dependents.map(|(name, _)| name.clone()));
    }

    fn touch(&mut self, name: &Name) {
        self.touched.insert(name.clone());
    }

    fn vanish(&mut self, name: &Name) {
        self.things.remove(name);
        self.must.remove(name);
        self.known_as.remove(name);
        self.trigger_dependents(name);
    }

    fn set_refs(&mut self, name: &Name, refs: &BTreeSet<Name>) {
        if let Some(thing) = self.things.get_mut(name)
            && !thing.cut
        {
            thing.refs.clone_from(refs);
        }
    }

    pub(super) fn act(&mut self, action: &Action) {
        match action {
            Action::Create {
                name,
                refs,
                passive,
                order,
            } => {
                self.touch(name);
                let thing = Thing {
                    order: order.clone(),
                    failed: false,
                    refs: refs.clone(),
                    phase: Phase::Ordinary,
                    passive: *passive,
                    cut: false,
                };
                self.known_as.remove(name);
                self.things.insert(name.clone(), thing);
                self.must.insert(name.clone());
            }
            Action::Update(name) => {
                self.touch(name);
                self.mend(name);
                self.must.insert(name.clone());
            }
            Action::Ask(name) => {
                self.touch(name);
                self.must.insert(name.clone());
            }
            Action::Child(name) => {
                self.must.insert(name.clone());
            }
            Action::Due(name) => {
                if self.asked.remove(name) && self.is_busy_below(name) {
                    self.patient.insert(name.clone());
                } else {
                    self.must.insert(name.clone());
                }
            }
            Action::Status(_) | Action::OwnUpdate(..) => {}
            Action::Relate(name, refs) => {
                if self
                    .things
                    .get(name)
                    .is_some_and(|thing| thing.refs != *refs && !thing.cut)
                {
                    self.touch(name);
                    self.mend(name);
                    self.must.insert(name.clone());
                    self.set_refs(name, refs);
                }
            }
            Action::OwnRelate(name, refs) => self.set_refs(name, refs),
            Action::Mark(name) => {
                self.touch(name);
                self.mend(name);
                self.mark(name);
            }
            Action::OwnMark(name) => self.mark(name),
            Action::Gone(name) => {
                self.touch(name);
                self.vanish(name);
            }
            Action::OwnGone(name) => self.vanish(name),
            Action::Rename(from, to) => self.rename(from, to),
            Action::Finish(name, how) => self.finish(name, *how),
            Action::Late(name) => {
                let flights = self.flights.values_mut();
                let of_name = flights.filter(|fly| fly.name == *name);
                of_name.for_each(|fly| fly.thing.failed = true);
            }
            Action::Overdue(name) => {
                let flights = self.flights.values_mut();
                let of_name = flights.filter(|fly| fly.name == *name && fly.cancelled);
                of_name.for_each(|fly| fly.stuck = true);
            }
        }
        let Self {
            patient,
            must,
            things,
            ..
        } = self;
        patient.retain(|name| !must.contains(name) && things.contains_key(name));
        self.note_what_is_above();
        self.sync_cycles();
        self.note_what_is_above();
        self.were_cyclic.extend(self.cyclic.iter().cloned());
    }

    /// What a run refers to, directly or not, it has referred to until it has returned.
    fn note_what_is_above(&mut self) {
        let above = |fly: &Fly| {
            let names = fly.above.iter().chain([&fly.name]);
            names.flat_map(|name| self.ancestors(name)).collect()
        };
        let above: Vec<BTreeSet<_>> = self.flights.values().map(above).collect();
        for (fly, above) in self.flights.values_mut().zip(above) {
            fly.above.extend(above);
        }
    }

    /// A change by others: past failures don't count.
    fn mend(&mut self, name: &Name) {
        if let Some(thing) = self.things.get_mut(name) {
            thing.failed = false;
        }
    }

    fn mark(&mut self, name: &Name) {
        if let Some(thing) = self.things.get_mut(name) {
            thing.phase = Phase::Delete;
            self.must.insert(name.clone());
        }
    }

    fn rename(&mut self, from: &Name, to: &Name) {
        let Some(mut thing) = self.things.get(from).cloned() else {
            return;
        };
        self.touch(from);
        self.touch(to);
        let known_as = match self.known_as.get(from) {
            None => from.clone(),
            Some((first, true)) if first == to => from.clone(),
            Some((first, _)) => first.clone(),
        };
        self.vanish(from);
        for fly in self.flights.values_mut() {
            // A run under the former name is one of this object as well (R3).
            if fly.above.contains(from) || fly.name == *from {
                fly.above.insert(to.clone());
            }
        }
        thing.phase = Phase::Ordinary;
        thing.failed = false;
        if known_as != *to {
            thing.phase = Phase::Rename;
            self.known_as.insert(to.clone(), (known_as, false));
        }
        self.things.insert(to.clone(), thing);
        self.must.insert(to.clone());
    }

    fn finish(&mut self, name: &Name, how: How) {
        let Some(fly) = self
            .flight_of(name)
            .and_then(|run| self.flights.remove(&run))
        else {
            return;
        };
        if fly.cancelled {
            return;
        }
        if let Some(thing) = self.things.get_mut(name) {
            thing.failed = how == How::Error;
            let renamed = fly.phase == Phase::Rename && thing.phase == Phase::Rename;
            if renamed && how != How::Error {
                thing.phase = Phase::Ordinary;
            }
            if fly.phase == Phase::Rename && how != How::Error {
                self.known_as.remove(name);
            }
            self.asked.remove(name);
            if how == How::RetriggerSoon {
                self.asked.insert(name.clone());
            }
            if how == How::RetriggerPast {
                self.must.insert(name.clone());
            }
        }
        self.trigger_dependents(name);
    }

    /// Marked members lose their refs; who is in a cycle no more must run.
    fn sync_cycles(&mut self) {
        let marked = |model: &Self, name: &Name| {
            model.things[name].phase == Phase::Delete && model.is_cyclic(name)
        };
        let cut: Vec<_> = self
            .things
            .keys()
            .filter(|name| marked(self, name))
            .cloned()
            .collect();
        for name in cut {
            if let Some(thing) = self.things.get_mut(&name) {
                thing.cut = true;
                thing.refs.clear();
            }
        }
        let cyclic: BTreeSet<_> = self
            .things
            .keys()
            .filter(|name| self.is_cyclic(name))
            .cloned()
            .collect();
        let freed = self.cyclic.difference(&cyclic);
        let freed = freed.filter(|name| self.things.contains_key(name)).cloned();
        self.must.extend(freed.collect::<Vec<_>>());
        self.cyclic = cyclic;
    }

    /// Passive objects have no run: they are done when nothing above them is going on.
    fn pass_passive(&mut self) {
        while let Some(name) = self
            .must
            .iter()
            .find(|name| self.passive_is_done(name))
            .cloned()
        {
            self.must.remove(&name);
            self.trigger_dependents(&name);
        }
    }

    fn passive_is_done(&self, name: &Name) -> bool {
        let going_on = |ancestor: &Name| {
            self.flight_of(ancestor).is_some()
                || (self.must.contains(ancestor) && !self.cyclic.contains(ancestor))
        };
        self.things[name].passive
            && self.flight_of(name).is_none()
            && !self.cyclic.contains(name)
            && !self.ancestors(name).iter().any(going_on)
    }

    /// Why an object that must run may not start now.
    fn held_by(&self, name: &Name) -> Option<String> {
        let thing = &self.things[name];
        if thing.passive {
            return Some("it is passive".to_owned());
        }
        if self.cyclic.contains(name) {
            return Some("R7: it is in a cycle".to_owned());
        }
        if self.flight_of(name).is_some() {
            return Some("R3: it runs".to_owned());
        }
        let ancestors = self.ancestors(name);
        for fly in self.flights.values() {
            if ancestors.contains(&fly.name) {
                return Some(format!("R4: its ancestor {} is in flight", fly.name));
            }
            if fly.above.contains(name) {
                return Some(format!("R3, R6: {} is in flight below it", fly.name));
            }
        }
        let above = self.must.iter().filter(|other| ancestors.contains(*other));
        let mut above = above.filter(|other| {
            !self.cyclic.contains(*other) && self.things[*other].phase() <= thing.phase()
        });
        if let Some(ancestor) = above.next() {
            return Some(format!("R2: its ancestor {ancestor} must run first"));
        }
        self.barrier_for(name, thing.phase())
    }

    fn barrier_for(&self, name: &Name, phase: Phase) -> Option<String> {
        let early = |other: &&Name| {
            let thing = &self.things[*other];
            let stuck = self
                .flights
                .values()
                .any(|fly| fly.name == **other && (fly.stuck || fly.thing.failed));
            self.things[name].is_ordered_with(name, thing, other)
                && thing.phase() < phase
                && !thing.passive
                && !thing.failed
                && !stuck
                && !self.cyclic.contains(*other)
        };
        if let Some(other) = self.must.iter().find(early) {
            return Some(format!("R8: {other} goes first"));
        }
        let mut flights = self.flights.values();
        let running = flights.find(|fly| {
            // A run that removed its object goes on; its scope is that of the object.
            let thing = self.things.get(&fly.name).unwrap_or(&fly.thing);
            self.things[name].is_ordered_with(name, thing, &fly.name)
                && fly.phase < phase
                && !fly.cancelled
                && !fly.thing.failed
        });
        running.map(|fly| format!("R8: {} isn't finished", fly.name))
    }

    /// Checks the commands of a step, after its actions.
    pub(super) fn check(&mut self, commands: &[Command<Name>]) -> Checked {
        let running: BTreeMap<_, _> = self.flights.clone();
        for command in commands {
            if let Command::Cancel { run, key, cause } = command {
                self.check_cancel(*run, key, cause)?;
            }
        }
        for fly in running.values() {
            let stale = self.touched.contains(&fly.name);
            let cancelled = self
                .flights
                .values()
                .any(|now| now.name == fly.name && now.cancelled);
            ensure(!stale || cancelled, || {
                format!("R5: the run of {} is stale", fly.name)
            })?;
        }
        self.pass_passive();
        for command in commands {
            if let Command::Start {
                run,
                key,
                phase,
                former_name,
                ..
            } = command
            {
                self.check_start(*run, key, *phase)?;
                self.check_former(key, former_name.as_ref())?;
            }
        }
        self.touched.clear();
        self.were_cyclic.clear();
        self.check_rest()
    }

    fn check_cancel(&mut self, run: RunId, key: &Name, cause: &Cause<Name>) -> Checked {
        let justified = match cause {
            Cause::Object(_) => self.touched.contains(key),
            Cause::Ancestor(by) => {
                let fly = self.flights.get(&run);
                fly.is_some_and(|fly| fly.above.contains(by))
            }
            Cause::Cycle => self.were_cyclic.contains(key),
        };
        ensure(justified, || {
            format!("R5: {key} is cancelled for no reason: {cause}")
        })?;
        let fly = self.flights.get_mut(&run).ok_or("a cancel of no run")?;
        ensure(!fly.cancelled, || format!("{key} is cancelled twice"))?;
        fly.cancelled = true;
        if self.things.contains_key(key) {
            self.must.insert(key.clone());
        }
        Ok(())
    }

    fn check_former(&mut self, key: &Name, former_name: Option<&Name>) -> Checked {
        let known_as = self.known_as.get_mut(key).map(|(name, tried)| {
            *tried = true;
            &*name
        });
        ensure(known_as == former_name, || {
            format!("the former name of {key}")
        })
    }

    fn check_start(&mut self, run: RunId, key: &Name, phase: Phase) -> Checked {
        ensure(self.things.contains_key(key), || {
            format!("{key} starts and is gone")
        })?;
        if let Some(held) = self.held_by(key) {
            return Err(format!("{key} starts although {held}"));
        }
        let was_patient = self.patient.remove(key) && !self.is_busy_below(key);
        ensure(self.must.remove(key) || was_patient, || {
            format!("R2: {key} starts for no reason")
        })?;
        ensure(self.things[key].phase == phase, || {
            format!("R8: {key} has the wrong phase")
        })?;
        let fly = Fly {
            thing: self.things[key].clone(),
            name: key.clone(),
            phase,
            cancelled: false,
            stuck: false,
            above: self.ancestors(key),
        };
        self.flights.insert(run, fly);
        Ok(())
    }

    /// Whether something below an object runs or must run.
    fn is_busy_below(&self, name: &Name) -> bool {
        let must = self
            .must
            .iter()
            .filter(|other| !self.cyclic.contains(*other));
        let flying = self.flights.values().map(|fly| &fly.name);
        let mut at_work = must.chain(flying);
        at_work.any(|other| other != name && self.ancestors(other).contains(name))
    }

    fn check_rest(&mut self) -> Checked {
        let patient = std::mem::take(&mut self.patient);
        let (still, over): (BTreeSet<_>, BTreeSet<_>) = patient
            .into_iter()
            .partition(|name| self.is_busy_below(name));
        self.patient = still;
        self.must.extend(over);
        for name in &self.must {
            let held = self.held_by(name);
            ensure(held.is_some(), || {
                format!("R2: {name} must run and doesn't")
            })?;
        }
        for fly in self.flights.values().filter(|fly| !fly.cancelled) {
            let ancestors = &fly.above;
            let together = self.flights.values().find(|other| {
                !other.cancelled && other.name != fly.name && ancestors.contains(&other.name)
            });
            ensure(together.is_none(), || {
                format!("R4: {fly:?} runs with {together:?}")
            })?;
            let needy = self.must.iter().find(|name| {
                let thing = &self.things[*name];
                let needs = !self.cyclic.contains(*name) && !thing.passive;
                needs && ancestors.contains(*name) && thing.phase() <= fly.phase
            });
            ensure(needy.is_none(), || {
                format!("R6: {fly:?} goes on, {needy:?} must run")
            })?;
            ensure(!self.cyclic.contains(&fly.name), || {
                format!("R7: {fly:?} goes on")
            })?;
        }
        Ok(())
    }
}
