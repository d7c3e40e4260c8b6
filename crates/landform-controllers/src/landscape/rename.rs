//! An installation or an execution that has another name than before (R15): what leads to it by name follows.
//!
//! Names reach further than owner references, which the API changes together with the name: nested
//! installations and deploy items carry their parent's name as a label, an execution has the name of its
//! installation, and what nested installations import and export has names made from their parent's. So the execution
//! is renamed too, what nested installations import is written under the names that it has now, then their labels are
//! set and each is asked to run once more, whereupon it exports under new names. The installation has an update. What was
//! deployed isn't touched.

use std::collections::BTreeSet;

use kube::ResourceExt as _;
use kube::api::ListParams;
use kube::core::{DynamicObject, ObjectMeta};
use landform_api::keys::PREFIX_RENAMING;
use landform_api::landscaper::installation::InstallationStatus;
use landform_api::landscaper::report::ObjectName;
use landform_api::landscaper::{Operation, keys, labels, names};
use landform_engine::{Context, Failure};
use serde::Deserialize as _;

use super::content;
use super::facts::{self, GivenKind};
use super::kept::{self, Keeper};
use super::objects::{Objects, is_owned_by, labelled, owner, set_label};

/// An execution gets its name in this many steps, or not in this run.
const MOVES_MOST: usize = 20;

/// Takes over what an installation had under its former name, and says what was written for those that are nested in
/// it. It needs an update afterwards. That may fail, and nested ones must be found and find their imports nevertheless.
pub(super) async fn installation(
    context: &Context,
    former: &str,
) -> Result<Vec<ObjectName>, Failure> {
    let object = context.object();
    let (objects, uid) = (objects_of(object, context), object.uid());
    take_execution(&objects, object).await?;
    let status = InstallationStatus::deserialize(&object.data["status"]).unwrap_or_default();
    let mut written = Vec::new();
    for given in &status.context_objects {
        written.extend(carry(context, &objects, object, given).await?);
    }
    let mut all = named_by(&objects, "Installation", keys::ENCOMPASSED_BY, former).await?;
    for reference in &status.installation_refs {
        let name = &reference.reference.name;
        if !all.iter().any(|found| found.name_any() == *name) {
            all.extend(objects.get("Installation", name).await?);
        }
    }
    let own = object.name_any();
    for nested in all {
        let here = labelled(&nested, keys::ENCOMPASSED_BY) == Some(&own);
        if !here && is_owned_by(&nested.metadata, uid.as_deref()) {
            let mut wanted = nested.clone();
            set_label(&mut wanted.metadata, keys::ENCOMPASSED_BY, &own);
            ask_to_run(&mut wanted);
            objects.write("Installation", &nested, &wanted).await?;
        }
    }
    Ok(written)
}

/// Writes an object of the former context once more, where what is nested looks for it now. The former one goes with
/// the update.
async fn carry(
    run: &Context,
    objects: &Objects,
    installation: &DynamicObject,
    given: &ObjectName,
) -> Result<Option<ObjectName>, Failure> {
    let (own, uid) = (installation.name_any(), installation.uid());
    let found = objects.get(&given.kind, &given.name).await?;
    let is_ours = |found: &DynamicObject| is_owned_by(&found.metadata, uid.as_deref());
    let Some(found) = found.filter(is_ours) else {
        return Ok(None);
    };
    let context = names::installation_context(&own);
    let (Some(former), Some(key)) = (labelled(&found, keys::DATA_CONTEXT), key_of(&found)) else {
        return Ok(None);
    };
    if former == context || names::data_name(Some(former), &key) != given.name {
        return Ok(None);
    }
    let mut wanted = DynamicObject {
        metadata: ObjectMeta {
            name: Some(names::data_name(Some(&context), &key)),
            labels: found.metadata.labels.clone(),
            annotations: found.metadata.annotations.clone(),
            owner_references: found.metadata.owner_references.clone(),
            ..ObjectMeta::default()
        },
        ..found
    };
    for key in [keys::DATA_CONTEXT, keys::DATA_SOURCE] {
        set_label(&mut wanted.metadata, key, &context);
    }
    carry_secret(run, objects, installation, given, &mut wanted).await?;
    let name = ObjectName {
        kind: given.kind.clone(),
        name: wanted.name_any(),
        ..ObjectName::default()
    };
    let noting = Objects::new(run.making_parts(), objects.namespace());
    // One that is there is this installation's from before, or one that the update takes over or complains about.
    let there = match noting.create_object(&given.kind, &wanted).await? {
        Some(created) => Some(created),
        None => objects.get(&given.kind, &name.name).await?,
    };
    Ok(there.filter(is_ours).map(|_| name))
}

