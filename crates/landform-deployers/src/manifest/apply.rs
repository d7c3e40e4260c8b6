//! Brings the objects of an item to its target: look at all, decide, note, then write what differs.
//!
//! 1. Every object is read and judged (`ownership`). If one is somebody else's, nothing is written at all.
//! 2. What is about to be made is noted in the inventory.
//! 3. Objects are written in the order of `plan`; definitions are waited for. Uids are noted.
//! 4. What was made before and is wanted no more is removed.
//!
//! A crash anywhere is repaired by doing it again: what was created carries the item's mark.

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::core::DynamicObject;
use landform_engine::{Change, Right};
use serde_json::json;

use super::change::{self, Item};
use super::cluster::Cluster;
use super::configuration::{Configuration, Policy, Strategy};
use super::inventory::{Entry, Inventory};
use super::object::{ObjectName, Rank};
use super::ownership::{ANNOTATION_ADOPT, Verdict, standing, verdict};
use super::plan::{self, Wanted};
use super::readiness;
use super::removal;
use super::settled;
use crate::DeployError;

/// So many objects are read at once.
const READS_AT_ONCE: usize = 8;
/// So often an object is read again because somebody else wrote it meanwhile.
const ATTEMPTS: usize = 5;
/// A definition that isn't established within this time never will be.
const ESTABLISH_TIMEOUT: Duration = Duration::from_secs(60);

/// What was brought to the target.
pub(super) struct Applied {
    pub(super) inventory: Inventory,
    /// The objects of the manifests, those that were left alone too.
    pub(super) wanted: Vec<Wanted>,
}

impl Applied {
    /// The objects that are this item's.
    pub(super) fn managed(&self) -> Vec<&Wanted> {
        let wanted = self.wanted.iter();
        wanted
            .filter(|wanted| self.inventory.find(&wanted.name).is_some())
            .collect()
    }
}

/// Brings everything to the target.
pub(super) async fn apply(
    cluster: &Cluster<'_>,
    configuration: &Configuration,
) -> Result<Applied, DeployError> {
    let job = cluster.job;
    let (_, name) = job.name();
    let item = Item {
        name,
        uid: job.uid(),
    };
    let mut inventory = Inventory::read(job.remembered().await.as_ref());
    stay_at_target(cluster, &mut inventory)?;
    let wanted = plan::plan(cluster, &configuration.manifests, item).await?;
    require_rights(cluster, configuration, &wanted).await?;
    let judged = judge(cluster, &wanted, &inventory).await?;
    refuse_foreign(cluster, &judged)?;
    let orphans = note(&mut inventory, &judged);
    job.remember(&inventory.write()).await?;
    let written = write_all(cluster, configuration, &judged, &mut inventory).await;
    // What was created is noted even when something else failed.
    let noted = job.remember(&inventory.write()).await;
    written.and(noted)?;
    removal::remove_all(cluster, &orphans, configuration.delete_timeout).await?;
    for orphan in &orphans {
        inventory.forget(&orphan.object);
    }
    job.remember(&inventory.write()).await?;
    Ok(Applied { inventory, wanted })
}

/// In Landform itself the item's actor must have the rights to all objects: what is missing is told at once, and
/// nothing is written (C6).
async fn require_rights(
    cluster: &Cluster<'_>,
    configuration: &Configuration,
    wanted: &[Wanted],
) -> Result<(), DeployError> {
    if !cluster.here || cluster.job.acts_freely() {
        return Ok(());
    }
    let rights = wanted
        .iter()
        .filter(|wanted| wanted.policy != Policy::Ignore)
        .flat_map(|wanted| {
            let (resource, object) = (&wanted.place.resource, &wanted.name);
            let namespace = object.namespace.as_deref().unwrap_or_default();
            // Who creates doesn't name the object yet.
            [
                ("get", &*object.name),
                ("create", ""),
                ("patch", &*object.name),
            ]
            .map(|(verb, name)| {
                Right::new(verb, &resource.group, &resource.plural, namespace, name)
            })
        });
    let mut rights: Vec<_> = rights.collect();
    let checks = configuration.readiness.custom.iter();
    let exports = configuration.exports.iter();
    let read = checks.clone().flat_map(|check| &check.objects);
    for object in read.chain(exports.filter_map(|export| export.from.as_ref())) {
        rights.extend(rights_to_read(cluster, object).await?);
    }
    for selector in checks.filter_map(|check| check.labels.as_ref()) {
        if let Some(place) = cluster.place(&selector.api_version, &selector.kind).await? {
            let (group, plural) = (&place.resource.group, &place.resource.plural);
            let verbs = ["list", "watch"].into_iter();
            rights.extend(verbs.map(|verb| Right::new(verb, group, plural, "", "")));
        }
    }
    cluster.job.require(rights).await
}

