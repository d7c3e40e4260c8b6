//! The update of an installation (I15): imports are collected and checked, the blueprint is rendered, nested
//! objects are written, and what was taken is noted.
//!
//! Everything that can be wrong with a blueprint or a value is found before anything is written (I41).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::Budget;
use landform_api::budget::Size;
use landform_api::landscaper::execution::ExecutionSpec;
use landform_api::landscaper::installation::{
    InstallationSpec, InstallationStatus, NamedReference, ObjectReference,
};
use landform_api::landscaper::report::ObjectName;
use landform_api::landscaper::{ConditionStatus, Operation, keys, labels, names};
use landform_blueprint::{
    Blueprint, BlueprintError, Component, DeployItemTemplate, Guarded, Input, Inputs, MappingKind,
    Problem, SubinstallationTemplate, map_guarded,
};
use landform_decide::installation::ChildKind;
use landform_engine::{Context, Failure, write_time};
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::act::Stop;
use super::given::{Given, delete_given, write_given};
use super::observe::World;
use super::passed_on::{named_targets, passed_on};
use super::{item_secrets, state, warnings};
use crate::landscape::blueprints::Blueprints;
use crate::landscape::content;
use crate::landscape::facts::{DELETION_FAILED, operation_of};
use crate::landscape::objects::{is_owned_by, labelled, owner, set_label};
use crate::landscape::rename;
use crate::landscape::report::{Trouble, set_condition};

/// One update.
pub(super) struct Update<'a> {
    pub(super) context: &'a Context,
    pub(super) blueprints: &'a Blueprints,
    pub(super) world: &'a World,
    pub(super) force: bool,
}

/// A blueprint with all that its templates need.
pub(super) struct Ready {
    pub(super) blueprint: Arc<Blueprint>,
    pub(super) inputs: Inputs,
    /// Those of import executors.
    pub(super) warnings: Vec<Problem>,
}

/// Reads the blueprint and gives it its imports. Nothing is written.
pub(super) async fn prepare(
    context: &Context,
    blueprints: &Blueprints,
    world: &World,
) -> Result<Ready, Stop> {
    let blueprint = blueprints.load(&world.spec.blueprint)?;
    let mut given = given_imports(world)?;
    let mapped = map_guarded(
        MappingKind::Imports,
        &world.spec.import_data_mappings,
        &given,
    );
    given.extend(mapped.map_err(|error| invalid("ValidateImports", "InvalidMapping", &error))?);
    let imports = blueprint.complete_guarded(&given).map_err(|problems| {
        let texts: Vec<_> = problems.iter().map(ToString::to_string).collect();
        Trouble::configuration("ValidateImports", "InvalidImports", texts.join("; "))
    })?;
    let nanos = i128::from(context.now_ms()) * 1_000_000;
    let component = serde_json::to_value(&world.spec.component_descriptor).unwrap_or_default();
    let component = Component::read(&component)
        .map_err(|error| invalid("ReadBlueprint", "InvalidComponentDescriptor", &error))?;
    let rest = Input {
        component,
        blueprint: serde_json::to_value(&world.spec.blueprint).unwrap_or_default(),
        installation: json!({
            "name": world.name(), "namespace": world.objects.namespace(),
        }),
        now: OffsetDateTime::from_unix_timestamp_nanos(nanos).ok(),
        ..Input::default()
    };
    let state = state::read(context, world).await?;
    let shown = std::mem::take(&mut given.shown);
    drop(given);
    let mut inputs = Inputs::new(imports, &shown, &state, rest);
    let warnings = blueprint
        .bind(&mut inputs)
        .map_err(|error| unusable(world, "ValidateImports", "ImportExecutionFailed", &error))?;
    Ok(Ready {
        blueprint,
        inputs,
        warnings,
    })
}

/// A copy of what is imported, unless it is more than a run may work with.
fn given_imports(world: &World) -> Result<Guarded, Trouble> {
    let found = world.imports.iter();
    let found: Vec<_> = found
        .filter_map(|found| Some((&found.status.name, found.content.as_ref()?)))
        .collect();
    let Budget { cells, bytes, .. } = Budget::RUN;
    let mut all = Size::default();
    for (_, content) in &found {
        let size = Size::of(content.value());
        all.cells += size.cells;
        all.bytes += size.bytes;
    }
    if all.cells > cells || all.bytes > bytes {
        let message = format!(
            "the imports are too much together, more than {bytes} bytes or {cells} cells (a map counts 8, a list 4, any other value 1): import less, or smaller objects"
        );
        return Err(Trouble::configuration(
            "ValidateImports",
            "ImportsTooLarge",
            message,
        ));
    }
    let mut given = Guarded::default();
    for (name, content) in found {
        given.values.insert(name.clone(), content.value().clone());
        if let Some(shown) = content.shown() {
            given.shown.insert(name.clone(), shown);
        }
    }
    Ok(given)
}

