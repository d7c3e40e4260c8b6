//! What objects with many owners say of them, read once for the questions about all of these.
//!
//! An object with a thousand owners that are not here is a thousand questions (G12b), and each needs the reference. To read
//! and decode the object for each of them costs the square of its size. What an object of one resourceVersion says never
//! changes, so it is kept for as long as few other objects with many owners are asked about.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use landform_graph::owners::Uid;
use tokio::sync::Mutex;

/// The references of this many objects are kept.
const OBJECTS_KEPT: usize = 4;

/// An object's references by the uids of its owners.
pub(super) type ByUid = Arc<HashMap<Uid, OwnerReference>>;

/// The references of a few objects with many owners. The lock is held while one of them is read, so that questions about
/// the same object wait for the one read instead of repeating it.
#[derive(Default)]
pub(super) struct References(Mutex<VecDeque<Kept>>);

struct Kept {
    uid: Uid,
    version: String,
    by_uid: ByUid,
}

impl References {
    /// The references of an object in a version, or in a later one; `read` reads its metadata as it is now.
    pub(super) async fn of<E>(
        &self,
        uid: &Uid,
        version: &str,
        read: impl Future<Output = Result<Option<ObjectMeta>, E>>,
    ) -> Result<ByUid, E> {
        let mut kept = self.0.lock().await;
        let known = kept
            .iter()
            .find(|kept| kept.uid == *uid && kept.version == version);
        if let Some(known) = known {
            return Ok(known.by_uid.clone());
        }
        let metadata = read.await?.unwrap_or_default();
        let by_uid = by_uid(metadata.owner_references);
        if let Some(version) = metadata.resource_version {
            kept.retain(|kept| kept.uid != *uid);
            if kept.len() >= OBJECTS_KEPT {
                kept.pop_front();
            }
            kept.push_back(Kept {
                uid: uid.clone(),
                version,
                by_uid: by_uid.clone(),
            });
        }
        Ok(by_uid)
    }
}

/// The first reference to each owner.
pub(super) fn by_uid(references: Option<Vec<OwnerReference>>) -> ByUid {
    let mut by_uid = HashMap::new();
    for reference in references.into_iter().flatten() {
        by_uid.entry(Uid::new(&reference.uid)).or_insert(reference);
    }
    Arc::new(by_uid)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn metadata(version: &str, owners: usize) -> ObjectMeta {
        let reference = |index: usize| OwnerReference {
            uid: format!("owner-{index}"),
            ..OwnerReference::default()
        };
        ObjectMeta {
            resource_version: Some(version.into()),
            owner_references: Some((0..owners).map(reference).collect()),
            ..ObjectMeta::default()
        }
    }

    #[tokio::test]
    async fn g12b_an_object_with_many_owners_is_read_once_for_all_of_them() {
        let references = References::default();
        let uid = Uid::new("dependent");
        let mut reads = 0;
        for version in ["7", "7", "7", "8", "8"] {
            let read = async {
                reads += 1;
                Ok::<_, Infallible>(Some(metadata(version, 100)))
            };
            let found = references.of(&uid, version, read).await.unwrap();
            assert_eq!(found.len(), 100);
        }
        assert_eq!(reads, 2, "once for each version");
    }

    #[tokio::test]
    async fn g12b_the_references_of_few_objects_are_kept() {
        let references = References::default();
        for index in 0..10 * OBJECTS_KEPT {
            let uid = Uid::new(&format!("dependent-{index}"));
            let read = async { Ok::<_, Infallible>(Some(metadata("1", 20))) };
            references.of(&uid, "1", read).await.unwrap();
        }
        assert_eq!(references.0.lock().await.len(), OBJECTS_KEPT);
    }
}
