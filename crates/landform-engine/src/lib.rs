//! Runs reconcilers in the order of the graph of references, against any Kubernetes API.
//!
//! A [`Reconciler`] serves one kind: it says what its objects refer to, and brings one object at a time to
//! where it should be. The engine decides when: `landform-schedule` is the machine that knows the rules
//! R2–R13, this crate is the shell around it. Everything goes through a `kube::Client`, so it makes no
//! difference whether the API is in this process or is a cluster's.
//!
//! # How data flows
//! ```text
//! source (one per kind: list, then watch) ──┐
//! run's client (its own writes)  ───────────┤ inbox ──▶ driver ──▶ machine ──▶ commands
//! run (has returned)  ──────────────────────┤            │                      │
//! people (asked for, status)  ──────────────┘            └── timers ◀───────────┤
//!                                                            runs   ◀───────────┘
//! ```
//! One task, the driver, owns the machine and all that belongs to it; nothing is locked. All that arrives
//! goes through one inbox in the order in which it happened, and whatever is in there when the driver
//! looks is one step of the machine.
//!
//! # Guarantees
//! - A run starts with a fresh read of its object and of what that refers to (R10).
//! - Own writes neither cancel a run nor bring another one (R5), whichever way the answer and the watch
//!   race: the client that a run is given reports its writes before they are sent.
//! - A panic is an error of that object. A run that ignores cancellation is reported and holds back only
//!   its relatives (R9).
//! - After a restart everything is looked at once; a lost watch is resumed, or listed anew and compared.

mod acting;
mod authorship;
mod client;
mod clock;
mod content;
mod context;
pub mod custom_kinds;
mod cycle;
pub mod definitions;
mod denied;
mod driver;
mod echoes;
mod engine;
mod errors;
mod fetch;
pub mod hooks;
mod intake;
mod key;
mod kinds;
mod large;
mod merge;
mod message;
mod metrics;
mod provisions;
mod read;
mod reconciler;
mod recorder;
mod references;
mod relatives;
mod resources;
mod run;
mod runs;
mod sighted;
mod source;
mod standing;
mod timers;
mod times;
mod trace;
pub mod view;

pub use acting::{Actor, Right, RightsLater};
pub use authorship::Change;
pub use clock::{Clock, SystemClock, read_time, write_time};
pub use content::{content_of_all, content_of_spec};
pub use context::{Context, Referred};
pub use denied::{Denied, RIGHTS_RECHECK};
pub use engine::{Builder, Engine, EngineError, StartError};
pub use errors::{CONDITION_RECONCILED, ConditionFields, ErrorPlace};
pub use fetch::fetch;
pub use key::Key;
pub use landform_schedule::{Phase, Reason, RunId};
pub use read::ReadError;
pub use reconciler::{Failure, Order, Outcome, Provision, Reconciler, Ref, Related};
pub use recorder::EventType;
pub use references::Reference;
pub use trace::{Observer, RunResult, TraceEntry, TraceEvent};
