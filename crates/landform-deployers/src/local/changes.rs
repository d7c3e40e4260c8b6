//! Waits until a file changes.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use landform_process::watched;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

/// How often a file is looked at for which the system has no watch to give: a user may have 128 only.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Changes of one file.
pub(crate) struct Changes(Option<AsyncFd<OwnedFd>>);

impl Changes {
    /// Changes from now on.
    pub(crate) fn of(path: &Path) -> Self {
        Self(watch(path).ok())
    }

    /// Resolves after a change since the last call; several are one. There may be none.
    pub(crate) async fn next(&self) {
        let Some(descriptor) = &self.0 else {
            return tokio::time::sleep(LOOK_AGAIN).await;
        };
        let Ok(mut ready) = descriptor.readable().await else {
            return tokio::time::sleep(LOOK_AGAIN).await;
        };
        let mut events = [0_u8; 4096];
        while rustix::io::read(descriptor, &mut events[..]).is_ok_and(|count| count > 0) {}
        ready.clear_ready();
    }
}

fn watch(path: &Path) -> io::Result<AsyncFd<OwnedFd>> {
    let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    inotify::add_watch(&descriptor, path, WatchFlags::MODIFY)?;
    watched(descriptor)
}
