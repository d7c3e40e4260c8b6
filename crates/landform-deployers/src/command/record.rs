//! What is noted of a command, so that the removal can run it: the configuration itself, or, if anything in it is secret,
//! where in a Secret of the item it is.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, PostParams};
use landform_api::landscaper::{API_VERSION, names};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::config::Configuration;
use super::workspace::Workspace;
use crate::{DeployError, Job};

/// A command is noted under one of these, and the one before it under the other.
const KEYS: [&str; 2] = ["a", "b"];

/// What is on disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Record {
    Sealed(Sealed),
    Plain(Box<Configuration>),
}

/// Where a configuration with secrets is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Sealed {
    secret: String,
    key: String,
    /// With the item's salt: who may write Secrets may not choose what is run by that (C6).
    hash: String,
}

/// What is to be noted of a configuration. One with secrets is written into a Secret that goes with the item.
pub(crate) async fn record(
    job: &Job<'_>,
    workspace: &Workspace,
    configuration: &Configuration,
) -> Result<Record, DeployError> {
    if !job.has_secrets() {
        return Ok(Record::Plain(Box::new(configuration.clone())));
    }
    let (namespace, item) = job.name();
    let name = names::command_secret(item);
    let unwritten = |problem: String| {
        let message = format!(
            "what the command is started with can't be kept in the Secret {name}: {problem}"
        );
        DeployError::transient("Record", "NotWritten", message)
    };
    let used = match workspace.deployed()? {
        Some(Record::Sealed(sealed)) if sealed.secret == name => Some(sealed.key),
        Some(Record::Sealed(_) | Record::Plain(_)) | None => None,
    };
    let key = KEYS.into_iter().find(|key| Some(*key) != used.as_deref());
    let key = key.unwrap_or_default().to_owned();
    let text = serde_json::to_vec(configuration).map_err(|error| unwritten(error.to_string()))?;
    let secrets: Api<Secret> = Api::namespaced(job.own_client(), namespace);
    let found = secrets.get_opt(&name).await;
    let found = found.map_err(|error| unwritten(error.to_string()))?;
    if found.as_ref().is_some_and(|found| !is_ours(job, found)) {
        let message = format!(
            "the Secret {name} isn't this item's, and what its command is started with would overwrite it: delete or rename the Secret, \
             then reconcile"
        );
        return Err(DeployError::configuration("ForeignSecret", message));
    }
    let before = found.as_ref().and_then(|found| found.data.clone());
    let mut data: BTreeMap<String, ByteString> = before.unwrap_or_default();
    data.retain(|key, _| used.as_ref() == Some(key));
    data.insert(key.clone(), ByteString(text));
    let written = match found {
        Some(mut found) => {
            found.data = Some(data);
            secrets.replace(&name, &PostParams::default(), &found).await
        }
        None => {
            let secret = json!({
                "metadata": {"name": name, "ownerReferences": [{
                    "apiVersion": API_VERSION, "kind": "DeployItem", "name": item, "uid": job.uid(), "controller": true,
                }]},
                "type": "landform.dev/kept", "data": data,
            });
            let secret =
                serde_json::from_value(secret).map_err(|error| unwritten(error.to_string()))?;
            let secrets: Api<Secret> = Api::namespaced(job.part_client(), namespace);
            secrets.create(&PostParams::default(), &secret).await
        }
    };
    written.map_err(|error| unwritten(error.to_string()))?;
    let hash = workspace.hash(configuration);
    Ok(Record::Sealed(Sealed {
        hash: hash.map_err(|error| unwritten(error.to_string()))?,
        secret: name,
        key,
    }))
}

/// The configuration that a record is about.
pub(crate) async fn open(
    job: &Job<'_>,
    workspace: &Workspace,
    record: Record,
) -> Result<Configuration, DeployError> {
    let sealed = match record {
        Record::Plain(configuration) => return Ok(*configuration),
        Record::Sealed(sealed) => sealed,
    };
    let name = &sealed.secret;
    let unreadable = |problem: &str| {
        let message =
            format!("what the command was started with is in the Secret {name}, and {problem}");
        DeployError::transient("Remove", "NotRead", message)
    };
    let (namespace, _) = job.name();
    let secrets: Api<Secret> = Api::namespaced(job.own_client(), namespace);
    let found = secrets.get_opt(name).await;
    let found = found.map_err(|error| unreadable(&error.to_string()))?;
    let found = found.filter(|found| is_ours(job, found));
    let data = found.and_then(|found| found.data).unwrap_or_default();
    let text = data.get(&sealed.key);
    let text = text.ok_or_else(|| unreadable("that doesn't exist"))?;
    // The error of serde would quote what it found.
    let configuration: Configuration =
        serde_json::from_slice(&text.0).map_err(|_| unreadable("that is damaged"))?;
    match workspace.hash(&configuration) {
        Ok(hash) if hash == sealed.hash => Ok(configuration),
        Ok(_) => Err(unreadable("others have changed it since")),
        Err(error) => Err(unreadable(&error.to_string())),
    }
}

fn is_ours(job: &Job<'_>, secret: &Secret) -> bool {
    let mut owners = secret.metadata.owner_references.iter().flatten();
    owners.any(|owner| owner.uid == job.uid())
}
