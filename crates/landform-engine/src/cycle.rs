//! Tells an object that it is part of a cycle of references (R7).

use std::sync::Arc;

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::context::api_of;
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
}

impl Report {
    /// An Event, and whatever the reconciler wants in the status. No run is needed for it.
    pub(crate) async fn write(self) {
        if let Err(error) = self.try_write().await {
            tracing::warn!(object = %self.key, %error, "a cycle could not be written into the status");
        }
    }

    async fn try_write(&self) -> Result<(), kube::Error> {
        let namespace = self.resource.namespaced.then_some(&*self.key.namespace);
        let api = api_of(self.client.clone(), &self.resource.api, namespace);
        let Some(object) = api.get_opt(&self.key.name).await? else {
            return Ok(());
        };
        let message = format!(
            "it is in a cycle of references and doesn't run: {}",
            self.path
        );
        let warning = EventType::Warning;
        self.recorder.record(
            &object,
            &self.resource.api,
            warning,
            "ReferenceCycle",
            &message,
        );
        let wanted = guarded(&self.key.kind.kind, || {
            self.reconciler.status_in_cycle(&object, &self.path)
        });
        let Some(status) = wanted.flatten() else {
            return Ok(());
        };
        let patch = Patch::Merge(json!({"status": status}));
        api.patch_status(&self.key.name, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    }
}
