//! From two states and what happened in between to the list of changes, in order.

use std::collections::{BTreeMap, BTreeSet};

use landform_api::landscaper::{keys, labels, names};
use landform_store::{Key, Revision};
use serde_json::Value;

use crate::diff::{Shown, diff};
use crate::log::{Done, Entry};
use crate::model::{Action, BlastRadius, Change, FieldChange};
use crate::objects::{Found, Objects, text};
use crate::question::{Named, Question};
use crate::record::Touched;

/// From an installation to what it imports, and on, at most so many times.
const HOPS: usize = 64;

/// What happened, and by whom it was caused.
pub(crate) struct Story<'a> {
    pub(crate) objects: &'a Objects<'a>,
    /// What somebody asked for.
    pub(crate) roots: Vec<Named>,
}

/// A change whose place in the order isn't known yet.
struct Placed {
    at: Revision,
    /// What is written comes before what deployers do at the same revision.
    rank: u8,
    change: Change,
}

impl<'a> Story<'a> {
    pub(crate) fn new(objects: &'a Objects<'a>, question: &Question) -> Self {
        let mut roots: Vec<_> = question.objects.iter().filter_map(Named::of).collect();
        roots.extend(question.delete.iter().cloned());
        for rename in &question.rename {
            roots.push(rename.object.clone());
            roots.push(Named {
                name: rename.to.clone(),
                ..rename.object.clone()
            });
        }
        Self { objects, roots }
    }

    /// All changes, in their order.
    pub(crate) fn tell(&self, touched: &BTreeMap<Key, Touched>, entries: &[Entry]) -> Vec<Change> {
        let mut placed = Vec::new();
        let moved = self.moved(touched);
        for (key, when) in touched {
            self.of_object(key, *when, &moved, &mut placed);
        }
        let mut seen = BTreeSet::new();
        for entry in entries {
            let action = match &entry.what {
                Done::Deployed(_) => Action::Deploy,
                Done::Removed => Action::Remove,
                Done::Unknown(_) | Done::Assumed(_) | Done::Hook => continue,
            };
            if !seen.insert((action, &entry.namespace, &entry.name)) {
                continue;
            }
            let found = self
                .objects
                .find(&entry.kind, &entry.namespace, &entry.name);
            let Some(found) = found else { continue };
            let mut change = self.change(action, &found, Vec::new());
            if let Done::Deployed(objects) = &entry.what {
                change.target_objects.clone_from(objects);
            }
            placed.push(Placed {
                at: entry.revision,
                rank: 1,
                change,
            });
        }
        placed.sort_by(|a, b| {
            let key = |placed: &Placed| (placed.at, placed.rank);
            key(a)
                .cmp(&key(b))
                .then_with(|| a.change.object.cmp(&b.change.object))
        });
        let changes = placed.into_iter().zip(1..);
        changes
            .map(|(placed, order)| Change {
                order,
                ..placed.change
            })
            .collect()
    }

    /// Objects that have another name than before, by uid: where they were.
    fn moved(&self, touched: &BTreeMap<Key, Touched>) -> BTreeMap<String, Key> {
        let gone = touched.keys().filter_map(|key| {
            let old = self.objects.old(key)?;
            let uid = text(&old["metadata"]["uid"]).to_owned();
            let now = self.objects.new_of(key);
            let stays = now.is_some_and(|now| now["metadata"]["uid"] == old["metadata"]["uid"]);
            (!stays).then(|| (uid, key.clone()))
        });
        let gone: BTreeMap<_, _> = gone.collect();
        let arrived = touched.keys().filter_map(|key| {
            let now = self.objects.new_of(key)?;
            let uid = text(&now["metadata"]["uid"]).to_owned();
            let from = gone.get(&uid).filter(|from| *from != key)?;
            Some((uid, from.clone()))
        });
        arrived.collect()
    }

    fn of_object(
        &self,
        key: &Key,
        when: Touched,
        moved: &BTreeMap<String, Key>,
        placed: &mut Vec<Placed>,
    ) {
        let (old, new) = (self.objects.old(key), self.objects.new_of(key));
        let uid = |value: &Option<Value>| {
            let uid = value.as_ref().map(|value| text(&value["metadata"]["uid"]));
            uid.unwrap_or_default().to_owned()
        };
        let mut push = |at: Revision, change: Change| {
            let rank = 0;
            placed.push(Placed { at, rank, change });
        };
        let found = |value: &Value| Found {
            key: key.clone(),
            value: value.clone(),
        };
        if uid(&old) == uid(&new) {
            let (Some(old), Some(new)) = (&old, &new) else {
                return;
            };
            let marked = |object: &Value| object["metadata"]["deletionTimestamp"].is_string();
            if marked(new) && !marked(old) {
                return push(
                    when.first,
                    self.change(Action::Delete, &found(new), Vec::new()),
                );
            }
            let mut fields = diff(Some(old), Some(new), self.shown(&found(new)));
            fields.extend(self.owners_moved(old, new));
            if !fields.is_empty() {
                push(when.first, self.change(Action::Change, &found(new), fields));
            }
            return;
        }
        if let Some(old) = old.as_ref().filter(|_| !moved.contains_key(&uid(&old))) {
            let at = when.gone.unwrap_or(when.first);
            push(at, self.change(Action::Delete, &found(old), Vec::new()));
        }
        if let Some(value) = &new {
            let at = when.made.unwrap_or(when.first);
            if let Some(from) = moved.get(&uid(&new)) {
                let before = self.objects.old(from).unwrap_or_default();
                let name = |value: &Value| Some(value["metadata"]["name"].clone());
                let renamed = FieldChange {
                    path: "metadata.name".to_owned(),
                    from: name(&before),
                    to: name(value),
                    hidden: false,
                };
                let mut fields = vec![renamed];
                fields.extend(diff(Some(&before), Some(value), self.shown(&found(value))));
                return push(at, self.change(Action::Rename, &found(value), fields));
            }
            let fields = match self.shown(&found(value)) {
                Shown::Values => diff(None, Some(value), Shown::Values),
                Shown::Places => Vec::new(),
            };
            push(at, self.change(Action::Create, &found(value), fields));
        }
    }

