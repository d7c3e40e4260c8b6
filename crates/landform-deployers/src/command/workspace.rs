//! The directory of an item: what a command is given, what it leaves, and what is noted about it.
//!
//! | path | holds |
//! | --- | --- |
//! | `content/` | the files of the configuration; the command runs here |
//! | `state/` | whatever the command wants to find again |
//! | `run/` | imports, exports and target of the last run |
//! | `next.json` | a command that is about to be started |
//! | `output.log` | the end of what the last run wrote, without secrets; `output.log.1` that of the run before |
//! | `deployed.json` | the command that was started last, or the Secret in which it is: the removal runs it |

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use landform_process::User;
use landform_yaml::Budget;
use serde_json::{Map, Value};
use sha1::{Digest as _, Sha1};

use super::config::{
    CONTENT_PATH, Configuration, EXPORTS_PATH, IMPORTS_PATH, OPERATION, STATE_PATH, TARGET_PATH,
};
use super::record::Record;
use crate::DeployError;
use crate::local::{
    Group, Mark, StartLock, environment_of, let_in, own_directory, own_file, private_directory,
    read_below, write_all, write_atomically,
};
use crate::logs::COMMAND_OUTPUT;

/// Exports may be so long.
const EXPORT_BYTES: u64 = 1 << 20;

pub(crate) struct Workspace {
    pub(crate) directory: PathBuf,
    pub(crate) uid: String,
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Workspace {
    pub(crate) fn new(directory: PathBuf, uid: &str) -> Self {
        let uid = uid.to_owned();
        Self { directory, uid }
    }

    pub(crate) fn content(&self) -> PathBuf {
        self.directory.join("content")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    pub(crate) fn make(&self) -> io::Result<()> {
        ["content", "state", "run"]
            .into_iter()
            .try_for_each(|name| private_directory(&self.path(name)))
    }

    /// Kills what is left of a run whose end nobody saw.
    pub(crate) async fn clear(&self) -> Result<(), DeployError> {
        let starting = StartLock::wait(&self.directory).await.map_err(|error| {
            let message = format!("the item's directory can't be locked: {error}");
            DeployError::transient("Run", "NotLocked", message)
        })?;
        drop(starting);
        Ok(Group::marked(Mark::item(&self.uid)).kill().await?)
    }

    /// Notes a command before it is started.
    pub(crate) fn intend(&self, record: &Record) -> io::Result<()> {
        let text = serde_json::to_vec(record)?;
        write_atomically(&self.path("next.json"), &text, 0o600)
    }

    /// It was started.
    pub(crate) fn started(&self) -> io::Result<()> {
        fs::rename(self.path("next.json"), self.path("deployed.json"))
    }

    /// Keeps the end of what a run wrote, for people. A run doesn't fail for it.
    pub(crate) fn keep_output(&self, output: &str) {
        let file = self.path(COMMAND_OUTPUT);
        let _ = fs::rename(&file, self.path(&format!("{COMMAND_OUTPUT}.1")));
        let end = if output.is_empty() { "" } else { "\n" };
        let text = format!("{output}{end}");
        if let Err(error) = write_atomically(&file, text.as_bytes(), 0o600) {
            tracing::warn!(item = self.uid, %error, "the output of a command can't be kept");
        }
    }

    /// It can't be started.
    pub(crate) fn forget_intent(&self) {
        // When this fails the removal tries it first, and then the one before.
        let _ = fs::remove_file(self.path("next.json"));
    }

    /// The commands that may have been started, the last one first.
    pub(crate) fn recorded(&self) -> Result<Vec<Record>, DeployError> {
        let both = [self.read("next.json")?, self.deployed()?];
        Ok(both.into_iter().flatten().collect())
    }

    /// The command that was started last.
    pub(crate) fn deployed(&self) -> Result<Option<Record>, DeployError> {
        self.read("deployed.json")
    }

    fn read(&self, name: &str) -> Result<Option<Record>, DeployError> {
        let text = match fs::read(self.path(name)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unreadable(name, &error.to_string())),
        };
        // The error of serde would quote what it found.
        let read = serde_json::from_slice(&text);
        read.map(Some)
            .map_err(|_| unreadable(name, "it is damaged"))
    }

    /// Writes what a run is given, and gives its environment.
    pub(crate) fn prepare(
        &self,
        configuration: &Configuration,
        operation: &str,
        user: Option<&User>,
    ) -> io::Result<BTreeMap<OsString, OsString>> {
        // Files of another configuration, and exports of another run, must not be taken for its own.
        for name in ["content", "run"] {
            absent_is_fine(fs::remove_dir_all(self.path(name)))?;
        }
        self.make()?;
        write_all(&self.content(), &configuration.files)?;
        let imports = self.path("run/imports.json");
        write_atomically(
            &imports,
            configuration.import_values.to_string().as_bytes(),
            0o600,
        )?;
        let mut variables = environment_of(user, &configuration.environment);
        let mut set = |name: &str, value: PathBuf| variables.insert(name.into(), value.into());
        set(OPERATION, operation.into());
        set(IMPORTS_PATH, imports);
        set(EXPORTS_PATH, self.path("run/exports"));
        set(STATE_PATH, self.path("state"));
        set(CONTENT_PATH, self.content());
        if let Some(target) = &configuration.target {
            let path = self.path("run/target.json");
            write_atomically(&path, target.to_string().as_bytes(), 0o600)?;
            set(TARGET_PATH, path);
        }
        if let Some(user) = user {
            own_file(user, &self.path("run/exports"))?;
            let_in(user, &self.directory, &[&self.content(), &self.path("run")])?;
            own_directory(user, &self.path("state"))?;
        }
        Ok(variables)
    }

    /// What the last run exports.
    pub(crate) fn exports(&self) -> Result<Option<Map<String, Value>>, DeployError> {
        let problem = |what: &str| {
            let message = format!("what the command wrote to EXPORTS_PATH {what}");
            DeployError::configuration("InvalidExports", message)
        };
        let text = match read_below(&self.path("run"), "exports", EXPORT_BYTES, None) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(problem(&format!("can't be read: {error}"))),
        };
        if text.trim().is_empty() {
            return Ok(None);
        }
        match landform_yaml::parse_one(&text, &Budget::RUN) {
            Ok(Value::Object(exports)) => Ok(Some(exports)),
            Ok(Value::Null) => Ok(None),
            Ok(_) => Err(problem("is no object")),
            Err(_) => Err(problem("is neither JSON nor YAML")),
        }
    }

    /// A hash of a configuration that tells nothing about it to those who don't have the item's salt.
    pub(crate) fn hash(&self, configuration: &Configuration) -> io::Result<String> {
        let path = self.path("salt");
        let salt = fs::read(&path).unwrap_or_default();
        let salt = if salt.is_empty() {
            let salt = uuid::Uuid::new_v4().simple().to_string().into_bytes();
            write_atomically(&path, &salt, 0o600)?;
            salt
        } else {
            salt
        };
        let hash = Sha1::new()
            .chain_update(salt)
            .chain_update(serde_json::to_vec(configuration)?)
            .finalize();
        Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        absent_is_fine(fs::remove_dir_all(&self.directory))
    }
}

fn unreadable(name: &str, why: &str) -> DeployError {
    let message = format!("{name} in the item's directory can't be read: {why}");
    DeployError::transient("Remove", "NotRead", message)
}
