//! Killed in the middle of concurrent writes, again and again: nothing acknowledged is lost.
//!
//! A child process writes from several tasks at once and prints each acknowledgement; the parent
//! kills it after a random number of them, opens the store and compares. A power cut is the same,
//! only that writes since the last sync are lost, torn or kept at random (`fault.c`).
//! `LANDFORM_CRASH_ROUNDS` and `LANDFORM_POWER_ROUNDS` set the rounds, `LANDFORM_CRASH_SEED`
//! repeats a run.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use landform_store::embedded::{EmbeddedStore, Options};
use landform_store::{
    Compare, Event, EventKind, HistoryLimits, Op, Revision, Store, Txn, TxnOutcome,
};

use crate::fault::library;
use crate::support::{Random, child, child_directory, key, records, runtime};

const WRITERS: usize = 8;
const CLEAN_ALWAYS: &str = "LANDFORM_TEST_CLEAN_ALWAYS";
const VALUE_BYTES: &str = "LANDFORM_TEST_VALUE_BYTES";

/// So little history that compaction is always at work while the process is killed.
fn options() -> Options {
    Options {
        history: HistoryLimits {
            max_events: 600,
            ..HistoryLimits::default()
        },
        // Now and then it is written anew with every batch.
        clean_after: match std::env::var_os(CLEAN_ALWAYS) {
            Some(_) => Duration::ZERO,
            None => Options::default().clean_after,
        },
        ..Options::default()
    }
}

/// Left and right of a writer are written in one transaction: they must always be alike.
fn pair(writer: usize, turn: u64, bytes: usize) -> Txn {
    let [left, right] = ["left", "right"].map(|side| key(&format!("{side}/{writer}")));
    if turn % 7 == 6 {
        return Txn::one(left, Compare::Any, Op::Delete).and(right, Compare::Any, Op::Delete);
    }
    let mut value = format!("{turn:020}").into_bytes();
    value.resize(bytes.max(20), b'.');
    let value = Op::Put(Bytes::from(value));
    Txn::one(left, Compare::Any, value.clone()).and(right, Compare::Any, value)
}

