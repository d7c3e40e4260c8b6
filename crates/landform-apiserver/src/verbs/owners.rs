//! Cycles of owners are refused (G11).
//!
//! Only a write that gives an existing object a new owner can close a cycle: nobody can refer to an
//! object before it has a uid. Such a write walks up from its new owners, by uid ([`crate::uids`]), as the collector
//! does; when it meets its own object, it is refused and told the cycle. Writes that leave the owners alone pay
//! nothing.
//!
//! Two such writes could close a cycle together, each unseen by the other. So each announces its
//! edges and takes a number before it walks, and counts announced edges with a lower number as there.
//! An announcement is looked up before the store is read, and ends after the write was acknowledged:
//! an edge is in one of the two at every moment. Of the writes that make up a cycle the one with the
//! highest number sees all others. (Several servers on one store would need this in the store.)

use std::collections::{BTreeMap, BTreeSet};

use landform_api::{FieldError, FieldPath, FieldReason};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;

use super::Place;
use crate::error::Result;
use crate::object::{Object, meta};
use crate::server::ApiServer;
use crate::uids::{Reference, Stored};

/// So many owners above an object are looked at; what has more can't be given another owner.
const LOOKED_AT: usize = 100_000;

/// Edges that writes under way are about to add.
#[derive(Default)]
pub(crate) struct Announced(Mutex<Announcements>);

#[derive(Default)]
struct Announcements {
    next: u64,
    by_uid: BTreeMap<String, Vec<(u64, Vec<Reference>)>>,
}

/// One write's announcement; it ends when this is dropped.
pub(crate) struct Announcement<'a> {
    announced: &'a Announced,
    uid: String,
    number: u64,
}

impl Drop for Announcement<'_> {
    fn drop(&mut self) {
        let mut announced = self.announced.0.lock();
        if let Some(list) = announced.by_uid.get_mut(&self.uid) {
            list.retain(|(number, _)| *number != self.number);
            if list.is_empty() {
                announced.by_uid.remove(&self.uid);
            }
        }
    }
}

impl Announced {
    fn announce(&self, uid: &str, references: &[Reference]) -> Announcement<'_> {
        let mut announced = self.0.lock();
        announced.next += 1;
        let number = announced.next;
        let list = announced.by_uid.entry(uid.to_owned()).or_default();
        list.push((number, references.to_vec()));
        Announcement {
            announced: self,
            uid: uid.to_owned(),
            number,
        }
    }

    /// The owners that an object is about to get by writes with a lower number.
    fn before(&self, uid: &str, number: u64) -> Vec<Reference> {
        let announced = self.0.lock();
        let list = announced.by_uid.get(uid).into_iter().flatten();
        list.filter(|(other, _)| *other < number)
            .flat_map(|(_, references)| references.clone())
            .collect()
    }
}

/// An owner on the way up, and whence it was reached.
struct Step {
    uid: String,
    /// The namespace of what refers to it.
    namespace: String,
    /// What it is called: by the reference, or by itself once it was read.
    title: String,
    from: Option<usize>,
}

impl Step {
    fn new(reference: &Reference, namespace: &str, from: Option<usize>) -> Self {
        Self {
            uid: reference.uid.clone(),
            namespace: namespace.to_owned(),
            title: title(&reference.kind, namespace, &reference.name),
            from,
        }
    }

    /// Whether it refers to an object in this namespace: an owner is in the same one, or in none.
    fn reaches(&self, namespace: &str) -> bool {
        namespace.is_empty() || namespace == self.namespace
    }
}

impl ApiServer {
    /// Refuses a change that would make an object its own owner, directly or through others. What it
    /// returns is to be kept until the change is stored.
    pub(super) async fn refuse_owner_cycle(
        &self,
        place: &Place,
        object: &Object,
        old: &Object,
    ) -> Result<Option<Announcement<'_>>> {
        let before: BTreeSet<String> = references(old).into_iter().map(|r| r.uid).collect();
        let added: Vec<Reference> = references(object)
            .into_iter()
            .filter(|reference| !before.contains(&reference.uid))
            .collect();
        if added.is_empty() {
            return Ok(None);
        }
        let uid = meta::uid(old);
        let announcement = self.shared.announced_owners.announce(uid, &added);
        let new = |reference| Step::new(reference, &place.namespace, None);
        let mut steps: Vec<Step> = added.iter().map(new).collect();
        let mut seen = BTreeSet::new();
        let mut at = 0;
        while at < steps.len() {
            if steps[at].uid == uid && steps[at].reaches(&place.namespace) {
                return Err(refused(place, &told(place, &steps, at)));
            }
            if seen.insert(steps[at].uid.clone()) {
                if seen.len() > LOOKED_AT {
                    let why = format!(
                        "more than {LOOKED_AT} objects own this one, directly or through others: it can't be told whether this closes a cycle"
                    );
                    return Err(refused(place, &why));
                }
                self.climb(&mut steps, at, announcement.number).await?;
            }
            at += 1;
        }
        Ok(Some(announcement))
    }

    /// Adds the owners of an owner, which is looked up by its uid: it may have another name than the reference
    /// says, and what has that name may be another object.
    async fn climb(&self, steps: &mut Vec<Step>, at: usize, number: u64) -> Result<()> {
        // First what is announced, then what is stored: see above.
        let mut above = self.shared.announced_owners.before(&steps[at].uid, number);
        let mut namespace = steps[at].namespace.clone();
        if let Some((_, owner)) = self.find_uid(&steps[at].uid).await? {
            let Stored { kind, metadata, .. } = owner;
            if !steps[at].reaches(&metadata.namespace) {
                return Ok(());
            }
            steps[at].title = title(&kind, &metadata.namespace, &metadata.name);
            above.extend(metadata.owner_references);
            namespace = metadata.namespace;
        }
        let new = above
            .iter()
            .map(|owner| Step::new(owner, &namespace, Some(at)));
        steps.extend(new.collect::<Vec<_>>());
        Ok(())
    }
}

pub(super) fn references(object: &Object) -> Vec<Reference> {
    let list = meta::metadata(object).get("ownerReferences");
    list.and_then(|list| Vec::deserialize(list).ok())
        .unwrap_or_default()
}

/// The cycle that ends with this step, from the object to itself.
fn told(place: &Place, steps: &[Step], last: usize) -> String {
    let mut names = Vec::new();
    let mut at = Some(last);
    while let Some(step) = at.and_then(|at| steps.get(at)) {
        names.push(step.title.clone());
        at = step.from;
    }
    names.push(title(&place.resource.kind, &place.namespace, place.name()));
    names.reverse();
    format!(
        "this would close a cycle of owners: {}",
        names.join(" is owned by ")
    )
}

fn title(kind: &str, namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        format!("{kind} {name}")
    } else {
        format!("{kind} {namespace}/{name}")
    }
}

fn refused(place: &Place, why: &str) -> crate::error::ApiError {
    let path = FieldPath::of("metadata.ownerReferences");
    let error = FieldError::with_value(&path, FieldReason::Invalid, &json!(place.name()), why);
    place.invalid(place.name(), &[error])
}
