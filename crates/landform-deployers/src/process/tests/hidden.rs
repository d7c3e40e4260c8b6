//! What a process has started and tries to hide: a session of its own, an empty environment, a parent that has ended.

use rustix::process::Signal;
use serde_json::json;

use super::bench::{Bench, is_running, script, until, with};
use crate::Kept;
use crate::local::{Handle, Identity};

/// Starts a child that hides when it is told to, and hears no signal but the last one.
fn hiding(orphan: bool) -> serde_json::Value {
    let child = "setsid env -i sh -c 'trap \"\" TERM; echo $$ > child.new; mv child.new child; while :; do sleep 0.05; done'";
    let child = if orphan {
        format!("({child} &);")
    } else {
        format!("{child} &")
    };
    let text = format!(
        "echo up; while test ! -e go; do sleep 0.01; done; {child} while :; do sleep 0.05; done"
    );
    with(
        script(&text),
        json!({"readiness": {"log": {"pattern": "^up$"}}, "stop": {"grace": "200ms"}}),
    )
}

async fn hidden_child(bench: &Bench) -> Identity {
    let file = bench.directory().join("work/child");
    std::fs::write(bench.directory().join("work/go"), "").unwrap();
    until("the child", || file.exists()).await;
    let number = bench.read("work/child").trim().parse().unwrap();
    std::fs::remove_file(file).unwrap();
    // Without a launcher the next master is put into its control group as soon as it runs: it must not hide a child before.
    std::fs::remove_file(bench.directory().join("work/go")).unwrap();
    Identity::now(number).unwrap()
}

#[tokio::test]
async fn a_hidden_orphan_is_ended_before_its_masters_successor_starts() {
    let mut bench = Bench::new();
    let config = hiding(true);
    let master = bench.deploy(config.clone()).await;
    if bench.running().unwrap().cgroup.is_none() {
        // No control groups can be made here.
        return bench.remove().await;
    }
    let child = hidden_child(&bench).await;
    Handle::open(&master).unwrap().send(Signal::KILL).unwrap();
    until("another master", || {
        let running = bench.running().and_then(|instance| instance.process);
        running.is_some_and(|running| running != master)
    })
    .await;
    assert!(!is_running(&child), "the orphan is beside the new master");

    // The next Landform knows of it from the record, and so does one without a record.
    for with_record in [true, false] {
        bench.restart();
        bench.deploy(config.clone()).await;
        let child = hidden_child(&bench).await;
        bench.restart();
        if !with_record {
            std::fs::remove_file(bench.directory().join("state.json")).unwrap();
            bench.restart();
        }
        bench.remove().await;
        assert!(!is_running(&child), "with a record: {with_record}");
    }
}

#[tokio::test]
async fn without_control_groups_a_hidden_child_is_found_by_its_parent() {
    let mut bench = Bench::new();
    bench.without_cgroups();
    let master = bench.deploy(hiding(false)).await;
    assert_eq!(bench.running().unwrap().cgroup, None);
    let child = hidden_child(&bench).await;
    bench.remove().await;
    assert!(!is_running(&master) && !is_running(&child));
}

#[tokio::test]
async fn one_that_is_put_down_starts_anew_and_only_when_it_is_deployed() {
    for policy in ["Always", "Never"] {
        let mut bench = Bench::new();
        let config = with(
            script("exec sleep 1000"),
            json!({"restart": {"policy": policy}}),
        );
        let process = bench.deploy(config.clone()).await;
        assert!(bench.slot().put_down().await.unwrap());
        assert!(!is_running(&process));
        assert!(bench.record().stopped && bench.record().was_ready);
        assert!(
            !bench.slot().put_down().await.unwrap(),
            "there is nothing left to end"
        );
        bench.restart();
        assert!(bench.record().stopped);
        let next = bench.deploy(config).await;
        assert!(next != process && !bench.record().stopped);
        bench.remove().await;
    }
}

#[tokio::test]
async fn a_restart_that_is_asked_for_is_carried_out_once() {
    for replace in ["StopFirst", "StartFirst"] {
        let mut bench = Bench::new();
        let config = with(script("exec sleep 1000"), json!({"replace": replace}));
        let first = bench.deploy(config.clone()).await;
        assert!(bench.slot().item.ask(Some("one")).unwrap());
        let second = bench.deploy(config.clone()).await;
        assert!(first != second && !is_running(&first), "{replace}");
        assert!(!bench.slot().item.ask(Some("one")).unwrap());
        assert!(!bench.slot().item.ask(None).unwrap());
        bench.restart();
        assert_eq!(bench.keep(config.clone()).await, Ok(Kept::Fine));
        assert_eq!(bench.deploy(config).await, second, "{replace}");
        bench.remove().await;
    }
}
