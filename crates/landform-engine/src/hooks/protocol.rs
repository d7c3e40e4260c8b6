//! What is said to a hook, and what it answers. `docs/reconcilers.md` describes it for people.

use std::time::Duration;

use kube::core::DynamicObject;
use serde_json::{Map, Value, json};

use crate::context::{Context, Referred};
use crate::standing::RefState;
use landform_api::duration;
use landform_schedule::Reason;

/// The longest text of an error that is passed on.
const ERROR_BYTES: usize = 1024;

/// The body of a request. `states` says how the objects stand that are referred to, in their order.
pub(crate) fn request(context: &Context, states: &[RefState], owned: &[Value]) -> Value {
    let refs = context.refs().iter().zip(states);
    json!({
        "object": shown(context.object()),
        "refs": refs.map(|(referred, state)| reference(referred, state)).collect::<Vec<_>>(),
        "owned": owned,
        "reason": reason(context.reason()),
        "renamedFrom": context.former_name(),
        "deleting": context.deleting(),
    })
}

fn reference(referred: &Referred, state: &RefState) -> Value {
    let Referred {
        reference, object, ..
    } = referred;
    // The object knows whether its kind has namespaces.
    let namespace = match object {
        Some(object) => object.metadata.namespace.as_deref(),
        None => reference.namespace.as_deref(),
    };
    let (state, error) = match (object, state) {
        (None, _) => ("missing", None),
        (Some(_), RefState::Unmanaged) => ("present", None),
        (Some(_), RefState::Ready) => ("ready", None),
        (Some(_), RefState::Failed(error)) => ("failed", Some(cut(error))),
        (Some(_), RefState::Pending) => ("pending", None),
    };
    json!({
        "apiVersion": reference.kind.api_version(),
        "kind": reference.kind.kind,
        "namespace": namespace,
        "name": reference.name,
        "object": object.as_deref().map(shown),
        "state": state,
        "error": error,
    })
}

/// An object without what only the API server needs.
pub(crate) fn shown(object: &DynamicObject) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    value
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Marked => "marked",
        Reason::Renamed => "renamed",
        Reason::Appeared => "appeared",
        Reason::Changed => "changed",
        Reason::Asked => "asked",
        Reason::CycleBroken => "cycleBroken",
        Reason::Ref => "ref",
        Reason::Related => "owned",
        Reason::Retrigger => "retrigger",
        Reason::Retry | Reason::GaveUp => "retry",
    }
}

/// What a hook answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// The status; none: it stays as it is.
    pub(crate) status: Option<Value>,
    /// The children that should exist; none: they stay as they are.
    pub(crate) owned: Option<Vec<Value>>,
    pub(crate) retrigger_after: Option<Duration>,
    /// False when the hook waits for something that will bring the next call.
    pub(crate) done: bool,
    pub(crate) error: Option<Complaint>,
}

/// An error that the hook itself reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) message: String,
    /// Whether trying again may help.
    pub(crate) retry: bool,
}

/// Reads an answer.
///
/// # Errors
/// What is wrong with it, for the hook's author.
pub(crate) fn read(bytes: &[u8]) -> Result<Answer, String> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("the answer is empty; the shortest one is {}".to_owned());
    }
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("the answer is not JSON: {error}"))?;
    let Value::Object(mut fields) = value else {
        return Err("the answer is JSON but not an object".to_owned());
    };
    let answer = Answer {
        status: status(fields.remove("status"))?,
        owned: owned(fields.remove("owned"))?,
        retrigger_after: retrigger_after(fields.remove("retriggerAfter"))?,
        done: done(fields.remove("done"))?,
        error: complaint(fields.remove("error"))?,
    };
    if fields.is_empty() {
        return Ok(answer);
    }
    // Its name is what the hook answered, and may be anything.
    let message = "the answer has a field that isn't known; known are status, owned, retriggerAfter, done and error";
    Err(message.to_owned())
}

fn status(value: Option<Value>) -> Result<Option<Value>, String> {
    match value.unwrap_or_default() {
        Value::Null => Ok(None),
        status @ Value::Object(_) => Ok(Some(status)),
        other => Err(wrong("status", "an object", &other)),
    }
}

fn owned(value: Option<Value>) -> Result<Option<Vec<Value>>, String> {
    match value.unwrap_or_default() {
        Value::Null => Ok(None),
        Value::Array(children) => Ok(Some(children)),
        other => Err(wrong("owned", "a list of objects", &other)),
    }
}

