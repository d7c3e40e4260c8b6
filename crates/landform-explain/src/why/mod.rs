//! From an object to its root causes.
//!
//! 1. [`walk`] reads the object, and has [`judge`] say what it waits for and what is wrong with it. `judge` is pure
//!    and sees one object: its text, what the engine and the collector say of it, and its nested objects.
//! 2. What it waits for is read next, and so on, each object once, up to a limit.
//! 3. Where nothing more is waited for are the roots. [`act`] says who must do what about each; they are ranked.
//!
//! The sentences are those of statuses, Events and views. Only what none of them can know is said here.

mod act;
mod cache;
mod held;
mod judge;
mod missing;
mod told;
mod unserved;
mod values;
mod walk;

use serde::{Deserialize, Serialize};

use crate::object::ObjectRef;

pub use walk::explain;

/// The version of what is answered here.
pub const API_VERSION: &str = "landform.dev/v1alpha1";

/// Why an object is not where it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// [`API_VERSION`].
    pub api_version: String,
    /// `Why`.
    pub kind: String,
    /// The object that was asked about.
    pub object: ObjectRef,
    /// Its state in one sentence.
    pub message: String,
    /// Whether nothing is wrong and nothing is waited for.
    pub well: bool,
    /// The object that was asked about, and everything that it waits for, directly or not. The first is the
    /// object itself; the others are in the order in which they were found.
    pub chain: Vec<Link>,
    /// The root causes, the most certain and most severe first.
    pub roots: Vec<Root>,
    /// Whether there was more than is looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_off: bool,
}

/// An object of the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// The object.
    #[serde(flatten)]
    pub state: State,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<Wait>,
}

/// How an object stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// The object.
    pub object: Option<ObjectRef>,
    /// The file of a project that it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Whether it doesn't exist.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// Whether it is being deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleting: bool,
    /// Its phase, or what it is doing, as one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Since when it is so (RFC 3339), as far as it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The last real error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Trouble>,
    /// When Landform tries again (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_retry: Option<String>,
}

/// Something that an object waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// Where in the chain it is.
    pub link: usize,
    /// The rule by which it is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why, in the words of the status or the view that says so.
    pub reason: String,
}

/// What went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Trouble {
    /// What was being done.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub operation: String,
    /// As one word.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// For people.
    pub message: String,
    /// Kinds of error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
    /// Since when.
    #[serde(rename = "lastTransitionTime", skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// How certain and severe a cause is; the first is the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Rank {
    /// It stays so until a person acts.
    Person,
    /// Something outside must change; Landform tries again by itself.
    Outside,
    /// It is being worked on.
    InWork,
}

/// Who must act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Who {
    /// A person.
    Person,
    /// Landform itself.
    Landform,
    /// A controller that is not Landform's.
    Controller,
}

/// A root cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Root {
    /// Where in the chain it is.
    pub link: usize,
    /// The object.
    pub object: ObjectRef,
    /// How certain and severe it is.
    pub rank: Rank,
    /// The rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// As one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What is wrong.
    pub message: String,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// When Landform tries again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_retry: Option<String>,
    /// Who must act.
    pub who: Who,
    /// What must be done.
    pub act: String,
}
