//! Reads each object once, and a whole namespace of a kind at once where one by one would be more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use landform_api::{GroupKind, project};
use landform_engine::custom_kinds::CustomKinds;
use serde_json::Value;

use super::judge;
use crate::object::{KindRef, ObjectRef};
use crate::reader::{ReadError, Reader};

/// After so many reads of a kind in a namespace all of them are listed.
const ONE_BY_ONE: usize = 12;
/// A list of more than this is no gain.
const LISTED: usize = 2_000;

type Place = (GroupKind, String);

pub(super) struct Cache<'a> {
    pub(super) reader: &'a dyn Reader,
    objects: BTreeMap<(Place, String), Option<Arc<Value>>>,
    reads: BTreeMap<Place, usize>,
    /// Whether all objects of a place are known; one that was listed in vain is not listed again.
    listed: BTreeMap<Place, bool>,
    custom_kinds: Option<CustomKinds>,
}

impl<'a> Cache<'a> {
    pub(super) fn new(reader: &'a dyn Reader) -> Self {
        Self {
            reader,
            objects: BTreeMap::new(),
            reads: BTreeMap::new(),
            listed: BTreeMap::new(),
            custom_kinds: None,
        }
    }

    pub(super) async fn get(
        &mut self,
        object: &ObjectRef,
    ) -> Result<Option<Arc<Value>>, ReadError> {
        let place = (object.group_kind(), object.namespace.clone());
        let key = (place.clone(), object.name.clone());
        if let Some(found) = self.objects.get(&key) {
            return Ok(found.clone());
        }
        let reads = self.reads.entry(place.clone()).or_default();
        *reads += 1;
        if *reads > ONE_BY_ONE && !self.listed.contains_key(&place) {
            let kind = self.reader.kind(object.group(), &object.kind).await?;
            self.list(&kind, &object.namespace).await?;
        }
        if let Some(found) = self.objects.get(&key) {
            return Ok(found.clone());
        }
        if self.listed.get(&place) == Some(&true) {
            return Ok(None);
        }
        let found = self.reader.get(object).await?.map(Arc::new);
        self.objects.insert(key, found.clone());
        Ok(found)
    }

    /// Whether a project is being deleted, or is gone: its files are read no more.
    pub(super) async fn is_leaving(&mut self, project: &str) -> Result<bool, ReadError> {
        let Some(name) = ObjectRef::known(project::KIND, "", project) else {
            return Ok(false);
        };
        match self.get(&name).await {
            Ok(found) => Ok(found.is_none_or(|found| judge::deleting(&found))),
            // A cluster without projects, or a caller who may not see them.
            Err(ReadError::NoSuchKind { .. } | ReadError::Forbidden(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The custom kinds, read once.
    pub(super) async fn custom_kinds(&mut self) -> &CustomKinds {
        if self.custom_kinds.is_none() {
            self.custom_kinds = Some(self.reader.custom_kinds().await);
        }
        self.custom_kinds.get_or_insert_default()
    }

    /// All objects of a kind in a namespace, as far as they are worth it.
    pub(super) async fn list(
        &mut self,
        kind: &KindRef,
        namespace: &str,
    ) -> Result<Vec<Arc<Value>>, ReadError> {
        let any = ObjectRef::new(kind, namespace, "");
        let place = (any.group_kind(), any.namespace.clone());
        if !self.listed.contains_key(&place) {
            let within = Some(namespace).filter(|namespace| !namespace.is_empty());
            let listed = self.reader.list(kind, within, None, LISTED).await?;
            for item in listed.items {
                let name = item["metadata"]["name"].as_str().unwrap_or_default();
                let key = (place.clone(), name.to_owned());
                self.objects
                    .entry(key)
                    .or_insert_with(|| Some(Arc::new(item)));
            }
            self.listed.insert(place.clone(), listed.complete);
        }
        let all = self.objects.range((place.clone(), String::new())..);
        let all = all.take_while(|((found, _), _)| *found == place);
        Ok(all.filter_map(|(_, object)| object.clone()).collect())
    }

    /// The owners of an object, from the nearest to the topmost.
    pub(super) async fn owners(&mut self, object: &Value) -> Result<Vec<Arc<Value>>, ReadError> {
        let mut owners: Vec<Arc<Value>> = Vec::new();
        let mut seen = BTreeSet::new();
        let mut next = owner(object);
        while let Some(name) = next.take() {
            if owners.len() >= ONE_BY_ONE || !seen.insert(name.clone()) {
                break;
            }
            let found = match self.get(&name).await {
                Ok(Some(found)) => found,
                // An owner of a kind that isn't served, or that the caller may not see, can't be looked at.
                Ok(None) | Err(ReadError::NoSuchKind { .. } | ReadError::Forbidden(_)) => break,
                Err(error) => return Err(error),
            };
            next = owner(&found);
            owners.push(found);
        }
        Ok(owners)
    }
}

/// The owner that controls an object, or the first one.
fn owner(object: &Value) -> Option<ObjectRef> {
    let owners = object["metadata"]["ownerReferences"].as_array()?;
    let controller = owners.iter().find(|owner| owner["controller"] == true);
    let owner = controller.or_else(|| owners.first())?;
    let text = |name: &str| owner[name].as_str().map(ToOwned::to_owned);
    Some(ObjectRef {
        api_version: text("apiVersion")?,
        kind: text("kind")?,
        namespace: object["metadata"]["namespace"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        name: text("name")?,
    })
}