    /// Somebody else owns it now.
    fn owners_moved(&self, old: &Value, new: &Value) -> Option<FieldChange> {
        let owners = |value: &Value| {
            let owners = value["metadata"]["ownerReferences"].as_array();
            let owners = owners.into_iter().flatten();
            let names: BTreeSet<_> = owners
                .map(|owner| format!("{}/{}", text(&owner["kind"]), text(&owner["name"])))
                .collect();
            names
        };
        let (from, to) = (owners(old), owners(new));
        (from != to).then(|| FieldChange {
            path: "metadata.ownerReferences".to_owned(),
            from: Some(from.into_iter().collect()),
            to: Some(to.into_iter().collect()),
            hidden: false,
        })
    }

    fn shown(&self, found: &Found) -> Shown {
        match self.is_root(found) {
            true => Shown::Values,
            false => Shown::Places,
        }
    }

    fn is_root(&self, found: &Found) -> bool {
        let name = Named::of(&found.value);
        name.is_some_and(|name| self.roots.iter().any(|root| root.is_same(&name)))
    }

    fn change(&self, action: Action, found: &Found, diff: Vec<FieldChange>) -> Change {
        Change {
            order: 0,
            action,
            object: self.objects.view(found),
            because: self.because(found),
            diff,
            target_objects: Vec::new(),
        }
    }

    /// What somebody wrote that leads to a change of this object.
    fn because(&self, found: &Found) -> Option<String> {
        let mut seen = BTreeSet::new();
        let mut next = vec![found.clone()];
        while let Some(found) = next.pop() {
            if seen.len() >= HOPS || !seen.insert(found.key.clone()) {
                continue;
            }
            for link in self.objects.chain(&found) {
                if self.is_root(&link) {
                    return Named::of(&link.value).map(|name| name.short());
                }
                next.extend(self.imports(&link.value));
            }
        }
        match &self.roots[..] {
            [only] => Some(only.short()),
            _ => None,
        }
    }

    /// What an installation imports, as far as it exists.
    fn imports(&self, object: &Value) -> Vec<Found> {
        if object["kind"] != "Installation" {
            return Vec::new();
        }
        let metadata = &object["metadata"];
        let namespace = text(&metadata["namespace"]);
        let parent = labels::in_metadata(metadata, keys::ENCOMPASSED_BY);
        let scope = parent.map(names::installation_context);
        let list = |field: &str| object["spec"]["imports"][field].as_array();
        let mut found = Vec::new();
        for import in list("data").into_iter().flatten() {
            for (kind, name) in [
                ("DataObject", &import["dataRef"]),
                ("Secret", &import["secretRef"]["name"]),
                ("ConfigMap", &import["configMapRef"]["name"]),
            ] {
                if let Some(name) = name.as_str() {
                    let name = match kind {
                        "DataObject" => names::data_name(scope.as_deref(), name),
                        _ => name.to_owned(),
                    };
                    found.extend(self.objects.find(kind, namespace, &name));
                }
            }
        }
        for import in list("targets").into_iter().flatten() {
            let name = text(&import["target"]);
            let name = names::data_name(scope.as_deref(), name);
            found.extend(self.objects.find("Target", namespace, &name));
        }
        found
    }

    /// How far changes reach.
    pub(crate) fn reach(changes: &[Change]) -> BlastRadius {
        let mut reach = BlastRadius::default();
        let mut objects = BTreeSet::new();
        let mut items = BTreeSet::new();
        for change in changes {
            let object = &change.object;
            let name = (&object.api_version, &object.namespace, &object.path);
            match change.action {
                Action::Deploy | Action::Remove => items.insert(name),
                Action::Create | Action::Change | Action::Delete | Action::Rename => {
                    objects.insert(name)
                }
            };
            if !object.namespace.is_empty() {
                reach.namespaces.insert(object.namespace.clone());
            }
            let outermost = object.path.first();
            if let Some(name) = outermost.and_then(|path| path.strip_prefix("Installation/")) {
                let name = format!("{}/{name}", object.namespace);
                reach.installations.insert(name);
            }
        }
        reach.objects = objects.len();
        reach.items = items.len();
        reach
    }
}
