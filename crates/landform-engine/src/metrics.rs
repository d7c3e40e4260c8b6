//! What Prometheus sees of the engine.

use prometheus::{
    HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
};

/// The engine's metrics. Clones share them.
#[derive(Clone)]
pub(crate) struct Metrics {
    pub(crate) runs: IntCounterVec,
    pub(crate) seconds: HistogramVec,
    pub(crate) cancelled: IntCounterVec,
    pub(crate) ignored_cancellations: IntCounterVec,
    pub(crate) running: IntGauge,
    pub(crate) waiting: IntGauge,
    pub(crate) stuck: IntGauge,
    pub(crate) objects: IntGauge,
    pub(crate) failing_kinds: IntGauge,
    pub(crate) dropped_events: IntCounter,
}

impl Metrics {
    /// Metrics that are shown by `registry`; those of an earlier engine are shown no more.
    ///
    /// # Errors
    /// When the registry doesn't take them.
    pub(crate) fn new(registry: &Registry) -> Result<Self, prometheus::Error> {
        let counters = |name: &str, help: &str, labels: &[&str]| {
            IntCounterVec::new(Opts::new(name, help), labels)
        };
        let metrics = Self {
            runs: counters(
                "landform_engine_runs_total",
                "Runs that have returned, by kind and result.",
                &["kind", "result"],
            )?,
            seconds: HistogramVec::new(
                HistogramOpts::new(
                    "landform_engine_run_seconds",
                    "How long runs take, by kind.",
                )
                .buckets(vec![0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 300.0]),
                &["kind"],
            )?,
            cancelled: counters(
                "landform_engine_cancelled_total",
                "Runs that were told to return, by kind.",
                &["kind"],
            )?,
            ignored_cancellations: counters(
                "landform_engine_ignored_cancellations_total",
                "Cancelled runs that did not return in time, by kind.",
                &["kind"],
            )?,
            running: IntGauge::new("landform_engine_running", "Runs that are under way.")?,
            waiting: IntGauge::new(
                "landform_engine_waiting",
                "Runs that wait because enough of their kind are under way.",
            )?,
            stuck: IntGauge::new(
                "landform_engine_stuck",
                "Cancelled runs that still have not returned.",
            )?,
            objects: IntGauge::new("landform_engine_objects", "Objects that are followed.")?,
            failing_kinds: IntGauge::new(
                "landform_engine_failing_kinds",
                "Kinds that can not be read at present.",
            )?,
            dropped_events: IntCounter::new(
                "landform_engine_dropped_events_total",
                "Events that were not written because too many came at once.",
            )?,
        };
        metrics.register(registry)?;
        Ok(metrics)
    }

    fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        let collectors: [Box<dyn prometheus::core::Collector>; 10] = [
            Box::new(self.runs.clone()),
            Box::new(self.seconds.clone()),
            Box::new(self.cancelled.clone()),
            Box::new(self.ignored_cancellations.clone()),
            Box::new(self.running.clone()),
            Box::new(self.waiting.clone()),
            Box::new(self.stuck.clone()),
            Box::new(self.objects.clone()),
            Box::new(self.failing_kinds.clone()),
            Box::new(self.dropped_events.clone()),
        ];
        for collector in collectors {
            registry.register(collector)?;
        }
        Ok(())
    }
}
