//! When an object runs again because a run asked for it (R12, R12b). Pure.
//!
//! A time that a run asked for stands until a run that began when it was due has ended, or a run asks for another
//! time. Runs between that fail or ask for nothing leave it as it is. It is written down on the object, so that a
//! restart doesn't forget it.

/// An object rests at least this long between two runs that nothing but a time brought: meanwhile those that refer
/// to it have their turn.
pub(crate) const FLOOR_MS: u64 = 100;

/// What is known at the end of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) began_ms: u64,
    pub(crate) now_ms: u64,
    /// Whether a time that was asked for brought this run.
    pub(crate) retriggered: bool,
    /// The time that runs before asked for.
    pub(crate) before_ms: Option<u64>,
    /// The time that this run asks for.
    pub(crate) at_ms: Option<u64>,
    /// Until when this run waits. That isn't written down: after a restart the object is looked at anyway.
    pub(crate) until_ms: Option<u64>,
}

/// When the object runs again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) next_ms: Option<u64>,
    /// What of it is written down.
    pub(crate) noted_ms: Option<u64>,
}

/// When the object runs again, after a run that has ended in whatever way.
pub(crate) fn next(asked: &Asked) -> Times {
    let stands = asked.before_ms.filter(|at_ms| *at_ms > asked.began_ms);
    let noted_ms = asked.at_ms.map(|at_ms| rested(asked, at_ms)).or(stands);
    let until_ms = asked.until_ms.map(|at_ms| rested(asked, at_ms));
    Times {
        next_ms: noted_ms.into_iter().chain(until_ms).min(),
        noted_ms,
    }
}

/// A time that is past is honoured at once, before those run that refer to the object (T12), but not twice in a row.
fn rested(asked: &Asked, at_ms: u64) -> u64 {
    if at_ms > asked.now_ms || asked.retriggered {
        at_ms.max(asked.now_ms.saturating_add(FLOOR_MS))
    } else {
        at_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r12b_a_time_stands_until_it_was_due_or_another_one_is_asked_for() {
        let asked = Asked {
            began_ms: 1_000,
            now_ms: 1_010,
            ..Asked::default()
        };
        let table = [
            ("nothing was asked for", asked, None),
            (
                "a run that says nothing leaves it",
                Asked {
                    before_ms: Some(5_000),
                    ..asked
                },
                Some(5_000),
            ),
            (
                "it fell due while the run went on: another one is needed",
                Asked {
                    before_ms: Some(1_005),
                    ..asked
                },
                Some(1_005),
            ),
            (
                "it was due when the run began",
                Asked {
                    before_ms: Some(1_000),
                    ..asked
                },
                None,
            ),
            (
                "another time replaces it, also a later one",
                Asked {
                    before_ms: Some(5_000),
                    at_ms: Some(9_000),
                    ..asked
                },
                Some(9_000),
            ),
        ];
        for (what, asked, noted_ms) in table {
            let times = Times {
                next_ms: noted_ms,
                noted_ms,
            };
            assert_eq!(next(&asked), times, "{what}");
        }
    }

    #[test]
    fn r12b_an_object_rests_before_a_time_brings_it_again() {
        let asked = Asked {
            now_ms: 1_000,
            ..Asked::default()
        };
        let again = Asked {
            retriggered: true,
            ..asked
        };
        let table = [
            ("T12: a time that is past, at once", asked, 1_000, 1_000),
            ("but not a second time in a row", again, 1_000, 1_100),
            ("nor one that is long past", again, 7, 1_100),
            ("nor one that comes too soon", asked, 1_001, 1_100),
            ("others as they are", again, 1_101, 1_101),
        ];
        for (what, asked, at_ms, expected) in table {
            let at = Asked {
                at_ms: Some(at_ms),
                ..asked
            };
            assert_eq!(next(&at).next_ms, Some(expected), "{what}");
            let until = Asked {
                until_ms: Some(at_ms),
                ..asked
            };
            let times = Times {
                next_ms: Some(expected),
                noted_ms: None,
            };
            assert_eq!(next(&until), times, "{what}");
        }
    }
}
