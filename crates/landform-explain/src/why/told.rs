//! How an explanation is told: the order of its roots, the sentence at its head. Pure.

use landform_api::landscaper::{keys, labels};
use serde_json::Value;

use super::judge::text;
use super::{Root, State};
use crate::object::ObjectRef;

/// So many root causes are told.
const ROOTS: usize = 20;

/// The worst first, then the oldest. Members of one circle, and others that say the same, are one.
pub(super) fn rank(roots: &mut Vec<Root>) {
    let mut said: Vec<(String, String)> = Vec::new();
    roots.retain(|root| {
        let circle = matches!(
            root.reason.as_str(),
            "CyclicDependencies" | "ReferenceCycle"
        );
        let who = if circle {
            String::new()
        } else {
            root.object.to_string()
        };
        let what = if circle {
            root.reason.clone()
        } else {
            root.message.clone()
        };
        let new = !said.contains(&(who.clone(), what.clone()));
        said.push((who, what));
        new
    });
    roots.sort_by(|a, b| (a.rank, &a.since, a.link).cmp(&(b.rank, &b.since, b.link)));
    roots.truncate(ROOTS);
}

/// Nested objects, as a status names them.
pub(super) fn nested(name: &ObjectRef, status: &Value) -> Vec<ObjectRef> {
    let mut all = Vec::new();
    let mut add = |kind: &str, reference: &Value| {
        if let Some(found) = text(&reference["name"]) {
            all.extend(ObjectRef::known(kind, &name.namespace, &found));
        }
    };
    add("Execution", &status["executionRef"]);
    for (list, kind) in [
        ("installationRefs", "Installation"),
        ("deployItemRefs", "DeployItem"),
    ] {
        for reference in status[list].as_array().into_iter().flatten() {
            add(kind, &reference["ref"]);
        }
    }
    all
}

/// The name that a template gives to a deploy item.
pub(super) fn template_name(object: &Value) -> String {
    labels::in_metadata(&object["metadata"], keys::ITEM_NAME)
        .unwrap_or_default()
        .to_owned()
}

/// The state of an object in one sentence.
pub(super) fn sentence(object: &ObjectRef, state: &State, well: bool) -> String {
    let since = state
        .since
        .as_deref()
        .map(|since| format!(" since {since}"));
    let since = since.unwrap_or_default();
    if state.deleting {
        return format!("{object} is being deleted{since}");
    }
    match (&state.phase, state.missing, well) {
        (_, true, _) => format!("{object} doesn't exist"),
        (Some(phase), _, true) => format!("{object} is {phase}{since}; nothing is wrong with it"),
        (None, _, true) => format!("nothing is wrong with {object}"),
        (Some(phase), _, false) => format!("{object} is {phase}{since}"),
        (None, _, false) => format!("{object} is not as it should be{since}"),
    }
}
