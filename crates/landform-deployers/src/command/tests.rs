//! Real commands.

use std::fs;
use std::future::{Future, pending};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::config::Configuration;
use super::record::Record;
use super::{Bounds, CommandDeployer};
use crate::local::{Group, Mark};
use crate::{DeployError, ResolvedTarget};

const PATIENCE: Duration = Duration::from_secs(20);

struct Bench {
    data: TempDir,
    deployer: CommandDeployer,
    uid: String,
}

impl Bench {
    fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let deployer = CommandDeployer::new(data.path());
        Self {
            deployer,
            uid: uuid::Uuid::new_v4().to_string(),
            data,
        }
    }

    fn directory(&self) -> PathBuf {
        self.data.path().join("commands").join(&self.uid)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.directory().join(path)).unwrap_or_default()
    }

    async fn reconcile(&self, config: Value) -> Result<Option<Map<String, Value>>, DeployError> {
        self.reconcile_until(config, pending()).await
    }

    async fn reconcile_until(
        &self,
        config: Value,
        cancelled: impl Future<Output = ()>,
    ) -> Result<Option<Map<String, Value>>, DeployError> {
        let configuration = Configuration::read(Some(&config), None)?;
        let bounds = Bounds {
            left: PATIENCE,
            cancelled,
        };
        let result = self
            .deployer
            .reconcile(&self.uid, &configuration, &plain(&configuration), bounds)
            .await;
        if let Err(error) = &result {
            assert!(!error.message.contains("canary"), "{}", error.message);
        }
        result.map(|(exports, _)| exports)
    }

    async fn delete(&self) -> Result<(), DeployError> {
        let bounds = Bounds {
            left: PATIENCE,
            cancelled: futures::future::pending(),
        };
        let recorded = self.deployer.workspace(&self.uid)?.recorded()?;
        let recorded = recorded.into_iter().map(|record| match record {
            Record::Plain(configuration) => *configuration,
            Record::Sealed(_) => panic!("nothing here is secret"),
        });
        let deployer = &self.deployer;
        deployer
            .delete(&self.uid, recorded.collect(), None, bounds)
            .await
    }

    fn has_processes(&self) -> bool {
        !Group::marked(Mark::item(&self.uid)).is_gone()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        Group::marked(Mark::item(&self.uid)).kill_now();
    }
}

fn plain(configuration: &Configuration) -> Record {
    Record::Plain(Box::new(configuration.clone()))
}

fn script(text: &str) -> Value {
    json!({"command": ["sh", "-ec", text]})
}

fn with(mut config: Value, fields: Value) -> Value {
    for (name, value) in fields.as_object().unwrap() {
        config[name] = value.clone();
    }
    config
}

async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    waited
        .await
        .unwrap_or_else(|_| panic!("it never happened: {what}"));
}

