//! Finds out whether a process is ready, or still does its work, and what it has to say then.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper_util::rt::TokioIo;
use landform_api::words::counted;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::config::{Configuration, Liveness, Probe};
use super::launch::command;
use super::logs;
use super::record::{Instance, Item};
use crate::local::{Group, Identity};

/// One try may take so long.
const PATIENCE: Duration = Duration::from_secs(5);
/// An answer may be so long.
const ANSWER_BYTES: usize = 1 << 20;

/// Asks once. The answer is what exports may be taken from.
///
/// # Errors
/// Why it is not ready, without anything that it said.
pub(crate) async fn ask(
    item: &Item,
    configuration: &Configuration,
    instance: &Instance,
) -> Result<Option<Value>, String> {
    match &configuration.readiness {
        Some(readiness) => probe(item, configuration, instance, &readiness.probe).await,
        None => Ok(None),
    }
}

/// Waits until a process that was ready no longer does its work, and says how that was found out.
pub(crate) async fn lost(
    item: &Item,
    configuration: &Configuration,
    instance: &Instance,
    liveness: &Liveness,
) -> String {
    let mut failures = 0;
    loop {
        sleep(liveness.interval).await;
        let Some(instance) = item.instance(instance.attempt).filter(|found| found.ready) else {
            continue;
        };
        match probe(item, configuration, &instance, &liveness.probe).await {
            Ok(_) => failures = 0,
            Err(why) => {
                failures += 1;
                if failures >= liveness.failures {
                    let times = counted(failures, "time");
                    return format!("its liveness probe failed {times} in a row ({why})");
                }
            }
        }
    }
}

async fn probe(
    item: &Item,
    configuration: &Configuration,
    instance: &Instance,
    probe: &Probe,
) -> Result<Option<Value>, String> {
    match probe {
        Probe::Http {
            host,
            port,
            path,
            status,
        } => {
            let answer = timeout(PATIENCE, get(host, *port, path, *status)).await;
            answer.map_err(|_| "no answer in time".to_owned())?
        }
        Probe::Tcp { host, port } => {
            let connected = timeout(PATIENCE, TcpStream::connect((host.as_str(), *port))).await;
            let connected = connected.map_err(|_| "no connection in time".to_owned())?;
            connected.map_err(|error| format!("no connection to port {port}: {error}"))?;
            Ok(None)
        }
        Probe::Exec { command } => run(item, configuration, command, instance.attempt).await,
        Probe::Log { .. } if instance.ready => Ok(None),
        Probe::Log { pattern } => {
            let log: &Path = &item.log();
            let line = logs::line(log, instance.log_start, pattern).await;
            line.map_err(|error| format!("the log can't be read: {error}"))?;
            Ok(None)
        }
    }
}

async fn get(
    host: &str,
    port: u16,
    path: &str,
    expected: Option<u16>,
) -> Result<Option<Value>, String> {
    let stream = TcpStream::connect((host, port)).await;
    let stream = stream.map_err(|error| format!("no connection to port {port}: {error}"))?;
    let unanswered = |error: hyper::Error| format!("no answer on port {port}: {error}");
    let connection = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = connection.map_err(unanswered)?;
    let request = http::Request::get(path)
        .header(http::header::HOST, format!("{host}:{port}"))
        .header(http::header::CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(|_| "no request can be made".to_owned())?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(unanswered)?;
        let status = response.status().as_u16();
        if expected.map_or(!(200..400).contains(&status), |expected| expected != status) {
            return Err(format!("port {port} answers {status}"));
        }
        let body = Limited::new(response.into_body(), ANSWER_BYTES)
            .collect()
            .await;
        let body = body.map_err(|_| format!("the answer on port {port} can't be read"))?;
        Ok(serde_json::from_slice(&body.to_bytes()).ok())
    };
    let mut exchange = std::pin::pin!(exchange);
    tokio::select! {
        answer = &mut exchange => answer,
        // The connection may be done before we have looked at all of the answer.
        _ = connection => exchange.await,
    }
}

/// Runs a command; what it prints may be JSON.
async fn run(
    item: &Item,
    configuration: &Configuration,
    words: &[String],
    attempt: u64,
) -> Result<Option<Value>, String> {
    let mut command =
        command(item, &configuration.launch, words, attempt).map_err(|error| error.message)?;
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let mut child = child.map_err(|error| format!("the command can't be started: {error}"))?;
    let leader = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Identity::of_child);
    // Only its own group: the mark is that of the process itself as well.
    let group = Children(leader);
    let mut answer = Vec::new();
    let ended = timeout(PATIENCE, async {
        if let Some(stdout) = child.stdout.take() {
            stdout
                .take(ANSWER_BYTES as u64)
                .read_to_end(&mut answer)
                .await?;
        }
        child.wait().await
    });
    let ended = ended
        .await
        .map_err(|_| "the command takes too long".to_owned())?;
    drop(group);
    match ended {
        Ok(status) if status.success() => Ok(serde_json::from_slice(&answer).ok()),
        Ok(status) => Err(format!("the command ended with {status}")),
        Err(error) => Err(format!("the command can't be waited for: {error}")),
    }
}

/// The process group of a command that is killed when nobody waits for it any more.
struct Children(Option<Identity>);

impl Drop for Children {
    fn drop(&mut self) {
        if let Some(leader) = self.0.take() {
            Group::of_leader(leader).kill_now();
        }
    }
}
