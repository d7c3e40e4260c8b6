//! Not two calls of one object at once, nor of an object and what it refers to: as the hook itself sees it (R9b).

use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::server::HookServer;
use super::stage::{Stage, soon};

/// The server of `examples/python-reconciler`. It says when a call begins and ends, and notices nothing of a
/// connection that is closed meanwhile, as all servers of this kind.
const SERVER: &str = "
import http.server, json, sys, threading, time
lock = threading.Lock()
def say(what, name):
    with lock:
        print(json.dumps({'what': what, 'name': name, 'at': time.monotonic_ns()}), flush=True)
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        call = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
        name = call['object']['metadata']['name']
        say('begin', name)
        time.sleep(0.1)
        say('end', name)
        answer = json.dumps({'status': {'seen': call['object']['spec'].get('value')}}).encode()
        try:
            self.send_response(200)
            self.send_header('Content-Length', str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
        except OSError:
            pass
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Hook)
print(json.dumps({'port': server.server_address[1]}), flush=True)
server.serve_forever()
";

/// So often a call is disturbed.
const CHANGES: usize = 24;

/// A hook in Python, and what it says.
struct PythonHook {
    url: String,
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl PythonHook {
    async fn start() -> Self {
        let mut child = Command::new("python3")
            .args(["-c", SERVER])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = soon(lines.next_line()).await.unwrap().unwrap();
        let first: Value = serde_json::from_str(&first).unwrap();
        Self {
            url: format!("http://127.0.0.1:{}/", first["port"]),
            lines,
            _child: child,
        }
    }

    async fn next(&mut self) -> (String, String) {
        let line = soon(self.lines.next_line()).await.unwrap().unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        let text = |field: &str| line[field].as_str().unwrap().to_owned();
        (text("what"), text("name"))
    }
}

/// What may not be at work together with an object: itself, and whatever it refers to, directly or not.
fn relatives(name: &str) -> &'static [&'static str] {
    match name {
        "top" => &["top", "middle", "bottom", "side"],
        "middle" => &["top", "middle", "bottom"],
        "bottom" => &["top", "middle", "bottom"],
        "side" => &["top", "side"],
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn r9b_calls_of_one_object_or_of_relatives_never_overlap_for_the_hook() {
    let mut hook = PythonHook::start().await;
    let mut stage = Stage::with_url(&hook.url, json!({})).await;
    for (name, refs) in [
        ("top", json!([])),
        ("middle", json!(["top"])),
        ("bottom", json!(["middle"])),
        ("side", json!(["top"])),
    ] {
        stage
            .world
            .create(name, json!({"value": 0, "refs": refs}))
            .await;
    }
    // Calls are disturbed when they have begun: by a change of its own object, or of one above it.
    let disturbed = ["own", "top", "own", "middle"];
    let (mut begun, mut changes) = (0, 0);
    let (mut at_work, mut values) = (BTreeSet::new(), BTreeMap::new());
    while changes < CHANGES || !all_seen(&stage, &values).await {
        // The last words of the hook may come after the end of the last run.
        let (what, name) = tokio::select! {
            said = hook.next() => said,
            _ = stage.end_of_any(), if changes == CHANGES => continue,
        };
        if what == "end" {
            assert!(at_work.remove(&name), "{name}");
            continue;
        }
        let overlap: Vec<_> = relatives(&name)
            .iter()
            .filter(|other| at_work.contains(**other))
            .collect();
        assert!(overlap.is_empty(), "{name} began while {overlap:?} went on");
        at_work.insert(name.clone());
        begun += 1;
        if changes < CHANGES {
            let target = match disturbed[changes % disturbed.len()] {
                "own" => name,
                other => other.to_owned(),
            };
            changes += 1;
            stage.world.update(&target, json!({"value": changes})).await;
            values.insert(target, changes);
        }
    }
    assert!(begun > CHANGES, "{begun}");
}

/// Whether every object's status comes from a call that saw its present spec.
async fn all_seen(stage: &Stage, values: &BTreeMap<String, usize>) -> bool {
    for (name, value) in values {
        if stage.world.status(name).await["seen"] != json!(value) {
            return false;
        }
    }
    true
}

#[tokio::test]
async fn r9b_the_answer_of_a_cancelled_call_is_waited_for_and_thrown_away() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    stage.world.create("a", json!({"value": 1})).await;
    let first = hook.call_for("a").await;
    stage.world.update("a", json!({"value": 2})).await;
    stage.cancelled("a").await;
    first.answer(json!({"status": {"sum": 1}, "owned": []}));
    let second = hook.call_for("a").await;
    assert_eq!(
        second.request["object"].get("status"),
        None,
        "nothing of the answer was used"
    );
    second.answer(json!({"status": {"sum": 2}}));
    stage.success_of("a").await;
    assert_eq!(stage.world.status("a").await, json!({"sum": 2}));
}

#[tokio::test]
async fn r9b_what_refers_to_an_object_waits_for_its_cancelled_call_and_others_do_not() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    stage.world.create("a", json!({"value": 1})).await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    stage.world.create("b", json!({"refs": ["a"]})).await;
    let below = hook.call_for("b").await;
    stage.world.update("a", json!({"value": 2})).await;
    stage.cancelled("b").await;
    stage.world.create("stranger", json!({})).await;
    hook.call_for("stranger").await.answer(json!({}));
    stage.success_of("stranger").await;
    below.answer(json!({}));
    hook.call_for("a").await.answer(json!({}));
    hook.call_for("b").await.answer(json!({}));
    stage.success_of("b").await;
}

#[tokio::test]
async fn r9b_who_never_answers_is_hung_up_on_after_the_grace_period() {
    let mut hook = HookServer::start().await;
    let hooked = json!({"hook": {"url": hook.url(), "grace": "200ms"}});
    let mut stage = Stage::with_url(&hook.url(), hooked).await;
    stage.world.create("a", json!({"value": 1})).await;
    let call = hook.call_for("a").await;
    stage.world.update("a", json!({"value": 2})).await;
    call.closed().await;
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
}
