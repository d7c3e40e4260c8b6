//! Brings one object to an API: created, or changed by a three-way merge. Works on any Kubernetes API.
//!
//! `marks` makes of what a file says what is wanted, `difference` compares that with what is there (pure),
//! `kinds` finds where objects of a kind are, and this module sends the requests.

mod difference;
mod kinds;
mod marks;

use std::time::Duration;

use http::{Method, Request};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client};
use landform_api::landscaper::keys;
use landform_api::project::{
    self, ANNOTATION_ADOPTED, ANNOTATION_APPLIED, ANNOTATION_BLUEPRINT, ANNOTATION_FILE,
    LABEL_PROJECT,
};
use landform_engine::Change;
use serde_json::{Value, json};

use crate::namespaces;
use crate::object::ObjectId;

pub use difference::{Difference, difference};
pub use kinds::{Kinds, Served};
pub use marks::{Marks, prepare};

/// An object is read and written at most this often when others write at the same time.
const ATTEMPTS: usize = 8;
/// An API has this long to serve a kind whose definition it has taken.
const ESTABLISHED: Duration = Duration::from_secs(10);

/// What became of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It was not there; this is it now.
    Created(Value),
    /// It was changed.
    Changed {
        /// The merge patch.
        patch: Value,
        /// The object now.
        live: Value,
    },
    /// It was as wanted.
    Unchanged(Value),
}

impl Outcome {
    /// The object as it is now.
    #[must_use]
    pub fn live(&self) -> &Value {
        match self {
            Self::Created(live) | Self::Changed { live, .. } | Self::Unchanged(live) => live,
        }
    }
}

/// Why an object could not be brought to where it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The API refuses it; a person must change something.
    #[error("{0}")]
    Refused(String),
    /// It belongs to another project.
    #[error(
        "{object} belongs to the project {project}: remove it there, or give this one another name"
    )]
    Foreign {
        /// Which object.
        object: String,
        /// The project that has it.
        project: String,
    },
    /// It is being deleted.
    #[error("{0} is being deleted: it is made anew when it is gone")]
    Deleting(String),
    /// Its new name is taken.
    #[error(
        "{from} can't be renamed: {to} already exists. Choose another name, or remove that object first"
    )]
    NameTaken {
        /// The object.
        from: String,
        /// The name that it should have.
        to: String,
    },
    /// The API can't rename.
    #[error(
        "{0} can't be renamed: this API has no operation for that. Keep the name, or remove the object and let it be made anew"
    )]
    NoRename(String),
    /// Its kind isn't served: whether it is there isn't known.
    #[error("its kind isn't served at the moment")]
    NotServed,
    /// What should be renamed isn't there any more.
    #[error("{0} is gone")]
    Gone(String),
    /// It may work the next time.
    #[error("{0}")]
    Transient(String),
}

impl From<kube::Error> for ApplyError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => match status.code {
                // A server names the object that it has looked for; a path that it doesn't know leads to none.
                404 if status
                    .details
                    .as_ref()
                    .is_none_or(|found| found.name.is_empty()) =>
                {
                    Self::NotServed
                }
                408 | 409 | 429 | 500.. => Self::Transient(status.message),
                _ => Self::Refused(status.message),
            },
            other => Self::Transient(other.to_string()),
        }
    }
}

/// Reads an object.
///
/// # Errors
/// What the API answers; an object that isn't there is none.
pub async fn read(
    client: &Client,
    served: &Served,
    id: &ObjectId,
) -> Result<Option<Value>, ApplyError> {
    let url = served.path(id.namespace.as_deref(), Some(&id.name));
    match send(client, Method::GET, &url, None).await {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What would have to be done, without doing it.
///
/// # Errors
/// What the API answers, or that the object belongs to another project.
pub async fn compare(
    client: &Client,
    served: &Served,
    id: &ObjectId,
    wanted: &Value,
) -> Result<Difference, ApplyError> {
    let live = read(client, served, id).await?;
    if let Some(live) = &live {
        check(id, wanted, live)?;
    }
    Ok(difference(wanted, live.as_ref()))
}

/// Says of an object whether others wrote parts of it (C6).
pub type IsForeign<'a> = &'a (dyn Fn(&Value) -> bool + Send + Sync);

/// Brings an object to what is wanted. One that `only_there` asks for, and that belongs to others, is left alone.
///
/// # Errors
/// What the API answers, or that the object belongs to another project.
pub async fn bring(
    client: &Client,
    served: &Served,
    id: &ObjectId,
    wanted: &Value,
    only_there: bool,
    is_foreign: IsForeign<'_>,
) -> Result<Outcome, ApplyError> {
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match attempt(client, served, id, wanted, only_there, is_foreign).await {
            Ok(outcome) => return Ok(outcome),
            Err(Attempt::Again(message)) => last = message,
            Err(Attempt::Failed(error)) => return Err(error),
        }
    }
    Err(ApplyError::Transient(format!(
        "others write {id} all the time: {last}"
    )))
}

enum Attempt {
    Again(String),
    Failed(ApplyError),
}

impl From<kube::Error> for Attempt {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 409 => Self::Again(status.message),
            other => Self::Failed(other.into()),
        }
    }
}

