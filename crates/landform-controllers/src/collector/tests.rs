//! Tables: each rule fires once and is withheld once.

use std::time::Duration;

use landform_graph::owners::{OwnerGraph, Uid};
use tokio::time::Instant;

use super::decide::decide;
use super::decision::{Action, Finalizer, Policy, Rule, Waiting};
use super::kinds::Kind;
use super::metrics::Metrics;
use super::observed::{Dependents, Mark, Observed, Preset, SeenOwner, Standing};
use super::questions::Answer;
use super::queue::{Outcome, Queue};
use super::state::{State, mark};

fn owned(standings: &[Standing]) -> Observed {
    let owner = |(index, standing): (usize, &Standing)| SeenOwner {
        uid: Uid::new(&index.to_string()),
        standing: *standing,
    };
    Observed {
        owners: standings.iter().enumerate().map(owner).collect(),
        ..Observed::default()
    }
}

fn marked(mark: Mark, all: usize, blocking: usize) -> Observed {
    Observed {
        mark: Some(mark),
        dependents: Dependents {
            all,
            blocking,
            only_cycle: false,
        },
        ..Observed::default()
    }
}

fn cascade() -> Mark {
    Mark {
        cascade: true,
        ..Mark::default()
    }
}

fn foreground() -> Mark {
    Mark {
        foreground: true,
        ..Mark::default()
    }
}

fn orphan() -> Mark {
    Mark {
        orphan: true,
        ..Mark::default()
    }
}

fn references(uids: &[&str]) -> Action {
    Action::DropReferences(uids.iter().map(|uid| Uid::new(uid)).collect())
}

#[test]
fn g15_i31_e10_those_who_take_their_own_down_are_not_cascaded_before_they_let_go() {
    let finalizers =
        |names: &[&str]| -> Vec<Box<str>> { names.iter().map(|name| Box::from(*name)).collect() };
    let ours = landform_api::landscaper::keys::FINALIZER;
    for (policy, after) in [
        (landform_api::keys::FINALIZER_CASCADE, Standing::Cascading),
        (
            landform_api::keys::FINALIZER_FOREGROUND,
            Standing::WaitingInForeground,
        ),
    ] {
        let held = mark(&finalizers(&[policy, ours]));
        assert_eq!(held.standing(), Standing::Living);
        assert_eq!(mark(&finalizers(&[policy])).standing(), after);
        let others = mark(&finalizers(&[policy, "someone/else"]));
        assert_eq!(
            others.standing(),
            after,
            "nobody says that it takes anything down"
        );
    }
}

#[test]
fn g6_g12_g12b_g13_what_owners_mean_for_an_object_without_a_mark() {
    use Standing::{Cascading, Gone, Living, Orphaning, Unconfirmed, WaitingInForeground};
    let table: &[(&str, &[Standing], Option<Rule>, Action)] = &[
        ("no owners", &[], None, Action::Nothing),
        ("all live", &[Living, Living], None, Action::Nothing),
        (
            "one cascades",
            &[Living, Cascading],
            Some(Rule::G6),
            Action::Delete(Policy::Background),
        ),
        (
            "cascade beats orphan",
            &[Orphaning, Cascading],
            Some(Rule::G6),
            Action::Delete(Policy::Background),
        ),
        (
            "one orphans",
            &[Living, Orphaning],
            Some(Rule::G13),
            references(&["1"]),
        ),
        (
            "orphan beats absence",
            &[Gone, Orphaning],
            Some(Rule::G13),
            references(&["1"]),
        ),
        (
            "one is unknown",
            &[Gone, Unconfirmed],
            Some(Rule::G12b),
            Action::Nothing,
        ),
        (
            "one is unknown and one waits",
            &[WaitingInForeground, Unconfirmed],
            Some(Rule::G12b),
            Action::Nothing,
        ),
        (
            "one of two is gone",
            &[Gone, Living],
            Some(Rule::G13),
            references(&["0"]),
        ),
        (
            "one of two waits",
            &[WaitingInForeground, Living],
            Some(Rule::G13),
            references(&["0"]),
        ),
        (
            "all are gone",
            &[Gone, Gone],
            Some(Rule::G12),
            Action::Delete(Policy::Background),
        ),
        (
            "the last one waits",
            &[WaitingInForeground],
            Some(Rule::G13),
            Action::Delete(Policy::Background),
        ),
    ];
    for (scenario, standings, rule, action) in table {
        let decision = decide(&owned(standings));
        assert_eq!(
            (decision.rule, &decision.action),
            (*rule, action),
            "{scenario}"
        );
    }
}

