//! Values that are encrypted on disk: none of the files shows them, and without the key nothing opens.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use landform_store::embedded::{self, EmbeddedStore, Options, RestoreOptions};
use landform_store::seal::{Cipher, KeyService, PlainKey, Sealing};
use landform_store::{Bucket, Compare, Error, Key, Op, Store, Txn};

use crate::support::{commit, dump, put, runtime};

const CANARY: &str = "canary-4e1-in-plain";

/// Keys by number; the last one is current.
struct Keys(Vec<PlainKey>);

impl KeyService for Keys {
    fn wrap(&self, key: &PlainKey) -> Result<String, String> {
        let current = self.0.last().ok_or("there is no key")?;
        let wrapped = Cipher::new(current).encrypt(b"", key)?;
        let digits: String = wrapped.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("{}:{digits}", self.0.len() - 1))
    }

    fn unwrap(&self, wrapped: &str) -> Result<PlainKey, String> {
        let (number, digits) = wrapped.split_once(':').ok_or("not wrapped here")?;
        let bytes: Vec<u8> = (0..digits.len() / 2)
            .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        let key = number.parse().ok().and_then(|at: usize| self.0.get(at));
        let key = key.ok_or(format!("key {number} is missing"))?;
        let plain = Cipher::new(key).decrypt(b"", &bytes);
        let plain = plain.ok_or(format!("key {number} is another one"))?;
        plain.try_into().map_err(|_| "no key".to_owned())
    }

    fn is_current(&self, wrapped: &str) -> bool {
        wrapped.starts_with(&format!("{}:", self.0.len() - 1))
    }
}

fn sealing(keys: &[PlainKey]) -> Sealing {
    Sealing {
        buckets: Arc::new(BTreeSet::from(["secrets".to_owned()])),
        keys: Arc::new(Keys(keys.to_vec())),
    }
}

fn open(directory: &Path, sealing: Option<&Sealing>) -> Result<EmbeddedStore, Error> {
    let options = Options {
        sealing: sealing.cloned(),
        ..Options::default()
    };
    EmbeddedStore::open(directory, options)
}

fn secret(name: &str, value: &str) -> Txn {
    let key = Key::new(&Bucket::new("secrets"), name);
    Txn::one(key, Compare::Any, Op::Put(Bytes::from(value.to_owned())))
}

/// Writes, changes and deletes values that must not be seen, and closes the store.
fn fill(store: EmbeddedStore) -> String {
    runtime().block_on(async {
        for number in 0..20 {
            let text = format!("{CANARY} {number} {}", "x".repeat(number * 200));
            commit(&store, secret(&format!("a/{}", number % 7), &text)).await;
        }
        let gone = Key::new(&Bucket::new("secrets"), "a/3");
        commit(&store, Txn::one(gone, Compare::Any, Op::Delete)).await;
        commit(&store, put("a/open", "in plain for all")).await;
        store.close().await.unwrap();
    });
    dump(&store)
}

/// The files below a directory that hold a text.
fn holders(directory: &Path, text: &str) -> Vec<String> {
    let files = std::fs::read_dir(directory).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    paths
        .filter(|path| {
            let bytes = std::fs::read(path).unwrap();
            bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        })
        .map(|path| path.display().to_string())
        .collect()
}

fn refused(result: Result<EmbeddedStore, Error>) -> String {
    match result {
        Err(error @ Error::Sealed { .. }) => error.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it was opened"),
    }
}

#[test]
fn no_file_shows_what_is_sealed_and_the_key_opens_all_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let with = sealing(&[[1; 32]]);
    let before = fill(open(&data, Some(&with)).unwrap());
    assert!(before.contains(CANARY));
    assert_eq!(holders(&data, CANARY), [""; 0]);
    assert_ne!(holders(&data, "in plain for all"), [""; 0]);

    assert_eq!(dump(&open(&data, Some(&with)).unwrap()), before);
    let other = sealing(&[[2; 32]]);
    assert!(refused(open(&data, Some(&other))).contains("key 0 is another one"));
    assert!(refused(open(&data, None)).contains("needs the key"));
    // What was refused was left as it is.
    assert_eq!(dump(&open(&data, Some(&with)).unwrap()), before);
    let report = embedded::check_with(&data, Some(&with), |_| None).unwrap();
    assert!(report.is_sound() && report.is_sealed, "{report}");
}

