//! A page for each kind: its fields as tables, from the definition that the server itself installs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use landform_api::{catalog, landscaper, project};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use super::KINDS;
use super::pages::{PAGES, Page};
use crate::{Outcome, repository};

/// The definition of the kind `Reconciler`, which is written by hand.
const RECONCILER: &str = "crates/landform-engine/src/hooks/definition.yaml";

/// All definitions that Landform installs.
///
/// # Errors
/// When the one that is a file can't be read.
pub fn definitions() -> Outcome<Vec<Value>> {
    let text = repository::read(Path::new(RECONCILER))?;
    let reconciler = landform_yaml::parse_one(&text, &landform_yaml::Budget::FILE)
        .map_err(|error| format!("{RECONCILER}: {error}"))?;
    let mut all = landscaper::definition::definitions();
    all.extend(landscaper::definition::further_definitions());
    all.extend(catalog::definition::definitions());
    all.extend(project::definition::definitions());
    all.push(reconciler);
    Ok(all)
}

/// The pages, by path: one for each kind, and a list of them.
///
/// # Errors
/// When a definition can't be read, or a kind has nothing in `pages.rs`.
pub fn pages() -> Outcome<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    let mut list = String::from(
        "# Kinds\n\n\
         Written by `cargo xtask docs` from the definitions: don't edit. Every kind also has what all objects have\n\
         (`apiVersion`, `kind`, `metadata`). Built-in kinds of Kubernetes are in [api.md](../api.md).\n\n\
         | kind | short | group | what it is |\n| --- | --- | --- | --- |\n",
    );
    for definition in definitions()? {
        let about = About::of(&definition)?;
        let _ = writeln!(
            list,
            "| [{}]({}.md) | {} | `{}` | {} |",
            about.kind,
            about.kind.to_lowercase(),
            code(&about.short),
            about.group,
            about.page.line
        );
        let file = format!("{KINDS}/{}.md", about.kind.to_lowercase());
        files.push((PathBuf::from(file), about.page()));
    }
    files.push((PathBuf::from(format!("{KINDS}/README.md")), list));
    Ok(files)
}

/// What a page is made of.
struct About<'a> {
    kind: &'a str,
    group: &'a str,
    version: &'a str,
    plural: &'a str,
    scope: &'a str,
    short: Vec<&'a str>,
    columns: &'a [Value],
    schema: &'a Value,
    page: &'static Page,
}

impl<'a> About<'a> {
    fn of(definition: &'a Value) -> Outcome<Self> {
        let spec = &definition["spec"];
        let version = &spec["versions"][0];
        let kind = text(&spec["names"]["kind"]);
        let page = PAGES.iter().find(|page| page.kind == kind);
        let page = page.ok_or_else(|| {
            format!("the kind {kind} has no example: write one in xtask/src/docs/pages.rs")
        })?;
        let list = |value: &'a Value| value.as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(Self {
            kind,
            group: text(&spec["group"]),
            version: text(&version["name"]),
            plural: text(&spec["names"]["plural"]),
            scope: text(&spec["scope"]),
            short: list(&spec["names"]["shortNames"])
                .iter()
                .map(text)
                .collect(),
            columns: list(&version["additionalPrinterColumns"]),
            schema: &version["schema"]["openAPIV3Schema"],
            page,
        })
    }

    fn page(&self) -> String {
        let scope = match self.scope {
            "Cluster" => "the whole cluster: no namespace",
            _ => "a namespace",
        };
        let mut out = format!(
            "# {}\n\nWritten by `cargo xtask docs` from the definition: don't edit.\n\n{}\n\n",
            self.kind, self.page.about
        );
        let _ = writeln!(
            out,
            "| | |\n| --- | --- |\n| `apiVersion` | `{}/{}` |\n| `kind` | `{}` |\n| on the command line | `{}`{} |\n| belongs to | {scope} |",
            self.group,
            self.version,
            self.kind,
            self.plural,
            self.short
                .iter()
                .map(|name| format!(", `{name}`"))
                .collect::<String>(),
        );
        let _ = write!(out, "\n## Example\n\n```yaml\n{}```\n", self.page.example);
        for (part, schema) in parts(self.schema) {
            let _ = write!(
                out,
                "\n## {part}\n\n| field | type | what it is |\n| --- | --- | --- |\n"
            );
            let mut rows = Rows::default();
            if part == "Other fields" {
                rows.object("", &schema);
            } else {
                rows.object(&part.to_lowercase(), &schema);
            }
            out.push_str(&rows.text);
            let rows = phases(self.kind);
            if part == "Status" && !rows.is_empty() {
                out.push_str("\n## Phases\n\n| phase | means |\n| --- | --- |\n");
                for (phase, means) in rows {
                    let _ = writeln!(out, "| `{phase}` | {} |", cell(&means));
                }
            }
        }
        if !self.columns.is_empty() {
            out.push_str("\n## Columns\n\n`landform get` and `kubectl get` show:\n\n| column | from |\n| --- | --- |\n");
            for column in self.columns {
                let wide = column["priority"]
                    .as_i64()
                    .is_some_and(|priority| priority > 0);
                let _ = writeln!(
                    out,
                    "| {} | `{}`{} |",
                    text(&column["name"]),
                    cell(text(&column["jsonPath"])),
                    if wide { ", with `-o wide`" } else { "" }
                );
            }
        }
        out.push_str("\n## Read on\n\n");
        for (name, link) in self.page.see {
            let _ = writeln!(out, "- [{name}]({link})");
        }
        out
    }
}

