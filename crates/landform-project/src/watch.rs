//! Wakes a project when its files change: soon after the last of several writes, and not for every one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use landform_api::files::is_passing;
use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::touched::Touched;

/// Editors write a file in several steps; nothing happens until they have been quiet for this time.
const QUIET: Duration = Duration::from_millis(30);
/// But no longer than this.
const LONGEST: Duration = Duration::from_millis(150);
/// Without notifications, files are looked at this often.
const LOOK: Duration = Duration::from_secs(1);

/// Is called when something changed.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// Tells of changes in directories: the system does, or a simulation.
pub trait Notifier: Send + Sync {
    /// Begins to follow directories, of which there are none yet.
    ///
    /// # Errors
    /// When changes can't be told.
    fn begin(&self, changed: Changed) -> Result<Box<dyn Following>, String>;
}

/// Is called when something changed in one of the directories that are followed, with the paths that did; without any
/// when it isn't known which.
pub type Changed = Box<dyn Fn(&[PathBuf]) + Send + Sync>;

/// Directories that are followed, until this is dropped.
pub trait Following: Send {
    /// One more; what is below it isn't meant.
    ///
    /// # Errors
    /// When it can't be followed.
    fn watch(&mut self, directory: &Path) -> Result<(), String>;

    /// One less. It may be gone, and what followed it.
    fn unwatch(&mut self, directory: &Path);
}

/// The notifications of the system.
pub(crate) struct System;

impl Notifier for System {
    fn begin(&self, changed: Changed) -> Result<Box<dyn Following>, String> {
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            match event {
                Ok(event) if matters(&event) => changed(&event.paths),
                Ok(_) => {}
                // Events were lost.
                Err(_) => changed(&[]),
            }
        });
        let watcher = watcher.map_err(|error| error.to_string())?;
        Ok(Box::new(watcher))
    }
}

impl Following for RecommendedWatcher {
    fn watch(&mut self, directory: &Path) -> Result<(), String> {
        let watched = Watcher::watch(self, directory, RecursiveMode::NonRecursive);
        watched.map_err(|error| error.to_string())
    }

    fn unwatch(&mut self, directory: &Path) {
        // It may be gone, and its watch with it.
        let _ = Watcher::unwatch(self, directory);
    }
}

/// Follows the directories of one project.
pub(crate) struct Watch {
    watcher: Option<Box<dyn Following>>,
    directories: BTreeMap<PathBuf, (u64, u64)>,
    wake: Wake,
    gathering: JoinHandle<()>,
    looking: Option<JoinHandle<()>>,
}

impl Watch {
    pub(crate) fn new(notifier: &dyn Notifier, wake: Wake, touched: Touched) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let watcher = notifier.begin(Box::new(move |paths| {
            touched.note(paths);
            // When the project is gone there is no listener any more.
            let _ = sender.send(());
        }));
        let mut watch = Self {
            gathering: tokio::spawn(gather(receiver, wake.clone())),
            watcher: None,
            directories: BTreeMap::new(),
            wake,
            looking: None,
        };
        match watcher {
            Ok(watcher) => watch.watcher = Some(watcher),
            Err(error) => watch.look(&error),
        }
        watch
    }

    /// Follows exactly these directories. Returns whether some of them are new: then what is in them may have
    /// changed before they were followed.
    pub(crate) fn follow(&mut self, directories: &BTreeMap<PathBuf, (u64, u64)>) -> bool {
        let Some(watcher) = &mut self.watcher else {
            return false;
        };
        let known = std::mem::take(&mut self.directories);
        for (path, inode) in &known {
            if directories.get(path) != Some(inode) {
                watcher.unwatch(path);
            }
        }
        let mut new = false;
        let mut failed = None;
        for (path, inode) in directories {
            if known.get(path) != Some(inode) {
                match watcher.watch(path) {
                    Ok(()) => new = true,
                    // The next look finds that it is gone.
                    Err(error) if is_gone(path) => drop(error),
                    Err(error) => failed = Some(error),
                }
            }
            self.directories.insert(path.clone(), *inode);
        }
        if let Some(error) = failed {
            self.look(&error);
        }
        new
    }

    /// Notifications can't be had: files are looked at again and again.
    fn look(&mut self, error: &str) {
        if self.looking.is_some() {
            return;
        }
        tracing::warn!(%error, "changes of files are not notified: they are looked for every second");
        let wake = self.wake.clone();
        self.looking = Some(tokio::spawn(async move {
            let mut ticks = tokio::time::interval(LOOK);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                wake();
            }
        }));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.gathering.abort();
        if let Some(looking) = &self.looking {
            looking.abort();
        }
    }
}

fn is_gone(path: &Path) -> bool {
    !path.is_dir()
}

/// Whether an event tells of a change in a file that may be the project's.
fn matters(event: &Event) -> bool {
    let changes = match &event.kind {
        // Our own reads would wake us for ever.
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    };
    let passing = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(is_passing)
    };
    changes && (event.paths.is_empty() || !event.paths.iter().all(passing))
}

/// Waits until changes have come to an end, and wakes once.
async fn gather(mut changes: mpsc::UnboundedReceiver<()>, wake: Wake) {
    while changes.recv().await.is_some() {
        let latest = Instant::now() + LONGEST;
        loop {
            let quiet = (Instant::now() + QUIET).min(latest);
            match timeout_at(quiet, changes.recv()).await {
                Ok(Some(())) if Instant::now() < latest => {}
                Ok(Some(())) | Err(_) => break,
                Ok(None) => return,
            }
        }
        wake();
    }
}