/// The rights to wait for an object; none for a kind that isn't served.
async fn rights_to_read(
    cluster: &Cluster<'_>,
    object: &ObjectName,
) -> Result<Vec<Right>, DeployError> {
    let Some(place) = cluster.place(&object.api_version, &object.kind).await? else {
        return Ok(Vec::new());
    };
    let namespace = object.namespace.as_deref().unwrap_or(&cluster.namespace);
    let namespace = if place.namespaced { namespace } else { "" };
    let (group, plural) = (&place.resource.group, &place.resource.plural);
    let verbs = ["get", "list", "watch"].into_iter();
    let rights = verbs.map(|verb| Right::new(verb, group, plural, namespace, &object.name));
    Ok(rights.collect())
}

/// An item can't move: nobody would remove what is at the former target.
fn stay_at_target(cluster: &Cluster<'_>, inventory: &mut Inventory) -> Result<(), DeployError> {
    let former = inventory.target.replace(cluster.target.clone());
    let former = former.filter(|former| *former != cluster.target && !inventory.entries.is_empty());
    let Some(former) = former else {
        return Ok(());
    };
    let message = format!(
        "its objects are at the target {former}, and spec.target is {}: set it back, or delete the \
         item and create it anew",
        cluster.target
    );
    Err(DeployError::configuration("TargetChanged", message))
}

/// An object, how it is, and what to do about it.
struct Judged<'a> {
    wanted: &'a Wanted,
    live: Option<DynamicObject>,
    verdict: Verdict,
}

async fn judge<'w>(
    cluster: &Cluster<'_>,
    wanted: &'w [Wanted],
    inventory: &Inventory,
) -> Result<Vec<Judged<'w>>, DeployError> {
    // Collected first: the compiler can't see that a closure in a stream fits all lifetimes.
    let reads: Vec<_> = wanted
        .iter()
        .map(|wanted| judge_one(cluster, wanted, inventory))
        .collect();
    let reads = stream::iter(reads).buffered(READS_AT_ONCE);
    reads.try_collect().await
}

async fn judge_one<'w>(
    cluster: &Cluster<'_>,
    wanted: &'w Wanted,
    inventory: &Inventory,
) -> Result<Judged<'w>, DeployError> {
    let live = cluster.get(&wanted.place, &wanted.name).await?;
    let recorded = inventory.find(&wanted.name);
    let recorded_uid = recorded.and_then(|entry| entry.uid.as_deref());
    let standing = standing(
        live.as_ref(),
        recorded_uid,
        cluster.job.uid(),
        wanted.family.as_deref(),
    );
    let verdict = verdict(wanted.policy, standing, wanted.adopt);
    Ok(Judged {
        wanted,
        live,
        verdict,
    })
}

fn refuse_foreign(cluster: &Cluster<'_>, judged: &[Judged<'_>]) -> Result<(), DeployError> {
    let foreign = judged.iter().filter_map(|judged| match &judged.verdict {
        Verdict::Refuse(whose) => Some(format!("{} ({whose})", judged.wanted.name)),
        Verdict::Create | Verdict::Update | Verdict::Leave | Verdict::LetGo => None,
    });
    let foreign: Vec<_> = foreign.collect();
    if foreign.is_empty() {
        return Ok(());
    }
    let message = format!(
        "target {}: exists already and isn't this item's: {}. Nothing was written. Give the manifest \
         the annotation {ANNOTATION_ADOPT}: \"true\" to take the object over, or the policy fallback \
         or ignore to leave it as it is",
        cluster.target,
        foreign.join(", ")
    );
    Err(DeployError::configuration("ForeignObject", message))
}

