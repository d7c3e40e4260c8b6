//! Random graphs, deletes, policies and moves against a plain model of the rules.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::harness::World;

#[derive(Clone, Debug)]
enum Step {
    Make { owners: Vec<usize>, held: bool },
    Delete { object: usize, policy: usize },
    Move { object: usize, owners: Vec<usize> },
    Free { object: usize },
}

const POLICIES: [Option<&str>; 4] = [None, Some("Background"), Some("Foreground"), Some("Orphan")];
const HOLD: &str = "x.io/hold";

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let owners = || prop::collection::vec(0..20_usize, 0..3);
    let step = prop_oneof![
        5 => (owners(), prop::bool::weighted(0.2)).prop_map(|(owners, held)| Step::Make { owners, held }),
        2 => (0..20_usize, 0..4_usize).prop_map(|(object, policy)| Step::Delete { object, policy }),
        1 => (0..20_usize, owners()).prop_map(|(object, owners)| Step::Move { object, owners }),
        1 => (0..20_usize).prop_map(|object| Step::Free { object }),
    ];
    prop::collection::vec(step, 1..16)
}

/// What holds a marked object, besides others' finalizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    Nothing,
    Cascade,
    Foreground,
    Orphan,
}

#[derive(Clone, Debug, Default)]
struct Plain {
    owners: Vec<String>,
    held: bool,
    mark: Option<Hold>,
}

/// The rules, read aloud: every object is looked at again and again until nothing changes.
#[derive(Default)]
struct Model(BTreeMap<String, Plain>);