fn retrigger_after(value: Option<Value>) -> Result<Option<Duration>, String> {
    let value = value.unwrap_or_default();
    let duration = match &value {
        Value::Null => return Ok(None),
        Value::String(text) => duration::parse(text),
        Value::Number(seconds) => {
            let seconds = seconds.as_f64().unwrap_or(f64::NAN);
            Duration::try_from_secs_f64(seconds).ok()
        }
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let expected = "a time such as \"30s\", or a number of seconds";
    match duration {
        Some(duration) => Ok(Some(duration)),
        None => Err(wrong("retriggerAfter", expected, &value)),
    }
}

fn done(value: Option<Value>) -> Result<bool, String> {
    match value.unwrap_or_default() {
        Value::Null => Ok(true),
        Value::Bool(done) => Ok(done),
        other => Err(wrong("done", "true or false", &other)),
    }
}

fn complaint(value: Option<Value>) -> Result<Option<Complaint>, String> {
    match value.unwrap_or_default() {
        Value::Null => Ok(None),
        // Languages without optional fields say "no error" like this.
        Value::String(message) if message.is_empty() => Ok(None),
        Value::String(message) => Ok(Some(Complaint {
            message: cut(&message).to_owned(),
            retry: true,
        })),
        Value::Object(fields) => complaint_with_fields(&fields).map(Some),
        other => Err(wrong("error", "a text or an object", &other)),
    }
}

fn complaint_with_fields(fields: &Map<String, Value>) -> Result<Complaint, String> {
    let message = fields.get("message").and_then(Value::as_str);
    let message = message.ok_or("\"error\" has no \"message\", which must be a text")?;
    let retry = match fields.get("retry") {
        None | Some(Value::Null) => true,
        Some(Value::Bool(retry)) => *retry,
        Some(other) => return Err(wrong("error.retry", "true or false", other)),
    };
    Ok(Complaint {
        message: cut(message).to_owned(),
        retry,
    })
}

fn wrong(field: &str, expected: &str, found: &Value) -> String {
    // The value itself may be secret.
    let found = match found {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!("{field:?} must be {expected}, and is {found}")
}

/// The `error` of an answer that came with a failure: what the hook's author shows on purpose.
pub(crate) fn complaint_of(bytes: &[u8]) -> Option<String> {
    let answer = read(bytes).ok()?;
    answer.error.map(|complaint| complaint.message)
}

/// The beginning of a text, cut between characters.
pub(crate) fn cut(text: &str) -> &str {
    cut_at(text, ERROR_BYTES)
}

/// The beginning of a text, not longer than this.
pub(crate) fn cut_at(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answer() -> Answer {
        Answer {
            status: None,
            owned: None,
            retrigger_after: None,
            done: true,
            error: None,
        }
    }

    #[test]
    fn answers_are_read() {
        let complaint = |message: &str, retry| {
            let message = message.to_owned();
            Some(Complaint { message, retry })
        };
        let after = |ms| Some(Duration::from_millis(ms));
        let table = [
            ("{}", answer()),
            (
                " {\"status\": null, \"owned\": null, \"error\": null} ",
                answer(),
            ),
            ("{\"error\": \"\"}", answer()),
            (
                "{\"status\": {\"a\": 1}}",
                Answer {
                    status: Some(json!({"a": 1})),
                    ..answer()
                },
            ),
            (
                "{\"owned\": []}",
                Answer {
                    owned: Some(vec![]),
                    ..answer()
                },
            ),
            (
                "{\"retriggerAfter\": \"1m\"}",
                Answer {
                    retrigger_after: after(60_000),
                    ..answer()
                },
            ),
            (
                "{\"retriggerAfter\": 1.5}",
                Answer {
                    retrigger_after: after(1500),
                    ..answer()
                },
            ),
            (
                "{\"done\": false}",
                Answer {
                    done: false,
                    ..answer()
                },
            ),
            (
                "{\"error\": \"no\"}",
                Answer {
                    error: complaint("no", true),
                    ..answer()
                },
            ),
            (
                "{\"error\": {\"message\": \"no\"}}",
                Answer {
                    error: complaint("no", true),
                    ..answer()
                },
            ),
            (
                "{\"error\": {\"message\": \"no\", \"retry\": false}}",
                Answer {
                    error: complaint("no", false),
                    ..answer()
                },
            ),
        ];
        for (text, expected) in table {
            assert_eq!(read(text.as_bytes()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn wrong_answers_are_explained() {
        let table = [
            ("", "the answer is empty"),
            (" \n", "the answer is empty"),
            (
                "hello",
                "the answer is not JSON: expected value at line 1 column 1",
            ),
            ("{} {}", "trailing characters"),
            ("[]", "not an object"),
            (
                "{\"status\": 1}",
                "\"status\" must be an object, and is a number",
            ),
            (
                "{\"owned\": {}}",
                "\"owned\" must be a list of objects, and is an object",
            ),
            (
                "{\"retriggerAfter\": -1}",
                "\"retriggerAfter\" must be a time",
            ),
            (
                "{\"retriggerAfter\": \"soon\"}",
                "or a number of seconds, and is a text",
            ),
            ("{\"done\": \"yes\"}", "\"done\" must be true or false"),
            ("{\"error\": 1}", "\"error\" must be a text or an object"),
            ("{\"error\": {}}", "\"error\" has no \"message\""),
            (
                "{\"retrigger_after\": 1}",
                "has a field that isn't known; known are status",
            ),
        ];
        for (text, expected) in table {
            let error = read(text.as_bytes()).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_answer_brings_us_down(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            // Random bytes are nearly never JSON; a refusal says so, and an answer is one.
            match read(&bytes) {
                Ok(_) => prop_assert!(serde_json::from_slice::<Value>(&bytes).is_ok()),
                Err(error) => prop_assert!(error.starts_with("the answer") || error.starts_with('"'), "{}", error),
            }
        }

        #[test]
        fn no_mixture_of_fields_brings_us_down(
            field in "(status|owned|retriggerAfter|done|error|x)",
            value in "(null|true|-1|1e400|1e30|\"\"|\"9s\"|\\[\\]|\\[1\\]|\\{\\}|\\{\"message\":1\\}|\\[|\u{fffd})",
        ) {
            let text = format!("{{\"{field}\": {value}}}");
            if let Err(error) = read(text.as_bytes()) {
                prop_assert!(!error.is_empty());
            }
        }
    }
}