#[test]
fn backups_and_compacted_stores_are_sealed_too() {
    let directory = tempfile::tempdir().unwrap();
    let [data, copies, restored] =
        ["data", "copies", "restored"].map(|name| directory.path().join(name));
    std::fs::create_dir(&copies).unwrap();
    let with = sealing(&[[1; 32]]);
    let store = open(&data, Some(&with)).unwrap();
    runtime().block_on(async {
        commit(&store, secret("a/b", CANARY)).await;
        store.backup(&copies.join("online")).await.unwrap();
    });
    embedded::backup(&data, &copies.join("beside"), Some(&with)).unwrap();
    fill(store);
    embedded::backup(&data, &copies.join("offline"), Some(&with)).unwrap();
    embedded::compact(&data, Some(&with)).unwrap();
    assert_eq!(holders(&copies, CANARY), [""; 0]);
    assert_eq!(holders(&data, CANARY), [""; 0]);

    for name in ["online", "beside", "offline"] {
        let options = RestoreOptions {
            replace: true,
            ..RestoreOptions::default()
        };
        let file = copies.join(name);
        let without = embedded::restore(&file, &restored, &options, None);
        assert!(
            matches!(without, Err(Error::Sealed { .. })),
            "{name}: {without:?}"
        );
        embedded::restore(&file, &restored, &options, Some(&with)).unwrap();
        assert_eq!(holders(&restored, CANARY), [""; 0]);
        let store = open(&restored, Some(&with)).unwrap();
        assert!(dump(&store).contains(CANARY) || store.revision().0 > 0);
        let key = Key::new(&Bucket::new("secrets"), "a/b");
        let kept = runtime().block_on(store.get(&key)).unwrap();
        assert_eq!(&kept.unwrap().value[..], CANARY.as_bytes(), "{name}");
    }
}

#[test]
fn a_store_in_plain_is_sealed_when_it_is_opened_with_a_key() {
    let directory = tempfile::tempdir().unwrap();
    fill(open(directory.path(), None).unwrap());
    assert_ne!(holders(directory.path(), CANARY), [""; 0]);
    let with = sealing(&[[1; 32]]);
    let store = open(directory.path(), Some(&with)).unwrap();
    let key = Key::new(&Bucket::new("secrets"), "a/2");
    let kept = runtime().block_on(store.get(&key)).unwrap().unwrap();
    assert!(kept.value.starts_with(CANARY.as_bytes()));
    drop(store);
    assert_eq!(holders(directory.path(), CANARY), [""; 0]);
}

#[test]
fn another_current_key_seals_the_store_anew() {
    let directory = tempfile::tempdir().unwrap();
    let keys = [[1; 32], [2; 32]];
    fill(open(directory.path(), Some(&sealing(&keys[..1]))).unwrap());
    let both = sealing(&keys);
    drop(open(directory.path(), Some(&both)).unwrap());
    // The former key opens it no more.
    let former = refused(open(directory.path(), Some(&sealing(&keys[..1]))));
    assert!(former.contains("key 1 is missing"), "{former}");
    // By hand, the data key is another one, too, though the key is the same.
    let journal = || std::fs::read(directory.path().join("journal.db")).unwrap();
    let before = journal();
    embedded::rekey(directory.path(), &both).unwrap();
    assert_ne!(journal(), before);
    let store = open(directory.path(), Some(&both)).unwrap();
    assert_eq!(store.revision().0, 22);
}

#[test]
fn a_sealed_value_is_only_read_at_its_own_place() {
    let directory = tempfile::tempdir().unwrap();
    let with = sealing(&[[1; 32]]);
    let store = open(directory.path(), Some(&with)).unwrap();
    runtime().block_on(async {
        commit(&store, secret("a/b", CANARY)).await;
        commit(&store, secret("c/d", CANARY)).await;
        store.close().await.unwrap();
    });
    drop(store);
    // Two rows change places, with checksums that fit: only the encryption notices.
    let file = rusqlite::Connection::open(directory.path().join("journal.db")).unwrap();
    let rows: Vec<(i64, i64, Vec<u8>, String)> = file
        .prepare("SELECT id, created, value, name FROM journal ORDER BY id")
        .unwrap()
        .query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let digest: i64 = (0..2)
        .map(|at| {
            let (id, created, _, name) = &rows[at];
            let value = &rows[1 - at].2;
            let checksum = checksum(*id, *created, name, value);
            file.execute(
                "UPDATE journal SET value = ?1, checksum = ?2 WHERE id = ?3",
                rusqlite::params![value, checksum, id],
            )
            .unwrap();
            i64::from(checksum)
        })
        .sum();
    let (store, revision, compacted): (String, i64, i64) = file
        .query_row("SELECT store, revision, compacted FROM meta", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    let meta = crc32fast::hash(format!("{store} {revision} {compacted} 2 {digest}").as_bytes());
    file.execute(
        "UPDATE meta SET digest = ?1, checksum = ?2",
        rusqlite::params![digest, meta],
    )
    .unwrap();
    drop(file);
    let Err(Error::Damaged { problems, .. }) = open(directory.path(), Some(&with)) else {
        panic!("it was opened");
    };
    assert!(
        problems[0].contains("/secrets/a/b at revision 1 can't be decrypted"),
        "{problems:?}"
    );
}

/// The checksum of a row with an encrypted value.
fn checksum(id: i64, created: i64, name: &str, value: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&id.to_le_bytes());
    hasher.update(&created.to_le_bytes());
    hasher.update(&7_u32.to_le_bytes());
    hasher.update(&u32::try_from(name.len()).unwrap().to_le_bytes());
    hasher.update(&[3]);
    hasher.update(b"secrets");
    hasher.update(name.as_bytes());
    hasher.update(value);
    hasher.finalize()
}
