//! What the collector and the engine say of an object.

use landform_api::keys as meta;
use landform_api::landscaper::{self, ExecutionPhase, InstallationPhase, keys};
use landform_api::writer::RIGHTS_MISSING;
use landform_api::{catalog, project};
use landform_engine::hooks::{self, FINALIZER_PREFIX};
use serde::Deserialize as _;
use serde_json::Value;

use super::{
    CYCLIC, Cause, Facts, HookCall, Judged, Sort, Waiting, cause, deleting, has_code, is_well,
    plain_waits, text, trouble,
};
use crate::object::ObjectRef;
use crate::why::Trouble;

/// What holds a deletion up: whatever the status waits for, and finalizers of others.
pub(super) fn by_deletion(facts: &Facts<'_>, judged: &mut Judged) {
    judged.causes.extend(plain_waits(&facts.object["status"]));
    match facts
        .deletion
        .filter(|deletion| deletion["finalizers"].is_array())
    {
        Some(deletion) => {
            let blockers = deletion["blockers"].as_array().into_iter().flatten();
            for blocker in blockers {
                let object = ObjectRef {
                    api_version: text(&blocker["object"]["apiVersion"]).unwrap_or_default(),
                    kind: text(&blocker["object"]["kind"]).unwrap_or_default(),
                    namespace: text(&blocker["object"]["namespace"]).unwrap_or_default(),
                    name: text(&blocker["object"]["name"]).unwrap_or_default(),
                };
                if object == *facts.name {
                    continue;
                }
                // A nested object that is waited for already leads there.
                if judged.waits.iter().all(|waiting| waiting.object != object) {
                    judged.waits.push(Waiting {
                        object,
                        rule: text(&deletion["rule"]),
                        reason: text(&blocker["message"]).unwrap_or_default(),
                    });
                }
            }
            let finalizers = deletion["finalizers"].as_array().into_iter().flatten();
            for finalizer in finalizers {
                let name = text(&finalizer["name"]).unwrap_or_default();
                let responsible = text(&finalizer["responsible"]).unwrap_or_default();
                held_by(facts, &name, &responsible, judged);
            }
            if let Some(failure) = text(&deletion["failure"]) {
                let sort = Sort::Retried { again: None };
                judged.causes.push(cause(
                    sort,
                    "DeletionFails",
                    &format!("deleting it fails: {failure}"),
                ));
            }
        }
        None => {
            let finalizers = facts.object["metadata"]["finalizers"].as_array();
            for name in finalizers.into_iter().flatten().filter_map(Value::as_str) {
                let domain = name.split_once('/').map_or(name, |(domain, _)| domain);
                held_by(facts, name, &format!("the controller of {domain}"), judged);
            }
        }
    }
}

/// Installations and executions in a final phase are left alone when they are annotated so, marked or not (I1, E2).
pub(super) fn by_ignore(facts: &Facts<'_>) -> Option<Cause> {
    let object = facts.object;
    let phase = &object["status"]["phase"];
    let (is_final, rule) = match facts.name.kind.as_str() {
        _ if facts.name.group() != landscaper::GROUP => return None,
        "Installation" => {
            let phase = InstallationPhase::deserialize(phase);
            (phase.is_ok_and(InstallationPhase::is_final), "I1")
        }
        "Execution" => {
            let phase = ExecutionPhase::deserialize(phase);
            (phase.is_ok_and(ExecutionPhase::is_completed), "E2")
        }
        _ => return None,
    };
    let is_ignored = object["metadata"]["annotations"][keys::IGNORE] == keys::TRUE;
    let phase = text(phase).unwrap_or_default();
    let (what, error) = match trouble(object) {
        _ if deleting(object) => ("and so its deletion", None),
        Some(error) if phase == "Failed" => ("whatever changes", Some(error.message)),
        _ => ("whatever changes", None),
    };
    let error = error.map(|error| format!("; its last error: {error}"));
    let message = format!(
        "it is {phase} and has the annotation {}: Landform leaves it alone, {what}{}",
        keys::IGNORE,
        error.unwrap_or_default()
    );
    let sort = Sort::Ignored {
        annotation: keys::IGNORE,
    };
    (is_final && is_ignored).then(|| Cause {
        rule: Some(rule.to_owned()),
        ..cause(sort, "Ignored", &message)
    })
}

