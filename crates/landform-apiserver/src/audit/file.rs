//! The files: the newest one grows up to its limit, the older ones move up by one, the oldest goes.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::AuditOptions;

/// Only the owner reads the log.
const PRIVATE: u32 = 0o600;
/// Longer than any line.
const BUFFER: usize = 64 * 1024;

pub(super) struct LogFile {
    path: PathBuf,
    bytes_max: u64,
    files_max: usize,
    file: BufWriter<File>,
    bytes: u64,
    /// The disk took nothing last time.
    stuck: bool,
}

impl LogFile {
    pub(super) fn open(options: &AuditOptions) -> io::Result<Self> {
        let (file, bytes) = open(&options.file)?;
        Ok(Self {
            path: options.file.clone(),
            bytes_max: options.file_bytes_max,
            files_max: options.files_max.max(1),
            file,
            bytes,
            stuck: false,
        })
    }

    /// Appends a line. What is written may stay in memory until [`LogFile::flush`].
    pub(super) fn append(&mut self, mut line: String) -> io::Result<()> {
        line.push('\n');
        let length = line.len() as u64;
        if self.bytes > 0 && self.bytes + length > self.bytes_max {
            self.rotate()?;
        }
        // One piece, which is smaller than the buffer: it is in the log whole or not at all.
        self.file.write_all(line.as_bytes())?;
        self.bytes += length;
        Ok(())
    }

    /// Hands everything to the operating system; what it doesn't take is tried again later.
    pub(super) fn flush(&mut self) {
        let flushed = self.file.flush();
        if let Err(error) = &flushed
            && !self.stuck
        {
            tracing::warn!(%error, "the audit log can't be written for now");
        }
        self.stuck = flushed.is_err();
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file.flush()?;
        for number in (1..self.files_max).rev() {
            let from = match number {
                1 => self.path.clone(),
                _ => numbered(&self.path, number - 1),
            };
            match std::fs::rename(&from, numbered(&self.path, number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        if self.files_max == 1 {
            std::fs::remove_file(&self.path)?;
        }
        (self.file, self.bytes) = open(&self.path)?;
        Ok(())
    }
}

fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

fn open(path: &Path) -> io::Result<(BufWriter<File>, u64)> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(PRIVATE)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(PRIVATE))?;
    let bytes = file.metadata()?.len();
    Ok((BufWriter::with_capacity(BUFFER, file), bytes))
}
