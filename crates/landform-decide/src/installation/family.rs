//! How nested installations are doing, which depends on those beside them (I10b, I11b).
//!
//! One that must be updated can go on, or waits for a sibling, or for something that doesn't exist. It is at work in the
//! first case only; in the others it is as well as what it waits for.

use std::collections::{BTreeMap, BTreeSet};

use landform_api::landscaper::{InstallationPhase, Operation};

use crate::combined::Standing;

/// A nested installation, and what it needs of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nested {
    /// Its name.
    pub name: String,
    /// Its phase.
    pub phase: Option<InstallationPhase>,
    /// Whether the phase is about its present spec and its present imports.
    pub current: bool,
    /// Whether it is marked for deletion.
    pub marked: bool,
    /// What the operation annotation asks of it.
    pub operation: Option<Operation>,
    /// Whether a write of its own was refused, which it tries again by itself.
    pub refused: bool,
    /// Whether it says that it has failed because it is in a circle.
    pub of_circle: bool,
    /// Whether all that it waits for below is a deployer that has not come yet.
    pub unclaimed: bool,
    /// What it needs before it can be updated.
    pub needs: Vec<Need>,
    /// All nested installations that export something which it imports, itself too: also those that have no right to the
    /// name (I40b). A circle of these is never run (R7).
    pub after: Vec<String>,
}

/// Something that a nested installation needs before it can be updated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// A sibling that exports what it imports.
    Sibling(String),
    /// Something that doesn't exist in this context, and that no sibling exports.
    Missing(String),
    /// Something outside of the context that may still come.
    Outside(String),
}

/// How a nested installation is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its standing.
    pub standing: Standing,
    /// What keeps it from going on, if it waits.
    pub because: Option<String>,
    /// Whether it is at work only because a deployer has not come yet, to itself or to those that it waits for.
    pub unclaimed: bool,
}

impl Found {
    fn new(standing: Standing) -> Self {
        Self {
            standing,
            because: None,
            unclaimed: false,
        }
    }

    fn waits(standing: Standing, because: String) -> Self {
        Self {
            because: Some(because),
            ..Self::new(standing)
        }
    }
}

/// How all nested installations of one parent are doing, by name.
#[must_use]
pub fn standings(nested: &[Nested]) -> BTreeMap<String, Found> {
    let by_name: BTreeMap<&str, &Nested> = nested
        .iter()
        .map(|nested| (nested.name.as_str(), nested))
        .collect();
    let mut family = Family {
        circles: circles(&by_name),
        by_name,
        found: BTreeMap::new(),
    };
    for nested in nested {
        family.look(nested);
    }
    let found = family.found.into_iter();
    found
        .map(|(name, found)| (name.to_owned(), found))
        .collect()
}

struct Family<'a> {
    by_name: BTreeMap<&'a str, &'a Nested>,
    /// Those that import from themselves by way of others.
    circles: BTreeSet<&'a str>,
    found: BTreeMap<&'a str, Found>,
}

/// Those that are in a circle, or between two: what is left when those are taken away, again and again, that come after
/// none of the others or before none.
fn circles<'a>(by_name: &BTreeMap<&'a str, &'a Nested>) -> BTreeSet<&'a str> {
    let edges = by_name.iter().flat_map(|(name, nested)| {
        let after = nested.after.iter();
        let after = after.filter_map(|other| by_name.get_key_value(other.as_str()));
        after.map(|(other, _)| (*name, *other))
    });
    let edges: BTreeSet<(&str, &str)> = edges.collect();
    let turned = edges.iter().map(|(name, other)| (*other, *name)).collect();
    let left = without_ends(&edges, by_name.keys().copied().collect());
    without_ends(&turned, left)
}

/// Without those that lead nowhere.
fn without_ends<'a>(
    edges: &BTreeSet<(&'a str, &'a str)>,
    mut left: BTreeSet<&'a str>,
) -> BTreeSet<&'a str> {
    let mut onward: BTreeMap<&str, usize> = BTreeMap::new();
    let mut before: BTreeMap<&str, Vec<&'a str>> = BTreeMap::new();
    for (from, to) in edges {
        if left.contains(from) && left.contains(to) {
            *onward.entry(from).or_default() += 1;
            before.entry(to).or_default().push(from);
        }
    }
    let mut ends: Vec<&str> = left.iter().copied().collect();
    ends.retain(|name| !onward.contains_key(name));
    while let Some(end) = ends.pop() {
        left.remove(end);
        for from in before.remove(end).unwrap_or_default() {
            let count = onward.entry(from).or_default();
            *count = count.saturating_sub(1);
            if *count == 0 {
                ends.push(from);
            }
        }
    }
    left
}

