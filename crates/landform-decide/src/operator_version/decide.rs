//! The decision about an operator version.

use landform_api::catalog::Phase;
use landform_api::catalog::operator_version::HigherVersion;
use landform_api::landscaper::WaitingOn;
use landform_api::landscaper::report::ObjectName;

use super::decision::{Action, Decision, Reason};
use super::delete::delete;
use super::family::{Family, Standing};
use super::handover::{handover, list};
use super::observed::{Install, Member, Observed, Remedy};
use crate::Rule;

/// What to do with an operator version.
#[must_use]
pub fn decide(seen: &Observed) -> Decision {
    let family = Family::new(&seen.me, &seen.others);
    if seen.me.marked {
        return delete(seen, family);
    }
    let mut decision = standing(seen, family);
    if !seen.held {
        decision.actions.insert(0, Action::Hold);
    }
    if seen.me.begun || decision.actions.contains(&Action::Install) {
        let replaces = family.predecessors().map(|former| former.name.clone());
        decision.replaces = replaces.collect();
    }
    decision.higher = higher(seen, family);
    decision
}

fn standing(seen: &Observed, family: Family<'_>) -> Decision {
    if let Some(problem) = &seen.problem {
        return Decision::new(
            Rule::O10,
            Phase::Failed,
            Reason::InvalidSpec,
            problem.clone(),
        );
    }
    match family.standing() {
        Standing::Superseded(by) | Standing::Replaced(by) => replaced(seen, family, by),
        Standing::Waits {
            on,
            reason,
            message,
        } => Decision {
            waiting_on: vec![waiting_for(Rule::O10, on, &message)],
            ..Decision::new(Rule::O10, Phase::Pending, reason, message)
        },
        Standing::Turn => turn(seen, family),
    }
}

/// O16: it goes when it owns nothing, its successor runs, and that one remembers it.
fn replaced(seen: &Observed, family: Family<'_>, by: &Member) -> Decision {
    let message = format!("{} has taken its place", by.version);
    let mut decision = Decision::new(Rule::O16, Phase::Replacing, Reason::Replaced, message);
    let own: Vec<_> = seen.own().map(|(_, resource)| resource).collect();
    let remembered = by.replaced.iter().any(|former| former.name == seen.me.name);
    if !own.is_empty() {
        decision.rule = Rule::O15;
        let reason = format!("it must take over {}", list(&own));
        decision.waiting_on = vec![waiting_for(Rule::O15, by, &reason)];
    } else if !remembered {
        let reason = "it must note that it replaces this one";
        decision.waiting_on = vec![waiting_for(Rule::O16, by, reason)];
    } else if let Some(other) = family.goes_before_me(by) {
        let reason = format!(
            "{} takes its place back as well, and it goes first",
            by.version
        );
        decision.waiting_on = vec![waiting_for(Rule::O16, other, &reason)];
    } else if by.phase == Some(Phase::Succeeded) {
        decision.afterwards = vec![Action::DeleteSelf];
    } else {
        let reason = "it is being replaced itself, and its successor comes first";
        decision.waiting_on = vec![waiting_for(Rule::O16, by, reason)];
    }
    if !seen.me.begun {
        decision.phase = Some(Phase::Pending);
    }
    decision
}

/// O10: it may be installed, or is.
fn turn(seen: &Observed, family: Family<'_>) -> Decision {
    let mut decision = match unmet(seen) {
        Some(decision) => decision,
        None => install(seen, family),
    };
    if let Some(failed) = family.failed_successor()
        && seen.me.reasserted_for != Some(failed.token())
        && seen.me.begun
    {
        decision.rule = Rule::O17;
        decision.actions.push(Action::Reassert(failed.token()));
    }
    decision
}

/// What is missing, and what is done about it.
fn unmet(seen: &Observed) -> Option<Decision> {
    let unmet: Vec<_> = seen
        .needs
        .iter()
        .enumerate()
        .filter(|(_, need)| !need.is_met())
        .collect();
    let told = |(_, need): &(usize, &super::observed::Need)| {
        format!(
            "{} {}: {}",
            need.requirement.kind, need.requirement.name, need.requirement.message
        )
    };
    let message = unmet.iter().map(told).collect::<Vec<_>>().join("; ");
    if unmet.is_empty() {
        return None;
    }
    if unmet.iter().any(|(_, need)| need.remedy == Remedy::Refuse) {
        let refused = Reason::RequirementsRefused;
        return Some(Decision::new(Rule::O10, Phase::Failed, refused, message));
    }
    let mut decision = Decision::new(
        Rule::O10,
        if seen.me.begun {
            Phase::Failed
        } else {
            Phase::Pending
        },
        Reason::RequirementsNotMet,
        message,
    );
    for (place, need) in unmet {
        let rule = match &need.remedy {
            Remedy::WriteDefinition => {
                decision.actions.push(Action::WriteDefinition(place));
                decision.again = true;
                Rule::O10
            }
            Remedy::Ask { at_once, .. } => {
                decision.rule = Rule::O11;
                decision.actions.push(Action::Ask(place));
                decision.again |= *at_once;
                Rule::O11
            }
            Remedy::Nothing | Remedy::Refuse => Rule::O10,
        };
        decision.waiting_on.push(WaitingOn {
            rule: rule.id().to_owned(),
            object: None,
            reason: format!("{}: {}", need.requirement.name, need.requirement.message),
        });
    }
    Some(decision)
}

