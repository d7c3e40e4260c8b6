//! Random scenarios: a small landscape, and people who change, break, mend, delete and make it anew.
//!
//! What they want in the end is whole: nothing broken, nothing that fails. So the end must be that of a
//! fresh landscape with the same specs, whatever happened before.

use std::collections::BTreeMap;
use std::time::Duration;

use super::wanted::{Fate, Installation, Item};
use super::{data, installation_name};
use crate::chance::{CERTAIN, Chance};
use crate::simulation::Action;
use crate::user::Wish;

/// No landscape has more installations at its root.
const MOST_ROOTS: u64 = 4;
/// The data that people write.
const DATA: [&str; 2] = ["d0", "d1"];
/// Installations are nested so deep at the most.
const DEEPEST: usize = 2;

/// What people do, and what they want in the end.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What they do.
    pub actions: Vec<Action>,
    /// The installations that should exist in the end.
    pub installations: BTreeMap<String, Installation>,
    /// The data that should exist in the end.
    pub data: BTreeMap<String, u64>,
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut planner = Planner {
            chance: Chance::new(seed, "landscape"),
            plan: Self {
                actions: Vec::new(),
                installations: BTreeMap::new(),
                data: BTreeMap::new(),
            },
            roots: 0,
            hurt: Vec::new(),
        };
        planner.begin();
        let edits = 4 + planner.chance.below(10);
        for _ in 0..edits {
            planner.edit();
            planner.pause();
        }
        planner.mend_all();
        planner.plan
    }

    /// What leads to the same end on an empty disk, without any detour.
    #[must_use]
    pub fn straight(&self) -> Vec<Action> {
        let data = self.data.iter().map(|(name, value)| data(name, *value));
        let installations = self.installations.values().map(Installation::object);
        let objects = data.chain(installations);
        objects
            .map(|object| Action::Wish(Wish::Applied(object)))
            .collect()
    }
}

struct Planner {
    chance: Chance,
    plan: Plan,
    /// So many roots have been named.
    roots: u64,
    /// Installations that are broken, fail or were aborted, and must be mended in the end.
    hurt: Vec<String>,
}

impl Planner {
    fn begin(&mut self) {
        for name in DATA {
            self.set_data(name);
        }
        self.roots = 1 + self.chance.below(MOST_ROOTS);
        for root in 0..self.roots {
            self.make(root);
        }
        self.pause();
    }

    fn half(&self) -> bool {
        self.chance.happens(CERTAIN / 2)
    }

    fn pause(&mut self) {
        let action = match self.chance.below(4) {
            0 => return,
            1 => Action::Rest,
            2 => Action::Wait(Duration::from_millis(self.chance.below(1_000))),
            _ => Action::Wait(Duration::from_millis(self.chance.below(20_000))),
        };
        self.plan.actions.push(action);
    }

    fn wish(&mut self, wish: Wish) {
        self.plan.actions.push(Action::Wish(wish));
    }

    fn set_data(&mut self, name: &str) {
        let value = self.chance.below(1_000);
        self.plan.data.insert(name.to_owned(), value);
        self.wish(Wish::Applied(data(name, value)));
    }

    /// Makes a root, or makes another one of it.
    fn make(&mut self, root: u64) {
        let name = format!("r{root}");
        let earlier = (0..root).filter(|earlier| {
            let name = format!("r{earlier}");
            self.plan.installations.contains_key(&name)
        });
        let earlier = earlier.map(|earlier| format!("x{earlier}"));
        let given: Vec<String> = DATA
            .iter()
            .map(|name| (*name).to_owned())
            .chain(earlier)
            .collect();
        let wanted = self.installation(&name, &format!("x{root}"), &given, 0);
        self.want(wanted);
    }

    fn want(&mut self, wanted: Installation) {
        self.wish(Wish::Applied(wanted.object()));
        self.plan.installations.insert(wanted.name.clone(), wanted);
    }