#[test]
fn g12b_nothing_is_done_about_what_is_hidden_and_unknown_owners_are_named() {
    let unknown = decide(&owned(&[Standing::Gone, Standing::Unconfirmed]));
    assert_eq!(unknown.waiting_on, Waiting::Owners(vec![Uid::new("1")]));
    for observed in [owned(&[Standing::Cascading]), marked(cascade(), 0, 0)] {
        let hidden = Observed {
            hidden: true,
            ..observed
        };
        let decision = decide(&hidden);
        assert_eq!(
            (decision.action, decision.waiting_on),
            (Action::Nothing, Waiting::Kind)
        );
    }
}

#[test]
fn g13_what_is_cascaded_does_with_its_dependents_as_it_says() {
    for (preset, expected) in [
        (Preset::None, Policy::Cascade),
        (Preset::Orphan, Policy::Orphan),
        (Preset::Foreground, Policy::Foreground),
    ] {
        let observed = Observed {
            preset,
            has_finalizers: true,
            ..owned(&[Standing::Cascading])
        };
        assert_eq!(
            decide(&observed).action,
            Action::Delete(expected),
            "{preset:?}"
        );
    }
}

#[test]
fn g6_what_has_dependents_or_finalizers_is_marked_first() {
    let dependents = Dependents {
        all: 1,
        ..Dependents::default()
    };
    let cascading = owned(&[Standing::Cascading]);
    for observed in [
        Observed {
            dependents,
            ..cascading.clone()
        },
        Observed {
            has_finalizers: true,
            ..cascading.clone()
        },
    ] {
        assert_eq!(decide(&observed).action, Action::Delete(Policy::Cascade));
    }
    let asked = Observed {
        asked: true,
        ..cascading
    };
    assert_eq!(
        decide(&asked).action,
        Action::Nothing,
        "nobody is asked twice"
    );
}

#[test]
fn g13_an_object_that_goes_without_owners_goes_as_it_asks_to() {
    let dependents = Dependents {
        all: 1,
        ..Dependents::default()
    };
    for (preset, standing, expected) in [
        (Preset::None, Standing::Gone, Policy::Background),
        (Preset::Orphan, Standing::Gone, Policy::Orphan),
        (Preset::Foreground, Standing::Gone, Policy::Foreground),
        (
            Preset::Orphan,
            Standing::WaitingInForeground,
            Policy::Foreground,
        ),
    ] {
        let observed = Observed {
            preset,
            dependents,
            ..owned(&[standing])
        };
        assert_eq!(
            decide(&observed).action,
            Action::Delete(expected),
            "{preset:?} {standing:?}"
        );
    }
}

#[test]
fn g7_g11_g13_g15_what_a_marked_object_waits_for() {
    let others = Mark {
        others: vec!["x.io/hold".into()],
        ..Mark::default()
    };
    let both = Mark {
        others: vec!["x.io/hold".into()],
        ..cascade()
    };
    let mut cycle = marked(cascade(), 1, 1);
    cycle.dependents.only_cycle = true;
    let release = Action::Release;
    let table = [
        (
            "no dependents",
            marked(cascade(), 0, 0),
            Rule::G7,
            release(Finalizer::Cascade),
            Waiting::Nothing,
        ),
        (
            "dependents",
            marked(cascade(), 2, 0),
            Rule::G7,
            Action::Nothing,
            Waiting::Dependents(2),
        ),
        (
            "ours goes first",
            marked(both, 0, 0),
            Rule::G7,
            release(Finalizer::Cascade),
            Waiting::Nothing,
        ),
        (
            "only a cycle",
            cycle,
            Rule::G11,
            release(Finalizer::Cascade),
            Waiting::Nothing,
        ),
        (
            "let go",
            marked(orphan(), 0, 0),
            Rule::G13,
            release(Finalizer::Orphan),
            Waiting::Nothing,
        ),
        (
            "not let go yet",
            marked(orphan(), 1, 0),
            Rule::G13,
            Action::Nothing,
            Waiting::Dependents(1),
        ),
        (
            "none blocks",
            marked(foreground(), 3, 0),
            Rule::G13,
            release(Finalizer::Foreground),
            Waiting::Nothing,
        ),
        (
            "one blocks",
            marked(foreground(), 3, 1),
            Rule::G13,
            Action::Nothing,
            Waiting::BlockingDependents(1),
        ),
        (
            "others hold",
            marked(others, 0, 0),
            Rule::G15,
            Action::Nothing,
            Waiting::Finalizers(vec!["x.io/hold".into()]),
        ),
    ];
    for (scenario, observed, rule, action, waiting_on) in table {
        let decision = decide(&observed);
        assert_eq!(decision.rule, Some(rule), "{scenario}");
        assert_eq!(
            (decision.action, decision.waiting_on),
            (action, waiting_on),
            "{scenario}"
        );
    }
}