impl<'a> Family<'a> {
    fn look(&mut self, nested: &'a Nested) -> Found {
        if let Some(found) = self.found.get(nested.name.as_str()) {
            return found.clone();
        }
        let in_circle = self.circles.contains(nested.name.as_str());
        let found = match settled(nested) {
            // Nothing in a circle runs, whatever it is asked for (R7).
            _ if is_asked(nested) && !in_circle => Found::new(Standing::AtWork),
            // The circle is open, and it has not been run since: that phase isn't so any more.
            _ if nested.of_circle && !in_circle && !nested.marked => self.prospects(nested),
            None if in_circle => Found::waits(
                Standing::Failed,
                "it imports from itself, or from others that do".to_owned(),
            ),
            Some(standing) => Found {
                unclaimed: standing.is_at_work() && nested.unclaimed,
                ..Found::new(standing)
            },
            None => self.prospects(nested),
        };
        self.found.insert(&nested.name, found.clone());
        found
    }

    /// What becomes of one that must be updated.
    fn prospects(&mut self, nested: &'a Nested) -> Found {
        let mut worst = Found::new(Standing::AtWork);
        let mut unclaimed = true;
        for need in &nested.needs {
            let found = match need {
                Need::Sibling(name) => self.sibling(name),
                Need::Missing(what) => Some(Found::waits(
                    Standing::Failed,
                    format!("it waits for {what}"),
                )),
                Need::Outside(what) => Some(Found::waits(
                    Standing::Waiting,
                    format!("it waits for {what}"),
                )),
            };
            let Some(found) = found else {
                continue;
            };
            unclaimed &= found.unclaimed || !found.standing.is_at_work();
            // One that works may bring anything, so nothing is said before it has ended; unless something has failed.
            let weight = |standing| match standing {
                Standing::Failed => 3,
                Standing::AtWork => 2,
                Standing::Waiting => 1,
                Standing::Succeeded | Standing::Init | Standing::Aborted => 0,
            };
            let is_first = worst.because.is_none() && worst.standing == Standing::AtWork;
            if is_first || weight(found.standing) > weight(worst.standing) {
                worst = found;
            }
        }
        worst.unclaimed &= unclaimed;
        worst
    }

    /// What a sibling that is needed means; none when it is ready.
    fn sibling(&mut self, name: &str) -> Option<Found> {
        let sibling = *self.by_name.get(name)?;
        let found = self.look(sibling);
        match found.standing {
            Standing::Succeeded => None,
            Standing::AtWork | Standing::Init if found.unclaimed => Some(Found {
                unclaimed: true,
                ..Found::waits(
                    Standing::AtWork,
                    format!("it waits for {name}, which waits for a deployer"),
                )
            }),
            Standing::AtWork | Standing::Init => Some(Found::waits(
                Standing::AtWork,
                format!("it waits for {name}, which is at work"),
            )),
            Standing::Waiting => Some(Found::waits(
                Standing::Waiting,
                format!("it waits for {name}, which waits itself"),
            )),
            Standing::Failed | Standing::Aborted => Some(Found::waits(
                Standing::Failed,
                format!("it waits for {name}, which has not succeeded"),
            )),
        }
    }
}

/// Whether one has still to do what it was asked for.
fn is_asked(nested: &Nested) -> bool {
    // One that goes keeps the annotation that forces it until it is gone, whatever becomes of it.
    let has_failed = nested.current && nested.phase == Some(InstallationPhase::Failed);
    // One whose write was refused keeps it for its next try: those above have an end all the same.
    nested.operation.is_some() && !(has_failed && (nested.marked || nested.refused))
}

