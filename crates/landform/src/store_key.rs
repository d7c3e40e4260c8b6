//! The key that Secrets are encrypted with on disk: in a file outside of the data directory, or kept by another program.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use landform_store::seal::{Cipher, KeyService, PlainKey, Sealing, random_key};
use serde::{Deserialize, Serialize};

use crate::AnyError;

/// How long a program may take for a key.
const PATIENCE: Duration = Duration::from_secs(30);
const NAP: Duration = Duration::from_millis(10);

/// Where the key is that Secrets are encrypted with.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KeyArgs {
    /// The file with the key that Secrets are encrypted with on disk; made at the first start. It must be outside of the data
    /// directory: keep a copy of it, but not with the backups [default: $LANDFORM_KEY_FILE, or landform/store.key under
    /// the user's configuration].
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// A program that keeps the key instead of a file: it is run as `COMMAND wrap` and `COMMAND unwrap`, reads a line and
    /// prints a line [default: $LANDFORM_KEY_COMMAND].
    #[arg(long, value_name = "COMMAND")]
    key_command: Option<String>,
}

impl KeyArgs {
    /// What is encrypted in the store of a data directory, and with what.
    pub(crate) fn sealing(&self, data_dir: &Path) -> Result<Sealing, AnyError> {
        Ok(Sealing {
            buckets: Arc::new(BTreeSet::from([landform_apiserver::SECRETS.to_owned()])),
            keys: Arc::new(self.keys(data_dir)?),
        })
    }

    /// Makes another key the one that is used from now on; says where it is. None if a program keeps the key.
    pub(crate) fn rotate(&self, data_dir: &Path) -> Result<Option<PathBuf>, AnyError> {
        let keys = self.keys(data_dir)?;
        if keys.command.is_some() {
            return Ok(None);
        }
        keys.file.add()?;
        Ok(Some(keys.file.path))
    }

    fn keys(&self, data_dir: &Path) -> Result<Keys, AnyError> {
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let named = self.key_file.clone();
        let path = named.or_else(|| variable("LANDFORM_KEY_FILE").map(PathBuf::from));
        let path = path.map_or_else(default_file, Ok)?;
        let path = std::path::absolute(path)?;
        let data_dir = std::path::absolute(data_dir)?;
        if path.starts_with(&data_dir) {
            return Err(format!(
                "the key file {} is in the data directory, where a copy of the data would have it, too: name another one with --key-file",
                path.display()
            )
            .into());
        }
        let command = match &self.key_command {
            Some(command) => Some(command.clone()),
            None => variable("LANDFORM_KEY_COMMAND")
                .map(|command| command.to_string_lossy().into_owned()),
        };
        Ok(Keys {
            file: KeyFile { path },
            command,
        })
    }
}

