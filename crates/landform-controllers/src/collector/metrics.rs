//! Figures for Prometheus: counted while things happen, or read when somebody asks.

use std::sync::{Arc, Weak};

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{Gauge, IntCounter, IntCounterVec, IntGauge, Opts, Registry};
use time::OffsetDateTime;

use super::run::Shared;

/// What is counted.
pub(super) struct Metrics {
    marked: IntCounter,
    collected: IntCounter,
    let_go: IntCounter,
    failures: IntCounterVec,
}

#[expect(
    clippy::expect_used,
    reason = "the names are constants, and a test makes them"
)]
fn counter(name: &str, help: &str) -> IntCounter {
    IntCounter::new(name, help).expect("a valid metric")
}

#[expect(
    clippy::expect_used,
    reason = "the names are constants, and a test makes them"
)]
fn gauge(name: &str, help: &str) -> IntGauge {
    IntGauge::new(name, help).expect("a valid metric")
}

impl Default for Metrics {
    #[expect(
        clippy::expect_used,
        reason = "the names are constants, and a test makes them"
    )]
    fn default() -> Self {
        let failures = Opts::new(
            "landform_collector_failures_total",
            "Requests, lists and watches of the collector that failed, by kind.",
        );
        Self {
            marked: counter(
                "landform_collector_marked_total",
                "Deletes by the collector that left a marked object.",
            ),
            collected: counter(
                "landform_collector_collected_total",
                "Objects that went by the collector's hand.",
            ),
            let_go: counter(
                "landform_collector_references_dropped_total",
                "Objects that lost references to owners by the collector's hand.",
            ),
            failures: IntCounterVec::new(failures, &["kind"]).expect("a valid metric"),
        }
    }
}

impl Metrics {
    /// Makes the figures readable; a second collector on one registry goes without.
    pub(super) fn register(&self, registry: &Registry, shared: &Arc<Shared>) {
        let parts: [Box<dyn Collector>; 5] = [
            Box::new(self.marked.clone()),
            Box::new(self.collected.clone()),
            Box::new(self.let_go.clone()),
            Box::new(self.failures.clone()),
            Box::new(Present::new(shared)),
        ];
        for part in parts {
            if let Err(error) = registry.register(part) {
                tracing::warn!(%error, "a metric of the collector can't be shown");
            }
        }
    }

    pub(super) fn deleted(&self, gone: bool) {
        if gone {
            self.collected.inc();
        } else {
            self.marked.inc();
        }
    }

    pub(super) fn released(&self, gone: bool) {
        if gone {
            self.collected.inc();
        }
    }

    pub(super) fn let_go(&self) {
        self.let_go.inc();
    }

    pub(super) fn failed(&self, kind: &str) {
        self.failures.with_label_values(&[kind]).inc();
    }
}

/// What is read from the state at the moment.
struct Present {
    shared: Weak<Shared>,
    queue: IntGauge,
    in_flight: IntGauge,
    objects: IntGauge,
    edges: IntGauge,
    bytes: IntGauge,
    waiting: IntGauge,
    oldest: Gauge,
    failing: IntGauge,
}

impl Present {
    #[expect(
        clippy::expect_used,
        reason = "the names are constants, and a test makes them"
    )]
    fn new(shared: &Arc<Shared>) -> Self {
        let oldest = "landform_collector_oldest_waiting_seconds";
        let help = "For how long the oldest deletion has not ended.";
        Self {
            shared: Arc::downgrade(shared),
            queue: gauge(
                "landform_collector_queue_length",
                "Objects to be looked at.",
            ),
            in_flight: gauge(
                "landform_collector_in_flight",
                "Objects that are worked on.",
            ),
            objects: gauge(
                "landform_collector_graph_objects",
                "Objects in the owner graph.",
            ),
            edges: gauge(
                "landform_collector_graph_edges",
                "References in the owner graph.",
            ),
            bytes: gauge(
                "landform_collector_graph_bytes",
                "Memory of the owner graph, without names.",
            ),
            waiting: gauge(
                "landform_collector_waiting",
                "Marked objects that are still there.",
            ),
            oldest: Gauge::new(oldest, help).expect("a valid metric"),
            failing: gauge(
                "landform_collector_kinds_failing",
                "Kinds that can't be listed or watched.",
            ),
        }
    }

    fn update(&self) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        let state = shared.state.lock();
        let set = |gauge: &IntGauge, value: usize| gauge.set(i64::try_from(value).unwrap_or(0));
        set(&self.queue, state.queue.len());
        set(&self.in_flight, state.queue.in_flight());
        set(&self.objects, state.graph.len());
        set(&self.edges, state.graph.edge_count());
        set(&self.bytes, state.graph.bytes());
        set(&self.waiting, state.marked.len());
        set(&self.failing, state.failing_kinds().count());
        let oldest = state.marked.values().map(|marked| marked.since).min();
        let now = OffsetDateTime::now_utc().unix_timestamp();
        let seconds = oldest.map_or(0, |since| (now - since).max(0));
        self.oldest.set(seconds as f64);
    }
}

impl Collector for Present {
    fn desc(&self) -> Vec<&Desc> {
        let gauges = [
            &self.queue,
            &self.in_flight,
            &self.objects,
            &self.edges,
            &self.bytes,
            &self.waiting,
            &self.failing,
        ];
        let mut descriptions: Vec<&Desc> =
            gauges.into_iter().flat_map(|gauge| gauge.desc()).collect();
        descriptions.extend(self.oldest.desc());
        descriptions
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.update();
        let gauges = [
            &self.queue,
            &self.in_flight,
            &self.objects,
            &self.edges,
            &self.bytes,
            &self.waiting,
            &self.failing,
        ];
        let mut families: Vec<MetricFamily> =
            gauges.into_iter().flat_map(Collector::collect).collect();
        families.extend(self.oldest.collect());
        families
    }
}
