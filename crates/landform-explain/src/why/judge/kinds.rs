//! What the statuses of single kinds say.

use landform_api::landscaper::{self, Operation};
use landform_api::project;
use serde_json::Value;

use super::{Cause, Facts, Judged, Sort, cause, is_well, plain_waits, text};

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
    if facts.name.group() == landscaper::GROUP {
        judged.causes.extend(unknown_operation(facts.object));
    }
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
