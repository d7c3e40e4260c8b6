//! Watches installations until they are where they should be.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

use crate::Outcome;
use crate::server::Server;

const GROUP: &str = "/apis/landscaper.gardener.cloud/v1alpha1/namespaces";

/// A watch, one line at a time.
struct Lines {
    body: Incoming,
    buffer: Vec<u8>,
    /// How much of the buffer was taken.
    taken: usize,
}

impl Lines {
    async fn open(server: &Server, path: &str) -> Outcome<Self> {
        let mut client = server.client().await?;
        let uri = client.uri(path)?;
        let answer = client.send(Method::GET, uri, &[], Bytes::new()).await?;
        Ok(Self {
            body: answer.into_body(),
            buffer: Vec::new(),
            taken: 0,
        })
    }

    async fn next(&mut self) -> Outcome<Value> {
        loop {
            let rest = &self.buffer[self.taken..];
            if let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line = serde_json::from_slice(&rest[..end])?;
                self.taken += end + 1;
                return Ok(line);
            }
            self.buffer.drain(..self.taken);
            self.taken = 0;
            let frame = self.body.frame().await.ok_or("the watch ended")??;
            if let Ok(data) = frame.into_data() {
                self.buffer.extend_from_slice(&data);
            }
        }
    }
}

/// What became of the installations of a namespace.
pub(super) struct Follow {
    lines: Lines,
    succeeded: BTreeSet<String>,
    gone: BTreeSet<String>,
    /// When each first succeeded, and first progressed.
    times: BTreeMap<String, (Option<Instant>, Option<Instant>)>,
}

impl Follow {
    pub(super) async fn start(server: &Server, namespace: &str) -> Outcome<Self> {
        let path = format!("{GROUP}/{namespace}/installations?watch=true");
        Ok(Self {
            lines: Lines::open(server, &path).await?,
            succeeded: BTreeSet::new(),
            gone: BTreeSet::new(),
            times: BTreeMap::new(),
        })
    }

    async fn step(&mut self) -> Outcome {
        let event = self.lines.next().await?;
        let object = &event["object"];
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if event["type"] == "DELETED" {
            self.gone.insert(name.to_owned());
            return Ok(());
        }
        let (status, now) = (&object["status"], Instant::now());
        let times = self.times.entry(name.to_owned()).or_default();
        match status["phase"].as_str() {
            Some("Succeeded")
                if status["observedGeneration"] == object["metadata"]["generation"] =>
            {
                times.0.get_or_insert(now);
                self.succeeded.insert(name.to_owned());
            }
            Some("Progressing") => {
                times.1.get_or_insert(now);
            }
            Some("Failed") => {
                return Err(
                    format!("{name} has failed: {}", status["lastError"]["message"]).into(),
                );
            }
            _ => {}
        }
        Ok(())
    }

    pub(super) async fn until_succeeded(&mut self, count: usize) -> Outcome {
        while self.succeeded.len() < count {
            self.step().await?;
        }
        Ok(())
    }

    pub(super) async fn until_gone(&mut self, count: usize) -> Outcome {
        while self.gone.len() < count {
            self.step().await?;
        }
        Ok(())
    }

    /// How long links of the chain began to progress after the one before had succeeded: at worst, and
    /// the median, in milliseconds.
    pub(super) fn delays(&self, links: usize) -> (f64, f64) {
        let times = |number: usize| self.times.get(&format!("l{number}"));
        let mut delays: Vec<Duration> = (2..=links)
            .filter_map(|number| {
                let (succeeded, _) = times(number - 1)?;
                let (_, progressed) = times(number)?;
                Some((*progressed)?.saturating_duration_since((*succeeded)?))
            })
            .collect();
        delays.sort_unstable();
        let ms = |delay: Option<&Duration>| delay.map_or(0.0, |delay| delay.as_secs_f64() * 1e3);
        (ms(delays.last()), ms(delays.get(delays.len() / 2)))
    }
}

/// One DataObject.
pub(super) struct Data(Lines);

impl Data {
    pub(super) async fn start(server: &Server, namespace: &str, name: &str) -> Outcome<Self> {
        let path = format!(
            "{GROUP}/{namespace}/dataobjects?watch=true&fieldSelector=metadata.name%3D{name}"
        );
        Ok(Self(Lines::open(server, &path).await?))
    }

    pub(super) async fn until(&mut self, value: &str) -> Outcome {
        while self.0.next().await?["object"]["data"] != value {}
        Ok(())
    }
}

/// The sum of all series of a metric.
pub(super) fn metric(text: &str, name: &str) -> f64 {
    let lines = text.lines().filter(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(' ') || rest.starts_with('{'))
    });
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}
