//! Reads which objects of a project are there.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Request;
use kube::Client;
use landform_api::keys::{
    ANNOTATION_FORMER_NAME, FINALIZER_CASCADE, FINALIZER_CRD, FINALIZER_FOREGROUND,
    FINALIZER_ORPHAN, former_name,
};
use landform_api::project::{ANNOTATION_FILE, LABEL_PROJECT};
use landform_api::protection::is_protected;
use serde_json::{Value, json};

use crate::apply::{ApplyError, Kinds, Served};
use crate::decide::{Live, Unserved};
use crate::hidden::{Hidden, Known, discover};
use crate::object::ObjectId;

/// At most this many kinds are listed at once.
const AT_ONCE: usize = 16;
/// Objects per page of a list.
const PAGE: u32 = 500;

/// All objects of a project, of whatever kind.
pub(crate) async fn list(
    client: &Client,
    kinds: &Kinds,
    project: &str,
) -> Result<BTreeMap<ObjectId, Live>, ApplyError> {
    let Known { served, hidden } = discover(client, kinds).await?;
    // Events are about objects, and tell of labels that they were copied from.
    let served = served
        .into_iter()
        .filter(|served| served.listed && served.kind.kind != "Event");
    let lists: Vec<_> = served
        .map(|served| list_kind(client, served, project))
        .collect();
    let lists = stream::iter(lists)
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<_>>();
    let mut found: BTreeMap<_, _> = lists.await?.into_iter().flatten().collect();
    let hidden = hidden
        .into_iter()
        .filter(|hidden| hidden.project() == Some(project));
    found.extend(hidden.filter_map(unserved));
    Ok(found)
}

/// One of the project whose kind isn't served.
fn unserved(hidden: Hidden) -> Option<(ObjectId, Live)> {
    let held = hidden.metadata["finalizers"]
        .as_array()
        .is_some_and(|held| !held.is_empty());
    let unserved = Unserved {
        definition: format!("{}.{}", hidden.kind.plural, hidden.kind.kind.group),
        held,
    };
    let (id, live) = ours(&hidden.kind, json!({"metadata": hidden.metadata}))?;
    let live = Live {
        object: None,
        unserved: Some(unserved),
        ..live
    };
    Some((id, live))
}

async fn list_kind(
    client: &Client,
    served: Served,
    project: &str,
) -> Result<Vec<(ObjectId, Live)>, ApplyError> {
    let mut found = Vec::new();
    let mut token = String::new();
    loop {
        let path = served.path(None, None);
        let mut url = format!("{path}?labelSelector={LABEL_PROJECT}%3D{project}&limit={PAGE}");
        if !token.is_empty() {
            url = format!("{url}&continue={token}");
        }
        let request = Request::get(url).body(Vec::new());
        let request = request.map_err(|error| ApplyError::Transient(error.to_string()))?;
        let mut page: Value = match client.request(request).await {
            Ok(page) => page,
            // It may not be read here: then none of it can be ours.
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 405) => return Ok(found),
            Err(kube::Error::Api(status)) if status.code == 404 => return Err(changing(&served)),
            Err(error) => return Err(error.into()),
        };
        let items = page["items"].as_array_mut().map(std::mem::take);
        for mut item in items.unwrap_or_default() {
            // Items of lists don't say what they are.
            item["apiVersion"] = json!(served.kind.api_version());
            item["kind"] = json!(served.kind.kind);
            found.extend(ours(&served, item));
        }
        token = encoded(page["metadata"]["continue"].as_str().unwrap_or_default());
        if token.is_empty() {
            return Ok(found);
        }
    }
}

/// A label can be copied from one object to another; the file is noted only on what stands in one.
fn ours(served: &Served, object: Value) -> Option<(ObjectId, Live)> {
    let metadata = &object["metadata"];
    let file = metadata["annotations"][ANNOTATION_FILE].as_str()?;
    let text = |field: &str| metadata[field].as_str().map(ToOwned::to_owned);
    let id = ObjectId {
        group: served.kind.group.clone(),
        kind: served.kind.kind.clone(),
        namespace: text("namespace"),
        name: text("name")?,
    };
    let live = Live::of(&object, file);
    let object = Some(Arc::new(object));
    Some((id, Live { object, ..live }))
}

/// Whether something must be taken down before the object can go: what it stands for has a state. Of definitions the
/// objects of their kind say that.
fn is_held(metadata: &Value) -> bool {
    const OF_API: [&str; 4] = [
        FINALIZER_CASCADE,
        FINALIZER_FOREGROUND,
        FINALIZER_ORPHAN,
        FINALIZER_CRD,
    ];
    let finalizers = metadata["finalizers"].as_array().into_iter().flatten();
    let mut finalizers = finalizers.filter_map(Value::as_str);
    finalizers.any(|finalizer| !OF_API.contains(&finalizer))
}

impl Live {
    /// What must be known of an object that stands in a file.
    pub(crate) fn of(object: &Value, file: &str) -> Self {
        let metadata = &object["metadata"];
        let uid = metadata["uid"].as_str().unwrap_or_default();
        let note = metadata["annotations"][ANNOTATION_FORMER_NAME].as_str();
        Self {
            uid: uid.to_owned(),
            file: file.to_owned(),
            deleting: metadata.get("deletionTimestamp").is_some(),
            former: note
                .and_then(|note| former_name(note, uid))
                .map(ToOwned::to_owned),
            held: is_held(metadata),
            protected: is_protected(metadata),
            object: None,
            unserved: None,
        }
    }
}

/// A kind was there a moment ago: whether its objects still are isn't known.
pub(crate) fn changing(served: &Served) -> ApplyError {
    ApplyError::Transient(format!(
        "the kind {} changes at the moment",
        served.kind.kind
    ))
}

/// A token as part of a URL.
pub(crate) fn encoded(token: &str) -> String {
    let bytes = token.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    });
    bytes.collect()
}
