//! A disk that is full: what is refused, what is lost (nothing), and how it goes on.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::Command;
use std::time::Instant;

use landform_e2e::{DEADLINE, Server, run, run_with_input};
use serde_json::json;

use crate::assert_contains;

/// Takes all room that is left.
fn fill(file: &std::path::Path) {
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(file)
        .unwrap();
    for size in [1 << 20, 4096, 1] {
        while file.write_all(&vec![0; size]).is_ok() {}
    }
}

fn names(server: &Server) -> Vec<String> {
    let selector = ["get", "configmap", "-l", "app=disk", "-o", "name"];
    let found = server.kubectl(&selector);
    found.lines().map(ToOwned::to_owned).collect()
}

/// A client that tries once: kubectl does what `Retry-After` says.
fn curl(server: &Server, path: &str) -> Command {
    let token = std::fs::read_to_string(server.home().join("data/pki/admin.token")).unwrap();
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--insecure", "--max-time", "50", "--header"])
        .arg(format!("Authorization: Bearer {}", token.trim()))
        .arg(format!("{}{path}", server.url()));
    curl
}

fn get(server: &Server, path: &str) -> String {
    run(&mut curl(server, path)).stdout
}

/// Creates an object; gives what the server answers.
fn create(server: &Server, name: &str) -> serde_json::Value {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": "disk"}}, "data": {"a": "x".repeat(50_000)},
    });
    let mut curl = curl(server, "/api/v1/namespaces/default/configmaps");
    curl.args([
        "--header",
        "Content-Type: application/json",
        "--data-binary",
        "@-",
    ]);
    let answer = run_with_input(&mut curl, &object.to_string()).stdout;
    serde_json::from_str(&answer).unwrap_or_else(|_| panic!("no answer: {answer:?}"))
}

#[test]
fn a_full_disk_refuses_writes_loses_nothing_and_goes_on_when_there_is_room() {
    // It takes a user who may mount a disk.
    let Some(server) = Server::start_on_disk(64) else {
        return;
    };
    assert_eq!(create(&server, "before")["kind"], "ConfigMap");
    assert_eq!(get(&server, "/readyz"), "ok");
    let ballast = server.home().join("data/ballast");
    let mut taken = vec!["configmap/before".to_owned()];
    // Room that the store has taken already may be enough for a few more.
    let begin = Instant::now();
    let refused = loop {
        fill(&ballast);
        let name = format!("m{}", taken.len());
        let answer = create(&server, &name);
        if answer["kind"] == "Status" {
            break answer;
        }
        taken.push(format!("configmap/{name}"));
        assert!(begin.elapsed() < DEADLINE, "never refused");
    };
    assert_eq!(refused["code"], 503, "{refused}");
    assert_contains(&refused["message"].to_string(), &["full"]);
    // It says so, and reads go on.
    let told = get(&server, "/readyz");
    assert_contains(
        &told,
        &[
            "[-]disk failed: the disk of the store is full",
            "readyz check failed",
        ],
    );
    assert_eq!(get(&server, "/livez"), "ok");
    taken.sort();
    assert_eq!(names(&server), taken);
    // With room again everything goes on by itself.
    std::fs::remove_file(&ballast).unwrap();
    let begin = Instant::now();
    while get(&server, "/readyz") != "ok" {
        assert!(begin.elapsed() < DEADLINE, "it never became ready again");
    }
    assert_eq!(create(&server, "zz-after")["kind"], "ConfigMap");
    taken.push("configmap/zz-after".to_owned());
    assert_eq!(names(&server), taken);
    // What was acknowledged is there after a crash, and what was refused isn't.
    let server = server.restart(|_| {});
    assert_eq!(names(&server), taken);
    server.kubectl(&["delete", "configmap", "-l", "app=disk"]);
    assert_eq!(names(&server), Vec::<String>::new());
}
