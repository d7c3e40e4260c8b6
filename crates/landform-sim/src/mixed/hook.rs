//! The server that is called: it answers what an object's mood says, and works on when its client has gone.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::Uri;
use landform_engine::hooks::Dial;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::oracle::Oracle;
use super::waiting::GRACE;
use super::{Kind, STUCK, TIMEOUT};
use crate::chance::Chance;
use crate::fault::{Fault, Faults};

/// A pipe holds this many bytes on their way.
pub(super) const PIPE: usize = 1 << 16;
/// The longest time that a slow call takes: less than the grace period of one that was given up.
const SLOW_MS: u64 = 6_000;
/// The longest time that the delete of a crate takes.
const HEAVY_MS: u64 = 25_000;
/// What "again" means, in seconds.
const AGAIN: u64 = 20;

/// The server of all hooks.
#[derive(Clone)]
pub(super) struct HookServer {
    pub(super) oracle: Oracle,
    pub(super) faults: Faults,
    pub(super) chance: Chance,
}

impl HookServer {
    /// How it is reached.
    pub(super) fn dial(self) -> Dial {
        std::sync::Arc::new(move |_: &Uri| {
            let (near, far) = tokio::io::duplex(PIPE);
            tokio::spawn(self.clone().serve(far));
            Ok(near)
        })
    }

    /// Answers the requests of a connection, one after the other.
    async fn serve(self, mut pipe: DuplexStream) {
        let mut pending = BytesMut::new();
        while let Some(request) = read(&mut pipe, &mut pending).await {
            let answer = self.answer(&request).await;
            // The client may have gone; the work was done all the same.
            if pipe.write_all(&answer).await.is_err() {
                return;
            }
        }
    }

    async fn answer(&self, request: &[u8]) -> Vec<u8> {
        let request: Value = serde_json::from_slice(request).unwrap_or_default();
        let time = self.time_of(&request);
        // One that takes longer than it is waited for may overlap with the next.
        let call = self.oracle.call_begins(&request, time > GRACE);
        tokio::time::sleep(time).await;
        let answer = self.answer_to(call, &request);
        self.oracle.call_ends(call);
        let (status, body) = match answer {
            Some(answer) => ("200 OK", answer.to_string()),
            None => ("500 Internal Server Error", "out of order".to_owned()),
        };
        let length = body.len();
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
    }

    /// What is answered when the work of a call is done; none if it fails.
    pub(super) fn answer_to(&self, call: u64, request: &Value) -> Option<Value> {
        let fails = self.faults.strikes(Fault::FailedRun, || what(request));
        let answer = (!fails).then(|| decide(request));
        self.oracle
            .call_answers(call, answer.as_ref().unwrap_or(&Value::Null));
        answer
    }

    /// How long a call takes.
    pub(super) fn time_of(&self, request: &Value) -> Duration {
        let hangs = self.faults.strikes(Fault::HungRun, || what(request));
        self.time(request, hangs || self.is_stuck(request))
    }

    fn is_stuck(&self, request: &Value) -> bool {
        let object = &request["object"];
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let stuck = request["deleting"] == true && object["spec"]["mood"] == STUCK;
        stuck && self.oracle.is_first_delete(uid)
    }

    fn time(&self, request: &Value, hangs: bool) -> Duration {
        if hangs {
            return TIMEOUT * 2;
        }
        let heavy = request["deleting"] == true && request["object"]["kind"] == Kind::Crate.name();
        let most = match self.chance.below(4) {
            0 | 1 if heavy => HEAVY_MS,
            0 => SLOW_MS,
            _ => 30,
        };
        Duration::from_millis(self.chance.below(most))
    }
}

fn what(request: &Value) -> String {
    format!("call of {}", request["object"]["metadata"]["name"])
}

/// The body of the next request; none when the connection is over.
async fn read(pipe: &mut DuplexStream, pending: &mut BytesMut) -> Option<Bytes> {
    loop {
        if let Some(end) = pending.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&pending[..end]).to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"))?;
            let whole = end + 4 + length.trim().parse::<usize>().ok()?;
            if pending.len() >= whole {
                return Some(pending.split_to(whole).freeze().slice(end + 4..));
            }
        }
        if pipe.read_buf(pending).await.ok()? == 0 {
            return None;
        }
    }
}

/// What the hook says, which follows from the request alone.
fn decide(request: &Value) -> Value {
    if request["deleting"] == true {
        return json!({});
    }
    let object = &request["object"];
    let number = number(request);
    let mut answer = json!({
        "status": {"number": number, "generation": object["metadata"]["generation"]},
        "owned": children(object, number),
    });
    let error = |retry: bool| json!({"message": "the world outside is closed", "retry": retry});
    match object["spec"]["mood"].as_str().unwrap_or_default() {
        "error" => answer["error"] = error(true),
        "refuse" => answer["error"] = error(false),
        "wait" => answer["done"] = json!(false),
        "again" => answer["retriggerAfter"] = json!(AGAIN),
        "again-at-once" => answer["retriggerAfter"] = json!(0),
        "error-again" => {
            answer["error"] = error(true);
            answer["retriggerAfter"] = json!(AGAIN);
        }
        "refuse-again" => {
            answer["error"] = error(false);
            answer["retriggerAfter"] = json!(AGAIN);
        }
        _ => {}
    }
    answer
}

fn number(request: &Value) -> u64 {
    let refs = request["refs"].as_array().into_iter().flatten();
    let numbers = refs.filter_map(|to| to["object"]["status"]["number"].as_u64());
    let own = request["object"]["spec"]["value"].as_u64().unwrap_or(0);
    super::plan::sum(own, numbers)
}

fn children(object: &Value, number: u64) -> Vec<Value> {
    let count = object["spec"]["children"].as_u64().unwrap_or(0);
    let key = object["spec"]["key"].as_str().unwrap_or_default();
    let child = |index| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("{key}-{index}"), "namespace": object["metadata"]["namespace"]},
            "data": {"number": number.to_string()},
        })
    };
    (0..count).map(child).collect()
}
