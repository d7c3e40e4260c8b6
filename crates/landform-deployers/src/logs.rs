//! What processes and commands have written, read in parts for people who look from elsewhere.
//!
//! A process writes into a file of its own, which is rotated; of a command the end of its output is kept, without the
//! secrets that it was given.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::local::is_inside;

/// So much is read at once.
const PART_BYTES: u64 = 256 << 10;
/// What is kept of a command, in its directory.
pub(crate) const COMMAND_OUTPUT: &str = "output.log";

/// The logs in Landform's data directory.
#[derive(Clone, Debug)]
pub struct Logs {
    directory: PathBuf,
}

/// Which part of a log is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// From this byte on.
    pub offset: Option<u64>,
    /// The last so many lines; an offset goes before it.
    pub tail: Option<u64>,
    /// What was written before the process that runs now, or by the run of the command before the last one.
    pub previous: bool,
}

/// A part of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The text; what is no text is replaced.
    pub text: String,
    /// Where to go on.
    pub offset: u64,
    /// Whether there is more already.
    pub more: bool,
}

impl Logs {
    /// The logs of the deployers that keep what belongs to them in this directory.
    #[must_use]
    pub fn new(data_directory: impl AsRef<Path>) -> Self {
        Self {
            directory: data_directory.as_ref().to_owned(),
        }
    }

    /// Reads a part of an item's log; `None` when the item has none here.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn read(&self, uid: &str, question: Question) -> io::Result<Option<Part>> {
        if !is_inside(uid) || uid.contains('/') {
            return Ok(None);
        }
        let process = self.directory.join("processes").join(uid);
        let command = self.directory.join("commands").join(uid);
        let source = if !question.previous {
            let files = [
                process.join("log/process.log"),
                command.join(COMMAND_OUTPUT),
            ];
            files
                .into_iter()
                .find(|file| file.exists())
                .map(|file| (file, None))
        } else if process.exists() {
            previous(&process)
        } else {
            let file = numbered(&command.join(COMMAND_OUTPUT));
            file.exists().then_some((file, None))
        };
        let Some((file, end)) = source else {
            return Ok(None);
        };
        part(&file, end, question).map(Some)
    }
}

impl Logs {
    /// Reads a part of what the hook of a Reconciler said when calls failed; `None` when nothing is kept.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn of_hook(&self, reconciler: &str, question: Question) -> io::Result<Option<Part>> {
        if !is_inside(reconciler) || reconciler.contains('/') {
            return Ok(None);
        }
        let file = self
            .directory
            .join("hooks")
            .join(format!("{reconciler}.log"));
        let file = if question.previous {
            numbered(&file)
        } else {
            file
        };
        if !file.exists() {
            return Ok(None);
        }
        part(&file, None, question).map(Some)
    }
}

/// Where what a process before the present one has written is, and where that ends.
fn previous(process: &Path) -> Option<(PathBuf, Option<u64>)> {
    let record = fs::read(process.join("state.json")).unwrap_or_default();
    let record: Value = serde_json::from_slice(&record).unwrap_or_default();
    let instances = record["instances"].as_array();
    let starts = instances.into_iter().flatten();
    let start = starts
        .filter_map(|instance| instance["logStart"].as_u64())
        .max();
    let log = process.join("log/process.log");
    let rotated = numbered(&log);
    match start {
        Some(0) => rotated.exists().then_some((rotated, None)),
        // No process runs: all of it is of the past.
        start => log.exists().then_some((log, start)),
    }
}

fn numbered(log: &Path) -> PathBuf {
    let mut path = log.as_os_str().to_owned();
    path.push(".1");
    path.into()
}

