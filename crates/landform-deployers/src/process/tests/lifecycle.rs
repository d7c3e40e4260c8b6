//! Starting, restarting, ending, logging.

use serde_json::json;

use super::bench::{Bench, is_running, script, until, with};
use crate::Kept;
use crate::local::{Group, Mark};

#[tokio::test]
async fn a_process_gets_its_files_and_environment_and_little_else() {
    let bench = Bench::new();
    let config = with(
        script(
            "cat conf/a.conf; env | cut -d= -f1 | sort | tr '\\n' ' '; echo; pwd; exec sleep 1000",
        ),
        json!({
            "env": {"GREETING": "hello", "PORT": 80},
            "files": {"conf/a.conf": "setting\n"},
            "readiness": {"log": {"pattern": "/work$"}},
        }),
    );
    let process = bench.deploy(config).await;
    let log = bench.read("log/process.log");
    assert!(log.starts_with("setting\n"), "{log}");
    let names = log.lines().nth(1).unwrap();
    for name in names.split_whitespace() {
        let known = [
            "GREETING",
            "HOME",
            "LANDFORM_ITEM",
            "LANG",
            "PATH",
            "PORT",
            "PWD",
            "TZ",
        ];
        assert!(
            known.contains(&name) || name == "_" || name == "SHLVL" || name == "OLDPWD",
            "{name}"
        );
    }
    assert!(
        names.contains("GREETING") && names.contains("LANDFORM_ITEM"),
        "{names}"
    );
    bench.remove().await;
    assert!(!is_running(&process));
    assert!(!bench.directory().exists());
}

#[tokio::test]
async fn a_process_that_ends_is_started_again() {
    let bench = Bench::new();
    let first = bench.deploy(script("echo up; exec sleep 1000")).await;
    let handle = crate::local::Handle::open(&first).unwrap();
    handle.send(rustix::process::Signal::KILL).unwrap();
    until("another process", || {
        let process = bench.running().and_then(|instance| instance.process);
        process.is_some_and(|process| process != first)
    })
    .await;
    assert_eq!(
        bench.keep(script("echo up; exec sleep 1000")).await,
        Ok(Kept::Fine)
    );
    bench.remove().await;
}

#[tokio::test]
async fn on_failure_success_is_the_end() {
    let mut bench = Bench::new();
    let config = with(
        script("echo x >> runs; test $(wc -l < runs) -ge 3"),
        json!({"restart": {"policy": "OnFailure", "backoff": "10ms"}}),
    );
    let report = bench.try_deploy(config.clone()).await.unwrap();
    until("the end", || bench.record().finished.is_some()).await;
    if report.instance.is_some() {
        // It had not ended yet when the call did.
        bench.woken().await;
    }
    assert_eq!(bench.read("work/runs"), "x\nx\nx\n");
    assert_eq!(bench.keep(config.clone()).await, Ok(Kept::Fine));
    // Neither a restart of Landform nor another call starts it again.
    bench.restart();
    assert_eq!(bench.keep(config.clone()).await, Ok(Kept::Fine));
    let report = bench.try_deploy(config).await.unwrap();
    assert_eq!(report.instance, None);
    assert_eq!(bench.read("work/runs"), "x\nx\nx\n");
    bench.remove().await;
}

#[tokio::test]
async fn one_that_ends_before_it_is_ready_is_told_while_it_is_tried_again() {
    let bench = Bench::new();
    let text = "test -e once && { echo up; exec sleep 1000; }; touch once; exit 3";
    let config = with(
        script(text),
        json!({
            "restart": {"backoff": "50ms"},
            "readiness": {"log": {"pattern": "^up$"}},
        }),
    );
    let (troubles, mut told) = tokio::sync::mpsc::unbounded_channel();
    let report = bench.try_deploy_telling(config, troubles).await.unwrap();
    assert!(report.instance.is_some());
    let error = told.recv().await.unwrap();
    assert!(!error.is_fatal());
    let message = "the process has ended with exit status: 3 before it was ready, and is started again; its log is ";
    assert!(error.message.starts_with(message), "{}", error.message);
    bench.remove().await;
}

#[tokio::test]
async fn one_that_is_never_restarted_fails_the_item() {
    let mut bench = Bench::new();
    let config = with(
        script("while test ! -e go; do sleep 0.01; done; echo canary; exit 3"),
        json!({"restart": {"policy": "Never"}}),
    );
    bench.try_deploy(config.clone()).await.unwrap();
    assert_eq!(bench.keep(config.clone()).await, Ok(Kept::Fine));
    std::fs::write(bench.directory().join("work/go"), "").unwrap();
    bench.woken().await;
    let error = bench.keep(config).await.unwrap_err();
    assert!(error.is_fatal());
    assert!(
        error
            .message
            .starts_with("the process has ended with exit status: 3; its log is /")
    );
    assert!(!error.message.contains("canary"), "{}", error.message);
    bench.remove().await;
}

