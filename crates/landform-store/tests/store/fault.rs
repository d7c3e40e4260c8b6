//! A disk that is full, that fails to sync, or that loses its power.
//!
//! The faults are made by `fault.c`, which is preloaded into child processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bytes::Bytes;
use landform_store::{Error, Store};

use crate::support::{child, child_directory, commit, key, open, put, records, runtime};

/// The control file of the preloaded library.
const FAULT: &str = "LANDFORM_FAULT";

/// Builds the library; the place where it is stays as long as the value.
pub(crate) fn library() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let library = directory.path().join("fault.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store/fault.c");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .args(["-ldl", "-lpthread"])
        .status()
        .unwrap();
    assert!(status.success(), "cc can't build {}", source.display());
    (directory, library)
}

fn run_child(test: &str, directory: &Path) -> Output {
    let (_place, library) = library();
    let output = child(test, directory)
        .env("LD_PRELOAD", library)
        .env(FAULT, directory.join("fault"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "the child did not run: {text}");
    output
}

fn set_fault(text: &str) {
    std::fs::write(std::env::var_os(FAULT).unwrap(), text).unwrap();
}

fn lift_fault() {
    std::fs::remove_file(std::env::var_os(FAULT).unwrap()).unwrap();
}

fn large(byte: u8) -> Bytes {
    Bytes::from(vec![byte; 30_000])
}

#[test]
#[ignore = "runs with a faulty disk, in the test below"]
fn child_meets_a_full_disk() {
    let Some(directory) = child_directory() else {
        return;
    };
    runtime().block_on(async {
        let store = open(&directory.join("data")).unwrap();
        let before = commit(&store, put("kept", large(1))).await;
        // Full at once, and in the middle of a batch.
        for writes in [0, 1, 2, 5, 9] {
            set_fault(&format!("write {writes}"));
            let refused = store.commit(put("refused", large(2))).await;
            assert!(
                matches!(refused, Err(Error::DiskFull { .. })),
                "{refused:?}"
            );
            assert!(matches!(store.trouble(), Some(Error::DiskFull { .. })));
            let compacting = store.compact(store.revision()).await;
            assert!(
                matches!(compacting, Ok(()) | Err(Error::DiskFull { .. })),
                "{compacting:?}"
            );
            assert!(store.get(&key("refused")).await.unwrap().is_none());
            assert!(store.get(&key("kept")).await.unwrap().is_some());
            lift_fault();
            let name = format!("after-{writes}");
            commit(&store, put(&name, large(3))).await;
            assert!(store.trouble().is_none());
        }
        // No revision was spent on what was refused.
        assert_eq!(store.revision().0, before.0 + 5);
        store.close().await.unwrap();
    });
}

#[test]
fn a_full_disk_refuses_the_write_and_takes_the_next_when_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    run_child("fault::child_meets_a_full_disk", directory.path());
    let store = open(&directory.path().join("data")).unwrap();
    let names: Vec<_> = records(&store, None)
        .iter()
        .map(|record| record.key.name.to_string())
        .collect();
    let expected = [
        "after-0", "after-1", "after-2", "after-5", "after-9", "kept",
    ];
    assert_eq!(names, expected);
}

#[test]
#[ignore = "runs with a faulty disk, in the test below"]
fn child_meets_a_failing_sync() {
    let Some(directory) = child_directory() else {
        return;
    };
    runtime().block_on(async {
        let store = open(&directory.join("data")).unwrap();
        let before = commit(&store, put("kept", "1")).await;
        set_fault("sync");
        let mut watch = store.watch_all(before).unwrap();
        let failed = store.commit(put("failed", "2")).await;
        assert!(matches!(failed, Err(Error::Io { .. })), "{failed:?}");
        lift_fault();
        // The kernel may have dropped the pages that it could not write: no more guesses.
        let refused = store.commit(put("later", "3")).await;
        assert!(
            matches!(refused, Err(Error::ReadOnly { .. })),
            "{refused:?}"
        );
        let compacting = store.compact(before).await;
        assert!(
            matches!(compacting, Err(Error::ReadOnly { .. })),
            "{compacting:?}"
        );
        assert_eq!(store.revision(), before);
        assert!(store.get(&key("kept")).await.unwrap().is_some());
        assert!(store.get(&key("failed")).await.unwrap().is_none());
        assert!(futures::FutureExt::now_or_never(watch.next()).is_none());
        store.close().await.unwrap();
    });
}

#[test]
fn a_failed_sync_ends_all_writing_and_loses_nothing_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    run_child("fault::child_meets_a_failing_sync", directory.path());
    let store = open(&directory.path().join("data")).unwrap();
    let found = runtime().block_on(store.get(&key("kept"))).unwrap();
    assert_eq!(&found.unwrap().value[..], b"1");
    let later = runtime().block_on(store.get(&key("later"))).unwrap();
    assert!(later.is_none(), "a refused write was made");
    runtime().block_on(commit(&store, put("after", "4")));
}