fn install(seen: &Observed, family: Family<'_>) -> Decision {
    let execution = |reason: &str| WaitingOn {
        rule: Rule::O10.id().to_owned(),
        object: Some(ObjectName {
            kind: "Execution".into(),
            name: seen.me.name.clone(),
            ..ObjectName::default()
        }),
        reason: reason.to_owned(),
    };
    match &seen.install {
        Install::Absent if seen.me.phase != Some(Phase::InstallReady) && !seen.me.begun => {
            let message = "all that it needs is there".to_owned();
            Decision {
                again: true,
                ..Decision::new(
                    Rule::O10,
                    Phase::InstallReady,
                    Reason::RequirementsMet,
                    message,
                )
            }
        }
        Install::Absent | Install::Outdated => Decision {
            actions: vec![Action::Install],
            waiting_on: vec![execution("it must succeed")],
            ..Decision::new(
                Rule::O10,
                Phase::Installing,
                Reason::Installing,
                "its install strategy is being followed".into(),
            )
        },
        // Its objects are only written again (O17): it runs meanwhile. Were its phase another one, a rollback
        // could take the failed successor for what runs.
        Install::Working if seen.me.phase == Some(Phase::Succeeded) && seen.me.up_to_date => {
            Decision {
                waiting_on: vec![execution("it writes its objects again")],
                ..Decision::new(
                    Rule::O10,
                    Phase::Succeeded,
                    Reason::Running,
                    "it runs, and its objects are written again".into(),
                )
            }
        }
        Install::Working => Decision {
            waiting_on: vec![execution("it must succeed")],
            ..Decision::new(
                Rule::O10,
                Phase::Installing,
                Reason::Installing,
                "its install strategy is being followed".into(),
            )
        },
        Install::Leaving(_) => Decision {
            waiting_on: vec![execution("it is being deleted and must be gone first")],
            ..Decision::new(
                Rule::O10,
                Phase::Installing,
                Reason::Installing,
                "what was installed is being removed by somebody; it is installed again after that"
                    .into(),
            )
        },
        Install::Failed(message) => Decision::new(
            Rule::O10,
            Phase::Failed,
            Reason::InstallFailed,
            message.clone(),
        ),
        Install::Ready => running(seen, family),
    }
}

/// It runs: what its predecessors own comes to it.
fn running(seen: &Observed, family: Family<'_>) -> Decision {
    let over = handover(seen, family);
    let (reason, message) = if over.is_over() {
        (Reason::Running, "it runs".to_owned())
    } else {
        let message = "it runs, and takes over what its predecessor owns".to_owned();
        (Reason::TakingOver, message)
    };
    let mut decision = Decision::new(
        over.rule.unwrap_or(Rule::O10),
        Phase::Succeeded,
        reason,
        message,
    );
    decision.again = !over.actions.is_empty();
    decision.actions = over.actions;
    decision.waiting_on = over.waiting_on;
    let gone = |name: &String| seen.others.iter().all(|other| other.name != *name);
    if seen.me.rollback_of.as_ref().is_some_and(gone) {
        decision.actions.push(Action::ForgetRollback);
    }
    decision
}

/// O2, O17: a higher version, and why it can't be had.
fn higher(seen: &Observed, family: Family<'_>) -> Option<HigherVersion> {
    if !seen.me.begun {
        return None;
    }
    let Some(other) = family.held_back() else {
        return seen.offer.clone();
    };
    let failed = other.phase == Some(Phase::Failed);
    Some(HigherVersion {
        version: other.version.to_string(),
        reason: if failed { "UpgradeFailed" } else { "Waiting" }.to_owned(),
        message: if failed {
            format!(
                "{}: {}; {} goes on",
                other.name, other.message, seen.me.version
            )
        } else {
            format!("{}: {}", other.name, other.message)
        },
    })
}

pub(super) fn waiting_for(rule: Rule, on: &Member, reason: &str) -> WaitingOn {
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
