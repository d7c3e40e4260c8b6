//! Whether an object that is to go waits for the very item that removes it.
//!
//! Deploy items can deploy each other, the installation that they belong to, or their namespace. When all of them are
//! being deleted, each would wait for the next one for ever. The item that finds the circle closed doesn't wait: it has
//! asked for the deletion, and what it asked for goes when the item has gone. An item asks before it looks, so of those
//! that wait for each other the last one finds the others marked.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::{Api, ListParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use landform_api::landscaper::{GROUP, VERSION};

use super::cluster::Cluster;
use super::inventory::{Entry, Inventory};
use super::object::ObjectName;
use super::report;
use crate::DeployError;

/// What can wait for deploy items: items, what owns them, and the namespace that they are in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Holder {
    Uid(String),
    Namespace(String),
}

/// A deploy item that is being deleted.
#[derive(Debug)]
struct Going {
    uid: String,
    /// What goes only when it has gone.
    held: BTreeSet<Holder>,
    /// What goes before it.
    waits_for: BTreeSet<Holder>,
}

/// Whether an object of Landform itself, which was told to go, goes only after this item, which goes, too.
pub(super) async fn waits_for_us(
    cluster: &Cluster<'_>,
    object: &ObjectName,
    uid: &str,
) -> Result<bool, DeployError> {
    let of_items = object.kind == "Namespace" || object.api_version.starts_with(GROUP);
    let goes = cluster.job.metadata.deletion_timestamp.is_some();
    if !(cluster.here && goes && of_items) {
        return Ok(false);
    }
    let mut lists = Vec::new();
    for kind in ["DeployItem", "Execution", "Installation"] {
        lists.push(list(cluster, kind).await?);
    }
    let all = lists.iter().flatten();
    let owners: BTreeMap<&str, Vec<&str>> = all
        .filter_map(|object| Some((object.metadata.uid.as_deref()?, owners(object))))
        .collect();
    let items = lists.first().into_iter().flatten();
    let going: Vec<Going> = items.filter_map(|item| going(item, &owners)).collect();
    Ok(is_circle(
        &going,
        holder(object, Some(uid)),
        cluster.job.uid(),
    ))
}

/// With Landform's own rights: nothing of it is shown.
async fn list(cluster: &Cluster<'_>, kind: &str) -> Result<Vec<DynamicObject>, DeployError> {
    let name = GroupVersionKind::gvk(GROUP, VERSION, kind);
    let plural = format!("{}s", kind.to_lowercase());
    let resource = ApiResource::from_gvk_with_plural(&name, &plural);
    let api: Api<DynamicObject> = Api::all_with(cluster.job.own_client(), &resource);
    let all = ListParams::default();
    match cluster.job.or_cancelled(api.list(&all)).await? {
        Ok(listed) => Ok(listed.items),
        // A kind that isn't served holds nothing.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(report::of_target("Delete", &cluster.target, &error)),
    }
}

fn owners(object: &DynamicObject) -> Vec<&str> {
    let references = object.metadata.owner_references.iter().flatten();
    references.map(|owner| owner.uid.as_str()).collect()
}

fn holder(object: &ObjectName, uid: Option<&str>) -> Option<Holder> {
    if object.kind == "Namespace" {
        return Some(Holder::Namespace(object.name.clone()));
    }
    uid.map(|uid| Holder::Uid(uid.to_owned()))
}

fn going(item: &DynamicObject, owners: &BTreeMap<&str, Vec<&str>>) -> Option<Going> {
    item.metadata.deletion_timestamp.as_ref()?;
    let uid = item.metadata.uid.clone()?;
    let mut held = BTreeSet::new();
    let mut above = vec![uid.as_str()];
    while let Some(next) = above.pop() {
        if held.insert(Holder::Uid(next.to_owned())) {
            above.extend(owners.get(next).into_iter().flatten());
        }
    }
    let namespace = item.metadata.namespace.clone();
    held.extend(namespace.map(Holder::Namespace));
    let inventory = Inventory::read(item.data["status"].get("providerStatus"));
    let entries = inventory.entries.iter();
    let removed = entries.filter(|entry| entry.policy.deletes());
    let waits_for = removed.filter_map(|Entry { object, uid, .. }| holder(object, uid.as_deref()));
    Some(Going {
        uid,
        held,
        waits_for: waits_for.collect(),
    })
}

/// Whether what was told to go waits, in however many steps, for the item with this uid.
fn is_circle(going: &[Going], told: Option<Holder>, item: &str) -> bool {
    let mut waited_for: BTreeSet<Holder> = told.into_iter().collect();
    let mut reached = BTreeSet::new();
    loop {
        let mut next = going.iter().filter(|other| !reached.contains(&other.uid));
        let Some(next) = next.find(|other| !other.held.is_disjoint(&waited_for)) else {
            return false;
        };
        if next.uid == item {
            return true;
        }
        reached.insert(next.uid.clone());
        waited_for.extend(next.waits_for.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uids(names: &[&str]) -> BTreeSet<Holder> {
        names
            .iter()
            .map(|name| Holder::Uid((*name).to_owned()))
            .collect()
    }

    fn item(uid: &str, held: &[&str], waits_for: &[&str]) -> Going {
        let mut all = uids(held);
        all.extend(uids(&[uid]));
        Going {
            uid: uid.to_owned(),
            held: all,
            waits_for: uids(waits_for),
        }
    }

    #[test]
    fn an_object_waits_for_the_item_that_removes_it_only_in_a_circle() {
        let rows = [
            (
                "each other",
                vec![item("a", &[], &["b"]), item("b", &[], &["a"])],
                "b",
                true,
            ),
            (
                "three",
                vec![
                    item("a", &[], &["b"]),
                    item("b", &[], &["c"]),
                    item("c", &[], &["a"]),
                ],
                "b",
                true,
            ),
            (
                "its own installation",
                vec![item("a", &["root"], &["root"])],
                "root",
                true,
            ),
            (
                "installations of each other",
                vec![item("a", &["one"], &["two"]), item("b", &["two"], &["one"])],
                "two",
                true,
            ),
            (
                "a chain",
                vec![item("a", &[], &["b"]), item("b", &[], &["c"])],
                "b",
                false,
            ),
            (
                "a circle of others",
                vec![
                    item("a", &[], &["b"]),
                    item("b", &[], &["c"]),
                    item("c", &[], &["b"]),
                ],
                "b",
                false,
            ),
            (
                "one that isn't being deleted",
                vec![item("a", &[], &["b"])],
                "b",
                false,
            ),
        ];
        for (what, going, told, expected) in rows {
            let told = Some(Holder::Uid(told.to_owned()));
            assert_eq!(is_circle(&going, told, "a"), expected, "{what}");
        }
        let mut inside = item("a", &[], &[]);
        inside.held.insert(Holder::Namespace("team".to_owned()));
        let told = |name: &str| Some(Holder::Namespace(name.to_owned()));
        assert!(is_circle(&[inside], told("team"), "a"));
        assert!(!is_circle(&[item("a", &[], &[])], told("team"), "a"));
    }
}
