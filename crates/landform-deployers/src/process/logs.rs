//! The log of a process: kept within limits, and read for the line that says it is ready.
//!
//! The process writes the file by itself, at its end, so that it can do so without Landform. When the file has
//! become too long it is copied and then cut to nothing; what is written between the last look and the cut is lost,
//! which takes microseconds.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use regex::bytes::Regex;

use super::config::Logs;
use super::record::Item;
use crate::local::Changes;

/// A process that writes all the time has its log looked at so often.
const BREAK: Duration = Duration::from_millis(200);
/// Longer lines are matched in parts.
const LINE_BYTES: usize = 64 << 10;

/// Keeps the log within its limits, for as long as it is polled.
pub(crate) async fn keep_rotating(item: Arc<Item>, limits: Logs) {
    loop {
        if let Err(error) = rotate_on_changes(&item, limits).await {
            tracing::warn!(item = item.uid, %error, "the log of a process can't be rotated");
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
}

async fn rotate_on_changes(item: &Arc<Item>, limits: Logs) -> io::Result<()> {
    let changes = Changes::of(&item.log());
    loop {
        let rotated = Arc::clone(item);
        tokio::task::spawn_blocking(move || rotate(&rotated, limits)).await??;
        changes.next().await;
        tokio::time::sleep(BREAK).await;
    }
}

/// Moves what is in the log to `process.log.1`, that to `process.log.2` and so on, when it is too long.
fn rotate(item: &Item, limits: Logs) -> io::Result<()> {
    let _one_at_a_time = item.rotation.lock();
    let log = item.log();
    if fs::metadata(&log)?.len() <= limits.max_bytes {
        return Ok(());
    }
    for number in (1..limits.max_files).rev() {
        rename_if_there(&numbered(&log, number), &numbered(&log, number + 1))?;
    }
    let mut source = File::options().read(true).write(true).open(&log)?;
    if limits.max_files > 0 {
        let copy = numbered(&log, 1);
        let mut target = File::create(&copy)?;
        target.set_permissions(source.metadata()?.permissions())?;
        // Once more, for what was written while the first part was copied.
        while io::copy(&mut source, &mut target)? > 0 {}
    }
    source.set_len(0)
}

fn numbered(log: &Path, number: u64) -> PathBuf {
    let mut path = log.as_os_str().to_owned();
    path.push(format!(".{number}"));
    path.into()
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Resolves when a line of the log, from a position on, fits.
pub(crate) async fn line(log: &Path, from: u64, pattern: &regex::Regex) -> io::Result<()> {
    // Bytes, because a program may write anything.
    let pattern = Regex::new(pattern.as_str()).map_err(io::Error::other)?;
    let changes = Changes::of(log);
    let mut position = from;
    let mut rest = Vec::new();
    loop {
        let mut file = File::open(log)?;
        if file.metadata()?.len() < position {
            // It was cut.
            position = 0;
        }
        file.seek(SeekFrom::Start(position))?;
        loop {
            let count = file
                .by_ref()
                .take(LINE_BYTES as u64)
                .read_to_end(&mut rest)?;
            position += count as u64;
            if has_line(&mut rest, &pattern) {
                return Ok(());
            }
            if count == 0 {
                break;
            }
        }
        changes.next().await;
    }
}

/// Looks at the complete lines and leaves the begun one, for which there may be more to come. That one is
/// looked at, too: a program may ask for something at the end of a line.
fn has_line(text: &mut Vec<u8>, pattern: &Regex) -> bool {
    let fits = text
        .split(|byte| *byte == b'\n')
        .any(|line| pattern.is_match(line));
    let begun = text
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    text.drain(..begun);
    if text.len() > LINE_BYTES {
        text.clear();
    }
    fits
}
