//! Installations that import from each other in a circle.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::finding::Findings;
use super::wiring::{DATA, Part, Provided, TARGET, key};

/// Installations that wait for each other.
pub(super) fn circles(parts: &[Part<'_>], provided: &Provided<'_>, findings: &mut Findings) {
    let needs: Vec<BTreeSet<usize>> = parts
        .iter()
        .map(|part| {
            let data = part.spec.imports.data.iter();
            let data = data
                .filter(|import| import.secret_ref.is_none() && import.config_map_ref.is_none());
            let data = data.map(|import| (DATA, &import.data_ref));
            let targets = part
                .spec
                .imports
                .targets
                .iter()
                .map(|import| (TARGET, &import.target));
            let keys = data
                .chain(targets)
                .map(|(kind, name)| key(part, kind, name));
            keys.filter_map(|key| provided.exporters.get(&key)?.first().copied())
                .collect()
        })
        .collect();
    let mut told: BTreeSet<usize> = BTreeSet::new();
    for start in 0..parts.len() {
        if told.contains(&start) {
            continue;
        }
        let Some(circle) = circle_from(start, &needs) else {
            continue;
        };
        let names: Vec<&str> = circle
            .iter()
            .chain(circle.first())
            .filter_map(|at| parts.get(*at))
            .map(|part| part.place.source.name.as_str())
            .collect();
        if let Some(part) = parts.get(start) {
            findings.error(
                part.place,
                format!(
                    "installations import from each other in a circle and would wait for ever: {}",
                    names.join(" → ")
                ),
            );
        }
        told.extend(circle);
    }
}

/// The shortest way from an installation back to itself.
fn circle_from(start: usize, needs: &[BTreeSet<usize>]) -> Option<Vec<usize>> {
    let mut came: BTreeMap<usize, usize> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(at) = waiting.pop_front() {
        for next in needs.get(at).into_iter().flatten() {
            if *next == start {
                let mut way = vec![at];
                while let Some(before) = way.last().and_then(|last| came.get(last)) {
                    way.push(*before);
                }
                way.reverse();
                return Some(way);
            }
            if !came.contains_key(next) {
                came.insert(*next, at);
                waiting.push_back(*next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_found_from_each_of_its_members_and_from_no_other() {
        let needs: Vec<BTreeSet<usize>> = [vec![1], vec![2], vec![0], vec![0]]
            .map(|all| all.into_iter().collect())
            .into();
        assert_eq!(circle_from(0, &needs), Some(vec![0, 1, 2]));
        assert_eq!(circle_from(2, &needs), Some(vec![2, 0, 1]));
        assert_eq!(circle_from(3, &needs), None);
        assert_eq!(circle_from(0, &[BTreeSet::from([0])]), Some(vec![0]));
    }
}
