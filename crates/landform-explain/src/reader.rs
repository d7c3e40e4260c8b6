//! What must be read to explain something, as a trait: the same explanation works in the server and against
//! any cluster.

use futures::future::BoxFuture;
use landform_engine::custom_kinds::CustomKinds;
use serde_json::Value;

use crate::object::{KindRef, ObjectRef};

/// Why something can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The API knows no such kind.
    #[error("the API knows no kind {kind} in the group {group:?}: is its definition installed?")]
    NoSuchKind {
        /// The group.
        group: String,
        /// The kind.
        kind: String,
    },
    /// The object doesn't exist, so there is nothing to explain.
    #[error("{0} doesn't exist: there is nothing to explain")]
    NotFound(String),
    /// The caller may not read it.
    #[error("{0} can't be shown: the right to read it is missing")]
    Forbidden(String),
    /// The API refuses or can't be reached.
    #[error("{0} can't be read: {1}")]
    Failed(String, String),
}

/// Objects of a kind, as far as they were listed.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// The objects.
    pub items: Vec<Value>,
    /// Whether there are no more.
    pub complete: bool,
}

/// Reads what explanations are made from.
pub trait Reader: Send + Sync {
    /// A kind by its group and name.
    fn kind<'a>(
        &'a self,
        group: &'a str,
        kind: &'a str,
    ) -> BoxFuture<'a, Result<KindRef, ReadError>>;

    /// An object; `None` when it doesn't exist.
    fn get<'a>(&'a self, object: &'a ObjectRef) -> BoxFuture<'a, Result<Option<Value>, ReadError>>;

    /// The objects of a kind in a namespace, or in all; at most `limit`.
    fn list<'a>(
        &'a self,
        kind: &'a KindRef,
        namespace: Option<&'a str>,
        labels: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Listed, ReadError>>;

    /// What the engine says of an object (`landform_engine::view::ObjectView` as JSON); `None` when there is no
    /// engine to ask, or it doesn't know the object.
    fn engine<'a>(&'a self, object: &'a ObjectRef) -> BoxFuture<'a, Option<Value>>;

    /// What the collector says of a deletion; `None` when there is no collector to ask.
    fn deletion<'a>(&'a self, object: &'a ObjectRef) -> BoxFuture<'a, Option<Value>>;

    /// The references that the engine has found, in a namespace or in all; none when there is no engine to ask.
    fn references<'a>(
        &'a self,
        namespace: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<(ObjectRef, ObjectRef)>>;

    /// The custom kinds, with what is stored of those that aren't served; none when the API can't tell.
    fn custom_kinds(&self) -> BoxFuture<'_, CustomKinds>;

    /// Since when an object has its phase, as far as somebody has watched it.
    fn phase_since(&self, object: &ObjectRef) -> Option<String> {
        let _ = object;
        None
    }
}
