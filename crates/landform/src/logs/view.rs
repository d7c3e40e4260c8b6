//! Logs of deploy items, readable through the API under `/apis/landform.dev/v1alpha1/logs/NAMESPACE/NAME`, so that
//! nobody needs the server's disk. Who may `get` the resource `logs` of group `landform.dev` in a namespace may read those of its
//! items; those of hooks, which are in no namespace, take the right in the whole cluster.

use std::path::Path;
use std::pin::Pin;

use kube::Client;
use landform_apiserver::error::{ApiError, Reason};
use landform_apiserver::{Query, View};
use landform_deployers::logs::{Logs, Part, Question};
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
        if namespace == super::HOOKS {
            return self.of_hook(name, question).await;
        }
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
            return Err(absent(no_log(name, kind, question.previous)));
        };
        Ok(shown(&part))
    }

    /// What the hook of a Reconciler said when calls failed.
    async fn of_hook(&self, name: &str, question: Question) -> Result<Value, ApiError> {
        let (logs, reconciler) = (self.logs.clone(), name.to_owned());
        let read = tokio::task::spawn_blocking(move || logs.of_hook(&reconciler, question)).await;
        let internal = |error: &dyn std::fmt::Display| ApiError::internal(error.to_string());
        let read = read.map_err(|error| internal(&error))?;
        let part = read.map_err(|error| internal(&error))?.ok_or_else(|| {
            let message = format!(
                "no call of the hook of Reconciler {name} has failed with words of the hook, as far as this server keeps them"
            );
            ApiError::new(Reason::NotFound, message)
        })?;
        Ok(shown(&part))
    }
}

fn shown(part: &Part) -> Value {
    json!({
        "apiVersion": "landform.dev/v1alpha1", "kind": "Log",
        "text": part.text, "offset": part.offset, "more": part.more,
    })
}

/// Why an item has no log.
fn no_log(name: &str, kind: &str, previous: bool) -> String {
    let why = match (kind, previous) {
        ("landform.dev/process" | "landform.dev/command", true) => {
            "has no log of an earlier run".to_owned()
        }
        ("landform.dev/process", false) => {
            "has no log here: its process has written nothing yet".to_owned()
        }
        ("landform.dev/command", false) => {
            "has no log here yet: the output of a command is kept when its run has ended".to_owned()
        }
        (kind, _) => format!(
            "has no log: only items of the types landform.dev/process and landform.dev/command run programs here, and this one is of type {kind}"
        ),
    };
    format!("DeployItem {name} {why}")
}

impl View for LogsView {
    fn namespaced(&self) -> bool {
        true
    }

    fn namespace<'p>(&self, path: &[&'p str]) -> Option<&'p str> {
        match path {
            [namespace, _] if *namespace != super::HOOKS => Some(namespace),
            _ => None,
        }
    }

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
