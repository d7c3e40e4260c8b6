//! What a status tells people: an error that stays until success, and conditions that move only when they
//! change.

use landform_api::landscaper::report::WRITE_REFUSED;
use landform_api::landscaper::{Condition, ConditionStatus, ErrorCode, LastError};
use landform_api::words::status_message;
use landform_engine::{Context, EventType, Failure, write_time};
use serde::Deserialize as _;
use serde_json::json;

/// Something that went wrong, ready to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) operation: String,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) codes: Vec<ErrorCode>,
}

impl Trouble {
    pub(super) fn configuration(operation: &str, reason: &str, message: impl Into<String>) -> Self {
        Self {
            operation: operation.into(),
            reason: reason.into(),
            message: message.into(),
            codes: vec![ErrorCode::ConfigurationProblem],
        }
    }

    /// A write of ours that the API refused. It is tried again.
    pub(super) fn refused(operation: &str, message: impl Into<String>) -> Self {
        Self {
            operation: operation.into(),
            reason: WRITE_REFUSED.into(),
            message: message.into(),
            codes: Vec::new(),
        }
    }

    /// What a run could not write, if that is what failed.
    pub(super) fn of_write(operation: &str, failure: &Failure) -> Option<Self> {
        match failure {
            Failure::Refused(message) => Some(Self::refused(operation, message)),
            Failure::Invalid(message) => {
                Some(Self::configuration(operation, "WriteInvalid", message))
            }
            Failure::Conflict(_) | Failure::Transient(_) | Failure::Cancelled => None,
        }
    }

    pub(super) fn is_fatal(&self) -> bool {
        self.codes.iter().any(|code| code.is_fatal())
    }
}

/// Notes in the status of a run's object that the run could not write something, or could not read what it is about: a
/// person has to know. What else the run found is not written: the next one begins where this one did.
pub(super) async fn tell(context: &Context, operation: &str, failure: Failure) -> Failure {
    let Some(trouble) = Trouble::of_write(operation, &failure) else {
        return failure;
    };
    let mut status = context.status().await;
    let before = LastError::deserialize(&status["lastError"]);
    let mut last = before.ok();
    let now = write_time(context.now_ms());
    if set_error(&mut last, &trouble, &now) {
        context.event(EventType::Warning, &trouble.reason, &trouble.message);
        if status.is_null() {
            status = json!({});
        }
        status["lastError"] = json!(last);
        if let Err(worse) = context.write_status(&status).await {
            tracing::warn!(%failure, %worse, "what went wrong can't be told in the status");
        }
    }
    failure
}

/// Notes an error. The same one again moves nothing: a mere time is no reason to write. Says whether it is
/// another one than before.
pub(super) fn set_error(last: &mut Option<LastError>, trouble: &Trouble, now: &str) -> bool {
    let message = status_message(&trouble.message);
    let same = last.as_ref().is_some_and(|last| {
        last.reason == trouble.reason
            && last.message == message
            && last.operation == trouble.operation
            && last.codes == trouble.codes
    });
    if !same {
        *last = Some(LastError {
            operation: trouble.operation.clone(),
            reason: trouble.reason.clone(),
            message: message.into_owned(),
            codes: trouble.codes.clone(),
            last_transition_time: Some(now.to_owned()),
            last_update_time: Some(now.to_owned()),
        });
    }
    !same
}

/// Forgets a write that was refused, when all that was to be written has been. Says whether there was one.
pub(super) fn forget_refusal(last: &mut Option<LastError>) -> bool {
    let refused = last.take_if(|last| last.reason == WRITE_REFUSED);
    refused.is_some()
}

/// Notes a condition, in its place or at the end.
pub(super) fn set_condition(
    conditions: &mut Vec<Condition>,
    kind: &str,
    status: ConditionStatus,
    reason: &str,
    message: &str,
    now: &str,
) {
    let message = status_message(message);
    let found = conditions
        .iter()
        .position(|condition| condition.kind == kind);
    let before = found.map(|at| conditions[at].clone());
    let same = before.as_ref().is_some_and(|before| {
        before.status == status && before.reason == reason && before.message == message
    });
    if same {
        return;
    }
    let since = before
        .filter(|before| before.status == status)
        .and_then(|before| before.last_transition_time);
    let condition = Condition {
        kind: kind.into(),
        status,
        last_transition_time: Some(since.unwrap_or_else(|| now.to_owned())),
        last_update_time: Some(now.to_owned()),
        reason: reason.into(),
        message: message.into_owned(),
        codes: Vec::new(),
    };
    match found {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
    conditions.sort_by(|a, b| a.kind.cmp(&b.kind));
}

#[cfg(test)]
mod tests {
    use landform_api::words::STATUS_MESSAGE_BYTES;

    use super::*;

    #[test]
    fn an_error_of_any_length_can_be_stored_and_moves_nothing_twice() {
        let text = "F".repeat(3_000_000);
        let trouble = Trouble::configuration("Render", "TemplateFailed", text.clone());
        let mut last = None;
        assert!(set_error(&mut last, &trouble, "then"));
        assert!(!set_error(&mut last, &trouble, "now"), "it is the same");
        let message = last.unwrap().message;
        assert!(message.len() <= STATUS_MESSAGE_BYTES && message.starts_with("FFF"));
        let mut conditions = Vec::new();
        for now in ["then", "now"] {
            let status = ConditionStatus::False;
            set_condition(&mut conditions, "Render", status, "Failed", &text, now);
        }
        assert!(conditions[0].message.len() <= STATUS_MESSAGE_BYTES);
        assert_eq!(conditions[0].last_update_time.as_deref(), Some("then"));
    }
}
