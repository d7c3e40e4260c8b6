//! Targets whose server answers as no server should: those who write Targets choose it.

use std::io::{BufRead as _, BufReader, Result, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};

use super::{Attack, PLAIN, Seen};
use crate::hostile::Outcome;
use crate::hostile::stage::{NAMESPACE, Stage};

pub(super) fn table() -> Vec<Attack> {
    vec![Attack {
        name: "answers of targets",
        sends: "items whose Target's server answers without end, with 60 MiB, 90,000 maps, 100,000 levels or 10 MiB of message",
        run: odd_answers,
        memory_mib: 400,
        ..PLAIN
    }]
}

/// The ways to answer, each the first part of the path.
const WAYS: [&str; 6] = ["endless", "long", "wide", "deep", "told", "discovery"];
/// What the status says about an error is no longer than this.
const TOLD_MAX: usize = 8_000;

fn odd_answers(stage: &Stage, seen: &mut Seen) -> Outcome {
    if !stage.is_ours() {
        seen.left_out.push("only Landform connects to Targets");
        return Ok(());
    }
    let address = serve().map_err(|error| error.to_string())?;
    let base = format!("/apis/landscaper.gardener.cloud/v1alpha1/namespaces/{NAMESPACE}");
    for way in WAYS {
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": format!("http://{address}/{way}")}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        });
        let target = json!({"metadata": {"name": way}, "spec": {
            "type": "landscaper.gardener.cloud/kubernetes-cluster", "config": {"kubeconfig": kubeconfig},
        }});
        stage.made(&format!("{base}/targets"), &target)?;
    }
    let count = stage.count(24, 6);
    for number in 0..count {
        let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}});
        let item = json!({
            "metadata": {"name": format!("item-{number}"), "annotations": {
                "landscaper.gardener.cloud/reconcile-time": "2026-01-01T00:00:00Z",
            }},
            "spec": {
                "type": "landscaper.gardener.cloud/kubernetes-manifest",
                "target": {"name": WAYS[number % WAYS.len()], "namespace": NAMESPACE},
                "config": {"manifests": [{"manifest": manifest}]},
            },
        });
        stage.made(&format!("{base}/deployitems"), &item)?;
    }
    for number in 0..count {
        let path = format!("{base}/deployitems/item-{number}");
        let mut told = String::new();
        let ended = stage.until(&path, |answer| error_of(&answer.json()).is_some());
        if let Ok(answer) = stage.admin.get(&path) {
            told = error_of(&answer.json()).unwrap_or_default();
        }
        let way = WAYS[number % WAYS.len()];
        if ended.is_err() || told.len() > TOLD_MAX {
            let beginning = &told[..told.floor_char_boundary(200)];
            let sentence = format!(
                "{way}: the item says in short what is wrong ({} bytes: {beginning})",
                told.len()
            );
            seen.check(sentence, false);
        }
    }
    Ok(())
}

fn error_of(item: &Value) -> Option<String> {
    let error = item["status"]["lastError"]["message"].as_str()?;
    Some(error.to_owned())
}

/// A server that goes on answering until the suite ends.
fn serve() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            // A client that hangs up ends its thread.
            thread::spawn(move || drop(answer(socket)));
        }
    });
    Ok(address)
}

/// Answers the requests of one connection.
fn answer(mut socket: TcpStream) -> Result<()> {
    let mut requests = BufReader::new(socket.try_clone()?);
    loop {
        let mut line = String::new();
        if requests.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        while line.trim() != "" {
            line.clear();
            requests.read_line(&mut line)?;
        }
        let way = path.split('/').nth(1).unwrap_or_default();
        if path.ends_with("/api/v1") && way != "discovery" {
            let configmaps = json!({"name": "configmaps", "singularName": "", "kind": "ConfigMap", "namespaced": true, "verbs": ["get"]});
            let kinds =
                json!({"kind": "APIResourceList", "groupVersion": "v1", "resources": [configmaps]});
            whole(&mut socket, "200 OK", &kinds.to_string())?;
            continue;
        }
        let object = |more: &str| {
            format!(
                r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a","uid":"u"}},"data":{more}}}"#
            )
        };
        match way {
            "long" => whole(
                &mut socket,
                "200 OK",
                &object(&format!("\"{}\"", "a".repeat(60 << 20))),
            )?,
            "wide" => whole(
                &mut socket,
                "200 OK",
                &object(&format!("[{}{{}}]", "{},".repeat(90_000))),
            )?,
            "deep" => whole(&mut socket, "200 OK", &object(&"[".repeat(100_000)))?,
            "told" => {
                let status = json!({"kind": "Status", "status": "Failure", "code": 500, "reason": "InternalError", "message": "no ".repeat(3 << 20)});
                whole(
                    &mut socket,
                    "500 Internal Server Error",
                    &status.to_string(),
                )?;
            }
            _ => endless(&mut socket)?,
        }
    }
}

fn whole(socket: &mut TcpStream, status: &str, body: &str) -> Result<()> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    socket.write_all(head.as_bytes())?;
    socket.write_all(body.as_bytes())
}

fn endless(socket: &mut TcpStream) -> Result<()> {
    socket.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    loop {
        socket.write_all(chunk.as_bytes())?;
    }
}
