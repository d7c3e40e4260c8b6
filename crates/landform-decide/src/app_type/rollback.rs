//! Going back to a version that ran before. Only when a person asks for it, and for one app type alone.

use landform_api::catalog::{AppTypePhase, Phase};
use semver::Version;

use super::decide::waiting_for;
use super::decision::{Action, Decision};
use super::observed::{Observed, OwnVersion, installed, upgrading};
use crate::Rule;

/// The version that a rollback asks for, when it has to come from the catalog. The history ends with what the
/// status calls installed: that may not be the one that runs any more.
#[must_use]
pub fn target(
    asked: &str,
    seen_history: &[(String, Version)],
    installed: &Version,
) -> Option<Version> {
    if asked != PREVIOUS {
        return Version::parse(asked).ok();
    }
    let before = seen_history.iter().rev();
    let mut before = before.map(|(_, version)| version);
    before
        .find(|version| version.cmp_precedence(installed).is_lt())
        .cloned()
}

/// What the annotation says for the version before the present one. Once that is reached the word means
/// another one: whoever can should name the version.
const PREVIOUS: &str = "previous";

/// What to do about a rollback that was asked for.
pub(super) fn decide(seen: &Observed, asked: &str) -> Decision {
    let phase = AppTypePhase::Upgrading;
    let Some(current) = installed(&seen.versions) else {
        let message = "there is nothing to go back to: no version runs";
        return over(AppTypePhase::Pending, message.to_owned());
    };
    let wants = |version: &Version| {
        Version::parse(asked).is_ok_and(|found| found.cmp_precedence(version).is_eq())
    };
    if let Some((back, left)) = going_back(seen)
        && (asked == PREVIOUS || wants(&back.version))
    {
        // It was begun before: a crash kept the annotation.
        let message = format!("going back from {} to {}", left.version, back.version);
        return Decision {
            afterwards: vec![Action::ForgetRollback],
            rolled_back_from: Some(left.version.to_string()),
            ..Decision::new(Rule::O17, phase, message)
        };
    }
    let undone = upgrading(&seen.versions);
    if let Some(undone) = undone.filter(|_| asked == PREVIOUS || wants(&current.version)) {
        return give_up(asked, undone, current);
    }
    if let Some(undone) = undone {
        // Named another one: first what goes on is given up.
        return Decision {
            actions: vec![Action::Delete(vec![undone.name.clone()])],
            ..Decision::new(
                Rule::O17,
                phase,
                format!("{} is given up first", undone.version),
            )
        };
    }
    let lower = |found: &OwnVersion| found.version.cmp_precedence(&current.version).is_lt();
    let leaving = seen.versions.iter().filter(|found| {
        let ran = matches!(found.phase, Some(Phase::Replacing | Phase::Succeeded));
        let fits = wants(&found.version) || asked == PREVIOUS && lower(found);
        !found.marked && found.name != current.name && ran && fits
    });
    // The version before may be gone already while an even older one is still there.
    let nearer = |found: &&OwnVersion| {
        let candidate = seen.rollback_candidate.as_ref();
        candidate.is_none_or(|nearer| nearer.version.cmp_precedence(&found.version).is_le())
    };
    let former = leaving.max_by(|a, b| a.version.cmp_precedence(&b.version));
    if let Some(former) = former.filter(nearer) {
        let take_back = Action::TakeBack {
            name: former.name.clone(),
            of: current.name.clone(),
        };
        let message = format!(
            "{} takes its place back from {}",
            former.version, current.version
        );
        return Decision {
            afterwards: vec![take_back, Action::ForgetRollback],
            rolled_back_from: Some(current.version.to_string()),
            ..Decision::new(Rule::O17, phase, message)
        };
    }
    if wants(&current.version) {
        return over(
            AppTypePhase::Succeeded,
            format!("{} runs already", current.version),
        );
    }
    let Some(candidate) = &seen.rollback_candidate else {
        let message = if asked == PREVIOUS {
            "there is nothing to go back to: no other version ran before".to_owned()
        } else {
            format!("there is no way back to {asked}: no catalog has this version")
        };
        return over(AppTypePhase::Succeeded, message);
    };
    if let Some(trouble) = candidate.troubles.first() {
        let message = format!(
            "there is no way back to {}: {}",
            candidate.version, trouble.message
        );
        return over(AppTypePhase::Succeeded, message);
    }
    let message = format!(
        "going back from {} to {}",
        current.version, candidate.version
    );
    if let Some(found) = seen
        .versions
        .iter()
        .find(|found| found.name == candidate.name)
    {
        return Decision {
            waiting_on: vec![waiting_for(
                Rule::O17,
                found,
                "it must be gone before it comes back",
            )],
            ..Decision::new(Rule::O17, phase, message)
        };
    }
    let create = Action::Create {
        name: candidate.name.clone(),
        rollback_of: Some(current.name.clone()),
    };
    Decision {
        afterwards: vec![create, Action::ForgetRollback],
        rolled_back_from: Some(current.version.to_string()),
        ..Decision::new(Rule::O17, phase, message)
    }
}

/// A version that takes its place back, and the one that gives it.
fn going_back(seen: &Observed) -> Option<(&OwnVersion, &OwnVersion)> {
    seen.versions
        .iter()
        .filter(|found| !found.marked)
        .find_map(|found| {
            let mut all = seen.versions.iter();
            let left = all.find(|other| found.rollback_of.as_ref() == Some(&other.name))?;
            Some((found, left))
        })
}

/// An upgrade that has not come to its end is given up.
fn give_up(asked: &str, undone: &OwnVersion, current: &OwnVersion) -> Decision {
    let message = format!(
        "{} is given up, {} goes on",
        undone.version, current.version
    );
    let delete = Action::Delete(vec![undone.name.clone()]);
    // `previous` must not outlive the version, or it would be taken for a second request; should a crash come
    // in between, the status says what was given up. A named version means the same however often it is read.
    let afterwards = if asked == PREVIOUS {
        vec![Action::ForgetRollback, delete]
    } else {
        vec![delete, Action::ForgetRollback]
    };
    Decision {
        afterwards,
        rolled_back_from: Some(undone.version.to_string()),
        ..Decision::new(Rule::O17, AppTypePhase::Upgrading, message)
    }
}

/// Nothing can be done: it is said, and not tried again.
fn over(phase: AppTypePhase, message: String) -> Decision {
    Decision {
        afterwards: vec![Action::ForgetRollback],
        ..Decision::new(Rule::O17, phase, message)
    }
}