/// Reads a part of a file, of which what is behind `end` doesn't count.
fn part(path: &Path, end: Option<u64>, question: Question) -> io::Result<Part> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let length = end.map_or(length, |end| end.min(length));
    let start = match (question.offset, question.tail) {
        // It was cut meanwhile: what is there now is new.
        (Some(offset), _) if offset > length => 0,
        (Some(offset), _) => offset,
        (None, Some(lines)) => tail_start(&mut file, length, lines)?,
        (None, None) => 0,
    };
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    let wanted = (length - start).min(PART_BYTES);
    file.take(wanted).read_to_end(&mut bytes)?;
    // A letter whose rest is not there yet is read with its rest.
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
        && error.valid_up_to() > 0
    {
        bytes.truncate(error.valid_up_to());
    }
    let offset = start + bytes.len() as u64;
    Ok(Part {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        offset,
        more: offset < length && !bytes.is_empty(),
    })
}

/// Where the last lines begin.
fn tail_start(file: &mut File, length: u64, lines: u64) -> io::Result<u64> {
    if lines == 0 {
        return Ok(length);
    }
    let mut position = length;
    let mut found = 0;
    while position > 0 {
        let begin = position.saturating_sub(64 << 10);
        file.seek(SeekFrom::Start(begin))?;
        let mut bytes = Vec::new();
        file.by_ref()
            .take(position - begin)
            .read_to_end(&mut bytes)?;
        for (at, byte) in bytes.iter().enumerate().rev() {
            let at = begin + at as u64;
            // The line end at the very end ends the last line.
            if *byte == b'\n' && at + 1 < length {
                found += 1;
                if found == lines {
                    return Ok(at + 1);
                }
            }
        }
        position = begin;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(content: &[u8], state: &str) -> (tempfile::TempDir, Logs) {
        let directory = tempfile::tempdir().unwrap();
        let item = directory.path().join("processes/u1");
        fs::create_dir_all(item.join("log")).unwrap();
        fs::write(item.join("log/process.log"), content).unwrap();
        fs::write(item.join("state.json"), state).unwrap();
        let logs = Logs::new(directory.path());
        (directory, logs)
    }

    #[test]
    fn the_last_lines_are_found_and_the_log_is_followed_from_there() {
        let (_directory, logs) = logs(b"one\ntwo\nthree\n", "{}");
        let ask = |question| logs.read("u1", question).unwrap().unwrap();
        for (tail, text) in [
            (0, ""),
            (1, "three\n"),
            (2, "two\nthree\n"),
            (9, "one\ntwo\nthree\n"),
        ] {
            let question = Question {
                tail: Some(tail),
                ..Question::default()
            };
            let part = ask(question);
            assert_eq!(part.text, text);
            assert_eq!(part.offset, 14);
            assert!(!part.more);
        }
        let from = |offset| Question {
            offset: Some(offset),
            ..Question::default()
        };
        assert_eq!(ask(from(8)).text, "three\n");
        assert_eq!(ask(from(14)).text, "");
        assert_eq!(ask(from(99)).text, "one\ntwo\nthree\n", "it was cut");
    }

    #[test]
    fn what_the_process_before_wrote_is_told_from_what_this_one_writes() {
        let (_directory, logs) = logs(b"old\nnew\n", r#"{"instances": [{"logStart": 4}]}"#);
        let previous = Question {
            previous: true,
            ..Question::default()
        };
        assert_eq!(logs.read("u1", previous).unwrap().unwrap().text, "old\n");
    }

    #[test]
    fn a_long_log_comes_in_parts_and_letters_stay_whole() {
        let text = "ä".repeat(200_000);
        let (_directory, logs) = logs(format!("x{text}").as_bytes(), "{}");
        let mut read = String::new();
        let mut offset = 0;
        loop {
            let question = Question {
                offset: Some(offset),
                ..Question::default()
            };
            let part = logs.read("u1", question).unwrap().unwrap();
            read.push_str(&part.text);
            offset = part.offset;
            if !part.more {
                break;
            }
        }
        assert_eq!(read, format!("x{text}"));
    }

    #[test]
    fn a_uid_that_leads_elsewhere_has_no_log() {
        let (_directory, logs) = logs(b"secret", "{}");
        for uid in ["../processes/u1", "..", "", "u2", "/etc"] {
            assert_eq!(logs.read(uid, Question::default()).unwrap(), None, "{uid}");
        }
    }
}
