//! Logs of deploy items, readable through the API under `/apis/landform.dev/v1alpha1/logs/NAMESPACE/NAME`, so that
//! nobody needs the server's disk. Whoever may read the resource `logs` of group `landform.dev` may read all of them.

use std::path::Path;
use std::pin::Pin;

use kube::Client;
use landform_apiserver::error::{ApiError, Reason};
use landform_apiserver::{Query, View};
use landform_deployers::logs::{Logs, Question};
use serde_json::{Value, json};

/// The view; mounted as `logs`.
pub(crate) struct LogsView {
    client: Client,
    logs: Logs,
}

impl LogsView {
    /// Finds items through the API, and their logs in the data directory of the deployers.
    pub(crate) fn new(client: Client, data_directory: &Path) -> Self {
        Self {
            client,
            logs: Logs::new(data_directory),
        }
    }

    async fn answer(
        &self,
        namespace: &str,
        name: &str,
        question: Question,
    ) -> Result<Value, ApiError> {
        let path = super::item_path(namespace, name);
        let item = crate::client::get(&self.client, &path).await;
        let internal = |error: &dyn std::fmt::Display| ApiError::internal(error.to_string());
        let item = item.map_err(|error| internal(&error))?;
        let absent = |message: String| ApiError::new(Reason::NotFound, message);
        let Some(item) = item else {
            return Err(absent(format!(
                "there is no DeployItem {name} in namespace {namespace}"
            )));
        };
        let uid = item["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let logs = self.logs.clone();
        let read = tokio::task::spawn_blocking(move || logs.read(&uid, question)).await;
        let read = read.map_err(|error| internal(&error))?;
        let Some(part) = read.map_err(|error| internal(&error))? else {
            let kind = item["spec"]["type"].as_str().unwrap_or_default();
            return Err(absent(format!(
                "DeployItem {name} has no log here: items of type {kind} write none, or nothing was written yet"
            )));
        };
        Ok(json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "Log",
            "text": part.text, "offset": part.offset, "more": part.more,
        }))
    }
}

impl View for LogsView {
    fn read<'a>(
        &'a self,
        path: &'a [&'a str],
        query: &'a Query,
    ) -> Pin<Box<dyn Future<Output = Result<Option<Value>, ApiError>> + Send + 'a>> {
        Box::pin(async move {
            let [namespace, name] = path else {
                return Ok(None);
            };
            let number = |key: &str| {
                let read = query.get(key).map(|text| {
                    let bad = |_| ApiError::bad_request(format!("{key}={text}: must be a number"));
                    text.parse::<u64>().map_err(bad)
                });
                read.transpose()
            };
            let question = Question {
                offset: number("offset")?,
                tail: number("tail")?,
                previous: query.get("previous") == Some("true"),
            };
            self.answer(namespace, name, question).await.map(Some)
        })
    }
}
