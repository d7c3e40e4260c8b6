//! The decision about an app type.

use landform_api::catalog::app_type::Blocked;
use landform_api::catalog::{AppTypePhase, DefinitionPolicy, Phase, UpgradePolicy};
use landform_api::landscaper::WaitingOn;
use landform_api::landscaper::report::ObjectName;

use semver::Version;

use super::decision::{Action, Decision, blocked};
use super::observed::{
    Candidate, Observed, Offered, Offering, OwnVersion, Trouble, base, installed, upgrading,
};
use super::rollback;
use crate::Rule;

/// What to do with an app type.
#[must_use]
pub fn decide(seen: &Observed) -> Decision {
    if seen.marked {
        return delete(seen);
    }
    let mut decision = standing(seen);
    if !seen.held {
        decision.actions.insert(0, Action::Hold);
    }
    if let Offering::Found(offered) = &seen.offering {
        decision.next.clone_from(&offered.next);
    }
    decision
}

fn standing(seen: &Observed) -> Decision {
    if let Some(problem) = &seen.problem {
        return Decision::new(Rule::O1, AppTypePhase::Failed, problem.clone());
    }
    if let Some(rival) = &seen.rival {
        let message = format!(
            "the app type {rival} wants the same package in this namespace: delete one of the two"
        );
        return Decision::new(Rule::O1, AppTypePhase::Failed, message);
    }
    if let Some(asked) = &seen.rollback {
        return rollback::decide(seen, asked);
    }
    let living = seen.versions.iter().any(|found| !found.marked);
    if !living {
        return first(seen);
    }
    match upgrading(&seen.versions) {
        Some(coming) => goes_on(seen, coming),
        None => next(seen),
    }
}

/// O1: nothing is installed.
fn first(seen: &Observed) -> Decision {
    if let Some(leaving) = seen.versions.first() {
        let message = format!(
            "{} is being deleted, and must be gone first",
            leaving.version
        );
        return Decision {
            waiting_on: vec![waiting_for(Rule::O1, leaving, "it must be gone")],
            ..Decision::new(Rule::O1, AppTypePhase::Pending, message)
        };
    }
    let offered = match &seen.offering {
        Offering::Unread(which) => {
            let message = format!("catalogs are being read: {which}");
            return Decision::new(Rule::O1, AppTypePhase::Pending, message);
        }
        Offering::Nothing(trouble) => return pending(std::slice::from_ref(trouble)),
        Offering::Found(offered) => offered,
    };
    if !offered.latest.troubles.is_empty() {
        return pending(&offered.latest.troubles);
    }
    let message = format!("{} is being installed", offered.latest.version);
    Decision {
        actions: vec![create(&offered.latest)],
        ..Decision::new(Rule::O1, AppTypePhase::Installing, message)
    }
}

fn pending(troubles: &[Trouble]) -> Decision {
    let message = troubles.iter().map(|trouble| trouble.message.as_str());
    let message = message.collect::<Vec<_>>().join("; ");
    Decision {
        blocked_by: troubles
            .iter()
            .map(|found| blocked(Rule::O1, found))
            .collect(),
        ..Decision::new(Rule::O1, AppTypePhase::Pending, message)
    }
}

fn create(candidate: &Candidate) -> Action {
    Action::Create {
        name: candidate.name.clone(),
        rollback_of: None,
    }
}

/// A version is on its way.
fn goes_on(seen: &Observed, coming: &OwnVersion) -> Decision {
    let runs = installed(&seen.versions);
    if let Some(runs) = runs.filter(|_| given_up(seen, coming)) {
        let message = format!("{} was given up, {} goes on", coming.version, runs.version);
        return Decision {
            actions: vec![Action::Delete(vec![coming.name.clone()])],
            ..Decision::new(Rule::O17, AppTypePhase::Upgrading, message)
        };
    }
    if coming.phase == Some(Phase::Failed) {
        return failed(seen, coming, runs);
    }
    let (rule, phase, message) = match runs {
        Some(runs) => (
            Rule::O4,
            AppTypePhase::Upgrading,
            format!(
                "{} is about to take the place of {}: {}",
                coming.version, runs.version, coming.message
            ),
        ),
        None => (
            Rule::O1,
            AppTypePhase::Installing,
            format!("{} is being installed: {}", coming.version, coming.message),
        ),
    };
    Decision {
        waiting_on: vec![waiting_for(rule, coming, "it must succeed")],
        ..Decision::new(rule, phase, message)
    }
}

