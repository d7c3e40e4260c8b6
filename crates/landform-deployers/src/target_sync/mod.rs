//! Keeps Targets like the Secrets of a namespace in another cluster (kind TargetSync).
//!
//! # Expected flow
//! 1. What the spec asks for is read ([`wanted`]), and the kubeconfig from the Secret that it names.
//! 2. The token in that kubeconfig is replaced when it is time ([`token`]).
//! 3. Secrets of the source that match become a Secret and a Target each; those that are gone there go here
//!    ([`write`]).
//! 4. After five minutes it is looked at again.
//!
//! # Guarantees
//! - The Secret is read, and objects are written, with the rights of who wrote the TargetSync (C6).
//! - What is made is owned by the TargetSync and goes with it. Nothing is changed or deleted that it doesn't own.
//! - While the source can't be read, nothing is deleted.
//! - No message holds anything of a Secret.

mod token;
mod wanted;
mod write;

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ListParams};
use kube::core::DynamicObject;
use kube::{Client, ResourceExt as _};
use landform_api::landscaper::{self, TargetSync, TargetSyncStatus, keys};
use landform_api::{GroupKind, GroupVersionKind};
use landform_engine::{
    Context, EventType, Failure, Order, Outcome, Reconciler, Ref, Related, Right, write_time,
};
use parking_lot::Mutex;
use serde_json::Value;

use crate::manifest::{report, target};
use wanted::{Wanted, kubeconfig_key};

/// The source is looked at this often, and this soon after something went wrong.
const INTERVAL: Duration = Duration::from_secs(5 * 60);
const RETRY: Duration = Duration::from_secs(60);
/// A source that doesn't answer is given up after this time.
const SOURCE_PATIENCE: Duration = Duration::from_secs(30);
/// At most this many Secrets of a source are looked at, and at most this many in one answer.
const SECRETS_MAX: usize = 10_000;
const SECRETS_IN_AN_ANSWER: u32 = 10;
/// The status lists at most this many errors.
const ERRORS_LISTED_MAX: usize = 20;

/// The names of TargetSyncs by their namespace.
type Names = Arc<Mutex<BTreeMap<String, BTreeSet<String>>>>;

/// Reconciles TargetSyncs.
#[derive(Default)]
pub struct TargetSyncs {
    names: Names,
}

impl TargetSyncs {
    async fn run(&self, context: &Context) -> Result<Outcome, Failure> {
        // What it made goes with it, because it owns that.
        if context.deleting() {
            return Ok(Outcome::Done);
        }
        let object = context.object();
        let sync: TargetSync = serde_json::from_value(object.data.clone())
            .map_err(|error| Failure::Invalid(format!("the TargetSync can't be read: {error}")))?;
        let mut status = sync.status.clone();
        status.observed_generation = object.metadata.generation;
        let mut problems = self.synchronise(context, &sync, &mut status).await?;
        problems.truncate(ERRORS_LISTED_MAX);
        self.tell(context, &sync.status, status, problems.clone())
            .await?;
        let done = [keys::OPERATION, keys::ROTATE_TOKEN];
        let edit = context.edit_metadata(|metadata| {
            if let Some(annotations) = &mut metadata.annotations {
                annotations.retain(|key, _| !done.contains(&key.as_str()));
            }
        });
        if done
            .iter()
            .any(|key| object.annotations().contains_key(*key))
        {
            edit.await?;
        }
        let pause = if problems.is_empty() { INTERVAL } else { RETRY };
        let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let at_ms = context.now_ms().saturating_add(pause_ms);
        let what = "the source cluster is looked at again".to_owned();
        Ok(Outcome::WaitUntil(what, at_ms))
    }

