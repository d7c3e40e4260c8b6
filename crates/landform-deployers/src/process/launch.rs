//! Starts a process so that it outlives Landform, and is found again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use landform_process::launcher;
use tokio::process::{Child, Command};

use super::config::{Configuration, Launch};
use super::record::{Instance, Item};
use crate::DeployError;
use crate::local::{
    Identity, MARK, StartLock, Tree, environment_of, let_in, other_user, own_directory,
    private_directory, write_all,
};

/// In the working directory of a process with a `user`: the directory that belongs to that user.
const USER_DIRECTORY: &str = "data";

/// The variable that tells clients of the API where their configuration is.
pub(crate) const KUBECONFIG: &str = "KUBECONFIG";

/// A process that was just started.
pub(crate) struct Launched {
    pub(crate) instance: Instance,
    pub(crate) child: Child,
}

/// Writes the files and starts the process. Nothing is waited for in between, so it can't be cancelled half way.
///
/// The process leads a group of its own and writes its output into a file by itself: neither Landform's end nor
/// its absence is anything to it.
pub(crate) fn launch(
    item: &Item,
    configuration: &Configuration,
    hash: &str,
) -> Result<Launched, DeployError> {
    prepare(item, &configuration.launch)?;
    let log = open_log(item).map_err(|error| not_started("NotWritten", "the log", &error))?;
    let log_start = log.metadata().map_or(0, |log| log.len());
    let _starting = StartLock::take(&item.directory)
        .map_err(|error| not_started("NotWritten", "the lock", &error))?;
    let attempt = item.change(|record| {
        record.attempts += 1;
        record.finished = None;
        record.instances.push(Instance {
            attempt: record.attempts,
            hash: hash.to_owned(),
            process: None,
            log_start,
            ready: false,
            stop: configuration.stop,
            cgroup: item.cgroup(record.attempts),
        });
        record.attempts
    })?;
    let door = door(item, attempt)?;
    let started = start(item, &configuration.launch, attempt, log, door);
    let (child, process) = match started {
        Ok(started) => started,
        Err(error) => {
            if let Some(cgroup) = item.instance(attempt).and_then(|noted| noted.cgroup) {
                cgroup.remove();
            }
            item.forget(attempt)?;
            return Err(error);
        }
    };
    item.change_instance(attempt, |instance| instance.process = Some(process))?;
    let instance = item.instance(attempt);
    let instance = instance.ok_or_else(|| {
        DeployError::transient("Start", "NotRecorded", "the process was not recorded")
    })?;
    Ok(Launched { instance, child })
}

/// Makes the control group that was noted for an attempt; where that can't be done it has none.
fn door(item: &Item, attempt: u64) -> Result<Option<File>, DeployError> {
    let Some(cgroup) = item.cgroup(attempt) else {
        return Ok(None);
    };
    match cgroup.make() {
        Ok(door) => Ok(Some(door)),
        Err(error) => {
            tracing::debug!(item = item.uid, %error, "no control group can be made");
            item.change_instance(attempt, |instance| instance.cgroup = None)?;
            Ok(None)
        }
    }
}

fn start(
    item: &Item,
    launch: &Launch,
    attempt: u64,
    log: File,
    door: Option<File>,
) -> Result<(Child, Identity), DeployError> {
    let errors = log
        .try_clone()
        .map_err(|error| not_started("NotWritten", "the log", &error))?;
    let program = |error: io::Error| not_started("NotStarted", "config.command[0]", &error);
    let mut command = command(item, launch, &launch.command, attempt)?;
    let mut late_door = None;
    match (door, &item.machine.launcher) {
        (Some(door), Some(launcher)) => {
            let user = other_user(launch.user.as_deref())?;
            let user = user.map(|user| (user.id, user.group));
            let through = launcher::through(launcher, door, command.as_std(), user);
            command = through.map_err(program)?.into();
            command.process_group(0);
        }
        (door, _) => late_door = door,
    }
    let child = command
        .stdout(log)
        .stderr(errors)
        .spawn()
        .map_err(program)?;
    let pid = child.id().and_then(|id| i32::try_from(id).ok());
    if let (Some(mut door), Some(pid)) = (late_door, pid) {
        // What it has started by now has its mark.
        if let Err(error) = write!(door, "{pid}") {
            tracing::debug!(item = item.uid, %error, "a process is outside of its control group");
        }
    }
    // Nobody has waited for it yet, so even if it has ended its number is its own.
    let process = pid.and_then(Identity::of_child);
    let process = process.ok_or_else(|| {
        let error = io::Error::other("it is not in the table of processes");
        not_started("NotStarted", "config.command[0]", &error)
    })?;
    Ok((child, process))
}

