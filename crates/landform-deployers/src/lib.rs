//! What brings deploy items to their targets.
//!
//! A deploy item is handed out by its execution and taken up by the deployer of its type. [`Deployer`] is what
//! somebody writes to have a type of his own in Rust; in another language the API is enough
//! (`docs/writing-a-deployer.md`). [`DeployItems`] keeps the contract for all of them: it takes items up,
//! calls the deployer, writes status and exports, and watches over items whose deployer is somewhere else.

pub mod command;
mod deployer;
pub mod foresee;
mod items;
mod limited;
mod local;
pub mod logs;
pub mod manifest;
pub mod mock;
pub mod process;
pub mod processes;
mod secrets;
mod target_sync;

pub use deployer::{DeployError, Deployed, Deployer, Job, Kept, ResolvedTarget, Wake};
pub use items::DeployItems;
pub use limited::Limited;
pub use target_sync::TargetSyncs;
