//! From a CustomResourceDefinition to the kinds that it defines.

use std::sync::Arc;

use landform_api::jsonpath::JsonPath;
use landform_api::{FieldError, FieldPath, FieldReason};
use landform_schema::Schema;
use landform_store::{Key, Revision};
use serde::Deserialize;
use serde_json::{Value, json};

use super::builtin::{self, bucket};
use super::resource::{CustomColumn, Origin, Presentation, Resource, Scale};
use crate::kinds;
use crate::object::names::NameRule;
use crate::object::{Object, meta, rules};
use crate::verbs::REVIEWS;

/// A CustomResourceDefinition, and the kinds that come from it.
pub struct Definition {
    /// `plural.group`.
    pub name: String,
    /// The group.
    pub group: String,
    /// The names that were accepted.
    pub names: DefinitionNames,
    /// Whether its kinds are served.
    pub established: bool,
    /// One for each served version.
    pub resources: Vec<Arc<Resource>>,
    /// The version that objects are stored in, served or not.
    pub stored: Arc<Resource>,
}

impl Definition {
    /// Whether clients can reach its objects.
    #[must_use]
    pub fn is_served(&self) -> bool {
        self.established && !self.resources.is_empty()
    }
}

/// The names of a custom kind.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct DefinitionNames {
    /// The plural.
    pub plural: String,
    /// The singular.
    pub singular: String,
    /// The kind.
    pub kind: String,
    /// The kind of its lists.
    pub list_kind: String,
    /// Short names.
    pub short_names: Vec<String>,
    /// Categories.
    pub categories: Vec<String>,
}

/// One version of a definition.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DefinitionVersion {
    /// `v1`.
    pub name: String,
    /// Whether clients may use it.
    pub served: bool,
    /// Whether objects are stored in it; exactly one is.
    pub storage: bool,
    /// The schema.
    pub schema: Option<SchemaHolder>,
    /// Subresources.
    pub subresources: Option<Subresources>,
    /// Printer columns.
    pub additional_printer_columns: Vec<Column>,
    /// Fields that selectors may name.
    pub selectable_fields: Vec<SelectableField>,
}

/// `schema`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SchemaHolder {
    /// The schema.
    #[serde(rename = "openAPIV3Schema")]
    pub open_api_v3_schema: Value,
}

/// `subresources`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Subresources {
    /// Present, usually `{}`: `/status` is a subresource.
    pub status: Option<Value>,
    /// Present: `/scale` is one.
    pub scale: Option<ScaleColumns>,
}

/// `subresources.scale`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScaleColumns {
    /// Below `.spec`.
    pub spec_replicas_path: String,
    /// Below `.status`.
    pub status_replicas_path: String,
    /// Below `.status` or `.spec`.
    pub label_selector_path: Option<String>,
}

/// `additionalPrinterColumns[]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub type_: String,
    /// The format.
    pub format: String,
    /// What it shows.
    pub description: String,
    /// Zero is shown always.
    pub priority: i64,
    /// Where its value is.
    pub json_path: String,
}

/// `selectableFields[]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SelectableField {
    /// Where its value is.
    pub json_path: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    group: String,
    names: DefinitionNames,
    scope: String,
    versions: Vec<DefinitionVersion>,
    conversion: Option<Conversion>,
    preserve_unknown_fields: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Conversion {
    strategy: String,
}

/// Reads a definition that is stored. What was accepted once may be refused now, by a limit that came later; its objects
/// can be read, written and deleted all the same: their values aren't checked until the definition is corrected.
pub fn stored_definition(
    object: &Object,
    revision: Revision,
) -> Result<Definition, Vec<FieldError>> {
    from_definition(object, revision).or_else(|errors| {
        let definition = from_definition(&unchecked(object), revision)?;
        let problems: Vec<_> = errors.iter().map(ToString::to_string).collect();
        tracing::warn!(
            name = definition.name,
            ?problems,
            "a stored definition is refused by now: its objects are served, but not checked until it is corrected"
        );
        Ok(definition)
    })
}

