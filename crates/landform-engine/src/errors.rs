//! The error of an object, shown on the object itself (R7b).
//!
//! While a run has failed, or the object is in a cycle of references, the object says so: in a condition where its
//! kind has conditions, else in an annotation. When it is well again that goes. Neither moves what reconcilers listen
//! to, so that it brings no run, and nothing is written that is there already.

use kube::ResourceExt as _;
use kube::api::{Api, Patch, PatchParams};
use kube::core::DynamicObject;
use landform_api::keys::ANNOTATION_ERROR;
use serde_json::{Map, Value, json};

use crate::clock::{Clock, write_time};
use crate::context::{get, is_gone};
use crate::reconciler::Failure;

/// The type of the condition. Its prefix keeps it apart from conditions of others.
pub const CONDITION_RECONCILED: &str = "landform.dev/Reconciled";
/// The longest text that is shown.
const MESSAGE_BYTES: usize = 1024;
/// A condition is written with at most this many attempts when others write at the same time.
const ATTEMPTS: usize = 5;

/// Where objects of a kind tell their error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ErrorPlace {
    /// In the annotation `landform.dev/error`.
    #[default]
    Annotation,
    /// In a condition of `status.conditions`.
    Condition(ConditionFields),
    /// Nowhere: its runs say nothing about it. What others wrote stays.
    Nowhere,
}

/// The fields that conditions of a kind have besides `type`, `status` and `message`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConditionFields {
    reason: bool,
    last_transition_time: bool,
    observed_generation: bool,
}

/// What is wrong with an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// In one word.
    pub(crate) reason: &'static str,
    /// For people.
    pub(crate) message: String,
}

impl Problem {
    /// What people must know of a failure; conflicts and cancellations are no news.
    pub(crate) fn of(failure: &Failure) -> Option<Self> {
        match failure {
            Failure::Conflict(_) | Failure::Cancelled => None,
            Failure::Transient(message) | Failure::Refused(message) | Failure::Invalid(message) => {
                Some(Self {
                    reason: "ReconcileFailed",
                    message: message.clone(),
                })
            }
        }
    }

    /// A cycle of references, by its path.
    pub(crate) fn cycle(path: &str) -> Self {
        Self {
            reason: "ReferenceCycle",
            message: format!("it is in a cycle of references and doesn't run: {path}"),
        }
    }
}

impl ErrorPlace {
    /// The place for a kind with this schema (`openAPIV3Schema` of a version that has the subresource status).
    #[must_use]
    pub fn in_schema(schema: &Value) -> Self {
        let conditions = &schema["properties"]["status"]["properties"]["conditions"];
        match ConditionFields::of(&conditions["items"]) {
            Some(fields) if conditions["type"] == "array" => Self::Condition(fields),
            _ => Self::Annotation,
        }
    }
}

impl ConditionFields {
    /// None when a condition of ours could not be written, or could not say what is wrong.
    fn of(items: &Value) -> Option<Self> {
        let open = items["x-kubernetes-preserve-unknown-fields"] == true;
        let has = |name: &str| open || !items["properties"][name].is_null();
        let allows = |name: &str, value: &str| {
            let values = items["properties"][name]["enum"].as_array();
            values.is_none_or(|values| values.iter().any(|allowed| allowed == value))
        };
        let known = [
            "type",
            "status",
            "reason",
            "message",
            "lastTransitionTime",
            "observedGeneration",
        ];
        let required = items["required"].as_array().into_iter().flatten();
        let fillable = required
            .filter_map(Value::as_str)
            .all(|name| known.contains(&name));
        let usable = items["type"] == "object"
            && has("type")
            && has("status")
            && has("message")
            && allows("type", CONDITION_RECONCILED)
            && allows("status", "False")
            && fillable;
        usable.then(|| Self {
            reason: has("reason"),
            last_transition_time: has("lastTransitionTime"),
            observed_generation: has("observedGeneration"),
        })
    }

    /// The condition that tells a problem. Its time moves only when there was none before.
    fn condition(
        &self,
        problem: &Problem,
        before: Option<&Value>,
        generation: Option<i64>,
        now: &str,
    ) -> Value {
        let mut condition = json!({
            "type": CONDITION_RECONCILED, "status": "False", "message": cut(&problem.message),
        });
        if self.reason {
            condition["reason"] = json!(problem.reason);
        }
        if self.last_transition_time {
            let since = before.and_then(|before| before["lastTransitionTime"].as_str());
            condition["lastTransitionTime"] = json!(since.unwrap_or(now));
        }
        if let Some(generation) = generation.filter(|_| self.observed_generation) {
            condition["observedGeneration"] = json!(generation);
        }
        condition
    }
}

/// Whether an object tells an error of ours.
pub(crate) fn tells(place: &ErrorPlace, object: &DynamicObject) -> bool {
    let in_status = match place {
        ErrorPlace::Nowhere => return false,
        ErrorPlace::Annotation => false,
        ErrorPlace::Condition(_) => object
            .data
            .get("status")
            .is_some_and(|status| told(status).is_some()),
    };
    in_status || object.annotations().contains_key(ANNOTATION_ERROR)
}

