//! What export executors and import executors make.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::Blueprint;
use crate::execute::{Input, Rendered, Section, run};
use crate::problem::{BlueprintError, Problem};
use crate::reader::Object;

/// What export executors see: under `.values`, and each of these at the top level too.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExportValues {
    /// What deploy items export, by the item's name.
    pub deploy_items: BTreeMap<String, Value>,
    /// The data that nested installations export, by name.
    pub data_objects: BTreeMap<String, Value>,
    /// The targets that nested installations export, whole, by name.
    pub targets: BTreeMap<String, Value>,
}

fn take_map(output: &Object<'_>, name: &str, values: &mut BTreeMap<String, Value>) {
    match output.value_in_any_case(name) {
        None => {}
        Some((_, Value::Object(fields))) => {
            let fields = fields.iter();
            values.extend(fields.map(|(name, value)| (name.clone(), value.clone())));
        }
        Some((pointer, _)) => output
            .source
            .problem(&pointer, "this has to be a map from names to values"),
    }
}

/// The exports; later executors win. They are not checked against their declarations here.
pub(crate) fn render(
    blueprint: &Blueprint,
    input: &Input,
    values: &ExportValues,
) -> Result<Rendered<BTreeMap<String, Value>>, BlueprintError> {
    let mut more = Map::new();
    more.insert("deployitems".to_owned(), json!(values.deploy_items));
    more.insert("dataobjects".to_owned(), json!(values.data_objects));
    more.insert("targets".to_owned(), json!(values.targets));
    // Older templates know the same under a name of its own.
    more.insert("values".to_owned(), Value::Object(more.clone()));
    let mut exports = BTreeMap::new();
    let collected = run(blueprint, Section::Exports, input, more, |_, output, _| {
        take_map(output, "exports", &mut exports);
    })?;
    Ok(Rendered {
        value: exports,
        state: collected.state,
        warnings: collected.warnings,
    })
}

/// The imports with what import executors add. Each sees what those before it added.
pub(crate) fn import_bindings(
    blueprint: &Blueprint,
    input: &Input,
) -> Result<Rendered<BTreeMap<String, Value>>, BlueprintError> {
    let mut bindings = BTreeMap::new();
    let mut refused = Vec::new();
    let collected = run(
        blueprint,
        Section::Imports,
        input,
        Map::new(),
        |executor, output, seen| {
            take_map(output, "bindings", &mut bindings);
            seen.extend(bindings.clone());
            let errors = output.value_in_any_case("errors").map(|(_, errors)| errors);
            for error in errors.and_then(Value::as_array).into_iter().flatten() {
                // The texts are the author's, like those of `fail`.
                let text = error.as_str().unwrap_or("it gives no reason");
                let message = format!(
                    "the import executor {:?} refuses the imports: {text}",
                    executor.name
                );
                refused.push(Problem::new(crate::DEFINITION, message));
            }
        },
    )?;
    if !refused.is_empty() {
        return Err(BlueprintError { problems: refused });
    }
    Ok(Rendered {
        value: bindings,
        state: collected.state,
        warnings: collected.warnings,
    })
}
