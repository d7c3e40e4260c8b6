//! The exports of an installation (I17): rendered from what nested objects export, checked, and written where
//! siblings and the parent find them.

use std::collections::BTreeSet;

use landform_api::landscaper::execution::Execution;
use landform_api::landscaper::installation::InstallationStatus;
use landform_api::landscaper::report::ObjectName;
use landform_api::landscaper::{ConditionStatus, names};
use landform_blueprint::{
    Blueprint, Guarded, GuardedExportValues, MASK, MappingKind, ValueKind, map_guarded,
};
use landform_decide::installation::ChildKind;
use landform_engine::{Context, Failure, write_time};
use serde_json::{Value, json};

use super::act::Stop;
use super::given::{Given, delete_given, write_given};
use super::observe::World;
use super::passed_on::keys_of;
use super::update::{self, Ready, invalid};
use super::{item_secrets, state, warnings};
use crate::landscape::blueprints::Blueprints;
use crate::landscape::content;
use crate::landscape::facts;
use crate::landscape::kept::{self, Whole};
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
    /// What may be shown of it.
    shown: Value,
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
        let mut hashes = Vec::new();
        for wanted in &wanted {
            let given = Given {
                kind: wanted.kind,
                context: scope.as_deref(),
                key: &wanted.key,
                source: &own,
                source_type: "export",
                content: &wanted.value,
                shown: &wanted.shown,
            };
            let hash = write_given(self.context, self.world, &given, &[]).await?;
            hashes.push(json!([wanted.kind, wanted.key, hash]));
        }
        let gone = before
            .iter()
            .filter(|object| !status.exported_objects.contains(object));
        for object in gone {
            delete_given(self.context, self.world, object).await?;
        }
        item_secrets::tidy(self.context, self.world, status).await?;
        self.drop_former_targets(status).await?;
        status.config_generation = self.generation(&hashes);
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
            delete_given(self.context, self.world, object).await?;
        }
        status
            .context_objects
            .retain(|object| !former.contains(object));
        Ok(())
    }

    /// Moves with the spec, with what is imported and with what is exported.
    fn generation(&self, exports: &[Value]) -> String {
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
            blueprint,
            mut inputs,
            ..
        } = update::prepare(self.context, self.blueprints, self.world).await?;
        let mut values = self.values().await?;
        add_imports(&mut values, &blueprint, inputs.imports());
        let (exports, found) =
            blueprint
                .guarded_exports(&mut inputs, &values)
                .map_err(|error| {
                    update::unusable(self.world, "CreateExports", "ExportExecutionFailed", &error)
                })?;
        state::write(self.context, self.world, &inputs.state(), status).await?;
        warnings::of_exports(self.context, status, &found);
        let problems = blueprint.check_guarded_exports(&exports);
        if !problems.is_empty() {
            let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
            let message = texts.join("; ");
            return Err(Trouble::configuration("ValidateExport", "InvalidExports", message).into());
        }
        let mapped = map_guarded(MappingKind::Exports, &spec.export_data_mappings, &exports)
            .map_err(|error| invalid("CreateExports", "InvalidMapping", &error))?;
        let value = |name: &str| {
            let of =
                |all: &Guarded| Some((all.values.get(name)?.clone(), all.shown(name)?.clone()));
            of(&mapped).or_else(|| of(&exports)).ok_or_else(|| {
                let message = format!(
                    "spec.exports names {name:?}, and neither the blueprint nor spec.exportDataMappings exports it"
                );
                Trouble::configuration("ValidateExport", "UndeclaredExport", message)
            })
        };
        let mut wanted = Vec::new();
        for export in &spec.exports.data {
            let (value, shown) = value(&export.name)?;
            wanted.push(Wanted {
                kind: "DataObject",
                key: export.data_ref.clone(),
                value,
                shown,
            });
        }
        for export in &spec.exports.targets {
            let (value, shown) = value(&export.name)?;
            wanted.push(Wanted {
                kind: "Target",
                key: export.target.clone(),
                value,
                shown,
            });
        }
        Ok(wanted)
    }

    /// What deploy items and nested installations export.
    async fn values(&self) -> Result<GuardedExportValues, Stop> {
        let mut values = GuardedExportValues::default();
        let own = names::installation_context(self.world.name());
        for (kind, child) in &self.world.children {
            match kind {
                ChildKind::Execution => {
                    let execution: Execution =
                        serde_json::from_value(child.data.clone()).unwrap_or_default();
                    if let Some(export) = &execution.status.export_ref {
                        // Who writes a status has no rights here by that: only the execution's own exports are read (C6).
                        let uid = child.metadata.uid.as_deref();
                        let found = self.whole("DataObject", &export.name, uid).await?;
                        let found = found.unwrap_or_default();
                        values.deploy_items = by_name(&found);
                    }
                }
                ChildKind::Installation => {
                    let exports = facts::read(child).spec.exports;
                    for export in &exports.data {
                        let name = names::data_name(Some(&own), &export.data_ref);
                        if let Some((value, shown)) = self.whole("DataObject", &name, None).await? {
                            let all = &mut values.data_objects;
                            all.insert(export.data_ref.clone(), value, shown);
                        }
                    }
                    for export in &exports.targets {
                        let name = names::data_name(Some(&own), &export.target);
                        if let Some((value, shown)) = self.whole("Target", &name, None).await? {
                            let all = &mut values.targets;
                            all.insert(export.target.clone(), value, shown);
                        }
                    }
                }
            }
        }
        Ok(values)
    }

    /// What a DataObject or a Target holds, with what may be shown of it.
    async fn whole(
        &self,
        kind: &str,
        name: &str,
        owner: Option<&str>,
    ) -> Result<Option<(Value, Value)>, Stop> {
        let found = self.world.objects.get(kind, name).await?;
        let found = found.filter(|found| owner.is_none() || is_owned_by(&found.metadata, owner));
        let Some(found) = found else {
            return Ok(None);
        };
        let whole = kept::whole(self.context, &self.world.objects, kind, &found).await?;
        let value = match whole {
            Whole::Plain => None,
            Whole::Value(value) => Some(value),
            Whole::Unusable(why) => {
                let message = format!("the {kind} {name} can't be read: {why}");
                return Err(Failure::Refused(message).into());
            }
        };
        if kind == "Target" {
            let (target, shown) = content::of_guarded_target(&found, value.as_ref());
            let exported =
                |target: Value| json!({"metadata": {"name": name}, "spec": target["spec"]});
            return Ok(Some((exported(target), exported(shown))));
        }
        let shown = found.data["data"].clone();
        Ok(Some((value.unwrap_or_else(|| shown.clone()), shown)))
    }
}

/// A map as values by name.
fn by_name((value, shown): &(Value, Value)) -> Guarded {
    let mut all = Guarded::default();
    for (name, value) in value.as_object().into_iter().flatten() {
        let mask = Value::from(MASK);
        let shown = shown.get(name).unwrap_or(&mask);
        all.insert(name.clone(), value.clone(), shown.clone());
    }
    all
}

/// What is imported is in the context of the installation too, beside what nested installations export there.
fn add_imports(values: &mut GuardedExportValues, blueprint: &Blueprint, imports: Guarded) {
    let Guarded {
        values: imports,
        mut shown,
    } = imports;
    for (key, value) in imports {
        let all = match blueprint.import(&key).map(|import| &import.kind) {
            Some(ValueKind::Target { .. }) => &mut values.targets,
            Some(ValueKind::TargetList { .. } | ValueKind::TargetMap { .. }) => continue,
            Some(ValueKind::Data { .. }) | None => &mut values.data_objects,
        };
        if !all.values.contains_key(&key) {
            if let Some(shown) = shown.remove(&key) {
                all.shown.insert(key.clone(), shown);
            }
            all.values.insert(key, value);
        }
    }
}
