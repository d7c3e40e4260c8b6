//! How a Reconciler stands, as its status says it. Pure.

use landform_api::GroupVersionKind;

use super::spec::{Condition, KIND, ReconcilerStatus};

/// How a Reconciler stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Its hook reconciles the kind.
    Registered,
    /// Its hook reconciles the kind as far as it can: the API doesn't know these kinds.
    KindsMissing(Vec<GroupVersionKind>),
    /// As above, but all of these are defined: no version of them is served.
    NotServed(Vec<String>),
    /// It is being deleted, and holds objects that can't be written: no version of their kind is served.
    Holds(Holds),
    /// Its hook can't be reached.
    Unreachable(String),
    /// Another Reconciler has the kind.
    Taken(String),
    /// It can't be registered.
    Invalid(String),
    /// Who wrote it lacks rights (C6).
    Denied(String),
}

/// Why a Reconciler isn't ready whose writer lacks rights.
pub(crate) const FORBIDDEN: &str = "Forbidden";

/// What a Reconciler that is being deleted can't let go of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holds {
    pub(crate) kind: String,
    pub(crate) definition: String,
    pub(crate) count: usize,
    /// `default/a`.
    pub(crate) first: String,
}

impl Holds {
    fn message(&self) -> String {
        let Self {
            kind,
            definition,
            count,
            first,
        } = self;
        let what = match count {
            1 => format!("{kind} {first}"),
            count => format!("{count} objects of the kind {kind} (the first is {kind} {first})"),
        };
        format!("it holds {what}, and no version of {definition} is served")
    }
}

impl Standing {
    fn reason(&self) -> &'static str {
        match self {
            Self::Registered => "Registered",
            Self::KindsMissing(_) => "KindNotFound",
            Self::NotServed(_) => "KindNotServed",
            Self::Holds(_) => "HoldsUnserved",
            Self::Unreachable(_) => "HookUnreachable",
            Self::Taken(_) => "KindTaken",
            Self::Invalid(_) => "Invalid",
            Self::Denied(_) => FORBIDDEN,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::Registered => "the hook reconciles the objects of the kind".to_owned(),
            Self::KindsMissing(kinds) => {
                let kinds: Vec<_> = kinds.iter().map(ToString::to_string).collect();
                format!("the API doesn't know {}", kinds.join("; "))
            }
            Self::NotServed(definitions) => {
                format!("no version of {} is served", definitions.join("; "))
            }
            Self::Holds(holds) => holds.message(),
            Self::Taken(by) => format!("{KIND} {by} is older and has the kind"),
            Self::Unreachable(problem) | Self::Invalid(problem) | Self::Denied(problem) => {
                problem.clone()
            }
        }
    }
}

/// The status that says so. Times move only when the condition turns.
pub(crate) fn status(
    standing: &Standing,
    before: &ReconcilerStatus,
    generation: Option<i64>,
    now: &str,
) -> ReconcilerStatus {
    let ready = if *standing == Standing::Registered {
        "True"
    } else {
        "False"
    };
    let known = before
        .conditions
        .iter()
        .find(|condition| condition.kind == "Ready");
    let same = known.filter(|condition| condition.status == ready);
    let since = same.map_or(now, |condition| condition.last_transition_time.as_str());
    ReconcilerStatus {
        observed_generation: generation,
        last_error: (*standing != Standing::Registered).then(|| standing.message()),
        conditions: vec![Condition {
            kind: "Ready".to_owned(),
            status: ready.to_owned(),
            reason: standing.reason().to_owned(),
            message: standing.message(),
            last_transition_time: since.to_owned(),
            observed_generation: generation,
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_says_what_is_wrong_and_since_when() {
        let kind = GroupVersionKind::new("example.com", "v1", "Widget");
        let table = [
            (Standing::Registered, "True", "Registered", None),
            (
                Standing::KindsMissing(vec![kind]),
                "False",
                "KindNotFound",
                Some("the API doesn't know example.com/v1, Kind=Widget"),
            ),
            (
                Standing::NotServed(vec!["boxes.t.example".into()]),
                "False",
                "KindNotServed",
                Some("no version of boxes.t.example is served"),
            ),
            (
                Standing::Holds(Holds {
                    kind: "Box".into(),
                    definition: "boxes.t.example".into(),
                    count: 1,
                    first: "w/a".into(),
                }),
                "False",
                "HoldsUnserved",
                Some("it holds Box w/a, and no version of boxes.t.example is served"),
            ),
            (
                Standing::Unreachable("x".into()),
                "False",
                "HookUnreachable",
                Some("x"),
            ),
            (
                Standing::Taken("a".into()),
                "False",
                "KindTaken",
                Some("Reconciler a is older and has the kind"),
            ),
            (Standing::Invalid("y".into()), "False", "Invalid", Some("y")),
            (
                Standing::Denied("z".into()),
                "False",
                "Forbidden",
                Some("z"),
            ),
        ];
        for (standing, ready, reason, error) in table {
            let status = status(&standing, &ReconcilerStatus::default(), Some(3), "now");
            let condition = &status.conditions[0];
            assert_eq!(
                (condition.status.as_str(), condition.reason.as_str()),
                (ready, reason)
            );
            assert_eq!(status.last_error.as_deref(), error);
            assert_eq!(status.observed_generation, Some(3));
        }
    }

    #[test]
    fn a_condition_keeps_its_time_until_it_turns() {
        let first = status(
            &Standing::Registered,
            &ReconcilerStatus::default(),
            Some(1),
            "1",
        );
        let again = status(&Standing::Registered, &first, Some(1), "2");
        assert_eq!(first, again);
        let bad = status(&Standing::Invalid("x".into()), &again, Some(1), "3");
        let worse = status(&Standing::Taken("x".into()), &bad, Some(1), "4");
        assert_eq!(bad.conditions[0].last_transition_time, "3");
        assert_eq!(worse.conditions[0].last_transition_time, "3");
    }
}
