//! Calls of commands that are under way, written down so that the process after a crash can end them (R9b).
//!
//! An engine has a directory of its own below the one that it is given, named after its process:
//!
//! | path | holds |
//! | --- | --- |
//! | `<pid>-<start time>/owner.json` | which process that is, on which boot of the machine |
//! | `<pid>-<start time>/start.lock` | held while a command is being started |
//! | `<pid>-<start time>/call-<mark>` | a call that is under way; its processes carry the mark in their environment |
//!
//! An engine that starts looks for the directories of others. Where the owner runs, they are its own business. Where
//! it doesn't, whatever still carries one of the marks is killed, and then the directory goes. Before that no hook is
//! called at all: what is left may belong to any object.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use landform_process::{Group, Handle, Identity, Mark, StartLock};

/// Which process a directory belongs to.
const OWNER: &str = "owner.json";
/// How the names of calls begin.
const CALL: &str = "call-";

/// Numbers the calls of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The calls of this process.
pub(crate) struct Calls {
    root: PathBuf,
    /// Of this process, once what others have left is ended.
    directory: OnceLock<PathBuf>,
}

impl Calls {
    /// Calls that are written down below a directory, once it is [open](Calls::open).
    pub(crate) fn below(root: PathBuf) -> Self {
        Self {
            root,
            directory: OnceLock::new(),
        }
    }

    /// Where all of them are written down.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Ends what processes that are no more have left, and makes a directory for this process.
    ///
    /// # Errors
    /// When the directory can't be written, or what is left can't be killed.
    pub(crate) async fn open(&self) -> io::Result<()> {
        let root = &self.root;
        private_directory(root)?;
        for entry in fs::read_dir(root)? {
            let directory = entry?.path();
            if directory.is_dir() && !is_owned(&directory) {
                end_all(&directory).await?;
                fs::remove_dir_all(&directory)?;
            }
        }
        let owner = own_identity()?;
        let directory = root.join(format!("{}-{}", owner.pid, owner.start_time));
        private_directory(&directory)?;
        fs::write(directory.join(OWNER), serde_json::to_vec(&owner)?)?;
        self.directory.get_or_init(|| directory);
        Ok(())
    }

    /// Writes a call down, before it is begun.
    ///
    /// # Errors
    /// When it can't be written.
    pub(crate) fn begin(&self, mark: &Mark) -> io::Result<()> {
        fs::write(self.path(mark)?, "")
    }

    /// Held while the program of a call is started.
    ///
    /// # Errors
    /// When the directory can't be written.
    pub(crate) fn starting(&self) -> io::Result<StartLock> {
        StartLock::take(self.directory()?)
    }

    /// A call has ended.
    pub(crate) fn forget(&self, mark: &Mark) {
        let removed = self.path(mark).and_then(fs::remove_file);
        if let Err(error) = removed {
            // The next engine finds no process with that mark.
            tracing::warn!(%error, mark = mark.text(), "the record of a call can't be removed");
        }
    }

    fn directory(&self) -> io::Result<&PathBuf> {
        let directory = self.directory.get();
        directory.ok_or_else(|| io::Error::other("what is left by others has not been ended yet"))
    }

    fn path(&self, mark: &Mark) -> io::Result<PathBuf> {
        let directory = self.directory()?;
        Ok(directory.join(format!("{CALL}{}", mark.text())))
    }
}

/// A mark that no other call on this machine has.
pub(crate) fn new_mark() -> Mark {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let start_time = own_identity().map_or(0, |own| own.start_time);
    Mark::Call(format!("{}-{start_time}-{number}", std::process::id()))
}

fn own_identity() -> io::Result<Identity> {
    let own = i32::try_from(std::process::id()).ok();
    let own = own.and_then(Identity::now);
    own.ok_or_else(|| io::Error::other("this process is not in the table of processes"))
}

/// Whether the process that a directory belongs to runs.
fn is_owned(directory: &Path) -> bool {
    let owner = fs::read(directory.join(OWNER)).ok();
    let owner = owner.and_then(|text| serde_json::from_slice::<Identity>(&text).ok());
    // Without an owner it was left by a process that ended before it began anything.
    owner.is_some_and(|owner| Handle::open(&owner).is_some())
}

/// Ends all calls that a directory tells of.
async fn end_all(directory: &Path) -> io::Result<()> {
    // A process that is just becoming a program carries no mark yet.
    drop(StartLock::wait(directory).await?);
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        if let Some(mark) = name.to_str().and_then(|name| name.strip_prefix(CALL)) {
            let group = Group::marked(Mark::Call(mark.to_owned()));
            if !group.is_gone() {
                tracing::info!(
                    mark,
                    "ending a call that was left behind by a process that is no more"
                );
            }
            group.kill().await.map_err(io::Error::other)?;
        }
    }
    Ok(())
}

fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    /// A program that carries a mark and leads a process group, as a call's does. One child leaves the group with
    /// the mark, another one stays in it without.
    fn program(mark: &Mark) -> std::process::Child {
        Command::new("sh")
            .args(["-c", "setsid sleep 600 & env -i sleep 600 & sleep 600"])
            .env(landform_process::CALL, mark.text())
            .process_group(0)
            .spawn()
            .unwrap()
    }

    fn left_behind(root: &Path, owner: &Identity, mark: &Mark) -> PathBuf {
        let directory = root.join("left");
        private_directory(&directory).unwrap();
        fs::write(directory.join(OWNER), serde_json::to_vec(owner).unwrap()).unwrap();
        fs::write(directory.join(format!("{CALL}{}", mark.text())), "").unwrap();
        directory
    }

    #[tokio::test]
    async fn r9b_what_a_dead_process_has_left_is_ended_and_what_a_living_one_does_is_not() {
        let root = tempfile::tempdir().unwrap();
        let own = own_identity().unwrap();
        let before = Identity {
            start_time: own.start_time - 1,
            ..own.clone()
        };
        for (owner, ended) in [(own, false), (before, true)] {
            let mark = new_mark();
            let mut child = program(&mark);
            let group = i32::try_from(child.id()).unwrap();
            let directory = left_behind(root.path(), &owner, &mark);
            Calls::below(root.path().into()).open().await.unwrap();
            assert_eq!(Group::marked(mark.clone()).is_gone(), ended);
            assert_eq!(landform_process::group_lives(group), !ended);
            assert_eq!(directory.exists(), !ended);
            Group::marked(mark).kill_now();
            child.wait().unwrap();
        }
    }

    #[tokio::test]
    async fn r9b_a_call_is_written_down_as_long_as_it_goes_on() {
        let root = tempfile::tempdir().unwrap();
        let calls = Calls::below(root.path().into());
        let mark = new_mark();
        assert!(calls.begin(&mark).is_err(), "nothing was looked for yet");
        calls.open().await.unwrap();
        let count = || fs::read_dir(calls.directory().unwrap()).unwrap().count();
        let before = count();
        calls.begin(&mark).unwrap();
        assert_eq!(count(), before + 1);
        calls.forget(&mark);
        assert_eq!(count(), before);
    }
}
