//! Reads a configuration.
//!
//! The field names are those of Landscaper v0.24. A value that can't be understood is an error that names
//! its field; a field that isn't known is a warning.

use std::collections::BTreeMap;
use std::time::Duration;

use landform_api::jsonpath::JsonPath;
use landform_api::schedule::Schedule;
use serde_json::Value;

use super::configuration::{
    Configuration, CustomCheck, Export, LabelSelector, Manifest, ObjectReference, Operator, Policy,
    Readiness, Requirement, Strategy,
};
use super::fields::{Fields, invalid};
use super::object::ObjectName;
use crate::DeployError;

const GROUP: &str = "manifest.deployer.landscaper.gardener.cloud/";
const READY_TIMEOUT: Duration = Duration::from_secs(180);
const DELETE_TIMEOUT: Duration = Duration::from_secs(180);
const EXPORT_TIMEOUT: Duration = Duration::from_secs(300);

impl Configuration {
    /// Reads `spec.config`.
    pub(super) fn read(config: Option<&Value>) -> Result<Self, DeployError> {
        let missing = || {
            invalid(
                "spec.config",
                "is missing: it must say which manifests to apply",
            )
        };
        let mut unknown = Vec::new();
        let mut fields = Fields::of("spec.config", config.ok_or_else(missing)?)?;
        header(&mut fields)?;
        if fields.value("kubeconfig").is_some() {
            let problem = "isn't taken: make a Target of type \
                landscaper.gardener.cloud/kubernetes-cluster and name it in spec.target";
            return Err(invalid("spec.config.kubeconfig", problem));
        }
        // Whoever connects to the target reads it; here it is only known.
        if let Some(here) = fields.value("thisServer")
            && !here.is_boolean()
        {
            return Err(invalid("spec.config.thisServer", "must be true or false"));
        }
        let strategy = match fields.text("updateStrategy")? {
            None => Strategy::Update,
            Some(text) => Strategy::parse(text).ok_or_else(|| {
                let problem = "must be update, patch, merge or mergeOverwrite";
                invalid("spec.config.updateStrategy", problem)
            })?,
        };
        let configuration = Self {
            manifests: manifests(&mut fields, &mut unknown)?,
            strategy,
            readiness: readiness(&mut fields, &mut unknown)?,
            delete_timeout: fields.duration("deleteTimeout")?.unwrap_or(DELETE_TIMEOUT),
            exports: exports(&mut fields, &mut unknown)?,
            schedule: schedule(&mut fields, &mut unknown)?,
            unknown: Vec::new(),
        };
        fields.finish(&mut unknown);
        Ok(Self {
            unknown,
            ..configuration
        })
    }

    /// Only how long to wait for deletions: everything else may be broken.
    pub(super) fn delete_timeout_of(config: Option<&Value>) -> Duration {
        let fields = config.and_then(|config| Fields::of("spec.config", config).ok());
        let timeout = fields.and_then(|mut fields| fields.duration("deleteTimeout").ok().flatten());
        timeout.unwrap_or(DELETE_TIMEOUT)
    }

    /// Only the schedule.
    pub(super) fn schedule_of(config: Option<&Value>) -> Result<Option<Schedule>, DeployError> {
        match config {
            None => Ok(None),
            Some(config) => schedule(&mut Fields::of("spec.config", config)?, &mut Vec::new()),
        }
    }
}

/// `apiVersion` and `kind` may be left out.
fn header(fields: &mut Fields<'_>) -> Result<(), DeployError> {
    let version = fields.text("apiVersion")?;
    let version_is_known = version.is_none_or(|text| {
        let version = text.strip_prefix(GROUP);
        version.is_some_and(|version| ["v1alpha1", "v1alpha2"].contains(&version))
    });
    let kind = fields.text("kind")?;
    if version_is_known && kind.is_none_or(|kind| kind == "ProviderConfiguration") {
        return Ok(());
    }
    let problem = format!("must be a ProviderConfiguration of {GROUP}v1alpha2 or {GROUP}v1alpha1");
    Err(invalid("spec.config", &problem))
}

fn manifests(
    fields: &mut Fields<'_>,
    unknown: &mut Vec<String>,
) -> Result<Vec<Manifest>, DeployError> {
    let mut manifests = Vec::new();
    for (index, value) in fields.list("manifests")?.iter().enumerate() {
        let path = format!("spec.config.manifests[{index}]");
        let mut entry = Fields::of(&path, value)?;
        let Some(manifest) = entry.value("manifest") else {
            // In v1alpha1 the entry is the object itself.
            if value.get("kind").is_none() {
                return Err(invalid(&format!("{path}.manifest"), "is missing"));
            }
            expand(path, Policy::Manage, value, &mut manifests)?;
            continue;
        };
        let policy = match entry.text("policy")? {
            None => Policy::Manage,
            Some(text) => Policy::parse(text).ok_or_else(|| {
                let problem = "must be manage, fallback, keep, ignore or immutable";
                invalid(&entry.path("policy"), problem)
            })?,
        };
        entry.finish(unknown);
        expand(format!("{path}.manifest"), policy, manifest, &mut manifests)?;
    }
    Ok(manifests)
}

