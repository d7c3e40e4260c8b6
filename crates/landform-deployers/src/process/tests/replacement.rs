//! What a change of the configuration does to a process that runs.

use serde_json::json;

use super::bench::{Bench, is_running, script, until, with};

#[tokio::test]
async fn only_what_a_process_is_made_of_replaces_it() {
    let bench = Bench::new();
    let config = with(
        script("exec sleep 1000"),
        json!({"files": {"a": "1", "b": "1"}}),
    );
    let process = bench.deploy(config.clone()).await;
    for same in [
        json!({"restart": {"policy": "Never"}}),
        json!({"stop": {"grace": "1s"}}),
        json!({"readiness": {"exec": {"command": ["true"]}}}),
        json!({"logs": {"maxFiles": 1}}),
        json!({"exports": {"a": {"value": 1}}}),
        json!({"replace": "StartFirst"}),
    ] {
        assert_eq!(
            bench.deploy(with(config.clone(), same.clone())).await,
            process,
            "{same}"
        );
    }
    let mut last = process;
    for other in [
        json!({"files": {"a": "2"}}),
        json!({"env": {"A": "1"}}),
        json!({"args": ["x"]}),
        json!({"workingDirectory": "inner"}),
    ] {
        let process = bench.deploy(with(config.clone(), other.clone())).await;
        assert_ne!(process, last, "{other}");
        assert!(!is_running(&last), "{other}");
        last = process;
    }
    bench
        .deploy(with(config, json!({"files": {"a": "2"}})))
        .await;
    assert_eq!(bench.read("work/a"), "2");
    assert!(!bench.directory().join("work/b").exists());
    bench.remove().await;
}

/// Says in a file when it starts and when it ends.
fn diary(name: &str) -> serde_json::Value {
    let text = format!(
        "trap 'echo {name} ends >> diary; exit' TERM; echo {name} starts >> diary; \
         while :; do sleep 0.01; done"
    );
    with(
        script(&text),
        json!({"readiness": {"exec": {"command": ["grep", "-q", format!("{name} starts"), "diary"]}, "interval": "10ms"}}),
    )
}

#[tokio::test]
async fn stop_first_means_never_two_at_once() {
    let bench = Bench::new();
    bench.deploy(diary("one")).await;
    bench.deploy(diary("two")).await;
    assert_eq!(
        bench.read("work/diary"),
        "one starts\none ends\ntwo starts\n"
    );
    bench.remove().await;
}

#[tokio::test]
async fn start_first_means_never_none() {
    let bench = Bench::new();
    let first = with(diary("one"), json!({"replace": "StartFirst"}));
    let second = with(diary("two"), json!({"replace": "StartFirst"}));
    let old = bench.deploy(first).await;
    let new = bench.deploy(second).await;
    assert_eq!(
        bench.read("work/diary"),
        "one starts\ntwo starts\none ends\n"
    );
    assert!(!is_running(&old));
    assert_eq!(bench.running().unwrap().process.unwrap(), new);
    bench.remove().await;
}

#[tokio::test]
async fn a_successor_that_is_never_ready_leaves_the_old_one() {
    let bench = Bench::new();
    let first = with(diary("one"), json!({"replace": "StartFirst"}));
    let old = bench.deploy(first.clone()).await;
    let second = with(
        script("echo two starts >> diary; exec sleep 1000"),
        json!({
            "replace": "StartFirst",
            "readiness": {"exec": {"command": ["false"]}, "timeout": "300ms", "interval": "10ms"},
        }),
    );
    let error = bench.try_deploy(second).await.unwrap_err();
    assert!(error.is_fatal());
    assert_eq!(bench.running().unwrap().process.unwrap(), old);
    // It is still looked after.
    let handle = crate::local::Handle::open(&old).unwrap();
    handle.send(rustix::process::Signal::KILL).unwrap();
    until("another one", || {
        let running = bench.running().and_then(|instance| instance.process);
        running.is_some_and(|running| running != old)
    })
    .await;
    bench.remove().await;
}

#[tokio::test]
async fn a_replacement_that_was_cut_short_is_completed() {
    let mut bench = Bench::new();
    let first = with(diary("one"), json!({"replace": "StartFirst"}));
    let mut second = with(diary("two"), json!({"replace": "StartFirst"}));
    let old = bench.deploy(first).await;
    // The successor starts and is not ready when Landform ends.
    let ready = second["readiness"].clone();
    second["readiness"] = json!({"exec": {"command": ["false"]}, "interval": "10ms"});
    tokio::select! {
        deployed = bench.try_deploy(second.clone()) => panic!("{deployed:?}"),
        () = until("the successor", || {
            let instances = bench.record().instances;
            instances.len() == 2 && instances.iter().all(|instance| instance.process.is_some())
        }) => {}
    }
    assert_eq!(bench.record().instances.len(), 2);
    bench.restart();
    second["readiness"] = ready;
    let new = bench.deploy(second).await;
    assert!(!is_running(&old));
    assert_eq!(bench.running().unwrap().process.unwrap(), new);
    bench.remove().await;
}
