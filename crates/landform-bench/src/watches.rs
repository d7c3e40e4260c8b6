//! Watches: how soon one watcher sees a write, and how soon a thousand do.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use crate::Outcome;
use crate::client::{Client, Template};
use crate::load::{Numbers, Operation, Until, drive, median, percentile};
use crate::process::cpu;
use crate::server::Server;
use crate::writes::{CONNECTIONS, Create};

/// Many watchers share so many connections.
const WATCH_CONNECTIONS: usize = 8;
/// An event must have reached everybody by then.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long after its acknowledgement a write was seen, in milliseconds.
#[derive(Clone, Copy)]
pub(crate) struct Delay {
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) writes: usize,
}

/// One event to many watchers.
pub(crate) struct FanOut {
    pub(crate) watchers: usize,
    /// From sending the write until the last watcher has the event.
    pub(crate) median_ms: f64,
    pub(crate) worst_ms: f64,
    /// CPU time of the server for each such event.
    pub(crate) cpu_ms: f64,
}

/// Starts a watch of the `ConfigMap`s of a namespace, from now on.
async fn watch(client: &mut Client, namespace: &str) -> Outcome<Incoming> {
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    let list: serde_json::Value =
        serde_json::from_slice(&client.text(client.uri(&format!("{path}?limit=1"))?).await?)?;
    let revision = list["metadata"]["resourceVersion"]
        .as_str()
        .ok_or("the list has no resourceVersion")?;
    let uri = client.uri(&format!("{path}?watch=true&resourceVersion={revision}"))?;
    let answer = client.send(Method::GET, uri, &[], Bytes::new()).await?;
    if answer.status() != StatusCode::OK {
        return Err(format!("the watch was refused: {}", answer.status()).into());
    }
    Ok(answer.into_body())
}

/// The numbers of the objects whose events are complete in a buffer; the rest stays in it.
fn numbers_in(buffer: &mut Vec<u8>) -> Vec<u64> {
    let Some(end) = buffer.iter().rposition(|byte| *byte == b'\n') else {
        return Vec::new();
    };
    let complete: Vec<u8> = buffer.drain(..=end).collect();
    let text = String::from_utf8_lossy(&complete);
    text.lines()
        .filter_map(|line| {
            let (_, rest) = line.split_once("\"name\":\"object-")?;
            rest.split('"').next()?.parse().ok()
        })
        .collect()
}

/// Notes when events were seen.
async fn observe(mut events: Incoming, seen: mpsc::UnboundedSender<(u64, Instant)>) {
    let mut buffer = Vec::new();
    while let Some(Ok(frame)) = events.frame().await {
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let now = Instant::now();
        buffer.extend_from_slice(&data);
        for number in numbers_in(&mut buffer) {
            if seen.send((number, now)).is_err() {
                return;
            }
        }
    }
}

/// Creates, and notes when that was acknowledged.
#[derive(Clone)]
struct Noted {
    create: Create,
    acknowledged: mpsc::UnboundedSender<(u64, Instant)>,
    pause: Duration,
}

impl Operation for Noted {
    async fn run(&mut self, number: u64) -> Outcome {
        self.create.run(number).await?;
        self.acknowledged.send((number, Instant::now()))?;
        if !self.pause.is_zero() {
            tokio::time::sleep(self.pause).await;
        }
        Ok(())
    }
}

