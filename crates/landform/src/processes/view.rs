//! Processes of deploy items, to be looked at through the API under `/apis/landform.dev/v1alpha1/processes/NAMESPACE/NAME`.
//! Who may `get` the resource `processes` of group `landform.dev` in a namespace may look at those of its items. What they
//! print is not in here: that takes the right to their logs.

use std::path::Path;
use std::pin::Pin;

use kube::Client;
use landform_apiserver::error::{ApiError, Reason};
use landform_apiserver::{Query, View};
use landform_deployers::processes::Processes;
use serde_json::Value;

use crate::logs::item_path;

/// The view; mounted as `processes`.
pub(crate) struct ProcessesView {
    client: Client,
    processes: Processes,
}

impl ProcessesView {
    /// Finds items through the API, and their processes by the data directory of the deployers.
    pub(crate) fn new(client: Client, data_directory: &Path) -> Self {
        Self {
            client,
            processes: Processes::new(data_directory),
        }
    }

    async fn answer(&self, namespace: &str, name: &str) -> Result<Value, ApiError> {
        let item = crate::client::get(&self.client, &item_path(namespace, name)).await;
        let internal = |error: &dyn std::fmt::Display| ApiError::internal(error.to_string());
        let item = item.map_err(|error| internal(&error))?.unwrap_or_default();
        let uid = item["metadata"]["uid"].as_str().unwrap_or_default();
        let (processes, uid) = (self.processes.clone(), uid.to_owned());
        let seen = tokio::task::spawn_blocking(move || processes.of(&uid)).await;
        seen.map_err(|error| internal(&error))?.ok_or_else(|| {
            let message =
                format!("DeployItem {name} in namespace {namespace} has no process on this server");
            ApiError::new(Reason::NotFound, message)
        })
    }
}

impl View for ProcessesView {
    /// To run programs is a right about the same name.
    fn verbs(&self) -> &'static [&'static str] {
        &["get", "run"]
    }

    fn namespaced(&self) -> bool {
        true
    }

    fn namespace<'p>(&self, path: &[&'p str]) -> Option<&'p str> {
        match path {
            [namespace, _] => Some(namespace),
            _ => None,
        }
    }

    fn read<'a>(
        &'a self,
        path: &'a [&'a str],
        _query: &'a Query,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Value>, ApiError>> + Send + 'a>> {
        Box::pin(async move {
            let [namespace, name] = path else {
                return Ok(None);
            };
            self.answer(namespace, name).await.map(Some)
        })
    }
}
