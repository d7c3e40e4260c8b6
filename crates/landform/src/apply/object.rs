//! One object, brought to where its manifest wants it, with all that others have set left alone.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use kube::Client;
use landform_api::project::ANNOTATION_APPLIED;
use landform_engine::hooks::three_way;
use serde_json::{Map, Value, json};

use crate::AnyError;
use crate::client::kind::Kind;
use crate::client::object::Manifest;
use crate::client::{get, merge, plain, send};

/// What kubectl has applied last, in its own words.
pub(crate) const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What became of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Created,
    Configured,
    Unchanged,
}

impl Outcome {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
        }
    }
}

/// An object after it was applied.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    pub(crate) kind: Kind,
    pub(crate) outcome: Outcome,
    pub(crate) object: Value,
    /// The object before; null when there was none.
    pub(crate) before: Value,
}

/// Creates or changes the object of a manifest. What was applied last is remembered on the object as its shape; of an
/// object that only kubectl has applied so far, kubectl's memory counts.
pub(crate) async fn apply_object(
    client: &Client,
    kind: Kind,
    manifest: &Manifest,
    dry_run: bool,
) -> Result<Applied, AnyError> {
    let place = manifest.place(kind, client.default_namespace());
    let query = if dry_run { "?dryRun=All" } else { "" };
    let at = |error: AnyError| -> AnyError {
        format!("{}: {}: {error}", manifest.at, place.short()).into()
    };
    let wanted = wanted(&manifest.value);
    if !manifest.name().is_empty()
        && let Some(before) = get(client, &place.path()).await.map_err(at)?
    {
        return change(client, &place, &wanted, before, query)
            .await
            .map_err(at);
    }
    let path = format!("{}{query}", place.kind.list_path(&place.namespace));
    match send(client, Method::POST, &path, &remembered(&wanted)).await {
        Ok(object) => Ok(Applied {
            kind: place.kind,
            outcome: Outcome::Created,
            object,
            before: Value::Null,
        }),
        // Somebody was faster.
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
            let before = get(client, &place.path()).await.map_err(at)?;
            let before = before.ok_or_else(|| at("it comes and goes: try again".into()))?;
            change(client, &place, &wanted, before, query)
                .await
                .map_err(at)
        }
        Err(error) => Err(at(plain(error))),
    }
}

async fn change(
    client: &Client,
    place: &crate::client::object::Place,
    wanted: &Value,
    before: Value,
    query: &str,
) -> Result<Applied, AnyError> {
    let Some((patch, matters)) = decide(wanted, &before) else {
        return Ok(Applied {
            kind: place.kind.clone(),
            outcome: Outcome::Unchanged,
            object: before.clone(),
            before,
        });
    };
    let object = merge(client, &format!("{}{query}", place.path()), &patch).await?;
    Ok(Applied {
        kind: place.kind.clone(),
        outcome: if matters {
            Outcome::Configured
        } else {
            Outcome::Unchanged
        },
        object,
        before,
    })
}

/// What a manifest wants: not what only servers set, and nothing that is null.
fn wanted(manifest: &Value) -> Value {
    let mut wanted = three_way::without_nulls(manifest.clone());
    if let Some(fields) = wanted.as_object_mut() {
        fields.remove("status");
        if fields.get("kind").is_some_and(|kind| kind == "Secret") {
            // The server keeps the one as the other; to be compared they must be alike.
            let plain = fields.remove("stringData");
            if let Some(Value::Object(plain)) = plain {
                let data = fields.entry("data").or_insert_with(|| json!({}));
                for (name, value) in &plain {
                    let text = value.as_str().unwrap_or_default();
                    data[name] = STANDARD.encode(text).into();
                }
            }
        }
    }
    if let Some(metadata) = wanted.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in [
            "creationTimestamp",
            "resourceVersion",
            "uid",
            "generation",
            "managedFields",
            "selfLink",
        ] {
            metadata.remove(field);
        }
        if let Some(annotations) = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut)
        {
            annotations.remove(ANNOTATION_APPLIED);
            annotations.remove(LAST_APPLIED);
        }
    }
    wanted
}

/// With its own shape in an annotation.
fn remembered(wanted: &Value) -> Value {
    let mut object = wanted.clone();
    let shape = three_way::shape(wanted).to_string();
    if let Some(object) = object.as_object_mut() {
        let metadata = object.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            let annotations = metadata
                .entry("annotations")
                .or_insert_with(|| Value::Object(Map::new()));
            if let Some(annotations) = annotations.as_object_mut() {
                annotations.insert(ANNOTATION_APPLIED.to_owned(), shape.into());
            }
        }
    }
    object
}

/// The patch for an object that is there, and whether it changes more than our memory; `None` when all is as wanted.
fn decide(wanted: &Value, live: &Value) -> Option<(Value, bool)> {
    let annotations = &live["metadata"]["annotations"];
    let read =
        |name: &str| -> Option<Value> { serde_json::from_str(annotations[name].as_str()?).ok() };
    let last = read(ANNOTATION_APPLIED)
        .or_else(|| read(LAST_APPLIED).map(|applied| three_way::shape(&self::wanted(&applied))));
    let last = last.unwrap_or_default();
    let matters = three_way::patch(&last, wanted, live).is_some();
    let shape = three_way::shape(wanted).to_string();
    if !matters && annotations[ANNOTATION_APPLIED] == shape.as_str() {
        return None;
    }
    // Names are not changed by a patch: what differs there is the server's spelling of the version.
    let mut patch = three_way::patch(&last, wanted, live).unwrap_or_else(|| json!({}));
    patch["metadata"]["annotations"][ANNOTATION_APPLIED] = shape.into();
    Some((patch, matters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubectl_applied_and_is_wanted_no_more_goes() {
        let wanted = json!({"metadata": {"name": "a"}, "data": {"x": "1"}});
        let applied = json!({"metadata": {"name": "a"}, "data": {"x": "1", "old": "2"}});
        let live = json!({
            "metadata": {"name": "a", "annotations": {LAST_APPLIED: applied.to_string()}},
            "data": {"x": "1", "old": "2", "others": "3"},
        });
        let (patch, matters) = decide(&wanted, &live).unwrap();
        assert!(matters);
        assert_eq!(patch["data"], json!({"old": null}));
        assert!(patch["metadata"]["annotations"][ANNOTATION_APPLIED].is_string());
    }

    #[test]
    fn an_object_as_wanted_is_only_given_the_memory_and_then_left_alone() {
        let wanted = json!({"metadata": {"name": "a"}, "data": {"x": "1"}});
        let live = json!({"metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}});
        let (patch, matters) = decide(&wanted, &live).unwrap();
        assert!(!matters, "{patch}");
        let mut live = remembered(&wanted);
        live["data"]["y"] = "2".into();
        assert_eq!(decide(&wanted, &live), None);
    }

    #[test]
    fn a_manifest_that_was_read_from_a_server_wants_none_of_the_server_s_fields() {
        let read = json!({
            "metadata": {"name": "a", "uid": "u", "resourceVersion": "7", "annotations": {LAST_APPLIED: "{}"}},
            "status": {"phase": "Failed"}, "spec": {"a": null, "b": 1},
        });
        let expected = json!({"metadata": {"name": "a", "annotations": {}}, "spec": {"b": 1}});
        assert_eq!(wanted(&read), expected);
    }
}