/// Notes what is about to be made; returns what was made before and is wanted no more.
fn note(inventory: &mut Inventory, judged: &[Judged<'_>]) -> Vec<Entry> {
    let mut orphans = std::mem::take(&mut inventory.entries);
    for judged in judged {
        let name = &judged.wanted.name;
        orphans.retain(|entry| !entry.object.same_object(name));
        match &judged.verdict {
            Verdict::Create | Verdict::Update | Verdict::Leave => inventory.put(Entry {
                policy: judged.wanted.policy,
                object: name.clone(),
                uid: judged
                    .live
                    .as_ref()
                    .and_then(|live| live.metadata.uid.clone()),
            }),
            // Somebody else's, or nobody's business any more: it stays where it is.
            Verdict::LetGo | Verdict::Refuse(_) => {}
        }
    }
    for orphan in &orphans {
        inventory.put(orphan.clone());
    }
    orphans
}

async fn write_all(
    cluster: &Cluster<'_>,
    configuration: &Configuration,
    judged: &[Judged<'_>],
    inventory: &mut Inventory,
) -> Result<(), DeployError> {
    let (definitions, others): (Vec<_>, Vec<_>) = judged
        .iter()
        .partition(|judged| judged.wanted.name.rank() == Rank::Definition);
    for judged in &definitions {
        write(cluster, configuration, judged, inventory).await?;
    }
    for judged in &definitions {
        if judged.verdict != Verdict::LetGo {
            established(cluster, judged.wanted).await?;
        }
    }
    for judged in &others {
        write(cluster, configuration, judged, inventory).await?;
    }
    Ok(())
}

async fn established(cluster: &Cluster<'_>, wanted: &Wanted) -> Result<(), DeployError> {
    let late = readiness::ready(cluster, wanted, ESTABLISH_TIMEOUT).await?;
    match late.first() {
        None => Ok(()),
        Some(late) => {
            let message = format!("target {}: {late}", cluster.target);
            Err(DeployError::not_ready(message))
        }
    }
}

/// Writes one object and notes its uid.
async fn write(
    cluster: &Cluster<'_>,
    configuration: &Configuration,
    judged: &Judged<'_>,
    inventory: &mut Inventory,
) -> Result<(), DeployError> {
    let wanted = judged.wanted;
    let mut verdict_now = judged.verdict.clone();
    let mut live = judged.live.clone();
    for _ in 0..ATTEMPTS {
        let written = match (&verdict_now, &live) {
            (Verdict::LetGo, _) => return Ok(()),
            (Verdict::Refuse(_), _) => {
                // It came between the first look and now, and is noted without a uid: not ours.
                inventory.forget(&wanted.name);
                let judged = Judged {
                    wanted,
                    live,
                    verdict: verdict_now,
                };
                return refuse_foreign(cluster, &[judged]);
            }
            (Verdict::Leave, Some(live)) => Some(live.clone()),
            (Verdict::Update, Some(found)) if found.metadata.deletion_timestamp.is_some() => {
                let uid = found.metadata.uid.as_deref().unwrap_or_default();
                let timeout = configuration.delete_timeout;
                removal::wait_until_gone(cluster, &wanted.place, &wanted.name, uid, timeout)
                    .await?;
                None
            }
            (Verdict::Update, Some(found)) => {
                update(cluster, configuration.strategy, wanted, found).await?
            }
            (Verdict::Create | Verdict::Update | Verdict::Leave, _) => {
                let body = change::creation(&wanted.value);
                cluster.create(&wanted.place, &wanted.name, &body).await?
            }
        };
        if let Some(written) = written {
            inventory.put(Entry {
                policy: wanted.policy,
                object: wanted.name.clone(),
                uid: written.metadata.uid,
            });
            return Ok(());
        }
        // Somebody wrote meanwhile, or it went.
        let again = judge_one(cluster, wanted, inventory).await?;
        (live, verdict_now) = (again.live, again.verdict);
        if live.is_none() {
            // What is created next has another uid; until that is known, only its mark tells.
            inventory.put(Entry {
                policy: wanted.policy,
                object: wanted.name.clone(),
                uid: None,
            });
            cluster.job.remember(&inventory.write()).await?;
        }
    }
    let message = format!(
        "target {}: {} is written by somebody else all the time",
        cluster.target, wanted.name
    );
    Err(DeployError::transient("Update", "Conflict", message))
}

/// Writes what differs; none when somebody wrote meanwhile.
async fn update(
    cluster: &Cluster<'_>,
    strategy: Strategy,
    wanted: &Wanted,
    found: &DynamicObject,
) -> Result<Option<DynamicObject>, DeployError> {
    let value = serde_json::to_value(found).unwrap_or_default();
    let foreign = match strategy {
        Strategy::Update | Strategy::Patch => cluster.here && cluster.job.is_foreign(&value),
        // These are asked for because fields of others stay; the API notes both writers.
        Strategy::Merge | Strategy::MergeOverwrite => false,
    };
    let state = change::without_requests(&wanted.value);
    let merge = change::change(strategy, &state, &value);
    let Some(change) = Change::new(merge, &state, &value, foreign) else {
        return Ok(Some(found.clone()));
    };
    let Change { mut patch, whole } = change;
    let uid = found.metadata.uid.as_deref().unwrap_or_default();
    let fingerprint = settled::fingerprint(&patch, &value);
    if cluster.settled.contains(uid, fingerprint) {
        return Ok(Some(found.clone()));
    }
    // It must still be the object that was looked at.
    patch["metadata"]["uid"] = json!(found.metadata.uid);
    match strategy {
        Strategy::Patch => {}
        Strategy::Update | Strategy::Merge | Strategy::MergeOverwrite => {
            patch["metadata"]["resourceVersion"] = json!(found.metadata.resource_version);
        }
    }
    let change = Change { patch, whole };
    let written = cluster.patch(&wanted.place, &wanted.name, &change).await?;
    let version = |object: &DynamicObject| object.metadata.resource_version.clone();
    if written
        .as_ref()
        .is_some_and(|written| version(written) == version(found))
    {
        cluster.settled.put(uid, fingerprint);
    }
    Ok(written)
}
