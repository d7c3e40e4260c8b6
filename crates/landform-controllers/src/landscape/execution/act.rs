//! Carries out what was decided about an execution.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use kube::core::{DynamicObject, ObjectMeta};
use landform_api::landscaper::execution::{
    DeployItemTemplate, ExecutionGeneration, VersionedObject, VersionedReference,
};
use landform_api::landscaper::report::{WRITE_REFUSED, note_operation};
use landform_api::landscaper::{
    ConditionStatus, DeployItemSpec, ErrorCode, ExecutionPhase, ExecutionStatus, LastError,
    Operation, keys, labels,
};
use landform_decide::execution::{ABORTED, Action, Decision, INTERRUPTED, Problem};
use landform_engine::{Context, EventType, Failure, Outcome, write_time};
use serde_json::{Value, json};

use super::export;
use super::observe::{World, item_object};
use crate::landscape::objects::{is_owned_by, owner, set_label};
use crate::landscape::report::{Trouble, forget_refusal, set_condition, set_error};

/// One run of one execution.
pub(super) struct Act<'a> {
    context: &'a Context,
    world: World,
    status: ExecutionStatus,
    /// Whether this run has handed out an item.
    begun: bool,
}

impl<'a> Act<'a> {
    pub(super) fn new(context: &'a Context, world: World) -> Self {
        let status = world.execution.status.clone();
        Self {
            context,
            world,
            status,
            begun: false,
        }
    }

    pub(super) async fn carry_out(mut self, decision: Decision) -> Result<Outcome, Failure> {
        self.tell_operation();
        for action in decision.actions {
            if let Err(failure) = self.act(action).await {
                return self.fail(failure).await;
            }
        }
        self.tell(decision.phase, decision.problem);
        if decision.afterwards.is_empty() {
            forget_refusal(&mut self.status.last_error);
        }
        let namespace = self.world.objects.namespace().to_owned();
        let mut waiting_on = decision.waiting_on;
        for object in waiting_on
            .iter_mut()
            .filter_map(|waiting| waiting.object.as_mut())
        {
            object.namespace.clone_from(&namespace);
        }
        let first = waiting_on.first().map(|waiting| {
            let object = waiting.object.as_ref();
            let object = object.map(|object| format!("{} {}: ", object.kind, object.name));
            format!("{}{}", object.unwrap_or_default(), waiting.reason)
        });
        self.status.waiting_on = waiting_on;
        self.context.write_status(&self.status).await?;
        self.world.execution.status = self.status.clone();
        for action in decision.afterwards {
            if let Err(failure) = self.act(action).await {
                return self.fail(failure).await;
            }
        }
        Ok(first.map_or(Outcome::Done, Outcome::Wait))
    }

    /// An item that can't be written fails the execution as soon as nothing is at work. One that may be written later, when
    /// a quota has room for it, is tried again. Which items were written before is kept, so that the next try goes on with
    /// those that were not; what else the run found is not written.
    async fn fail(&mut self, failure: Failure) -> Result<Outcome, Failure> {
        let (reason, message, code) = match &failure {
            Failure::Refused(message) => (WRITE_REFUSED, message, None),
            Failure::Invalid(message) => {
                let code = ErrorCode::ConfigurationProblem;
                ("WriteInvalid", message, Some(code))
            }
            Failure::Conflict(_) | Failure::Transient(_) | Failure::Cancelled => {
                return Err(failure);
            }
        };
        let written = std::mem::replace(&mut self.status, self.world.execution.status.clone());
        self.status.deploy_item_refs = written.deploy_item_refs;
        self.status.exec_generations = written.exec_generations;
        let seen = self.world.observed();
        let phase = if self.begun || seen.items.iter().any(|item| !item.is_completed()) {
            ExecutionPhase::Progressing
        } else {
            ExecutionPhase::Failed
        };
        let problem = Problem {
            reason,
            message: message.clone(),
            code,
        };
        self.tell(Some(phase), Some(problem));
        self.status.waiting_on.clear();
        self.context.write_status(&self.status).await?;
        if let Some(Operation::Reconcile | Operation::ForceReconcile) = seen.operation {
            // What it asked for is noted item by item.
            self.act(Action::DropOperation).await?;
        }
        match failure {
            Failure::Invalid(_) => Ok(Outcome::Done),
            failure => Err(failure),
        }
    }

