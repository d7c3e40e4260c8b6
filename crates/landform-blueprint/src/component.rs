//! A component descriptor that is written into an installation, as templates see it.
//!
//! Both forms are read: version 2 (`meta`, `component`) and version 3 (`metadata`, `spec`). References lead only to
//! descriptors that stand in a label of the reference: registries can't be read.

use std::sync::Arc;

use landform_template::Environment;
use serde_json::{Map, Value, json};

use crate::problem::{BlueprintError, Problem};

/// The label of a reference that holds the descriptor of what it refers to.
const NESTED_LABEL: &str = "landscaper.gardener.cloud/component-descriptor";
/// References are followed at most this deep, and at most this many in all.
const DEPTH_MAX: usize = 16;
const COMPONENTS_MAX: usize = 1_000;
const FILE: &str = "spec.componentDescriptor";

/// The component of an installation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Component {
    /// What `spec.componentDescriptor` says, for `.componentDescriptorDef`.
    definition: Value,
    /// The descriptor, for `.cd`.
    descriptor: Arc<Value>,
    /// It and all those that it refers to, for `.components`.
    all: Value,
}

impl Component {
    /// Reads what an installation's `spec.componentDescriptor` says; null is none.
    ///
    /// # Errors
    /// When what is inline is no descriptor. One that is named by a reference is an error only where a template
    /// asks for something in it: many blueprints don't.
    pub fn read(definition: &Value) -> Result<Self, BlueprintError> {
        let inline = definition.get("inline");
        let Some(descriptor) = inline.filter(|inline| !inline.is_null()) else {
            return Ok(Self {
                definition: definition.clone(),
                ..Self::default()
            });
        };
        let mut all = Vec::new();
        collect(descriptor, 0, &mut all)?;
        Ok(Self {
            definition: definition.clone(),
            descriptor: Arc::new(descriptor.clone()),
            all: json!({"meta": {"schemaVersion": "v2"}, "components": all}),
        })
    }

    /// What templates see of it.
    pub(crate) fn bindings(&self) -> Map<String, Value> {
        let bindings = [
            ("cd", &*self.descriptor),
            ("components", &self.all),
            ("componentDescriptorDef", &self.definition),
        ];
        let bindings = bindings.into_iter();
        bindings
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect()
    }

    /// The functions that look into it.
    pub(crate) fn functions(&self, environment: Environment) -> Environment {
        let own = || Arc::clone(&self.descriptor);
        let (of_resource, of_resources, of_component) = (own(), own(), own());
        environment
            .with_function("getResource", move |arguments| {
                let (descriptor, wanted) = asked(arguments, &of_resource)?;
                let found = resources(descriptor, &wanted)?;
                found.into_iter().next().ok_or_else(nothing_found)
            })
            .with_function("getResources", move |arguments| {
                let (descriptor, wanted) = asked(arguments, &of_resources)?;
                let found = resources(descriptor, &wanted)?;
                if found.is_empty() {
                    return Err(nothing_found());
                }
                Ok(Value::Array(found))
            })
            .with_function("getComponent", move |arguments| {
                let (descriptor, wanted) = asked(arguments, &of_component)?;
                let references = references(descriptor);
                let found = references.iter().find(|found| matches(found, &wanted));
                let found = found.ok_or("the component descriptor has no such reference")?;
                nested(found).cloned().ok_or_else(|| {
                    format!(
                        "the referenced component is not inline, and registries can't be read yet: add its \
                         descriptor as the label `{NESTED_LABEL}` of the reference"
                    )
                })
            })
            .with_function("getRepositoryContext", |arguments| match arguments {
                [descriptor @ Value::Object(_)] => {
                    let contexts = content(descriptor).get("repositoryContexts");
                    let contexts = contexts.and_then(Value::as_array);
                    // The last one is where the component is now.
                    let last = contexts.and_then(|contexts| contexts.last());
                    last.cloned()
                        .ok_or_else(|| "the component descriptor has no repository context".to_owned())
                }
                _ => Err("this function takes a component descriptor, such as `.cd`".to_owned()),
            })
    }
}

