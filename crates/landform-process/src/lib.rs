//! Programs that Landform starts on this machine: which of them are ours, and how they end with all that they have
//! started, also when another Landform started them.
//!
//! Deployers and hooks share it. A program carries a [`Mark`] in its environment, which all that it starts inherits; a
//! [`StartLock`] covers the moment before it carries one; [`Identity`] and [`Handle`] see to it that a signal never
//! reaches a process that only has the number of one of ours; [`Group`] ends them.

mod environment;
mod group;
mod lock;
mod table;
mod user;

pub use environment::environment;
pub use group::{Group, StillRunning};
pub use lock::StartLock;
pub use table::{CALL, Handle, Identity, MARK, Mark, group_lives, leaders, watched};
pub use user::User;