/// Takes what a stored status tells of an error over into the status that replaces it.
pub(crate) fn keep(place: &ErrorPlace, stored: &Value, wanted: &mut Value) {
    if !matches!(place, ErrorPlace::Condition(_)) || told(wanted).is_some() {
        return;
    }
    let (Some(condition), Some(fields)) = (told(stored), wanted.as_object_mut()) else {
        return;
    };
    let conditions = fields.entry("conditions").or_insert_with(|| json!([]));
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.push(condition.clone());
    }
}

/// Our condition in a status.
fn told(status: &Value) -> Option<&Value> {
    let conditions = status["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == CONDITION_RECONCILED)
}

/// What must be merged into an object so that it tells a problem, or none.
#[derive(Debug, Default, PartialEq)]
struct Change {
    annotation: Option<Value>,
    conditions: Option<Value>,
}

fn change(
    place: &ErrorPlace,
    object: &DynamicObject,
    problem: Option<&Problem>,
    now: &str,
) -> Change {
    let annotated = match place {
        ErrorPlace::Nowhere => return Change::default(),
        ErrorPlace::Annotation => problem.map(|problem| cut(&problem.message).to_owned()),
        ErrorPlace::Condition(_) => None,
    };
    let before = object.annotations().get(ANNOTATION_ERROR);
    let annotation = (before != annotated.as_ref()).then(|| json!(annotated));
    let conditions = match place {
        ErrorPlace::Nowhere | ErrorPlace::Annotation => None,
        ErrorPlace::Condition(fields) => conditions(fields, object, problem, now),
    };
    Change {
        annotation,
        conditions,
    }
}

/// The list of conditions with ours as it should be; none when it is so.
fn conditions(
    fields: &ConditionFields,
    object: &DynamicObject,
    problem: Option<&Problem>,
    now: &str,
) -> Option<Value> {
    let status = object.data.get("status").unwrap_or(&Value::Null);
    let before = status["conditions"].as_array().cloned().unwrap_or_default();
    let generation = object.metadata.generation;
    let ours = problem.map(|problem| fields.condition(problem, told(status), generation, now));
    let mut after = before.clone();
    let at = after
        .iter()
        .position(|condition| condition["type"] == CONDITION_RECONCILED);
    match (at, ours) {
        (Some(at), Some(ours)) => after[at] = ours,
        (Some(at), None) => drop(after.remove(at)),
        (None, Some(ours)) => after.push(ours),
        (None, None) => {}
    }
    if after == before {
        None
    } else if after.is_empty() {
        Some(Value::Null)
    } else {
        Some(Value::Array(after))
    }
}

/// Makes an object tell a problem, or none. Writes nothing when it does.
///
/// # Errors
/// What the API answers.
pub(crate) async fn tell(
    api: &Api<DynamicObject>,
    name: &str,
    place: &ErrorPlace,
    problem: Option<&Problem>,
    clock: &dyn Clock,
) -> Result<(), kube::Error> {
    let now = write_time(clock.now_ms() / 1000 * 1000);
    let mut place = place;
    for attempt in 1.. {
        let Some(object) = get(api, name).await? else {
            return Ok(());
        };
        match write(api, name, &object, change(place, &object, problem, &now)).await {
            Err(kube::Error::Api(status)) if status.code == 409 && attempt < ATTEMPTS => {}
            // The kind has rules that its schema doesn't show; the annotation is always there.
            Err(kube::Error::Api(status))
                if status.code == 422 && *place != ErrorPlace::Annotation =>
            {
                place = &ErrorPlace::Annotation;
            }
            Err(error) if is_gone(&error) => return Ok(()),
            other => return other,
        }
    }
    Ok(())
}

async fn write(
    api: &Api<DynamicObject>,
    name: &str,
    object: &DynamicObject,
    change: Change,
) -> Result<(), kube::Error> {
    let params = PatchParams::default();
    if let Some(conditions) = change.conditions {
        // A list is written as a whole, so it must be the one that was read.
        let version = json!({"resourceVersion": object.resource_version()});
        let patch = json!({"metadata": version, "status": {"conditions": conditions}});
        api.patch_status(name, &params, &Patch::Merge(patch))
            .await?;
    }
    if let Some(annotation) = change.annotation {
        let annotations = Map::from_iter([(ANNOTATION_ERROR.to_owned(), annotation)]);
        let patch = json!({"metadata": {"annotations": annotations}});
        api.patch(name, &params, &Patch::Merge(patch)).await?;
    }
    Ok(())
}

/// The beginning of a text, cut between characters.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MESSAGE_BYTES))
        .unwrap_or(text)
}

#[cfg(test)]
#[path = "errors_tests.rs"]
mod tests;
