//! What a deploy item of type `landform.dev/process` says, as `docs/deployers/process.md` describes it.

use std::collections::BTreeMap;
use std::time::Duration;

use landform_api::jsonpath::JsonPath;
use regex::Regex;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::access::Access;
use crate::local::{Files, Hidden};

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Configuration {
    pub(crate) launch: Launch,
    pub(crate) restart: Restart,
    pub(crate) readiness: Option<Readiness>,
    pub(crate) liveness: Option<Liveness>,
    pub(crate) stop: Stop,
    pub(crate) logs: Logs,
    pub(crate) exports: BTreeMap<String, Export>,
    pub(crate) replace: Replace,
}

impl Configuration {
    /// How often it is asked whether the process is ready, and its exports are there.
    pub(crate) fn interval(&self) -> Duration {
        let readiness = self.readiness.as_ref();
        readiness.map_or(Duration::from_secs(1), |readiness| readiness.interval)
    }

    /// For how long.
    pub(crate) fn patience(&self) -> Duration {
        let readiness = self.readiness.as_ref();
        readiness.map_or(Duration::from_secs(60), |readiness| readiness.timeout)
    }
}

/// What a process is made of: only when this changes must it be replaced.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Launch {
    /// The program and its arguments.
    pub(crate) command: Hidden<Vec<String>>,
    pub(crate) environment: Hidden<BTreeMap<String, String>>,
    pub(crate) working_directory: Option<String>,
    pub(crate) files: Files,
    /// The user of the system that it runs as; none: Landform's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    /// Left out of the hash when there is none, so that it is what it was before there was access.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) access: Option<Access>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Always,
    OnFailure,
    Never,
}

/// What follows when the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Restart {
    pub(crate) policy: Policy,
    /// The first wait; each further one in a row is twice as long.
    pub(crate) backoff: Duration,
    /// The longest wait, and how long it must have been up to count as recovered.
    pub(crate) backoff_limit: Duration,
    /// How many restarts in a row are tried.
    pub(crate) limit: u64,
}

/// How it is found out that the process is ready.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Readiness {
    pub(crate) probe: Probe,
    pub(crate) interval: Duration,
    pub(crate) timeout: Duration,
}

/// How it is found out that a process which was ready still does its work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Liveness {
    pub(crate) probe: Probe,
    pub(crate) interval: Duration,
    /// After so many failures in a row the process is ended, and what follows is as if it had ended by itself.
    pub(crate) failures: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum Probe {
    Http {
        host: String,
        port: u16,
        path: Hidden<String>,
        status: Option<u16>,
    },
    Tcp {
        host: String,
        port: u16,
    },
    Exec {
        command: Hidden<Vec<String>>,
    },
    Log {
        pattern: Regex,
    },
}

impl PartialEq for Probe {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Http {
                    host,
                    port,
                    path,
                    status,
                },
                Self::Http {
                    host: host2,
                    port: port2,
                    path: path2,
                    status: status2,
                },
            ) => (host, port, path, status) == (host2, port2, path2, status2),
            (
                Self::Tcp { host, port },
                Self::Tcp {
                    host: host2,
                    port: port2,
                },
            ) => (host, port) == (host2, port2),
            (Self::Exec { command }, Self::Exec { command: command2 }) => command == command2,
            (Self::Log { pattern }, Self::Log { pattern: pattern2 }) => {
                pattern.as_str() == pattern2.as_str()
            }
            (Self::Http { .. } | Self::Tcp { .. } | Self::Exec { .. } | Self::Log { .. }, _) => {
                false
            }
        }
    }
}

/// How the process is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stop {
    /// The number of the first signal.
    signal: i32,
    grace_ms: u64,
}

impl Stop {
    pub(crate) fn new(signal: Signal, grace: Duration) -> Self {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        Self {
            signal: signal.as_raw(),
            grace_ms,
        }
    }

    pub(crate) fn signal(self) -> Signal {
        Signal::from_named_raw(self.signal).unwrap_or(Signal::TERM)
    }

    pub(crate) fn grace(self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }
}

/// How much of what it writes is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Logs {
    pub(crate) max_bytes: u64,
    /// How many files there are besides the one that is written.
    pub(crate) max_files: u64,
}

/// Where an exported value comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Export {
    Static(Hidden<Value>),
    File {
        path: String,
        select: Option<JsonPath>,
    },
    Probe {
        select: JsonPath,
    },
}

impl Export {
    /// Whether it may be another one after a restart.
    pub(crate) fn changes(&self) -> bool {
        !matches!(self, Self::Static(_))
    }
}

/// In which order a process is replaced by its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replace {
    StopFirst,
    StartFirst,
}
