//! The Kubernetes API for any kind, generic over a store.
//!
//! The way of a request: [`server`] knows who asks ([`identity`], [`tokens`]) and how much is under way,
//! [`rbac`] says whether they may, [`request`] takes path, query, headers and body apart, [`verbs`] carries it
//! out on [`registry`]'s kinds, and the store keeps the result. Objects are data ([`object`]): one way for
//! every kind, with a schema for its fields and a few rules of its own ([`kinds`]) where Kubernetes has them.
//!
//! # Guarantees
//! - A write is acknowledged only after the store has made it durable; it is whole or not at all.
//! - Optimistic concurrency: a write based on an outdated resourceVersion gets 409 and changes nothing (C4).
//! - A deletion mark is never undone; an object goes when its last finalizer does (G2, G3).
//! - Nothing that a client sends can crash the server: bodies, depths, patches and requests are limited.

mod answers;
mod audit;
pub mod body;
mod custom_kinds;
mod dependents;
mod discovery;
pub mod environment;
pub mod error;
mod health;
mod heavy;
mod identity;
mod kinds;
mod lanes;
mod lifecycle;
mod local;
mod metrics;
mod object;
mod quotas;
mod rbac;
mod registry;
mod request;
mod respond;
mod room;
mod selector;
mod server;
mod shares;
mod table;
mod tokens;
mod uids;
mod verbs;
mod view;

pub use audit::{AuditLevel, AuditLog, AuditOptions, PeerAddress};
pub use body::Body;
pub use identity::{AUTHENTICATED, Identity, MASTERS};
pub use lifecycle::UNDELETABLE;
pub use local::LocalService;
pub use object::oversized::{Remark, remark};
pub use registry::SECRETS;
pub use request::query::Query;
pub use room::StoreQuota;
pub use server::{ApiServer, Config};
pub use tokens::{StaticToken, TokenKey, TokenKeyError};
pub use view::View;
