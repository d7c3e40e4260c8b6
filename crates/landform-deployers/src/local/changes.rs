//! Waits until a file changes.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

/// Changes of one file.
pub(crate) struct Changes(AsyncFd<OwnedFd>);

impl Changes {
    /// Changes from now on. The file must be there.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let descriptor = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        inotify::add_watch(&descriptor, path, WatchFlags::MODIFY)?;
        Ok(Self(watched(descriptor)?))
    }

    /// Resolves after a change since the last call; several are one.
    pub(crate) async fn next(&self) -> io::Result<()> {
        let mut ready = self.0.readable().await?;
        let mut events = [0_u8; 4096];
        while rustix::io::read(&self.0, &mut events[..]).is_ok_and(|count| count > 0) {}
        ready.clear_ready();
        Ok(())
    }
}

/// Has the runtime wait for a descriptor.
#[expect(
    deprecated,
    reason = "its successor is unsafe because of types that close their descriptor early, which this one can't"
)]
pub(super) fn watched(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(descriptor)
}
