//! A lock that is held while a program is being started, by its future process too.
//!
//! Between its birth and the moment at which it becomes the program, a process carries no mark and can't be told
//! from Landform. When Landform is killed right then, nobody knows of it. But it has a copy of the descriptor of this
//! lock, which closes when it becomes the program: whoever gets the lock knows that there is no such process.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// The lock of an item, until it is dropped.
pub struct StartLock {
    _file: File,
}

impl StartLock {
    /// Takes the lock of the item with this directory.
    ///
    /// # Errors
    /// When the directory can't be written.
    pub fn take(directory: &Path) -> io::Result<Self> {
        let file = open(directory)?;
        file.lock()?;
        Ok(Self { _file: file })
    }

    /// Waits for the lock; none when the directory isn't there, so that nothing was ever started.
    ///
    /// # Errors
    /// When the directory can't be written.
    pub async fn wait(directory: &Path) -> io::Result<Option<Self>> {
        let file = match open(directory) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let locked = tokio::task::spawn_blocking(move || file.lock().map(|()| file));
        let file = locked.await.map_err(io::Error::other)??;
        Ok(Some(Self { _file: file }))
    }
}

fn open(directory: &Path) -> io::Result<File> {
    // The standard library has descriptors closed when a process becomes another program.
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(directory.join("start.lock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_at_a_time_holds_it() {
        let directory = tempfile::tempdir().unwrap();
        let first = StartLock::take(directory.path()).unwrap();
        let mut second = Box::pin(StartLock::wait(directory.path()));
        assert!(futures::poll!(&mut second).is_pending());
        drop(first);
        assert!(second.await.unwrap().is_some());
        let nowhere = directory.path().join("nowhere");
        assert!(StartLock::wait(&nowhere).await.unwrap().is_none());
    }
}
