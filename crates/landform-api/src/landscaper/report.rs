//! What a status tells people: conditions, the last error, and what is waited for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::phase::Operation;

/// Whether a condition holds.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It doesn't.
    False,
    /// Nobody knows.
    Unknown,
    /// It is being worked on.
    Progressing,
}

/// One aspect of an object's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The aspect, for instance `ValidateImports`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// When the status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// When anything here last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<String>,
    /// Why, as one word.
    #[serde(default)]
    pub reason: String,
    /// Why, for people.
    #[serde(default)]
    pub message: String,
    /// Kinds of error that led to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<ErrorCode>,
}

/// A kind of error that others can react to.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum ErrorCode {
    /// What people wrote can't work.
    #[serde(rename = "ERR_CONFIGURATION_PROBLEM")]
    ConfigurationProblem,
    /// Landform or a deployer has a bug.
    #[serde(rename = "ERR_INTERNAL_PROBLEM")]
    InternalProblem,
    /// What was deployed did not become ready in time.
    #[serde(rename = "ERR_READINESS_CHECK_TIMEOUT")]
    ReadinessCheckTimeout,
    /// Something took too long.
    #[serde(rename = "ERR_TIMEOUT")]
    Timeout,
    /// Objects depend on each other in a circle.
    #[serde(rename = "ERR_CYCLIC_DEPENDENCIES")]
    CyclicDependencies,
    /// An access was refused.
    #[serde(rename = "ERR_UNAUTHORIZED")]
    Unauthorized,
    /// Something that must be cleaned up could not be.
    #[serde(rename = "ERR_CLEANUP")]
    Cleanup,
    /// The target can't be reached.
    #[serde(rename = "ERR_WEBHOOK")]
    Webhook,
    /// Something is not finished yet.
    #[serde(rename = "ERR_UNFINISHED")]
    Unfinished,
}

impl ErrorCode {
    /// Whether such an error fails the object at once; others are tried again.
    #[must_use]
    pub fn is_fatal(self) -> bool {
        match self {
            Self::ConfigurationProblem
            | Self::InternalProblem
            | Self::ReadinessCheckTimeout
            | Self::Timeout
            | Self::CyclicDependencies => true,
            Self::Unauthorized | Self::Cleanup | Self::Webhook | Self::Unfinished => false,
        }
    }
}

/// The last thing that went wrong. Cleared by success only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastError {
    /// What was being done.
    #[serde(default)]
    pub operation: String,
    /// Why it failed, as one word.
    #[serde(default)]
    pub reason: String,
    /// Why it failed, for people.
    #[serde(default)]
    pub message: String,
    /// Kinds of error.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<ErrorCode>,
    /// When this error first appeared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<String>,
    /// When it was last seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<String>,
}

/// One thing that an object waits for; `landform why` walks along these.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingOn {
    /// The rule by which it waits, for instance `I14`.
    pub rule: String,
    /// The object that must change, as far as one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectName>,
    /// What must become of it, for people.
    pub reason: String,
}

/// An object's kind and name.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub struct ObjectName {
    /// The API group of its kind, where the kind is neither Landform's nor of the core group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// The reason of a last error about a write that the API refused and that may work later: it is tried again by itself.
pub const WRITE_REFUSED: &str = "WriteRefused";

/// The reason of a last error about what is below: the installation itself has done all that it was to do.
pub const NESTED_FAILED: &str = "NestedObjectFailed";

/// The type of the condition that tells of an operation that there isn't.
pub const CONDITION_OPERATION: &str = "KnownOperation";

/// Notes in a condition whether the annotation [`super::keys::OPERATION`] asks for something that there isn't. Says what,
/// if that is news.
pub fn note_operation(
    conditions: &mut Vec<Condition>,
    annotation: Option<&str>,
    now: &str,
) -> Option<String> {
    let at = conditions
        .iter()
        .position(|condition| condition.kind == CONDITION_OPERATION);
    let Some(what) = annotation.and_then(Operation::unknown) else {
        if let Some(at) = at {
            conditions.remove(at);
        }
        return None;
    };
    let message = format!("{what}: {}", Operation::advice());
    let before = at.map(|at| conditions.remove(at));
    let news = before
        .as_ref()
        .is_none_or(|before| before.message != message);
    let told = Condition {
        kind: CONDITION_OPERATION.into(),
        status: ConditionStatus::False,
        last_transition_time: Some(now.to_owned()),
        last_update_time: Some(now.to_owned()),
        reason: "UnknownOperation".into(),
        message: message.clone(),
        codes: Vec::new(),
    };
    conditions.push(before.filter(|_| !news).unwrap_or(told));
    conditions.sort_by(|a, b| a.kind.cmp(&b.kind));
    news.then_some(message)
}