fn nothing_found() -> String {
    "the component descriptor has no such resource".to_owned()
}

/// What a descriptor says about its component, in either form.
fn content(descriptor: &Value) -> &Value {
    descriptor
        .get("component")
        .or_else(|| descriptor.get("spec"))
        .unwrap_or(&Value::Null)
}

fn references(descriptor: &Value) -> Vec<&Value> {
    let content = content(descriptor);
    let references = content.get("componentReferences");
    let references = references.or_else(|| content.get("references"));
    references
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .collect()
}

/// The descriptor in a label of a reference.
fn nested(reference: &Value) -> Option<&Value> {
    let labels = reference.get("labels")?.as_array()?;
    let label = labels.iter().find(|label| label["name"] == NESTED_LABEL)?;
    label.get("value")
}

/// A descriptor and all those that it refers to, each once.
fn collect(descriptor: &Value, depth: usize, all: &mut Vec<Value>) -> Result<(), BlueprintError> {
    let problem = |message: &str| Problem::new(FILE, message).field("inline");
    let name = |field: &str| {
        let old = descriptor.pointer(&format!("/component/{field}"));
        let new = descriptor.pointer(&format!("/metadata/{field}"));
        old.or(new).and_then(Value::as_str)
    };
    if name("name").is_none() || name("version").is_none() {
        let message =
            "this is no component descriptor: it needs `component.name` and `component.version`";
        return Err(problem(message).into());
    }
    if depth > DEPTH_MAX || all.len() >= COMPONENTS_MAX {
        let message = format!(
            "more than {COMPONENTS_MAX} components, or references that are deeper than {DEPTH_MAX}, are not read"
        );
        return Err(problem(&message).into());
    }
    if !all.contains(descriptor) {
        all.push(descriptor.clone());
    }
    for reference in references(descriptor) {
        if let Some(nested) = nested(reference) {
            collect(nested, depth + 1, all)?;
        }
    }
    Ok(())
}

/// What is looked for in a list, and the attributes that it must have.
type Named<'a> = (&'a Value, Vec<(&'a str, &'a str)>);

/// The descriptor and the identity that a function is asked for: `DESCRIPTOR? KEY VALUE …`.
fn asked<'a>(arguments: &'a [Value], own: &'a Value) -> Result<Named<'a>, String> {
    let (descriptor, pairs) = match arguments {
        [descriptor @ Value::Object(_), pairs @ ..] => (descriptor, pairs),
        // `.cd` of an installation without a component.
        [Value::Null, pairs @ ..] | pairs => (own, pairs),
    };
    if descriptor.is_null() {
        return Err(
            "the installation has no component descriptor that can be read: registries can't be yet, so write it \
             under spec.componentDescriptor.inline"
                .to_owned(),
        );
    }
    if pairs.is_empty() || pairs.len() % 2 != 0 {
        return Err(
            "this function takes pairs of keys and values, such as \"name\" \"image\"".to_owned(),
        );
    }
    let texts = pairs.iter().map(Value::as_str).collect::<Option<Vec<_>>>();
    let texts = texts.ok_or("keys and values of an identity have to be strings")?;
    let pairs = texts.chunks_exact(2).map(|pair| (pair[0], pair[1]));
    Ok((descriptor, pairs.collect()))
}

fn resources(descriptor: &Value, wanted: &[(&str, &str)]) -> Result<Vec<Value>, String> {
    let resources = content(descriptor).get("resources");
    let resources = resources.and_then(Value::as_array);
    let resources = resources.ok_or("the component descriptor has no resources")?;
    let found = resources.iter().filter(|found| matches(found, wanted));
    Ok(found.cloned().collect())
}

/// Whether an element has an identity: its name, its version and what `extraIdentity` adds.
fn matches(element: &Value, wanted: &[(&str, &str)]) -> bool {
    wanted.iter().all(|(key, value)| {
        let own = match *key {
            "name" | "version" => element.get(key),
            _ => element
                .get("extraIdentity")
                .and_then(|identity| identity.get(key)),
        };
        own.and_then(Value::as_str) == Some(value)
    })
}
