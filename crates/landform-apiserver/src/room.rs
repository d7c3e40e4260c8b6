//! Room: how much the store may keep in memory, and who may use it.
//!
//! A quota has three parts: an eighth, at most 64 MiB, is for the history that watches resume from (the store itself
//! drops more), a tenth of the rest is a reserve, and what is left is for content, also of objects that are being deleted,
//! and whoever writes it: what Landform makes for an object is asked for by the object's writer. The reserve is for what
//! Landform says of objects: half of it for status and metadata of all of them, the other half only for those that are
//! being deleted, so that each deletion comes to its end. Only writes that make the store larger are refused, so that
//! it heals by deletes.

use crate::error::{ApiError, Reason};
use crate::object::{Object, meta, rules};
use crate::request::decode::BODY_BYTES;
use crate::server::ApiServer;

/// The history never needs more than this.
const HISTORY_BYTES_MAX: u64 = 64 << 20;

/// Who writes, as far as room goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spender {
    /// The server, for itself or to carry out a delete: never refused.
    Server,
    /// A part of Landform.
    Own,
    /// Anybody else.
    Client,
}

/// Status and metadata of an object with at most this many bytes may use the reserve: what is larger is made of what a
/// template, a hook or a client gave.
const SAID_BYTES_MAX: usize = 32 << 10;

/// What a write makes larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Growth {
    /// Anything, as far as clients may: a new object, another content, or a large status.
    Content,
    /// What Landform says of an object.
    Said,
    /// What Landform says of an object that is being deleted.
    Ending,
    /// Whatever it is: the server carries out a delete, or does its own.
    Free,
}

impl Growth {
    /// What a change of an object makes larger.
    pub(crate) fn of_change(spender: Spender, old: &Object, object: &Object) -> Self {
        match spender {
            Spender::Server => Self::Free,
            Spender::Client => Self::Content,
            Spender::Own if !rules::same_spec(object, old) => Self::Content,
            Spender::Own if said_bytes(object) > SAID_BYTES_MAX => Self::Content,
            Spender::Own if meta::is_marked(old) => Self::Ending,
            Spender::Own => Self::Said,
        }
    }

    /// What a new object makes larger.
    pub(crate) fn of_creation(spender: Spender) -> Self {
        match spender {
            Spender::Server => Self::Free,
            Spender::Own | Spender::Client => Self::Content,
        }
    }
}

/// How many bytes of an object are no content.
fn said_bytes(object: &Object) -> usize {
    let parts = ["metadata", "status"].map(|part| object.get(part));
    let parts = parts.into_iter().flatten();
    parts.map(|part| part.to_string().len()).sum()
}

/// The parts of a quota, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreQuota {
    /// For everything.
    pub bytes: u64,
}

impl StoreQuota {
    /// What the history may take.
    #[must_use]
    pub fn history_bytes_max(self) -> u64 {
        (self.bytes / 8).min(HISTORY_BYTES_MAX)
    }

    /// What objects may take, the reserve included.
    fn all(self) -> u64 {
        self.bytes - self.history_bytes_max()
    }

    /// What objects may take when their content grows.
    fn content(self) -> u64 {
        self.all() - self.all() / 10
    }

    /// What objects may take when a write makes them larger.
    fn objects_bytes_max(self, growth: Growth) -> Option<u64> {
        match growth {
            Growth::Content => Some(self.content()),
            Growth::Said => Some(self.all() - self.all() / 20),
            Growth::Ending => Some(self.all()),
            Growth::Free => None,
        }
    }

    /// Whether clients must expect refusals: an object of the largest size, or a sixteenth, doesn't fit any more.
    fn is_nearly_used_up(self, objects_bytes: u64) -> bool {
        let largest = (BODY_BYTES as u64).min(self.content() / 16);
        objects_bytes + largest > self.content()
    }
}

impl ApiServer {
    /// How large a write may leave the store; `None` without a limit.
    pub(crate) fn room(&self, growth: Growth) -> Option<u64> {
        let quota = self.shared.config.store_quota?;
        quota.objects_bytes_max(growth)
    }

    /// Says that the quota is used up, if it is.
    pub(crate) fn quota_problem(&self) -> Option<String> {
        let quota = self.shared.config.store_quota?;
        let bytes = self.shared.store.usage().records_bytes;
        quota.is_nearly_used_up(bytes).then(|| {
            format!(
                "objects take {bytes} of the {} bytes that clients may use: delete objects, or start the server with a larger --store-quota",
                quota.content()
            )
        })
    }
}

/// 507 for a write that there is no room for.
pub(crate) fn full(bytes: u64, bytes_max: u64) -> ApiError {
    ApiError::new(
        Reason::InsufficientStorage,
        format!(
            "the store is full: its objects take {bytes} bytes, and this write would make them larger than {bytes_max}: \
             delete objects that are not needed, or start the server with a larger --store-quota; \
             deletes and updates that make objects smaller go on"
        ),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_quota_leaves_room_for_history_and_for_what_landform_says() {
        let quota = StoreQuota { bytes: 1 << 30 };
        assert_eq!(quota.history_bytes_max(), 64 << 20);
        let [content, said, ending] = [Growth::Content, Growth::Said, Growth::Ending]
            .map(|growth| quota.objects_bytes_max(growth).unwrap());
        assert!(content < said && said < ending);
        assert_eq!(ending + quota.history_bytes_max(), 1 << 30);
        assert_eq!(quota.objects_bytes_max(Growth::Free), None);
        assert!(!quota.is_nearly_used_up(content / 2));
        assert!(quota.is_nearly_used_up(content - 1000));
        assert_eq!(StoreQuota { bytes: 800 }.history_bytes_max(), 100);
    }

    #[test]
    fn only_what_landform_says_of_an_object_may_use_the_reserve() {
        let object = |value: serde_json::Value| -> Object {
            let serde_json::Value::Object(object) = value else {
                panic!("{value}");
            };
            object
        };
        let living = object(json!({"metadata": {"name": "a"}, "spec": {"size": 1}}));
        let going = object(json!({
            "metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"size": 1},
        }));
        let with = |old: &Object, part: &str, value: serde_json::Value| {
            let mut object = old.clone();
            object.insert(part.to_owned(), value);
            object
        };
        let small = json!({"phase": "Failed"});
        let large = json!({"state": "x".repeat(SAID_BYTES_MAX)});
        let content = json!({"size": 2});
        let rows = [
            (Spender::Own, &living, "status", &small, Growth::Said),
            (Spender::Own, &going, "status", &small, Growth::Ending),
            (Spender::Own, &living, "status", &large, Growth::Content),
            (Spender::Own, &going, "status", &large, Growth::Content),
            (Spender::Own, &living, "spec", &content, Growth::Content),
            (Spender::Own, &going, "spec", &content, Growth::Content),
            (Spender::Client, &living, "status", &small, Growth::Content),
            (Spender::Client, &going, "status", &small, Growth::Content),
            (Spender::Server, &going, "spec", &content, Growth::Free),
        ];
        for (spender, old, part, value, expected) in rows {
            let grown = Growth::of_change(spender, old, &with(old, part, value.clone()));
            assert_eq!(grown, expected, "{spender:?} {part}");
        }
        assert_eq!(Growth::of_creation(Spender::Own), Growth::Content);
        assert_eq!(Growth::of_creation(Spender::Server), Growth::Free);
    }
}
