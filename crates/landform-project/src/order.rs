//! What is made before what, and deleted after what. Pure.

use std::collections::BTreeSet;

use landform_api::{catalog, landscaper};
use landform_engine::hooks::reconciler_kind;
use serde_json::Value;

use crate::object::ObjectId;

/// What is made earlier and deleted later has a lower rank: others may need it.
#[must_use]
pub fn rank(id: &ObjectId) -> u8 {
    match (id.group.as_str(), id.kind.as_str()) {
        ("", "Namespace") => 0,
        DEFINITION => 1,
        ("", "ConfigMap" | "Secret" | "ServiceAccount") | ("rbac.authorization.k8s.io", _) => 2,
        (landscaper::GROUP, "Target" | "DataObject" | "Context") => 2,
        (catalog::GROUP, "Catalog") => 2,
        ("landform.dev", "Reconciler") => 2,
        _ => 3,
    }
}

const DEFINITION: (&str, &str) = ("apiextensions.k8s.io", "CustomResourceDefinition");

/// A definition of this name.
pub(crate) fn definition(name: &str) -> ObjectId {
    ObjectId {
        group: DEFINITION.0.to_owned(),
        kind: DEFINITION.1.to_owned(),
        name: name.to_owned(),
        namespace: None,
    }
}

/// Whether an object is a definition.
pub(crate) fn is_definition(id: &ObjectId) -> bool {
    (id.group.as_str(), id.kind.as_str()) == DEFINITION
}

fn is_reconciler(id: &ObjectId) -> bool {
    let kind = reconciler_kind();
    id.group == kind.group && id.kind == kind.kind
}

/// The group and the kind that a definition defines.
pub(crate) fn defined(definition: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &definition["spec"];
    (text(&spec["group"]), text(&spec["names"]["kind"]))
}

/// The order in which a project's objects are deleted. Those that its own Reconcilers reconcile go before all
/// others: what serves the hook may be any of these, and nothing tells which. Their definitions follow at once:
/// the objects of others go with these, and the hook is there for them, too.
#[derive(Debug, Default)]
pub(crate) struct Departures {
    reconciled: BTreeSet<(String, String)>,
    /// The definitions of these kinds.
    definitions: BTreeSet<ObjectId>,
}

impl Departures {
    /// The order among objects, of which some may be Reconcilers.
    pub(crate) fn of<'a>(objects: impl Iterator<Item = (&'a ObjectId, &'a Value)> + Clone) -> Self {
        let definitions = objects.clone().filter(|(id, _)| is_definition(id));
        let reconcilers = objects.filter(|(id, _)| is_reconciler(id));
        let reconciled = reconcilers.filter_map(|(_, reconciler)| {
            let of = &reconciler["spec"]["for"];
            let group = of["group"].as_str().unwrap_or_default();
            Some((group.to_owned(), of["kind"].as_str()?.to_owned()))
        });
        let reconciled: BTreeSet<_> = reconciled.collect();
        let definitions = definitions.filter(|(_, found)| reconciled.contains(&defined(found)));
        Self {
            definitions: definitions.map(|(id, _)| id.clone()).collect(),
            reconciled,
        }
    }

    /// What has a higher turn is gone before others are deleted.
    pub(crate) fn turn(&self, id: &ObjectId) -> u8 {
        if self
            .reconciled
            .contains(&(id.group.clone(), id.kind.clone()))
        {
            return u8::MAX;
        }
        if self.definitions.contains(id) {
            return u8::MAX - 1;
        }
        rank(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn id(group: &str, kind: &str) -> ObjectId {
        ObjectId {
            group: group.into(),
            kind: kind.into(),
            name: "x".into(),
            ..ObjectId::default()
        }
    }

    #[test]
    fn r15_what_a_reconciler_of_the_project_reconciles_goes_before_all_else() {
        let spec =
            json!({"spec": {"for": {"group": "example.com", "version": "v1", "kind": "Gadget"}}});
        let (reconciler, gadget) = (
            id("landform.dev", "Reconciler"),
            id("example.com", "Gadget"),
        );
        let others = [
            id(landscaper::GROUP, "Installation"),
            id("example.org", "Gadget"),
            reconciler.clone(),
            id("apiextensions.k8s.io", "CustomResourceDefinition"),
            id("", "Namespace"),
        ];
        let hooked = Departures::of([(&reconciler, &spec), (&gadget, &spec)].into_iter());
        let plain = Departures::of([(&gadget, &spec)].into_iter());
        for other in &others {
            assert!(hooked.turn(&gadget) > hooked.turn(other), "{other}");
            assert_eq!(plain.turn(other), rank(other), "{other}");
        }
        assert_eq!(plain.turn(&gadget), plain.turn(&others[0]));
        // Built-in kinds, too.
        let spec = json!({"spec": {"for": {"version": "v1", "kind": "ConfigMap"}}});
        let of_maps = Departures::of([(&reconciler, &spec)].into_iter());
        assert!(of_maps.turn(&id("", "ConfigMap")) > of_maps.turn(&others[0]));
    }
}