/// The standing of one that does not have to be updated.
fn settled(nested: &Nested) -> Option<Standing> {
    use InstallationPhase as Phase;
    match nested.phase {
        Some(Phase::Progressing | Phase::Deleting) => Some(Standing::AtWork),
        _ if nested.marked && nested.phase != Some(Phase::Failed) => Some(Standing::AtWork),
        Some(Phase::Succeeded | Phase::Failed | Phase::Aborted) if nested.current => {
            Some(Standing::of(nested.phase, true))
        }
        _ if nested.marked => Some(Standing::AtWork),
        None
        | Some(
            Phase::Init
            | Phase::PendingDependencies
            | Phase::Succeeded
            | Phase::Failed
            | Phase::Aborted,
        ) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use InstallationPhase::{Aborted, Failed, PendingDependencies, Progressing, Succeeded};

    fn nested(name: &str, phase: InstallationPhase, needs: &[Need]) -> Nested {
        Nested {
            name: name.into(),
            phase: Some(phase),
            current: phase != PendingDependencies,
            marked: false,
            operation: None,
            refused: false,
            of_circle: false,
            unclaimed: false,
            after: needs.iter().filter_map(sibling).collect(),
            needs: needs.to_vec(),
        }
    }

    fn sibling(need: &Need) -> Option<String> {
        match need {
            Need::Sibling(name) => Some(name.clone()),
            Need::Missing(_) | Need::Outside(_) => None,
        }
    }

    fn on(name: &str) -> Need {
        Need::Sibling(name.into())
    }

    fn standing(all: &[Nested], name: &str) -> Standing {
        standings(all)[name].standing
    }

    #[test]
    fn i11b_what_waits_is_as_well_as_what_it_waits_for() {
        let table = [
            (Failed, Standing::Failed),
            (Aborted, Standing::Failed),
            (Progressing, Standing::AtWork),
            (Succeeded, Standing::AtWork),
        ];
        for (first, expected) in table {
            let all = [
                nested("c", PendingDependencies, &[on("b")]),
                nested("a", first, &[]),
                nested("b", PendingDependencies, &[on("a")]),
            ];
            assert_eq!(standing(&all, "b"), expected, "{first:?}");
            assert_eq!(standing(&all, "c"), expected, "{first:?}");
        }
        let all = [nested("b", PendingDependencies, &[on("gone")])];
        assert_eq!(standing(&all, "b"), Standing::AtWork, "it can go on");
    }

    #[test]
    fn i10b_i11b_a_circle_that_was_opened_has_failed_no_more() {
        let circle = |name: &str, on_other: &str| Nested {
            of_circle: true,
            ..nested(name, Failed, &[on(on_other)])
        };
        let closed = [circle("a", "b"), circle("b", "a")];
        assert_eq!(standing(&closed, "a"), Standing::Failed);
        assert_eq!(standing(&closed, "b"), Standing::Failed);
        // "a" imports from elsewhere now, and has run; "b" has not been looked at since.
        let open = [nested("a", Succeeded, &[]), circle("b", "a")];
        assert_eq!(standing(&open, "b"), Standing::AtWork);
        let open = [nested("a", Failed, &[]), circle("b", "a")];
        assert_eq!(standing(&open, "b"), Standing::Failed, "it waits for a");
        // What failed otherwise has failed.
        let other = [nested("a", Succeeded, &[]), nested("b", Failed, &[on("a")])];
        assert_eq!(standing(&other, "b"), Standing::Failed);
    }

    #[test]
    fn i11b_what_does_not_exist_fails_and_what_may_come_is_waited_for() {
        let missing = [Need::Outside("s".into()), Need::Missing("x".into())];
        let outside = [Need::Outside("s".into())];
        let all = [
            nested("a", PendingDependencies, &missing),
            nested("b", PendingDependencies, &outside),
            nested("c", PendingDependencies, &[on("b")]),
        ];
        assert_eq!(standing(&all, "a"), Standing::Failed);
        assert_eq!(standing(&all, "b"), Standing::Waiting);
        assert_eq!(standing(&all, "c"), Standing::Waiting);
        let because = standings(&all)["a"].because.clone().unwrap();
        assert!(because.contains('x'), "{because}");
    }

    #[test]
    fn i11b_a_circle_has_failed() {
        let all = [
            nested("a", PendingDependencies, &[on("b")]),
            nested("b", PendingDependencies, &[on("a")]),
        ];
        assert_eq!(standing(&all, "a"), Standing::Failed);
        assert_eq!(standing(&all, "b"), Standing::Failed);
        let itself = [nested("a", PendingDependencies, &[on("a")])];
        assert_eq!(standing(&itself, "a"), Standing::Failed);
    }

    #[test]
    fn i11b_i18_a_circle_has_failed_also_when_it_was_asked_to_reconcile() {
        let asked = |name, on_name| Nested {
            operation: Some(Operation::Reconcile),
            ..nested(name, Failed, &[on(on_name)])
        };
        let all = [asked("a", "b"), asked("b", "a")];
        assert_eq!(standing(&all, "a"), Standing::Failed);
        assert_eq!(standing(&all, "b"), Standing::Failed);
        // What was corrected runs.
        let broken = [asked("a", "gone"), asked("b", "a")];
        assert_eq!(standing(&broken, "a"), Standing::AtWork);
    }

    #[test]
    fn i11b_i40b_a_circle_by_way_of_one_that_has_no_right_to_the_name_is_one() {
        // The first exports what the second imports; the third would, too, and imports from the second.
        let mut all = [
            nested("first", Succeeded, &[]),
            nested("second", PendingDependencies, &[on("first")]),
            nested("third", PendingDependencies, &[on("second")]),
            nested("fourth", PendingDependencies, &[on("third")]),
        ];
        assert_eq!(standing(&all, "second"), Standing::AtWork);
        all[1].after.push("third".into());
        let found = standings(&all);
        for name in ["second", "third"] {
            let because = found[name].because.as_ref().unwrap();
            assert!(because.contains("itself"), "{name}: {because}");
        }
        assert_eq!(found["fourth"].standing, Standing::Failed);
        assert_eq!(found["first"].standing, Standing::Succeeded);
    }

    #[test]
    fn i10b_one_with_older_imports_is_at_work_if_it_can_go_on() {
        let old = |needs: &[Need]| Nested {
            current: false,
            ..nested("b", Succeeded, needs)
        };
        assert_eq!(standing(&[old(&[])], "b"), Standing::AtWork);
        let stuck = [nested("a", Failed, &[]), old(&[on("a")])];
        assert_eq!(standing(&stuck, "b"), Standing::Failed);
        let asked = Nested {
            operation: Some(Operation::Reconcile),
            ..nested("b", Failed, &[])
        };
        assert_eq!(standing(&[asked], "b"), Standing::AtWork);
    }

    #[test]
    fn i11b_c6_one_whose_write_was_refused_has_failed_whatever_it_was_asked_for() {
        for operation in [None, Some(Operation::Reconcile)] {
            let refused = |current| Nested {
                operation,
                refused: true,
                current,
                ..nested("b", Failed, &[])
            };
            assert_eq!(standing(&[refused(true)], "b"), Standing::Failed);
            assert_eq!(standing(&[refused(false)], "b"), Standing::AtWork);
        }
    }

    #[test]
    fn i11b_e12_what_waits_only_for_a_deployer_of_another_one_is_unclaimed_too() {
        let unclaimed = |name, unclaimed| Nested {
            unclaimed,
            ..nested(name, Progressing, &[])
        };
        // (whether a and b are unclaimed, whether c, which waits for both, is)
        for (a, b, expected) in [
            (true, true, true),
            (true, false, false),
            (false, true, false),
            (false, false, false),
        ] {
            let all = [
                unclaimed("a", a),
                unclaimed("b", b),
                nested("c", PendingDependencies, &[on("a"), on("b")]),
                nested("d", PendingDependencies, &[on("c")]),
            ];
            let found = standings(&all);
            for name in ["c", "d"] {
                let found = &found[name];
                let expected = (Standing::AtWork, expected);
                assert_eq!(
                    (found.standing, found.unclaimed),
                    expected,
                    "{name} {a} {b}"
                );
            }
        }
        // One that can go on by itself is at work.
        let free = nested("free", PendingDependencies, &[]);
        assert!(!standings(&[free])["free"].unclaimed);
    }

    #[test]
    fn i35b_one_that_goes_is_at_work_until_its_removal_has_failed() {
        let going = |phase, current| Nested {
            marked: true,
            current,
            ..nested("b", phase, &[])
        };
        for phase in [Succeeded, PendingDependencies, Aborted] {
            assert_eq!(standing(&[going(phase, true)], "b"), Standing::AtWork);
        }
        assert_eq!(standing(&[going(Failed, false)], "b"), Standing::AtWork);
        assert_eq!(standing(&[going(Failed, true)], "b"), Standing::Failed);
    }
}
