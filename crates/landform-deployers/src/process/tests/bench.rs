//! A data directory with a deployer that can be lost and made anew, as when Landform is restarted.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::local::{Group, Handle, Identity, Mark};
use crate::process::ProcessDeployer;
use crate::process::config::Configuration;
use crate::process::record::{Instance, Record};
use crate::process::rollout::{Report, Slot, Troubles};
use crate::process::supervisor::Notify;
use crate::{DeployError, Kept};

pub(super) const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Bench {
    pub(super) data: TempDir,
    pub(super) deployer: ProcessDeployer,
    pub(super) uid: String,
    sender: mpsc::UnboundedSender<()>,
    wakes: mpsc::UnboundedReceiver<()>,
}

impl Bench {
    pub(super) fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let (sender, wakes) = mpsc::unbounded_channel();
        Self {
            deployer: ProcessDeployer::new(data.path()),
            uid: uuid::Uuid::new_v4().to_string(),
            data,
            sender,
            wakes,
        }
    }

    pub(super) fn slot(&self) -> Arc<Slot> {
        self.deployer.slot(&self.uid).unwrap()
    }

    fn notify(&self) -> Notify {
        let sender = self.sender.clone();
        Arc::new(move || {
            let _ = sender.send(());
        })
    }

    pub(super) async fn try_deploy(&self, config: Value) -> Result<Report, DeployError> {
        let (troubles, _) = mpsc::unbounded_channel();
        self.try_deploy_telling(config, troubles).await
    }

    pub(super) async fn try_deploy_telling(
        &self,
        config: Value,
        troubles: Troubles,
    ) -> Result<Report, DeployError> {
        let configuration = Configuration::read(Some(&config))?;
        let slot = self.slot();
        let deployed = slot.deploy(configuration, self.notify(), troubles).await;
        if let Err(error) = &deployed {
            assert!(!error.message.contains("canary"), "{}", error.message);
        }
        deployed
    }

    /// Deploys, and gives the process.
    pub(super) async fn deploy(&self, config: Value) -> Identity {
        let report = self.try_deploy(config).await.unwrap();
        report.instance.unwrap().process.unwrap()
    }

    pub(super) async fn keep(&self, config: Value) -> Result<Kept, DeployError> {
        let configuration = Configuration::read(Some(&config)).unwrap();
        self.slot().keep(configuration, self.notify()).await
    }

    pub(super) async fn remove(&self) {
        self.deployer.take_away(&self.uid).await.unwrap();
    }

    /// Landform ends, without a word, and starts again.
    pub(super) fn restart(&mut self) {
        self.deployer = ProcessDeployer::new(self.data.path());
    }

    /// From now on as on a machine without control groups.
    pub(super) fn without_cgroups(&mut self) {
        self.deployer = ProcessDeployer::new(self.data.path()).without_cgroups();
    }

    pub(super) async fn woken(&mut self) {
        let woken = timeout(PATIENCE, self.wakes.recv()).await;
        woken.expect("nobody asked for a call").unwrap();
    }

    pub(super) fn directory(&self) -> PathBuf {
        self.data.path().join("processes").join(&self.uid)
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.directory().join(path)).unwrap_or_default()
    }

    pub(super) fn record(&self) -> Record {
        serde_json::from_str(&self.read("state.json")).unwrap()
    }

    pub(super) fn write_record(&self, record: &Record) {
        let text = serde_json::to_vec(record).unwrap();
        fs::write(self.directory().join("state.json"), text).unwrap();
    }

    /// The only process that is noted, and runs.
    pub(super) fn running(&self) -> Option<Instance> {
        let mut instances = self.record().instances.into_iter();
        let instance = instances.next()?;
        (instances.next().is_none() && is_running(instance.process.as_ref()?)).then_some(instance)
    }
}

/// What a test started must not stay when it fails.
impl Drop for Bench {
    fn drop(&mut self) {
        Group::marked(Mark::item(&self.uid)).kill_now();
    }
}

pub(super) fn is_running(process: &Identity) -> bool {
    Handle::open(process).is_some()
}

/// Waits until something is the case, with a deadline.
pub(super) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = timeout(PATIENCE, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited
        .await
        .unwrap_or_else(|_| panic!("it never happened: {what}"));
}

/// A shell script as configuration.
pub(super) fn script(text: &str) -> Value {
    json!({
        "command": ["sh", "-c", text],
        "restart": {"backoff": "10ms", "maxBackoff": "1m"},
        "stop": {"grace": "5s"},
    })
}

/// The same with some fields set.
pub(super) fn with(mut config: Value, fields: Value) -> Value {
    for (name, value) in fields.as_object().unwrap() {
        config[name] = value.clone();
    }
    config
}

/// A port that nobody listens on.
pub(super) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