/// A `List` stands for its items.
fn expand(
    path: String,
    policy: Policy,
    value: &Value,
    manifests: &mut Vec<Manifest>,
) -> Result<(), DeployError> {
    let is_list = value["kind"]
        .as_str()
        .is_some_and(|kind| kind.ends_with("List"));
    if let Some(items) = value["items"].as_array().filter(|_| is_list) {
        for (index, item) in items.iter().enumerate() {
            Fields::of(format!("{path}.items[{index}]"), item)?;
            manifests.push(Manifest {
                path: format!("{path}.items[{index}]"),
                policy,
                value: item.clone(),
            });
        }
        return Ok(());
    }
    Fields::of(&path, value)?;
    manifests.push(Manifest {
        path,
        policy,
        value: value.clone(),
    });
    Ok(())
}

fn readiness(fields: &mut Fields<'_>, unknown: &mut Vec<String>) -> Result<Readiness, DeployError> {
    let Some(mut fields) = fields.fields("readinessChecks")? else {
        return Ok(Readiness {
            default_checks: true,
            timeout: READY_TIMEOUT,
            custom: Vec::new(),
        });
    };
    let timeout = fields.duration("timeout")?.unwrap_or(READY_TIMEOUT);
    let mut custom = Vec::new();
    for (index, value) in fields.list("custom")?.iter().enumerate() {
        let path = format!("{}[{index}]", fields.path("custom"));
        custom.extend(custom_check(Fields::of(path, value)?, timeout, unknown)?);
    }
    let readiness = Readiness {
        default_checks: !fields.boolean("disableDefault")?,
        timeout,
        custom,
    };
    fields.finish(unknown);
    Ok(readiness)
}

fn custom_check(
    mut fields: Fields<'_>,
    timeout: Duration,
    unknown: &mut Vec<String>,
) -> Result<Option<CustomCheck>, DeployError> {
    let name = fields.required("name")?.to_owned();
    let timeout = fields.duration("timeout")?.unwrap_or(timeout);
    let disabled = fields.boolean("disabled")?;
    let path = fields.path("resourceSelector");
    let objects = match fields.value("resourceSelector") {
        None => Vec::new(),
        Some(Value::Array(list)) => {
            let objects = list.iter().enumerate();
            let objects =
                objects.map(|(index, value)| object_name(&format!("{path}[{index}]"), value));
            objects.collect::<Result<_, _>>()?
        }
        // Some of Landscaper's documentation shows a single one.
        Some(single) => vec![object_name(&path, single)?],
    };
    let labels = match fields.fields("labelSelector")? {
        None => None,
        Some(mut selector) => Some(label_selector(&mut selector)?),
    };
    if objects.is_empty() && labels.is_none() {
        return Err(invalid(
            &path,
            "or labelSelector must say which objects are checked",
        ));
    }
    let mut requirements = Vec::new();
    for (index, value) in fields.list("requirements")?.iter().enumerate() {
        let path = format!("{}[{index}]", fields.path("requirements"));
        requirements.push(requirement(Fields::of(path, value)?)?);
    }
    if requirements.is_empty() {
        return Err(invalid(&fields.path("requirements"), "must not be empty"));
    }
    fields.finish(unknown);
    Ok((!disabled).then_some(CustomCheck {
        name,
        timeout,
        objects,
        labels,
        requirements,
    }))
}

fn label_selector(fields: &mut Fields<'_>) -> Result<LabelSelector, DeployError> {
    let path = fields.path("matchLabels");
    let mut labels = BTreeMap::new();
    let given = fields.value("matchLabels").and_then(Value::as_object);
    for (name, value) in given.into_iter().flatten() {
        let value = value.as_str();
        let value = value.ok_or_else(|| invalid(&path, "must have strings as values"))?;
        labels.insert(name.clone(), value.to_owned());
    }
    if labels.is_empty() {
        return Err(invalid(&path, "must not be empty"));
    }
    Ok(LabelSelector {
        api_version: fields.required("apiVersion")?.to_owned(),
        kind: fields.required("kind")?.to_owned(),
        labels,
    })
}

