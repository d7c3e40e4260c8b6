//! The server as a process: its start, its end, its death and its door.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use landform_e2e::{Server, landform, run};

use crate::config_map;

#[test]
fn acknowledged_writes_survive_a_kill() {
    let server = Server::start();
    server.apply(&config_map("kept", "web", &[("a", "1")]));
    let before = server.kubectl_json(&["get", "cm", "kept"]);
    let server = server.restart(|_| {});
    assert_eq!(server.kubectl_json(&["get", "cm", "kept"]), before);
    server.apply(&config_map("after", "web", &[]));
    let version = |name: &str| {
        let path = "jsonpath={.metadata.resourceVersion}";
        server
            .kubectl(&["get", "cm", name, "-o", path])
            .parse::<u64>()
            .unwrap()
    };
    assert!(
        version("after") > version("kept"),
        "revisions never go back"
    );
}

#[test]
fn a_request_to_end_is_followed_soon_and_closes_watches() {
    let mut server = Server::start();
    server.apply(&config_map("one", "web", &[]));
    let mut watch =
        server.kubectl_lines(&["get", "cm", "-w", "--output-watch-events", "--no-headers"]);
    watch.expect(&["ADDED", "one"]);
    let (status, after) = server.terminate();
    assert!(status.success(), "{status}\n{}", server.log());
    assert!(after < Duration::from_secs(5), "it took {after:?}");
    let log = server.log();
    assert!(!log.contains("WARN") && !log.contains("ERROR"), "{log}");
    watch.finish();
}

#[test]
fn the_kubeconfig_is_for_its_owner_only() {
    let server = Server::start();
    let mode = std::fs::metadata(server.kubeconfig())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
}

#[test]
fn without_credentials_only_health_is_served() {
    let server = Server::start();
    assert_eq!(server.python("python/anonymous.py", &[server.url()]), "ok");
}

#[test]
fn a_second_server_on_the_same_data_says_who_holds_it() {
    let server = Server::start();
    let mut command = server.client(landform());
    command
        .arg("serve")
        .arg("--data-dir")
        .arg(server.home().join("data"));
    let finished = run(command.args(["--listen", "127.0.0.1:0", "--store", "embedded"]));
    assert!(!finished.status.success(), "{}", finished.report());
    assert_eq!(finished.stdout, "", "no ready line");
    let held = finished.stderr.to_lowercase();
    assert!(
        held.contains("in use") || held.contains("held"),
        "{}",
        finished.report()
    );
    assert_eq!(
        server.kubectl(&["get", "--raw", "/readyz"]),
        "ok",
        "the first one goes on"
    );
}