#[test]
#[ignore = "the process that the crash test kills"]
fn child_writes_until_it_is_killed() {
    let Some(directory) = child_directory() else {
        return;
    };
    let bytes: usize = std::env::var(VALUE_BYTES).unwrap().parse().unwrap();
    runtime().block_on(async {
        let store = Arc::new(EmbeddedStore::open(&directory, options()).unwrap());
        let first_turn = store.revision().0 * 7;
        let tasks: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let store = Arc::clone(&store);
                tokio::spawn(async move {
                    for turn in first_turn.. {
                        let outcome = store.commit(pair(writer, turn, bytes)).await.unwrap();
                        let TxnOutcome::Committed(revision) = outcome else {
                            panic!("an unconditional write conflicts");
                        };
                        let line = format!("acknowledged {writer} {turn} {revision}\n");
                        std::io::stdout().write_all(line.as_bytes()).unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

/// What a child said before it was killed.
struct Acknowledged {
    writer: usize,
    turn: u64,
    revision: Revision,
}

/// A child that is to be killed after so many acknowledgements.
fn writing_child(directory: &Path, random: &mut Random) -> (Command, u64) {
    // Now and then large values, so that the log is moved into the database file meanwhile.
    let (bytes, most) = match random.below(5) {
        0 => (16_000, 300),
        _ => (1_000, 120),
    };
    let mut command = child("crash::child_writes_until_it_is_killed", directory);
    command.env(VALUE_BYTES, bytes.to_string());
    if random.below(3) == 0 {
        command.env(CLEAN_ALWAYS, "1");
    }
    (command, random.below(most))
}

/// Runs a child until it has acknowledged so many writes, or dies by itself.
fn run_and_kill(command: &mut Command, wanted: u64) -> Vec<Acknowledged> {
    let mut process = command.spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let mut acknowledged = Vec::new();
    let mut killed = false;
    // After the kill the pipe still holds what was acknowledged before it.
    while let Some(Ok(line)) = lines.next() {
        if let [_, writer, turn, revision] = line.split(' ').collect::<Vec<_>>()[..]
            && line.starts_with("acknowledged")
            && let (Ok(writer), Ok(turn), Ok(revision)) =
                (writer.parse(), turn.parse(), revision.parse())
        {
            acknowledged.push(Acknowledged {
                writer,
                turn,
                revision: Revision(revision),
            });
        }
        if !killed && acknowledged.len() as u64 >= wanted {
            process.kill().unwrap();
            killed = true;
        }
    }
    let status = process.wait().unwrap();
    assert_eq!(
        status.signal(),
        Some(9),
        "the child ended by itself: {status}"
    );
    acknowledged
}

/// A name and its value and revision.
type Contents = BTreeMap<String, (Bytes, Revision)>;

fn contents(store: &dyn Store, at: Option<Revision>) -> Contents {
    records(store, at)
        .into_iter()
        .map(|record| (record.key.name.to_string(), (record.value, record.modified)))
        .collect()
}

fn history(store: &dyn Store) -> Vec<Arc<Event>> {
    let mut watch = store.watch_all(store.compacted()).unwrap();
    let mut events = Vec::new();
    while let Some(next) = watch.next().now_or_never() {
        events.append(&mut next.unwrap());
    }
    events
}

/// Compares an opened store with what was acknowledged; an error says what is wrong.
fn verify(
    store: &dyn Store,
    acknowledged: &[Acknowledged],
    before: Revision,
) -> Result<(), String> {
    let check = |holds: bool, problem: String| if holds { Ok(()) } else { Err(problem) };
    let newest = acknowledged.iter().map(|ack| ack.revision).max();
    let newest = newest.unwrap_or(before);
    check(
        store.revision() >= newest.max(before),
        format!("revision {} after {newest} and {before}", store.revision()),
    )?;

    let events = history(store);
    let mut replayed = contents(store, Some(store.compacted()));
    for event in &events {
        let name = event.record.key.name.to_string();
        match event.kind {
            EventKind::Deleted => replayed.remove(&name),
            EventKind::Created | EventKind::Updated => {
                replayed.insert(name, (event.record.value.clone(), event.revision))
            }
        };
    }
    // The history may begin between the two writes of a transaction.
    let is_left = |event: &Arc<Event>| event.record.key.name.starts_with("left/");
    let whole = &events[events.iter().position(is_left).unwrap_or(0)..];
    for transaction in whole.chunks(2) {
        check(
            transaction.len() == 2
                && transaction[0].revision.0 + 1 == transaction[1].revision.0
                && transaction[0].record.value == transaction[1].record.value,
            format!("{transaction:?} is not a whole transaction"),
        )?;
    }
    let state = contents(store, None);
    check(
        replayed == state,
        "the history does not lead to the state".to_owned(),
    )?;

    for ack in acknowledged {
        // A transaction is acknowledged with the revision of its last write.
        let name = format!("right/{}", ack.writer);
        let turn = format!("{:020}", ack.turn);
        let deletes = ack.turn % 7 == 6;
        if ack.revision > store.compacted() {
            let found = events.iter().any(|event| {
                event.revision == ack.revision
                    && *event.record.key.name == *name
                    && (event.kind == EventKind::Deleted) == deletes
                    && (deletes || event.record.value.starts_with(turn.as_bytes()))
            });
            check(found, format!("{name} at {} is lost", ack.revision))?;
        } else if let Some((value, _)) = state.get(&name) {
            check(
                **value >= *turn.as_bytes(),
                format!("{name} went back before {turn}"),
            )?;
        }
    }
    for writer in 0..WRITERS {
        let value = |side| {
            let found = state.get(&format!("{side}/{writer}"));
            found.map(|(value, _)| value)
        };
        let [left, right] = ["left", "right"].map(value);
        check(
            left == right,
            format!("half a transaction of writer {writer}"),
        )?;
    }
    Ok(())
}

/// Kills children in one directory, again and again, and looks at what they leave.
fn rounds(name: &str, default: u64, mut kill: impl FnMut(&Path, &mut Random) -> Vec<Acknowledged>) {
    let number = |name| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let rounds = number(name).unwrap_or(default);
    let seed = number("LANDFORM_CRASH_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        u64::from(now.unwrap().subsec_nanos()) | 1
    });
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random(seed);
    let mut before = Revision::ZERO;
    for round in 0..rounds {
        let acknowledged = kill(directory.path(), &mut random);
        let store = EmbeddedStore::open(directory.path(), options())
            .unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
        if let Err(problem) = verify(&store, &acknowledged, before) {
            panic!("seed {seed}, round {round}: {problem}");
        }
        before = store.revision();
    }
    assert!(before > Revision::ZERO, "no round wrote anything");
}

#[test]
fn c5_nothing_acknowledged_is_lost_by_kill_minus_nine() {
    rounds("LANDFORM_CRASH_ROUNDS", 50, |directory, random| {
        let (mut command, wanted) = writing_child(directory, random);
        run_and_kill(&mut command, wanted)
    });
}

#[test]
fn c5_nothing_acknowledged_is_lost_by_a_power_cut() {
    let (_place, library) = library();
    rounds("LANDFORM_POWER_ROUNDS", 30, |directory, random| {
        let (mut command, _) = writing_child(directory, random);
        let cut = format!("{},{}", random.below(600), random.below(1 << 30));
        command.env("LD_PRELOAD", &library).env("LANDFORM_CUT", cut);
        run_and_kill(&mut command, u64::MAX)
    });
}