/// The definition without what it says of the values of its objects.
fn unchecked(object: &Object) -> Object {
    let mut object = object.clone();
    let versions = object
        .get_mut("spec")
        .and_then(|spec| spec.get_mut("versions"))
        .and_then(Value::as_array_mut);
    for version in versions
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        version.insert("schema".to_owned(), json!({"openAPIV3Schema": any}));
        version.remove("additionalPrinterColumns");
        version.remove("selectableFields");
        if let Some(subresources) = version
            .get_mut("subresources")
            .and_then(Value::as_object_mut)
        {
            subresources.remove("scale");
        }
    }
    object
}

/// Reads a definition; the errors say what a person has to change in it.
pub fn from_definition(object: &Object, revision: Revision) -> Result<Definition, Vec<FieldError>> {
    let name = meta::name(object).to_owned();
    let spec: Spec = match object.get("spec").map(Spec::deserialize) {
        Some(Ok(spec)) => spec,
        Some(Err(error)) => {
            let path = FieldPath::of("spec");
            return Err(vec![FieldError::new(
                &path,
                FieldReason::Invalid,
                error.to_string(),
            )]);
        }
        None => {
            return Err(vec![FieldError::new(
                &FieldPath::of("spec"),
                FieldReason::Required,
                "",
            )]);
        }
    };
    let mut errors = check(&name, &spec);
    let mut resources = Vec::new();
    let origin = Origin::Custom {
        definition: Key::new(
            &bucket("apiextensions.k8s.io", "customresourcedefinitions"),
            &name,
        ),
        revision,
        terminating: meta::is_marked(object),
        author: rules::writer(object),
    };
    let storage = spec.versions.iter().find(|version| version.storage);
    let mut stored_resource = None;
    for (index, version) in spec.versions.iter().enumerate() {
        let path = FieldPath::of("spec.versions").index(index);
        let stored_name = storage.map_or("", |storage| storage.name.as_str());
        match resource(&spec, version, stored_name, &origin, &path) {
            Ok(resource) => {
                let resource = Arc::new(resource);
                if version.storage {
                    stored_resource = Some(resource.clone());
                }
                if version.served {
                    resources.push(resource);
                }
            }
            Err(more) => errors.extend(more),
        }
    }
    let Some(stored) = stored_resource.filter(|_| errors.is_empty()) else {
        return Err(errors);
    };
    Ok(Definition {
        name,
        group: spec.group,
        established: condition(object, "Established"),
        names: spec.names,
        resources,
        stored,
    })
}

/// Whether a condition is `True`.
fn condition(object: &Object, type_: &str) -> bool {
    object
        .get("status")
        .and_then(|status| status.get("conditions"))
        .and_then(Value::as_array)
        .is_some_and(|list| {
            list.iter()
                .any(|c| c["type"] == type_ && c["status"] == "True")
        })
}

