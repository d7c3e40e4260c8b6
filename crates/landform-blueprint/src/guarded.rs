//! Rendering with secrets: what of a template's output depends on them.
//!
//! A template may do anything to a secret: encode it, hash it, put it into a URL. So it is rendered twice, once with
//! the real values and once with *stand-ins* in place of what is secret, and what differs between the two outputs depends
//! on a secret. `docs/adr/0031` says why, and what this doesn't see.

use std::cell::Cell;
use std::collections::BTreeMap;

use landform_api::landscaper::execution::DeployItemTemplate;
use serde_json::Value;

use crate::execute::{Input, Rendered};
use crate::hide;
use crate::problem::{BlueprintError, Problem};
use crate::secret::{Guarded, MASK, all_stand_ins, mask, mask_known, secrets_of, stand_in};
use crate::{Blueprint, ExportValues, MappingKind, SubinstallationTemplate, map_data};

/// What templates are given, with stand-ins beside it if anything in it is secret.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inputs {
    real: Input,
    twin: Option<Input>,
}

impl Inputs {
    /// The imports are completed, with what is `shown` of those that have secret parts. `rest` has neither imports nor state.
    #[must_use]
    pub fn new(
        completed: BTreeMap<String, Value>,
        shown: &BTreeMap<String, Value>,
        state: &Guarded,
        rest: Input,
    ) -> Self {
        let is_secret = !shown.is_empty() || !state.shown.is_empty();
        let twin = is_secret.then(|| {
            let imports = completed.iter().map(|(name, value)| {
                let shown = shown.get(name);
                let twin = shown.map_or_else(|| value.clone(), |shown| stand_in(value, shown));
                (name.clone(), twin)
            });
            Input {
                imports: imports.collect(),
                state: state.twin_or_same(),
                ..rest.clone()
            }
        });
        let real = Input {
            imports: completed,
            state: state.values.clone(),
            ..rest
        };
        Self { real, twin }
    }

    /// What templates are given.
    #[must_use]
    pub fn real(&self) -> &Input {
        &self.real
    }

    /// The imports with what may be shown of them.
    #[must_use]
    pub fn imports(&self) -> Guarded {
        self.guarded(|input| &input.imports)
    }

    /// The state of all executors so far, with what may be shown of it.
    #[must_use]
    pub fn state(&self) -> Guarded {
        self.guarded(|input| &input.state)
    }

    fn guarded(&self, part: impl Fn(&Input) -> &BTreeMap<String, Value>) -> Guarded {
        let real = part(&self.real).clone();
        match &self.twin {
            Some(twin) => Guarded::compared(real, Some(part(twin))),
            None => Guarded::plain(real),
        }
    }

    /// Renders once, and if anything is secret once more. What executors want to be handed back is kept.
    fn render<T>(
        &mut self,
        render: impl Fn(&Input) -> Result<Rendered<T>, BlueprintError>,
    ) -> Result<Twice<T>, BlueprintError> {
        let real = render(&self.real);
        let twin = self.twin.as_ref().map(&render);
        let (mut real, twin) = match (real, twin) {
            (Ok(real), twin) => (real, twin.map(Result::ok)),
            (Err(error), None) => return Err(error),
            (Err(error), Some(twin)) => return Err(hide::error(error, twin.err())),
        };
        if let Some(twin) = &twin {
            let twin = twin.as_ref().map(|twin| &*twin.warnings);
            real.warnings = hide::problems(real.warnings, twin);
        }
        let twin = self.twin.as_mut().zip(twin).map(|(input, twin)| {
            // Of a rendering that failed nothing is known: all that it would have kept is secret.
            let state = match &twin {
                Some(twin) => twin.state.clone(),
                None => all_stand_ins(&real.state),
            };
            input.state.extend(state);
            twin.map(|twin| twin.value)
        });
        self.real.state.extend(real.state);
        Ok(Twice {
            real: real.value,
            twin,
            warnings: real.warnings,
        })
    }

    /// The texts and numbers that are secret.
    fn secrets(&self) -> Vec<String> {
        let mut found = Vec::new();
        for part in [self.imports(), self.state()] {
            for (name, shown) in &part.shown {
                if let Some(value) = part.values.get(name) {
                    secrets_of(value, shown, &mut found);
                }
            }
        }
        found
    }
}

/// What came of a rendering, and of the second one with stand-ins, if there was one; that may have failed.
struct Twice<T> {
    real: T,
    twin: Option<Option<T>>,
    warnings: Vec<Problem>,
}

/// A deploy item with what may be shown of its configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardedItem {
    /// The item as it is to be deployed.
    pub item: DeployItemTemplate,
    /// Its configuration with masks; none when nothing in it is secret.
    pub shown: Option<Value>,
}

