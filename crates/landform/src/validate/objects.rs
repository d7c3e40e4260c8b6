//! Each object, as a server in this process sees it that has nothing but the kinds.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use kube::Client;
use landform_apiserver::{ApiServer, Config};
use landform_project::{Reading, Source, preview};
use landform_store::HistoryLimits;
use landform_store::memory::MemoryStore;
use serde_json::Value;

use super::finding::{Finding, Findings, Place};
use crate::client::kind::Kinds;
use crate::client::{plain, send};
use crate::{AnyError, engine};

/// A definition is served after this time.
const PATIENCE: Duration = Duration::from_secs(10);
const DEFINITION: &str = "CustomResourceDefinition";

pub(super) async fn check(
    directory: &Path,
    name: &str,
    reading: &Reading,
    findings: &mut Findings,
) -> Result<(), AnyError> {
    let store = Arc::new(MemoryStore::with_limits(HistoryLimits::default()));
    let server = ApiServer::start(store, Config::default()).await?;
    let client = engine::client_in_process(&server);
    engine::install_kinds(&client).await?;
    let sources = |definitions: bool| {
        let files = reading.files.iter();
        let all = files.flat_map(|(file, parsed)| {
            let sources = parsed.objects.iter();
            sources.map(move |source| Place { file, source })
        });
        all.filter(move |place| (place.source.kind.kind == DEFINITION) == definitions)
    };
    let mut kinds = Kinds::load(&client).await?;
    for place in sources(true) {
        create(&client, &kinds, &place.source.object, place, findings).await?;
    }
    if sources(true).next().is_some() {
        kinds = served(&client, sources(true).map(|place| place.source)).await?;
    }
    // What is wrong with files and names, and the objects as they would be applied.
    let found = preview(&client, directory, name).await?;
    let has_operators = sources(false).any(|place| {
        matches!(
            place.source.kind.kind.as_str(),
            "AppType" | "OperatorVersion"
        )
    });
    for mut problem in found.problems {
        // A kind that an operator brings is known when that runs.
        if has_operators && problem.message.starts_with("the API doesn't know the kind") {
            problem
                .message
                .push_str("; or an operator of the project brings it");
            findings.add(Finding::warning(problem));
        } else {
            findings.add(Finding::error(problem));
        }
    }
    for object in &found.objects {
        if object["kind"] == DEFINITION {
            continue;
        }
        let mut at = sources(false).filter(|place| is_source(place.source, object));
        if let Some(place) = at.next() {
            create(&client, &kinds, object, place, findings).await?;
        } else {
            // A namespace that the settings name.
            make(&client, &kinds, object).await;
        }
    }
    server.stop();
    Ok(())
}

fn is_source(source: &Source, object: &Value) -> bool {
    let metadata = &object["metadata"];
    let namespace = source.namespace.as_deref();
    object["kind"] == source.kind.kind.as_str()
        && object["apiVersion"] == source.kind.api_version().as_str()
        && metadata["name"] == source.name.as_str()
        && namespace.is_none_or(|namespace| metadata["namespace"] == namespace)
}

/// Has the server make an object, and notes what it says against it.
async fn create(
    client: &Client,
    kinds: &Kinds,
    object: &Value,
    place: Place<'_>,
    findings: &mut Findings,
) -> Result<(), AnyError> {
    match make(client, kinds, object).await {
        Some(Err(kube::Error::Api(status))) if status.reason != "AlreadyExists" => {
            let kind = &place.source.kind.kind;
            let text = plain(kube::Error::Api(status)).to_string();
            // It is said of the object that it is invalid; its name and place stand here already.
            let text = text
                .split_once("is invalid: ")
                .map_or(text.as_str(), |(_, why)| why);
            // The last name of a field is nearest to the line.
            let word = text.split('"').nth(1).unwrap_or_default();
            let word = word
                .rsplit(['.', ']'])
                .next()
                .unwrap_or_default()
                .to_owned();
            findings.error_in(
                place,
                &word,
                format!("{kind} {}: {text}", place.source.name),
            );
            Ok(())
        }
        // A kind that isn't served is told by the preview.
        Some(Ok(_) | Err(kube::Error::Api(_))) | None => Ok(()),
        Some(Err(error)) => Err(plain(error)),
    }
}

async fn make(
    client: &Client,
    kinds: &Kinds,
    object: &Value,
) -> Option<Result<Value, kube::Error>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = kinds.of_manifest(&text(&object["apiVersion"]), &text(&object["kind"]))?;
    let namespace = text(&object["metadata"]["namespace"]);
    let namespace = if namespace.is_empty() {
        "default".to_owned()
    } else {
        namespace
    };
    let path = format!("{}?fieldValidation=Strict", kind.list_path(&namespace));
    Some(send(client, Method::POST, &path, object).await)
}

/// Waits until the kinds are served that definitions bring. One that was refused never is.
async fn served<'a>(
    client: &Client,
    definitions: impl Iterator<Item = &'a Source>,
) -> Result<Kinds, AnyError> {
    let wanted: Vec<(String, String)> = definitions
        .flat_map(|source| {
            let spec = &source.object["spec"];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (group, kind) = (text(&spec["group"]), text(&spec["names"]["kind"]));
            let versions = spec["versions"].as_array().cloned().unwrap_or_default();
            let versions = versions
                .into_iter()
                .filter(|version| version["served"] == true);
            versions
                .map(move |version| (format!("{group}/{}", text(&version["name"])), kind.clone()))
        })
        .collect();
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let kinds = Kinds::load(client).await?;
        let all = wanted
            .iter()
            .all(|(version, kind)| kinds.of_manifest(version, kind).is_some());
        if all || tokio::time::Instant::now() > until || !exist(client).await? {
            return Ok(kinds);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whether a definition is there that isn't established yet.
async fn exist(client: &Client) -> Result<bool, AnyError> {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let found = crate::client::get(client, path).await?.unwrap_or_default();
    let mut items = found["items"].as_array().into_iter().flatten();
    Ok(items.any(|item| {
        let conditions = item["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        !conditions.any(|found| found["type"] == "Established" && found["status"] == "True")
    }))
}