fn check(name: &str, spec: &Spec) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let root = FieldPath::of("spec");
    let expected = format!("{}.{}", spec.names.plural, spec.group);
    if name != expected {
        errors.push(FieldError::with_value(
            &FieldPath::of("metadata.name"),
            FieldReason::Invalid,
            &json!(name),
            format!("must be spec.names.plural+\".\"+spec.group, which is {expected:?}"),
        ));
    }
    if !spec.group.contains('.') || !crate::object::names::is_subdomain(&spec.group) {
        errors.push(FieldError::with_value(
            &root.field("group"),
            FieldReason::Invalid,
            &json!(spec.group),
            "should be a domain with at least one dot, in lower case",
        ));
    }
    if !matches!(spec.scope.as_str(), "Namespaced" | "Cluster") {
        errors.push(FieldError::with_value(
            &root.field("scope"),
            FieldReason::NotSupported,
            &json!(spec.scope),
            "supported values: \"Cluster\", \"Namespaced\"",
        ));
    }
    let is_reviews = REVIEWS.iter().any(|(group, ..)| *group == spec.group);
    if is_reviews || builtin::has_group(&spec.group) {
        errors.push(FieldError::with_value(
            &root.field("group"),
            FieldReason::Forbidden,
            &json!(spec.group),
            "this group is the server's own: use another one",
        ));
    }
    let names = root.field("names");
    for (field, value) in [
        ("plural", &spec.names.plural),
        ("singular", &spec.names.singular),
    ] {
        if let Some(problem) = NameRule::Label1035.check(value) {
            errors.push(FieldError::with_value(
                &names.field(field),
                FieldReason::Invalid,
                &json!(value),
                problem,
            ));
        }
    }
    for (field, value) in [
        ("kind", &spec.names.kind),
        ("listKind", &spec.names.list_kind),
    ] {
        if let Some(problem) = NameRule::Label1035.check(&value.to_lowercase()) {
            errors.push(FieldError::with_value(
                &names.field(field),
                FieldReason::Invalid,
                &json!(value),
                problem,
            ));
        }
    }
    if spec.names.kind == spec.names.list_kind {
        errors.push(FieldError::new(
            &names.field("listKind"),
            FieldReason::Invalid,
            "kind and listKind may not be the same",
        ));
    }
    for (field, list) in [
        ("shortNames", &spec.names.short_names),
        ("categories", &spec.names.categories),
    ] {
        for (index, value) in list.iter().enumerate() {
            if let Some(problem) = NameRule::Label1035.check(value) {
                let path = names.field(field).index(index);
                errors.push(FieldError::with_value(
                    &path,
                    FieldReason::Invalid,
                    &json!(value),
                    problem,
                ));
            }
        }
    }
    errors.extend(check_versions(spec));
    if spec.preserve_unknown_fields {
        errors.push(FieldError::with_value(
            &root.field("preserveUnknownFields"),
            FieldReason::Invalid,
            &json!(true),
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ));
    }
    if let Some(conversion) = &spec.conversion
        && conversion.strategy != "None"
    {
        errors.push(FieldError::with_value(
            &root.field("conversion").field("strategy"),
            FieldReason::NotSupported,
            &json!(conversion.strategy),
            "supported values: \"None\" (this server has no conversion webhooks)",
        ));
    }
    errors
}

fn check_versions(spec: &Spec) -> Vec<FieldError> {
    let path = FieldPath::of("spec.versions");
    let mut errors = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (index, version) in spec.versions.iter().enumerate() {
        if let Some(problem) = NameRule::Label1035.check(&version.name) {
            let path = path.index(index).field("name");
            errors.push(FieldError::with_value(
                &path,
                FieldReason::Invalid,
                &json!(version.name),
                problem,
            ));
        }
        if !seen.insert(&version.name) {
            let path = path.index(index).field("name");
            errors.push(FieldError::with_value(
                &path,
                FieldReason::Duplicate,
                &json!(version.name),
                "must be unique",
            ));
        }
        if version
            .schema
            .as_ref()
            .is_none_or(|schema| schema.open_api_v3_schema.is_null())
        {
            let path = path.index(index).field("schema").field("openAPIV3Schema");
            errors.push(FieldError::new(
                &path,
                FieldReason::Required,
                "schemas are required",
            ));
        }
    }
    let storage = spec
        .versions
        .iter()
        .filter(|version| version.storage)
        .count();
    if storage != 1 {
        errors.push(FieldError::new(
            &path,
            FieldReason::Invalid,
            format!("must have exactly one version marked as storage version; {storage} are"),
        ));
    }
    errors
}

