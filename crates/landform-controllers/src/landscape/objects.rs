//! Reads and writes of the kinds that a landscape consists of.

use super::belonging::maker;
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind as KubeKind, ObjectMeta};
use kube::{Client, ResourceExt as _};
use landform_api::keys::ANNOTATION_MAKER;
use landform_api::landscaper::{API_VERSION, GROUP, VERSION, keys, labels, names};
use landform_engine::{Context, Failure};
use serde_json::{Value, json};

/// The objects of a namespace.
#[derive(Clone)]
pub(super) struct Objects {
    client: Client,
    namespace: String,
}

impl Objects {
    pub(super) fn new(client: Client, namespace: &str) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
        }
    }

    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn api(&self, kind: &str) -> Api<DynamicObject> {
        let name = KubeKind::gvk(GROUP, VERSION, kind);
        let resource =
            ApiResource::from_gvk_with_plural(&name, &format!("{}s", kind.to_lowercase()));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    pub(super) async fn get(
        &self,
        kind: &str,
        name: &str,
    ) -> Result<Option<DynamicObject>, Failure> {
        Ok(self.api(kind).get_opt(name).await?)
    }

    /// Creates an object that is part of the one of a run, is noted as such and has its service account. `None` when another
    /// one has its name.
    pub(super) async fn create_part(
        &self,
        context: &Context,
        kind: &str,
        metadata: Value,
        content: Value,
    ) -> Result<Option<DynamicObject>, Failure> {
        let mut object = made(kind, metadata, content)?;
        context.inherit(&mut object.metadata);
        let objects = Self::new(context.making_parts(), &self.namespace);
        objects.create_object(kind, &object).await
    }

    /// Creates an object that is noted as made for the one of a run. `None` when another one has its name.
    pub(super) async fn create_noted(
        &self,
        context: &Context,
        kind: &str,
        metadata: Value,
        content: Value,
    ) -> Result<Option<DynamicObject>, Failure> {
        let objects = Self::new(context.making_parts(), &self.namespace);
        objects.create(kind, metadata, content).await
    }

    /// Creates an object. `None` when another one has its name.
    pub(super) async fn create(
        &self,
        kind: &str,
        metadata: Value,
        content: Value,
    ) -> Result<Option<DynamicObject>, Failure> {
        let object = made(kind, metadata, content)?;
        self.create_object(kind, &object).await
    }

    /// Creates an object. `None` when another one has its name.
    pub(super) async fn create_object(
        &self,
        kind: &str,
        object: &DynamicObject,
    ) -> Result<Option<DynamicObject>, Failure> {
        match self.api(kind).create(&PostParams::default(), object).await {
            Ok(created) => Ok(Some(created)),
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(None),
            Err(error) => {
                let name = object.metadata.name.as_deref().unwrap_or_default();
                let what = format!("the {kind} {name} can't be created");
                Err(Failure::of_write(error, &what))
            }
        }
    }

    /// Writes an object of the run's object of which a version was read as it should be now. One that was made for another object
    /// is noted as this one's in the same write.
    pub(super) async fn write_own(
        &self,
        context: &Context,
        kind: &str,
        read: &DynamicObject,
        mut wanted: DynamicObject,
    ) -> Result<DynamicObject, Failure> {
        let own = context.object().metadata.uid.as_deref();
        let anothers = || maker(read).is_some_and(|maker| Some(maker.as_str()) != own);
        let is_noted = context.is_part(read).unwrap_or_else(|| !anothers());
        if is_noted {
            return self.write(kind, read, &wanted).await;
        }
        // The API server writes the note; that it is none here is a difference, so that there is a write.
        let annotations = wanted.metadata.annotations.get_or_insert_default();
        annotations.insert(ANNOTATION_MAKER.to_owned(), String::new());
        let objects = Self::new(context.taking_over(), &self.namespace);
        objects.write(kind, read, &wanted).await
    }

    /// Writes an object of which a version was read as it should be now, if it isn't already.
    pub(super) async fn write(
        &self,
        kind: &str,
        read: &DynamicObject,
        wanted: &DynamicObject,
    ) -> Result<DynamicObject, Failure> {
        let same = read.data == wanted.data && read.metadata == wanted.metadata;
        if same {
            return Ok(read.clone());
        }
        let name = read.metadata.name.as_deref().unwrap_or_default();
        let parameters = PostParams::default();
        let written = self.api(kind).replace(name, &parameters, wanted).await;
        written.map_err(|error| {
            Failure::of_write(error, &format!("the {kind} {name} can't be changed"))
        })
    }

    /// Sets annotations of an object that was read, if they aren't set already.
    pub(super) async fn annotate(
        &self,
        kind: &str,
        read: &DynamicObject,
        annotations: &[(&str, &str)],
    ) -> Result<DynamicObject, Failure> {
        let mut wanted = read.clone();
        let all = wanted.metadata.annotations.get_or_insert_default();
        for (key, value) in annotations {
            all.insert((*key).to_owned(), (*value).to_owned());
        }
        self.write(kind, read, &wanted).await
    }

    /// Gives the very object that was read another name. One that isn't there any more is no error: it was
    /// renamed before.
    pub(super) async fn rename(
        &self,
        kind: &str,
        read: &ObjectMeta,
        to: &str,
    ) -> Result<(), Failure> {
        let from = read.name.as_deref().unwrap_or_default();
        let body = json!({
            "apiVersion": "landform.dev/v1alpha1", "kind": "Rename", "name": to, "uid": read.uid,
        });
        let path = format!(
            "/apis/{API_VERSION}/namespaces/{}/{}s/{from}/rename",
            self.namespace,
            kind.to_lowercase()
        );
        let request = http::Request::post(path)
            .header("content-type", "application/json")
            .body(body.to_string().into_bytes())
            .map_err(|error| Failure::Invalid(error.to_string()))?;
        match self.client.request::<Value>(request).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                Err(Failure::Invalid(format!(
                    "the {kind} {from} must be called {to} now, and another {kind} has that name: delete it, or rename back"
                )))
            }
            Err(error) => {
                let what = format!("the {kind} {from} can't be renamed to {to}");
                Err(Failure::of_write(error, &what))
            }
        }
    }

    /// Deletes the very object that was read; one that is gone is no error.
    pub(super) async fn delete(&self, kind: &str, read: &ObjectMeta) -> Result<(), Failure> {
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: read.uid.clone(),
                resource_version: None,
            }),
            ..DeleteParams::background()
        };
        let name = read.name.as_deref().unwrap_or_default();
        match self.api(kind).delete(name, &parameters).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => other.map(drop).map_err(|error| {
                Failure::of_write(error, &format!("the {kind} {name} can't be deleted"))
            }),
        }
    }
}

