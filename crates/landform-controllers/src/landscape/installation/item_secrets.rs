//! Configurations of deploy items with secrets in them: each in a Secret of its own, to which execution and item refer.

use std::collections::{BTreeMap, BTreeSet};

use landform_api::landscaper::execution::{DeployItemTemplate, Execution};
use landform_api::landscaper::installation::{InstallationStatus, KeyReference};
use landform_api::landscaper::names;
use landform_blueprint::GuardedItem;
use landform_engine::Context;
use serde::Deserialize as _;

use super::act::Stop;
use super::given::keeper;
use super::observe::World;
use super::update::Update;
use crate::landscape::kept;

/// Puts secret configurations into Secrets. What is left may be seen.
pub(super) async fn keep(
    update: &Update<'_>,
    items: Vec<GuardedItem>,
    status: &mut InstallationStatus,
) -> Result<Vec<DeployItemTemplate>, Stop> {
    let (context, world) = (update.context, update.world);
    let uid = world.metadata.uid.as_deref().unwrap_or_default();
    note(context, &items, uid, status).await?;
    let before: BTreeMap<String, DeployItemTemplate> = templates(world)
        .into_iter()
        .map(|template| (template.name.clone(), template))
        .collect();
    let keeper = keeper(context, world);
    let mut templates = Vec::new();
    for GuardedItem { mut item, shown } in items {
        if let Some(shown) = shown {
            let value = item.config.replace(shown).unwrap_or_default();
            let former = before.get(&item.name);
            item.config_from = former.and_then(|former| former.config_from.clone());
            let content = kept::Content {
                name: names::item_secret(&item.name, uid),
                value: &value,
                used: used(world, &item.name, former).await?,
                // The item is the work of this run's writer then, and so must be what it refers to.
                written_anew: former != Some(&item),
            };
            item.config_from = Some(keeper.keep(content).await?);
        }
        templates.push(item);
    }
    Ok(templates)
}

/// Notes Secrets before they are written, so that none is left behind.
async fn note(
    context: &Context,
    items: &[GuardedItem],
    uid: &str,
    status: &mut InstallationStatus,
) -> Result<(), Stop> {
    let secret = items.iter().filter(|found| found.shown.is_some());
    let names = secret.map(|found| names::item_secret(&found.item.name, uid));
    let mut noted: BTreeSet<String> = status.item_secrets.iter().cloned().collect();
    let count = noted.len();
    noted.extend(names);
    if noted.len() > count {
        status.item_secrets = noted.into_iter().collect();
        context.write_status(status).await?;
    }
    Ok(())
}

/// The items of the execution as it is now.
fn templates(world: &World) -> Vec<DeployItemTemplate> {
    let execution = world.execution();
    let execution = execution.and_then(|found| Execution::deserialize(&found.data).ok());
    execution.map_or_else(Vec::new, |execution| execution.spec.deploy_items)
}

/// The keys that the execution and the item itself still name: the item may have to wait for others before it changes.
async fn used(
    world: &World,
    item: &str,
    former: Option<&DeployItemTemplate>,
) -> Result<BTreeSet<String>, Stop> {
    let mut used: BTreeSet<String> = former
        .and_then(|former| former.config_from.as_ref())
        .map(|reference| reference.key.clone())
        .into_iter()
        .collect();
    if let Some(execution) = world.execution().filter(|_| former.is_some()) {
        let name = crate::landscape::execution::item_object(&execution.metadata, item);
        let found = world.objects.get("DeployItem", &name).await?;
        let reference = found.map(|found| found.data["spec"]["configFrom"].clone());
        let reference = reference.and_then(|found| KeyReference::deserialize(found).ok());
        used.extend(reference.map(|reference| reference.key));
    }
    Ok(used)
}

/// Deletes the Secrets of items that are gone, or that have no secrets any more. All items have come to an end.
pub(super) async fn tidy(
    context: &Context,
    world: &World,
    status: &mut InstallationStatus,
) -> Result<(), Stop> {
    let templates = templates(world);
    let used = |name: &String| {
        let mut references = templates
            .iter()
            .filter_map(|item| item.config_from.as_ref());
        references.any(|reference| reference.name == *name)
    };
    let keeper = keeper(context, world);
    for name in std::mem::take(&mut status.item_secrets) {
        if used(&name) {
            status.item_secrets.push(name);
        } else {
            keeper.forget(&name).await?;
        }
    }
    Ok(())
}
