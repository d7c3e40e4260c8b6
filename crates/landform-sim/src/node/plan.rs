//! Random scenarios: what users do to a few nodes in a few minutes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use super::reconciler::MOST_CHILDREN;
use super::{API_VERSION, Spec};
use crate::chance::{CERTAIN, Chance};
use crate::simulation::Action;
use crate::user::{ObjectName, Wish};

/// No node waits longer than this, in seconds.
const MOST_PAUSE: u64 = 60;

/// What users do, and what they want in the end.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What they do, in order.
    pub actions: Vec<Action>,
    /// The nodes that should be there in the end.
    pub wanted: BTreeMap<String, Spec>,
}

/// The name of a node.
#[must_use]
pub fn node_name(name: &str) -> ObjectName {
    ObjectName {
        api_version: API_VERSION.into(),
        kind: "Node".into(),
        namespace: "default".into(),
        name: name.into(),
    }
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut planner = Planner {
            chance: Chance::new(seed, "plan"),
            plan: Self {
                actions: Vec::new(),
                wanted: BTreeMap::new(),
            },
            names: 0,
        };
        for _ in 0..4 + planner.chance.below(7) {
            planner.create();
        }
        for _ in 0..5 + planner.chance.below(12) {
            planner.pause();
            planner.act();
        }
        planner.untie();
        planner.plan
    }
}

struct Planner {
    chance: Chance,
    plan: Plan,
    names: u64,
}

impl Planner {
    fn pause(&mut self) {
        let most = match self.chance.below(10) {
            0..6 => 300,
            6..9 => 5_000,
            _ => 60_000,
        };
        let time = Duration::from_millis(self.chance.below(most));
        self.plan.actions.push(Action::Wait(time));
    }

    fn act(&mut self) {
        let Some(name) = self.anybody() else {
            return self.create();
        };
        match self.chance.below(21) {
            0..6 => self.change(&name, |spec, chance| spec.value = chance.below(1_000_000)),
            6..9 => {
                let refs = self.refs_below(&name);
                self.change(&name, |spec, _| spec.refs = refs);
            }
            9 => {
                // Any ref at all, even one that closes a cycle.
                let to = self.anybody().unwrap_or_default();
                self.change(&name, |spec, _| spec.refs.push(to));
            }
            10..12 => self.change(&name, |spec, chance| {
                spec.children = chance.below(MOST_CHILDREN + 1);
            }),
            12..14 => self.delete(&name),
            14..16 => self.create(),
            16 => self.rename(&name),
            17 => self.plan.actions.push(Action::Ask(node_name(&name))),
            18 => self.recreate(&name),
            19 => self.change(&name, |spec, chance| {
                spec.pause = 1 + chance.below(MOST_PAUSE);
            }),
            _ => self.vandalise(&name),
        }
    }

    fn anybody(&self) -> Option<String> {
        let index = self.chance.index(self.plan.wanted.len());
        self.plan.wanted.keys().nth(index).cloned()
    }

    /// Some names before this one, or that don't exist: never a cycle.
    fn refs_below(&self, name: &str) -> Vec<String> {
        let below: Vec<&String> = self
            .plan
            .wanted
            .keys()
            .filter(|other| other.as_str() < name)
            .collect();
        let mut refs = Vec::new();
        for _ in 0..self.chance.below(4) {
            if below.is_empty() || self.chance.happens(CERTAIN / 20) {
                refs.push("a-missing".to_owned());
            } else {
                refs.push(below[self.chance.index(below.len())].clone());
            }
        }
        refs.sort();
        refs.dedup();
        refs
    }

    fn apply(&mut self, name: &str) {
        if let Some(spec) = self.plan.wanted.get(name) {
            let wish = Wish::Applied(spec.object(name));
            self.plan.actions.push(Action::Wish(wish));
        }
    }

    fn fresh_name(&mut self) -> String {
        self.names += 1;
        format!("n{:03}", self.names)
    }

    fn create(&mut self) {
        let name = self.fresh_name();
        let spec = Spec {
            value: self.chance.below(1_000_000),
            refs: self.refs_below(&name),
            children: self.chance.below(4).saturating_sub(1),
            pause: 0,
        };
        self.plan.wanted.insert(name.clone(), spec);
        self.apply(&name);
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Spec, &Chance)) {
        if let Some(spec) = self.plan.wanted.get_mut(name) {
            change(spec, &self.chance);
        }
        self.apply(name);
    }

    fn delete(&mut self, name: &str) {
        self.plan.wanted.remove(name);
        let wish = Wish::Deleted(node_name(name));
        self.plan.actions.push(Action::Wish(wish));
    }

    fn recreate(&mut self, name: &str) {
        let Some(mut spec) = self.plan.wanted.get(name).cloned() else {
            return;
        };
        self.delete(name);
        spec.value += 1;
        self.plan.wanted.insert(name.to_owned(), spec);
        self.apply(name);
    }

    /// The same node under another name; the old one goes before or after.
    fn rename(&mut self, old: &str) {
        let Some(spec) = self.plan.wanted.get(old).cloned() else {
            return;
        };
        let new = self.fresh_name();
        let mut object = spec.object(&new);
        object["metadata"]["annotations"] = json!({"landform.dev/renamed-from": old});
        let create = Action::Wish(Wish::Applied(object));
        if self.chance.happens(CERTAIN / 2) {
            self.delete(old);
            self.plan.actions.push(create);
        } else {
            self.plan.actions.push(create);
            self.delete(old);
        }
        self.plan.wanted.insert(new, spec);
    }

    /// Somebody deletes a config map that a node owns.
    fn vandalise(&mut self, name: &str) {
        let map = ObjectName {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            namespace: "default".into(),
            name: format!("{name}-0"),
        };
        self.plan.actions.push(Action::Wish(Wish::Deleted(map)));
    }

    /// In the end there are no cycles, so that everything has a number.
    fn untie(&mut self) {
        let names: Vec<String> = self.plan.wanted.keys().cloned().collect();
        for name in names {
            let spec = self.plan.wanted.get_mut(&name);
            let Some(spec) = spec else { continue };
            let before = spec.refs.len();
            spec.refs.retain(|to| *to < name);
            if spec.refs.len() != before {
                self.apply(&name);
            }
        }
    }
}
