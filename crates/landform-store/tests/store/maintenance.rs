//! Backup, restore, compaction and the lock, as the command line uses them.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use landform_store::embedded::{
    EmbeddedStore, Options, RestoreOptions, backup, check, compact, restore,
};
use landform_store::memory::MemoryStore;
use landform_store::{
    Compare, Error, HistoryLimits, Op, Revision, Store, Txn, TxnOutcome, WatchError,
};

use crate::support::{
    bucket, child, child_directory, commit, delete, dump, key, open, put, records, runtime,
};

#[tokio::test]
async fn a_backup_of_a_running_store_restores_to_the_same_records() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("backup");
    let store = open(&directory.path().join("old")).unwrap();
    let both = put("a", "1").and(key("b"), Compare::Any, Op::Put("1".into()));
    commit(&store, both).await;
    commit(&store, put("c", "gone")).await;
    commit(&store, delete("c")).await;
    let backed_up = store.backup(&file).await.unwrap();
    assert_eq!(backed_up, store.revision());
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let expected = records(&store, None);

    // The old store goes on; its clients remember revisions that the copy never saw.
    let later = commit(&store, put("a", "2")).await;
    assert_eq!(
        restore_into(&file, &directory.path().join("new")).0,
        backed_up.0 + 1_000_000_000
    );
    let restored = open(&directory.path().join("new")).unwrap();
    assert_eq!(records(&restored, None), expected);
    let stale_watch = restored.watch(&bucket(), "", later);
    assert!(matches!(stale_watch, Err(WatchError::Compacted { .. })));
    let stale_write = Txn::one(key("a"), Compare::ModifiedAt(later), Op::Delete);
    let outcome = restored.commit(stale_write).await.unwrap();
    assert!(matches!(outcome, TxnOutcome::Conflict { .. }));
    assert!(commit(&restored, put("a", "3")).await > later);
}

fn restore_into(file: &std::path::Path, directory: &std::path::Path) -> Revision {
    restore(file, directory, &RestoreOptions::default(), None).unwrap()
}

#[tokio::test]
async fn a_memory_store_is_backed_up_too() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("backup");
    let store = MemoryStore::new();
    commit(&store, put("a", "1")).await;
    store.backup(&file).await.unwrap();
    restore_into(&file, &directory.path().join("new"));
    let restored = open(&directory.path().join("new")).unwrap();
    assert_eq!(records(&restored, None), records(&store, None));
}

#[tokio::test]
async fn restore_refuses_an_occupied_directory_and_a_damaged_backup() {
    let directory = tempfile::tempdir().unwrap();
    let (data, file) = (
        directory.path().join("data"),
        directory.path().join("backup"),
    );
    let store = open(&data).unwrap();
    commit(&store, put("a", vec![b'x'; 2_000])).await;
    store.backup(&file).await.unwrap();
    commit(&store, put("a", "newer")).await;
    let replace = RestoreOptions {
        replace: true,
        ..RestoreOptions::default()
    };
    assert!(restore(&file, &data, &RestoreOptions::default(), None).is_err());
    assert!(matches!(
        restore(&file, &data, &replace, None),
        Err(Error::Locked { .. })
    ));
    store.close().await.unwrap();
    drop(store);

    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes
        .windows(50)
        .position(|window| window == [b'x'; 50])
        .unwrap();
    bytes[middle] = b'y';
    let damaged = directory.path().join("damaged");
    std::fs::write(&damaged, bytes).unwrap();
    let Err(Error::Damaged { problems, .. }) = restore(&damaged, &data, &replace, None) else {
        panic!("a damaged backup was restored");
    };
    assert!(
        problems[0].contains("/configmaps/a at revision 1"),
        "{problems:?}"
    );
    assert_eq!(&records(&open(&data).unwrap(), None)[0].value[..], b"newer");

    restore(&file, &data, &replace, None).unwrap();
    assert_eq!(records(&open(&data).unwrap(), None)[0].value.len(), 2_000);
}

#[tokio::test]
async fn offline_compaction_gives_space_back_and_keeps_records_and_revision() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    for turn in 0..200 {
        commit(&store, put("a", vec![turn; 4_000])).await;
    }
    let (expected, revision) = (records(&store, None), store.revision());
    drop(store);
    let (before, after) = compact(directory.path(), None).unwrap();
    assert!(after * 10 < before, "{before} to {after}");
    let report = check(directory.path()).unwrap();
    assert!(report.is_sound(), "{report}");
    assert_eq!((report.keys, report.rows, report.events), (1, 1, 0));
    let store = open(directory.path()).unwrap();
    assert_eq!(records(&store, None), expected);
    assert_eq!((store.revision(), store.compacted()), (revision, revision));
}

#[tokio::test]
async fn revisions_go_on_after_everything_was_deleted_and_compacted() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    commit(&store, put("a", "1")).await;
    let newest = commit(&store, delete("a")).await;
    store.compact(newest).await.unwrap();
    drop(store);
    assert_eq!(check(directory.path()).unwrap().rows, 0);
    let store = open(directory.path()).unwrap();
    assert_eq!(store.revision(), newest);
    assert_eq!(commit(&store, put("a", "2")).await.0, newest.0 + 1);
}

