//! Visits everything that can follow from a start.

use super::*;

/// Visits all worlds; those that are at rest go to `at_rest`. A world that is never at rest fails.
pub(crate) fn explore(package: &Package, start: World, at_rest: impl Fn(&World)) {
    walk(start, |world| world.next(package), at_rest);
}

/// Visits whatever follows from a start. `next` gives what follows, and apart from it what follows a crash.
pub(crate) fn walk<W: Clone + Eq + Hash + Debug>(
    start: W,
    next: impl Fn(&W) -> (Vec<W>, Vec<W>),
    at_rest: impl Fn(&W),
) {
    let mut places = HashMap::from([(start.clone(), 0)]);
    let mut open = vec![start];
    // By place: the worlds that come before it, and how many come after it, crashes left out.
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let mut after = vec![0];
    let mut resting = Vec::new();
    while let Some(world) = open.pop() {
        let place = places[&world];
        let (whole, cut) = next(&world);
        if whole.is_empty() {
            at_rest(&world);
            resting.push(place);
        }
        after[place] = whole.len();
        let complete = whole.len();
        for (number, next) in whole.into_iter().chain(cut).enumerate() {
            let new = places.len();
            let next_place = *places.entry(next.clone()).or_insert(new);
            if next_place == new {
                before.push(Vec::new());
                after.push(0);
                open.push(next);
            }
            if number < complete {
                before[next_place].push(place);
            }
        }
        assert!(places.len() < 1_000_000, "too many worlds");
    }
    // Worlds are taken away from which only worlds lead that were taken away; others go in circles.
    let mut taken = 0;
    while let Some(place) = resting.pop() {
        taken += 1;
        for before in std::mem::take(&mut before[place]) {
            after[before] -= 1;
            if after[before] == 0 {
                resting.push(before);
            }
        }
    }
    let circling = || places.iter().find(|(_, place)| after[**place] > 0);
    assert_eq!(
        taken,
        places.len(),
        "it goes round and round: {:#?}",
        circling()
    );
}
