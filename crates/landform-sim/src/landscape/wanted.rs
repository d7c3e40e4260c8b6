//! Installations as tests write them: names and numbers, from which blueprints are made.
//!
//! All data are numbers. A deploy item makes the sum of its own value and of the imports that it takes, and
//! that is what it exports; so the numbers outside tell whether every value has found its way.

use landform_api::landscaper::{API_VERSION, keys};
use serde_json::{Value, json};

use super::deployer::KIND;

/// What stands before the own value of an item in a template.
const VALUE: &str = "\"value\": ";

/// An installation, at the root or nested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installation {
    /// Its name, or the name of its template.
    pub name: String,
    /// The data that it imports, under their own names.
    pub imports: Vec<String>,
    /// The data that it exports, and from where.
    pub exports: Vec<(String, Source)>,
    /// What it deploys.
    pub items: Vec<Item>,
    /// What is nested in it.
    pub nested: Vec<Installation>,
    /// Whether its blueprint can't be rendered.
    pub broken: bool,
    /// What its `spec.automaticReconcile` is; null if there is none.
    pub automatic: Value,
}

/// Where the value of an export comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// From the deploy item of this name.
    Item(String),
    /// From a nested installation that exports this name.
    Nested(String),
}

/// A deploy item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Item {
    /// Its name.
    pub name: String,
    /// Its own part of the sum.
    pub value: u64,
    /// The imports that are the rest of the sum.
    pub takes: Vec<String>,
    /// The items that come before it.
    pub depends_on: Vec<String>,
    /// What becomes of it.
    pub fate: Fate,
}

/// How the work on an item ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// Well.
    #[default]
    Succeeds,
    /// Badly, after it has written to its target.
    Fails,
    /// It doesn't, until it is told to stop or its time is over.
    Hangs,
    /// Badly the first time, and well from then on.
    FailsOnce,
    /// Well, but it can't be removed.
    Stays,
}

impl Installation {
    /// One that does nothing yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// It imports this.
    #[must_use]
    pub fn import(mut self, name: &str) -> Self {
        self.imports.push(name.into());
        self
    }

    /// It exports what an item of its makes.
    #[must_use]
    pub fn export(mut self, name: &str, item: &str) -> Self {
        self.exports.push((name.into(), Source::Item(item.into())));
        self
    }

    /// It exports what something nested exports under that name.
    #[must_use]
    pub fn pass_up(mut self, name: &str, nested: &str) -> Self {
        let source = Source::Nested(nested.into());
        self.exports.push((name.into(), source));
        self
    }

    /// It deploys this.
    #[must_use]
    pub fn item(mut self, item: Item) -> Self {
        self.items.push(item);
        self
    }

    /// This is nested in it.
    #[must_use]
    pub fn nest(mut self, nested: Self) -> Self {
        self.nested.push(nested);
        self
    }

    /// Its blueprint can't be rendered.
    #[must_use]
    pub fn broken(mut self) -> Self {
        self.broken = true;
        self
    }

    /// It is reconciled again after an end (`succeededReconcile` or `failedReconcile`), as this says.
    #[must_use]
    pub fn repeat(mut self, after: &str, how: &Value) -> Self {
        self.automatic = json!({after: how});
        self
    }

    /// The object of the API.
    #[must_use]
    pub fn object(&self) -> Value {
        let mut spec = self.connections();
        spec["blueprint"] = json!({"inline": {"filesystem": self.files()}});
        if !self.automatic.is_null() {
            spec["automaticReconcile"] = self.automatic.clone();
        }
        json!({
            "apiVersion": API_VERSION, "kind": "Installation",
            "metadata": {"name": self.name}, "spec": spec,
        })
    }

    /// The object with an annotation that asks for an operation.
    #[must_use]
    pub fn asked_for(name: &str, operation: &str) -> Value {
        annotated(name, &json!({keys::OPERATION: operation}))
    }

    /// The object with the annotation that keeps what was deployed.
    #[must_use]
    pub fn kept_outside(name: &str) -> Value {
        annotated(name, &json!({keys::DELETE_WITHOUT_UNINSTALL: keys::TRUE}))
    }

    fn connections(&self) -> Value {
        let reference = |name: &String| json!({"name": name, "dataRef": name});
        let imports: Vec<_> = self.imports.iter().map(reference).collect();
        let exports: Vec<_> = self
            .exports
            .iter()
            .map(|(name, _)| reference(name))
            .collect();
        json!({"imports": {"data": imports}, "exports": {"data": exports}})
    }

