//! Bearer tokens: those of service accounts, signed by a key of the server, and a few that are given.
//!
//! 1. `key` signs and verifies: a JSON web token with an elliptic curve signature (ES256).
//! 2. `claims` is what a token says: whose it is, for whom, how long, and what it is bound to.
//! 3. `accounts` issues tokens (`serviceaccounts/NAME/token`) and finds out who a token speaks for.
//!
//! A token is worth something only as long as the service account that it was issued for is there: the
//! account is looked up with every request.

mod accounts;
mod claims;
mod key;

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

pub use key::{TokenKey, TokenKeyError};

use crate::identity::Identity;
use claims::Claims;

/// A token that stands for somebody as long as the server runs. Its text is never printed.
#[derive(Clone)]
pub struct StaticToken {
    token: String,
    identity: Identity,
}

impl StaticToken {
    /// Whoever sends this token is this user.
    #[must_use]
    pub fn new(token: impl Into<String>, identity: Identity) -> Self {
        Self {
            token: token.into(),
            identity,
        }
    }

    /// Who sent this token. It takes the same time however much of it is right.
    fn identity(&self, token: &str) -> Option<&Identity> {
        let pairs = token.bytes().zip(self.token.bytes());
        let difference = pairs.fold(0, |found, (a, b)| found | (a ^ b));
        let is_same = token.len() == self.token.len() && difference == 0;
        (is_same && !token.is_empty()).then_some(&self.identity)
    }
}

impl std::fmt::Debug for StaticToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StaticToken")
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

/// So many tokens are remembered as verified.
const REMEMBERED: usize = 4096;

/// What the server knows of tokens while it runs.
#[derive(Default)]
pub(crate) struct Tokens {
    /// Made when nobody gave one.
    own_key: OnceLock<Option<Arc<TokenKey>>>,
    /// Tokens whose signature was right, by their hash: verifying costs more than the rest of a small request.
    verified: Mutex<HashMap<[u8; 32], Arc<Claims>>>,
}