#[tokio::test]
async fn restarts_in_a_row_are_limited() {
    let bench = Bench::new();
    let config = with(
        script("echo x >> runs; exit 1"),
        json!({
            "restart": {"backoff": "1ms", "maxRestarts": 3},
            "readiness": {"exec": {"command": ["false"]}},
        }),
    );
    let error = bench.try_deploy(config).await.unwrap_err();
    assert!(
        error.message.contains("started again 3 times in a row"),
        "{}",
        error.message
    );
    assert_eq!(bench.read("work/runs"), "x\nx\nx\nx\n");
    bench.remove().await;
}

#[tokio::test]
async fn a_process_can_end_gracefully() {
    let bench = Bench::new();
    let config = with(
        script("trap 'echo bye >> farewell; exit' USR1; echo up; while :; do sleep 0.05; done"),
        json!({
            "stop": {"signal": "USR1", "grace": "20s"},
            "readiness": {"log": {"pattern": "^up$"}},
            "workingDirectory": bench.data.path(),
        }),
    );
    let process = bench.deploy(config).await;
    bench.remove().await;
    assert!(!is_running(&process));
    assert!(bench.data.path().join("farewell").exists());
}

#[tokio::test]
async fn what_does_not_end_is_killed_with_all_that_it_started() {
    let bench = Bench::new();
    let config = with(
        script(
            "trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & \
             setsid sh -c 'trap \"\" TERM; while :; do sleep 0.05; done' & \
             echo up; while :; do sleep 0.05; done",
        ),
        json!({"stop": {"grace": "100ms"}, "readiness": {"log": {"pattern": "^up$"}}}),
    );
    let process = bench.deploy(config).await;
    bench.remove().await;
    assert!(!is_running(&process));
    assert!(Group::marked(Mark::item(&bench.uid)).is_gone());
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_problem_of_the_configuration() {
    let bench = Bench::new();
    let config = json!({"command": ["/no/such/canary"], "args": ["canary"]});
    let error = bench.try_deploy(config).await.unwrap_err();
    assert!(error.is_fatal());
    assert!(
        error.message.starts_with("config.command[0]: No such file"),
        "{}",
        error.message
    );
    assert_eq!(bench.record().instances, []);
    let config = with(
        script("true"),
        json!({"workingDirectory": "/no/such/directory"}),
    );
    let error = bench.try_deploy(config).await.unwrap_err();
    assert_eq!(
        error.message,
        "config.workingDirectory: there is no such directory"
    );
}

#[tokio::test]
async fn logs_are_rotated_and_go_on() {
    let mut bench = Bench::new();
    let line = "a line of thirty-two characters";
    let config = with(
        script(&format!(
            "while :; do echo '{line}'; echo '{line}' >&2; sleep 0.002; done"
        )),
        json!({"logs": {"maxBytes": 2048, "maxFiles": 2}}),
    );
    bench.deploy(config.clone()).await;
    let log = |number: &str| bench.directory().join(format!("log/process.log{number}"));
    let (first, second, third) = (log(".1"), log(".2"), log(".3"));
    until("two rotations", || first.exists() && second.exists()).await;
    // Without Landform the log grows, and afterwards it is cut again.
    bench.restart();
    let long = || {
        std::fs::metadata(bench.directory().join("log/process.log"))
            .unwrap()
            .len()
    };
    until("a long log", || long() > 8192).await;
    assert_eq!(bench.keep(config).await, Ok(Kept::Fine));
    until("a short log", || long() < 8192).await;
    assert!(!third.exists());
    let text = std::fs::read_to_string(&first).unwrap();
    assert!(text.lines().count() > 60);
    bench.remove().await;
}

#[tokio::test]
async fn an_abort_ends_what_is_not_ready() {
    let bench = Bench::new();
    let config = with(
        script("exec sleep 1000"),
        json!({"readiness": {"exec": {"command": ["false"]}, "timeout": "1s", "interval": "10ms"}}),
    );
    let error = bench.try_deploy(config).await.unwrap_err();
    assert!(
        error
            .message
            .contains("the command ended with exit status: 1"),
        "{}",
        error.message
    );
    let process = bench.running().unwrap().process.unwrap();
    bench.slot().stop().await.unwrap();
    assert!(!is_running(&process));

    let process = bench.deploy(script("exec sleep 1000")).await;
    bench.slot().stop().await.unwrap();
    assert!(is_running(&process));
    bench.remove().await;
}