    fn files(&self) -> Value {
        let number =
            |name: &String| json!({"name": name, "type": "data", "schema": {"type": "integer"}});
        let imports: Vec<_> = self.imports.iter().map(number).collect();
        let exports: Vec<_> = self.exports.iter().map(|(name, _)| number(name)).collect();
        let nested = self.nested.iter().map(|nested| {
            let mut template = nested.connections();
            template["name"] = json!(nested.name);
            template["blueprint"] = json!({"filesystem": nested.files()});
            template
        });
        let nested: Vec<_> = nested.collect();
        let executor =
            |template: String| json!([{"name": "all", "type": "GoTemplate", "template": template}]);
        let blueprint = json!({
            "apiVersion": API_VERSION, "kind": "Blueprint",
            "imports": imports, "exports": exports, "subinstallations": nested,
            "deployExecutions": executor(self.deploy_template()),
            "exportExecutions": executor(self.export_template()),
        });
        json!({"blueprint.yaml": blueprint.to_string()})
    }

    fn deploy_template(&self) -> String {
        let items: Vec<_> = self.items.iter().map(Item::template).collect();
        let broken = if self.broken { "{{ nonsense }}" } else { "" };
        format!("{broken}{{\"deployItems\": [{}]}}", items.join(", "))
    }

    fn export_template(&self) -> String {
        let value = |source: &Source| match source {
            Source::Item(item) => format!("index .values.deployitems {item:?} \"sum\""),
            Source::Nested(name) => format!("index .values.dataobjects {name:?}"),
        };
        let exports = self.exports.iter();
        let exports: Vec<_> = exports
            .map(|(name, source)| format!("{name:?}: {{{{ {} }}}}", value(source)))
            .collect();
        format!("{{\"exports\": {{ {} }} }}", exports.join(", "))
    }
}

/// The numbers that people state by an object: data that no installation has made, or the items of a root.
pub(super) fn stated_numbers(object: &Value) -> Vec<u64> {
    let owned = object["metadata"]["ownerReferences"].is_array();
    match object["kind"].as_str() {
        Some("DataObject") if !owned => object["data"].as_u64().into_iter().collect(),
        Some("Installation") if !owned => {
            let files = &object["spec"]["blueprint"]["inline"]["filesystem"];
            let blueprint = files["blueprint.yaml"].as_str().unwrap_or_default();
            let blueprint: Value = serde_json::from_str(blueprint).unwrap_or_default();
            let template = blueprint["deployExecutions"][0]["template"].as_str();
            let values = template.unwrap_or_default().split(VALUE).skip(1);
            let digits = |text: &str| {
                let end = text.find(|found: char| !found.is_ascii_digit());
                text.get(..end.unwrap_or(text.len()))?.parse().ok()
            };
            values.filter_map(digits).collect()
        }
        _ => Vec::new(),
    }
}

fn annotated(name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": API_VERSION, "kind": "Installation",
        "metadata": {"name": name, "annotations": annotations},
    })
}

impl Item {
    /// An item that makes this number.
    #[must_use]
    pub fn new(name: &str, value: u64) -> Self {
        Self {
            name: name.into(),
            value,
            ..Self::default()
        }
    }

    /// It adds what the installation imports under this name.
    #[must_use]
    pub fn take(mut self, import: &str) -> Self {
        self.takes.push(import.into());
        self
    }

    /// It comes after another one.
    #[must_use]
    pub fn after(mut self, item: &str) -> Self {
        self.depends_on.push(item.into());
        self
    }

    /// It fails.
    #[must_use]
    pub fn fails(mut self) -> Self {
        self.fate = Fate::Fails;
        self
    }

    /// It fails the first time.
    #[must_use]
    pub fn fails_once(mut self) -> Self {
        self.fate = Fate::FailsOnce;
        self
    }

    /// It can't be removed.
    #[must_use]
    pub fn stays(mut self) -> Self {
        self.fate = Fate::Stays;
        self
    }

    /// It never ends.
    #[must_use]
    pub fn hangs(mut self) -> Self {
        self.fate = Fate::Hangs;
        self
    }

    fn template(&self) -> String {
        let fate = match self.fate {
            Fate::Succeeds => "succeeds",
            Fate::Fails => "fails",
            Fate::Hangs => "hangs",
            Fate::FailsOnce => "fails once",
            Fate::Stays => "stays",
        };
        let takes = self.takes.iter();
        let takes: Vec<_> = takes
            .map(|import| format!("{import:?}: {{{{ .imports.{import} }}}}"))
            .collect();
        let depends_on: Vec<_> = self.depends_on.iter().map(|name| json!(name)).collect();
        let depends_on = Value::Array(depends_on);
        format!(
            "{{\"name\": {:?}, \"type\": {KIND:?}, \"dependsOn\": {depends_on}, \"config\": {{{VALUE}{}, \"fate\": {fate:?}, \"takes\": {{ {} }} }} }}",
            self.name,
            self.value,
            takes.join(", "),
        )
    }
}