impl Model {
    fn dependents(&self, name: &str) -> Vec<String> {
        let depends = |(_, object): &(&String, &Plain)| object.owners.iter().any(|o| o == name);
        self.0
            .iter()
            .filter(depends)
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn delete(&mut self, name: &str, hold: Hold) {
        if let Some(object) = self.0.get_mut(name) {
            match object.mark {
                None => object.mark = Some(hold),
                // A second delete that names a policy turns to it, as long as something holds.
                Some(now) if now != Hold::Nothing || object.held => object.mark = Some(hold),
                Some(_) => {}
            }
        }
    }

    fn settle(&mut self) {
        while self
            .0
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .iter()
            .any(|name| self.look_at(name))
        {}
    }

    fn look_at(&mut self, name: &str) -> bool {
        let Some(object) = self.0.get(name).cloned() else {
            return false;
        };
        let dependents = self.dependents(name);
        let orphans =
            |owner: &String| self.0.get(owner).map(|o| o.mark) == Some(Some(Hold::Orphan));
        if object.mark.is_some() && object.owners.iter().any(orphans) {
            let owners = object
                .owners
                .iter()
                .filter(|owner| !orphans(owner))
                .cloned()
                .collect();
            self.0.insert(name.into(), Plain { owners, ..object });
            return true;
        }
        match object.mark {
            Some(Hold::Nothing) if object.held => false,
            Some(Hold::Nothing) => self.0.remove(name).is_some(),
            Some(_) if dependents.is_empty() => {
                self.0.insert(
                    name.into(),
                    Plain {
                        mark: Some(Hold::Nothing),
                        ..object
                    },
                );
                true
            }
            Some(_) => false,
            None => self.look_at_living(name, &object, !dependents.is_empty()),
        }
    }

    fn look_at_living(&mut self, name: &str, object: &Plain, has_dependents: bool) -> bool {
        let hold_of = |owner: &String| self.0.get(owner).map(|owner| owner.mark);
        let with = |hold| {
            object
                .owners
                .iter()
                .any(|owner| hold_of(owner) == Some(Some(hold)))
        };
        if with(Hold::Cascade) {
            self.delete(name, Hold::Cascade);
            return true;
        }
        let lives = |owner: &&String| matches!(hold_of(owner), Some(None | Some(Hold::Nothing)));
        let orphaned = with(Hold::Orphan);
        let living: Vec<String> = if orphaned {
            let kept = |owner: &&String| hold_of(owner) != Some(Some(Hold::Orphan));
            object.owners.iter().filter(kept).cloned().collect()
        } else {
            object.owners.iter().filter(lives).cloned().collect()
        };
        if living.len() == object.owners.len() {
            return false;
        }
        if !living.is_empty() || orphaned {
            self.0.insert(
                name.into(),
                Plain {
                    owners: living,
                    ..object.clone()
                },
            );
            return true;
        }
        let waits = with(Hold::Foreground) && has_dependents;
        self.delete(
            name,
            if waits {
                Hold::Foreground
            } else {
                Hold::Nothing
            },
        );
        true
    }

    fn names(&self) -> BTreeSet<String> {
        let name = |(name, object): (&String, &Plain)| {
            format!("{name}{}", if object.mark.is_some() { "*" } else { "" })
        };
        self.0.iter().map(name).collect()
    }

    /// Whether an object would own itself through these owners.
    fn closes_cycle(&self, name: &str, owners: &[String]) -> bool {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&str> = owners.iter().map(String::as_str).collect();
        while let Some(owner) = next.pop() {
            if owner == name {
                return true;
            }
            if seen.insert(owner) {
                let above = self
                    .0
                    .get(owner)
                    .into_iter()
                    .flat_map(|object| &object.owners);
                next.extend(above.map(String::as_str));
            }
        }
        false
    }
}

/// Names that are there, chosen by numbers.
fn chosen(model: &Model, numbers: &[usize]) -> Vec<String> {
    let names: Vec<&String> = model.0.keys().collect();
    let mut chosen: Vec<String> = Vec::new();
    for number in numbers {
        if let Some(name) = names.get(number % names.len().max(1))
            && !chosen.contains(name)
        {
            chosen.push((*name).clone());
        }
    }
    chosen
}

async fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut world = World::start().await;
    let mut model = Model::default();
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::Make { owners, held } => {
                let owners = chosen(&model, &owners);
                let name = format!("o{number:02}");
                let names: Vec<&str> = owners.iter().map(String::as_str).collect();
                let finalizers: &[&str] = if held { &[HOLD] } else { &[] };
                world.make_held(&name, &names, finalizers).await;
                model.0.insert(
                    name,
                    Plain {
                        owners,
                        held,
                        mark: None,
                    },
                );
            }
            Step::Delete { object, policy } => {
                for name in chosen(&model, &[object]) {
                    let hold =
                        [Hold::Cascade, Hold::Nothing, Hold::Foreground, Hold::Orphan][policy];
                    world.delete(&name, POLICIES[policy]).await;
                    // A second delete that names no policy changes nothing.
                    if policy != 0 || model.0[&name].mark.is_none() {
                        model.delete(&name, hold);
                    }
                }
            }
            Step::Move { object, owners } => {
                for name in chosen(&model, &[object]) {
                    let owners = chosen(&model, &owners);
                    let names: Vec<&str> = owners.iter().map(String::as_str).collect();
                    let refused = model.closes_cycle(&name, &owners);
                    let code = world.own(&name, &names).await;
                    prop_assert_eq!(code, if refused { 422 } else { 200 });
                    if !refused && let Some(object) = model.0.get_mut(&name) {
                        object.owners = owners;
                    }
                }
            }
            Step::Free { object } => {
                for name in chosen(&model, &[object]) {
                    if model.0[&name].held {
                        world.free(&name, HOLD).await;
                        model.0.get_mut(&name).unwrap().held = false;
                    }
                }
            }
        }
        model.settle();
        let expected = model.names();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        world.left(&expected).await;
    }
    Ok(())
}

proptest! {
    // A case starts a server and waits for it at every step, so there are fewer of them.
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.div_ceil(8), max_shrink_iters: 50, ..ProptestConfig::default()
    })]

    #[test]
    fn g5_g6_g7_g8_g9_g13_the_collector_does_what_the_plain_rules_say(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(steps))?;
    }
}
