//! Bodies in the protobuf form of Kubernetes, read into the JSON that the client would have sent.
//!
//! kubectl and all typed Go clients write built-in kinds as `application/vnd.kubernetes.protobuf`:
//! the four bytes `k8s\0`, then a message `runtime.Unknown` that names the kind and holds the
//! object's own bytes. [`decode`] turns that into one JSON object, so that nothing behind it has to
//! know of protobuf.
//!
//! Flow:
//! 1. `envelope` takes off the prefix and reads kind, encoding and the object's bytes;
//! 2. `table` knows for each kind its fields: number, JSON name, type, and how Go holds them;
//! 3. `message` walks the bytes along the table; `special` reads the types that have a JSON form of
//!    their own (times, quantities, raw JSON, …); `wire` is protobuf itself.
//!
//! # What is left out
//! Go's protobuf writes fields that are no pointers even when they are zero, where its JSON leaves
//! them out (`omitempty`). So a zero in a plain field is dropped, a zero behind a pointer is kept
//! (`replicas: 0`), and so is a zero that JSON always writes (`served: false` in a CRD's version).
//! A struct that holds nothing but zeros is dropped, except where JSON always writes it and it may
//! mean something (`podSelector: {}`). `null` is never written, except in raw JSON.
//!
//! # The table
//! `messages.txt` is a list of facts about Kubernetes 1.36 (a superset of 1.34; a field that the
//! server does not know is treated as it would be in JSON). It was made by a script that joined the
//! field numbers and types of each `generated.proto` with the Go types and `json` tags of the
//! struct of the same name. Two ignored tests in `tests/protobuf/facts.rs` check it: one compares all
//! numbers, names and types with the sources of the crate `k8s-pb`, the other decodes the objects
//! with every field filled that Kubernetes keeps for its own round-trip tests (`testdata` in
//! `k8s.io/api`, which Debian packages as `golang-k8s-api-dev`) and compares them with their JSON.
//!
//! # Guarantees
//! No bytes make it panic; nesting and the number of values are limited; unknown fields are skipped.
//! The size of the body is the caller's to limit.

mod envelope;
mod error;
mod message;
mod special;
mod table;
mod wire;

pub use error::{Error, Problem};
pub use table::{Field, Label, Message, Table, TableError, Type};

use serde_json::Value;

/// Objects and lists may stand inside each other so deep.
pub const DEPTH: usize = 100;
/// A body may have this many cells: 8 for a message, because a map takes that much memory however little is in it, and 1
/// for any other value.
pub const CELLS: usize = 500_000;
/// What a message counts, beside what is in it.
pub(crate) const MESSAGE_CELLS: usize = 8;

/// Decodes a body in the protobuf form of Kubernetes to the JSON object that the same client would
/// have sent as JSON, with `apiVersion` and `kind`.
///
/// # Errors
/// When the body is not of that form, is of a kind that the table does not have, or passes a limit.
pub fn decode(body: &[u8]) -> Result<Value, Error> {
    envelope::open(body)?.object()
}