    /// Brings Targets and Secrets to where they should be. What is in the way is returned, for the status.
    async fn synchronise(
        &self,
        context: &Context,
        sync: &TargetSync,
        status: &mut TargetSyncStatus,
    ) -> Result<Vec<String>, Failure> {
        let namespace = context.object().namespace().unwrap_or_default();
        if let Some(problem) = self.not_alone(&namespace) {
            return Ok(vec![problem]);
        }
        let wanted = match Wanted::of(&sync.spec) {
            Ok(wanted) => wanted,
            Err(problem) => return Ok(vec![problem]),
        };
        let name = &sync.spec.secret_ref.name;
        if let Some(denied) = context.missing(rights(&namespace, name)).await? {
            return Ok(vec![denied.to_string()]);
        }
        let kubeconfig = match kubeconfig(context, sync) {
            Ok(kubeconfig) => kubeconfig,
            Err(problem) => return Ok(vec![problem]),
        };
        context.computes_aside();
        let whose = format!("the Secret {name}");
        let source = match target::client(&whose, &kubeconfig).await {
            Ok((source, ..)) => source,
            Err(error) => return Ok(vec![error.message]),
        };
        if token::is_due(context, sync) {
            match token::replace(context, sync, &source, kubeconfig).await? {
                Ok(()) => status.last_token_rotation_time = Some(write_time(context.now_ms())),
                Err(problem) => return Ok(vec![problem]),
            }
        }
        let secrets = match &wanted.expression {
            None => Vec::new(),
            Some(_) => match secrets(context, &source, &sync.spec.source_namespace).await? {
                Ok(secrets) => secrets,
                Err(problem) => return Ok(vec![problem]),
            },
        };
        let wanted = wanted.objects(&sync.spec, secrets);
        write::Objects::of(context, &namespace)?
            .bring_to(wanted)
            .await
    }

    /// Landscaper allows one for each namespace: two could not agree on what is to go.
    fn not_alone(&self, namespace: &str) -> Option<String> {
        let names = self.names.lock();
        let names = names.get(namespace).filter(|names| names.len() > 1)?;
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        Some(format!(
            "this namespace has more than one TargetSync, and nothing is done until there is one: keep one of {}",
            names.join(", ")
        ))
    }

    async fn tell(
        &self,
        context: &Context,
        before: &TargetSyncStatus,
        mut status: TargetSyncStatus,
        problems: Vec<String>,
    ) -> Result<(), Failure> {
        for problem in &problems {
            if !before.last_errors.contains(problem) {
                context.event(EventType::Warning, "NotSynchronised", problem);
            }
        }
        status.last_errors = problems;
        // A mere time is no reason to write.
        if status != *before {
            status.last_update_time = Some(write_time(context.now_ms()));
            context.write_status(&status).await?;
        }
        Ok(())
    }
}

/// What the writer of a TargetSync needs (C6).
fn rights(namespace: &str, secret: &str) -> Vec<Right> {
    let mut rights = vec![Right::new("get", "", "secrets", namespace, secret)];
    for (group, resource) in [("", "secrets"), (landscaper::GROUP, "targets")] {
        for verb in ["create", "update"] {
            rights.push(Right::new(verb, group, resource, namespace, ""));
        }
    }
    rights
}

/// The kubeconfig in the Secret that the spec names.
fn kubeconfig(context: &Context, sync: &TargetSync) -> Result<Value, String> {
    let reference = &sync.spec.secret_ref;
    let (name, key) = (&reference.name, kubeconfig_key(reference));
    let found = context.refs().first();
    let Some(secret) = found.and_then(|found| found.object.as_deref()) else {
        return Err(format!(
            "the Secret {name} doesn't exist: make it, with a kubeconfig for the source cluster under the key {key}"
        ));
    };
    let secret: Secret = serde_json::to_value(secret)
        .and_then(serde_json::from_value)
        .map_err(|_| format!("the Secret {name} can't be read"))?;
    let bytes = secret.data.and_then(|mut data| data.remove(key));
    let text = bytes.and_then(|bytes| String::from_utf8(bytes.0).ok());
    let text = text.ok_or_else(|| format!("the Secret {name} has no text under the key {key}"))?;
    target::parse(&format!("the Secret {name}"), &text).map_err(|error| error.message)
}

