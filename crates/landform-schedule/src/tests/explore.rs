//! Every interleaving of a few objects: a breadth-first search over all states.
//!
//! From a shape of the graph, people may do a few things (a budget), and runs may return, at any moment
//! and in any order. After every step the naive model is asked (R3–R8, nothing lost, nothing for
//! nothing), and the machine's own invariants. `LANDFORM_EXPLORE=6` allows a budget of six.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::hash::{Hash, Hasher};

use super::world::{Action, How, Name, Race, World, name, names};
use crate::Order;

/// A state, and how it was reached.
struct Visit {
    world: World,
    budget: u32,
    path: Vec<Action>,
}

fn digest(world: &World, budget: u32) -> (u64, u64) {
    let state = (
        world.machine.fingerprint(),
        &world.model.things,
        &world.model.must,
    );
    let flights: BTreeSet<_> = world.model.flights.values().collect();
    let mut hashers = [DefaultHasher::new(), DefaultHasher::new()];
    1.hash(&mut hashers[1]);
    for hasher in &mut hashers {
        (
            &state,
            &flights,
            budget,
            world.timers.keys().collect::<Vec<_>>(),
        )
            .hash(hasher);
    }
    (hashers[0].finish(), hashers[1].finish())
}

/// Visits all states; returns how many there are.
fn explore(create: &[Action], people: &[Action], budget: u32) -> usize {
    let mut world = World::new();
    world.step(create);
    let mut seen = HashSet::from([digest(&world, budget)]);
    let mut queue = VecDeque::from([Visit {
        world,
        budget,
        path: Vec::new(),
    }]);
    while let Some(Visit {
        world,
        budget,
        path,
    }) = queue.pop_front()
    {
        let flying: Vec<_> = world
            .model
            .flights
            .values()
            .map(|fly| fly.name.clone())
            .collect();
        if flying.is_empty() {
            let waiting = world
                .model
                .must
                .iter()
                .find(|name| !world.model.is_cyclic(name));
            assert!(waiting.is_none(), "{waiting:?} never runs after {path:?}");
        }
        let returns = flying
            .into_iter()
            .map(|name| (Action::Finish(name, How::Well), budget));
        let others = people.iter().filter(|_| budget > 0).cloned();
        let next = returns.chain(others.map(|action| (action, budget.saturating_sub(1))));
        for (action, budget) in next {
            let mut world = world.clone();
            let result = world.try_step(std::slice::from_ref(&action));
            let mut path = path.clone();
            path.push(action);
            if let Err(error) = result {
                panic!("{error}\nafter {create:?}\nand {path:?}");
            }
            if seen.insert(digest(&world, budget)) {
                queue.push_back(Visit {
                    world,
                    budget,
                    path,
                });
            }
        }
    }
    seen.len()
}

