//! A store that can't prove that it is whole says so, and what it advises works: a table of what can happen to its
//! files, each alone and all together.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use landform_store::embedded::{accept_loss, check};
use landform_store::{Error, Record, Revision, Store};

use crate::support::{commit, delete, dump, open, put, records, runtime};

const JOURNAL: &str = "journal.db";
const LOG: &str = "journal.db-wal";
const WITNESS: &str = "acknowledged";
const FILES: [&str; 3] = [JOURNAL, LOG, WITNESS];

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Intact,
    Missing,
    Cut(usize),
    Old,
}

/// A store that was killed, with copies of its files from before.
struct Sample {
    now: BTreeMap<&'static str, Vec<u8>>,
    before: BTreeMap<&'static str, Vec<u8>>,
    contents: String,
    /// What there was at each revision.
    history: BTreeMap<Revision, Vec<Record>>,
    old_witness: Revision,
}

fn files(directory: &Path) -> BTreeMap<&'static str, Vec<u8>> {
    let read = |name| Some((name, fs::read(directory.join(name)).ok()?));
    FILES.into_iter().filter_map(read).collect()
}

fn sample() -> Sample {
    let directory = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let store = open(directory.path()).unwrap();
        for turn in 0..20_u8 {
            commit(&store, put(&format!("a{turn}"), vec![turn; 700])).await;
        }
        store.close().await.unwrap();
        drop(store);
        let mut before = files(directory.path());
        let store = open(directory.path()).unwrap();
        let mut history = BTreeMap::from([(store.revision(), records(&store, None))]);
        let mut old_witness = Revision::ZERO;
        for turn in 0..16_u8 {
            let txn = match turn % 5 {
                4 => delete(&format!("a{turn}")),
                _ => put(&format!("b{turn}"), vec![turn; 900]),
            };
            let revision = commit(&store, txn).await;
            history.insert(revision, records(&store, None));
            if turn == 5 {
                let later = files(directory.path());
                before.extend([LOG, WITNESS].map(|name| (name, later[name].clone())));
                old_witness = revision;
            }
        }
        // Nothing is under way: the files are as a kill would leave them.
        Sample {
            now: files(directory.path()),
            before,
            contents: dump(&store),
            history,
            old_witness,
        }
    })
}