fn resource(
    spec: &Spec,
    version: &DefinitionVersion,
    stored_version: &str,
    origin: &Origin,
    path: &FieldPath,
) -> Result<Resource, Vec<FieldError>> {
    let open_api = version
        .schema
        .as_ref()
        .map(|schema| &schema.open_api_v3_schema);
    let schema = match open_api {
        Some(open_api) if !open_api.is_null() => Schema::from_crd(open_api).map_err(|errors| {
            let prefix = path.field("schema").field("openAPIV3Schema");
            errors
                .into_iter()
                .map(|error| below(&prefix, error))
                .collect::<Vec<_>>()
        })?,
        _ => return Err(Vec::new()),
    };
    let mut errors = Vec::new();
    let columns = columns(version, path, &mut errors);
    let selectable = selectable(version, path, &mut errors);
    let scale = scale(version, path, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    Ok(Resource {
        group: spec.group.clone(),
        version: version.name.clone(),
        kind: spec.names.kind.clone(),
        list_kind: spec.names.list_kind.clone(),
        plural: spec.names.plural.clone(),
        singular: spec.names.singular.clone(),
        short_names: spec.names.short_names.clone(),
        categories: spec.names.categories.clone(),
        namespaced: spec.scope == "Namespaced",
        bucket: bucket(&spec.group, &spec.names.plural),
        // Objects keep the version they were written in until the next write, so the version that
        // they are stored with may differ from the present storage version.
        presentation: Presentation::OtherVersion,
        stored_api_version: landform_api::kind::api_version(&spec.group, stored_version),
        schema: Arc::new(schema),
        status: version
            .subresources
            .as_ref()
            .is_some_and(|s| s.status.is_some()),
        scale,
        columns,
        selectable,
        name_rule: NameRule::Subdomain,
        rules: kinds::rules_of(&spec.group, ""),
        origin: origin.clone(),
    })
}

fn below(prefix: &FieldPath, error: FieldError) -> FieldError {
    let path = if error.path.as_str().is_empty() {
        prefix.clone()
    } else {
        prefix.field(error.path.as_str())
    };
    FieldError { path, ..error }
}

fn columns(
    version: &DefinitionVersion,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) -> Vec<CustomColumn> {
    let path = path.field("additionalPrinterColumns");
    let mut columns = Vec::new();
    for (index, column) in version.additional_printer_columns.iter().enumerate() {
        match JsonPath::parse(&column.json_path) {
            Ok(json_path) => columns.push(CustomColumn {
                name: column.name.clone(),
                type_: column.type_.clone(),
                format: column.format.clone(),
                description: column.description.clone(),
                priority: column.priority,
                path: json_path,
            }),
            Err(problem) => errors.push(FieldError::with_value(
                &path.index(index).field("jsonPath"),
                FieldReason::Invalid,
                &json!(column.json_path),
                problem.to_string(),
            )),
        }
    }
    columns
}

fn selectable(
    version: &DefinitionVersion,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) -> Vec<String> {
    let path = path.field("selectableFields");
    let mut fields = Vec::new();
    for (index, field) in version.selectable_fields.iter().enumerate() {
        match field_path(&field.json_path) {
            Some(names) => fields.push(names.join(".")),
            None => errors.push(FieldError::with_value(
                &path.index(index).field("jsonPath"),
                FieldReason::Invalid,
                &json!(field.json_path),
                "must be a simple path of field names such as .spec.color",
            )),
        }
    }
    fields
}

fn scale(
    version: &DefinitionVersion,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) -> Option<Scale> {
    let columns = version.subresources.as_ref()?.scale.as_ref()?;
    let path = path.field("subresources").field("scale");
    let mut read = |field: &str, text: &str, starts: &[&str]| {
        let names = field_path(text).filter(|names| starts.contains(&names[0].as_str()));
        if names.is_none() {
            errors.push(FieldError::with_value(
                &path.field(field),
                FieldReason::Invalid,
                &json!(text),
                format!(
                    "should be a simple path of field names under .{}",
                    starts.join(" or .")
                ),
            ));
        }
        names
    };
    let spec_replicas = read("specReplicasPath", &columns.spec_replicas_path, &["spec"]);
    let status_replicas = read(
        "statusReplicasPath",
        &columns.status_replicas_path,
        &["status"],
    );
    let selector = columns
        .label_selector_path
        .as_ref()
        .filter(|text| !text.is_empty())
        .map(|text| read("labelSelectorPath", text, &["status", "spec"]));
    Some(Scale {
        spec_replicas: spec_replicas?,
        status_replicas: status_replicas?,
        selector: selector.flatten(),
    })
}

/// The names of a path that has nothing but field names.
fn field_path(text: &str) -> Option<Vec<String>> {
    if !text.starts_with('.') {
        return None;
    }
    let path = JsonPath::parse(text).ok()?;
    let names: Vec<String> = path.fields()?.into_iter().map(str::to_owned).collect();
    (!names.is_empty()).then_some(names)
}