fn budget(usual: u32) -> u32 {
    let wanted = std::env::var("LANDFORM_EXPLORE").ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// `b: a, c: a b` are objects with their refs; `r c: a @ o gives n` is one of the order `Related`.
fn shape(text: &str) -> Vec<Action> {
    let objects = text.split(',').map(|part| part.split_once(':').unwrap());
    objects
        .map(|(object, rest)| {
            let (rest, given) = rest.split_once("gives").unwrap_or((rest, ""));
            let (refs, owners) = rest.split_once('@').unwrap_or((rest, ""));
            let related = object.trim().strip_prefix("r ");
            Action::Create {
                name: name(related.unwrap_or(object).trim()),
                refs: names(refs),
                passive: false,
                order: related.map_or(Order::Strict, |_| Order::Related {
                    owners: names(owners).into_iter().collect(),
                    names: names(given).into_iter().collect(),
                }),
            }
        })
        .collect()
}

fn objects(create: &[Action]) -> Vec<Name> {
    let name = |action: &Action| match action {
        Action::Create { name, .. } => Some(name.clone()),
        _ => None,
    };
    create.iter().filter_map(name).collect()
}

/// Updates, deletions, removals, creations and requests of all objects.
fn everyday(create: &[Action]) -> Vec<Action> {
    let mut people = Vec::new();
    for object in objects(create) {
        people.push(Action::Update(object.clone()));
        people.push(Action::Mark(object.clone()));
        people.push(Action::Gone(object));
    }
    people.extend(create.iter().cloned());
    people
}

/// Deletions and renames of all objects, to one new name.
fn renames(create: &[Action]) -> Vec<Action> {
    let mut people = Vec::new();
    for object in objects(create) {
        people.push(Action::Mark(object.clone()));
        people.push(Action::Rename(object.clone(), name("z")));
        people.push(Action::Rename(name("z"), object.clone()));
        people.push(Action::Finish(object, How::RetriggerPast));
    }
    people.push(Action::Update(name("z")));
    people
}

#[test]
fn r3_r4_r6_r8_all_interleavings_of_small_shapes() {
    let shapes = [
        "a:, b: a, c: b",
        "a:, b: a, c: a b",
        "a:, b: a, c: a, d: b c",
        "a:, b: a, c: b, d: c",
        "n/a:, m/b: n/a, n/c: m/b",
    ];
    let mut states = 0;
    for text in shapes {
        let create = shape(text);
        let budget = budget(if create.len() > 3 { 4 } else { 5 });
        states += explore(&create, &everyday(&create), budget);
    }
    assert!(states > 10_000, "only {states} states");
}

#[test]
fn r3_r8_all_interleavings_with_renames() {
    let mut states = 0;
    for text in ["a:, b: a", "a:, b: a, c: b", "a:, b: a z, c: a"] {
        let create = shape(text);
        states += explore(&create, &renames(&create), budget(5));
    }
    assert!(states > 5_000, "only {states} states");
}

#[test]
fn r3_r4_r6_r8_all_interleavings_of_everything_with_four_objects() {
    let mut states = 0;
    for text in ["a:, b: a, c: a, d: b c", "a:, n/b: a, n/c: n/b, d: n/c"] {
        let create = shape(text);
        let mut people = everyday(&create);
        people.extend(renames(&create));
        for object in objects(&create) {
            people.push(Action::Relate(object.clone(), names("d")));
            people.push(Action::OwnRelate(object.clone(), names("a")));
            people.push(Action::Child(object.clone()));
            people.push(Action::Overdue(object));
        }
        states += explore(&create, &people, budget(3));
    }
    assert!(states > 1_000, "only {states} states");
}

#[test]
fn r8b_all_interleavings_of_related_and_strict_objects() {
    let shapes = [
        "r a:, r b: @ a, c:, d: c",
        "r a: gives x, r b: gives x, c:",
        "r a:, r b: a @ a, r c: @ b",
    ];
    let mut states = 0;
    for text in shapes {
        let create = shape(text);
        let mut people = everyday(&create);
        people.extend(renames(&create));
        for object in objects(&create) {
            people.push(Action::Finish(object.clone(), How::Error));
            people.push(Action::Due(object));
        }
        states += explore(&create, &people, budget(3));
    }
    assert!(states > 1_000, "only {states} states");
}

#[test]
fn r4_r5_r7_all_interleavings_with_changing_refs() {
    let create = shape("a:, b: a, c: b");
    let mut people = Vec::new();
    for object in objects(&create) {
        for refs in ["", "a", "b", "c", "a b", "b c"] {
            people.push(Action::Relate(object.clone(), names(refs)));
            people.push(Action::OwnRelate(object.clone(), names(refs)));
        }
        people.push(Action::Mark(object.clone()));
        people.push(Action::OwnUpdate(object.clone(), Race::WatchFirst));
        people.push(Action::OwnMark(object.clone()));
        people.push(Action::OwnGone(object));
    }
    let states = explore(&create, &people, budget(3));
    assert!(states > 1_000, "only {states} states");
}

#[test]
fn r6_r9b_all_interleavings_of_refs_that_go_while_a_run_works_with_them() {
    let create = shape("a:, b: a, c: b, d: c");
    let mut people = create.clone();
    for object in objects(&create) {
        people.push(Action::Relate(object.clone(), names("")));
        people.push(Action::Gone(object.clone()));
        people.push(Action::Rename(object, name("z")));
    }
    people.push(Action::OwnRelate(name("d"), names("a")));
    people.push(Action::OwnRelate(name("d"), names("")));
    people.push(Action::Relate(name("b"), names("d")));
    for object in ["a", "b", "z"] {
        people.push(Action::Update(name(object)));
    }
    let states = explore(&create, &people, budget(3));
    assert!(states > 1_000, "only {states} states");
}

#[test]
fn r7_all_graphs_of_three_objects() {
    let pairs = ["a b", "a c", "b a", "b c", "c a", "c b"];
    let mut states = 0;
    for bits in 0_u32..64 {
        let refs = |object: &str| -> BTreeSet<Name> {
            let edges = pairs
                .iter()
                .enumerate()
                .filter(|(at, _)| bits & (1 << at) != 0);
            let edges = edges.filter_map(|(_, pair)| pair.split_once(' '));
            edges
                .filter(|(from, _)| *from == object)
                .map(|(_, to)| name(to))
                .collect()
        };
        let create = ["a", "b", "c"].map(|object| Action::Create {
            name: name(object),
            refs: refs(object),
            passive: false,
            order: Order::Strict,
        });
        states += explore(&create, &everyday(&create), budget(2));
    }
    assert!(states > 1_000, "only {states} states");
}
