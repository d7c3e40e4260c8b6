//! Random scenarios: what people do to some parcels and crates in a few minutes, and what they want in the end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use super::{
    CONCURRENCY, Call, Kind, MOODS, NAMESPACES, STUCK, Spec, Versions, definition, object_name,
    reconciler,
};
use crate::chance::{CERTAIN, Chance};
use crate::log::KEEPSAKE;
use crate::simulation::Action;
use crate::user::Wish;

/// Where something is.
type Place = (Kind, &'static str, String);

/// No object owns more config maps.
const MOST_CHILDREN: u64 = 2;
/// The longest time for which a kind isn't served.
const UNSERVED_MS: u64 = 60_000;

/// What people do, and what they want in the end.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What they do, in order.
    pub actions: Vec<Action>,
    wanted: BTreeMap<Place, Spec>,
    /// The names of the config maps that people gave to objects.
    keepsakes: u64,
}

/// The number of an object whose refs have these numbers.
pub(super) fn sum(own: u64, refs: impl IntoIterator<Item = u64>) -> u64 {
    let sum = refs.into_iter().fold(own, u64::wrapping_add);
    // Numbers in JSON are exact up to 53 bits.
    sum & ((1 << 53) - 1)
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let chance = Chance::new(seed, "plan");
        let mut planner = Planner {
            home: anywhere(&chance),
            chance,
            plan: Self {
                actions: Vec::new(),
                wanted: BTreeMap::new(),
                keepsakes: 0,
            },
            names: 0,
            second: BTreeSet::new(),
            commands: BTreeSet::new(),
        };
        if planner.chance.happens(CERTAIN / 2) {
            planner.switch_hook(planner.home.0);
        }
        for _ in 0..6 + planner.chance.below(8) {
            planner.create();
        }
        for _ in 0..10 + planner.chance.below(20) {
            planner.pause();
            planner.act();
        }
        planner.calm_down();
        planner.plan
    }

    /// What every object's number is in the end.
    #[must_use]
    pub(super) fn numbers(&self) -> BTreeMap<Place, (Spec, u64)> {
        let mut numbers: BTreeMap<Place, (Spec, u64)> = BTreeMap::new();
        // Refs lead to smaller names only, and those come first.
        for ((kind, namespace, name), spec) in &self.wanted {
            let number = |to: &String| {
                let found = numbers.get(&(*kind, *namespace, to.clone()));
                found.map(|(_, number)| *number)
            };
            let number = sum(spec.value, spec.refs.iter().filter_map(number));
            let place = (*kind, *namespace, name.clone());
            numbers.insert(place, (spec.clone(), number));
        }
        numbers
    }
}

fn anywhere(chance: &Chance) -> (Kind, &'static str) {
    let kind = Kind::ALL[chance.index(Kind::ALL.len())];
    (kind, NAMESPACES[chance.index(NAMESPACES.len())])
}

struct Planner {
    chance: Chance,
    /// Where most objects are, so that a few of them are related.
    home: (Kind, &'static str),
    plan: Plan,
    names: u64,
    /// The kinds that have a second version, which never goes again: objects may be stored in it.
    second: BTreeSet<Kind>,
    /// The kinds whose hooks are commands.
    commands: BTreeSet<Kind>,
}

impl Planner {
    fn push(&mut self, action: Action) {
        self.plan.actions.push(action);
    }

    fn pause(&mut self) {
        let most = match self.chance.below(10) {
            0..6 => 300,
            6..9 => 5_000,
            _ => 60_000,
        };
        let time = Duration::from_millis(self.chance.below(most));
        self.push(Action::Wait(time));
    }

    fn act(&mut self) {
        let Some(place) = self.any_place() else {
            return self.create();
        };
        match self.chance.below(24) {
            0..4 => self.change(&place, |spec, chance| spec.value = chance.below(1_000_000)),
            4..6 => {
                let refs = self.refs_below(&place);
                self.change(&place, |spec, _| spec.refs = refs);
            }
            6..9 => self.change(&place, |spec, chance| {
                spec.mood = MOODS[chance.index(MOODS.len())];
            }),
            9 => self.change(&place, |spec, chance| {
                spec.children = chance.below(MOST_CHILDREN + 1);
            }),
            10..12 => self.delete(&place),
            12 => self.create(),
            13..16 => self.rename(&place),
            16..18 => self.give(&place),
            18 => self.recreate(&place),
            19 => {
                let (kind, namespace, name) = &place;
                self.push(Action::Ask(object_name(*kind, namespace, name)));
            }
            20..22 => self.unserve(&place),
            22 => self.edit_definition(&place),
            _ => self.edit_reconciler(&place),
        }
    }

    fn any_place(&self) -> Option<Place> {
        let index = self.chance.index(self.plan.wanted.len());
        self.plan.wanted.keys().nth(index).cloned()
    }

    /// Some names before this one: never a cycle.
    fn refs_below(&self, (kind, namespace, name): &Place) -> Vec<String> {
        let below: Vec<&String> = self
            .plan
            .wanted
            .keys()
            .filter(|(other, place, _)| other == kind && place == namespace)
            .map(|(_, _, other)| other)
            .filter(|other| *other < name)
            .collect();
        if below.is_empty() {
            return Vec::new();
        }
        let count = self.chance.below(3);
        let mut refs: Vec<String> = (0..count)
            .map(|_| below[self.chance.index(below.len())].clone())
            .collect();
        refs.sort();
        refs.dedup();
        refs
    }