/// Whether a rollback left a version that has not gone yet: a crash came between the two.
fn given_up(seen: &Observed, coming: &OwnVersion) -> bool {
    let left = seen.rolled_back_from.as_ref();
    let left = left.is_some_and(|left| left.cmp_precedence(&coming.version).is_eq());
    left && coming.mine && coming.rollback_of.is_none() && !approved(seen, &coming.version)
}

/// O17: what should have taken over has failed. A version that follows it may still do.
fn failed(seen: &Observed, coming: &OwnVersion, runs: Option<&OwnVersion>) -> Decision {
    if let Offering::Found(Offered {
        step: Ok(Some(candidate)),
        ..
    }) = &seen.offering
        && let Some(base) = base(&seen.versions)
        && in_the_way(seen, candidate).is_none()
        && blockers(seen, base, candidate).is_empty()
    {
        let message = format!(
            "{} failed, and {} follows it",
            coming.version, candidate.version
        );
        return Decision {
            actions: vec![create(candidate)],
            ..Decision::new(Rule::O4, AppTypePhase::Upgrading, message)
        };
    }
    let message = match runs {
        Some(runs) => format!(
            "{} failed: {}; {} goes on running",
            coming.version, coming.message, runs.version
        ),
        None => format!("{} failed: {}", coming.version, coming.message),
    };
    let trouble = Trouble {
        reason: "UpgradeFailed",
        message: message.clone(),
        unblock: "put right what it names, or give it up with `landform rollback`".into(),
    };
    Decision {
        blocked_by: vec![blocked(Rule::O17, &trouble)],
        ..Decision::new(Rule::O17, AppTypePhase::Failed, message)
    }
}

/// O2: something is installed, and nothing is on its way.
fn next(seen: &Observed) -> Decision {
    let Some(runs) = installed(&seen.versions) else {
        let message = "its operator version waits";
        return Decision::new(Rule::O1, AppTypePhase::Installing, message);
    };
    let (phase, state) = match runs.phase {
        Some(Phase::Failed) => (
            AppTypePhase::Failed,
            format!("{} failed: {}", runs.version, runs.message),
        ),
        _ => (AppTypePhase::Succeeded, format!("{} runs", runs.version)),
    };
    let told = |rule, troubles: Vec<Blocked>| Decision {
        blocked_by: troubles,
        ..Decision::new(rule, phase, state.clone())
    };
    let offered = match &seen.offering {
        Offering::Unread(_) => return told(Rule::O2, Vec::new()),
        Offering::Nothing(trouble) => return told(Rule::O2, vec![blocked(Rule::O2, trouble)]),
        Offering::Found(offered) => offered,
    };
    match &offered.step {
        Ok(None) => told(Rule::O2, Vec::new()),
        Err(trouble) => told(Rule::O5, vec![blocked(Rule::O5, trouble)]),
        Ok(Some(candidate)) => {
            let blockers = blockers(seen, runs, candidate);
            if !blockers.is_empty() {
                return told(Rule::O5, blockers);
            }
            if let Some(other) = in_the_way(seen, candidate) {
                let reason = "it must be gone, or done with its rollback, first";
                return Decision {
                    waiting_on: vec![waiting_for(Rule::O4, other, reason)],
                    ..told(Rule::O4, Vec::new())
                };
            }
            let message = format!(
                "{} is about to take the place of {}",
                candidate.version, runs.version
            );
            Decision {
                actions: vec![create(candidate)],
                ..Decision::new(Rule::O4, AppTypePhase::Upgrading, message)
            }
        }
    }
}

/// One that has the candidate's name, or whose rollback is not over.
fn in_the_way<'a>(seen: &'a Observed, candidate: &Candidate) -> Option<&'a OwnVersion> {
    let mut versions = seen.versions.iter();
    versions.find(|found| found.name == candidate.name || found.rollback_of.is_some())
}

fn approved(seen: &Observed, version: &Version) -> bool {
    let approved = seen.approved.as_ref();
    approved.is_some_and(|approved| approved.cmp_precedence(version).is_ge())
}

