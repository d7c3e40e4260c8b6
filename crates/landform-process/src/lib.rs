//! Programs that Landform starts on this machine: which of them are ours, and how they end with all that they have
//! started, also when another Landform started them.
//!
//! Deployers and hooks share it. A program carries a [`Mark`] in its environment, which all that it starts inherits; a
//! [`StartLock`] covers the moment before it carries one; [`Identity`] and [`Handle`] see to it that a signal never
//! reaches a process that only has the number of one of ours; [`Group`] ends them. Where control groups can be used a
//! program runs in a [`Cgroup`] of its own, which nothing that it starts leaves; [`launcher`] brings it there before it
//! begins. [`Facts`] says for people how a program and what it has started do.

mod cgroup;
mod environment;
mod facts;
mod group;
pub mod launcher;
mod lock;
mod table;
mod user;

pub use cgroup::{Cgroup, Cgroups};
pub use environment::environment;
pub use facts::Facts;
pub use group::{Group, StillRunning};
pub use lock::StartLock;
pub use table::{CALL, Handle, Identity, MARK, Mark, group_lives, leaders, watched};
pub use user::User;
