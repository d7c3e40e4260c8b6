//! What the statuses of single kinds say.

use landform_api::landscaper::{self, Operation};
use landform_api::project;
use serde_json::Value;

use super::{Cause, Facts, Judged, Sort, cause, is_well, plain_waits, text};

/// What stands in the place of the phase of a process that a person has stopped.
pub(in crate::why) const STOPPED: &str = "Stopped";

pub(super) fn by_kind(facts: &Facts<'_>, judged: &mut Judged) {
    let status = &facts.object["status"];
    match facts.name.kind.as_str() {
        "AppType" => {
            let blocked = status["blockedBy"].as_array().into_iter().flatten();
            judged.causes.extend(blocked.map(|blocked| Cause {
                sort: Sort::Blocked {
                    unblock: text(&blocked["unblock"]).unwrap_or_default(),
                },
                rule: text(&blocked["rule"]),
                reason: text(&blocked["reason"]).unwrap_or_default(),
                message: text(&blocked["message"]).unwrap_or_default(),
            }));
            judged
                .causes
                .extend(by_message(status, facts.object, judged));
        }
        "OperatorVersion" => {
            judged.causes.extend(plain_waits(status));
            judged
                .causes
                .extend(by_message(status, facts.object, judged));
        }
        "Catalog" => {
            judged
                .causes
                .extend(by_message(status, facts.object, judged));
            let problems = status["problems"].as_array().into_iter().flatten();
            let problems = problems.filter(|problem| problem["warning"] != true);
            judged.causes.extend(problems.filter_map(|problem| {
                let (file, what) = (text(&problem["file"])?, text(&problem["reason"])?);
                Some(cause(
                    Sort::Configuration,
                    "Problem",
                    &format!("{file}: {what}"),
                ))
            }));
        }
        project::KIND => by_project(status, judged),
        "Reconciler" => {}
        _ => judged.causes.extend(plain_waits(status)),
    }
    if is_stopped(facts.object) {
        judged.state.phase = Some(STOPPED.to_owned());
        judged.causes.push(stopped(facts));
    }
    if facts.name.group() == landscaper::GROUP {
        judged.causes.extend(unknown_operation(facts.object));
    }
}

/// Whether a person has stopped the process of a deploy item.
fn is_stopped(object: &Value) -> bool {
    object["kind"] == "DeployItem" && object["status"]["providerStatus"]["stopped"] == true
}

/// Its phase stays what it was for all that depends on it.
fn stopped(facts: &Facts<'_>) -> Cause {
    let (namespace, name) = (&facts.name.namespace, &facts.name.name);
    let unblock =
        format!("start it when it may run: landform start DeployItem/{name} -n {namespace}");
    cause(
        Sort::Blocked { unblock },
        STOPPED,
        "its process was stopped on request",
    )
}

/// What an annotation asks for, and there isn't.
fn unknown_operation(object: &Value) -> Option<Cause> {
    let asked = object["metadata"]["annotations"][landscaper::keys::OPERATION].as_str()?;
    let sort = Sort::Blocked {
        unblock: Operation::advice(),
    };
    Some(cause(sort, "UnknownOperation", &Operation::unknown(asked)?))
}

/// Kinds that say why they stand where they stand by a message.
fn by_message(status: &Value, object: &Value, judged: &Judged) -> Option<Cause> {
    let open = judged.causes.is_empty() && judged.waits.is_empty();
    if !open || is_well(object) || !status["lastError"].is_null() {
        return None;
    }
    let message = text(&status["message"])?;
    let reason = text(&status["reason"]).unwrap_or_default();
    let sort = match status["phase"].as_str() {
        Some("Failed") => Sort::Failed,
        _ => Sort::Waits,
    };
    Some(cause(sort, &reason, &message))
}

fn by_project(status: &Value, judged: &mut Judged) {
    judged.causes.extend(plain_waits(status));
    let problems = status["problems"].as_array().into_iter().flatten();
    judged.causes.extend(problems.filter_map(|problem| {
        let (file, message) = (text(&problem["file"])?, text(&problem["message"])?);
        let place = |name: &str| problem[name].as_u64().filter(|number| *number > 0);
        let place: String = [place("line"), place("column")]
            .iter()
            .flatten()
            .map(|number| format!(":{number}"))
            .collect();
        Some(cause(
            Sort::Configuration,
            "Problem",
            &format!("{file}{place}: {message}"),
        ))
    }));
    let held = serde_json::from_value::<project::HeldDeletions>(status["heldDeletions"].clone());
    if let Ok(held) = held {
        let message = held.sentence();
        let sort = Sort::Held { token: held.token };
        judged.causes.push(cause(sort, "HeldDeletions", &message));
    }
}
