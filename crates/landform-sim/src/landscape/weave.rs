//! Random landscapes that are woven: chains, diamonds and nested ones, whose sources change at different times and whose
//! exports move from one installation to another or are swapped (I10b, I40b).
//!
//! All numbers tell where they come from (`versions.rs`), so a mix of generations is seen at the item that deploys it.
//! Nothing is forced, broken or aborted here: then a mix would be what people asked for.

use std::collections::BTreeMap;
use std::time::Duration;

use super::plan::Plan;
use super::versions::{SOURCES, VERSIONS, WAYS, number};
use super::wanted::{Installation, Item, Source};
use super::{data, installation_name};
use crate::chance::{CERTAIN, Chance};
use crate::simulation::Action;
use crate::user::Wish;

/// The data that people write: the first two sources. The third is an item of the first root.
const DATA: [&str; 2] = ["d0", "d1"];
/// No landscape has more roots.
const MOST_ROOTS: u64 = 6;
/// What was tried this often without a result isn't possible.
const TRIES: usize = 20;

/// By how many ways a value comes from each source.
type Ways = [u64; SOURCES];

/// The plan of a seed.
pub(super) fn plan(seed: u64) -> Plan {
    let mut weaver = Weaver {
        chance: Chance::new(seed, "weave"),
        plan: Plan {
            actions: Vec::new(),
            installations: BTreeMap::new(),
            data: BTreeMap::new(),
        },
        versions: [0; SOURCES],
    };
    weaver.begin();
    for _ in 0..6 + weaver.chance.below(10) {
        weaver.edit();
        weaver.pause();
    }
    weaver.plan
}

struct Weaver {
    chance: Chance,
    plan: Plan,
    versions: [u32; SOURCES],
}

impl Weaver {
    fn begin(&mut self) {
        for source in 0..DATA.len() {
            self.set_data(source);
        }
        for root in 0..3 + self.chance.below(MOST_ROOTS - 2) {
            for _ in 0..TRIES {
                let made = self.root(root);
                if self.want(&[made]) {
                    break;
                }
            }
        }
        self.plan.actions.push(Action::Rest);
    }

    fn half(&self) -> bool {
        self.chance.happens(CERTAIN / 2)
    }

    fn pause(&mut self) {
        let action = match self.chance.below(5) {
            0 | 1 => return,
            2 => Action::Rest,
            3 => Action::Wait(Duration::from_millis(self.chance.below(1_500))),
            _ => Action::Wait(Duration::from_millis(self.chance.below(10_000))),
        };
        self.plan.actions.push(action);
    }

    fn set_data(&mut self, source: usize) {
        let (name, value) = (DATA[source], number(source, self.versions[source]));
        self.plan.data.insert(name.to_owned(), value);
        let wish = Wish::Applied(data(name, value));
        self.plan.actions.push(Action::Wish(wish));
    }

    /// Wants these instead of those that have their names, one after the other, if that has a sense at each moment.
    fn want(&mut self, wanted: &[Installation]) -> bool {
        let mut all = self.plan.installations.clone();
        for (at, installation) in wanted.iter().enumerate() {
            all.insert(installation.name.clone(), installation.clone());
            let whole = at + 1 == wanted.len();
            let family: Vec<_> = all.values().collect();
            match ways_of_all(&family, &from_outside()) {
                Some(found) if !whole || found.len() >= exported(&family) => {}
                _ => return false,
            }
        }
        self.plan.installations = all;
        for installation in wanted {
            let wish = Wish::Applied(installation.object());
            self.plan.actions.push(Action::Wish(wish));
        }
        true
    }

    /// A root that imports from some of those that are there, and exports `x<number>` if that is free.
    fn root(&self, root: u64) -> Installation {
        let name = format!("r{root}");
        let others = self.plan.installations.values();
        let others = others.filter(|other| other.name != name);
        let mut given: Vec<String> = DATA.iter().map(|name| (*name).to_owned()).collect();
        given.extend(others.flat_map(names_of));
        let mut wanted = Installation::new(&name);
        for _ in 0..1 + self.chance.below(3) {
            let import = &given[self.chance.index(given.len())];
            if !wanted.imports.contains(import) {
                wanted = wanted.import(import);
            }
        }
        let export = self.export_of(&name, root);
        if self.half() {
            return self.nest(wanted, &export);
        }
        let last = self.add_items(&mut wanted, root);
        wanted.export(&export, &last)
    }