/// What is secret of an object is kept under its name.
async fn carry_secret(
    context: &Context,
    objects: &Objects,
    installation: &DynamicObject,
    given: &ObjectName,
    wanted: &mut DynamicObject,
) -> Result<(), Failure> {
    let Some(before) = kept::reference_of(&given.kind, wanted) else {
        return Ok(());
    };
    let uid = installation.uid().unwrap_or_default();
    let keeper = Keeper {
        context,
        objects,
        owners: owner("Installation", &installation.metadata),
    };
    if before.name != names::data_secret(&given.name, &uid) {
        return Ok(());
    }
    let Some(value) = keeper.read(&before).await? else {
        return Ok(());
    };
    let content = kept::Content {
        name: names::data_secret(&wanted.name_any(), &uid),
        value: &value,
        used: BTreeSet::from([before.key]),
        written_anew: false,
    };
    let reference = serde_json::json!(keeper.keep(content).await?);
    let (kind, field) = match given.kind.as_str() {
        "Target" => {
            wanted.data["spec"]["secretRef"] = reference;
            (GivenKind::Target, &wanted.data)
        }
        _ => {
            wanted.data["secretRef"] = reference;
            (GivenKind::Data, &wanted.data)
        }
    };
    let hash = content::hash(&facts::noted(kind, field));
    let annotations = wanted.metadata.annotations.get_or_insert_default();
    annotations.insert(keys::DATA_HASH.to_owned(), hash);
    Ok(())
}

/// The key of an object in its context.
fn key_of(given: &DynamicObject) -> Option<String> {
    let import = labelled(given, keys::DATA_KEY)?;
    let element = labelled(given, keys::DATA_INDEX);
    let element = element.or_else(|| labelled(given, keys::DATA_TARGET_MAP_KEY));
    Some(element.map_or_else(
        || import.to_owned(),
        |element| names::element_key(import, element),
    ))
}

/// An execution has the name of its installation. It is found by its owner's uid: in swaps and chains of renames
/// another installation's execution has the former name by now, or still has the new one. That one is on its
/// way too, because its installation can't have this name, and waits under a name of its own.
async fn take_execution(objects: &Objects, installation: &DynamicObject) -> Result<(), Failure> {
    let (name, uid) = (installation.name_any(), installation.uid());
    let is_ours = |found: &&DynamicObject| is_owned_by(&found.metadata, uid.as_deref());
    // The other installation does the same at this moment, and may move either of the two: look again after
    // each step, until this one has its name.
    for _ in 0..MOVES_MOST {
        let all = objects
            .api("Execution")
            .list(&ListParams::default())
            .await?;
        let living = all.items.iter().filter(is_ours);
        let ours = living.filter(|found| found.metadata.deletion_timestamp.is_none());
        let Some(ours) = ours.max_by_key(|found| found.name_any() == name) else {
            return Ok(());
        };
        if ours.name_any() == name {
            return Ok(());
        }
        let in_the_way = all.items.iter().find(|found| {
            let is_owned = found.metadata.owner_references.is_some();
            found.name_any() == name && is_owned && !is_ours(found)
        });
        match in_the_way {
            Some(other) => {
                let parked = format!("{PREFIX_RENAMING}{}", other.uid().unwrap_or_default());
                objects
                    .rename("Execution", &other.metadata, &parked)
                    .await?;
            }
            None => objects.rename("Execution", &ours.metadata, &name).await?,
        }
    }
    Err(Failure::Transient(format!(
        "the Execution of {name} can't get its name: others are renamed all the time"
    )))
}

/// Takes over the deploy items that an execution had under its former name.
pub(super) async fn execution(context: &Context, former: &str) -> Result<(), Failure> {
    let object = context.object();
    let (objects, uid) = (objects_of(object, context), object.uid());
    for item in named_by(&objects, "DeployItem", keys::MANAGED_BY, former).await? {
        if is_owned_by(&item.metadata, uid.as_deref()) {
            let mut wanted = item.clone();
            set_label(&mut wanted.metadata, keys::MANAGED_BY, &object.name_any());
            objects.write("DeployItem", &item, &wanted).await?;
        }
    }
    Ok(())
}

fn objects_of(object: &DynamicObject, context: &Context) -> Objects {
    Objects::new(context.client(), &object.namespace().unwrap_or_default())
}

/// The objects that carry a name as a label.
async fn named_by(
    objects: &Objects,
    kind: &str,
    label: &str,
    name: &str,
) -> Result<Vec<DynamicObject>, Failure> {
    let wanted = ListParams::default().labels(&format!("{label}={}", labels::value(name)));
    Ok(objects.api(kind).list(&wanted).await?.items)
}

/// What somebody asked for before stays.
pub(super) fn ask_to_run(object: &mut DynamicObject) {
    let annotations = object.metadata.annotations.get_or_insert_default();
    annotations
        .entry(keys::OPERATION.to_owned())
        .or_insert_with(|| Operation::Reconcile.as_str().to_owned());
}
