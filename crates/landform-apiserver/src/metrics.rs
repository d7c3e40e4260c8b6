//! Metrics in Prometheus' text form.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use landform_store::Store;
use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TextEncoder,
};

use crate::registry::{Kinds, Resource};
use crate::request::path::Target;
use crate::room::StoreQuota;

/// The server's metrics.
pub(crate) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    durations: HistogramVec,
    watches: IntGaugeVec,
    revision: IntGauge,
    compacted: IntGauge,
    store_bytes: IntGaugeVec,
    store_quota: IntGauge,
}

/// How one request is counted.
pub(crate) struct Labels {
    verb: &'static str,
    resource: Option<Arc<Resource>>,
}

/// A watch that is open; it is counted until it is dropped.
pub(crate) struct OpenWatch(IntGauge);

impl Drop for OpenWatch {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    #[expect(
        clippy::expect_used,
        reason = "the names and labels are constants, checked by a test"
    )]
    pub(crate) fn new() -> Self {
        let registry = Registry::new();
        let requests = IntCounterVec::new(
            Opts::new(
                "apiserver_request_total",
                "Requests by verb, resource and code.",
            ),
            &["verb", "resource", "code"],
        )
        .expect("a valid metric");
        let durations = HistogramVec::new(
            HistogramOpts::new(
                "apiserver_request_duration_seconds",
                "Time to the answer's first byte.",
            )
            .buckets(vec![
                0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
            ]),
            &["verb"],
        )
        .expect("a valid metric");
        let watches = IntGaugeVec::new(
            Opts::new(
                "apiserver_longrunning_requests",
                "Open watches by resource.",
            ),
            &["resource"],
        )
        .expect("a valid metric");
        let revision = IntGauge::new("landform_store_revision", "The newest revision.")
            .expect("a valid metric");
        let compacted = IntGauge::new(
            "landform_store_compacted_revision",
            "The oldest revision to read or watch from.",
        )
        .expect("a valid metric");
        let store_bytes = IntGaugeVec::new(
            Opts::new(
                "landform_store_bytes",
                "What the store keeps in memory, by what it is.",
            ),
            &["what"],
        )
        .expect("a valid metric");
        let store_quota = IntGauge::new(
            "landform_store_quota_bytes",
            "What the store may keep in memory; 0 for any amount.",
        )
        .expect("a valid metric");
        for collector in [
            Box::new(requests.clone()) as Box<dyn prometheus::core::Collector>,
            Box::new(durations.clone()),
            Box::new(watches.clone()),
            Box::new(revision.clone()),
            Box::new(compacted.clone()),
            Box::new(store_bytes.clone()),
            Box::new(store_quota.clone()),
        ] {
            registry.register(collector).expect("registered once");
        }
        Self {
            registry,
            requests,
            durations,
            watches,
            revision,
            compacted,
            store_bytes,
            store_quota,
        }
    }

    /// The registry itself; a clone shares it.
    pub(crate) fn registry(&self) -> Registry {
        self.registry.clone()
    }

    /// How a request is counted. Only resources that are registered get a label of their own, so that no client can
    /// grow the metrics.
    pub(crate) fn labels(
        &self,
        registry: &Kinds,
        method: &Method,
        target: &Target,
        query: Option<&str>,
    ) -> Labels {
        let Target::Objects(path) = target else {
            return Labels {
                verb: "other",
                resource: None,
            };
        };
        let watching = path.legacy_watch
            || query.is_some_and(|query| query.contains("watch=true") || query.contains("watch=1"));
        let verb = match (method, path.name.is_some()) {
            (&Method::GET | &Method::HEAD, _) if watching => "watch",
            (&Method::GET | &Method::HEAD, true) => "get",
            (&Method::GET | &Method::HEAD, false) => "list",
            (&Method::POST, _) => "create",
            (&Method::PUT, _) => "update",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, true) => "delete",
            (&Method::DELETE, false) => "deletecollection",
            _ => "other",
        };
        Labels {
            verb,
            resource: registry.find(&path.group, &path.version, &path.resource),
        }
    }

    pub(crate) fn finished(&self, labels: &Labels, status: StatusCode, elapsed: Duration) {
        let resource = labels.resource.as_deref();
        let resource = resource.map_or("", |resource| &resource.plural);
        self.requests
            .with_label_values(&[labels.verb, resource, status.as_str()])
            .inc();
        self.durations
            .with_label_values(&[labels.verb])
            .observe(elapsed.as_secs_f64());
    }

    pub(crate) fn watch_opened(&self, resource: &Resource) -> OpenWatch {
        let gauge = self.watches.with_label_values(&[&resource.plural]);
        gauge.inc();
        OpenWatch(gauge)
    }

    /// The page that Prometheus reads.
    pub(crate) fn text(&self, store: &dyn Store, quota: Option<StoreQuota>) -> String {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        self.revision.set(number(store.revision().0));
        self.compacted.set(number(store.compacted().0));
        let usage = store.usage();
        for (what, bytes) in [
            ("objects", usage.records_bytes),
            ("history", usage.history_bytes),
        ] {
            self.store_bytes
                .with_label_values(&[what])
                .set(number(bytes));
        }
        self.store_quota
            .set(quota.map_or(0, |quota| number(quota.bytes)));
        let mut out = Vec::new();
        if let Err(error) = TextEncoder::new().encode(&self.registry.gather(), &mut out) {
            tracing::warn!(%error, "the metrics can't be written");
        }
        String::from_utf8(out).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::path;

    #[test]
    fn requests_are_counted_by_verb_and_code() {
        let metrics = Metrics::new();
        let registry = crate::registry::Registry::builtin();
        for (path, code) in [
            ("/api/v1/configmaps", StatusCode::OK),
            ("/api/v1/made-up-by-a-client", StatusCode::UNAUTHORIZED),
        ] {
            let target = path::parse(path);
            let labels =
                metrics.labels(&registry.kinds(), &Method::GET, &target, Some("watch=true"));
            metrics.finished(&labels, code, Duration::from_millis(2));
        }
        let store = landform_store::memory::MemoryStore::new();
        let text = metrics.text(&store, None);
        assert!(
            text.contains(
                r#"apiserver_request_total{code="200",resource="configmaps",verb="watch"} 1"#
            ),
            "{text}"
        );
        assert!(!text.contains("made-up"), "{text}");
    }
}