#[tokio::test]
async fn a_command_gets_imports_and_content_and_gives_exports() {
    let bench = Bench::new();
    let config = json!({
        "command": ["python3", "job.py"],
        "args": ["an argument"],
        "env": {"NAME": "value"},
        "importValues": {"port": 5432},
        "files": {"job.py": "
import json, os, sys
imports = json.load(open(os.environ['IMPORTS_PATH']))
assert os.environ['OPERATION'] == 'RECONCILE' and os.environ['NAME'] == 'value'
assert sys.argv[1:] == ['an argument'] and 'TARGET_PATH' not in os.environ
assert os.getcwd() == os.environ['CONTENT_PATH'], os.getcwd()
json.dump({'doubled': imports['port'] * 2}, open(os.environ['EXPORTS_PATH'], 'w'))
"},
    });
    let exports = bench.reconcile(config).await.unwrap().unwrap();
    assert_eq!(Value::Object(exports), json!({"doubled": 10864}));
    // YAML is as good, and nothing is exported when nothing is written.
    let exports = bench.reconcile(script("echo 'a: b' > $EXPORTS_PATH")).await;
    assert_eq!(Value::Object(exports.unwrap().unwrap()), json!({"a": "b"}));
    assert_eq!(bench.reconcile(script("true")).await, Ok(None));
    for text in [
        "echo canary > $EXPORTS_PATH",
        "echo '{canary' > $EXPORTS_PATH",
    ] {
        let error = bench.reconcile(script(text)).await.unwrap_err();
        assert_eq!(error.reason, "InvalidExports");
    }
}

#[tokio::test]
async fn state_is_kept_between_runs_that_fail_too() {
    let bench = Bench::new();
    let config = script("echo x >> $STATE_PATH/runs; test $(wc -l < $STATE_PATH/runs) -ge 2");
    let error = bench.reconcile(config.clone()).await.unwrap_err();
    assert!(error.is_fatal());
    assert_eq!(error.message, "the command ended with exit status: 1");
    bench.reconcile(config).await.unwrap();
    assert_eq!(bench.read("state/runs"), "x\nx\n");
}

#[tokio::test]
async fn an_error_shows_the_output_without_secrets() {
    let bench = Bench::new();
    let config = with(
        script("cat $IMPORTS_PATH; cat secret.conf >&2; echo $TOKEN; echo 'a clue'; exit 3"),
        json!({
            "env": {"TOKEN": "canary-in-env"},
            "importValues": {"deep": [{"password": "canary-in-imports"}]},
            "files": {"secret.conf": "password = canary-in-file\n"},
        }),
    );
    let error = bench.reconcile(config).await.unwrap_err();
    assert!(
        error
            .message
            .starts_with("the command ended with exit status: 3: ")
    );
    assert!(error.message.ends_with("a clue"), "{}", error.message);
    assert!(
        error.message.contains(r#"{"deep":[{"password":"***"}]}"#),
        "{}",
        error.message
    );
    let error = bench.reconcile(script("exit 75")).await.unwrap_err();
    assert!(!error.is_fatal());
}

#[tokio::test]
async fn a_target_is_given_and_not_shown() {
    let bench = Bench::new();
    let mut target = ResolvedTarget {
        name: "here".into(),
        spec: Default::default(),
    };
    target.spec.kind = "example.com/place".into();
    target.spec.configuration = Some(json!({"token": "canary-in-target"}));
    let config = script("cp $TARGET_PATH $STATE_PATH/; cat $TARGET_PATH; exit 1");
    let configuration = Configuration::read(Some(&config), Some(&target)).unwrap();
    let bounds = Bounds {
        left: PATIENCE,
        cancelled: pending(),
    };
    let result = bench
        .deployer
        .reconcile(&bench.uid, &configuration, &plain(&configuration), bounds)
        .await;
    let message = result.unwrap_err().message;
    assert!(
        !message.contains("canary") && message.contains("***"),
        "{message}"
    );
    let given: Value = serde_json::from_str(&bench.read("state/target.json")).unwrap();
    assert_eq!(given["spec"]["config"]["token"], "canary-in-target");
    assert_eq!(given["metadata"]["name"], "here");
}

#[tokio::test]
async fn a_cancelled_command_leaves_no_process_behind() {
    let bench = Bench::new();
    let config = script(
        "trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & \
         setsid sleep 1000 & echo up > $STATE_PATH/up; while :; do sleep 0.05; done",
    );
    let up = bench.directory().join("state/up");
    let cancelled = until("the command runs", || up.exists());
    let error = bench.reconcile_until(config, cancelled).await.unwrap_err();
    assert_eq!(error, DeployError::cancelled());
    assert!(!bench.has_processes());
}

#[tokio::test]
async fn a_dropped_command_is_killed() {
    let bench = Bench::new();
    let config = script("echo up > $STATE_PATH/up; sleep 1000; true");
    let up = bench.directory().join("state/up");
    tokio::select! {
        result = bench.reconcile(config) => panic!("{result:?}"),
        () = until("the command runs", || up.exists()) => {}
    }
    until("no process", || !bench.has_processes()).await;
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended() {
    let bench = Bench::new();
    let config = with(
        script("echo begun; sleep 1000; true"),
        json!({"timeout": "1s"}),
    );
    let error = bench.reconcile(config).await.unwrap_err();
    assert_eq!(error.message, "the command did not end within 1.0 s: begun");
    assert!(error.is_fatal());
    assert!(!bench.has_processes());
}

#[tokio::test]
async fn what_a_command_leaves_running_is_ended() {
    let bench = Bench::new();
    bench
        .reconcile(script("sleep 1000 & setsid sleep 1000 & true"))
        .await
        .unwrap();
    assert!(!bench.has_processes());
}

#[tokio::test]
async fn a_run_that_landform_did_not_live_to_see_the_end_of_is_ended_first() {
    let bench = Bench::new();
    let orphan = std::process::Command::new("sleep")
        .arg("1000")
        .env(crate::local::MARK, Mark::attempt(&bench.uid, 1).text())
        .spawn();
    let mut orphan = orphan.unwrap();
    bench.reconcile(script("true")).await.unwrap();
    assert!(!orphan.wait().unwrap().success());
}

#[tokio::test]
async fn a_removal_runs_what_was_deployed() {
    let bench = Bench::new();
    let log = bench.data.path().join("log");
    let config = with(
        script("echo $OPERATION $(cat $IMPORTS_PATH) $(cat file) >> \"$LOG\""),
        json!({"env": {"LOG": log}, "importValues": {"a": 1}, "files": {"file": "content"}}),
    );
    bench.reconcile(config).await.unwrap();
    let deployed = bench.directory().join("deployed.json");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&deployed).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // Broken configuration, and a program that isn't there, don't get in the way.
    bench.reconcile(json!({"command": []})).await.unwrap_err();
    let error = bench
        .reconcile(json!({"command": ["/no/such/canary"]}))
        .await
        .unwrap_err();
    assert!(
        error.message.starts_with("config.command[0]: No such file"),
        "{}",
        error.message
    );
    fs::write(
        bench.directory().join("next.json"),
        fs::read_to_string(&deployed)
            .unwrap()
            .replace("\"sh\"", "\"/no/such/program\""),
    )
    .unwrap();
    bench.delete().await.unwrap();
    let log = fs::read_to_string(log).unwrap();
    assert_eq!(
        log,
        "RECONCILE {\"a\":1} content\nDELETE {\"a\":1} content\n"
    );
    assert!(!bench.directory().exists());
    // And again: nothing is left to do.
    bench.delete().await.unwrap();
}

#[tokio::test]
async fn a_removal_that_fails_is_tried_again() {
    let bench = Bench::new();
    let config = script("test $OPERATION = RECONCILE || test -e $STATE_PATH/allowed");
    bench.reconcile(config).await.unwrap();
    let error = bench.delete().await.unwrap_err();
    assert!(!error.is_fatal());
    assert!(bench.directory().exists());
    fs::write(bench.directory().join("state/allowed"), "").unwrap();
    bench.delete().await.unwrap();
}
