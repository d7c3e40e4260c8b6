//! Damage on disk is found and named, or did not matter; it never becomes different data.

use std::fs;
use std::path::{Path, PathBuf};

use landform_store::embedded::{check, compact};
use landform_store::{Error, Revision, Store};

use crate::support::{Random, commit, delete, dump, open, put, runtime};

/// A store with updates, deletes, large values and history, closed or as a kill leaves it.
struct Sample {
    directory: tempfile::TempDir,
    /// What must be read from it.
    contents: String,
}

const FILES: [&str; 3] = ["journal.db", "journal.db-wal", "acknowledged"];

fn sample(closed: bool) -> Sample {
    let working = tempfile::tempdir().unwrap();
    let kept = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let store = open(working.path()).unwrap();
        for turn in 0..150_usize {
            let length = if turn % 20 == 0 { 9_000 } else { 300 };
            let value = vec![b'a' + (turn % 26) as u8; length];
            commit(&store, put(&format!("ns/{}", turn % 60), value)).await;
            if turn % 10 == 9 {
                commit(&store, delete(&format!("ns/{}", turn % 60))).await;
            }
            if turn == 80 {
                store.compact(Revision(70)).await.unwrap();
            }
        }
        let contents = dump(&store);
        if closed {
            store.close().await.unwrap();
        }
        // Nothing is under way: the files are as they would be after a kill.
        copy(working.path(), kept.path());
        Sample {
            directory: kept,
            contents,
        }
    })
}

fn copy(from: &Path, to: &Path) {
    for name in FILES {
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

impl Sample {
    /// A copy with something done to one of its files.
    fn with(&self, file: &str, change: impl FnOnce(&mut Vec<u8>)) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        copy(self.directory.path(), directory.path());
        let path = directory.path().join(file);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
        directory
    }

    fn length(&self, file: &str) -> usize {
        fs::metadata(self.directory.path().join(file))
            .unwrap()
            .len() as usize
    }
}

/// Opens a store that may be damaged; says whether the damage was reported.
fn reported(sample: &Sample, directory: &Path, what: &str) -> bool {
    match open(directory) {
        Err(Error::Damaged { problems, .. }) => {
            assert!(!problems.is_empty());
            true
        }
        Err(other) => panic!("{what}: {other}"),
        Ok(store) => {
            assert_eq!(dump(&store), sample.contents, "{what}: silently different");
            false
        }
    }
}

#[test]
fn an_undamaged_copy_opens_closed_or_killed() {
    for closed in [true, false] {
        let sample = sample(closed);
        let directory = sample.with("journal.db", |_| {});
        assert!(check(directory.path()).unwrap().is_sound());
        assert!(!reported(&sample, directory.path(), "untouched"));
    }
}

#[test]
fn flipped_bytes_in_the_database_file_are_reported_or_harmless() {
    let sample = sample(true);
    let length = sample.length("journal.db");
    let mut random = Random(0x5eed);
    // The header and the first pages byte by byte now and then, the rest at random.
    let positions = (0..100)
        .chain((100..8_192).step_by(61))
        .chain((0..250).map(|_| random.below(length as u64) as usize));
    let mut reports = 0;
    for position in positions {
        let directory = sample.with("journal.db", |bytes| bytes[position] ^= 0x41);
        let what = format!("byte {position} flipped");
        reports += usize::from(reported(&sample, directory.path(), &what));
    }
    // Most bytes of the file belong to values.
    assert!(reports > 150, "only {reports} reports");
}

#[test]
fn flipped_bytes_in_the_log_are_reported_or_harmless() {
    let sample = sample(false);
    let length = sample.length("journal.db-wal");
    let mut random = Random(0xf00d);
    let positions = (0..56).chain((0..120).map(|_| random.below(length as u64) as usize));
    let mut reports = 0;
    for position in positions {
        let directory = sample.with("journal.db-wal", |bytes| bytes[position] ^= 0x10);
        let what = format!("byte {position} of the log flipped");
        reports += usize::from(reported(&sample, directory.path(), &what));
    }
    // A bad frame ends the log for SQLite; only the witness knows that more was acknowledged.
    assert!(reports > 130, "only {reports} reports");
}

#[test]
fn a_log_cut_short_or_missing_is_reported() {
    let sample = sample(false);
    let half = sample.length("journal.db-wal") / 2;
    let cut = sample.with("journal.db-wal", |bytes| bytes.truncate(half));
    assert!(reported(&sample, cut.path(), "log cut in half"));

    let missing = sample.with("journal.db", |_| {});
    fs::remove_file(missing.path().join("journal.db-wal")).unwrap();
    assert!(reported(&sample, missing.path(), "log removed"));

    let missing = sample.with("journal.db", |_| {});
    fs::remove_file(missing.path().join("journal.db")).unwrap();
    assert!(reported(&sample, missing.path(), "database removed"));
}

#[test]
fn a_damaged_record_is_named_by_open_and_check_and_neither_changes_the_files() {
    let sample = sample(true);
    let directory = sample.with("journal.db", |_| {});
    tamper(
        directory.path(),
        "UPDATE journal SET value = zeroblob(5)
         WHERE id = (SELECT max(id) FROM journal WHERE name = 'ns/7')",
    );
    let before = fs::read(directory.path().join("journal.db")).unwrap();
    let Err(Error::Damaged { problems, .. }) = open(directory.path()) else {
        panic!("a tampered record was accepted");
    };
    assert!(
        problems[0].contains("/configmaps/ns/7 at revision"),
        "{problems:?}"
    );
    let report = check(directory.path()).unwrap();
    assert!(!report.is_sound());
    assert!(
        report.to_string().contains("/configmaps/ns/7 at revision"),
        "{report}"
    );
    assert_eq!(
        fs::read(directory.path().join("journal.db")).unwrap(),
        before
    );
}

#[test]
fn a_missing_or_moved_record_is_noticed_though_all_others_are_sound() {
    let sample = sample(true);
    let statements = [
        "DELETE FROM journal WHERE id = (SELECT min(id) FROM journal)",
        "DELETE FROM journal WHERE id = (SELECT max(id) FROM journal)",
        "DELETE FROM journal WHERE id = (SELECT id FROM journal LIMIT 1 OFFSET 40)",
        "UPDATE journal SET id = id + 1 WHERE id = (SELECT max(id) FROM journal)",
        "UPDATE meta SET revision = revision - 1",
        "DELETE FROM meta",
    ];
    // Without history nothing but the count can tell that a record is missing.
    for compacted in [false, true] {
        for statement in statements {
            let directory = sample.with("journal.db", |_| {});
            if compacted {
                compact(directory.path(), None).unwrap();
            }
            tamper(directory.path(), statement);
            assert!(
                reported(&sample, directory.path(), statement),
                "{statement}"
            );
            assert!(!check(directory.path()).unwrap().is_sound(), "{statement}");
        }
    }
}

fn tamper(directory: &Path, statement: &str) {
    let path: PathBuf = directory.join("journal.db");
    let connection = rusqlite::Connection::open(path).unwrap();
    assert_eq!(connection.execute(statement, []).unwrap(), 1, "{statement}");
}