/// Owners of which the collector can't know whether they exist: it leaves the object alone until it does.
pub(super) fn by_unknown_owners(facts: &Facts<'_>, judged: &mut Judged) {
    let owners = facts.deletion.map(|deletion| &deletion["unknownOwners"]);
    let owners = owners.and_then(Value::as_array).into_iter().flatten();
    for owner in owners {
        let (uid, why) = (
            text(&owner["uid"]).unwrap_or_default(),
            text(&owner["message"]).unwrap_or_default(),
        );
        let unblock = format!(
            "install the definition of its owner's kind again; if the owner will not come back, delete {name}, or keep it without \
             the owner: run landform edit {argument} and remove the entry with uid {uid} from metadata.ownerReferences",
            name = facts.name,
            argument = crate::why::act::argument(facts.name)
        );
        let message =
            format!("an owner of it is unknown ({why}), so that it stays until that is known");
        let sort = Sort::Blocked { unblock };
        let mut cause = cause(sort, "OwnerUnknown", &message);
        cause.rule = Some("G12b".to_owned());
        judged.causes.push(cause);
    }
}

fn held_by(facts: &Facts<'_>, name: &str, responsible: &str, judged: &mut Judged) {
    let landforms = responsible.starts_with("Landform's")
        || matches!(
            name,
            landform_api::landscaper::keys::FINALIZER
                | catalog::keys::FINALIZER
                | project::FINALIZER
                | hooks::FINALIZER
                | meta::FINALIZER_CASCADE
                | meta::FINALIZER_FOREGROUND
                | meta::FINALIZER_ORPHAN
                | meta::FINALIZER_NAMESPACE
                | meta::FINALIZER_CRD
        );
    if landforms {
        return;
    }
    if let Some(reconciler) = name.strip_prefix(FINALIZER_PREFIX) {
        return held_by_hook(facts, reconciler, judged);
    }
    let sort = Sort::Finalizer {
        name: name.to_owned(),
        responsible: responsible.to_owned(),
    };
    let message = format!(
        "{} is held by {name}, which {responsible} has to remove",
        facts.name
    );
    judged.causes.push(cause(sort, "Finalizer", &message));
}

/// A marked object that a Reconciler holds until its hook is done: what the hook last said, or since when it is called.
fn held_by_hook(facts: &Facts<'_>, reconciler: &str, judged: &mut Judged) {
    let known = |field: &str| facts.engine.and_then(|engine| text(&engine[field]));
    let since = known("runningSince");
    let said = known("lastError").or_else(|| judged.state.error.clone().map(|error| error.message));
    let waits = known("waitingFor").is_some();
    let running = matches!(
        known("state").as_deref(),
        Some("Running" | "Cancelling" | "Stuck")
    );
    let (now, what) = if running {
        let at = since.as_deref().unwrap_or("a moment ago");
        (
            HookCall::Running {
                since: since.clone(),
            },
            format!("it was called at {at} and has not answered"),
        )
    } else if let Some(said) = said {
        let again = judged.state.next_retry.clone();
        let what = if said.contains(RIGHTS_MISSING) {
            format!("it may not be called: {said}")
        } else {
            format!("its last call failed: {said}")
        };
        (HookCall::Ended { again }, what)
    } else if waits {
        let again = judged.state.next_retry.clone();
        (
            HookCall::Ended { again },
            "it says that it isn't done".to_owned(),
        )
    } else {
        (HookCall::Unknown, "nothing is known of a call".to_owned())
    };
    let sort = Sort::Hook {
        reconciler: reconciler.to_owned(),
        now,
    };
    let message = format!(
        "{} is held until the hook of Reconciler/{reconciler} is done: {what}",
        facts.name
    );
    judged.causes.push(cause(sort, "Hook", &message));
}

