//! Requests that the collector makes, in the words of its actions.
//!
//! Plain requests through the `kube::Client` instead of its typed calls: those have no word for our
//! policy, and they would parse answers that nobody reads.

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::client::Body;
use landform_engine::custom_kinds::CustomKinds;
pub(crate) use landform_engine::custom_kinds::{CustomKind, Partial};
use landform_graph::owners::Uid;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::decision::Policy;

/// Metadata alone, from any server that has it in this form.
const METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// Where an object is in the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// `/api/v1/namespaces/default/configmaps/x`.
    pub(crate) path: String,
}

/// Which object is meant, and in which state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) uid: Uid,
    /// Its resourceVersion, when that is known.
    pub(crate) version: Option<String>,
}

/// An answer that isn't a success.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// There is no such object.
    #[error("it is gone")]
    NotFound,
    /// There is no such path: nothing is known about the object.
    #[error("its kind is not served at the moment")]
    NotServed,
    /// The object is not as expected.
    #[error("it was changed meanwhile: {0}")]
    Conflict(String),
    /// The server refuses.
    #[error("{message} (code {code})")]
    Refused { code: u16, message: String },
    /// No answer.
    #[error("no answer: {0}")]
    Broken(#[from] kube::Error),
}

/// The parts of a `Status` that matter.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Failure {
    message: String,
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    name: String,
}

/// What the server's index of uids says.
#[derive(Debug, Deserialize)]
pub(crate) struct Lookup {
    pub(crate) exists: bool,
    #[serde(default)]
    pub(crate) served: bool,
    #[serde(default)]
    pub(crate) object: Place,
}

/// Where an object is.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Place {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// An object that another one owns.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Dependent {
    #[serde(default)]
    api_version: String,
    /// Whether its reference blocks the owner's deletion.
    #[serde(default)]
    pub(crate) blocks: bool,
    #[serde(flatten)]
    pub(crate) place: Place,
}

impl Dependent {
    pub(crate) fn is_event(&self) -> bool {
        super::kinds::is_event(&self.api_version, &self.place.kind)
    }
}

#[derive(Deserialize)]
struct Dependents {
    items: Vec<Dependent>,
}

/// What kind of thing an answer is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Answer {
    kind: String,
}

/// Deletes an object, if it is the expected one; says whether it is gone already.
pub(crate) async fn delete(
    client: &Client,
    address: &Address,
    expected: &Expected,
    policy: Policy,
) -> Result<bool, RequestError> {
    let mut preconditions = json!({"uid": expected.uid.to_string()});
    if let Some(version) = &expected.version {
        preconditions["resourceVersion"] = json!(version);
    }
    let options = json!({
        "kind": "DeleteOptions", "apiVersion": "v1",
        "propagationPolicy": policy.name(), "preconditions": preconditions,
    });
    let request = request(Method::DELETE, &address.path, "application/json", &options);
    let body = send(client, request).await?;
    // What is left of an object that is gone is a `Status`; one that is held is shown as it is.
    let answer: Answer = serde_json::from_slice(&body).unwrap_or_default();
    Ok(answer.kind == "Status")
}

/// Removes one finalizer, if the object still has exactly these.
pub(crate) async fn release(
    client: &Client,
    address: &Address,
    uid: &Uid,
    finalizers: &[Box<str>],
    finalizer: &str,
) -> Result<(), RequestError> {
    let left: Vec<&str> = finalizers
        .iter()
        .map(|held| &**held)
        .filter(|held| *held != finalizer)
        .collect();
    let change = if left.is_empty() {
        json!({"op": "remove", "path": "/metadata/finalizers"})
    } else {
        json!({"op": "replace", "path": "/metadata/finalizers", "value": left})
    };
    let patch = json!([
        {"op": "test", "path": "/metadata/uid", "value": uid.to_string()},
        {"op": "test", "path": "/metadata/finalizers", "value": finalizers},
        change,
    ]);
    let form = "application/json-patch+json";
    let sent = send(client, request(Method::PATCH, &address.path, form, &patch)).await;
    match sent {
        // A test that fails is told by this code, like anything else that is wrong with a patch.
        Err(RequestError::Refused { code: 422, message }) => Err(RequestError::Conflict(message)),
        other => other.map(drop),
    }
}