    /// It keeps the name that it exports now.
    fn export_of(&self, name: &str, root: u64) -> String {
        let before = self.plan.installations.get(name);
        let before = before.and_then(|before| names_of(before).next());
        before.unwrap_or_else(|| format!("x{root}"))
    }

    /// One item or two, one after the other; the last one takes everything.
    fn add_items(&self, wanted: &mut Installation, root: u64) -> String {
        let own = match root {
            0 => number(2, self.versions[2]),
            _ => 0,
        };
        let mut last = Item::new("last", own);
        for import in &wanted.imports {
            last = last.take(import);
        }
        if self.half() {
            let first = Item::new("first", 0).take(&wanted.imports[0]);
            wanted.items.push(first);
            last = last.after("first");
        }
        wanted.items.push(last);
        "last".to_owned()
    }

    /// A chain or a diamond of nested installations, whose end is passed up.
    fn nest(&self, mut wanted: Installation, export: &str) -> Installation {
        let mut given = wanted.imports.clone();
        let count = 2 + self.chance.below(2);
        for at in 0..count {
            let mut nested = Installation::new(&format!("n{at}"));
            let mut item = Item::new("sum", 0);
            let newest = given.len() - 1;
            for (which, import) in given.iter().enumerate() {
                if which == newest || self.half() {
                    nested = nested.import(import);
                    item = item.take(import);
                }
            }
            let name = format!("e{at}");
            wanted = wanted.nest(nested.item(item).export(&name, "sum"));
            given.push(name);
        }
        wanted.pass_up(export, &format!("e{}", count - 1))
    }

    fn any_root(&self) -> Installation {
        let all = &self.plan.installations;
        let at = self.chance.index(all.len());
        all.values().nth(at).cloned().unwrap_or_default()
    }

    fn edit(&mut self) {
        match self.chance.below(12) {
            0..=3 => self.next_version(),
            4 | 5 => self.swap_roots(),
            6 => self.swap_nested(),
            7 | 8 => self.make_anew(),
            9 => self.ask(),
            _ => self.replace(),
        }
    }

    /// One source goes to its next version, or two do, one right after the other.
    fn next_version(&mut self) {
        for _ in 0..1 + self.chance.below(2) {
            let source = self.chance.index(SOURCES);
            if self.versions[source] + 1 == VERSIONS {
                continue;
            }
            self.versions[source] += 1;
            if source < DATA.len() {
                self.set_data(source);
            } else if let Some(mut first) = self.plan.installations.get("r0").cloned()
                && let Some(item) = first.items.last_mut()
            {
                item.value = number(source, self.versions[source]);
                self.want(&[first]);
            }
        }
    }

    /// Two roots export what the other one did; either may be written first.
    fn swap_roots(&mut self) {
        for _ in 0..TRIES {
            let (mut one, mut other) = (self.any_root(), self.any_root());
            if one.name == other.name || one.exports.is_empty() || other.exports.is_empty() {
                continue;
            }
            std::mem::swap(&mut one.exports[0].0, &mut other.exports[0].0);
            if self.want(&[one, other]) {
                return;
            }
        }
    }

    /// The same between two that are nested in one root.
    fn swap_nested(&mut self) {
        for _ in 0..TRIES {
            let mut root = self.any_root();
            let count = root.nested.len();
            if count < 2 {
                continue;
            }
            let (one, other) = (self.chance.index(count - 1), count - 1);
            let name = root.nested[one].exports[0].0.clone();
            let taken = std::mem::replace(&mut root.nested[other].exports[0].0, name);
            root.nested[one].exports[0].0 = taken;
            if self.want(&[root]) {
                return;
            }
        }
    }

    fn make_anew(&mut self) {
        for _ in 0..TRIES {
            let name = self.any_root().name;
            let root = name.trim_start_matches('r').parse().unwrap_or_default();
            let made = self.root(root);
            if self.want(&[made]) {
                return;
            }
        }
    }