impl Sample {
    fn make(&self, fates: &[(&'static str, Fate)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, fate) in fates {
            let bytes = match fate {
                Fate::Missing => continue,
                Fate::Intact => self.now[name].clone(),
                Fate::Cut(length) => self.now[name][..*length].to_vec(),
                Fate::Old => self.before[name].clone(),
            };
            fs::write(directory.path().join(name), bytes).unwrap();
        }
        directory
    }

    /// All there was, or a true sentence with advice that works; anything else fails.
    fn judge(&self, fates: &[(&'static str, Fate)]) -> bool {
        let directory = self.make(fates);
        let fate = |file: &str| fates.iter().find(|(name, _)| *name == file).unwrap().1;
        match open(directory.path()) {
            Ok(store) if dump(&store) == self.contents => true,
            Ok(store) if fate(WITNESS) == Fate::Old => {
                // A witness of an earlier moment is what a power cut leaves: no file here tells a lie.
                assert!(store.revision() >= self.old_witness, "{fates:?}");
                let then = &self.history[&store.revision()];
                assert_eq!(records(&store, None), *then, "{fates:?}");
                true
            }
            Ok(store) => {
                // Without a trace of a store there is a new one.
                let nothing = |name| matches!(fate(name), Fate::Missing | Fate::Cut(0));
                let new = fate(JOURNAL) == Fate::Missing
                    && nothing(LOG)
                    && fate(WITNESS) == Fate::Missing;
                assert!(new, "{fates:?}: silently at {}", store.revision());
                assert_eq!(store.revision(), Revision::ZERO);
                true
            }
            Err(error @ Error::Damaged { .. }) => {
                self.follow_advice(directory.path(), &error.to_string(), fates);
                false
            }
            Err(other) => panic!("{fates:?}: {other}"),
        }
    }

    fn follow_advice(&self, directory: &Path, message: &str, fates: &[(&'static str, Fate)]) {
        assert!(message.contains("restore a backup"), "{fates:?}: {message}");
        if let (_, Fate::Cut(1..)) = fates[1] {
            // As for the others; there are hundreds of these.
            return;
        }
        let report = check(directory).unwrap();
        assert!(!report.is_sound(), "{fates:?}: the check is content");
        let accepted = accept_loss(directory, None);
        if !message.contains("accept-loss") {
            assert!(accepted.is_err(), "{fates:?}: {message}");
            return;
        }
        let kept = accepted.unwrap();
        let store = open(directory).unwrap();
        let found = records(&store, None);
        assert_eq!(found.len(), kept.objects, "{fates:?}");
        assert_eq!(found, self.history[&kept.newest], "{fates:?}");
        assert_eq!(store.revision(), kept.revision, "{fates:?}");
        assert!(kept.revision > *self.history.keys().last().unwrap());
    }
}

#[test]
fn whatever_happens_to_the_files_nothing_is_lost_silently() {
    let sample = sample();
    let witnesses = [
        Fate::Intact,
        Fate::Missing,
        Fate::Cut(0),
        Fate::Cut(8),
        Fate::Old,
    ];
    let length = sample.now[JOURNAL].len();
    let journals = [
        Fate::Intact,
        Fate::Missing,
        Fate::Cut(0),
        Fate::Cut(100),
        Fate::Cut(4_096),
        Fate::Cut(length / 2),
        Fate::Cut(length - 4_096),
        Fate::Old,
    ];
    let log = sample.now[LOG].len();
    // Its records are frames of a page and 24 bytes, behind a header of 32.
    let frames = (0..)
        .map(|frame| 32 + frame * 4_120)
        .take_while(|end| *end < log);
    let cuts = frames.enumerate().flat_map(|(frame, end)| {
        let between = (frame % 4 == 0).then_some((end + 2_000).min(log - 1));
        [Some(end), between].into_iter().flatten()
    });
    let cuts: Vec<_> = cuts.map(Fate::Cut).collect();
    let few = [
        Fate::Intact,
        Fate::Missing,
        Fate::Cut(0),
        Fate::Cut(log / 2),
        Fate::Old,
    ];
    let (mut opened, mut refused) = (0, 0);
    let mut judge = |journal, log, witness| {
        let fates = [(JOURNAL, journal), (LOG, log), (WITNESS, witness)];
        match sample.judge(&fates) {
            true => opened += 1,
            false => refused += 1,
        }
    };
    for witness in witnesses {
        for journal in journals {
            for log in few {
                judge(journal, log, witness);
            }
        }
    }
    for witness in [Fate::Intact, Fate::Missing, Fate::Old] {
        for log in &cuts {
            judge(Fate::Intact, *log, witness);
        }
    }
    assert!(
        opened > 10 && refused > 100,
        "{opened} opened, {refused} refused"
    );
}

#[test]
fn a_new_directory_opens_whatever_its_first_start_left() {
    let sample = sample();
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(open(empty.path()).unwrap().revision(), Revision::ZERO);
    // The witness is made first; a crash may come before the journal is there.
    let begun = tempfile::tempdir().unwrap();
    drop(open(begun.path()).unwrap());
    fs::remove_file(begun.path().join(JOURNAL)).unwrap();
    assert_eq!(open(begun.path()).unwrap().revision(), Revision::ZERO);
    assert!(sample.judge(&FILES.map(|name| (name, Fate::Intact))));
}

#[test]
fn a_directory_that_has_lost_journal_and_witness_is_no_new_one() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()).unwrap());
    let entries = fs::read_dir(directory.path()).unwrap();
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with(JOURNAL) || name == "acknowledged" {
            fs::remove_file(path).unwrap();
        }
    }
    let message = open(directory.path()).err().unwrap().to_string();
    assert!(message.contains("is missing"), "{message}");
    assert!(message.contains("--data-dir"), "{message}");
}

#[test]
fn a_store_of_the_version_before_opens() {
    let sample = sample();
    let made = sample.make(&FILES.map(|name| (name, Fate::Intact)));
    let directory = tempfile::tempdir().unwrap();
    let old = rusqlite::Connection::open(made.path().join(JOURNAL)).unwrap();
    // That version made its tables in the log, and had no other files than these.
    let new = rusqlite::Connection::open(directory.path().join(JOURNAL)).unwrap();
    new.pragma_update(None, "journal_mode", "WAL").unwrap();
    new.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    let schema = "SELECT group_concat(sql, ';') FROM sqlite_schema WHERE sql IS NOT NULL";
    let schema: String = old.query_row(schema, [], |row| row.get(0)).unwrap();
    let from = made.path().join(JOURNAL);
    new.execute_batch(&format!(
        "ATTACH '{}' AS old; {schema};
         INSERT INTO main.journal SELECT * FROM old.journal;
         INSERT INTO main.meta SELECT * FROM old.meta;
         PRAGMA main.application_id = {}; PRAGMA main.user_version = 1;",
        from.display(),
        0x4c46_7374
    ))
    .unwrap();
    fs::write(directory.path().join(WITNESS), &sample.now[WITNESS]).unwrap();
    // As a kill leaves it: copied while the connection is open.
    let copy = tempfile::tempdir().unwrap();
    for (name, bytes) in files(directory.path()) {
        fs::write(copy.path().join(name), bytes).unwrap();
    }
    assert!(fs::metadata(copy.path().join(LOG)).unwrap().len() > 10_000);
    let store = open(copy.path()).unwrap();
    assert_eq!(dump(&store), sample.contents);
    runtime().block_on(commit(&store, put("more", "1")));
}