    /// Reports an unknown operation, which has no other effect.
    fn tell_operation(&mut self) {
        let now = write_time(self.context.now_ms());
        let annotations = self.world.metadata.annotations.as_ref();
        let operation = annotations.and_then(|all| all.get(keys::OPERATION));
        let operation = operation.map(String::as_str);
        let told = note_operation(&mut self.status.conditions, operation, &now);
        if let Some(message) = told {
            let warning = EventType::Warning;
            self.context.event(warning, "UnknownOperation", &message);
        }
    }

    fn tell(&mut self, phase: Option<ExecutionPhase>, problem: Option<Problem>) {
        let now = write_time(self.context.now_ms());
        if let Some(phase) = phase {
            self.status.phase = Some(phase);
            self.status.observed_generation = self.world.metadata.generation;
            let (status, reason) = match phase {
                ExecutionPhase::Succeeded => (ConditionStatus::True, "DeployItemsSucceeded"),
                ExecutionPhase::Failed => (ConditionStatus::False, "DeployItemsFailed"),
                ExecutionPhase::Init | ExecutionPhase::Progressing | ExecutionPhase::Deleting => {
                    (ConditionStatus::Progressing, "DeployItemsInWork")
                }
            };
            let message = problem.as_ref().map_or("", |problem| &problem.message);
            let conditions = &mut self.status.conditions;
            set_condition(
                conditions,
                "ReconcileDeployItems",
                status,
                reason,
                message,
                &now,
            );
            if phase == ExecutionPhase::Succeeded {
                self.status.last_error = None;
            }
        }
        if let Some(problem) = problem {
            let trouble = Trouble {
                operation: "ReconcileDeployItems".into(),
                reason: problem.reason.into(),
                message: problem.message,
                codes: problem.code.into_iter().collect(),
            };
            if set_error(&mut self.status.last_error, &trouble, &now) {
                let warning = EventType::Warning;
                self.context
                    .event(warning, &trouble.reason, &trouble.message);
            }
        } else if phase == Some(ExecutionPhase::Progressing)
            && self.status.last_error.as_ref().is_some_and(tells_a_stop)
        {
            self.status.last_error = None;
        }
    }

    async fn act(&mut self, action: Action) -> Result<(), Failure> {
        match action {
            Action::Hold => {
                let held = self.context.edit_metadata(|metadata| {
                    let finalizers = metadata.finalizers.get_or_insert_default();
                    if !finalizers.iter().any(|name| name == keys::FINALIZER) {
                        finalizers.push(keys::FINALIZER.to_owned());
                    }
                });
                held.await.map(drop)
            }
            Action::LetGo => {
                let released = self.context.edit_metadata(|metadata| {
                    if let Some(finalizers) = &mut metadata.finalizers {
                        finalizers.retain(|name| name != keys::FINALIZER);
                    }
                });
                released.await.map(drop)
            }
            Action::DropOperation => {
                let dropped = self.context.edit_metadata(|metadata| {
                    if let Some(annotations) = &mut metadata.annotations {
                        annotations.remove(keys::OPERATION);
                    }
                });
                dropped.await.map(drop)
            }
            Action::Outdate(names) => {
                let generations = &mut self.status.exec_generations;
                generations.retain(|found| !names.contains(&found.name));
                Ok(())
            }
            Action::Update(names) => self.update(&names).await,
            Action::Delete(objects) => self.delete(&objects).await,
            Action::Ask(operation, objects) => self.ask(operation, &objects).await,
            Action::KeepOutside(objects) => self.keep_outside(&objects).await,
            Action::PutRight(objects) => self.put_right(&objects).await,
            Action::CollectExports => {
                self.status.export_ref = export::collect(self.context, &self.world).await?;
                let wanted = &self.world.execution.spec.deploy_items;
                let is_wanted = |name: &str| wanted.iter().any(|item| item.name == name);
                let refs = &mut self.status.deploy_item_refs;
                refs.retain(|found| is_wanted(&found.name));
                let generations = &mut self.status.exec_generations;
                generations.retain(|found| is_wanted(&found.name));
                Ok(())
            }
        }
    }

