//! Hooks that are programs.

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;

use super::stage::{Stage, soon, spec};

/// Adds up values as the toys of the harness do.
const ADD: &str = "
import json, sys
call = json.load(sys.stdin)
total = call['object']['spec'].get('value', 0)
for ref in call['refs']:
    if ref['object']:
        total += ref['object'].get('status', {}).get('sum', 0)
name = call['object']['metadata']['name']
child = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': name}, 'data': {'sum': str(total)}}
json.dump({'status': {'sum': total}, 'owned': [child]}, sys.stdout)
";

/// Answers for the value 2; for others it waits, and says so on a connection.
const WAIT: &str = "
import json, os, signal, socket, sys
call = json.load(sys.stdin)
if call['object']['spec']['value'] == 2:
    print(json.dumps({'status': {'sum': 2}}))
    sys.exit()
line = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
def term(*_):
    line.sendall(b'term\\n')
    os._exit(0)
signal.signal(signal.SIGTERM, term)
line.sendall(b'ready\\n')
while True:
    signal.pause()
";

#[tokio::test]
async fn r2_a_program_reconciles_a_graph_of_objects() {
    let mut stage = Stage::new().await;
    let hook = json!({"command": ["python3", "-c", ADD]});
    stage.reconciler("toys", spec(hook, json!({}))).await;
    stage.world.create("a", json!({"value": 1})).await;
    stage.success_of("a").await;
    stage
        .world
        .create("b", json!({"value": 2, "refs": ["a"]}))
        .await;
    stage.success_of("b").await;
    assert_eq!(stage.world.status("b").await, json!({"sum": 3}));
    stage.world.update("a", json!({"value": 5})).await;
    stage.success_of("b").await;
    assert_eq!(stage.world.status("b").await, json!({"sum": 7}));
    let map = stage.world.maps().get("b").await.unwrap();
    assert_eq!(map.data["data"], json!({"sum": "7"}));
}

#[tokio::test]
async fn r5_r9_a_change_by_others_ends_the_program_and_another_run_follows() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let mut stage = Stage::new().await;
    let hook = json!({"command": ["python3", "-c", WAIT, port]});
    stage.reconciler("toys", spec(hook, json!({}))).await;
    stage.world.create("a", json!({"value": 1})).await;
    let (connection, _) = soon(listener.accept()).await.unwrap();
    let mut lines = BufReader::new(connection).lines();
    assert_eq!(
        soon(lines.next_line()).await.unwrap().as_deref(),
        Some("ready")
    );
    stage.world.update("a", json!({"value": 2})).await;
    assert_eq!(
        soon(lines.next_line()).await.unwrap().as_deref(),
        Some("term")
    );
    stage.success_of("a").await;
    assert_eq!(stage.world.status("a").await, json!({"sum": 2}));
}

#[tokio::test]
async fn a_program_that_fails_is_an_error_without_its_words() {
    let mut stage = Stage::new().await;
    let hook = json!({"command": ["sh", "-c", "echo no license >&2; exit 7"]});
    stage.reconciler("toys", spec(hook, json!({}))).await;
    stage.world.create("a", json!({})).await;
    let error = stage.failure_of("a").await;
    assert_eq!(
        error,
        "hook `sh` for Toy.toys.landform.dev default/a: ended with exit status: 7"
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_shows_on_the_reconciler() {
    let mut stage = Stage::new().await;
    let hook = json!({"command": ["/no/such/program"]});
    stage.reconciler("toys", spec(hook, json!({}))).await;
    stage.world.create("a", json!({})).await;
    let message = stage.standing("toys", "False", "HookUnreachable").await;
    assert!(
        message.contains("hook `/no/such/program` can't be reached"),
        "{message}"
    );
}
