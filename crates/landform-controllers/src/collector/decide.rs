//! The rules: what is to be done about one object.

use landform_graph::owners::Uid;

use super::decision::{Action, Decision, Finalizer, Policy, Rule, Waiting};
use super::observed::{Mark, Observed, Preset, Standing};

/// Decides about one object.
pub(crate) fn decide(observed: &Observed) -> Decision {
    if observed.hidden {
        return wait(Rule::G12b, Waiting::Kind);
    }
    match &observed.mark {
        // An owner that lets its dependents go waits for marked ones, too.
        Some(_) if has_owner(observed, Standing::Orphaning) => let_go(observed),
        Some(mark) => decide_marked(observed, mark),
        None if observed.asked => nothing(),
        None => decide_living(observed),
    }
}

/// A marked object loses the collector's finalizer when nothing is in its way any more (G7).
fn decide_marked(observed: &Observed, mark: &Mark) -> Decision {
    let dependents = observed.dependents;
    if mark.cascade {
        return match (dependents.all, dependents.only_cycle) {
            (0, _) => release(Rule::G7, Finalizer::Cascade),
            (_, true) => release(Rule::G11, Finalizer::Cascade),
            (count, false) => wait(Rule::G7, Waiting::Dependents(count)),
        };
    }
    if mark.orphan {
        return match dependents.all {
            0 => release(Rule::G13, Finalizer::Orphan),
            count => wait(Rule::G13, Waiting::Dependents(count)),
        };
    }
    if mark.foreground {
        return match (dependents.blocking, dependents.only_cycle) {
            (0, _) => release(Rule::G13, Finalizer::Foreground),
            (_, true) => release(Rule::G11, Finalizer::Foreground),
            (count, false) => wait(Rule::G13, Waiting::BlockingDependents(count)),
        };
    }
    wait(Rule::G15, Waiting::Finalizers(mark.others.clone()))
}

/// An object without a mark goes, loses references or stays, as its owners stand (G6, G12, G13).
fn decide_living(observed: &Observed) -> Decision {
    let any = |standing| has_owner(observed, standing);
    if any(Standing::Cascading) {
        return act(Rule::G6, Action::Delete(cascade_policy(observed)));
    }
    if any(Standing::Orphaning) {
        return let_go(observed);
    }
    if any(Standing::Unconfirmed) {
        let unknown = uids(observed, |standing| standing == Standing::Unconfirmed);
        return wait(Rule::G12b, Waiting::Owners(unknown));
    }
    let not_living = uids(observed, |standing| standing != Standing::Living);
    if not_living.is_empty() {
        return nothing();
    }
    if any(Standing::Living) {
        return act(Rule::G13, Action::DropReferences(not_living));
    }
    let rule = if any(Standing::WaitingInForeground) {
        Rule::G13
    } else {
        Rule::G12
    };
    act(rule, Action::Delete(policy_without_owners(observed)))
}

/// Dependents of what goes are asked in turn, unless it says by its finalizers what becomes of them; an object that
/// nothing depends on and nothing holds needn't be marked first.
fn cascade_policy(observed: &Observed) -> Policy {
    if let Some(policy) = preset_policy(observed) {
        policy
    } else if observed.dependents.all == 0 && !observed.has_finalizers {
        Policy::Background
    } else {
        Policy::Cascade
    }
}

fn policy_without_owners(observed: &Observed) -> Policy {
    let owner_waits = has_owner(observed, Standing::WaitingInForeground);
    if owner_waits && observed.dependents.all > 0 {
        Policy::Foreground
    } else {
        preset_policy(observed).unwrap_or(Policy::Background)
    }
}

fn preset_policy(observed: &Observed) -> Option<Policy> {
    match observed.preset {
        Preset::Orphan => Some(Policy::Orphan),
        Preset::Foreground => Some(Policy::Foreground),
        Preset::None => None,
    }
}

fn has_owner(observed: &Observed, standing: Standing) -> bool {
    let mut owners = observed.owners.iter();
    owners.any(|owner| owner.standing == standing)
}

/// References to owners that orphan their dependents are removed.
fn let_go(observed: &Observed) -> Decision {
    let uids = uids(observed, |standing| standing == Standing::Orphaning);
    act(Rule::G13, Action::DropReferences(uids))
}

fn uids(observed: &Observed, wanted: impl Fn(Standing) -> bool) -> Vec<Uid> {
    observed
        .owners
        .iter()
        .filter(|owner| wanted(owner.standing))
        .map(|owner| owner.uid.clone())
        .collect()
}

fn nothing() -> Decision {
    Decision {
        rule: None,
        action: Action::Nothing,
        waiting_on: Waiting::Nothing,
    }
}

fn act(rule: Rule, action: Action) -> Decision {
    Decision {
        rule: Some(rule),
        action,
        waiting_on: Waiting::Nothing,
    }
}

fn release(rule: Rule, finalizer: Finalizer) -> Decision {
    act(rule, Action::Release(finalizer))
}

fn wait(rule: Rule, waiting_on: Waiting) -> Decision {
    Decision {
        rule: Some(rule),
        action: Action::Nothing,
        waiting_on,
    }
}