    async fn update(&mut self, names: &[String]) -> Result<(), Failure> {
        let templates = self.world.execution.spec.deploy_items.clone();
        let generations = &mut self.status.exec_generations;
        generations.retain(|found| !names.contains(&found.name));
        for name in names {
            let Some(template) = templates.iter().find(|item| item.name == *name) else {
                continue;
            };
            let item = self.update_item(template).await?;
            self.begun = true;
            self.remember(name, &item);
        }
        Ok(())
    }

    async fn update_item(&self, template: &DeployItemTemplate) -> Result<DynamicObject, Failure> {
        let objects = &self.world.objects;
        let execution = &self.world.execution.spec;
        let spec = DeployItemSpec {
            kind: template.kind.clone(),
            context: execution.context.clone(),
            target: template.target.clone(),
            config: template.config.clone(),
            config_from: template.config_from.clone(),
            timeout: template.timeout.clone(),
            update_on_change_only: template.update_on_change_only,
        };
        let spec = serde_json::to_value(spec)
            .map_err(|error| Failure::Invalid(format!("an item can't be written: {error}")))?;
        let own = self.world.metadata.name.clone().unwrap_or_default();
        let now = write_time(self.context.now_ms());
        let depends_on = template.depends_on.join(",");
        if let Some((found, item)) = self.world.items.get(&template.name) {
            let mut wanted = found.clone();
            wanted.data["spec"] = spec;
            self.context.inherit(&mut wanted.metadata);
            let labels = wanted.metadata.labels.get_or_insert_default();
            labels.extend(template.labels.clone());
            self.own(&mut wanted.metadata, &template.name)?;
            let annotations = wanted.metadata.annotations.get_or_insert_default();
            if depends_on.is_empty() {
                annotations.remove(keys::DEPENDS_ON);
            } else {
                annotations.insert(keys::DEPENDS_ON.to_owned(), depends_on);
            }
            let unchanged = found.data["spec"] == wanted.data["spec"];
            let succeeded = item.status.phase == Some(ExecutionPhase::Succeeded);
            let only_changes = template.update_on_change_only == Some(true);
            if !(unchanged && succeeded && only_changes) {
                annotations.insert(keys::RECONCILE_TIME.to_owned(), now);
                // What was asked of the item as it was before is not asked of what it is now.
                annotations.remove(keys::OPERATION);
                annotations.remove(keys::ABORT_TIME);
            }
            return objects.write("DeployItem", found, &wanted).await;
        }
        let mut labels = template.labels.clone();
        let mut annotations = BTreeMap::from([(keys::RECONCILE_TIME.to_owned(), now)]);
        if !depends_on.is_empty() {
            annotations.insert(keys::DEPENDS_ON.to_owned(), depends_on);
        }
        labels::put(&mut labels, &mut annotations, keys::MANAGED_BY, &own);
        labels::put(
            &mut labels,
            &mut annotations,
            keys::ITEM_NAME,
            &template.name,
        );
        let name = item_object(&self.world.metadata, &template.name);
        let metadata = json!({
            "name": name, "labels": labels, "annotations": annotations,
            "ownerReferences": owner("Execution", &self.world.metadata),
        });
        let created = objects
            .create_part(self.context, "DeployItem", metadata, json!({"spec": spec}))
            .await?;
        // It was not there a moment ago, or it is another one's.
        created.ok_or_else(|| {
            Failure::Refused(format!(
                "the DeployItem {name}, which would be {:?}, exists and is not this execution's: delete it",
                template.name
            ))
        })
    }

    fn remember(&mut self, name: &str, item: &DynamicObject) {
        let generation = self.world.metadata.generation.unwrap_or_default();
        let status = &mut self.status;
        status.deploy_item_refs.retain(|found| found.name != name);
        status.deploy_item_refs.push(VersionedReference {
            name: name.to_owned(),
            reference: VersionedObject {
                name: item.metadata.name.clone().unwrap_or_default(),
                namespace: item.metadata.namespace.clone().unwrap_or_default(),
                observed_generation: item.metadata.generation.unwrap_or_default(),
            },
        });
        status.deploy_item_refs.sort_by(|a, b| a.name.cmp(&b.name));
        status.exec_generations.retain(|found| found.name != name);
        status.exec_generations.push(ExecutionGeneration {
            name: name.to_owned(),
            observed_generation: generation,
        });
        status.exec_generations.sort_by(|a, b| a.name.cmp(&b.name));
    }