/// A command with the item's environment, in its directory.
pub(crate) fn command(
    item: &Item,
    launch: &Launch,
    words: &[String],
    attempt: u64,
) -> Result<Command, DeployError> {
    let directory = working_directory(item, launch);
    if !directory.is_dir() {
        let message = "config.workingDirectory: there is no such directory";
        return Err(DeployError::configuration("InvalidConfiguration", message));
    }
    let (program, arguments) = words.split_first().ok_or_else(|| {
        DeployError::configuration("InvalidConfiguration", "config.command: names no program")
    })?;
    let mut command = Command::new(program);
    let user = other_user(launch.user.as_deref())?;
    if let Some(user) = &user {
        command.uid(user.id).gid(user.group);
    }
    command
        .args(arguments)
        .env_clear()
        .envs(environment_of(user.as_ref(), &launch.environment))
        .env(MARK, item.mark(attempt).text())
        .current_dir(directory)
        .stdin(Stdio::null())
        .process_group(0);
    if let Some(access) = &launch.access {
        command.env(KUBECONFIG, access.kubeconfig(&item.directory));
    }
    Ok(command)
}

fn working_directory(item: &Item, launch: &Launch) -> PathBuf {
    let work = item.work();
    // An absolute path replaces the directory that it is joined to.
    launch
        .working_directory
        .as_ref()
        .map_or(work.clone(), |path| work.join(path))
}

/// Writes the files of the process, and removes those of its predecessor that it doesn't have.
fn prepare(item: &Item, launch: &Launch) -> Result<(), DeployError> {
    let files = |error: io::Error| not_started("NotWritten", "config.files", &error);
    let user = other_user(launch.user.as_deref())?;
    let prepared = |error: io::Error| not_started("NotPrepared", "config.user", &error);
    private_directory(&item.work()).map_err(files)?;
    // First, because what Landform writes there belongs to the user, too.
    if let Some(user) = &user {
        own_directory(user, &item.work().join(USER_DIRECTORY)).map_err(prepared)?;
    }
    let tree = Tree::open(&item.work()).map_err(files)?;
    make_working_directory(&tree, launch)?;
    let record = item.record();
    let kept: Vec<String> = launch.files.keys().cloned().collect();
    // Noted before they are written, so that each file that was written is noted.
    let all = || {
        record
            .files
            .iter()
            .chain(&kept)
            .cloned()
            .collect::<std::collections::BTreeSet<_>>()
    };
    item.change(|record| record.files = all().into_iter().collect())?;
    write_all(&item.work(), &launch.files).map_err(files)?;
    if let Some(user) = &user {
        let_in(user, &item.directory, &[&item.work()]).map_err(prepared)?;
    }
    for path in record
        .files
        .iter()
        .filter(|path| !launch.files.contains_key(*path))
    {
        // What can't be removed is behind a link, and so is not what was written.
        let _ = tree.remove(path.as_ref());
    }
    item.change(|record| record.files = kept)
}

/// Makes the working directory, unless it is outside of the item's.
fn make_working_directory(tree: &Tree, launch: &Launch) -> Result<(), DeployError> {
    let inside = launch.working_directory.as_ref();
    let Some(path) = inside.filter(|path| !path.starts_with('/')) else {
        return Ok(());
    };
    match tree.make_directory(path.as_ref()) {
        // Behind a link nothing is made; the process goes there with its own rights.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(()),
        made => made.map_err(|error| not_started("NotWritten", "config.workingDirectory", &error)),
    }
}

fn open_log(item: &Item) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(item.log())
}

/// It may work the next time, for instance when a program is being replaced; names no value.
fn not_started(reason: &str, what: &str, error: &io::Error) -> DeployError {
    let message = format!("{what}: {error}");
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::NotADirectory => DeployError::configuration(reason, message),
        _ => DeployError::transient("Start", reason, message),
    }
}
