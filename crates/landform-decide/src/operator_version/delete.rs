//! The deletion of an operator version: an heir gets what it owns; without one that is taken down while the
//! operator still runs, and the operator goes last.

use landform_api::catalog::Phase;
use landform_api::landscaper::WaitingOn;

use super::decide::waiting_for;
use super::decision::{Action, Decision, Reason};
use super::family::{Family, order};
use super::handover::list;
use super::observed::{Install, Member, Observed};
use crate::Rule;

pub(super) fn delete(seen: &Observed, family: Family<'_>) -> Decision {
    let message = "it is marked for deletion".to_owned();
    let mut decision = Decision::new(Rule::O16, Phase::Deleting, Reason::Deleted, message);
    if !seen.held {
        return decision;
    }
    let wait = |rule: Rule, reason: String| WaitingOn {
        rule: rule.id().to_owned(),
        object: None,
        reason,
    };
    let own: Vec<_> = seen.own().collect();
    let titles: Vec<_> = own.iter().map(|(_, resource)| *resource).collect();
    if seen.orphaning {
        let reason = "what it owns is being orphaned, as the deletion asked".to_owned();
        decision.waiting_on = vec![wait(Rule::O15, reason)];
        return decision;
    }
    let forgets = |found: &&Member| {
        found
            .replaced
            .iter()
            .all(|former| former.name != seen.me.name)
    };
    if let Some(successor) = family.successors(&seen.me).find(forgets) {
        let reason = "it must note that it replaces this one";
        decision.waiting_on = vec![waiting_for(Rule::O16, successor, reason)];
        return decision;
    }
    if let Some(heir) = family.heir(&seen.me) {
        if !own.is_empty() {
            decision.rule = Rule::O15;
            let reason = format!("it must take over {}", list(&titles));
            decision.waiting_on = vec![waiting_for(Rule::O15, heir, &reason)];
            return decision;
        }
        // What both install under one name would go with this one, had the other not taken it back.
        let took_back = heir.reasserted_for == Some(seen.me.token());
        let came_before = order(heir, &seen.me).is_lt();
        if came_before && !took_back && seen.install != Install::Absent {
            decision.rule = Rule::O17;
            let reason = "it must take back the objects that both install";
            decision.waiting_on = vec![waiting_for(Rule::O17, heir, reason)];
            return decision;
        }
    }
    let successor = family.successors(&seen.me).next();
    if let Some(successor) = successor.filter(|_| !own.is_empty()) {
        decision.rule = Rule::O15;
        let reason = format!(
            "it must succeed and take over {}, or be deleted as well",
            list(&titles)
        );
        decision.waiting_on = vec![waiting_for(Rule::O15, successor, &reason)];
        return decision;
    }
    if !own.is_empty() {
        let unmarked = own.iter().filter(|(_, resource)| !resource.marked);
        decision.actions = unmarked
            .map(|(place, _)| Action::DeleteResource(*place))
            .collect();
        let reason = format!("it owns {}, which must be gone first", list(&titles));
        decision.waiting_on = vec![wait(Rule::O16, reason)];
        return decision;
    }
    match &seen.install {
        Install::Absent => decision.afterwards = vec![Action::LetGo],
        Install::Leaving(blocker) => {
            let reason = "its operator is being taken down";
            let reason = match blocker {
                Some(blocker) => format!("{reason}: {blocker}"),
                None => reason.to_owned(),
            };
            decision.waiting_on = vec![wait(Rule::O16, reason)];
        }
        Install::Outdated | Install::Working | Install::Ready | Install::Failed(_) => {
            decision.actions = vec![Action::Uninstall];
            let reason = "its operator is being taken down".to_owned();
            decision.waiting_on = vec![wait(Rule::O16, reason)];
        }
    }
    decision
}
