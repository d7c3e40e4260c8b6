//! Watches installations until they are where they should be.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::lines::Lines;
use crate::server::Server;

const GROUP: &str = "/apis/landscaper.gardener.cloud/v1alpha1/namespaces";

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
