//! Landform is really killed, at any moment.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};

use super::bench::{Bench, is_running, script, until, with};
use crate::local::{Mark, leaders};
use crate::process::ProcessDeployer;
use crate::process::config::Configuration;
use crate::process::record::Record;

/// Where the Landform that is killed works, and for which item.
const DATA: &str = "LANDFORM_TEST_CRASH_DATA";
const UID: &str = "LANDFORM_TEST_CRASH_UID";

fn configuration(number: usize) -> Value {
    let replace = if number.is_multiple_of(2) {
        "StartFirst"
    } else {
        "StopFirst"
    };
    let more = json!({"replace": replace, "env": {"NUMBER": number}});
    with(script("exec sleep 1000"), more)
}

/// Deploys one configuration after the other until it is killed.
async fn deploy_for_ever(data: &Path, uid: &str) {
    let deployer = ProcessDeployer::new(data);
    for number in 0.. {
        let configuration = Configuration::read(Some(&configuration(number))).unwrap();
        let slot = deployer.slot(uid).unwrap();
        let (troubles, _) = tokio::sync::mpsc::unbounded_channel();
        let deployed = slot.deploy(configuration, Arc::new(|| {}), troubles);
        deployed.await.unwrap();
    }
}

#[tokio::test]
async fn whenever_landform_is_killed_one_process_is_left_to_go_on_with() {
    if let (Some(data), Some(uid)) = (std::env::var_os(DATA), std::env::var(UID).ok()) {
        return deploy_for_ever(data.as_ref(), &uid).await;
    }
    let mut bench = Bench::new();
    let state = bench.directory().join("state.json");
    let attempts = || {
        let text = std::fs::read(&state).unwrap_or_default();
        let record: Record = serde_json::from_slice(&text).unwrap_or_default();
        record.attempts
    };
    for round in 0..12 {
        let before = attempts();
        let mut landform = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("process::tests::crash::whenever_landform_is_killed_one_process_is_left_to_go_on_with")
            .env(DATA, bench.data.path())
            .env(UID, &bench.uid)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("some deployments", || attempts() > before + round % 4).await;
        landform.kill().unwrap();
        landform.wait().unwrap();

        bench.restart();
        let process = bench.deploy(configuration(1000)).await;
        assert_eq!(
            bench.running().unwrap().process.unwrap(),
            process,
            "round {round}"
        );
        assert_eq!(leaders(&Mark::item(&bench.uid)), [process], "round {round}");
        bench.restart();
    }
    let process = bench.running().unwrap().process.unwrap();
    bench.remove().await;
    assert!(!is_running(&process));
    assert_eq!(leaders(&Mark::item(&bench.uid)), []);
}
