//! Reads what the decision about an execution may see.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::ResourceExt as _;
use kube::core::{DynamicObject, ObjectMeta};
use landform_api::landscaper::{DeployItem, Execution, InstallationPhase, keys, names};
use landform_decide::execution::{Item, Observed, Stored, Wanted};
use landform_engine::{Context, Failure};

use crate::landscape::facts::operation_of;
use crate::landscape::index::Index;
use crate::landscape::objects::{Objects, is_owned_by};

/// So many items are read at once.
const READS_AT_ONCE: usize = 16;

/// An execution with its items, as they are now.
pub(super) struct World {
    pub(super) metadata: ObjectMeta,
    pub(super) execution: Execution,
    /// The items that exist, by their name in the execution.
    pub(super) items: BTreeMap<String, (DynamicObject, DeployItem)>,
    pub(super) objects: Objects,
    /// The phase of the installation that owns it, if that is marked for deletion.
    owner: Option<(String, Option<InstallationPhase>)>,
}

impl World {
    pub(super) async fn read(context: &Context, index: &Index) -> Result<Self, Failure> {
        let object = context.object();
        let execution: Execution = serde_json::from_value(object.data.clone())
            .map_err(|error| Failure::Invalid(format!("the execution can't be read: {error}")))?;
        let metadata = object.metadata.clone();
        let namespace = metadata.namespace.clone().unwrap_or_default();
        let objects = Objects::new(context.client(), &namespace);
        let own = object.name_any();

        let mut wanted: BTreeSet<String> = index.items(&namespace, &own);
        let refs = execution.status.deploy_item_refs.iter();
        wanted.extend(refs.map(|found| found.reference.name.clone()));
        let of_spec = execution.spec.deploy_items.iter();
        wanted.extend(of_spec.map(|item| item_object(&metadata, &item.name)));
        let reads = wanted.into_iter().map(|name| {
            let objects = objects.clone();
            async move { objects.get("DeployItem", &name).await }
        });
        let found: Vec<Option<DynamicObject>> = stream::iter(reads)
            .buffered(READS_AT_ONCE)
            .try_collect()
            .await?;
        let mut items = BTreeMap::new();
        for object in found.into_iter().flatten() {
            let ours = object.labels().get(keys::MANAGED_BY) == Some(&own)
                && is_owned_by(&object.metadata, metadata.uid.as_deref());
            let name = object.labels().get(keys::ITEM_NAME).cloned();
            if let Some(name) = name.filter(|_| ours) {
                let item = serde_json::from_value(object.data.clone()).unwrap_or_default();
                items.insert(name, (object, item));
            }
        }
        let owner = Self::owner(&metadata, index, &namespace);
        Ok(Self {
            metadata,
            execution,
            items,
            objects,
            owner,
        })
    }

    fn owner(
        metadata: &ObjectMeta,
        index: &Index,
        namespace: &str,
    ) -> Option<(String, Option<InstallationPhase>)> {
        let name = crate::landscape::objects::owning_installation(metadata)?;
        let facts = index.facts(namespace, name)?;
        facts.marked.then(|| (name.to_owned(), facts.phase))
    }

    pub(super) fn observed(&self) -> Observed {
        let (spec, status) = (&self.execution.spec, &self.execution.status);
        let annotations = self.metadata.annotations.as_ref();
        let annotation = |key| annotations.and_then(|all| all.get(key)).map(String::as_str);
        let finalizers = self.metadata.finalizers.as_deref().unwrap_or_default();
        let generation = self.metadata.generation.unwrap_or_default();
        let aborted = status
            .last_error
            .as_ref()
            .is_some_and(|error| error.reason == "Aborted");
        let holds = |phase: Option<InstallationPhase>| phase != Some(InstallationPhase::Deleting);
        Observed {
            generation,
            observed_generation: status.observed_generation,
            phase: status.phase,
            marked: self.metadata.deletion_timestamp.is_some(),
            held: finalizers.iter().any(|name| name == keys::FINALIZER),
            operation: annotation(keys::OPERATION)
                .and_then(landform_api::landscaper::Operation::parse),
            ignore: annotation(keys::IGNORE) == Some(keys::TRUE),
            aborted: aborted && status.observed_generation == Some(generation),
            owner_holds: self
                .owner
                .as_ref()
                .filter(|(_, phase)| holds(*phase))
                .map(|(name, _)| name.clone()),
            wanted: spec
                .deploy_items
                .iter()
                .map(|item| Wanted {
                    name: item.name.clone(),
                    depends_on: item.depends_on.clone(),
                })
                .collect(),
            items: self
                .items
                .iter()
                .map(|(name, (object, item))| self.item(name, object, item))
                .collect(),
        }
    }

    fn item(&self, name: &str, object: &DynamicObject, item: &DeployItem) -> Item {
        let depends_on = object.annotations().get(keys::DEPENDS_ON);
        let depends_on = depends_on.map_or("", String::as_str).split(',');
        let depends_on = depends_on.filter(|name| !name.is_empty());
        let status = &self.execution.status;
        let of_execution = status
            .exec_generations
            .iter()
            .find(|found| found.name == name);
        let of_item = status
            .deploy_item_refs
            .iter()
            .find(|found| found.name == name);
        let stored = of_execution.zip(of_item).map(|(execution, item)| Stored {
            execution: execution.observed_generation,
            item: item.reference.observed_generation,
        });
        Item {
            name: name.to_owned(),
            object: object.name_any(),
            depends_on: depends_on.map(str::to_owned).collect(),
            generation: object.metadata.generation.unwrap_or_default(),
            observed_generation: item.status.observed_generation,
            phase: item.status.phase,
            marked: object.metadata.deletion_timestamp.is_some(),
            handed_out: object.annotations().contains_key(keys::RECONCILE_TIME),
            operation: operation_of(object),
            stored,
            error: item
                .status
                .last_error
                .as_ref()
                .map(|error| error.message.clone()),
        }
    }
}

/// The name of an item in the API, the same whenever it is asked for.
pub(super) fn item_object(execution: &ObjectMeta, item: &str) -> String {
    let own = execution.name.as_deref().unwrap_or_default();
    let uid = execution.uid.as_deref().unwrap_or_default();
    names::generated(&format!("{own}-{item}-"), uid, item)
}