    fn item(&self, object: &str) -> Option<&DynamicObject> {
        let mut items = self.world.items.values();
        let found = items.find(|(item, _)| item.metadata.name.as_deref() == Some(object));
        found.map(|(item, _)| item)
    }

    async fn delete(&self, objects: &[String]) -> Result<(), Failure> {
        let key = keys::DELETE_WITHOUT_UNINSTALL;
        let bare = self.world.observed().bare;
        for object in objects {
            let Some(item) = self.item(object) else {
                continue;
            };
            if bare {
                let passed_on = [(key, keys::TRUE)];
                self.world
                    .objects
                    .annotate("DeployItem", item, &passed_on)
                    .await?;
            }
            self.world
                .objects
                .delete("DeployItem", &item.metadata)
                .await?;
        }
        Ok(())
    }

    /// An item says whose it is.
    fn own(&self, item: &mut ObjectMeta, name: &str) -> Result<(), Failure> {
        let own = &self.world.metadata;
        set_label(
            item,
            keys::MANAGED_BY,
            own.name.as_deref().unwrap_or_default(),
        );
        set_label(item, keys::ITEM_NAME, name);
        if !is_owned_by(item, own.uid.as_deref()) {
            let owners = serde_json::from_value(owner("Execution", own));
            let owners = owners
                .map_err(|error| Failure::Invalid(format!("an item can't be written: {error}")))?;
            item.owner_references = Some(owners);
        }
        Ok(())
    }

    async fn put_right(&self, objects: &[String]) -> Result<(), Failure> {
        for (name, (found, _)) in &self.world.items {
            if objects.contains(&found.name_any()) {
                let mut wanted = found.clone();
                self.own(&mut wanted.metadata, name)?;
                let templates = &self.world.execution.spec.deploy_items;
                let template = templates.iter().find(|item| item.name == *name);
                let depends_on = template.map(|item| item.depends_on.join(","));
                let labels = wanted.metadata.labels.get_or_insert_default();
                labels.extend(template.map(|item| item.labels.clone()).unwrap_or_default());
                let annotations = wanted.metadata.annotations.get_or_insert_default();
                if let Some(depends_on) = depends_on.filter(|names| !names.is_empty()) {
                    let noted = annotations.entry(keys::DEPENDS_ON.to_owned());
                    noted.or_insert(depends_on);
                }
                self.world
                    .objects
                    .write("DeployItem", found, &wanted)
                    .await?;
            }
        }
        Ok(())
    }

    async fn keep_outside(&self, objects: &[String]) -> Result<(), Failure> {
        let bare = [(keys::DELETE_WITHOUT_UNINSTALL, keys::TRUE)];
        for item in objects.iter().filter_map(|object| self.item(object)) {
            let written = self.world.objects.annotate("DeployItem", item, &bare);
            written.await?;
        }
        Ok(())
    }

    async fn ask(&self, operation: Operation, objects: &[String]) -> Result<(), Failure> {
        let now = write_time(self.context.now_ms());
        for object in objects {
            let Some(item) = self.item(object) else {
                continue;
            };
            let mut annotations = vec![(keys::OPERATION, operation.as_str())];
            if operation == Operation::Abort {
                annotations.push((keys::ABORT_TIME, &now));
            }
            self.world
                .objects
                .annotate("DeployItem", item, &annotations)
                .await?;
        }
        Ok(())
    }
}

/// Whether an error says that the execution was stopped on request.
pub(super) fn tells_a_stop(error: &LastError) -> bool {
    [ABORTED, INTERRUPTED].contains(&error.reason.as_str())
}

/// An item's export, as one value.
pub(super) fn parse_export(bytes: &[u8]) -> Option<Value> {
    let budget = landform_yaml::Budget::OBJECT;
    landform_api::budget::decode(bytes, &budget)
        .ok()
        .or_else(|| {
            let text = std::str::from_utf8(bytes).ok()?;
            landform_yaml::parse_one(text, &budget).ok()
        })
}
