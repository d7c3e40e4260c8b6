//! Which items depend on which, within their executions: an item is not taken away while one that depends on
//! it is there, whoever marked it (E10). A deletion with policy `Cascade` marks all of them at once.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::landscaper::{keys, labels};
use landform_decide::deploy_item::Dependent;
use parking_lot::RwLock;

/// A namespace and the name of an execution.
type Execution = (String, String);

/// All items by their executions. Fed by the engine in the order of changes.
#[derive(Default)]
pub(super) struct Siblings(RwLock<Maps>);

#[derive(Default)]
struct Maps {
    items: BTreeMap<Execution, BTreeMap<String, Item>>,
    executions: BTreeMap<(String, String), Execution>,
}

#[derive(Clone, PartialEq, Eq)]
struct Item {
    /// Its name within the execution.
    name: String,
    depends_on: BTreeSet<String>,
    marked: bool,
}

impl Siblings {
    pub(super) fn seen(&self, object: &DynamicObject) {
        let Some((execution, item)) = read(object) else {
            return;
        };
        let mut maps = self.0.write();
        let key = (execution.0.clone(), object.name_any());
        maps.executions.insert(key, execution.clone());
        let items = maps.items.entry(execution).or_default();
        items.insert(object.name_any(), item);
    }

    pub(super) fn gone(&self, namespace: &str, name: &str) {
        let mut maps = self.0.write();
        let key = (namespace.to_owned(), name.to_owned());
        let Some(execution) = maps.executions.remove(&key) else {
            return;
        };
        if let Some(items) = maps.items.get_mut(&execution) {
            items.remove(name);
            if items.is_empty() {
                maps.items.remove(&execution);
            }
        }
    }

    /// The items that depend on this one.
    pub(super) fn dependents(&self, object: &DynamicObject) -> Vec<Dependent> {
        let Some((execution, own)) = read(object) else {
            return Vec::new();
        };
        let maps = self.0.read();
        let items = maps.items.get(&execution).into_iter().flatten();
        items
            .filter(|(_, item)| item.depends_on.contains(&own.name))
            .map(|(object, item)| Dependent {
                name: object.clone(),
                marked: item.marked,
            })
            .collect()
    }

    /// The items that this one depends on, by their name in the API.
    pub(super) fn dependencies(&self, object: &DynamicObject) -> Vec<String> {
        let Some((execution, own)) = read(object) else {
            return Vec::new();
        };
        self.among(&execution, |item| own.depends_on.contains(&item.name))
    }

    /// The items of an execution, by their name in the API.
    pub(super) fn of(&self, execution: &DynamicObject) -> Vec<String> {
        let execution = (
            execution.namespace().unwrap_or_default(),
            execution.name_any(),
        );
        self.among(&execution, |_| true)
    }

    fn among(&self, execution: &Execution, wanted: impl Fn(&Item) -> bool) -> Vec<String> {
        let maps = self.0.read();
        let items = maps.items.get(execution).into_iter().flatten();
        items
            .filter(|(_, item)| wanted(item))
            .map(|(object, _)| object.clone())
            .collect()
    }
}

fn read(object: &DynamicObject) -> Option<(Execution, Item)> {
    let labelled = |key| labels::get(object.labels(), object.annotations(), key);
    let execution = labelled(keys::MANAGED_BY)?.to_owned();
    let name = labelled(keys::ITEM_NAME)?.to_owned();
    let depends_on = object.annotations().get(keys::DEPENDS_ON);
    let depends_on = depends_on.map_or("", String::as_str).split(',');
    let depends_on = depends_on.filter(|name| !name.is_empty());
    let item = Item {
        name,
        depends_on: depends_on.map(str::to_owned).collect(),
        marked: object.metadata.deletion_timestamp.is_some(),
    };
    let execution = (object.namespace().unwrap_or_default(), execution);
    Some((execution, item))
}
