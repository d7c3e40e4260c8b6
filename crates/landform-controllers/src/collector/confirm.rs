//! Live reads: what is really there, where the graph can't tell or isn't enough (G12, G12b, G13).

use std::collections::HashSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use landform_graph::owners::Uid;
use serde_json::{Value, json};

use super::act::Job;
use super::client::{self, Address, Dependent, Expected, Lookup, RequestError};
use super::decision::Finalizer;
use super::kinds::group_of;
use super::questions::{Answer, Question};
use super::queue::Outcome;
use super::references;
use super::run::Shared;
use super::state::Health;

/// Asks whether an object exists, and takes the answer in.
pub(super) async fn settle(shared: &Shared, question: Question) -> Outcome {
    match ask(shared, &question).await {
        Ok(answer) => {
            tracing::debug!(uid = %question.uid, ?answer, "the collector asked for an object");
            let mut state = shared.state.lock();
            state.answered(&question.uid, &answer);
            match answer {
                Answer::Absent => Outcome::Settled,
                // It is here, as it was last seen.
                Answer::Exists(_) if question.address.is_some() => Outcome::Settled,
                Answer::Exists(why) | Answer::Unknown(why) => Outcome::Failed(why),
            }
        }
        Err(error) => Outcome::Failed(format!("it can't be asked for: {error}")),
    }
}

/// The server's own index of uids answers for sure. A cluster that has none is asked by name: what is there under this
/// name with another uid, or not there though its kind is served, is gone.
async fn ask(shared: &Shared, question: &Question) -> Result<Answer, RequestError> {
    match client::look_up(&shared.client, &question.uid).await? {
        Some(Lookup {
            exists: true,
            object,
            served,
        }) => Ok(Answer::Exists(format!(
            "it exists: {} {}/{}{}",
            object.kind,
            object.namespace,
            object.name,
            if served {
                ""
            } else {
                ", of a kind that is not served now"
            },
        ))),
        Some(_) if question.was_here => Ok(Answer::Absent),
        Some(_) => Ok(match named(shared, question).await? {
            Named::At(_) => Answer::Absent,
            Named::Unknown(why) => Answer::Unknown(why),
        }),
        None => ask_by_name(shared, question).await,
    }
}

async fn ask_by_name(shared: &Shared, question: &Question) -> Result<Answer, RequestError> {
    let address = match &question.address {
        Some(address) => address.clone(),
        None => match named(shared, question).await? {
            Named::At(address) => address,
            Named::Unknown(why) => return Ok(Answer::Unknown(why)),
        },
    };
    match client::metadata(&shared.client, &address).await {
        Ok(Some(found)) if is(&found, &question.uid) => {
            Ok(Answer::Exists(format!("it exists: {}", address.path)))
        }
        Ok(Some(_) | None) => Ok(Answer::Absent),
        Err(RequestError::NotServed) => Ok(Answer::Unknown(format!(
            "{} is not served now",
            address.path
        ))),
        Err(error) => Err(error),
    }
}

/// Where an owner should be.
enum Named {
    At(Address),
    Unknown(String),
}

/// Where a dependent says that its owner is.
async fn named(shared: &Shared, question: &Question) -> Result<Named, RequestError> {
    let unknown = |why: &str| Ok(Named::Unknown(why.to_owned()));
    let Some(referrer) = &question.referrer else {
        return unknown("what refers to it is of a kind that is not served now");
    };
    let read = async {
        let found = client::metadata(&shared.client, &referrer.address).await?;
        Ok::<_, RequestError>(found.filter(|found| is(found, &referrer.uid)))
    };
    let references = match &referrer.shared_version {
        Some(version) => shared.references.of(&referrer.uid, version, read).await?,
        None => references::by_uid(read.await?.and_then(|found| found.owner_references)),
    };
    let Some(reference) = references.get(&question.uid) else {
        return unknown("what referred to it has changed");
    };
    let state = shared.state.lock();
    let group = group_of(&reference.api_version).unwrap_or_default();
    let kind = state.by_type.get(&(group, reference.kind.clone()));
    let kind = kind.map(|kind| state.kind(*kind));
    match kind.filter(|kind| kind.health != Health::Gone) {
        Some(kind) if kind.kind.namespaced && referrer.namespace.is_empty() => {
            unknown("what refers to it doesn't say in which namespace it is")
        }
        Some(kind) => Ok(Named::At(
            kind.kind.address(&referrer.namespace, &reference.name),
        )),
        None => Ok(Named::Unknown(format!(
            "it may exist: its kind {} of {} is not served",
            reference.kind, reference.api_version
        ))),
    }
}

fn is(metadata: &ObjectMeta, uid: &Uid) -> bool {
    metadata.uid.as_deref().map(Uid::new).as_ref() == Some(uid)
}

/// Removes references to owners that are gone or going.
pub(super) async fn drop_references(job: &Job, uids: &[Uid]) -> Result<(), RequestError> {
    let Some(metadata) = read_same(job).await? else {
        return Ok(());
    };
    let references = metadata.owner_references.unwrap_or_default();
    let uids: HashSet<&Uid> = uids.iter().collect();
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

/// Makes sure that an object owns nothing that it waits for. Watches of different kinds are not in step: what they haven't
/// shown yet would be collected instead of staying (Orphan), or would outlive its owner for a moment.
pub(super) async fn nothing_waited_for(
    job: &Job,
    finalizer: Finalizer,
) -> Result<(), RequestError> {
    let uid = &job.subject.expected.uid;
    let owned = client::dependents(&job.shared.client, uid).await?;
    let waited_for = |dependent: &&Dependent| match finalizer {
        // Events are never followed.
        _ if dependent.is_event() => false,
        Finalizer::Cascade | Finalizer::Orphan => true,
        Finalizer::Foreground => dependent.blocks,
    };
    match owned.iter().find(waited_for) {
        Some(Dependent { place, .. }) => Err(RequestError::Conflict(format!(
            "it owns {} {}/{}, which was not seen before",
            place.kind, place.namespace, place.name
        ))),
        None => Ok(()),
    }
}

/// The object's metadata, if it is still the same object.
async fn read_same(job: &Job) -> Result<Option<ObjectMeta>, RequestError> {
    let subject = &job.subject;
    let found = client::metadata(&job.shared.client, &subject.address).await?;
    Ok(found.filter(|found| is(found, &subject.expected.uid)))
}
