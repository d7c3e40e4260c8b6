//! Resources go from one version to the next (O12–O14): at every moment each has an owner, and never two
//! controllers (O15).

use std::collections::BTreeSet;

use landform_api::catalog::{AdoptionBy, UpgradeMode};
use landform_api::landscaper::WaitingOn;

use super::decision::Action;
use super::family::{Family, order};
use super::observed::{Member, Observed, Resource};
use crate::Rule;

/// So many resources are named; of the others only the number.
const NAMED: usize = 5;

/// What remains to be handed over to the version.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Handover {
    pub(super) rule: Option<Rule>,
    pub(super) actions: Vec<Action>,
    pub(super) waiting_on: Vec<WaitingOn>,
}

impl Handover {
    pub(super) fn is_over(&self) -> bool {
        self.rule.is_none()
    }
}

/// What a version that runs does about the resources of those whose heir it is.
pub(super) fn handover(seen: &Observed, family: Family<'_>) -> Handover {
    let mut result = Handover::default();
    let mut acted = BTreeSet::new();
    for from in &seen.others {
        if family.heir(from).is_none_or(|heir| heir.uid != seen.me.uid) {
            continue;
        }
        let mut waiting = Vec::new();
        for (place, resource) in seen.resources.iter().enumerate() {
            let Some(old) = resource.owner(&from.uid) else {
                continue;
            };
            if !old.selected {
                // Not under the labels that say what the old one managed: a person must say whose it is.
                waiting.push(resource);
                result.rule = result.rule.or(Some(Rule::O12));
                continue;
            }
            let (rule, action) = step(seen, from, place, resource);
            result.rule = result.rule.or(Some(rule));
            match action {
                // One write for each resource: with two old owners the next one follows it.
                Some(_) if !acted.insert(place) => {}
                Some(action) => result.actions.push(action),
                None => waiting.push(resource),
            }
        }
        result.waiting_on.extend(told(seen, from, &waiting));
    }
    result
}

/// The next step of one resource; none when the operator has to make it.
fn step(
    seen: &Observed,
    from: &Member,
    place: usize,
    resource: &Resource,
) -> (Rule, Option<Action>) {
    let mine = resource.owner(&seen.me.uid);
    let adopt = || Some(Action::Adopt(place, from.uid.clone()));
    // What a higher one had taken comes back by Landform, whoever had handed it over: the operator of a lower
    // version knows nothing of its successors. And one that goes doesn't wait for anybody's loop.
    if from.marked || order(from, &seen.me).is_gt() {
        return (Rule::O17, adopt());
    }
    match (seen.upgrade.mode, seen.upgrade.adoption, mine) {
        (UpgradeMode::Managed, _, None) => (Rule::O12, Some(Action::AddOwner(place))),
        (UpgradeMode::Managed, AdoptionBy::Landform, Some(_)) => (Rule::O13, adopt()),
        (UpgradeMode::Managed, AdoptionBy::Operator, Some(_)) => (Rule::O13, None),
        (UpgradeMode::Operator, AdoptionBy::Landform, _) => (Rule::O14, adopt()),
        (UpgradeMode::Operator, AdoptionBy::Operator, _) => (Rule::O14, None),
    }
}

/// What is waited for, with names as long as they are few.
fn told(seen: &Observed, from: &Member, waiting: &[&Resource]) -> Vec<WaitingOn> {
    let unselected = |resource: &&&Resource| {
        let owner = resource.owner(&from.uid);
        owner.is_some_and(|owner| !owner.selected)
    };
    let (strange, ours): (Vec<_>, Vec<_>) = waiting.iter().partition(unselected);
    let mut result = Vec::new();
    if !ours.is_empty() {
        let rule = match seen.upgrade.mode {
            UpgradeMode::Managed => Rule::O13,
            UpgradeMode::Operator => Rule::O14,
        };
        let reason = format!(
            "the operator must take over {} from {}",
            list(&ours),
            from.name
        );
        result.push(waiting_on(rule, reason));
    }
    if !strange.is_empty() {
        let reason = format!(
            "{} owned by {} without its labels: give it these labels, or another owner",
            list(&strange),
            from.name
        );
        result.push(waiting_on(Rule::O12, reason));
    }
    result
}

fn waiting_on(rule: Rule, reason: String) -> WaitingOn {
    WaitingOn {
        rule: rule.id().to_owned(),
        object: None,
        reason,
    }
}

/// The titles of some resources, in one line.
pub(super) fn list(resources: &[&Resource]) -> String {
    let named: Vec<_> = resources
        .iter()
        .take(NAMED)
        .map(|resource| resource.title.as_str())
        .collect();
    let more = resources.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{more}", named.join(", "))
}