fn default_file() -> Result<PathBuf, AnyError> {
    let home = std::env::var_os("XDG_CONFIG_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".config")));
    match home {
        Some(home) => Ok(home.join("landform/store.key")),
        None => Err(
            "no home directory is known for the key of the store: name its file with --key-file"
                .into(),
        ),
    }
}

/// New data keys are wrapped by the command, if there is one; those that the file wrapped can still be unwrapped.
struct Keys {
    file: KeyFile,
    command: Option<String>,
}

/// What the text of a wrapped key begins with.
const BY_FILE: &str = "file ";
const BY_COMMAND: &str = "command ";

impl KeyService for Keys {
    fn wrap(&self, key: &PlainKey) -> Result<String, String> {
        match &self.command {
            Some(command) => {
                let wrapped = ask(command, "wrap", &STANDARD.encode(key))?;
                Ok(format!("{BY_COMMAND}{wrapped}"))
            }
            None => Ok(format!("{BY_FILE}{}", self.file.wrap(key)?)),
        }
    }

    fn unwrap(&self, wrapped: &str) -> Result<PlainKey, String> {
        if let Some(wrapped) = wrapped.strip_prefix(BY_FILE) {
            return self.file.unwrap(wrapped);
        }
        let (Some(command), Some(wrapped)) = (&self.command, wrapped.strip_prefix(BY_COMMAND))
        else {
            return Err("a program keeps its key: name it with --key-command".to_owned());
        };
        let key = ask(command, "unwrap", wrapped)?;
        plain_key(&key).ok_or(format!("`{command} unwrap` gave no key"))
    }

    fn is_current(&self, wrapped: &str) -> bool {
        match (&self.command, wrapped.strip_prefix(BY_FILE)) {
            (Some(_), by_file) => by_file.is_none(),
            (None, Some(wrapped)) => self.file.is_newest(wrapped),
            (None, None) => false,
        }
    }
}

fn plain_key(text: &str) -> Option<PlainKey> {
    STANDARD.decode(text.trim()).ok()?.try_into().ok()
}

/// Keys in a file; the newest one encrypts, the others are there for older stores and backups.
struct KeyFile {
    path: PathBuf,
}

#[derive(Deserialize, Serialize)]
struct Contents {
    newest: String,
    /// By name.
    keys: BTreeMap<String, String>,
}

impl Contents {
    fn key(&self, name: &str) -> Option<Cipher> {
        self.keys
            .get(name)
            .and_then(|text| plain_key(text))
            .map(|key| Cipher::new(&key))
    }
}

impl KeyFile {
    fn read(&self) -> Result<Option<Contents>, String> {
        let path = self.path.display();
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("the key file {path} can't be read: {error}")),
        };
        let contents: Contents = serde_json::from_str(&text)
            .map_err(|_| format!("{path} is no key file of Landform, or it is damaged"))?;
        if contents.key(&contents.newest).is_none() {
            return Err(format!("the key file {path} lacks its newest key"));
        }
        Ok(Some(contents))
    }

    /// The keys; makes the file with a first one when there is none.
    fn read_or_make(&self) -> Result<Contents, String> {
        if let Some(contents) = self.read()? {
            return Ok(contents);
        }
        let keys = BTreeMap::new();
        self.write(&with_new_key(keys)?, true)?;
        // Another process may have been faster.
        let contents = self.read()?;
        contents.ok_or(format!("the key file {} is gone", self.path.display()))
    }

    /// Adds a key, which is the newest one then.
    fn add(&self) -> Result<(), String> {
        let contents = self.read_or_make()?;
        self.write(&with_new_key(contents.keys)?, false)
    }

    /// The file is there whole or as it was; a new one never takes the place of one that is there.
    fn write(&self, contents: &Contents, is_new: bool) -> Result<(), String> {
        let path = self.path.display();
        let failed =
            |error: std::io::Error| format!("the key file {path} can't be written: {error}");
        if let Some(directory) = self.path.parent() {
            crate::serve::make_private_dir(directory).map_err(|error| error.to_string())?;
        }
        let mut fresh = self.path.as_os_str().to_owned();
        fresh.push(format!(".{}.new", std::process::id()));
        let fresh = PathBuf::from(fresh);
        let text = serde_json::to_string_pretty(contents).map_err(|error| failed(error.into()))?;
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)
            .map_err(failed)?;
        file.write_all(format!("{text}\n").as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(failed)?;
        let placed = if is_new {
            match std::fs::hard_link(&fresh, &self.path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
                linked => linked,
            }
        } else {
            std::fs::rename(&fresh, &self.path)
        };
        if is_new {
            let _ = std::fs::remove_file(&fresh);
        }
        placed.map_err(failed)?;
        // A store is of no use without its key: the name must last, too.
        match self.path.parent() {
            Some(directory) => std::fs::File::open(directory)
                .and_then(|directory| directory.sync_all())
                .map_err(failed),
            None => Ok(()),
        }
    }

    fn wrap(&self, key: &PlainKey) -> Result<String, String> {
        let contents = self.read_or_make()?;
        let name = &contents.newest;
        let cipher = contents.key(name).ok_or("the newest key is missing")?;
        let wrapped = cipher.encrypt(name.as_bytes(), key)?;
        Ok(format!("{name} {}", STANDARD.encode(wrapped)))
    }

    fn unwrap(&self, wrapped: &str) -> Result<PlainKey, String> {
        let path = self.path.display();
        let (name, text) = wrapped.split_once(' ').unwrap_or_default();
        let Some(contents) = self.read()? else {
            return Err(format!(
                "the key file {path} is missing, which has its key {name}: put it back, or name the right one with --key-file"
            ));
        };
        let Some(cipher) = contents.key(name) else {
            return Err(format!(
                "the key file {path} doesn't have its key {name}: name the right one with --key-file, or put a copy that has it in its place"
            ));
        };
        let bytes = STANDARD.decode(text).ok();
        let key = bytes.and_then(|bytes| cipher.decrypt(name.as_bytes(), &bytes));
        key.and_then(|key| key.try_into().ok()).ok_or(format!(
            "the key {name} in {path} is not the one that it was"
        ))
    }

    fn is_newest(&self, wrapped: &str) -> bool {
        let name = wrapped.split(' ').next().unwrap_or_default();
        let contents = self.read().ok().flatten();
        contents.is_some_and(|contents| contents.newest == name)
    }
}

fn with_new_key(mut keys: BTreeMap<String, String>) -> Result<Contents, String> {
    let [name, key] = [random_key()?, random_key()?];
    let name: String = name[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    let newest = format!("key-{name}");
    keys.insert(newest.clone(), STANDARD.encode(key));
    Ok(Contents { newest, keys })
}

/// Runs a program that keeps a key: it reads a line and prints one.
fn ask(command: &str, verb: &str, line: &str) -> Result<String, String> {
    let shown = format!("`{command} {verb}`");
    let failed = |error: std::io::Error| format!("{shown} can't be run: {error}");
    let mut child = Command::new("sh")
        .args(["-c", &format!("{command} {verb}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut output = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let read = output.as_mut().map(|output| {
            // A wrapped key is short.
            output.take(64 * 1024).read_to_string(&mut text)
        });
        read.is_some_and(|read| read.is_ok()).then_some(text)
    });
    if let Some(mut input) = child.stdin.take() {
        // A program that doesn't read says by its exit code what is wrong.
        let _ = input.write_all(format!("{line}\n").as_bytes());
    }
    let is_well = ended(&mut child).map_err(failed)?;
    let text = reader.join().ok().flatten().unwrap_or_default();
    let answer = text.trim();
    match is_well {
        Some(true) if !answer.is_empty() && !answer.contains('\n') => Ok(answer.to_owned()),
        Some(true) => Err(format!("{shown} should print one line")),
        Some(false) => Err(format!("{shown} failed: what it printed is above")),
        None => Err(format!("{shown} took longer than {} s", PATIENCE.as_secs())),
    }
}

/// Whether a program ended well; none if it didn't end.
fn ended(child: &mut Child) -> std::io::Result<Option<bool>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if started.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(NAP);
    }
}
