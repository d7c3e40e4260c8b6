//! The exports of an installation (I17): rendered from what nested objects export, checked, and written where
//! siblings and the parent find them.

use std::collections::{BTreeMap, BTreeSet};

use landform_api::landscaper::execution::Execution;
use landform_api::landscaper::installation::InstallationStatus;
use landform_api::landscaper::report::ObjectName;
use landform_api::landscaper::{ConditionStatus, names};
use landform_blueprint::{Blueprint, ExportValues, MappingKind, ValueKind, map_data};
use landform_decide::installation::ChildKind;
use landform_engine::{Context, write_time};
use serde_json::{Value, json};

use super::act::Stop;
use super::observe::World;
use super::passed_on::keys_of;
use super::update::{self, Given, Ready, delete_given, invalid, write_given};
use super::warnings;
use crate::landscape::blueprints::Blueprints;
use crate::landscape::content;
use crate::landscape::facts;
use crate::landscape::objects::is_owned_by;
use crate::landscape::report::{Trouble, set_condition};

/// The exports of one installation.
pub(super) struct Export<'a> {
    pub(super) context: &'a Context,
    pub(super) blueprints: &'a Blueprints,
    pub(super) world: &'a World,
}

/// One thing to export.
struct Wanted {
    kind: &'static str,
    key: String,
    value: Value,
}

