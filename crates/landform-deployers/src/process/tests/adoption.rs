//! What a restart of Landform finds.

use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::json;

use super::bench::{Bench, is_running, script, until, with};
use crate::Kept;
use crate::local::{Group, Handle, Identity, MARK, Mark};
use crate::process::record::{Instance, Record};

#[tokio::test]
async fn a_process_goes_on_without_landform_and_is_adopted() {
    let mut bench = Bench::new();
    let config = script("while :; do echo x; sleep 0.01; done");
    let process = bench.deploy(config.clone()).await;
    bench.restart();
    let length = bench.read("log/process.log").len();
    until("more output", || {
        bench.read("log/process.log").len() > length
    })
    .await;
    assert_eq!(bench.keep(config.clone()).await, Ok(Kept::Fine));
    // Deploying the same again leaves it alone, too.
    assert_eq!(bench.deploy(config.clone()).await, process);
    bench.restart();
    assert_eq!(bench.deploy(config).await, process);

    // It is looked after: when it ends, another one is started.
    Handle::open(&process).unwrap().send(Signal::KILL).unwrap();
    until("another process", || {
        let running = bench.running().and_then(|instance| instance.process);
        running.is_some_and(|running| running != process)
    })
    .await;
    bench.restart();
    bench.remove().await;
    assert!(Group::marked(Mark::item(&bench.uid)).is_gone());
}

#[tokio::test]
async fn one_that_ended_meanwhile_is_started_again_if_its_policy_says_so() {
    let mut bench = Bench::new();
    for (policy, kept) in [("Always", Some(Kept::Redeploy)), ("Never", None)] {
        let config = with(
            script("exec sleep 1000"),
            json!({"restart": {"policy": policy}}),
        );
        let process = bench.deploy(config.clone()).await;
        bench.restart();
        Handle::open(&process).unwrap().send(Signal::KILL).unwrap();
        until("its end", || !is_running(&process)).await;
        assert_eq!(bench.keep(config).await.ok(), kept, "{policy}");
        bench.restart();
    }
    bench.remove().await;
}

/// A process of somebody else.
struct Stranger(std::process::Child);

impl Stranger {
    fn start() -> Self {
        use std::os::unix::process::CommandExt as _;
        let mut command = Command::new("sleep");
        Self(
            command
                .arg("1000")
                .process_group(0)
                .stdin(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }

    fn identity(&self) -> Identity {
        Identity::now(i32::try_from(self.0.id()).unwrap()).unwrap()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_stranger_with_the_same_number_is_left_alone() {
    let mut bench = Bench::new();
    let config = script("exec sleep 1000");
    let own = bench.deploy(config.clone()).await;
    let stranger = Stranger::start();
    let number = stranger.identity();
    let forgeries = [
        Identity {
            start_time: number.start_time - 1,
            ..number.clone()
        },
        Identity {
            boot_id: "another boot".into(),
            ..number.clone()
        },
    ];
    for forgery in forgeries {
        bench.restart();
        let mut record = bench.record();
        let instance = Instance {
            process: Some(forgery),
            ..record.instances[0].clone()
        };
        record.instances = vec![instance];
        bench.write_record(&record);
        bench.restart();
        // The real one is found by its mark and ended, because the record is wrong about it.
        let next = bench.deploy(config.clone()).await;
        assert_ne!(next, number);
        assert!(is_running(&number), "a stranger was killed");
    }
    assert!(!is_running(&own));
    bench.restart();
    bench.remove().await;
    assert!(is_running(&number), "a stranger was killed");
}

#[tokio::test]
async fn a_start_that_was_cut_short_leaves_no_stray() {
    for recorded in [true, false] {
        let mut bench = Bench::new();
        let config = script("exec sleep 1000");
        let process = bench.deploy(config.clone()).await;
        bench.restart();
        // Landform ended between the start and the note of it, or even lost the note.
        let mut record = bench.record();
        if recorded {
            record.instances[0].process = None;
        } else {
            record.instances.clear();
        }
        bench.write_record(&record);
        if recorded {
            assert_eq!(
                bench.deploy(config).await,
                process,
                "it was not found by its mark"
            );
        }
        bench.restart();
        bench.remove().await;
        assert!(!is_running(&process));
    }
}

#[tokio::test]
async fn an_intent_without_a_process_is_forgotten() {
    let bench = Bench::new();
    let config = script("exec sleep 1000");
    bench.deploy(config.clone()).await;
    bench.slot().stop().await.unwrap();
    let mut bench = bench;
    let mut record = bench.record();
    let intent = Instance {
        attempt: 99,
        process: None,
        ..record.instances[0].clone()
    };
    record.instances.push(intent);
    bench.write_record(&record);
    bench.restart();
    bench.deploy(config).await;
    assert!(
        bench
            .record()
            .instances
            .iter()
            .all(|instance| instance.attempt != 99)
    );
    bench.remove().await;
}

#[tokio::test]
async fn a_record_that_is_no_record_is_as_good_as_none() {
    let mut bench = Bench::new();
    let config = script("exec sleep 1000");
    let process = bench.deploy(config).await;
    std::fs::write(bench.directory().join("state.json"), "{ half of").unwrap();
    bench.restart();
    bench.remove().await;
    assert!(!is_running(&process));
    assert_eq!(Record::default().instances, []);
    // Nothing was ever deployed: nothing to do.
    bench.remove().await;
}

#[tokio::test]
async fn a_process_of_another_item_is_none_of_ours() {
    let (one, other) = (Bench::new(), Bench::new());
    let first = one.deploy(script("exec sleep 1000")).await;
    let second = other.deploy(script("exec sleep 1000")).await;
    assert!(std::env::var_os(MARK).is_none());
    one.remove().await;
    assert!(!is_running(&first));
    assert!(is_running(&second));
    other.remove().await;
}
