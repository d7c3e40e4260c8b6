//! What an installation imports, as installations that are nested in it find it: in its context, by key.

use std::collections::{BTreeMap, BTreeSet};

use landform_api::landscaper::installation::ImportStatus;
use landform_api::landscaper::{keys, names};
use landform_blueprint::{Blueprint, Guarded, SubinstallationTemplate, ValueKind};
use serde_json::Value;

/// An import, or one target of it, that nested installations find in the context of their parent.
pub(super) struct PassedOn<'a> {
    pub(super) kind: &'static str,
    import: &'a str,
    element: Element,
    pub(super) value: &'a Value,
    /// What may be shown of it.
    pub(super) shown: &'a Value,
}

/// Which part of an import.
enum Element {
    Whole,
    OfList(usize),
    OfMap(String),
}

impl PassedOn<'_> {
    /// Its key in the context.
    pub(super) fn key(&self) -> String {
        match &self.element {
            Element::Whole => self.import.to_owned(),
            Element::OfList(index) => names::element_key(self.import, &index.to_string()),
            Element::OfMap(key) => names::element_key(self.import, key),
        }
    }

    /// Those that say which element of which import it is.
    pub(super) fn labels(&self) -> Vec<(&'static str, String)> {
        let import = (keys::DATA_KEY, self.import.to_owned());
        match &self.element {
            Element::Whole => Vec::new(),
            Element::OfList(index) => vec![import, (keys::DATA_INDEX, index.to_string())],
            Element::OfMap(key) => vec![import, (keys::DATA_TARGET_MAP_KEY, key.to_owned())],
        }
    }
}

/// The imports as nested installations find them. The targets of a list are reached by the list's name, so
/// only those are written that a nested installation names one by one.
pub(super) fn passed_on<'a>(
    blueprint: &Blueprint,
    imports: &'a Guarded,
    nested: &[SubinstallationTemplate],
) -> Vec<PassedOn<'a>> {
    let named = named_targets(nested);
    let mut passed = Vec::new();
    let mut pass = |kind, import: &'a str, element, value: &'a Value, shown: Option<&'a Value>| {
        passed.push(PassedOn {
            kind,
            import,
            element,
            value,
            shown: shown.unwrap_or(value),
        });
    };
    for (import, value) in &imports.values {
        let shown = imports.shown(import);
        match blueprint.import(import).map(|import| &import.kind) {
            Some(ValueKind::Target { .. }) => {
                pass("Target", import, Element::Whole, value, shown);
            }
            Some(ValueKind::TargetList { .. }) => {
                for (index, target) in value.as_array().into_iter().flatten().enumerate() {
                    if named.contains(names::element_key(import, &index.to_string()).as_str()) {
                        let shown = shown.and_then(|shown| shown.get(index));
                        pass("Target", import, Element::OfList(index), target, shown);
                    }
                }
            }
            Some(ValueKind::TargetMap { .. }) => {
                for (key, target) in value.as_object().into_iter().flatten() {
                    let shown = shown.and_then(|shown| shown.get(key));
                    pass("Target", import, Element::OfMap(key.clone()), target, shown);
                }
            }
            Some(ValueKind::Data { .. }) | None => {
                pass("DataObject", import, Element::Whole, value, shown);
            }
        }
    }
    passed
}

/// The keys of all imports of an installation, as it has recorded them, in the context of what is nested in it.
pub(super) fn keys_of(imports: &[ImportStatus]) -> impl Iterator<Item = String> + '_ {
    imports.iter().flat_map(|import| {
        let element = |element: &str| names::element_key(&import.name, element);
        let map: Vec<_> = import.target_map.keys().map(|key| element(key)).collect();
        let list = (0..import.target_list.len()).map(move |at| element(&at.to_string()));
        [import.name.clone()].into_iter().chain(map).chain(list)
    })
}

/// The targets that nested installations import by name.
pub(super) fn named_targets(nested: &[SubinstallationTemplate]) -> BTreeSet<&str> {
    let imports = nested.iter().flat_map(|found| &found.imports.targets);
    let named = imports.flat_map(|import| {
        let list = import.targets.iter().flatten();
        let map = import.target_map.iter().flat_map(BTreeMap::values);
        list.chain(map).chain([&import.target])
    });
    named.map(String::as_str).collect()
}