async fn attempt(
    client: &Client,
    served: &Served,
    id: &ObjectId,
    wanted: &Value,
    only_there: bool,
    is_foreign: IsForeign<'_>,
) -> Result<Outcome, Attempt> {
    let namespace = id.namespace.as_deref();
    let Some(live) = read(client, served, id).await.map_err(Attempt::Failed)? else {
        let url = format!("{}?fieldValidation=Strict", served.path(namespace, None));
        let created = send(client, Method::POST, &url, Some(wanted)).await?;
        return Ok(Outcome::Created(created));
    };
    let ours = &wanted["metadata"]["labels"][LABEL_PROJECT];
    if only_there && live["metadata"]["labels"][LABEL_PROJECT] != *ours {
        return Ok(Outcome::Unchanged(live));
    }
    check(id, wanted, &live).map_err(Attempt::Failed)?;
    let merge = match difference(wanted, Some(&live)) {
        Difference::Change(patch) => Some(patch),
        Difference::Create(_) | Difference::Same => None,
    };
    let Some(mut change) = Change::new(merge, wanted, &live, is_foreign(&live)) else {
        return Ok(Outcome::Unchanged(live));
    };
    let patch = &mut change.patch;
    let is_taken = live["metadata"]["labels"][LABEL_PROJECT].is_null() && ours.is_string();
    if is_taken && namespaces::is_namespace(id) {
        patch["metadata"]["annotations"][ANNOTATION_ADOPTED] = json!("true");
    }
    let before = live["metadata"]["resourceVersion"].clone();
    patch["metadata"]["resourceVersion"] = before.clone();
    if blueprint_changed(patch, &live) {
        patch["metadata"]["annotations"][keys::OPERATION] = json!("reconcile");
    }
    let url = format!(
        "{}?fieldValidation=Strict",
        served.path(namespace, Some(&id.name))
    );
    let mut request = request(Method::PATCH, &url, Some(patch))?;
    change.mark(&mut request);
    let written: Value = client.request(request).await?;
    let mut patch = change.patch;
    // The API may know better, for instance when a field is one that it doesn't keep.
    if written["metadata"]["resourceVersion"] == before {
        return Ok(Outcome::Unchanged(written));
    }
    if let Some(metadata) = patch["metadata"].as_object_mut() {
        metadata.remove("resourceVersion");
    }
    Ok(Outcome::Changed {
        patch,
        live: written,
    })
}

/// Whether an object that is there may be changed.
fn check(id: &ObjectId, wanted: &Value, live: &Value) -> Result<(), ApplyError> {
    let label = |object: &Value| {
        let label = object["metadata"]["labels"][LABEL_PROJECT].as_str();
        label.map(ToOwned::to_owned)
    };
    if let (Some(ours), Some(theirs)) = (label(wanted), label(live))
        && ours != theirs
    {
        return Err(ApplyError::Foreign {
            object: id.to_string(),
            project: theirs,
        });
    }
    if live["metadata"].get("deletionTimestamp").is_some() {
        return Err(ApplyError::Deleting(id.to_string()));
    }
    Ok(())
}

/// Whether the files of a blueprint are others than those that the object was run with.
fn blueprint_changed(patch: &Value, live: &Value) -> bool {
    let sum = |object: &Value| object["metadata"]["annotations"][ANNOTATION_BLUEPRINT].is_string();
    sum(patch) && sum(live)
}