fn requirement(mut fields: Fields<'_>) -> Result<Requirement, DeployError> {
    let (path_text, path) = json_path(&mut fields)?;
    let operator = match fields.required("operator")?.to_ascii_lowercase().as_str() {
        "exists" => Operator::Exists,
        "!" | "doesnotexist" | "notexists" => Operator::DoesNotExist,
        "=" | "==" | "equals" | "in" => Operator::In,
        "!=" | "notequals" | "notin" => Operator::NotIn,
        _ => {
            let problem = "must be exists, !, =, ==, !=, in or notin";
            return Err(invalid(&fields.path("operator"), problem));
        }
    };
    let mut values = Vec::new();
    for (index, entry) in fields.list("values")?.iter().enumerate() {
        let path = format!("{}[{index}]", fields.path("values"));
        let value = entry.get("value");
        values.push(value.ok_or_else(|| invalid(&path, "must be a map with the field value"))?);
    }
    let compares = matches!(operator, Operator::In | Operator::NotIn);
    if compares && values.is_empty() {
        return Err(invalid(
            &fields.path("values"),
            "must not be empty with this operator",
        ));
    }
    Ok(Requirement {
        path_text,
        path,
        operator,
        values: values.into_iter().cloned().collect(),
    })
}

fn exports(fields: &mut Fields<'_>, unknown: &mut Vec<String>) -> Result<Vec<Export>, DeployError> {
    let Some(mut fields) = fields.fields("exports")? else {
        return Ok(Vec::new());
    };
    let timeout = fields.duration("defaultTimeout")?.unwrap_or(EXPORT_TIMEOUT);
    let mut exports = Vec::new();
    for (index, value) in fields.list("exports")?.iter().enumerate() {
        let path = format!("{}[{index}]", fields.path("exports"));
        exports.push(export(Fields::of(path, value)?, timeout, unknown)?);
    }
    fields.finish(unknown);
    Ok(exports)
}

fn export(
    mut fields: Fields<'_>,
    timeout: Duration,
    unknown: &mut Vec<String>,
) -> Result<Export, DeployError> {
    let (path_text, path) = json_path(&mut fields)?;
    let from_path = fields.path("fromResource");
    let from = fields.value("fromResource");
    let reference = match fields.fields("fromObjectRef")? {
        None => None,
        Some(mut reference) => {
            let (path_text, path) = json_path(&mut reference)?;
            Some(ObjectReference {
                api_version: reference.text("apiVersion")?.unwrap_or("v1").to_owned(),
                kind: reference.required("kind")?.to_owned(),
                path_text,
                path,
            })
        }
    };
    let export = Export {
        key: fields.required("key")?.to_owned(),
        path_text,
        path,
        from: from
            .map(|value| object_name(&from_path, value))
            .transpose()?,
        reference,
        timeout: fields.duration("timeout")?.unwrap_or(timeout),
    };
    fields.finish(unknown);
    Ok(export)
}

fn schedule(
    fields: &mut Fields<'_>,
    unknown: &mut Vec<String>,
) -> Result<Option<Schedule>, DeployError> {
    let Some(mut fields) = fields.fields("continuousReconcile")? else {
        return Ok(None);
    };
    let every = fields.duration("every")?;
    let schedule = match (fields.text("cron")?, every) {
        (Some(cron), None) => {
            Schedule::cron(cron).map_err(|problem| invalid(&fields.path("cron"), &problem))?
        }
        (None, Some(every)) => Schedule::in_intervals(every)
            .map_err(|problem| invalid(&fields.path("every"), &problem))?,
        (Some(_), Some(_)) | (None, None) => {
            let problem = "must have either cron or every";
            return Err(invalid("spec.config.continuousReconcile", problem));
        }
    };
    fields.finish(unknown);
    Ok(Some(schedule))
}

fn object_name(path: &str, value: &Value) -> Result<ObjectName, DeployError> {
    let mut fields = Fields::of(path, value)?;
    let namespace = fields.text("namespace")?;
    Ok(ObjectName {
        api_version: fields.text("apiVersion")?.unwrap_or("v1").to_owned(),
        kind: fields.required("kind")?.to_owned(),
        namespace: namespace
            .filter(|namespace| !namespace.is_empty())
            .map(str::to_owned),
        name: fields.required("name")?.to_owned(),
    })
}

fn json_path(fields: &mut Fields<'_>) -> Result<(String, JsonPath), DeployError> {
    let text = fields.required("jsonPath")?;
    let path = JsonPath::parse(text);
    let path = path.map_err(|error| invalid(&fields.path("jsonPath"), &error.to_string()))?;
    Ok((text.to_owned(), path))
}