impl Export<'_> {
    pub(super) async fn write(&self, status: &mut InstallationStatus) -> Result<(), Stop> {
        let wanted = self.render(status).await?;
        let scope = self
            .world
            .parent
            .as_deref()
            .map(names::installation_context);
        let own = names::installation_context(self.world.name());
        let now: Vec<ObjectName> = wanted
            .iter()
            .map(|wanted| ObjectName {
                kind: wanted.kind.to_owned(),
                name: names::data_name(scope.as_deref(), &wanted.key),
                ..ObjectName::default()
            })
            .collect();
        let before = std::mem::replace(&mut status.exported_objects, now);
        if before != status.exported_objects && !before.is_empty() {
            // What is written is noted before it is, so that nothing is left behind.
            let mut both = status.clone();
            both.exported_objects.extend(before.iter().cloned());
            both.exported_objects.sort();
            both.exported_objects.dedup();
            both.phase = self.world.status.phase;
            self.context.write_status(&both).await?;
        }
        for wanted in &wanted {
            let given = Given {
                kind: wanted.kind,
                context: scope.as_deref(),
                key: &wanted.key,
                source: &own,
                source_type: "export",
                content: &wanted.value,
            };
            write_given(self.world, &given, &[]).await?;
        }
        let gone = before
            .iter()
            .filter(|object| !status.exported_objects.contains(object));
        for object in gone {
            delete_given(self.world, object).await?;
        }
        self.drop_former_targets(status).await?;
        status.config_generation = self.generation(&wanted);
        let time = write_time(self.context.now_ms());
        for condition in ["CreateExports", "ReconcileExecution", "ValidateExport"] {
            let conditions = &mut status.conditions;
            set_condition(
                conditions,
                condition,
                ConditionStatus::True,
                "Done",
                "",
                &time,
            );
        }
        Ok(())
    }

    /// Deletes targets that were kept for what nested installations had deployed there.
    async fn drop_former_targets(&self, status: &mut InstallationStatus) -> Result<(), Stop> {
        let own = names::installation_context(self.world.name());
        let imported: BTreeSet<_> = keys_of(&status.imports)
            // Nothing is passed on when nothing is nested.
            .filter(|_| !status.installation_refs.is_empty())
            .map(|key| names::data_name(Some(&own), &key))
            .collect();
        let is_former =
            |object: &&ObjectName| object.kind == "Target" && !imported.contains(&object.name);
        let former: Vec<_> = status
            .context_objects
            .iter()
            .filter(is_former)
            .cloned()
            .collect();
        for object in &former {
            delete_given(self.world, object).await?;
        }
        status
            .context_objects
            .retain(|object| !former.contains(object));
        Ok(())
    }

    /// Moves with the spec, with what is imported and with what is exported.
    fn generation(&self, wanted: &[Wanted]) -> String {
        let imports = self.world.status.imports.iter();
        let imports: Vec<_> = imports
            .map(|import| {
                let list = import
                    .target_list
                    .iter()
                    .map(|target| &target.config_generation);
                let map = import
                    .target_map
                    .iter()
                    .map(|(key, target)| (key, &target.config_generation));
                json!([
                    import.name,
                    import.config_generation,
                    list.collect::<Vec<_>>(),
                    map.collect::<Vec<_>>()
                ])
            })
            .collect();
        let exports: Vec<_> = wanted
            .iter()
            .map(|wanted| json!([wanted.kind, wanted.key, content::hash(&wanted.value)]))
            .collect();
        content::hash(&json!([
            self.world.status.observed_generation,
            imports,
            exports
        ]))
    }

    async fn render(&self, status: &mut InstallationStatus) -> Result<Vec<Wanted>, Stop> {
        let spec = &self.world.spec;
        if spec.exports.data.is_empty() && spec.exports.targets.is_empty() {
            return Ok(Vec::new());
        }
        let Ready {
            blueprint, input, ..
        } = update::prepare(self.context, self.blueprints, self.world)?;
        let mut values = self.values().await?;
        add_imports(&mut values, &blueprint, &input.imports);
        let rendered = blueprint
            .render_exports(&input, &values)
            .map_err(|error| invalid("CreateExports", "ExportExecutionFailed", &error))?;
        status.template_state.extend(rendered.state);
        warnings::of_exports(self.context, status, &rendered.warnings);
        let exports = rendered.value;
        let problems = blueprint.check_exports(&exports);
        if !problems.is_empty() {
            let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
            let message = texts.join("; ");
            return Err(Trouble::configuration("ValidateExport", "InvalidExports", message).into());
        }
        let mapped = map_data(MappingKind::Exports, &spec.export_data_mappings, &exports)
            .map_err(|error| invalid("CreateExports", "InvalidMapping", &error))?;
        let value = |name: &str| {
            let value = mapped.get(name).or_else(|| exports.get(name)).cloned();
            value.ok_or_else(|| {
                let message = format!(
                    "spec.exports names {name:?}, and neither the blueprint nor spec.exportDataMappings exports it"
                );
                Trouble::configuration("ValidateExport", "UndeclaredExport", message)
            })
        };
        let mut wanted = Vec::new();
        for export in &spec.exports.data {
            wanted.push(Wanted {
                kind: "DataObject",
                key: export.data_ref.clone(),
                value: value(&export.name)?,
            });
        }
        for export in &spec.exports.targets {
            wanted.push(Wanted {
                kind: "Target",
                key: export.target.clone(),
                value: value(&export.name)?,
            });
        }
        Ok(wanted)
    }

    /// What deploy items and nested installations export.
    async fn values(&self) -> Result<ExportValues, Stop> {
        let mut values = ExportValues::default();
        let own = names::installation_context(self.world.name());
        for (kind, child) in &self.world.children {
            match kind {
                ChildKind::Execution => {
                    let execution: Execution =
                        serde_json::from_value(child.data.clone()).unwrap_or_default();
                    if let Some(export) = &execution.status.export_ref {
                        let found = self.world.objects.get("DataObject", &export.name).await?;
                        // Who writes a status has no rights here by that: only the execution's own exports are read (C6).
                        let uid = child.metadata.uid.as_deref();
                        let items = found.filter(|found| is_owned_by(&found.metadata, uid));
                        values.deploy_items = items
                            .and_then(|found| {
                                serde_json::from_value(found.data["data"].clone()).ok()
                            })
                            .unwrap_or_default();
                    }
                }
                ChildKind::Installation => {
                    let exports = facts::read(child).spec.exports;
                    for export in &exports.data {
                        let name = names::data_name(Some(&own), &export.data_ref);
                        if let Some(value) = self.data("DataObject", &name, "data").await? {
                            values.data_objects.insert(export.data_ref.clone(), value);
                        }
                    }
                    for export in &exports.targets {
                        let name = names::data_name(Some(&own), &export.target);
                        if let Some(spec) = self.data("Target", &name, "spec").await? {
                            let target = json!({"metadata": {"name": name}, "spec": spec});
                            values.targets.insert(export.target.clone(), target);
                        }
                    }
                }
            }
        }
        Ok(values)
    }

    async fn data(&self, kind: &str, name: &str, field: &str) -> Result<Option<Value>, Stop> {
        let found = self.world.objects.get(kind, name).await?;
        Ok(found.map(|found| found.data[field].clone()))
    }
}

/// What is imported is in the context of the installation too, beside what nested installations export there.
fn add_imports(
    values: &mut ExportValues,
    blueprint: &Blueprint,
    imports: &BTreeMap<String, Value>,
) {
    for (key, value) in imports {
        let all = match blueprint.import(key).map(|import| &import.kind) {
            Some(ValueKind::Target { .. }) => &mut values.targets,
            Some(ValueKind::TargetList { .. } | ValueKind::TargetMap { .. }) => continue,
            Some(ValueKind::Data { .. }) | None => &mut values.data_objects,
        };
        all.entry(key.clone()).or_insert_with(|| value.clone());
    }
}