/// Gives an object another name, with everything that it has: uid, status, and what it owns. With a uid, no other
/// object is renamed that has the name by now.
///
/// # Errors
/// When the name is taken, the object is gone, or the API can't do it.
pub async fn rename(
    client: &Client,
    served: &Served,
    from: &ObjectId,
    to: &ObjectId,
    uid: Option<&str>,
) -> Result<Value, ApplyError> {
    let url = format!(
        "{}/rename",
        served.path(from.namespace.as_deref(), Some(&from.name))
    );
    let body = json!({
        "apiVersion": format!("{}/{}", project::GROUP, project::VERSION),
        "kind": "Rename",
        "name": to.name,
        "uid": uid.unwrap_or_default(),
    });
    let error = match send(client, Method::POST, &url, Some(&body)).await {
        Ok(renamed) => return Ok(renamed),
        Err(error) => error,
    };
    let kube::Error::Api(status) = error else {
        return Err(error.into());
    };
    Err(match (status.code, status.reason.as_str()) {
        (409, "AlreadyExists") => ApplyError::NameTaken {
            from: from.to_string(),
            to: to.to_string(),
        },
        (405, _) => ApplyError::NoRename(from.to_string()),
        (404, _) => match read(client, served, from).await? {
            Some(_) => ApplyError::NoRename(from.to_string()),
            None => ApplyError::Gone(from.to_string()),
        },
        _ => kube::Error::Api(status).into(),
    })
}

/// Deletes exactly the object that has this uid; what it owns goes by the API's own policy.
///
/// # Errors
/// What the API answers; one that is gone already is no error.
pub async fn delete(
    client: &Client,
    served: &Served,
    id: &ObjectId,
    uid: &str,
) -> Result<(), ApplyError> {
    let url = served.path(id.namespace.as_deref(), Some(&id.name));
    let options = json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid},
    });
    match send(client, Method::DELETE, &url, Some(&options)).await {
        Ok(_) => Ok(()),
        // Another object has the name by now, or others wrote this one at the same moment.
        Err(kube::Error::Api(status)) if status.code == 409 => {
            let live = read(client, served, id).await?;
            let is_there = live.is_some_and(|live| live["metadata"]["uid"] == uid);
            if is_there {
                return Err(ApplyError::Transient(status.message));
            }
            Ok(())
        }
        Err(error) => {
            let gone = matches!(&error, kube::Error::Api(status) if status.code == 404);
            match error.into() {
                ApplyError::Refused(_) if gone => Ok(()),
                other => Err(other),
            }
        }
    }
}

/// Takes an object out of its project, and leaves it as it is.
///
/// # Errors
/// What the API answers; one that is gone is no error.
pub async fn release(client: &Client, served: &Served, id: &ObjectId) -> Result<(), ApplyError> {
    let url = served.path(id.namespace.as_deref(), Some(&id.name));
    let patch = json!({"metadata": {
        "labels": {LABEL_PROJECT: null},
        "annotations": {ANNOTATION_FILE: null, ANNOTATION_APPLIED: null, ANNOTATION_ADOPTED: null},
    }});
    match send(client, Method::PATCH, &url, Some(&patch)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Waits until an API serves the kinds of a definition that it has taken.
///
/// # Errors
/// When that takes too long, or the API can't be asked.
pub async fn established(client: &Client, definition: &str) -> Result<(), ApplyError> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let waiting = await_condition(api, definition, conditions::is_crd_established());
    let slow = || {
        ApplyError::Transient(format!(
            "the API doesn't serve the definition {definition} yet"
        ))
    };
    match tokio::time::timeout(ESTABLISHED, waiting).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(ApplyError::Transient(error.to_string())),
        Err(_) => Err(slow()),
    }
}

async fn send(
    client: &Client,
    method: Method,
    url: &str,
    body: Option<&Value>,
) -> Result<Value, kube::Error> {
    client.request(request(method, url, body)?).await
}

fn request(
    method: Method,
    url: &str,
    body: Option<&Value>,
) -> Result<Request<Vec<u8>>, kube::Error> {
    let mime = if method == Method::PATCH {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    let request = Request::builder()
        .method(method)
        .uri(url)
        .header("Accept", "application/json")
        .header("Content-Type", mime)
        .body(body.map(Value::to_string).unwrap_or_default().into_bytes());
    request.map_err(|error| kube::Error::Service(error.into()))
}