    fn ask(&mut self) {
        let asked = Installation::asked_for(&self.any_root().name, "reconcile");
        let wish = Wish::Applied(asked);
        self.plan.actions.push(Action::Wish(wish));
    }

    /// Another root takes over the name that one exports, and that one goes or exports something else.
    fn replace(&mut self) {
        let Some(old) = self.plan.installations.values().last().cloned() else {
            return;
        };
        let others = self.plan.installations.values();
        let imported = others.flat_map(|other| &other.imports);
        let exports: Vec<String> = names_of(&old).collect();
        let is_needed = imported.into_iter().any(|name| exports.contains(name));
        if old.name != "r0" && !is_needed {
            self.plan.installations.remove(&old.name);
            let wish = Wish::Deleted(installation_name(&old.name));
            self.plan.actions.push(Action::Wish(wish));
            return;
        }
        // A newcomer exports what an old one has exported, which gets a new name.
        let mut moved = old.clone();
        let fresh = format!("m{}", self.plan.actions.len());
        moved.exports[0].0 = fresh;
        let mut heir = self.any_root();
        if heir.name == old.name {
            return;
        }
        let left = std::mem::replace(&mut heir.exports[0].0, exports[0].clone());
        let is_left = self
            .plan
            .installations
            .values()
            .any(|other| other.imports.contains(&left));
        if !is_left {
            let both = if self.half() {
                [moved, heir]
            } else {
                [heir, moved]
            };
            self.want(&both);
        }
    }
}

fn names_of(installation: &Installation) -> impl Iterator<Item = String> {
    installation.exports.iter().map(|(name, _)| name.clone())
}

fn exported(family: &[&Installation]) -> usize {
    family.iter().flat_map(|found| names_of(found)).count()
}

fn from_outside() -> BTreeMap<String, Ways> {
    let ways = |source: usize| {
        let mut ways = [0; SOURCES];
        ways[source] = 1;
        ways
    };
    let data = DATA.iter().enumerate();
    data.map(|(source, name)| ((*name).to_owned(), ways(source)))
        .collect()
}

/// By how many ways what siblings export comes from each source; what can't be had is left out. None if there are
/// more ways than a digit can count.
fn ways_of_all(
    family: &[&Installation],
    given: &BTreeMap<String, Ways>,
) -> Option<BTreeMap<String, Ways>> {
    let mut known = given.clone();
    let mut made = BTreeMap::new();
    loop {
        let ready = family.iter().filter(|sibling| {
            let mut imports = sibling.imports.iter();
            imports.all(|name| known.contains_key(name))
        });
        let mut found = BTreeMap::new();
        for sibling in ready {
            found.extend(ways_of(sibling, &known)?);
        }
        if found.len() == made.len() {
            return Some(made);
        }
        known.extend(found.clone());
        made = found;
    }
}

fn ways_of(
    installation: &Installation,
    given: &BTreeMap<String, Ways>,
) -> Option<BTreeMap<String, Ways>> {
    let imports = installation.imports.iter();
    let mut inside: BTreeMap<String, Ways> = imports
        .filter_map(|name| Some((name.clone(), *given.get(name)?)))
        .collect();
    let mut items = BTreeMap::new();
    for item in &installation.items {
        let mut sum = [0; SOURCES];
        sum[SOURCES - 1] = u64::from(item.value > 0);
        for ways in item.takes.iter().filter_map(|name| inside.get(name)) {
            for (total, more) in sum.iter_mut().zip(ways) {
                *total += more;
            }
        }
        if sum.iter().any(|ways| *ways > WAYS) {
            return None;
        }
        items.insert(item.name.clone(), sum);
    }
    let nested: Vec<_> = installation.nested.iter().collect();
    let found = ways_of_all(&nested, &inside)?;
    if found.len() < exported(&nested) {
        return None;
    }
    inside.extend(found);
    let exports = installation.exports.iter();
    let exports = exports.filter_map(|(name, source)| {
        let ways = match source {
            Source::Item(item) => items.get(item),
            Source::Nested(nested) => inside.get(nested),
        };
        Some((name.clone(), *ways?))
    });
    Some(exports.collect())
}
