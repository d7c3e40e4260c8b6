//! Reads what the decision about an execution may see.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::ResourceExt as _;
use kube::core::{DynamicObject, ObjectMeta};
use landform_api::landscaper::report::ObjectName;
use landform_api::landscaper::{
    DeployItem, Execution, ExecutionStatus, InstallationPhase, Operation, keys, names,
};
use landform_decide::execution::{Item, Observed, Stored, Wanted};
use landform_engine::{Context, Failure};

use crate::landscape::facts::{self, Facts, GivenKind};
use crate::landscape::index::Index;
use crate::landscape::objects::{Objects, is_owned_by, labelled};

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
    exports_lost: bool,
    /// Whether an installation above it says that what was deployed is to stay.
    bare: bool,
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
            // Labels and owner references can be changed by others, and are put right.
            let ours = is_owned_by(&object.metadata, metadata.uid.as_deref())
                || context.is_part(&object) == Some(true);
            let mut of_spec = execution.spec.deploy_items.iter();
            let item = of_spec.find(|item| item_object(&metadata, &item.name) == object.name_any());
            let name = item.map(|item| item.name.as_str());
            let name = name.or_else(|| labelled(&object, keys::ITEM_NAME));
            let name = name.map(str::to_owned);
            if let Some(name) = name.filter(|_| ours) {
                let item = serde_json::from_value(object.data.clone()).unwrap_or_default();
                items.insert(name, (object, item));
            }
        }
        let installation = crate::landscape::objects::owning_installation(&metadata);
        let bare = index.is_bare(&namespace, installation.unwrap_or(&own));
        let owner = Self::owner(&metadata, &objects).await?;
        let exports_lost = match exports_of(&own, &execution) {
            Some(exports) if index.drift(&namespace, [&exports]).is_some() => {
                let found = objects.get("DataObject", &exports.name).await?;
                !found.is_some_and(|found| facts::is_intact(GivenKind::Data, &found))
            }
            Some(exports) => !is_recorded(&execution, &exports),
            None => false,
        };
        Ok(Self {
            exports_lost,
            bare,
            metadata,
            execution,
            items,
            objects,
            owner,
        })
    }

    /// Read now: that the execution is marked may be known here before it is known that its owner is.
    async fn owner(
        metadata: &ObjectMeta,
        objects: &Objects,
    ) -> Result<Option<(String, Option<InstallationPhase>)>, Failure> {
        let name = crate::landscape::objects::owning_installation(metadata);
        let marked = metadata.deletion_timestamp.is_some();
        let Some(name) = name.filter(|_| marked) else {
            return Ok(None);
        };
        let found = objects.get("Installation", name).await?;
        let facts = found.map(|found| Facts::of(&found));
        let facts = facts.filter(|facts| facts.marked);
        Ok(facts.map(|facts| (name.to_owned(), facts.phase_for_nested())))
    }

    pub(super) fn observed(&self) -> Observed {
        let items = self.items.iter().map(|(name, (object, _))| Item {
            name: name.clone(),
            is_whole: self.is_whole(name, object),
            ..facts::item(object)
        });
        let seen = observed(&self.metadata, &self.execution, items.collect());
        let holds = |phase: Option<InstallationPhase>| phase != Some(InstallationPhase::Deleting);
        let owner = self.owner.as_ref().filter(|(_, phase)| holds(*phase));
        Observed {
            owner_holds: owner.map(|(name, _)| name.clone()),
            exports_lost: self.exports_lost,
            bare: seen.bare || self.bare,
            ..seen
        }
    }

    /// Whether an item says whose it is and what it depends on, as it was written.
    fn is_whole(&self, name: &str, item: &DynamicObject) -> bool {
        let own = self.metadata.name.as_deref();
        labelled(item, keys::MANAGED_BY) == own
            && labelled(item, keys::ITEM_NAME) == Some(name)
            && is_owned_by(&item.metadata, self.metadata.uid.as_deref())
    }
}

/// Where an execution of this name has collected what its items export, if they export something.
pub(super) fn exports_of(own: &str, execution: &Execution) -> Option<ObjectName> {
    execution.status.export_ref.as_ref()?;
    Some(ObjectName {
        kind: "DataObject".into(),
        name: names::data_name(Some(&names::execution_context(own)), ""),
        ..ObjectName::default()
    })
}

/// Whether its status names that place: one that was renamed has collected them under its former name, which another may have by now.
pub(super) fn is_recorded(execution: &Execution, exports: &ObjectName) -> bool {
    let recorded = execution.status.export_ref.as_ref();
    recorded.is_some_and(|recorded| recorded.name == exports.name)
}

/// What the decision may see of an execution and its items, apart from its owner.
pub(super) fn observed(metadata: &ObjectMeta, execution: &Execution, items: Vec<Item>) -> Observed {
    let (spec, status) = (&execution.spec, &execution.status);
    let annotations = metadata.annotations.as_ref();
    let annotation = |key| annotations.and_then(|all| all.get(key)).map(String::as_str);
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    let generation = metadata.generation.unwrap_or_default();
    let error = status.last_error.as_ref();
    let stopped = error.is_some_and(super::act::tells_a_stop);
    let wanted = spec.deploy_items.iter().map(|item| Wanted {
        name: item.name.clone(),
        depends_on: item.depends_on.clone(),
    });
    Observed {
        generation,
        observed_generation: status.observed_generation,
        phase: status.phase,
        marked: metadata.deletion_timestamp.is_some(),
        held: finalizers.iter().any(|name| name == keys::FINALIZER),
        operation: annotation(keys::OPERATION).and_then(Operation::parse),
        ignore: annotation(keys::IGNORE) == Some(keys::TRUE),
        bare: annotation(keys::DELETE_WITHOUT_UNINSTALL) == Some(keys::TRUE),
        stopped: stopped && status.observed_generation == Some(generation),
        owner_holds: None,
        exports_lost: false,
        wanted: wanted.collect(),
        items: items
            .into_iter()
            .map(|item| with_stored(item, status))
            .collect(),
    }
}

/// An item with what the execution knows of its last update.
pub(super) fn with_stored(mut item: Item, status: &ExecutionStatus) -> Item {
    let of_execution = status
        .exec_generations
        .iter()
        .find(|found| found.name == item.name);
    let of_item = status
        .deploy_item_refs
        .iter()
        .find(|found| found.name == item.name);
    item.stored = of_execution.zip(of_item).map(|(execution, item)| Stored {
        execution: execution.observed_generation,
        item: item.reference.observed_generation,
    });
    item
}

/// The name of an item in the API, the same whenever it is asked for.
pub(in crate::landscape) fn item_object(execution: &ObjectMeta, item: &str) -> String {
    let own = execution.name.as_deref().unwrap_or_default();
    let uid = execution.uid.as_deref().unwrap_or_default();
    names::generated(&format!("{own}-{item}-"), uid, item)
}
