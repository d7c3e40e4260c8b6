//! What was deleted is gone from the disk, too, without anybody asking for it.

use std::path::Path;
use std::time::Duration;

use landform_store::embedded::{EmbeddedStore, Options};
use landform_store::{Revision, Store};

use crate::support::{Random, commit, delete, open, put, records};

fn options(clean_after: Duration) -> Options {
    Options {
        clean_after,
        ..Options::default()
    }
}

/// Whether some file of the directory has these bytes in it.
fn is_on_disk(directory: &Path, needle: &[u8]) -> bool {
    let mut files = std::fs::read_dir(directory).unwrap();
    files.any(|file| {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        bytes.windows(needle.len()).any(|window| window == needle)
    })
}

fn secret(number: u64, length: usize) -> Vec<u8> {
    format!("canary-{number:04}-")
        .into_bytes()
        .repeat(length / 12 + 1)
}

#[tokio::test]
async fn a_deleted_value_leaves_the_disk_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path(), options(Duration::ZERO)).unwrap();
    let mut random = Random(7);
    // Values in one page and over many, deleted or replaced in any order, between others that stay.
    for number in 0..60 {
        let length = [40, 900, 3_000, 30_000][random.below(4) as usize];
        commit(&store, put(&format!("s{number}"), secret(number, length))).await;
        commit(&store, put(&format!("kept{number}"), vec![b'k'; 500])).await;
    }
    assert!(is_on_disk(directory.path(), b"canary-0007-"));
    for number in 0..60 {
        let number = (number * 37) % 60;
        let name = format!("s{number}");
        match number % 3 {
            0 => commit(&store, put(&name, "replaced")).await,
            _ => commit(&store, delete(&name)).await,
        };
    }
    // Twice: the first time something may be too young.
    store.tend().await.unwrap();
    store.tend().await.unwrap();
    for number in 0..60 {
        let canary = format!("canary-{number:04}-");
        assert!(!is_on_disk(directory.path(), canary.as_bytes()), "{canary}");
    }
    let (expected, revision) = (records(&store, None), store.revision());
    assert_eq!(expected.len(), 80);
    let grown = commit(&store, put("more", "1")).await;
    assert_eq!(grown.0, revision.0 + 1);
    drop(store);
    assert_eq!(records(&open(directory.path()).unwrap(), None).len(), 81);
}

#[tokio::test]
async fn nothing_is_written_anew_before_its_time_or_for_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path(), options(Duration::from_secs(3_600))).unwrap();
    commit(&store, put("s", secret(1, 900))).await;
    commit(&store, delete("s")).await;
    store.tend().await.unwrap();
    // Watches may still ask for it.
    assert!(is_on_disk(directory.path(), b"canary-0001-"));
    assert_eq!(store.compacted(), Revision::ZERO);
    drop(store);

    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(directory.path(), options(Duration::ZERO)).unwrap();
    commit(&store, put("a", "1")).await;
    store.tend().await.unwrap();
    assert_eq!(store.compacted(), Revision::ZERO, "nothing is dead");
}

#[tokio::test]
async fn a_store_that_is_open_for_moments_only_is_cleaned_too() {
    let directory = tempfile::tempdir().unwrap();
    let hour = Duration::from_secs(3_600);
    let store = EmbeddedStore::open(directory.path(), options(hour)).unwrap();
    commit(&store, put("s", secret(1, 9_000))).await;
    commit(&store, delete("s")).await;
    drop(store);
    assert!(is_on_disk(directory.path(), b"canary-0001-"));
    // It was last cleaned more than an hour ago.
    let note = directory.path().join("cleaned");
    let noted: u64 = std::fs::read_to_string(&note)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    std::fs::write(&note, format!("{}\n", noted - 4_000)).unwrap();
    let store = EmbeddedStore::open(directory.path(), options(hour)).unwrap();
    store.tend().await.unwrap();
    assert!(!is_on_disk(directory.path(), b"canary-0001-"));
    assert_eq!(store.revision(), Revision(2));
}