/// O5: all that is in the way of an upgrade.
fn blockers(seen: &Observed, from: &OwnVersion, to: &Candidate) -> Vec<Blocked> {
    let mut troubles = Vec::new();
    let trouble = |reason, message: String, unblock: &str| Trouble {
        reason,
        message,
        unblock: unblock.to_owned(),
    };
    let approved = approved(seen, &to.version);
    match seen.policy {
        UpgradePolicy::Automatic => {}
        UpgradePolicy::Manual if approved => {}
        UpgradePolicy::Manual => troubles.push(trouble(
            "NotApproved",
            format!("{} waits for approval", to.version),
            "approve it with `landform approve`",
        )),
        UpgradePolicy::Pinned => troubles.push(trouble(
            "Pinned",
            format!("the app type stays at {}", from.version),
            "set spec.upgradePolicy to Automatic or Manual",
        )),
    }
    let left = seen.rolled_back_from.as_ref();
    if left.is_some_and(|left| left.cmp_precedence(&to.version).is_ge()) && !approved {
        troubles.push(trouble(
            "RolledBack",
            format!("a rollback left {}, or one above it", to.version),
            "approve it with `landform approve`, or wait for a higher version",
        ));
    }
    if !from.phase.is_some_and(Phase::is_final) {
        troubles.push(trouble(
            "NotFinal",
            format!("{} has not come to an end", from.version),
            "wait; `landform why` names what it waits for",
        ));
    }
    if let Err(reason) = &from.upgradeable {
        troubles.push(trouble(
            "NotUpgradeable",
            format!("{} may not be replaced at present: {reason}", from.version),
            "wait until the operator says otherwise, or set spec.upgradeable of the operator version",
        ));
    }
    troubles.extend(to.troubles.iter().cloned());
    troubles
        .iter()
        .map(|found| blocked(Rule::O5, found))
        .collect()
}

/// Versions go, and with the policy Delete first the kinds with all their objects: while the operator is
/// there to see them off.
fn delete(seen: &Observed) -> Decision {
    let message = "it is marked for deletion";
    let mut decision = Decision::new(Rule::O16, AppTypePhase::Deleting, message);
    if !seen.held {
        return decision;
    }
    let mine = || seen.definitions.iter().filter(|found| found.mine);
    let ends = |found: &&super::observed::DefinitionState| {
        seen.definition_policy == DefinitionPolicy::Delete && found.heir.is_none()
    };
    let ending: Vec<_> = mine().filter(ends).collect();
    if !ending.is_empty() {
        let unmarked = ending.iter().filter(|found| !found.marked);
        let unmarked: Vec<_> = unmarked.map(|found| found.name.clone()).collect();
        if !unmarked.is_empty() {
            decision.actions.push(Action::DeleteDefinitions(unmarked));
        }
        decision.waiting_on = ending
            .iter()
            .map(|found| WaitingOn {
                rule: Rule::O16.id().to_owned(),
                object: Some(ObjectName {
                    kind: "CustomResourceDefinition".into(),
                    name: found.name.clone(),
                    ..ObjectName::default()
                }),
                reason: if found.blocker.is_empty() {
                    "it must be gone, with all its objects".to_owned()
                } else {
                    found.blocker.clone()
                },
            })
            .collect();
        return decision;
    }
    let versions: Vec<_> = seen.versions.iter().filter(|found| found.mine).collect();
    if !versions.is_empty() {
        let unmarked = versions.iter().filter(|found| !found.marked);
        let unmarked: Vec<_> = unmarked.map(|found| found.name.clone()).collect();
        if !unmarked.is_empty() {
            decision.actions.push(Action::Delete(unmarked));
        }
        let waiting = versions
            .iter()
            .map(|found| waiting_for(Rule::O16, found, "it must be gone"));
        decision.waiting_on = waiting.collect();
        return decision;
    }
    let released: Vec<_> = mine().map(|found| found.name.clone()).collect();
    if !released.is_empty() {
        decision.actions.push(Action::ReleaseDefinitions(released));
    }
    decision.afterwards = vec![Action::LetGo];
    decision
}

pub(super) fn waiting_for(rule: Rule, on: &OwnVersion, reason: &str) -> WaitingOn {
    WaitingOn {
        rule: rule.id().to_owned(),
        object: Some(ObjectName {
            kind: "OperatorVersion".into(),
            name: on.name.clone(),
            ..ObjectName::default()
        }),
        reason: reason.to_owned(),
    }
}
