//! The official Python client: typed, dynamic, and its watches.

use landform_e2e::{Server, landform, run};

use crate::{config_map, custom_resources::with_widgets};

#[test]
fn the_typed_client_creates_reads_changes_and_deletes() {
    let server = Server::start();
    assert_eq!(server.python("python/typed_client.py", &[]), "ok");
}

#[test]
fn the_dynamic_client_works_on_built_in_and_custom_kinds() {
    let server = with_widgets();
    assert_eq!(server.python("python/dynamic_client.py", &[]), "ok");
}

#[test]
fn c5_a_watch_resumes_where_it_stopped() {
    let server = Server::start();
    assert_eq!(server.python("python/watch_resume.py", &[]), "ok");
}

#[test]
fn c5_a_watch_from_before_the_history_gets_410_and_goes_on_after_a_list() {
    let server = Server::start();
    server.apply(&config_map("old", "web", &[("n", "0")]));
    let version = [
        "get",
        "cm",
        "old",
        "-o",
        "jsonpath={.metadata.resourceVersion}",
    ];
    let version = server.kubectl(&version);
    for number in 1..4 {
        server.apply(&config_map("old", "web", &[("n", &number.to_string())]));
    }
    let server = server.restart(|data| {
        let mut command = std::process::Command::new(landform());
        command.env("HOME", data.parent().unwrap());
        let finished = run(command.args(["store", "compact", "--data-dir"]).arg(data));
        assert!(finished.status.success(), "{}", finished.report());
    });
    assert_eq!(
        server.python("python/watch_after_compaction.py", &[&version]),
        "ok"
    );
}
