//! What a Compose file says, as far as it means something here.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// What the project is called.
    pub(crate) name: String,
    pub(crate) services: Vec<Service>,
    /// Named volumes.
    pub(crate) volumes: Vec<String>,
    /// Secrets, by name.
    pub(crate) secrets: BTreeMap<String, String>,
    /// Configurations, by name.
    pub(crate) configs: BTreeMap<String, String>,
    /// Profiles that services name.
    pub(crate) profiles: Vec<String>,
}

/// A service.
#[derive(Debug, Default)]
pub(crate) struct Service {
    /// What objects are called that it becomes.
    pub(crate) name: String,
    /// The program and its arguments; empty when only an image has them.
    pub(crate) command: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    /// Variables that say where named volumes are, and these.
    pub(crate) volumes: BTreeMap<String, String>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) user: Option<String>,
    /// Ports that the program itself listens on.
    pub(crate) ports: Vec<u16>,
    pub(crate) health: Option<Health>,
    /// Services that must be there first, by the names of their objects.
    pub(crate) needs: Vec<String>,
    /// Those of them that must have ended.
    pub(crate) needs_end: Vec<String>,
    /// Whether others wait for its end, and not for its readiness.
    pub(crate) ends: bool,
    pub(crate) restart: Restart,
    pub(crate) stop_signal: Option<String>,
    pub(crate) stop_grace: Option<String>,
    pub(crate) configs: Vec<Mounted>,
    pub(crate) secrets: Vec<Mounted>,
    pub(crate) profiles: Vec<String>,
}

/// A configuration or secret that a service gets as a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mounted {
    /// Its name in the Compose file.
    pub(crate) source: String,
    /// The name of the file.
    pub(crate) file: String,
}

/// How its health is looked at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) command: Vec<String>,
    pub(crate) interval: Option<String>,
    /// How long it may take until it is healthy.
    pub(crate) timeout_seconds: u64,
}

/// When it is started again.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Restart {
    /// Compose's default.
    #[default]
    Never,
    Always,
    OnFailure {
        most: Option<u64>,
    },
}
