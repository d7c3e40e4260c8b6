//! Each way to be ready, and each way to export.

use serde_json::{Value, json};

use super::bench::{Bench, free_port, is_running, script, until, with};
use crate::Kept;

const SERVER: &str = "
import http.server, json, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Handler.asked += 1
        status = 200 if Handler.asked > 2 else 503
        body = json.dumps({'version': 'v7', 'asked': Handler.asked}).encode()
        self.send_response(status)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
";

fn server(port: u16) -> Value {
    json!({
        "command": ["python3", "server.py"],
        "args": [port],
        "files": {"server.py": SERVER},
    })
}

#[tokio::test]
async fn http_until_the_answer_is_good_and_its_json_is_exported() {
    let bench = Bench::new();
    let port = free_port();
    let config = with(
        server(port),
        json!({
            "readiness": {"http": {"port": port, "path": "/health"}, "interval": "20ms"},
            "exports": {
                "version": {"fromProbe": {"jsonPath": ".version"}},
                "asked": {"fromProbe": {"jsonPath": "{.asked}"}},
                "url": {"value": format!("http://127.0.0.1:{port}")},
            },
        }),
    );
    let report = bench.try_deploy(config).await.unwrap();
    assert_eq!(
        Value::Object(report.exports.clone()),
        json!({"version": "v7", "asked": 3, "url": format!("http://127.0.0.1:{port}")})
    );
    let status = report.provider_status();
    assert_eq!(status["pid"], report.instance.unwrap().process.unwrap().pid);
    assert_eq!(
        status["log"],
        json!(bench.directory().join("log/process.log"))
    );
    bench.remove().await;
}

#[tokio::test]
async fn tcp_until_somebody_listens() {
    let bench = Bench::new();
    let port = free_port();
    let config = with(
        server(port),
        json!({"readiness": {"tcp": {"port": port.to_string()}, "interval": "10ms"}}),
    );
    let process = bench.deploy(config).await;
    assert!(is_running(&process));
    bench.remove().await;
}

#[tokio::test]
async fn exec_until_the_command_succeeds() {
    let bench = Bench::new();
    let config = with(
        script("touch up; exec sleep 1000"),
        json!({
            "readiness": {
                "exec": {"command": ["sh", "-c", "test -e up && echo '{\"secret\": \"s\"}'"]},
                "interval": "10ms",
            },
            "exports": {"secret": {"fromProbe": {"jsonPath": "secret"}}},
        }),
    );
    let report = bench.try_deploy(config).await.unwrap();
    assert_eq!(report.exports["secret"], "s");
    bench.remove().await;
}

#[tokio::test]
async fn a_line_of_the_log_counts_from_the_start_of_the_process() {
    let bench = Bench::new();
    let readiness =
        |timeout: &str| json!({"readiness": {"log": {"pattern": "ready \\d"}, "timeout": timeout}});
    let first = with(script("echo ready 1; exec sleep 1000"), readiness("20s"));
    bench.deploy(first).await;
    // The line of the first process is in the log, but the second one is silent.
    let second = with(script("echo silent; exec sleep 1000"), readiness("300ms"));
    let error = bench.try_deploy(second).await.unwrap_err();
    assert!(error.is_fatal());
    assert!(
        error.message.starts_with("the process is not ready: "),
        "{}",
        error.message
    );
    bench.remove().await;
}

#[tokio::test]
async fn exports_come_from_files_when_these_are_there() {
    let bench = Bench::new();
    let config = with(
        script("sleep 0.1; echo '{\"a\": [1, 2]}' > x.json; echo text > t; exec sleep 1000"),
        json!({
            "readiness": {"exec": {"command": ["true"]}, "interval": "10ms"},
            "exports": {
                "number": {"fromFile": {"path": "x.json", "jsonPath": "a[1]"}},
                "text": {"fromFile": {"path": "t"}},
            },
        }),
    );
    let report = bench.try_deploy(config).await.unwrap();
    assert_eq!(
        Value::Object(report.exports),
        json!({"number": 2, "text": "text"})
    );
    bench.remove().await;
}

#[tokio::test]
async fn after_a_restart_changing_exports_are_taken_again() {
    let mut bench = Bench::new();
    let config = with(
        script("echo $$ > pid.new; mv pid.new pid; exec sleep 1000"),
        json!({"exports": {"pid": {"fromFile": {"path": "pid"}}}}),
    );
    let first = bench.try_deploy(config.clone()).await.unwrap();
    assert_eq!(bench.keep(config.clone()).await, Ok(Kept::Fine));
    let process = first.instance.unwrap().process.unwrap();
    let handle = crate::local::Handle::open(&process).unwrap();
    handle.send(rustix::process::Signal::KILL).unwrap();
    bench.woken().await;
    assert_eq!(bench.keep(config.clone()).await, Ok(Kept::Redeploy));
    let old = process.pid.to_string();
    until("another pid", || bench.read("work/pid").trim() != old).await;
    let second = bench.try_deploy(config.clone()).await.unwrap();
    assert_ne!(first.exports, second.exports);
    assert_eq!(bench.keep(config).await, Ok(Kept::Fine));
    bench.remove().await;
}

#[tokio::test]
async fn an_answer_of_somebody_else_is_none() {
    let bench = Bench::new();
    // The probe succeeds as soon as the process has ended.
    let probe = "while test ! -s pid || kill -0 $(cat pid) 2>&-; do sleep 0.01; done";
    let config = with(
        script("echo $$ > pid; exit 1"),
        json!({
            "restart": {"policy": "Never"},
            "readiness": {"exec": {"command": ["sh", "-c", probe]}},
        }),
    );
    let error = bench.try_deploy(config).await.unwrap_err();
    assert!(
        error
            .message
            .contains("the process has ended with exit status: 1"),
        "{}",
        error.message
    );
    bench.remove().await;
}

#[tokio::test]
async fn a_process_that_was_started_again_is_asked_again() {
    let mut bench = Bench::new();
    let config = with(
        script(
            "echo x >> runs; test $(wc -l < runs) = 1 || while test ! -e go; do sleep 0.01; done; echo up; exec sleep 1000",
        ),
        json!({"readiness": {"log": {"pattern": "^up$"}}}),
    );
    let first = bench.deploy(config.clone()).await;
    let handle = crate::local::Handle::open(&first).unwrap();
    handle.send(rustix::process::Signal::KILL).unwrap();
    until("another one", || {
        bench
            .running()
            .is_some_and(|instance| instance.process.as_ref() != Some(&first))
    })
    .await;
    assert!(!bench.running().unwrap().ready);
    std::fs::write(bench.directory().join("work/go"), "").unwrap();
    // It asks for calls when its process ends, and when the next one is ready.
    while !bench.running().unwrap().ready {
        bench.woken().await;
    }
    // The line may be gone by now: what was ready once is not asked again.
    std::fs::write(bench.directory().join("log/process.log"), "").unwrap();
    bench.deploy(config).await;
    bench.remove().await;
}
