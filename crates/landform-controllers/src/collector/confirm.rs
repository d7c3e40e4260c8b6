//! Live reads: what is really there, where the graph can't tell or isn't enough (G12, G13).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use landform_graph::owners::Uid;
use serde_json::{Value, json};

use super::act::Job;
use super::client::{self, Address, Expected, RequestError};
use super::kinds::group_of;
use super::observed::{SeenOwner, Standing};
use super::state::mark;

/// Where an owner's standing is to be found.
enum Source {
    Known(Standing),
    Read(Address),
}

/// Reads an object and those of its owners that nobody has seen; says whether there is anything to
/// decide about.
pub(super) async fn read_owners(job: &mut Job) -> Result<bool, RequestError> {
    let Some(metadata) = read_same(job).await? else {
        return Ok(false);
    };
    if metadata.deletion_timestamp.is_some() {
        return Ok(false);
    }
    let mut owners = Vec::new();
    for reference in metadata.owner_references.iter().flatten() {
        let standing = match source(job, &metadata, reference) {
            Source::Known(standing) => standing,
            Source::Read(address) => {
                let found = client::metadata(&job.shared.client, &address).await?;
                found.map_or(Standing::Gone, |owner| standing(&owner, &reference.uid))
            }
        };
        owners.push(SeenOwner {
            uid: Uid::new(&reference.uid),
            standing,
        });
    }
    let subject = &mut job.subject;
    subject.observed.owners = owners;
    subject.observed.has_finalizers = metadata.finalizers.is_some_and(|list| !list.is_empty());
    subject.expected.version = metadata.resource_version;
    Ok(true)
}

/// Removes references to owners that are gone or going.
pub(super) async fn drop_references(job: &Job, uids: &[Uid]) -> Result<(), RequestError> {
    let Some(metadata) = read_same(job).await? else {
        return Ok(());
    };
    let references = metadata.owner_references.unwrap_or_default();
    let before = references.len();
    let kept: Vec<OwnerReference> = references
        .into_iter()
        .filter(|reference| !uids.contains(&Uid::new(&reference.uid)))
        .collect();
    if kept.len() == before {
        return Ok(());
    }
    let owners = if kept.is_empty() {
        Value::Null
    } else {
        json!(kept)
    };
    let expected = Expected {
        uid: job.subject.expected.uid.clone(),
        version: metadata.resource_version,
    };
    client::set_owners(&job.shared.client, &job.subject.address, &expected, &owners).await?;
    job.shared.metrics.let_go();
    Ok(())
}

/// The object's metadata, if it is still the same object.
async fn read_same(job: &Job) -> Result<Option<ObjectMeta>, RequestError> {
    let subject = &job.subject;
    let found = client::metadata(&job.shared.client, &subject.address).await?;
    let is_same = |metadata: &ObjectMeta| {
        metadata.uid.as_deref().map(Uid::new).as_ref() == Some(&subject.expected.uid)
    };
    Ok(found.filter(is_same))
}

/// What the graph says of an owner, or where to read it.
fn source(job: &Job, dependent: &ObjectMeta, reference: &OwnerReference) -> Source {
    let state = job.shared.state.lock();
    let known = |uid: &Uid| state.graph.find(uid);
    if let (Some(node), Some(owner)) = (
        known(&job.subject.expected.uid),
        known(&Uid::new(&reference.uid)),
    ) {
        let standing = state.standing_for(node, owner);
        if standing != Standing::Unconfirmed {
            return Source::Known(standing);
        }
    }
    let group = group_of(&reference.api_version).unwrap_or_default();
    let Some(kind) = state.by_type.get(&(group, reference.kind.clone())) else {
        // Of a kind that isn't served here: nobody can say that it is gone.
        return Source::Known(Standing::Living);
    };
    let kind = &state.kind(*kind).kind;
    let namespace = dependent.namespace.as_deref().unwrap_or_default();
    if kind.namespaced && namespace.is_empty() {
        return Source::Known(Standing::Living);
    }
    Source::Read(kind.address(namespace, &reference.name))
}

/// What an owner that was read means for its dependent.
fn standing(owner: &ObjectMeta, uid: &str) -> Standing {
    if owner.uid.as_deref() != Some(uid) {
        return Standing::Gone;
    }
    if owner.deletion_timestamp.is_none() {
        return Standing::Living;
    }
    let finalizers: Vec<Box<str>> = owner
        .finalizers
        .iter()
        .flatten()
        .map(|text| text.as_str().into())
        .collect();
    mark(&finalizers).standing()
}
