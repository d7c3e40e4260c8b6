//! Shares: how much of something that is counted, not queued for, each user holds.
//!
//! Open watches, the bytes of large bodies and those of answers that were not read are held for as long as a client likes. One user may hold so much of them,
//! all users together so much; who asks for more is refused at once. The server's own parts have no limit.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::{ApiError, Reason};
use crate::identity::Identity;

/// One user may have this many watches open.
pub(crate) const WATCHES_MAX: usize = 2_000;
/// Large bodies of one user may have this many bytes.
const USER_BODY_BYTES: usize = 64 << 20;
/// Large bodies may have this many bytes.
const ALL_BODY_BYTES: usize = 256 << 20;

/// Answers of one user that have not been read may have this many bytes.
const USER_ANSWER_BYTES: usize = 128 << 20;
/// All answers that have not been read may.
const ALL_ANSWER_BYTES: usize = 512 << 20;

/// What users hold of one thing.
#[derive(Clone)]
pub(crate) struct Shares(Arc<Held>);

struct Held {
    user_max: usize,
    all_max: usize,
    users: Mutex<BTreeMap<String, usize>>,
}

/// What one request holds, until it is dropped.
pub(crate) struct Share {
    of: Shares,
    user: String,
    limited: bool,
    amount: usize,
}

impl Shares {
    fn new(user_max: usize, all_max: usize) -> Self {
        Self(Arc::new(Held {
            user_max,
            all_max,
            users: Mutex::default(),
        }))
    }

    /// Open watches.
    pub(crate) fn of_watches() -> Self {
        Self::new(WATCHES_MAX, usize::MAX)
    }

    /// Bytes of large bodies.
    pub(crate) fn of_bodies() -> Self {
        Self::new(USER_BODY_BYTES, ALL_BODY_BYTES)
    }

    /// Bytes of answers that have not been read.
    pub(crate) fn of_answers() -> Self {
        Self::new(USER_ANSWER_BYTES, ALL_ANSWER_BYTES)
    }

    /// A share of a user's that is still empty.
    pub(crate) fn of(&self, identity: &Identity) -> Share {
        Share {
            of: self.clone(),
            user: identity.counted_as().into_owned(),
            limited: !identity.is_internal(),
            amount: 0,
        }
    }

    /// Counts a watch of a user; 429 when there are too many.
    pub(crate) fn open_watch(&self, identity: &Identity) -> Result<Share, ApiError> {
        let mut share = self.of(identity);
        if share.grow(1) {
            return Ok(share);
        }
        let user = &share.user;
        Err(ApiError::new(
            Reason::TooManyRequests,
            format!("{user} has {WATCHES_MAX} watches open, and no more are allowed: end some"),
        )
        .retry_after(1))
    }
}

impl Share {
    /// How much it is.
    #[cfg(test)]
    pub(crate) fn amount(&self) -> usize {
        self.amount
    }

    /// Takes more; false, and nothing changes, when there is no more to take.
    pub(crate) fn grow(&mut self, by: usize) -> bool {
        let held = &self.of.0;
        let mut users = held.users.lock();
        let own = users.get(&self.user).copied().unwrap_or(0) + by;
        // Users are few: those who hold something at this moment.
        let all = users.values().sum::<usize>() + by;
        // Of a user who holds nothing else, one thing may be larger than the share.
        let is_over = own > held.user_max && own > by;
        // The last eighth is for users who hold little, so that few who hold much don't shut the others out.
        let holds_little = own <= held.user_max / 16;
        let all_max = held.all_max - if holds_little { 0 } else { held.all_max / 8 };
        if self.limited && (is_over || all > all_max) {
            return false;
        }
        users.insert(self.user.clone(), own);
        self.amount += by;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.amount == 0 {
            return;
        }
        let mut users = self.of.0.users.lock();
        if let Some(held) = users.get_mut(&self.user) {
            *held -= self.amount;
            if *held == 0 {
                users.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_of_a_namespace_have_one_share() {
        let shares = Shares::new(3, 100);
        let mut first = shares.of(&Identity::service_account("shop", "a"));
        let mut second = shares.of(&Identity::service_account("shop", "b"));
        let mut elsewhere = shares.of(&Identity::service_account("bank", "a"));
        assert!(first.grow(2));
        assert!(!second.grow(2), "three at most for both");
        assert!(elsewhere.grow(3));
    }

    #[test]
    fn who_holds_little_gets_the_last_eighth() {
        let shares = Shares::new(32, 64);
        let user = |name: &str| Identity::new(name, ["tenants"]);
        let mut greedy: Vec<_> = ["a", "b"].map(|name| shares.of(&user(name))).into();
        assert!(greedy[0].grow(32));
        assert!(!greedy[1].grow(32));
        assert!(greedy[1].grow(24));
        let mut modest = shares.of(&user("c"));
        assert!(modest.grow(2));
        assert!(!modest.grow(1), "that is no longer little");
    }

    #[test]
    fn a_user_has_a_limit_and_all_users_have_one() {
        let shares = Shares::new(3, 5);
        let user = |name: &str| Identity::new(name, ["tenants"]);
        let mut first = shares.of(&user("a"));
        assert!(first.grow(2));
        let mut second = shares.of(&user("a"));
        assert!(!second.grow(2), "three at most");
        assert!(second.grow(1));
        let mut other = shares.of(&user("b"));
        assert!(!other.grow(3), "five at most");
        assert!(other.grow(2));
        let mut own = shares.of(&Identity::internal());
        assert!(own.grow(100));
        drop((first, own));
        assert!(second.grow(2));
        drop((second, other));
        assert!(shares.0.users.lock().is_empty());
    }
}