/// The Secrets of the source namespace.
async fn secrets(
    context: &Context,
    source: &Client,
    namespace: &str,
) -> Result<Result<Vec<Secret>, String>, Failure> {
    let api: Api<Secret> = Api::namespaced(source.clone(), namespace);
    let mut found = Vec::new();
    let mut parameters = ListParams::default().limit(SECRETS_IN_AN_ANSWER);
    loop {
        let answer = tokio::time::timeout(SOURCE_PATIENCE, api.list(&parameters));
        let problem = match context.or_cancelled(answer).await? {
            Ok(Ok(list)) => {
                found.extend(list.items);
                let next = list.metadata.continue_.filter(|next| !next.is_empty());
                match next {
                    None => return Ok(Ok(found)),
                    Some(_) if found.len() >= SECRETS_MAX => {
                        format!("it has more than {SECRETS_MAX} Secrets")
                    }
                    Some(next) => {
                        parameters = parameters.continue_token(&next);
                        continue;
                    }
                }
            }
            Ok(Err(error)) => report::in_short(true, &error),
            Err(_) => format!("it gave no answer in {} s", SOURCE_PATIENCE.as_secs()),
        };
        return Ok(Err(format!(
            "the Secrets of the namespace {namespace} in the source cluster can't be read: {problem}"
        )));
    }
}

impl Reconciler for TargetSyncs {
    fn kind(&self) -> GroupVersionKind {
        landscaper::kind("TargetSync")
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(self.run(context))
    }

    fn refs(&self, object: &DynamicObject) -> Vec<Ref> {
        let name = object.data["spec"]["secretRef"]["name"].as_str();
        let name = name.filter(|name| !name.is_empty());
        let secret = name.map(|name| Ref {
            kind: GroupVersionKind::new("", "v1", "Secret"),
            namespace: object.namespace(),
            name: name.to_owned(),
        });
        secret.into_iter().collect()
    }

    fn related(&self) -> Vec<Related> {
        let names = self.names.clone();
        let siblings = Related::new(self.kind(), move |object| {
            let (namespace, own) = (object.namespace(), object.name_any());
            let names = names.lock();
            let siblings = names.get(namespace.as_deref().unwrap_or_default());
            let siblings = siblings.into_iter().flatten().filter(|name| **name != own);
            siblings
                .map(|name| (namespace.clone(), name.clone()))
                .collect()
        });
        let uid = |object: &DynamicObject| {
            let mut hasher = DefaultHasher::new();
            object.metadata.uid.hash(&mut hasher);
            hasher.finish()
        };
        // What it made is brought back when it was changed or deleted.
        let kind = self.kind();
        let made = [
            Related::owned(landscaper::kind("Target"), &kind),
            Related::owned(GroupVersionKind::new("", "v1", "Secret"), &kind),
        ];
        let mut related = vec![siblings.when_moved(uid)];
        related.extend(made);
        related
    }

    fn seen(&self, kind: &GroupKind, object: &DynamicObject) {
        if kind.kind == "TargetSync" {
            let mut names = self.names.lock();
            let names = names.entry(object.namespace().unwrap_or_default());
            names.or_default().insert(object.name_any());
        }
    }

    fn gone(&self, kind: &GroupKind, namespace: &str, name: &str, _uid: &str) {
        if kind.kind == "TargetSync" {
            let mut names = self.names.lock();
            if let Some(names) = names.get_mut(namespace) {
                names.remove(name);
            }
        }
    }

    fn content(&self, object: &DynamicObject) -> u64 {
        let mut hasher = DefaultHasher::new();
        object.metadata.uid.hash(&mut hasher);
        object.metadata.generation.hash(&mut hasher);
        for key in [keys::OPERATION, keys::ROTATE_TOKEN] {
            object.annotations().get(key).hash(&mut hasher);
        }
        hasher.finish()
    }

    fn order(&self) -> Order {
        Order::Related
    }
}