impl Blueprint {
    /// Runs the import executors, and adds their bindings to the imports.
    ///
    /// # Errors
    /// Like [`Blueprint::import_bindings`].
    pub fn bind(&self, inputs: &mut Inputs) -> Result<Vec<Problem>, BlueprintError> {
        let bound = inputs.render(|input| self.import_bindings(input))?;
        same_names("bindings", &bound.real, bound.twin.as_ref())?;
        if let (Some(input), Some(twin)) = (&mut inputs.twin, bound.twin) {
            let twin = twin.unwrap_or_else(|| all_stand_ins(&bound.real));
            input.imports.extend(twin);
        }
        inputs.real.imports.extend(bound.real);
        Ok(bound.warnings)
    }

    /// Runs the deploy executors, and says which parts of the items depend on secrets.
    ///
    /// # Errors
    /// Like [`Blueprint::render_deploy_items`], and when anything but a configuration depends on a secret.
    pub fn guarded_items(
        &self,
        inputs: &mut Inputs,
    ) -> Result<(Vec<GuardedItem>, Vec<Problem>), BlueprintError> {
        let rendered = inputs.render(|input| self.render_deploy_items(input))?;
        let secrets = || inputs.secrets();
        let items = match rendered.twin {
            None => rendered
                .real
                .into_iter()
                .map(|item| GuardedItem { item, shown: None })
                .collect(),
            Some(twin) => guard_items(rendered.real, twin, &secrets)?,
        };
        Ok((items, rendered.warnings))
    }

    /// Renders the nested installations. They get secrets by imports alone.
    ///
    /// # Errors
    /// Like [`Blueprint::render_subinstallations`], and when anything in them depends on a secret.
    pub fn guarded_subinstallations(
        &self,
        inputs: &mut Inputs,
    ) -> Result<(Vec<SubinstallationTemplate>, Vec<Problem>), BlueprintError> {
        let rendered = inputs.render(|input| self.render_subinstallations(input))?;
        if let Some(twin) = &rendered.twin {
            let check = Check {
                what: "nested installation",
                advice: "give it the secret as an import, under `imports.data`, and use that in its blueprint",
                secrets: inputs.secrets(),
            };
            check.lists(
                &listed(&rendered.real),
                twin.as_ref().map(|twin| listed(twin)).as_deref(),
                &[],
            )?;
        }
        Ok((rendered.real, rendered.warnings))
    }

    /// Runs the export executors.
    ///
    /// # Errors
    /// Like [`Blueprint::render_exports`].
    pub fn guarded_exports(
        &self,
        inputs: &mut Inputs,
        values: &GuardedExportValues,
    ) -> Result<(Guarded, Vec<Problem>), BlueprintError> {
        let is_secret = [&values.deploy_items, &values.data_objects, &values.targets];
        if inputs.twin.is_none() && is_secret.iter().any(|part| !part.shown.is_empty()) {
            inputs.twin = Some(inputs.real.clone());
        }
        let real = ExportValues {
            deploy_items: values.deploy_items.values.clone(),
            data_objects: values.data_objects.values.clone(),
            targets: values.targets.values.clone(),
        };
        let twin = inputs.twin.is_some().then(|| ExportValues {
            deploy_items: values.deploy_items.twin_or_same(),
            data_objects: values.data_objects.twin_or_same(),
            targets: values.targets.twin_or_same(),
        });
        let first = Cell::new(true);
        let rendered = inputs.render(|input| {
            let values = twin.as_ref().filter(|_| !first.replace(false));
            self.render_exports(input, values.unwrap_or(&real))
        })?;
        same_names("exports", &rendered.real, rendered.twin.as_ref())?;
        let mut exports = match rendered.twin {
            None => Guarded::plain(rendered.real),
            Some(twin) => Guarded::compared(rendered.real, twin.as_ref()),
        };
        for export in self
            .definition
            .exports
            .iter()
            .filter(|export| export.secret)
        {
            if exports.values.contains_key(&export.name) {
                let mask = Value::from(MASK);
                exports.shown.insert(export.name.clone(), mask);
            }
        }
        Ok((exports, rendered.warnings))
    }
}

/// What export executors see, with what may be shown of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GuardedExportValues {
    /// What deploy items export, by the item's name.
    pub deploy_items: Guarded,
    /// The data that nested installations export, by name.
    pub data_objects: Guarded,
    /// The targets that nested installations export, whole, by name.
    pub targets: Guarded,
}

/// [`map_data`] of values with secret parts.
///
/// # Errors
/// Like [`map_data`].
pub fn map_guarded(
    kind: MappingKind,
    mappings: &BTreeMap<String, Value>,
    data: &Guarded,
) -> Result<Guarded, BlueprintError> {
    let real = map_data(kind, mappings, &data.values);
    let Some(twin) = data.twin() else {
        return real.map(Guarded::plain);
    };
    let twin = map_data(kind, mappings, &twin);
    match real {
        Ok(real) => Ok(Guarded::compared(real, twin.ok().as_ref())),
        Err(error) => Err(hide::error(error, twin.err())),
    }
}