/// Writes with so many writers, watches, and compares the times of acknowledgement and event.
pub(crate) async fn delay(
    server: &Server,
    namespace: &str,
    writers: usize,
    pause: Duration,
    until: Until,
) -> Outcome<Delay> {
    let mut watcher = server.client().await?;
    watcher.create_namespace(namespace).await?;
    let events = watch(&mut watcher, namespace).await?;
    let (seen_sender, mut seen) = mpsc::unbounded_channel();
    let watching = tokio::spawn(observe(events, seen_sender));
    let clients = server.access.clients(CONNECTIONS).await?;
    let (acknowledged_sender, mut acknowledged) = mpsc::unbounded_channel();
    let creates = clients
        .iter()
        .map(|client| {
            Ok(Noted {
                create: Create::in_namespace(client, namespace)?,
                acknowledged: acknowledged_sender.clone(),
                pause,
            })
        })
        .collect::<Outcome<Vec<_>>>()?;
    let numbers = Numbers::default();
    drive(server.id(), writers, until, &numbers, |task| {
        creates[task % creates.len()].clone()
    })
    .await?;
    let mut acknowledgements = HashMap::new();
    while let Ok((number, at)) = acknowledged.try_recv() {
        acknowledgements.insert(number, at);
    }
    let mut delays = Vec::with_capacity(acknowledgements.len());
    let all = acknowledgements.len();
    while delays.len() < all {
        let next = tokio::time::timeout(PATIENCE, seen.recv()).await;
        let Ok(Some((number, at))) = next else {
            return Err(format!("{} of {all} events did not come", all - delays.len()).into());
        };
        if let Some(acknowledged) = acknowledgements.remove(&number) {
            // An event that came before the acknowledgement was not late at all.
            delays.push(at.saturating_duration_since(acknowledged));
        }
    }
    watching.abort();
    delays.sort_unstable();
    Ok(Delay {
        p50_ms: percentile(&delays, 50) * 1e3,
        p99_ms: percentile(&delays, 99) * 1e3,
        writes: all,
    })
}

/// Opens many watches, and measures how long single events take to reach all of them.
pub(crate) async fn fan_out(server: &Server, watchers: usize, events: usize) -> Outcome<FanOut> {
    let mut writer = server.client().await?;
    writer.create_namespace("fan-out").await?;
    let mut clients = server.access.clients(WATCH_CONNECTIONS).await?;
    let seen = Arc::new(AtomicUsize::new(0));
    let all_have_it = Arc::new(Notify::new());
    let mut watching = JoinSet::new();
    for watcher in 0..watchers {
        let mut body = watch(&mut clients[watcher % WATCH_CONNECTIONS], "fan-out").await?;
        let (seen, all_have_it) = (seen.clone(), all_have_it.clone());
        watching.spawn(async move {
            while let Some(Ok(frame)) = body.frame().await {
                let ends = frame.data_ref().is_some_and(|data| data.ends_with(b"\n"));
                if ends && (seen.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(watchers) {
                    all_have_it.notify_one();
                }
            }
        });
    }
    let uri = writer.uri("/api/v1/namespaces/fan-out/configmaps")?;
    let template = Template::new();
    let mut times = Vec::with_capacity(events);
    let before = cpu(server.id())?;
    for event in 0..events {
        let body = template.object(event as u64);
        let started = Instant::now();
        writer.create(uri.clone(), body).await?;
        tokio::time::timeout(PATIENCE, all_have_it.notified())
            .await
            .map_err(|_| "an event did not reach all watchers")?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    let cpu_ms = (cpu(server.id())? - before).as_secs_f64() * 1e3 / events as f64;
    Ok(FanOut {
        watchers,
        worst_ms: times.iter().copied().fold(0.0, f64::max),
        median_ms: median(times),
        cpu_ms,
    })
}

#[cfg(test)]
mod tests {
    use super::numbers_in;
    use crate::client::name;

    #[test]
    fn events_are_counted_when_they_are_complete() {
        let event = |number| format!("{{\"name\":\"{}\"}}\n", name(number));
        let mut buffer = format!("{}{}{{\"name\":\"obj", event(3), event(4)).into_bytes();
        assert_eq!(numbers_in(&mut buffer), [3, 4]);
        assert_eq!(numbers_in(&mut buffer), []);
        buffer.extend_from_slice(b"ect-00000012\"}\n");
        assert_eq!(numbers_in(&mut buffer), [12]);
    }
}
