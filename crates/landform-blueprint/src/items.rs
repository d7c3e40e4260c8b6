//! Deploy items: what deploy executors make, with their targets and their order.

use std::collections::{BTreeMap, BTreeSet};

use landform_api::duration;
use landform_api::landscaper::execution::DeployItemTemplate;
use landform_api::landscaper::installation::ObjectReference;
use serde_json::{Map, Value};

use crate::Blueprint;
use crate::definition::ValueKind;
use crate::execute::{Input, Rendered, Section, run};
use crate::problem::{BlueprintError, Problem};
use crate::reader::Object;

pub(crate) fn render(
    blueprint: &Blueprint,
    input: &Input,
) -> Result<Rendered<Vec<DeployItemTemplate>>, BlueprintError> {
    let mut items: Vec<DeployItemTemplate> = Vec::new();
    let collected = run(
        blueprint,
        Section::DeployItems,
        input,
        Map::new(),
        |_, output, _| {
            let Some((pointer, value)) = output.value_in_any_case("deployItems") else {
                return;
            };
            let Some(list) = value.as_array() else {
                output
                    .source
                    .problem(&pointer, "this has to be a list of deploy items");
                return;
            };
            for (at, value) in list.iter().enumerate() {
                let object = Object::new(output.source, format!("{pointer}/{at}"), value);
                let item = read(blueprint, input, &object);
                if item.name.contains(',') {
                    let message =
                        "a comma can't be in the name of a deploy item: commas are between names";
                    output.source.problem(&object.pointer("name"), message);
                }
                if !item.name.is_empty() && items.iter().any(|other| other.name == item.name) {
                    let message = format!(
                        "there are two deploy items {:?}: names have to differ",
                        item.name
                    );
                    output.source.problem(&object.pointer, message);
                }
                items.push(item);
            }
        },
    )?;
    check_order(&items)?;
    Ok(Rendered {
        value: items,
        state: collected.state,
        warnings: collected.warnings,
    })
}

fn read(blueprint: &Blueprint, input: &Input, object: &Object<'_>) -> DeployItemTemplate {
    let target = object.value("target").and_then(|value| {
        let target = Object::new(object.source, object.pointer("target"), value);
        let reference = target_reference(blueprint, input, &target);
        target.warn_about_others();
        reference
    });
    let mut labels = BTreeMap::new();
    for (name, value) in object.map("labels") {
        match value {
            Value::String(text) => {
                labels.insert(name, text);
            }
            _ => object.source.problem(
                &object.pointer("labels"),
                "labels have to be strings: use quotes",
            ),
        }
    }
    let name = object.required_text("name");
    let timeout = object.value("timeout").and_then(|value| {
        let text = value
            .as_str()
            .filter(|text| duration::timeout(text).is_some());
        if text.is_none() {
            let message = format!("the item {name:?}: {}", duration::TIMEOUT_EXPECTED);
            object.source.problem(&object.pointer("timeout"), message);
        }
        text.map(str::to_owned)
    });
    let item = DeployItemTemplate {
        name,
        kind: object.required_text("type"),
        target,
        labels,
        config: object.value("config").cloned(),
        config_from: None,
        depends_on: object.texts("dependsOn"),
        timeout,
        update_on_change_only: object.boolean("updateOnChangeOnly"),
    };
    object.warn_about_others();
    item
}

/// The target by the name of an import (with an index for lists, with a key for maps), or by name and
/// namespace.
fn target_reference(
    blueprint: &Blueprint,
    input: &Input,
    target: &Object<'_>,
) -> Option<ObjectReference> {
    let problem = |name: &str, message: String| {
        target.source.problem(&target.pointer(name), message);
    };
    let element = element(target).ok()?;
    let Some(import) = target.text("import") else {
        let name = target.required_text("name");
        let namespace = target.text("namespace").unwrap_or_default().to_owned();
        return (!name.is_empty()).then_some(ObjectReference { name, namespace });
    };
    let Some(definition) = blueprint.import(import) else {
        problem("import", format!("the blueprint has no import {import:?}"));
        return None;
    };
    let Some(value) = input.imports.get(import) else {
        problem("import", format!("the import {import:?} is not given"));
        return None;
    };
    match chosen(import, &definition.kind, value, &element) {
        Ok(reference) => Some(reference),
        Err((field, message)) => {
            problem(field, message);
            None
        }
    }
}

/// Which target of an import an item goes to.
enum Element {
    Only,
    At(usize),
    Of(String),
}