fn guard_items(
    real: Vec<DeployItemTemplate>,
    twin: Option<Vec<DeployItemTemplate>>,
    secrets: &dyn Fn() -> Vec<String>,
) -> Result<Vec<GuardedItem>, BlueprintError> {
    let check = Check {
        what: "deploy item",
        advice: "only `config` may: use something else there, or another import that comes from no Secret",
        secrets: secrets(),
    };
    let others = twin.as_ref().map(|twin| listed(twin));
    check.lists(&listed(&real), others.as_deref(), &["config"])?;
    let mut twins = twin.map(Vec::into_iter);
    let items = real.into_iter().map(|item| {
        // Of a rendering that failed nothing is known.
        let other = twins
            .as_mut()
            .map(|twins| twins.next().and_then(|twin| twin.config));
        let shown = item.config.as_ref().and_then(|config| {
            let shown = match other {
                Some(Some(other)) => mask(config, &other),
                Some(None) | None => Value::from(MASK),
            };
            (shown != *config).then_some(shown)
        });
        GuardedItem { item, shown }
    });
    Ok(items.collect())
}

/// Names are seen by all who read statuses and objects.
fn same_names(
    what: &str,
    real: &BTreeMap<String, Value>,
    twin: Option<&Option<BTreeMap<String, Value>>>,
) -> Result<(), BlueprintError> {
    let Some(Some(twin)) = twin else {
        return Ok(());
    };
    if real.keys().eq(twin.keys()) {
        return Ok(());
    }
    let message =
        format!("the names of {what} depend on a secret import, and may not: only values may");
    Err(Problem::new("secrets", message).into())
}

fn listed<T: serde::Serialize>(all: &[T]) -> Vec<Value> {
    let all = all.iter();
    all.map(|one| serde_json::to_value(one).unwrap_or_default())
        .collect()
}

/// Whether objects that a template made depend on secrets where they must not.
struct Check {
    what: &'static str,
    advice: &'static str,
    secrets: Vec<String>,
}

impl Check {
    fn lists(
        &self,
        real: &[Value],
        twin: Option<&[Value]>,
        free: &[&str],
    ) -> Result<(), BlueprintError> {
        if twin.is_some_and(|twin| twin.len() != real.len()) {
            let message = format!(
                "how many {}s there are depends on a secret import, and may not: {}",
                self.what, self.advice
            );
            return Err(Problem::new("secrets", message).into());
        }
        let mut problems = Vec::new();
        for (at, object) in real.iter().enumerate() {
            let fields = object.as_object().into_iter().flatten();
            let all = fields.clone().count();
            let twin = twin.map(|twin| &twin[at]);
            if twin.is_some_and(|twin| twin.as_object().is_none_or(|twin| twin.len() != all)) {
                problems.push(self.problem(at, None, "the set of its fields"));
                continue;
            }
            let shown = |field: &str, value: &Value| match twin {
                Some(twin) => mask(value, &twin[field]),
                None => mask_known(value, &self.secrets),
            };
            let name = &object["name"];
            let name = name.as_str().filter(|_| shown("name", name) == *name);
            for (field, value) in fields {
                let seen = shown(field, value);
                if seen == *value {
                    continue;
                }
                if !free.contains(&field.as_str()) {
                    let path = first_mask(value, &seen, field.clone());
                    problems.push(self.problem(at, name, &format!("`{path}`")));
                }
            }
        }
        if problems.is_empty() {
            return Ok(());
        }
        Err(BlueprintError { problems })
    }

    fn problem(&self, at: usize, name: Option<&str>, field: &str) -> Problem {
        let which = match name {
            Some(name) => format!("the {} {name:?}", self.what),
            None => format!("the {} number {}", self.what, at + 1),
        };
        let message = format!(
            "{which}: {field} depends on a secret import, and may not: {}",
            self.advice
        );
        Problem::new("secrets", message)
    }
}

/// The path to the first place at which a value was masked.
fn first_mask(value: &Value, shown: &Value, path: String) -> String {
    match (value, shown) {
        (Value::Object(fields), Value::Object(seen)) => {
            let mut fields = fields.iter();
            let differing = fields.find(|(name, value)| seen.get(*name) != Some(value));
            match differing {
                Some((name, value)) => first_mask(value, &seen[name], format!("{path}.{name}")),
                None => path,
            }
        }
        (Value::Array(items), Value::Array(seen)) => {
            let mut items = items.iter().zip(seen).enumerate();
            match items.find(|(_, (value, seen))| value != seen) {
                Some((at, (value, seen))) => first_mask(value, seen, format!("{path}[{at}]")),
                None => path,
            }
        }
        _ => path,
    }
}
