//! Landscapes: installations with their executions and deploy items, on targets that a simulation can watch.
//!
//! Reading order: `wanted.rs` is how tests and plans write installations down, `target.rs` what exists
//! outside and `deployer.rs` who makes it, `world.rs` puts the controllers into a process, `state.rs` is what
//! two runs are compared by, `oracle.rs` what must never happen on the way, `plan.rs` makes random
//! scenarios and `run.rs` runs them; `weave.rs` makes those whose numbers tell where they come from (`versions.rs`).

mod deployer;
mod oracle;
mod plan;
mod run;
mod state;
mod target;
mod versions;
mod wanted;
mod weave;
mod world;

use landform_api::landscaper::{API_VERSION, GROUP};
use serde_json::{Value, json};

use crate::simulation::{Failure, Template};
use crate::user::ObjectName;

pub(crate) use state::landscape_state;

pub use plan::Plan;
pub use run::{run, run_woven};
pub use wanted::{Fate, Installation, Item};
pub use world::LandscapeWorld;

/// A disk on which the kinds of landscapes are known.
///
/// # Errors
/// When the server refuses one of them.
pub fn template() -> Result<Template, Failure> {
    Template::new(&landform_api::landscaper::definition::definitions())
}

/// The kinds that scenario files may name.
pub const KINDS: [(&str, &str); 4] = [
    (API_VERSION, "Installation"),
    (API_VERSION, "Execution"),
    (API_VERSION, "DeployItem"),
    (API_VERSION, "DataObject"),
];

/// Names an installation.
#[must_use]
pub fn installation_name(name: &str) -> ObjectName {
    name_of("Installation", name)
}

/// Names a data object.
#[must_use]
pub fn data_name(name: &str) -> ObjectName {
    name_of("DataObject", name)
}

fn name_of(kind: &str, name: &str) -> ObjectName {
    ObjectName {
        api_version: API_VERSION.into(),
        kind: kind.into(),
        namespace: "default".into(),
        name: name.into(),
    }
}

/// A data object that people write.
#[must_use]
pub fn data(name: &str, value: u64) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "DataObject",
        "metadata": {"name": name}, "data": value,
    })
}

/// Where the objects of a kind are stored.
fn bucket(kind: &str) -> String {
    format!("{}s.{GROUP}", kind.to_lowercase())
}
