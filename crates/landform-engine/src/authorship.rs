//! How an object that is there is brought to what is wanted when others wrote parts of it (C6).
//!
//! What Landform makes it merges: fields of others stay. But Landform acts for objects of its own kinds with the rights of
//! who wrote them, and a tenant's fields must not act with an administrator's rights because Landform put right the rest. So:
//!
//! 1. A patch by Landform never makes the note of the writer stronger: who was noted stays beside the new writer.
//! 2. Of Landform's own kinds, where such an object would act for nobody but the weakest, what others wrote goes: the content
//!    is replaced as a whole, and its writer is then the only one.
//!
//! Objects of all other kinds are merged as ever, because other controllers have their fields there.

use http::Request;
use kube::api::{Patch, PatchParams};
use landform_api::keys::ANNOTATION_SERVICE_ACCOUNT;
use landform_api::kind::split_api_version;
use landform_api::landscaper;
use landform_api::writer::WholeContent;
use serde_json::{Map, Value, json};

use crate::merge;

/// The group of Landform's kinds, and how those of its parts end.
const GROUP: &str = "landform.dev";

/// What must be sent so that an object is as wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The merge patch.
    pub patch: Value,
    /// Whether it leaves nothing of the content that was there. Then it names the version that was read, so that nothing
    /// comes in between.
    pub whole: bool,
}

impl Change {
    /// The change that leaves of an object what others have in it, or, if it is `foreign` and of a kind that Landform acts for,
    /// the one that doesn't. `merge` is the patch that brings it to what is wanted and leaves all else.
    #[must_use]
    pub fn new(merge: Option<Value>, wanted: &Value, live: &Value, foreign: bool) -> Option<Self> {
        if !foreign || !is_acted_for(wanted) {
            return merge.map(|patch| Self {
                patch,
                whole: false,
            });
        }
        let mut patch = merge::patch(&content(live), &content(wanted)).unwrap_or_else(|| json!({}));
        if let Some(metadata) = merge.as_ref().and_then(|merge| merge.get("metadata")) {
            patch["metadata"] = metadata.clone();
        }
        let account = |object: &Value| {
            let annotations = &object["metadata"]["annotations"];
            annotations[ANNOTATION_SERVICE_ACCOUNT].is_string()
        };
        if account(live) && !account(wanted) {
            patch["metadata"]["annotations"][ANNOTATION_SERVICE_ACCOUNT] = Value::Null;
        }
        patch["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
        Some(Self { patch, whole: true })
    }

    /// The request that sends it to the object of this name below a path.
    ///
    /// # Errors
    /// When the parameters contradict each other.
    pub fn request(
        &self,
        path: String,
        name: &str,
        params: &PatchParams,
    ) -> Result<Request<Vec<u8>>, kube::Error> {
        let patch = Patch::Merge(&self.patch);
        let request = kube::core::Request::new(path).patch(name, params, &patch);
        let mut request = request.map_err(kube::Error::BuildRequest)?;
        self.mark(&mut request);
        Ok(request)
    }

    /// Says in a request that it leaves nothing of the content that was there, if so.
    pub fn mark<T>(&self, request: &mut Request<T>) {
        if self.whole {
            request.extensions_mut().insert(WholeContent);
        }
    }
}

/// Whether Landform itself acts for objects like this one.
fn is_acted_for(object: &Value) -> bool {
    let group = object["apiVersion"].as_str().and_then(split_api_version);
    group.is_some_and(|(group, _)| {
        let part = group.strip_suffix(GROUP);
        group == landscaper::GROUP
            || part.is_some_and(|part| part.is_empty() || part.ends_with('.'))
    })
}

/// What the note of the writer is about: everything but metadata and status.
pub(crate) fn content(object: &Value) -> Value {
    let fields = object.as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| {
        !matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status")
    });
    let fields = fields.map(|(name, value)| (name.clone(), value.clone()));
    Value::Object(fields.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(spec: Value) -> Value {
        json!({
            "apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "DeployItem",
            "metadata": {"name": "a", "resourceVersion": "7"}, "spec": spec,
        })
    }

    #[test]
    fn c6_nothing_stays_of_what_others_wrote_in_an_object_that_landform_acts_for() {
        let wanted = item(json!({"config": {"command": ["date"]}}));
        let mut live = item(json!({"config": {"command": ["true"], "env": {"PATH": "."}}}));
        live["more"] = json!(1);
        live["status"] = json!({"phase": "Failed"});
        live["metadata"]["annotations"] = json!({ANNOTATION_SERVICE_ACCOUNT: "strong"});
        let merge = json!({
            "metadata": {"labels": {"a": "b"}}, "spec": {"config": {"command": ["date"]}},
        });
        let change = Change::new(Some(merge.clone()), &wanted, &live, true).unwrap();
        let expected = json!({
            "metadata": {
                "labels": {"a": "b"}, "resourceVersion": "7",
                "annotations": {ANNOTATION_SERVICE_ACCOUNT: null},
            },
            "spec": {"config": {"command": ["date"], "env": null}}, "more": null,
        });
        assert_eq!(change.patch, expected);
        assert!(change.whole);
        // Who wrote it counts even if it is as wanted.
        let change = Change::new(None, &wanted, &wanted, true).unwrap();
        assert_eq!(change.patch, json!({"metadata": {"resourceVersion": "7"}}));
        assert!(change.whole);
        // Its own content is merged.
        let change = Change::new(Some(merge.clone()), &wanted, &live, false);
        let merged = Change {
            patch: merge,
            whole: false,
        };
        assert_eq!(change, Some(merged));
        assert_eq!(Change::new(None, &wanted, &wanted, false), None);
    }

    #[test]
    fn c6_objects_of_other_kinds_keep_the_fields_of_others() {
        let table = [
            ("landscaper.gardener.cloud/v1alpha1", true),
            ("landform.dev/v1alpha1", true),
            ("catalog.landform.dev/v1alpha1", true),
            ("v1", false),
            ("apps/v1", false),
            ("example.com/v1", false),
            ("notlandform.dev/v1", false),
        ];
        for (api_version, whole) in table {
            let wanted = json!({"apiVersion": api_version, "metadata": {}, "spec": {"a": 1}});
            let merge = Some(json!({"spec": {"a": 1}}));
            let change = Change::new(merge, &wanted, &wanted, true).unwrap();
            assert_eq!(change.whole, whole, "{api_version}");
        }
    }
}
