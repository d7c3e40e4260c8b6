//! What can be seen of items' processes on this machine, for people who look from elsewhere.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::local::is_inside;
use crate::process::seen;

/// The processes in Landform's data directory.
#[derive(Clone, Debug)]
pub struct Processes {
    directory: PathBuf,
}

impl Processes {
    /// Those of the deployer that keeps what belongs to it in this directory.
    #[must_use]
    pub fn new(data_directory: impl AsRef<Path>) -> Self {
        Self {
            directory: data_directory.as_ref().join("processes"),
        }
    }

    /// How the processes of an item do, on a runtime; `None` when nothing is kept of it here.
    #[must_use]
    pub fn of(&self, uid: &str) -> Option<Value> {
        let directory = self.directory.join(uid);
        if !is_inside(uid) || uid.contains('/') || !directory.join("state.json").exists() {
            return None;
        }
        let (facts, restarts, stopped) = seen(directory, uid);
        Some(json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "Processes",
            "pids": facts.pids, "sinceMs": facts.since_ms, "user": facts.user,
            "memoryBytes": facts.memory_bytes, "processorMs": facts.processor_ms,
            "ports": facts.ports, "restarts": restarts, "stopped": stopped,
        }))
    }
}