pub(super) fn invalid(operation: &str, reason: &str, error: &BlueprintError) -> Trouble {
    Trouble::configuration(operation, reason, error.to_string())
}

/// What is wrong with the blueprint itself. Several have a `blueprint.yaml`, so the error says which directory it is in.
pub(super) fn unusable(
    world: &World,
    operation: &str,
    reason: &str,
    error: &BlueprintError,
) -> Trouble {
    let message = match &world.spec.blueprint.path {
        Some(path) => format!("{path}: {error}"),
        None => error.to_string(),
    };
    Trouble::configuration(operation, reason, message)
}

impl Update<'_> {
    pub(super) async fn carry_out(&self, status: &mut InstallationStatus) -> Result<(), Stop> {
        let Ready {
            blueprint,
            mut inputs,
            mut warnings,
        } = prepare(self.context, self.blueprints, self.world).await?;
        let (nested, of_nested) =
            blueprint
                .guarded_subinstallations(&mut inputs)
                .map_err(|error| {
                    unusable(
                        self.world,
                        "EnsureSubInstallations",
                        "InvalidBlueprint",
                        &error,
                    )
                })?;
        let (items, of_items) = blueprint.guarded_items(&mut inputs).map_err(|error| {
            unusable(self.world, "EnsureExecutions", "InvalidBlueprint", &error)
        })?;
        warnings.extend(of_nested);
        warnings.extend(of_items);

        // From here on things are written; each is found again if the rest fails.
        let imports = if nested.is_empty() {
            Guarded::default()
        } else {
            inputs.imports()
        };
        self.write_context(&blueprint, &imports, &nested, status)
            .await?;
        drop(imports);
        let items = item_secrets::keep(self, items, status).await?;
        let secret_exports = blueprint
            .definition
            .exports
            .iter()
            .any(|found| found.secret);
        self.write_execution(items, secret_exports, status).await?;
        self.write_nested(nested, status).await?;

        warnings::of_update(self.context, status, &warnings);
        state::write(self.context, self.world, &inputs.state(), status).await?;
        let imports = self.world.imports.iter();
        status.imports = imports.map(|found| found.status.clone()).collect();
        status.observed_generation = self.world.metadata.generation;
        note_blueprint(self.world, status);
        let now = write_time(self.context.now_ms());
        for condition in [
            "ValidateImports",
            "CreateImports",
            "EnsureSubInstallations",
            "EnsureExecutions",
        ] {
            let conditions = &mut status.conditions;
            set_condition(
                conditions,
                condition,
                ConditionStatus::True,
                "Done",
                "",
                &now,
            );
        }
        Ok(())
    }

    /// Writes the imports where nested installations find them, and removes those that were there before.
    async fn write_context(
        &self,
        blueprint: &Blueprint,
        imports: &Guarded,
        nested: &[SubinstallationTemplate],
        status: &mut InstallationStatus,
    ) -> Result<(), Stop> {
        let own = names::installation_context(self.world.name());
        let wanted = if nested.is_empty() {
            Vec::new()
        } else {
            passed_on(blueprint, imports, nested)
        };
        let before = std::mem::take(&mut status.context_objects);
        status.context_objects = wanted
            .iter()
            .map(|passed| ObjectName {
                kind: passed.kind.to_owned(),
                name: names::data_name(Some(&own), &passed.key()),
                ..ObjectName::default()
            })
            .collect();
        if before != status.context_objects {
            // What is written is noted before it is, so that nothing is left behind.
            let mut noted = before.clone();
            noted.extend(status.context_objects.iter().cloned());
            noted.sort();
            noted.dedup();
            let both = InstallationStatus {
                context_objects: noted,
                ..status.clone()
            };
            self.context.write_status(&both).await?;
        }
        for passed in wanted {
            let given = Given {
                kind: passed.kind,
                context: Some(&own),
                key: &passed.key(),
                source: &own,
                source_type: "import",
                content: passed.value,
                shown: passed.shown,
            };
            write_given(self.context, self.world, &given, &passed.labels()).await?;
        }
        let named = named_targets(nested).into_iter();
        let named: BTreeSet<_> = named.map(|key| names::data_name(Some(&own), key)).collect();
        for object in before {
            if status.context_objects.contains(&object) {
                continue;
            }
            if object.kind == "Target" && !named.contains(&object.name) {
                // What was deployed there is removed first: it goes when all below has come to its end.
                status.context_objects.push(object);
            } else {
                delete_given(self.context, self.world, &object).await?;
            }
        }
        Ok(())
    }

    async fn write_execution(
        &self,
        items: Vec<DeployItemTemplate>,
        secret_exports: bool,
        status: &mut InstallationStatus,
    ) -> Result<(), Stop> {
        let world = self.world;
        let found = world.execution();
        if items.is_empty() {
            if let Some(found) = found {
                world.objects.delete("Execution", &found.metadata).await?;
            }
            status.execution_ref = None;
            return Ok(());
        }
        let spec = ExecutionSpec {
            context: world.spec.context.clone(),
            deploy_items: items,
            secret_exports,
        };
        let spec = serde_json::to_value(spec).map_err(unwritable)?;
        match found {
            Some(found) => self.replace("Execution", found, None, spec).await?,
            None => {
                let hash = content::hash_of_spec("Execution", &spec);
                let mut metadata = json!({
                    "name": world.name(), "ownerReferences": owner("Installation", &world.metadata),
                    "annotations": {keys::SPEC_HASH: hash},
                });
                if self.force {
                    let force = Operation::ForceReconcile.as_str();
                    metadata["annotations"][keys::OPERATION] = json!(force);
                }
                let created = world.objects.create_part(
                    self.context,
                    "Execution",
                    metadata,
                    json!({"spec": spec}),
                );
                if created.await?.is_none() {
                    let message = format!(
                        "the Execution {} exists and is not this installation's: delete it, or give the installation another name",
                        world.name()
                    );
                    return Err(Trouble {
                        codes: Vec::new(),
                        ..Trouble::configuration("EnsureExecutions", "NameTaken", message)
                    }
                    .into());
                }
            }
        }
        status.execution_ref = Some(ObjectReference {
            name: world.name().to_owned(),
            namespace: world.objects.namespace().to_owned(),
        });
        Ok(())
    }

    /// Gives a nested object the spec that it should have, and whatever else others have taken away from it.
    async fn replace(
        &self,
        kind: &str,
        found: &DynamicObject,
        template: Option<&str>,
        spec: Value,
    ) -> Result<(), Stop> {
        if found.metadata.deletion_timestamp.is_some() {
            return Err(must_be_gone(kind, found));
        }
        let mut wanted = found.clone();
        wanted.data["spec"] = spec;
        self.context.inherit(&mut wanted.metadata);
        let annotations = wanted.metadata.annotations.get_or_insert_default();
        let hash = content::hash_of_spec(kind, &wanted.data["spec"]);
        annotations.insert(keys::SPEC_HASH.to_owned(), hash);
        if let Some(template) = template {
            annotations.insert(keys::SUBINSTALLATION_NAME.to_owned(), template.to_owned());
        }
        let uid = self.world.metadata.uid.as_deref();
        if !is_owned_by(&found.metadata, uid) {
            let owners = serde_json::from_value(owner("Installation", &self.world.metadata));
            wanted.metadata.owner_references = Some(owners.map_err(unwritable)?);
        }
        let parent = labelled(found, keys::ENCOMPASSED_BY);
        if kind == "Installation" && parent.is_none_or(|parent| parent != self.world.name()) {
            // This one has another name than before; what is nested in it looks for its imports by that.
            set_label(
                &mut wanted.metadata,
                keys::ENCOMPASSED_BY,
                self.world.name(),
            );
            rename::ask_to_run(&mut wanted);
        }
        if is_aborted(found) {
            // What was aborted belonged to what this one was before.
            rename::ask_to_run(&mut wanted);
        }
        if self.force {
            let annotations = wanted.metadata.annotations.get_or_insert_default();
            let force = Operation::ForceReconcile.as_str();
            annotations.insert(keys::OPERATION.to_owned(), force.to_owned());
        }
        self.world.objects.write(kind, found, &wanted).await?;
        Ok(())
    }

    async fn write_nested(
        &self,
        templates: Vec<SubinstallationTemplate>,
        status: &mut InstallationStatus,
    ) -> Result<(), Stop> {
        let world = self.world;
        let existing: BTreeMap<String, &DynamicObject> = world
            .children
            .iter()
            .filter(|(kind, _)| *kind == ChildKind::Installation)
            .filter_map(|(_, object)| Some((template_name(&world.status, object)?, object)))
            .collect();
        let wanted: BTreeSet<String> = templates.iter().map(|found| found.name.clone()).collect();
        // What goes makes room for what comes: a new one may export what an old one did.
        for (name, object) in &existing {
            if !wanted.contains(name) {
                let metadata = &object.metadata;
                world.objects.delete("Installation", metadata).await?;
            }
        }
        let mut refs = Vec::new();
        for template in templates {
            let name = template.name.clone();
            let spec: InstallationSpec = template.into_spec(world.spec.context.clone());
            let spec = serde_json::to_value(spec).map_err(unwritable)?;
            let object = match existing.get(&name) {
                Some(found) => {
                    self.replace("Installation", found, Some(&name), spec)
                        .await?;
                    found.name_any()
                }
                None => self.create_nested(&name, spec).await?,
            };
            refs.push(NamedReference {
                name,
                reference: ObjectReference {
                    name: object,
                    namespace: world.objects.namespace().to_owned(),
                },
            });
        }
        refs.sort();
        status.installation_refs = refs;
        Ok(())
    }

    /// Why a nested installation can't be made.
    async fn taken(&self, name: &str, object: &str) -> Result<Stop, Stop> {
        let found = self.world.objects.get("Installation", object).await?;
        let uid = self.world.metadata.uid.as_deref();
        if found.is_none_or(|found| is_owned_by(&found.metadata, uid)) {
            // Made by a run that did not come to its end, and not in the index yet: the next run sees it.
            let what = format!("the Installation {object} exists already");
            return Ok(Failure::Conflict(what).into());
        }
        let message = format!(
            "the Installation {object}, which would be the nested {name:?}, exists and is not this installation's: delete it"
        );
        let trouble = Trouble::configuration("EnsureSubInstallations", "NameTaken", message);
        Ok(Trouble {
            codes: Vec::new(),
            ..trouble
        }
        .into())
    }

    async fn create_nested(&self, name: &str, spec: Value) -> Result<String, Stop> {
        let world = self.world;
        let uid = world.metadata.uid.as_deref().unwrap_or_default();
        let object = names::generated(&format!("{name}-"), uid, name);
        let hash = content::hash_of_spec("Installation", &spec);
        let mut annotations = BTreeMap::from([
            (keys::SUBINSTALLATION_NAME.to_owned(), name.to_owned()),
            (keys::SPEC_HASH.to_owned(), hash),
        ]);
        if self.force {
            let force = Operation::ForceReconcile.as_str();
            annotations.insert(keys::OPERATION.to_owned(), force.to_owned());
        }
        let mut labels = BTreeMap::new();
        labels::put(
            &mut labels,
            &mut annotations,
            keys::ENCOMPASSED_BY,
            world.name(),
        );
        let metadata = json!({
            "name": object, "labels": labels, "annotations": annotations,
            "ownerReferences": owner("Installation", &world.metadata),
        });
        let created = world.objects.create_part(
            self.context,
            "Installation",
            metadata,
            json!({"spec": spec}),
        );
        if created.await?.is_none() {
            return Err(self.taken(name, &object).await?);
        }
        Ok(object)
    }
}

