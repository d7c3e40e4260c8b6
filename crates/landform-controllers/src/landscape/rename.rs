//! An installation or an execution that has another name than before (R15): what leads to it by name follows.
//!
//! Names reach further than owner references, which the API changes together with the name: nested
//! installations and deploy items carry their parent's name as a label, an execution has the name of its
//! installation, and what nested installations import and export has names made from their parent's. So the execution
//! is renamed too, and the installation has an update, which writes what nested installations import under its new
//! name, then sets their labels and asks each to run once more: they do the same. What was deployed isn't touched.

use kube::ResourceExt as _;
use kube::api::ListParams;
use kube::core::DynamicObject;
use landform_api::keys::PREFIX_RENAMING;
use landform_api::landscaper::installation::InstallationStatus;
use landform_api::landscaper::{Operation, keys, labels};
use landform_engine::{Context, Failure};
use serde::Deserialize as _;

use super::objects::{Objects, is_owned_by, set_label};

/// An execution gets its name in this many steps, or not in this run.
const MOVES_MOST: usize = 20;

/// Takes over what an installation had under its former name. It needs an update afterwards.
pub(super) async fn installation(context: &Context, former: &str) -> Result<(), Failure> {
    let object = context.object();
    let (objects, uid) = (objects_of(object, context), object.uid());
    take_execution(&objects, object).await?;
    // Those that the status knows get their label from the update, after what they import is where they look for
    // it. Others were made by a run that did not come to its end.
    let status = InstallationStatus::deserialize(&object.data["status"]).unwrap_or_default();
    let refs = &status.installation_refs;
    for nested in named_by(&objects, "Installation", keys::ENCOMPASSED_BY, former).await? {
        let known = refs
            .iter()
            .any(|found| found.reference.name == nested.name_any());
        if !known && is_owned_by(&nested.metadata, uid.as_deref()) {
            let mut wanted = nested.clone();
            set_label(
                &mut wanted.metadata,
                keys::ENCOMPASSED_BY,
                &object.name_any(),
            );
            objects.write("Installation", &nested, &wanted).await?;
        }
    }
    Ok(())
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
