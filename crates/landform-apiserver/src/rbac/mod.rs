//! Who may do what: Kubernetes' role-based access control.
//!
//! 1. [`Ask`] is what a request wants, taken from its path, method and query (`ask`).
//! 2. [`Rule`] is one rule of a role; it allows an ask, or covers another rule (`rule`).
//! 3. [`Index`] knows which rules each user and group has, and decides (`index`). Pure.
//! 4. `follow` keeps the index at the store's newest revision, so that a write that was acknowledged
//!    counts at the next request.
//! 5. `check` asks the index on behalf of the server; `impersonate` lets a caller be somebody else;
//!    `escalation` keeps callers from granting what they don't have.
//! 6. `defaults` are the roles that every server has; `aggregate` writes down what is gathered by labels.
//!
//! The group `system:masters` is let through before any of this is looked at.

mod aggregate;
mod ask;
mod check;
mod defaults;
mod escalation;
mod follow;
mod impersonate;
mod index;
mod rule;
#[cfg(test)]
mod tests;

pub(crate) use ask::{Action, Ask};
pub(crate) use follow::Follower;
pub(crate) use index::{Binding, Role, RoleKey};
pub(crate) use rule::Rule;

/// The API group of roles and bindings.
pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";