/// Spec, status, and what a kind has beside them.
fn parts(schema: &Value) -> Vec<(&'static str, Value)> {
    let mut parts = Vec::new();
    let properties = &schema["properties"];
    let mut others = schema.clone();
    for (part, name) in [("Spec", "spec"), ("Status", "status")] {
        if properties[name].is_object() {
            parts.push((part, properties[name].clone()));
        }
        if let Some(others) = others["properties"].as_object_mut() {
            others.remove(name);
        }
    }
    if others["properties"]
        .as_object()
        .is_some_and(|left| !left.is_empty())
    {
        parts.insert(0, ("Other fields", others));
    }
    parts
}

/// The rows of a table of fields.
#[derive(Default)]
struct Rows {
    text: String,
}

impl Rows {
    fn object(&mut self, at: &str, schema: &Value) {
        let required: Vec<_> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let path = if at.is_empty() {
                name.clone()
            } else {
                format!("{at}.{name}")
            };
            self.row(&path, field, required.contains(&name.as_str()));
            self.below(&path, field);
        }
    }

    fn below(&mut self, path: &str, schema: &Value) {
        if schema["items"].is_object() {
            self.below_or_fields(&format!("{path}[]"), &schema["items"]);
        } else if schema["additionalProperties"].is_object() {
            self.below_or_fields(&format!("{path}.*"), &schema["additionalProperties"]);
        } else {
            self.object(path, schema);
        }
    }

    fn below_or_fields(&mut self, path: &str, schema: &Value) {
        if schema["properties"].is_object() {
            self.object(path, schema);
        } else {
            self.below(path, schema);
        }
    }

    fn row(&mut self, path: &str, schema: &Value, required: bool) {
        let mut says: Vec<String> = Vec::new();
        if let Some(description) = schema["description"].as_str() {
            says.push(cell(description));
        }
        if required {
            says.push("**Required.**".into());
        }
        let words: Vec<_> = schema["enum"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect();
        if !words.is_empty() {
            says.push(format!("One of {}.", code(&words)));
        }
        if let Some(default) = schema.get("default") {
            says.push(format!("Default: `{}`.", cell(&default.to_string())));
        }
        let limits = [
            range(schema, "minimum", "maximum", ""),
            range(schema, "minLength", "maxLength", " characters"),
            range(schema, "minItems", "maxItems", " items"),
        ];
        says.extend(limits.into_iter().flatten());
        if let Some(pattern) = schema["pattern"].as_str() {
            says.push(format!("Fits `{}`.", cell(pattern)));
        }
        let _ = writeln!(
            self.text,
            "| `{path}` | {} | {} |",
            type_of(schema),
            says.join(" ")
        );
    }
}

/// What a schema allows between two limits, as a sentence.
fn range(schema: &Value, least: &str, most: &str, of: &str) -> Option<String> {
    match (schema.get(least), schema.get(most)) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}{of}.")),
        (Some(least), None) => Some(format!("At least {least}{of}.")),
        (None, Some(most)) => Some(format!("At most {most}{of}.")),
        (None, None) => None,
    }
}

/// A type as people say it.
fn type_of(schema: &Value) -> String {
    match schema["type"].as_str() {
        Some("array") => format!("list of {}", type_of(&schema["items"])),
        Some("object") if schema["additionalProperties"].is_object() => {
            format!("map of {}", type_of(&schema["additionalProperties"]))
        }
        Some("object") => "object".into(),
        Some(plain) => plain.to_owned(),
        None => "anything".into(),
    }
}

/// The phases of a kind, from the type: each with what is said about it there.
#[must_use]
pub fn phases(kind: &str) -> Vec<(String, String)> {
    match kind {
        "Installation" => words::<landscaper::InstallationPhase>(),
        "Execution" | "DeployItem" => words::<landscaper::ExecutionPhase>(),
        "Catalog" => words::<catalog::source::CatalogPhase>(),
        "AppType" => words::<catalog::app_type::AppTypePhase>(),
        "OperatorVersion" => words::<catalog::operator_version::Phase>(),
        "Project" => words::<project::ProjectPhase>(),
        _ => Vec::new(),
    }
}

fn words<T: JsonSchema>() -> Vec<(String, String)> {
    let schema = SchemaGenerator::default()
        .into_root_schema_for::<T>()
        .to_value();
    let described = schema["oneOf"].as_array().into_iter().flatten();
    described
        .map(|word| {
            (
                text(&word["const"]).to_owned(),
                text(&word["description"]).to_owned(),
            )
        })
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn code(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    words.join(", ")
}

/// Text that fits into a cell of a table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}
