//! Secrets are encrypted on disk, with a key that is elsewhere: the real binary, its files, backups and keys.

use std::path::{Path, PathBuf};
use std::process::Command;

use landform_e2e::{Finished, Server, landform, run};

use crate::assert_contains;

const CANARY: &str = "canary-7d1-on-disk";
/// The same as Secrets keep it.
const ENCODED: &str = "Y2FuYXJ5LTdkMS1vbi1kaXNr";

/// `landform store …` for a server's data, as the user who runs it.
fn store(home: &Path, arguments: &[&str]) -> Finished {
    let mut command = Command::new(landform());
    command.env("HOME", home).env_remove("XDG_CONFIG_HOME");
    command.args(["store", arguments[0], "--data-dir"]);
    run(command.arg(home.join("data")).args(&arguments[1..]))
}

fn succeeds(home: &Path, arguments: &[&str]) -> String {
    let finished = store(home, arguments);
    assert!(finished.status.success(), "{}", finished.report());
    finished.stdout
}

fn make_secret(server: &Server, name: &str) {
    let literal = format!("--from-literal=a={CANARY}");
    server.kubectl(&["create", "secret", "generic", name, &literal]);
}

fn value(server: &Server, name: &str) -> String {
    server.kubectl(&["get", "secret", name, "-o", "jsonpath={.data.a}"])
}

/// The files below a directory that show the canary.
fn holders(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holders(&path));
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            let shows = |text: &str| {
                bytes
                    .windows(text.len())
                    .any(|part| part == text.as_bytes())
            };
            if shows(CANARY) || shows(ENCODED) {
                found.push(path);
            }
        }
    }
    found
}

const NONE: [PathBuf; 0] = [];

#[test]
fn secrets_are_encrypted_on_disk_and_in_backups_and_need_their_key() {
    let server = Server::start();
    let home = server.home().to_owned();
    make_secret(&server, "one");
    make_secret(&server, "gone");
    server.kubectl(&["delete", "secret", "gone"]);
    assert_eq!(holders(&home), NONE);
    let backup = home.join("backup");
    let backup = backup.to_str().unwrap();
    succeeds(&home, &["backup", backup]);
    assert_eq!(holders(&home), NONE);

    let key = home.join(".config/landform/store.key");
    let mut server = server.restart(|_| {
        let away = home.join("store.key.away");
        std::fs::rename(&key, &away).unwrap();
        let refused = store(&home, &["check"]);
        assert!(!refused.status.success());
        assert_contains(
            &refused.stderr,
            &[key.to_str().unwrap(), "is missing", "put it back"],
        );
        std::fs::rename(&away, &key).unwrap();
    });
    assert_eq!(value(&server, "one"), ENCODED);

    make_secret(&server, "later");
    assert!(server.terminate().0.success());
    succeeds(&home, &["restore", backup, "--replace"]);
    assert_contains(&succeeds(&home, &["check"]), &["Secrets    encrypted"]);
    let server = server.restart(|_| {});
    assert_eq!(value(&server, "one"), ENCODED);
    assert!(
        !server
            .try_kubectl(&["get", "secret", "later"])
            .status
            .success()
    );
}

#[test]
fn a_key_is_replaced_while_the_server_runs_and_while_it_does_not() {
    let server = Server::start();
    let home = server.home().to_owned();
    make_secret(&server, "one");
    let key = home.join(".config/landform/store.key");
    let first = std::fs::read_to_string(&key).unwrap();
    let backup = home.join("backup");
    succeeds(&home, &["backup", backup.to_str().unwrap()]);

    let said = succeeds(&home, &["rotate-key"]);
    assert_contains(&said, &["a new key is in", "when it starts next"]);
    assert_ne!(std::fs::read_to_string(&key).unwrap(), first);
    let mut server = server.restart(|_| {});
    assert_eq!(value(&server, "one"), ENCODED);
    assert!(server.terminate().0.success());
    let said = succeeds(&home, &["rotate-key"]);
    assert_contains(&said, &["are encrypted with it now"]);

    // The first key alone doesn't open the store any more, but the backup that was made with it.
    let last = std::fs::read_to_string(&key).unwrap();
    std::fs::write(&key, &first).unwrap();
    let refused = store(&home, &["check"]);
    assert_contains(&refused.stderr, &["doesn't have its key"]);
    succeeds(&home, &["restore", backup.to_str().unwrap(), "--replace"]);
    std::fs::write(&key, last).unwrap();
    let server = server.restart(|_| {});
    assert_eq!(value(&server, "one"), ENCODED);
    assert_eq!(holders(&home), NONE);
}

/// A program in place of a key management service: it turns the text around.
const PROGRAM: &str = r#"#!/bin/sh
read line
case "$1" in
wrap) echo "kms:$(echo "$line" | rev)" ;;
unwrap) echo "${line#kms:}" | rev ;;
esac
"#;

#[test]
fn another_program_can_keep_the_key() {
    let server = Server::start();
    let home = server.home().to_owned();
    make_secret(&server, "one");
    let program = server.file("kms.sh", PROGRAM);
    let command = format!("sh {program}");
    let server = server.restart_with(&["--key-command", &command], |_| {});
    assert_eq!(value(&server, "one"), ENCODED);
    let server = server.restart_with(&["--key-command", &command], |_| {
        // The file isn't needed any more.
        std::fs::remove_file(home.join(".config/landform/store.key")).unwrap();
        let refused = store(&home, &["check"]);
        assert_contains(
            &refused.stderr,
            &["a program keeps its key", "--key-command"],
        );
        let refused = store(&home, &["check", "--key-command", "exit 3;"]);
        assert_contains(&refused.stderr, &["`exit 3; unwrap` failed"]);
    });
    assert_eq!(value(&server, "one"), ENCODED);
    assert_eq!(holders(&home), NONE);
}

#[test]
fn a_key_file_in_the_data_directory_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let key = home.path().join("data/store.key");
    let refused = store(home.path(), &["check", "--key-file", key.to_str().unwrap()]);
    assert_contains(&refused.stderr, &["is in the data directory", "--key-file"]);
    assert!(!key.exists());
}
