//! Room: how much the store may keep in memory, and who may use it.
//!
//! A quota has three parts: an eighth, at most 64 MiB, is for the history that watches resume from (the store itself
//! drops more), a tenth of the rest is a reserve for Landform's own writes, and what is left is for clients, also when
//! they write to objects that are being deleted. Only writes that make the store larger are refused, so that it heals by deletes.

use crate::error::{ApiError, Reason};
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
    fn own(self) -> u64 {
        self.bytes - self.history_bytes_max()
    }

    /// What objects may take when a client writes.
    fn clients(self) -> u64 {
        self.own() - self.own() / 10
    }

    /// What objects may take when this spender makes them larger.
    fn objects_bytes_max(self, spender: Spender) -> Option<u64> {
        match spender {
            Spender::Server => None,
            Spender::Client => Some(self.clients()),
            Spender::Own => Some(self.own()),
        }
    }

    /// Whether clients must expect refusals: an object of the largest size, or a sixteenth, doesn't fit any more.
    fn is_nearly_used_up(self, objects_bytes: u64) -> bool {
        let largest = (BODY_BYTES as u64).min(self.clients() / 16);
        objects_bytes + largest > self.clients()
    }
}

impl ApiServer {
    /// How large a write may leave the store; `None` without a limit.
    pub(crate) fn room(&self, spender: Spender) -> Option<u64> {
        let quota = self.shared.config.store_quota?;
        quota.objects_bytes_max(spender)
    }

    /// Says that the quota is used up, if it is.
    pub(crate) fn quota_problem(&self) -> Option<String> {
        let quota = self.shared.config.store_quota?;
        let bytes = self.shared.store.usage().records_bytes;
        quota.is_nearly_used_up(bytes).then(|| {
            format!(
                "objects take {bytes} of the {} bytes that clients may use: delete objects, or start the server with a larger --store-quota",
                quota.clients()
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
    use super::*;

    #[test]
    fn a_quota_leaves_room_for_history_and_for_landform_itself() {
        let quota = StoreQuota { bytes: 1 << 30 };
        assert_eq!(quota.history_bytes_max(), 64 << 20);
        let [clients, own] = [Spender::Client, Spender::Own]
            .map(|spender| quota.objects_bytes_max(spender).unwrap());
        assert!(clients < own && own + quota.history_bytes_max() == 1 << 30);
        assert_eq!(quota.objects_bytes_max(Spender::Server), None);
        assert!(!quota.is_nearly_used_up(clients / 2));
        assert!(quota.is_nearly_used_up(clients - 1000));
        assert_eq!(StoreQuota { bytes: 800 }.history_bytes_max(), 100);
    }
}
