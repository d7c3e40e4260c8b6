//! The children of an object: read from the API, and written as was decided.

use std::collections::BTreeSet;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{Api, DeleteParams, ListParams, PatchParams, PostParams, Preconditions};
use kube::core::{DynamicObject, TypeMeta};
use kube::{Client, ResourceExt as _};
use landform_api::GroupVersionKind;

use super::decide::{Action, Child, ChildName, LABEL_OWNER, Owner, is_owned};
use super::kinds::{Kinds, Served};
use super::protocol;
use crate::authorship::Change;
use crate::context::api_of;
use crate::reconciler::Failure;

/// So many reads are made at once.
const READS_AT_ONCE: usize = 16;
/// So many children are asked for in one request.
const PAGE: u32 = 500;

/// All children of an object, of the kinds that the API serves.
pub(crate) async fn list(
    client: &Client,
    kinds: &[(GroupVersionKind, Served)],
    owner: &Owner,
) -> Result<Vec<Child>, Failure> {
    // Collected first: the compiler can't see that a closure in a stream fits all lifetimes.
    let lists = kinds
        .iter()
        .map(|(name, served)| list_kind(client, name, served, owner));
    let lists: Vec<_> = lists.collect();
    let lists = stream::iter(lists)
        .buffered(READS_AT_ONCE)
        .try_collect::<Vec<_>>();
    Ok(lists.await?.into_iter().flatten().collect())
}

async fn list_kind(
    client: &Client,
    name: &GroupVersionKind,
    served: &Served,
    owner: &Owner,
) -> Result<Vec<Child>, Failure> {
    // The children of an object in a namespace are in the same one; those of others may be anywhere.
    let namespace = owner.namespace.as_deref().filter(|_| served.namespaced);
    let api = api_of(client.clone(), &served.resource, namespace);
    let selector = format!("{LABEL_OWNER}={}", owner.uid);
    let mut params = ListParams::default().labels(&selector).limit(PAGE);
    let mut children = Vec::new();
    loop {
        let list = match api.list(&params).await {
            Ok(list) => list,
            // The kind has gone since it was looked for, and its objects with it.
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(children),
            Err(error) => return Err(error.into()),
        };
        let next = list
            .metadata
            .continue_
            .clone()
            .filter(|token| !token.is_empty());
        children.extend(
            list.items
                .into_iter()
                .map(|object| child(name, served, object)),
        );
        match next {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    // A label can be put anywhere; who owns an object is said by its references.
    children.retain(|child| is_owned(owner, &child.value));
    Ok(children)
}

/// The objects that have the names of wanted children and aren't among the known ones.
pub(crate) async fn find(
    client: &Client,
    kinds: &Kinds,
    wanted: &[Child],
    known: &[Child],
) -> Result<Vec<Child>, Failure> {
    let known: BTreeSet<&ChildName> = known.iter().map(|child| &child.name).collect();
    let mut reads = Vec::new();
    for Child { name, .. } in wanted {
        let served = kinds.get(&name.kind);
        if let Some(served) = served.filter(|_| !known.contains(name)) {
            reads.push(get(client, name, served));
        }
    }
    let reads = stream::iter(reads)
        .buffered(READS_AT_ONCE)
        .try_collect::<Vec<_>>();
    Ok(reads.await?.into_iter().flatten().collect())
}

async fn get(client: &Client, name: &ChildName, served: &Served) -> Result<Option<Child>, Failure> {
    let object = api(client, served, name).get_opt(&name.name).await?;
    Ok(object.map(|object| child(&name.kind, served, object)))
}

/// Does one of the things that were decided.
pub(crate) async fn carry_out(
    client: &Client,
    kinds: &Kinds,
    action: &Action,
) -> Result<(), Failure> {
    let (Action::Create(Child { name, .. })
    | Action::Patch(Child { name, .. })
    | Action::Replace(Child { name, .. })
    | Action::Delete { name, .. }) = action;
    let Some(served) = kinds.get(&name.kind) else {
        return Err(Failure::Transient(format!(
            "the API doesn't know the kind {}",
            name.kind
        )));
    };
    let api = api(client, served, name);
    let done = match action {
        Action::Create(child) => create(&api, child).await,
        Action::Patch(child) => change(&api, child, false).await,
        Action::Replace(child) => change(&api, child, true).await,
        Action::Delete { uid, .. } => delete(&api, name, uid).await,
    };
    done.map_err(|error| explain(action, name, error))
}

async fn create(api: &Api<DynamicObject>, child: &Child) -> Result<(), kube::Error> {
    let object = serde_json::from_value(child.value.clone()).map_err(kube::Error::SerdeError)?;
    api.create(&PostParams::default(), &object).await.map(drop)
}

async fn change(api: &Api<DynamicObject>, child: &Child, whole: bool) -> Result<(), kube::Error> {
    let change = Change {
        patch: child.value.clone(),
        whole,
    };
    let path = api.resource_url().to_owned();
    let request = change.request(path, &child.name.name, &PatchParams::default())?;
    let changed: Result<DynamicObject, _> = api.clone().into_client().request(request).await;
    changed.map(drop)
}

async fn delete(api: &Api<DynamicObject>, name: &ChildName, uid: &str) -> Result<(), kube::Error> {
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        }),
        // The same on our own API and on a cluster's: what the child owns is left to the collector.
        ..DeleteParams::background()
    };
    match api.delete(&name.name, &params).await {
        // Somebody else was faster.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(drop),
    }
}

/// Says which child a refusal is about. What was decided on may be outdated by now; then it is decided
/// again soon.
fn explain(action: &Action, name: &ChildName, error: kube::Error) -> Failure {
    let gone = matches!(&error, kube::Error::Api(status) if status.code == 404);
    if gone && matches!(action, Action::Patch(_) | Action::Replace(_)) {
        return Failure::Conflict(format!("{name} is gone"));
    }
    let verb = match action {
        Action::Create(_) => "created",
        Action::Patch(_) | Action::Replace(_) => "changed",
        Action::Delete { .. } => "deleted",
    };
    match Failure::from(error) {
        Failure::Conflict(text) => Failure::Conflict(format!("{name}: {text}")),
        Failure::Refused(text) => Failure::Refused(format!("{name} can't be {verb}: {text}")),
        other => Failure::Transient(format!("{name} can't be {verb}: {other}")),
    }
}

fn api(client: &Client, served: &Served, name: &ChildName) -> Api<DynamicObject> {
    let namespace = name.namespace.as_deref().filter(|_| served.namespaced);
    api_of(client.clone(), &served.resource, namespace)
}

fn child(name: &GroupVersionKind, served: &Served, mut object: DynamicObject) -> Child {
    // Items of lists don't say what they are.
    object.types = Some(TypeMeta {
        api_version: served.resource.api_version.clone(),
        kind: served.resource.kind.clone(),
    });
    let name = ChildName {
        kind: name.clone(),
        namespace: object.namespace(),
        name: object.name_any(),
    };
    Child {
        name,
        value: protocol::shown(&object),
    }
}
