//! Tells an object that it is part of a cycle of references (R7).

use std::sync::Arc;

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Duration;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::context::{api_of, get};
use crate::errors::{self, Problem};
use crate::key::Key;
use crate::kinds::guarded;
use crate::reconciler::Reconciler;
use crate::recorder::{EventType, Recorder};
use crate::source::Resource;

/// What must be written down, and where.
pub(crate) struct Report {
    pub(crate) client: Client,
    pub(crate) recorder: Recorder,
    pub(crate) reconciler: Arc<dyn Reconciler>,
    pub(crate) resource: Arc<Resource>,
    pub(crate) key: Key,
    pub(crate) path: Arc<str>,
    pub(crate) clock: Arc<dyn Clock>,
}

/// A report that is being written.
pub(crate) struct Reporting {
    over: CancellationToken,
    task: JoinHandle<()>,
}

impl Reporting {
    /// Ends it: what isn't written yet never will be, what is on its way has arrived.
    pub(crate) async fn end(self) {
        self.over.cancel();
        // It can only fail by a panic, which is an end as well.
        let _ = self.task.await;
    }
}

/// The pause after the first failure; it doubles up to the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

impl Report {
    /// Writes an Event, and whatever the reconciler wants in the status, after the former report of that
    /// object. No run is needed for it; but a run must end it before it reads the object, or the report
    /// could come later and stay.
    pub(crate) fn begin(self, former: Option<Reporting>) -> Reporting {
        let over = CancellationToken::new();
        let stop = over.clone();
        let task = tokio::spawn(async move {
            if let Some(former) = former {
                former.end().await;
            }
            self.write(&stop).await;
        });
        Reporting { over, task }
    }

    async fn write(self, over: &CancellationToken) {
        let mut pause = FIRST_PAUSE;
        while let Err(error) = self.try_write().await {
            tracing::warn!(object = %self.key, %error, "a cycle could not be written into the status");
            tokio::select! {
                biased;
                () = over.cancelled() => return,
                () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            }
        }
    }

    async fn try_write(&self) -> Result<(), kube::Error> {
        let namespace = self.resource.namespaced.then_some(&*self.key.namespace);
        let api = api_of(self.client.clone(), &self.resource.api, namespace);
        let Some(object) = get(&api, &self.key.name).await? else {
            return Ok(());
        };
        let problem = Problem::cycle(&self.path);
        self.recorder.record(
            &object,
            &self.resource.api,
            EventType::Warning,
            problem.reason,
            &problem.message,
        );
        let wanted = guarded(&self.key.kind.kind, || {
            self.reconciler.status_in_cycle(&object, &self.path)
        });
        let Some(status) = wanted.flatten() else {
            let place = self.reconciler.error_place();
            let (name, clock) = (&self.key.name, &*self.clock);
            return errors::tell(&api, name, &place, Some(&problem), clock).await;
        };
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(&self.key.name, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }
}