    fn installation(
        &self,
        name: &str,
        export: &str,
        given: &[String],
        depth: usize,
    ) -> Installation {
        let mut wanted = Installation::new(name);
        for import in given {
            if wanted.imports.len() < 3 && self.half() {
                wanted = wanted.import(import);
            }
        }
        for number in 0..self.chance.below(4) {
            let item = self.item(number, &wanted);
            wanted = wanted.item(item);
        }
        if depth < DEEPEST {
            let mut inside = wanted.imports.clone();
            for number in 0..self.chance.below(3) {
                // What comes from outside must not have the name of what is made inside.
                let export = format!("e{depth}{number}");
                let nested = self.installation(&format!("n{number}"), &export, &inside, depth + 1);
                inside.push(export);
                wanted = wanted.nest(nested);
            }
        }
        if wanted.items.is_empty() && wanted.nested.is_empty() {
            let item = self.item(0, &wanted);
            wanted = wanted.item(item);
        }
        let item = wanted.items.last().map(|item| item.name.clone());
        match item {
            Some(item) if wanted.nested.is_empty() || self.half() => wanted.export(export, &item),
            _ => {
                let nested = format!("e{depth}{}", wanted.nested.len().saturating_sub(1));
                wanted.pass_up(export, &nested)
            }
        }
    }

    fn item(&self, number: u64, of: &Installation) -> Item {
        let mut item = Item::new(&format!("i{number}"), self.chance.below(100));
        for import in &of.imports {
            if self.half() {
                item = item.take(import);
            }
        }
        for earlier in &of.items {
            if self.half() {
                item = item.after(&earlier.name);
            }
        }
        item
    }

    fn any_root(&self) -> u64 {
        self.chance.below(self.roots)
    }

    fn edit(&mut self) {
        let root = self.any_root();
        let name = format!("r{root}");
        let Some(mut wanted) = self.plan.installations.get(&name).cloned() else {
            return self.make(root);
        };
        match self.chance.below(10) {
            0 | 1 => {
                let which = DATA[self.chance.index(DATA.len())];
                self.set_data(which);
            }
            2 | 3 => self.make(root),
            4 => {
                wanted.broken = !wanted.broken;
                self.hurt.push(name);
                self.want(wanted);
            }
            5 => {
                if let Some(item) = deepest(&mut wanted).items.first_mut() {
                    item.fate = match (item.fate, self.chance.below(4)) {
                        (Fate::Succeeds, 0) => Fate::Hangs,
                        (Fate::Succeeds, _) => Fate::Fails,
                        (Fate::Fails | Fate::Hangs | Fate::FailsOnce | Fate::Stays, _) => {
                            Fate::Succeeds
                        }
                    };
                    self.hurt.push(name);
                    self.want(wanted);
                }
            }
            6 => self.ask(&name, "reconcile"),
            7 => self.ask(&name, "force-reconcile"),
            8 => {
                self.ask(&name, "abort");
                self.hurt.push(name);
            }
            _ => self.delete(root),
        }
    }

    fn ask(&mut self, name: &str, operation: &str) {
        self.wish(Wish::Applied(Installation::asked_for(name, operation)));
    }

    /// Deletes a root from which nobody imports.
    fn delete(&mut self, root: u64) {
        let (name, export) = (format!("r{root}"), format!("x{root}"));
        let mut others = self.plan.installations.values();
        if others.any(|other| other.imports.contains(&export)) {
            return;
        }
        self.plan.installations.remove(&name);
        let name = installation_name(&name);
        let wish = match self.chance.below(3) {
            0 => Wish::Deleted(name),
            1 => Wish::DeletedBy(name, "Foreground"),
            _ => Wish::DeletedBy(name, "Background"),
        };
        self.wish(wish);
    }

    /// In the end all is whole. What was aborted stays so until it is forced.
    fn mend_all(&mut self) {
        let mut hurt = std::mem::take(&mut self.hurt);
        hurt.sort();
        hurt.dedup();
        for name in hurt {
            if let Some(mut wanted) = self.plan.installations.get(&name).cloned() {
                wanted.broken = false;
                mend(&mut wanted);
                self.want(wanted);
                self.plan.actions.push(Action::Rest);
                self.ask(&name, "force-reconcile");
            }
        }
    }
}

fn mend(wanted: &mut Installation) {
    for item in &mut wanted.items {
        item.fate = Fate::Succeeds;
    }
    wanted.nested.iter_mut().for_each(mend);
}

/// The first installation on the way down that has items.
fn deepest(wanted: &mut Installation) -> &mut Installation {
    if wanted.items.is_empty() && !wanted.nested.is_empty() {
        return deepest(&mut wanted.nested[0]);
    }
    wanted
}