/// Notes which files of the blueprint an update has used.
pub(super) fn note_blueprint(world: &World, status: &mut InstallationStatus) {
    match (&world.blueprint_digest, &world.spec.blueprint.path) {
        (Some(digest), _) => status.blueprint_digest.clone_from(digest),
        (None, None) => status.blueprint_digest.clear(),
        // It isn't known what has changed.
        (None, Some(_)) => {}
    }
}

/// A nested object that is being deleted is made again when it is gone (I5b). One that can't go needs a person (I35b).
fn must_be_gone(kind: &str, found: &DynamicObject) -> Stop {
    let name = found.name_any();
    let status = &found.data["status"];
    let error = status["lastError"]["message"].as_str();
    match error.filter(|_| status["phase"] == "Failed") {
        Some(error) => Stop::Blocked(Trouble {
            operation: "Update".into(),
            reason: DELETION_FAILED.into(),
            message: format!(
                "the {kind} {name} is being deleted and must be gone first, which has failed: {error}"
            ),
            codes: Vec::new(),
        }),
        None => Stop::Wait(ObjectName {
            kind: kind.to_owned(),
            name,
            ..ObjectName::default()
        }),
    }
}

/// Whether a nested installation or execution was aborted, and is not asked for anything.
fn is_aborted(found: &DynamicObject) -> bool {
    let status = &found.data["status"];
    // An execution has no phase of its own for it.
    let failed = status["phase"] == "Failed" && status["lastError"]["reason"] == "Aborted";
    (failed || status["phase"] == "Aborted") && operation_of(found).is_none()
}

/// Which of the blueprint's an installation is: as it was recorded, or else as it says itself, which others may have edited.
fn template_name(status: &InstallationStatus, object: &DynamicObject) -> Option<String> {
    let mut refs = status.installation_refs.iter();
    let recorded = refs.find(|found| found.reference.name == object.name_any());
    let noted = object.annotations().get(keys::SUBINSTALLATION_NAME);
    recorded.map(|found| found.name.clone()).or(noted.cloned())
}

pub(super) fn unwritable(error: serde_json::Error) -> Stop {
    Stop::Failure(Failure::Invalid(format!(
        "an object can't be written: {error}"
    )))
}