#[tokio::test]
async fn an_offline_backup_equals_an_online_one() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = open(&data).unwrap();
    commit(&store, put("a", "1")).await;
    commit(&store, put("a", "2")).await;
    store
        .backup(&directory.path().join("online"))
        .await
        .unwrap();
    backup(&data, &directory.path().join("beside"), None).unwrap();
    store.close().await.unwrap();
    backup(&data, &directory.path().join("offline"), None).unwrap();
    let dumps = ["online", "beside", "offline"].map(|name| {
        let restored = directory.path().join(format!("from-{name}"));
        restore_into(&directory.path().join(name), &restored);
        dump(&open(&restored).unwrap())
    });
    assert_eq!(dumps[0], dumps[1]);
    assert_eq!(dumps[0], dumps[2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_beside_a_busy_store_is_one_state() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let store = Arc::new(open(&data).unwrap());
    let writing = {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            for n in 0..400 {
                let value = n.to_string();
                let pair =
                    put("a", value.clone()).and(key("b"), Compare::Any, Op::Put(value.into()));
                commit(&*store, pair).await;
            }
        })
    };
    let mut seen = 0;
    while !writing.is_finished() {
        let file = directory.path().join(format!("copy-{seen}"));
        let data = data.clone();
        let revision = {
            let file = file.clone();
            tokio::task::spawn_blocking(move || backup(&data, &file, None))
                .await
                .unwrap()
                .unwrap()
        };
        let copy = directory.path().join(format!("restored-{seen}"));
        restore_into(&file, &copy);
        let records = records(&open(&copy).unwrap(), None);
        let values: Vec<_> = records.iter().map(|record| record.value.clone()).collect();
        if revision > Revision::ZERO {
            assert_eq!(
                values[0], values[1],
                "both writes of a transaction, or none"
            );
        }
        seen += 1;
    }
    writing.await.unwrap();
    assert!(seen > 0);
}

#[test]
fn commands_on_a_directory_without_a_store_say_so_and_make_none() {
    let directory = tempfile::tempdir().unwrap();
    for missing in [
        directory.path().to_owned(),
        directory.path().join("missing"),
    ] {
        assert!(check(&missing).is_err());
        assert!(compact(&missing, None).is_err());
        assert!(backup(&missing, &directory.path().join("file"), None).is_err());
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_backup_never_replaces_the_store_itself() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    commit(&store, put("a", "1")).await;
    for name in ["journal.db", "journal.db-wal", "lock", "acknowledged"] {
        let file = directory.path().join(name);
        assert!(store.backup(&file).await.is_err(), "{name}");
    }
    store.backup(&directory.path().join("copy")).await.unwrap();
}

/// Overwrites a few keys with many large values from several tasks, and watches the files.
#[test]
fn files_stay_bounded_under_constant_load() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        history: HistoryLimits {
            max_superseded_bytes: 8 << 20,
            ..HistoryLimits::default()
        },
        ..Options::default()
    };
    let store = Arc::new(EmbeddedStore::open(directory.path(), options).unwrap());
    let size = |name: &str| {
        std::fs::metadata(directory.path().join(name))
            .unwrap()
            .len()
    };
    runtime().block_on(async {
        let tasks: Vec<_> = (0..4)
            .map(|writer| {
                let store = Arc::clone(&store);
                tokio::spawn(async move {
                    for turn in 0..300_u32 {
                        let value = vec![turn.to_le_bytes()[0]; 150_000];
                        commit(&*store, put(&format!("{writer}"), value)).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    // 180 MB were written; the log is used again and again, and so are the pages of old history.
    let (log, database) = (size("journal.db-wal"), size("journal.db"));
    assert!(log < 100_000_000, "the log has {log} bytes");
    assert!(database < 40_000_000, "the database has {database} bytes");
}

#[test]
#[ignore = "the process that holds the directory in the test below"]
fn child_holds_the_directory() {
    let Some(directory) = child_directory() else {
        return;
    };
    let _store = open(&directory).unwrap();
    std::io::stdout().write_all(b"\nholding\n").unwrap();
    // Until the parent closes its end.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_second_process_is_told_who_holds_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let mut process = child("maintenance::child_holds_the_directory", directory.path())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "holding"));
    let expected = format!("process {} (", process.id());
    let errors = [
        open(directory.path()).err().unwrap(),
        check(directory.path()).err().unwrap(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Locked { .. }));
        assert!(error.to_string().contains(&expected), "{error}");
    }
    drop(process.stdin.take());
    // The harness there still prints its summary.
    assert!(lines.count() > 0);
    assert!(process.wait().unwrap().success());
    open(directory.path()).unwrap();
}

#[test]
fn a_new_data_directory_is_private() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("deep/data");
    let store = open(&data).unwrap();
    runtime().block_on(commit(&store, put("a", "1")));
    let mode = std::fs::metadata(&data).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    for file in std::fs::read_dir(&data).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.path().display());
    }
}