/// The engine knows best; without it the status is believed.
pub(super) fn is_cyclic(facts: &Facts<'_>) -> bool {
    match facts.engine {
        Some(engine) => engine["state"] == "Cyclic",
        None => has_code(facts.object, CYCLIC) && !is_well(facts.object),
    }
}

/// In the words of the status, unless a run has written something else over them.
pub(super) fn by_cycle(facts: &Facts<'_>, judged: &mut Judged) {
    let error = judged.state.error.clone().unwrap_or_default();
    let path = facts.engine.and_then(|engine| text(&engine["cycle"]));
    let told = path
        .as_ref()
        .is_none_or(|path| error.message.contains(path.as_str()));
    let found = match path {
        Some(path) if !told => {
            let message = format!("it is in a cycle of references and doesn't run: {path}");
            cause(Sort::Cycle, "ReferenceCycle", &message)
        }
        _ => cause(Sort::Cycle, &error.reason, &error.message),
    };
    judged.causes.push(found);
}

/// What only the engine knows: runs that are under way, errors of runs, and who runs first.
pub(super) fn by_engine(facts: &Facts<'_>, judged: &mut Judged) {
    let Some(engine) = facts.engine else { return };
    let settled = !judged.waits.is_empty();
    let error = text(&engine["lastError"]);
    if judged.state.error.is_none() {
        judged.state.error = error.clone().map(|message| Trouble {
            message,
            ..Trouble::default()
        });
    }
    match engine["state"].as_str().unwrap_or_default() {
        "Stuck" | "Cancelling" => {
            let by = text(&engine["cancelled"]).unwrap_or_default();
            let message = format!("its run was told to return and has not yet: {by}");
            judged.causes.push(cause(Sort::Stuck, "Stuck", &message));
        }
        "Running" if !settled => {
            let since = text(&engine["runningSince"]);
            judged
                .state
                .phase
                .get_or_insert_with(|| "Running".to_owned());
            let why = text(&engine["reason"]).unwrap_or_default();
            let message = format!("it is being reconciled: {why}");
            judged
                .causes
                .push(cause(Sort::Running { since }, "Running", &message));
        }
        "Pending" if !settled => {
            judged
                .state
                .phase
                .get_or_insert_with(|| "Pending".to_owned());
            let waits = engine["waitingOn"].as_array().into_iter().flatten();
            judged.waits.extend(waits.filter_map(|wait| {
                let group = text(&wait["group"]).unwrap_or_default();
                let kind = text(&wait["kind"])?;
                Some(Waiting {
                    // The version is found when it is read.
                    object: ObjectRef {
                        api_version: if group.is_empty() {
                            "v1".to_owned()
                        } else {
                            format!("{group}/")
                        },
                        kind,
                        namespace: text(&wait["namespace"]).unwrap_or_default(),
                        name: text(&wait["name"])?,
                    },
                    rule: None,
                    reason: in_the_way(wait["relation"].as_str().unwrap_or_default()).to_owned(),
                })
            }));
        }
        _ => {}
    }
    if let Some(error) = error.filter(|_| judged.causes.is_empty() && !settled) {
        let again = judged.state.next_retry.clone();
        let sort = if again.is_some() {
            Sort::Retried { again }
        } else {
            Sort::Failed
        };
        judged.causes.push(cause(sort, "ReconcileFailed", &error));
    }
}

/// The engine's relations as a sentence.
fn in_the_way(relation: &str) -> &'static str {
    match relation {
        "Ref" => "it is referred to and must have run first",
        "Dependent" => "its cancelled run must have returned",
        "FormerName" => "the run under the former name must have returned",
        "Delete" => "deletes in the namespace go first",
        "Rename" => "renames in the namespace go first",
        _ => "it is in the way",
    }
}