/// Sets the owners of an object, if it is the expected one.
pub(crate) async fn set_owners(
    client: &Client,
    address: &Address,
    expected: &Expected,
    owners: &Value,
) -> Result<(), RequestError> {
    let patch = json!({"metadata": {
        "uid": expected.uid.to_string(), "resourceVersion": expected.version, "ownerReferences": owners,
    }});
    let form = "application/merge-patch+json";
    let sent = send(client, request(Method::PATCH, &address.path, form, &patch)).await;
    sent.map(drop)
}

/// Reads an object's metadata; `None` when its kind is served and there is no object of its name.
pub(crate) async fn metadata(
    client: &Client,
    address: &Address,
) -> Result<Option<ObjectMeta>, RequestError> {
    match get(client, &address.path).await {
        Ok(body) => Ok(Some(parsed::<Partial>(&body)?.metadata)),
        Err(RequestError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Asks the server's index of uids; `None` when it has none.
pub(crate) async fn look_up(client: &Client, uid: &Uid) -> Result<Option<Lookup>, RequestError> {
    view(client, &format!("uids/{uid}")).await
}

/// All custom kinds, with the objects of those that aren't served; nothing when the server can't tell.
pub(crate) async fn custom_kinds(client: &Client) -> Result<Vec<CustomKind>, RequestError> {
    let found: Option<CustomKinds> = view(client, "customkinds").await?;
    Ok(found.map(|found| found.items).unwrap_or_default())
}

/// What an object owns, as the store has it; nothing when the server can't tell.
pub(crate) async fn dependents(client: &Client, uid: &Uid) -> Result<Vec<Dependent>, RequestError> {
    let found: Option<Dependents> = view(client, &format!("uids/{uid}/dependents")).await?;
    Ok(found.map(|found| found.items).unwrap_or_default())
}

/// Reads a view of Landform's own API server; `None` when this is another one.
async fn view<T: DeserializeOwned>(client: &Client, path: &str) -> Result<Option<T>, RequestError> {
    match get(client, &format!("/apis/landform.dev/v1alpha1/{path}")).await {
        Ok(body) => parsed(&body).map(Some),
        // Another server says either, depending on the rights of who asks.
        Err(RequestError::NotServed | RequestError::Refused { code: 403, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn get(client: &Client, path: &str) -> Result<Vec<u8>, RequestError> {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = uri(path)?;
    if let Ok(accept) = METADATA.parse() {
        request.headers_mut().insert(ACCEPT, accept);
    }
    send(client, Ok(request)).await
}

fn parsed<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, RequestError> {
    serde_json::from_slice(body)
        .map_err(|error| RequestError::Broken(kube::Error::SerdeError(error)))
}

/// Creates an object.
pub(crate) async fn create(
    client: &Client,
    path: &str,
    object: &Value,
) -> Result<(), RequestError> {
    let request = request(Method::POST, path, "application/json", object);
    send(client, request).await.map(drop)
}

fn uri(path: &str) -> Result<http::Uri, RequestError> {
    path.parse()
        .map_err(|error: http::uri::InvalidUri| RequestError::Refused {
            code: 400,
            message: format!("{path:?} is no path: {error}"),
        })
}

fn request(
    method: Method,
    path: &str,
    form: &'static str,
    body: &Value,
) -> Result<Request<Body>, RequestError> {
    let mut request = Request::new(Body::from(body.to_string().into_bytes()));
    *request.method_mut() = method;
    *request.uri_mut() = uri(path)?;
    request
        .headers_mut()
        .insert(CONTENT_TYPE, http::HeaderValue::from_static(form));
    Ok(request)
}

async fn send(
    client: &Client,
    request: Result<Request<Body>, RequestError>,
) -> Result<Vec<u8>, RequestError> {
    let response = client.send(request?).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes().to_vec();
    if status.is_success() {
        return Ok(body);
    }
    let failure: Failure = serde_json::from_slice(&body).unwrap_or_default();
    let message = if failure.message.is_empty() {
        status.to_string()
    } else {
        failure.message
    };
    Err(match status {
        // A server names the object that it has looked for; a path that it doesn't know leads to none.
        StatusCode::NOT_FOUND if failure.details.name.is_empty() => RequestError::NotServed,
        StatusCode::NOT_FOUND => RequestError::NotFound,
        StatusCode::CONFLICT => RequestError::Conflict(message),
        _ => RequestError::Refused {
            code: status.as_u16(),
            message,
        },
    })
}