fn made(kind: &str, metadata: Value, content: Value) -> Result<DynamicObject, Failure> {
    let mut object = json!({"apiVersion": API_VERSION, "kind": kind, "metadata": metadata});
    if let (Value::Object(object), Value::Object(content)) = (&mut object, content) {
        object.extend(content);
    }
    serde_json::from_value(object)
        .map_err(|error| Failure::Invalid(format!("a {kind} can't be made: {error}")))
}

/// An owner reference of the one that controls.
pub(super) fn owner(kind: &str, metadata: &ObjectMeta) -> Value {
    json!([{
        "apiVersion": API_VERSION, "kind": kind, "controller": true, "blockOwnerDeletion": true,
        "name": metadata.name, "uid": metadata.uid,
    }])
}

/// Whether an object is owned by the one with this uid.
pub(super) fn is_owned_by(object: &ObjectMeta, uid: Option<&str>) -> bool {
    let owners = object.owner_references.iter().flatten();
    uid.is_some_and(|uid| owners.into_iter().any(|owner| owner.uid == uid))
}

/// The installation that owns an object.
pub(super) fn owning_installation(object: &ObjectMeta) -> Option<&str> {
    owning("Installation", object)
}

/// The execution that owns an object.
pub(super) fn owning_execution(object: &ObjectMeta) -> Option<&str> {
    owning("Execution", object)
}

fn owning<'a>(kind: &str, object: &'a ObjectMeta) -> Option<&'a str> {
    let mut owners = object.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.kind == kind && owner.api_version == API_VERSION);
    owner.map(|owner| owner.name.as_str())
}

/// The uid of the one that controls an object.
pub(super) fn owning_uid(object: &ObjectMeta) -> Option<&str> {
    let mut owners = object.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true));
    owner.map(|owner| owner.uid.as_str())
}

/// Whether a DataObject or a Target is in a context in which its owner has no part any more: the owner, or the one
/// that the owner is nested in, has been renamed, and will write it anew where it belongs.
pub(super) fn is_misplaced(given: &DynamicObject, owner: &DynamicObject) -> bool {
    let Some(context) = labelled(given, keys::DATA_CONTEXT) else {
        return false;
    };
    let source_type = given.labels().get(keys::DATA_SOURCE_TYPE);
    let of_nested = source_type.is_some_and(|value| value == "export");
    let whose = if of_nested {
        owning_installation(&owner.metadata)
    } else {
        owner.metadata.name.as_deref()
    };
    // Owner references have the present name at any time.
    whose.is_some_and(|whose| names::installation_context(whose) != context)
}

/// The name that a label of an object stands for.
pub(super) fn labelled<'a>(object: &'a DynamicObject, key: &str) -> Option<&'a str> {
    labels::get(object.labels(), object.annotations(), key)
}

/// Sets a label that stands for a name.
pub(super) fn set_label(metadata: &mut ObjectMeta, key: &str, name: &str) {
    let mut annotations = metadata.annotations.take().unwrap_or_default();
    let all = metadata.labels.get_or_insert_default();
    labels::put(all, &mut annotations, key, name);
    metadata.annotations = Some(annotations).filter(|all| !all.is_empty());
}