/// What `index` and `key` say; what is wrong with them is noted.
fn element(target: &Object<'_>) -> Result<Element, ()> {
    let problem = |name: &str, message: &str| {
        target.source.problem(&target.pointer(name), message);
    };
    let index = match target.value("index") {
        None => None,
        Some(value) => match value.as_u64().and_then(|index| usize::try_from(index).ok()) {
            Some(index) => Some(index),
            None => {
                problem("index", "this has to be a number from 0");
                return Err(());
            }
        },
    };
    let key = match target.value("key") {
        None => None,
        Some(Value::String(key)) => Some(key.clone()),
        // Keys of maps are texts, and templates write them without quotes.
        Some(Value::Number(key)) => Some(key.to_string()),
        Some(Value::Bool(key)) => Some(key.to_string()),
        Some(Value::Null | Value::Array(_) | Value::Object(_)) => {
            problem("key", "this has to be a key of the map of targets");
            return Err(());
        }
    };
    match (index, key) {
        (None, None) => Ok(Element::Only),
        (Some(index), None) => Ok(Element::At(index)),
        (None, Some(key)) => Ok(Element::Of(key)),
        (Some(_), Some(_)) => {
            problem(
                "index",
                "`index` is for lists, `key` for maps: write one of them",
            );
            Err(())
        }
    }
}

/// The target of an import's value that is chosen; else the field that is wrong, and why.
fn chosen(
    import: &str,
    kind: &ValueKind,
    value: &Value,
    element: &Element,
) -> Result<ObjectReference, (&'static str, String)> {
    let wrong = |field, what: &str| Err((field, format!("the import {import:?} is {what}")));
    let value = match (kind, element) {
        (ValueKind::Data { .. }, _) => return wrong("import", "data, and no target"),
        (ValueKind::Target { .. }, Element::Only) => Some(value),
        (ValueKind::Target { .. }, Element::At(_)) => {
            return wrong("index", "one target, and no list");
        }
        (ValueKind::Target { .. }, Element::Of(_)) => {
            return wrong("key", "one target, and no map");
        }
        (ValueKind::TargetList { .. }, Element::At(index)) => value.get(index),
        (ValueKind::TargetList { .. }, Element::Only | Element::Of(_)) => {
            return wrong("import", "a list of targets: add `index`");
        }
        (ValueKind::TargetMap { .. }, Element::Of(key)) => value.get(key),
        (ValueKind::TargetMap { .. }, Element::Only | Element::At(_)) => {
            return wrong("import", "a map of targets: add `key`");
        }
    };
    let field = |value: &Value, name: &str| {
        let text = value
            .pointer(&format!("/metadata/{name}"))
            .and_then(Value::as_str);
        text.map(str::to_owned)
    };
    let reference = value.and_then(|value| {
        Some(ObjectReference {
            name: field(value, "name")?,
            namespace: field(value, "namespace").unwrap_or_default(),
        })
    });
    reference.ok_or_else(|| {
        (
            "import",
            format!("the import {import:?} has no such target"),
        )
    })
}

/// E11: every name under `dependsOn` exists, and no item waits for itself.
fn check_order(items: &[DeployItemTemplate]) -> Result<(), BlueprintError> {
    let file = "deploy items";
    let names: BTreeSet<&str> = items.iter().map(|item| item.name.as_str()).collect();
    let mut problems = Vec::new();
    for item in items {
        for needed in item
            .depends_on
            .iter()
            .filter(|needed| !names.contains(needed.as_str()))
        {
            let message = format!(
                "the item {:?} depends on {needed:?}, which is no item",
                item.name
            );
            problems.push(Problem::new(file, message));
        }
    }
    if problems.is_empty()
        && let Some(cycle) = cycle(items)
    {
        let path = cycle.join(" → ");
        problems.push(Problem::new(
            file,
            format!("items depend on each other in a cycle: {path}"),
        ));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(BlueprintError { problems })
    }
}

/// A cycle of dependencies, with its first name again at its end.
fn cycle(items: &[DeployItemTemplate]) -> Option<Vec<&str>> {
    let mut waiting: BTreeMap<&str, &[String]> = items
        .iter()
        .map(|item| (item.name.as_str(), item.depends_on.as_slice()))
        .collect();
    // Items that wait for nobody go, until none can.
    loop {
        let free: Vec<&str> = waiting
            .iter()
            .filter(|(_, needed)| {
                !needed
                    .iter()
                    .any(|needed| waiting.contains_key(needed.as_str()))
            })
            .map(|(name, _)| *name)
            .collect();
        if free.is_empty() {
            break;
        }
        for name in free {
            waiting.remove(name);
        }
    }
    // All that is left waits for something that is left.
    let mut path: Vec<&str> = vec![waiting.keys().next()?];
    loop {
        let needed = waiting.get(path.last()?)?;
        let next = needed
            .iter()
            .find(|needed| waiting.contains_key(needed.as_str()))?;
        if let Some(start) = path.iter().position(|name| *name == next.as_str()) {
            let mut cycle = path.split_off(start);
            cycle.push(cycle[0]);
            return Some(cycle);
        }
        path.push(next);
    }
}