    fn wish(&self, place: &Place) -> Option<Wish> {
        let (kind, namespace, name) = place;
        let spec = self.plan.wanted.get(place)?;
        Some(Wish::Applied(spec.object(*kind, namespace, name)))
    }

    fn apply(&mut self, place: &Place) {
        if let Some(wish) = self.wish(place) {
            self.push(Action::Wish(wish));
        }
    }

    fn fresh_name(&mut self) -> String {
        self.names += 1;
        format!("n{:03}", self.names)
    }

    fn create(&mut self) {
        let (kind, namespace) = if self.chance.happens(CERTAIN / 4) {
            anywhere(&self.chance)
        } else {
            self.home
        };
        let name = self.fresh_name();
        let place = (kind, namespace, name.clone());
        let spec = Spec {
            key: format!("{}-{name}", kind.name().to_lowercase()),
            value: self.chance.below(1_000_000),
            refs: self.refs_below(&place),
            children: self.chance.below(MOST_CHILDREN + 1),
            mood: "",
        };
        self.plan.wanted.insert(place.clone(), spec);
        self.apply(&place);
    }

    fn change(&mut self, place: &Place, change: impl FnOnce(&mut Spec, &Chance)) {
        if let Some(spec) = self.plan.wanted.get_mut(place) {
            change(spec, &self.chance);
        }
        self.apply(place);
    }

    fn delete(&mut self, place: &Place) {
        let (kind, namespace, name) = place;
        if self.chance.happens(CERTAIN / 3) {
            self.change(place, |spec, _| spec.mood = STUCK);
        }
        self.plan.wanted.remove(place);
        let wish = Wish::Deleted(object_name(*kind, namespace, name));
        self.push(Action::Wish(wish));
    }

    fn recreate(&mut self, place: &Place) {
        let Some(mut spec) = self.plan.wanted.get(place).cloned() else {
            return;
        };
        self.delete(place);
        spec.value += 1;
        self.plan.wanted.insert(place.clone(), spec);
        self.apply(place);
    }

    /// A new name for the same object; perhaps something is given to it at the same moment.
    fn rename(&mut self, place: &Place) {
        let Some(spec) = self.plan.wanted.remove(place) else {
            return;
        };
        let (kind, namespace, old) = place;
        let new = self.fresh_name();
        let rename = Wish::Renamed(object_name(*kind, namespace, old), new.clone());
        let wish = if self.chance.happens(CERTAIN / 2) {
            Wish::Together(vec![self.keepsake(place), rename])
        } else {
            rename
        };
        self.push(Action::Wish(wish));
        self.plan.wanted.insert((*kind, namespace, new), spec);
    }

    /// Something that belongs to an object, whatever becomes of its name and its kind.
    fn keepsake(&mut self, (kind, namespace, name): &Place) -> Wish {
        self.plan.keepsakes += 1;
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": format!("keepsake-{:03}", self.plan.keepsakes), "namespace": namespace,
                "labels": {KEEPSAKE: "true"},
            },
        });
        Wish::Given(map, object_name(*kind, namespace, name))
    }

    fn give(&mut self, place: &Place) {
        let wish = self.keepsake(place);
        self.push(Action::Wish(wish));
    }

    /// For a while the objects of a kind can't be read; they are there all the same.
    fn unserve(&mut self, place: &Place) {
        self.give(place);
        let kind = place.0;
        self.define(kind, false);
        let time = Duration::from_millis(self.chance.below(UNSERVED_MS));
        self.push(Action::Wait(time));
        self.define(kind, true);
    }

    fn edit_definition(&mut self, place: &Place) {
        self.second.insert(place.0);
        self.define(place.0, true);
    }

    fn define(&mut self, kind: Kind, served: bool) {
        let second = self.second.contains(&kind);
        let wish = Wish::Applied(definition(kind, Versions { served, second }));
        self.push(Action::Wish(wish));
    }

    /// The kind is registered anew, and all its objects run.
    fn edit_reconciler(&mut self, place: &Place) {
        if self.chance.happens(CERTAIN / 3) {
            return self.switch_hook(place.0);
        }
        self.write_reconciler(place.0);
    }

    /// A URL becomes a command, and a command a URL.
    fn switch_hook(&mut self, kind: Kind) {
        if !self.commands.remove(&kind) {
            self.commands.insert(kind);
        }
        self.write_reconciler(kind);
    }

    fn write_reconciler(&mut self, kind: Kind) {
        let concurrency = CONCURRENCY + self.chance.below(8);
        let (call, other) = if self.commands.contains(&kind) {
            (Call::Command, "url")
        } else {
            (Call::Url, "command")
        };
        let mut wanted = reconciler(kind, concurrency, call);
        wanted["spec"]["hook"][other] = Value::Null;
        self.push(Action::Wish(Wish::Applied(wanted)));
    }

    /// In the end every hook has nothing more to say.
    fn calm_down(&mut self) {
        let places: Vec<Place> = self.plan.wanted.keys().cloned().collect();
        for place in places {
            let excited = self.plan.wanted.get(&place);
            if excited.is_some_and(|spec| !spec.mood.is_empty()) {
                self.change(&place, |spec, _| spec.mood = "");
            }
        }
    }
}
