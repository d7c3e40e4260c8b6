//! Writes the Targets and Secrets of a TargetSync, and takes away those that it made and that are not wanted any more.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, DeleteParams, ListParams, PostParams, Preconditions};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, ObjectMeta};
use kube::{Client, ResourceExt as _};
use landform_api::landscaper::{API_VERSION, GROUP, VERSION, keys};
use landform_engine::{Context, Failure};
use serde_json::{Value, json};

use super::wanted::{Content, WantedObjects};
use crate::manifest::report;

/// The value of the label on what a TargetSync made.
const MADE: &str = "ok";

/// The objects of one TargetSync.
pub(super) struct Objects<'a> {
    context: &'a Context,
    namespace: &'a str,
    /// With the rights of who wrote the TargetSync.
    acting: Client,
    problems: Vec<String>,
}

/// What is the same for Targets and Secrets.
struct Kind {
    word: &'static str,
    resource: ApiResource,
}

impl<'a> Objects<'a> {
    pub(super) fn of(context: &'a Context, namespace: &'a str) -> Result<Self, Failure> {
        Ok(Self {
            context,
            namespace,
            acting: context.acting()?,
            problems: Vec::new(),
        })
    }

    /// Brings everything to where it should be. What is in the way of one object holds no other one up.
    pub(super) async fn bring_to(mut self, wanted: WantedObjects) -> Result<Vec<String>, Failure> {
        let (secrets, targets) = (kind_of_secrets(), kind_of_targets());
        // A Target refers to its Secret, so that comes first and goes last.
        let before = self.made(&secrets).await?;
        for (name, content) in &wanted.secrets {
            self.bring(&secrets, name, secret(content)).await?;
        }
        let targets_before = self.made(&targets).await?;
        for (name, spec) in &wanted.targets {
            self.bring(&targets, name, json!({"spec": spec})).await?;
        }
        if self.problems.is_empty() {
            let gone = |name: &str| !wanted.targets.contains_key(name);
            self.remove(&targets, targets_before, gone).await?;
            let gone = |name: &str| !wanted.secrets.contains_key(name);
            self.remove(&secrets, before, gone).await?;
        }
        Ok(self.problems)
    }

    fn api(&self, kind: &Kind, client: Client) -> Api<DynamicObject> {
        Api::namespaced_with(client, self.namespace, &kind.resource)
    }

    /// What this TargetSync made and owns.
    async fn made(&self, kind: &Kind) -> Result<BTreeMap<String, ObjectMeta>, Failure> {
        let api = self.api(kind, self.context.client());
        let label = format!("{}={MADE}", keys::TARGET_SYNC);
        let list = api.list(&ListParams::default().labels(&label)).await?;
        let own = list
            .items
            .into_iter()
            .filter(|object| self.owns(&object.metadata));
        Ok(own
            .map(|object| (object.name_any(), object.metadata))
            .collect())
    }

    fn owns(&self, metadata: &ObjectMeta) -> bool {
        let own = self.context.object().metadata.uid.as_deref();
        let mut owners = metadata.owner_references.iter().flatten();
        owners.any(|owner| Some(owner.uid.as_str()) == own)
    }

    async fn bring(&mut self, kind: &Kind, name: &str, content: Value) -> Result<(), Failure> {
        if self.context.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        let own = self.api(kind, self.context.client());
        let found = own.get_opt(name).await?;
        let acting = self.api(kind, self.acting.clone());
        let written = match found {
            Some(found) if !self.owns(&found.metadata) => {
                self.problems.push(format!(
                    "the {} {name} exists and is not this TargetSync's: delete it, or let the expression leave its name out",
                    kind.word
                ));
                return Ok(());
            }
            Some(found) => {
                let mut wanted = found.clone();
                set(&mut wanted, &content);
                if wanted == found {
                    return Ok(());
                }
                acting.replace(name, &PostParams::default(), &wanted).await
            }
            None => {
                let object = self.new_object(kind, name, &content)?;
                acting.create(&PostParams::default(), &object).await
            }
        };
        match written {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 409 => {
                Err(Failure::Conflict(format!("{} {name}", kind.word)))
            }
            Err(error @ kube::Error::Api(_)) => {
                let why = report::in_short(true, &error);
                let problem = format!("the {} {name} can't be written: {why}", kind.word);
                self.problems.push(problem);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn new_object(
        &self,
        kind: &Kind,
        name: &str,
        content: &Value,
    ) -> Result<DynamicObject, Failure> {
        let owner = &self.context.object().metadata;
        let object = json!({
            "apiVersion": kind.resource.api_version, "kind": kind.resource.kind,
            "metadata": {
                "name": name, "namespace": self.namespace,
                "labels": {keys::TARGET_SYNC: MADE},
                "ownerReferences": [{
                    "apiVersion": API_VERSION, "kind": "TargetSync", "controller": true,
                    "name": owner.name, "uid": owner.uid,
                }],
            },
        });
        let mut object: DynamicObject = serde_json::from_value(object)
            .map_err(|error| Failure::Invalid(format!("a {} can't be made: {error}", kind.word)))?;
        set(&mut object, content);
        Ok(object)
    }

    async fn remove(
        &mut self,
        kind: &Kind,
        made: BTreeMap<String, ObjectMeta>,
        gone: impl Fn(&str) -> bool,
    ) -> Result<(), Failure> {
        // It made them, so no right of the writer's is asked for, who may have lost it.
        let api = self.api(kind, self.context.client());
        for (name, metadata) in made.into_iter().filter(|(name, _)| gone(name)) {
            let parameters = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: metadata.uid,
                    resource_version: None,
                }),
                ..DeleteParams::background()
            };
            match api.delete(&name, &parameters).await {
                Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => {}
                other => {
                    other?;
                }
            }
        }
        Ok(())
    }
}

fn kind_of_targets() -> Kind {
    let kind = GroupVersionKind::gvk(GROUP, VERSION, "Target");
    Kind {
        word: "Target",
        resource: ApiResource::from_gvk_with_plural(&kind, "targets"),
    }
}

fn kind_of_secrets() -> Kind {
    let kind = GroupVersionKind::gvk("", "v1", "Secret");
    Kind {
        word: "Secret",
        resource: ApiResource::from_gvk_with_plural(&kind, "secrets"),
    }
}

fn secret(content: &Content) -> Value {
    let secret = Secret {
        type_: content.kind.clone(),
        data: content.data.clone(),
        ..Secret::default()
    };
    let mut secret = serde_json::to_value(secret).unwrap_or_default();
    if let Value::Object(fields) = &mut secret {
        fields.retain(|name, _| matches!(name.as_str(), "type" | "data"));
    }
    secret
}

/// Sets the fields of an object that are given, and the label.
fn set(object: &mut DynamicObject, content: &Value) {
    for (field, value) in content.as_object().into_iter().flatten() {
        object.data[field] = value.clone();
    }
    let labels = object.metadata.labels.get_or_insert_default();
    labels.insert(keys::TARGET_SYNC.to_owned(), MADE.to_owned());
}