#[test]
fn g13_a_marked_dependent_is_let_go_as_well() {
    let mut observed = owned(&[Standing::Orphaning, Standing::Cascading]);
    observed.mark = Some(cascade());
    assert_eq!(decide(&observed).action, references(&["0"]));
}

/// Two nodes to queue.
fn nodes() -> [landform_graph::NodeId; 2] {
    let mut graph = OwnerGraph::new();
    ["a", "b"].map(|name| graph.put(&Uid::new(name), &[], ()).node)
}

#[test]
fn an_object_is_queued_once_and_again_when_it_changed_while_it_was_worked_on() {
    let [a, b] = nodes();
    let now = Instant::now();
    let mut queue = Queue::default();
    queue.push(a);
    queue.push(b);
    queue.push(a);
    let (first, ticket) = queue.pop().unwrap();
    assert_eq!(first, a);
    queue.push(a);
    assert_eq!(
        queue.pop().unwrap().0,
        b,
        "one object is not worked on twice at once"
    );
    assert!(queue.pop().is_none());
    queue.done(a, ticket, Outcome::Settled, now);
    assert_eq!(queue.pop().unwrap().0, a);
}

#[test]
fn a_failure_delays_its_object_alone_and_longer_each_time() {
    let [a, b] = nodes();
    let mut queue = Queue::default();
    let mut now = Instant::now();
    let mut waits = Vec::new();
    for _ in 0..4 {
        queue.push(a);
        let (_, ticket) = queue.pop().unwrap();
        queue.done(a, ticket, Outcome::Failed("no".into()), now);
        assert_eq!(queue.failure(a), Some("no"));
        queue.push(b);
        assert_eq!(queue.pop().map(|(node, _)| node), Some(b));
        queue.forget(b);
        let next = queue.wake(now).unwrap();
        waits.push(next - now);
        now = next;
        assert!(queue.wake(now).is_none());
    }
    assert!(
        waits.windows(2).all(|pair| pair[1] == pair[0] * 2),
        "{waits:?}"
    );
    assert!(waits[0] >= Duration::from_millis(1));
}

#[test]
fn a_ticket_of_a_forgotten_object_is_worth_nothing() {
    let [a, _] = nodes();
    let now = Instant::now();
    let mut queue = Queue::default();
    queue.push(a);
    let (_, old) = queue.pop().unwrap();
    queue.forget(a);
    queue.push(a);
    queue.done(a, old, Outcome::Settled, now);
    assert_eq!(
        queue.pop().map(|(node, _)| node),
        Some(a),
        "the new one is still to be looked at"
    );
}

/// Works a queue off as the loop does, with an answer "absent" to each question; returns how many owners decisions have
/// looked at.
fn owners_looked_at(state: &mut State) -> usize {
    let mut looked_at = 0;
    while let Some((node, ticket)) = state.queue.pop() {
        if let Some(question) = state.question(node) {
            state.answered(&question.uid, &Answer::Absent);
        } else if let Some(subject) = state.subject(node) {
            looked_at += subject.observed.owners.len();
            if let Waiting::Owners(uids) = &decide(&subject.observed).waiting_on {
                state.ask_for(uids);
            }
        }
        state
            .queue
            .done(node, ticket, Outcome::Settled, Instant::now());
    }
    looked_at
}

#[tokio::test]
async fn g12b_an_object_with_many_absent_owners_is_looked_at_few_times() {
    let owners = 2_000;
    let mut state = State::default();
    let gvk = kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap");
    let kind = state.kind_id(&Kind {
        resource: kube::core::ApiResource::from_gvk(&gvk),
        namespaced: true,
    });
    state.begin_list(kind);
    state.end_list(kind);
    state.start();
    let reference = |at: usize| serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": format!("u{at}")});
    let metadata = serde_json::json!({
        "name": "many", "namespace": "n", "uid": "many", "resourceVersion": "5",
        "ownerReferences": (0..owners).map(reference).collect::<Vec<_>>(),
    });
    state.put(kind, &serde_json::from_value(metadata).unwrap());
    let looked_at = owners_looked_at(&mut state);
    assert!(looked_at <= 4 * owners, "{looked_at} owners for {owners}");
    let node = state.graph.find(&Uid::new("many")).unwrap();
    let decision = decide(&state.subject(node).unwrap().observed);
    assert_eq!(decision.action, Action::Delete(Policy::Background));
}

#[test]
fn the_metrics_can_be_made() {
    Metrics::default().failed("ConfigMap");
}
