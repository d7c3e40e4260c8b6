//! Carries out what was decided about an installation.

use kube::core::ObjectMeta;
use landform_api::landscaper::installation::InstallationStatus;
use landform_api::landscaper::report::{CONDITION_OPERATION, ObjectName, note_operation};
use landform_api::landscaper::{
    ConditionStatus, InstallationPhase, LastError, Operation, WaitingOn, keys,
};
use landform_decide::Rule;
use landform_decide::installation::{Action, ChildKind, Decision, Problem};
use landform_engine::{Context, EventType, Failure, Outcome, RIGHTS_RECHECK, write_time};

use super::observe::{World, annotation, word};
use super::{automatic, export, moment, update};
use crate::landscape::blueprints::Blueprints;
use crate::landscape::facts;
use crate::landscape::index::Index;
use crate::landscape::report::{Trouble, forget_refusal, set_condition, set_error};

/// What is waited for when nothing else is.
const AUTOMATIC: &str = "the next automatic reconcile";
/// A dependency whose imports have changed is looked at again after this time.
const OUTDATED_LOOK_MS: u64 = 2_000;

/// The reason of the error of one that can't go because others import from it.
const SIBLING_IMPORTS: &str = "SiblingImports";

/// One run of one installation.
pub(super) struct Act<'a> {
    context: &'a Context,
    index: &'a Index,
    blueprints: &'a Blueprints,
    metadata: ObjectMeta,
    status: InstallationStatus,
}

/// How one round of a run ended.
pub(super) enum End {
    /// As decided.
    Settled(Outcome),
    /// Something stood in the way: no further round.
    Stopped(Outcome),
}

/// Why an action could not be carried out.
pub(super) enum Stop {
    /// The API, or the process, could not.
    Failure(Failure),
    /// A person must know.
    Trouble(Trouble),
    /// This object must go first; its end brings the next run.
    Wait(ObjectName),
    /// Something must go first and can't; its end brings the next run.
    Blocked(Trouble),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl<'a> Act<'a> {
    pub(super) fn new(
        context: &'a Context,
        index: &'a Index,
        blueprints: &'a Blueprints,
    ) -> Result<Self, Failure> {
        let status = context.object().data.get("status").cloned();
        let status = status
            .map_or_else(|| Ok(InstallationStatus::default()), serde_json::from_value)
            .map_err(|error| Failure::Invalid(format!("the status can't be read: {error}")))?;
        Ok(Self {
            context,
            index,
            blueprints,
            metadata: context.object().metadata.clone(),
            status,
        })
    }

    /// Lets it have an update (I13), whatever its status says: it was renamed, and these objects were written for what
    /// is nested in it. One that was aborted stays so.
    pub(super) fn begin_anew(&mut self, written: Vec<ObjectName>) {
        self.status.observed_generation = None;
        if self.status.phase == Some(InstallationPhase::Failed) {
            self.status.ended_generation = None;
        }
        let objects = &mut self.status.context_objects;
        objects.extend(written);
        objects.sort();
        objects.dedup();
    }

    pub(super) fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    pub(super) fn status(&self) -> &InstallationStatus {
        &self.status
    }

    pub(super) async fn carry_out(
        &mut self,
        world: &World,
        decision: Decision,
    ) -> Result<End, Failure> {
        self.tell_operation();
        for action in &decision.actions {
            match self.act(world, action).await {
                Ok(()) => {}
                Err(stop) => return self.stop_by(world, stop).await,
            }
        }
        self.tell(world, &decision);
        let status = &mut self.status;
        let deployed = status.observed_generation == self.metadata.generation;
        if status.blueprint_digest.is_empty() && deployed && !world.observed().update_required() {
            // It was updated before sums were recorded: what is there now counts as what was used.
            update::note_blueprint(world, status);
        }
        let waiting = self.wait_on(world, &decision);
        let waits = self.status.phase == Some(InstallationPhase::PendingDependencies);
        if waits && decision.actions.is_empty() && self.context.is_cancelled() {
            // It may be in a circle since, which the engine has told it: that is not to be written over.
            return Err(Failure::Cancelled);
        }
        self.context.write_status(&self.status).await?;
        for action in &decision.afterwards {
            match self.act(world, action).await {
                Ok(()) => {}
                Err(Stop::Failure(failure)) => return Err(failure),
                Err(stop) => return self.stop_by(world, stop).await,
            }
        }
        Ok(End::Settled(match waiting {
            // No event says that a right was granted.
            Some(_) if world.lacks_rights => Outcome::Recheck(RIGHTS_RECHECK),
            None => match decision.look_ms {
                Some(at_ms) => Outcome::WaitUntil(AUTOMATIC.into(), at_ms),
                None => Outcome::Done,
            },
            // A dependency whose import changes back writes nothing that would bring a run of this one.
            Some(on) if waits_for_outdated(world) => {
                Outcome::WaitUntil(on, self.context.now_ms() + OUTDATED_LOOK_MS)
            }
            Some(on) => match decision.look_ms {
                Some(at_ms) => Outcome::WaitUntil(on, at_ms),
                None => Outcome::Wait(on),
            },
        }))
    }

    fn wait_on(&mut self, world: &World, decision: &Decision) -> Option<String> {
        let mut waiting_on = decision.waiting_on.clone();
        for object in waiting_on
            .iter_mut()
            .filter_map(|waiting| waiting.object.as_mut())
        {
            if object.namespace.is_empty() {
                object.namespace = world.objects.namespace().to_owned();
            }
        }
        let first = waiting_on.first().map(|waiting| {
            let object = waiting.object.as_ref();
            let object = object.map(|object| format!("{} {}: ", object.kind, object.name));
            format!("{}{}", object.unwrap_or_default(), waiting.reason)
        });
        self.status.waiting_on = waiting_on;
        first
    }

    async fn stop_by(&mut self, world: &World, stop: Stop) -> Result<End, Failure> {
        match stop {
            Stop::Failure(failure) => self.fail(world, failure).await,
            Stop::Trouble(trouble) => self.stop(world, &trouble).await,
            Stop::Wait(object) => {
                self.status.phase = Some(InstallationPhase::Progressing);
                let waiting = WaitingOn {
                    rule: Rule::I5b.to_string(),
                    object: Some(ObjectName {
                        namespace: world.objects.namespace().to_owned(),
                        ..object.clone()
                    }),
                    reason: "it is being deleted and must be gone first".into(),
                };
                let on = format!("{} {}: {}", object.kind, object.name, waiting.reason);
                self.status.waiting_on = vec![waiting];
                self.context.write_status(&self.status).await?;
                Ok(End::Stopped(Outcome::Wait(on)))
            }
            Stop::Blocked(trouble) => {
                let on = trouble.message.clone();
                self.note(&trouble);
                self.end_as(world, InstallationPhase::Failed);
                self.status.waiting_on.clear();
                self.context.write_status(&self.status).await?;
                Ok(End::Stopped(Outcome::Wait(on)))
            }
        }
    }

    /// Something is wrong that was found while acting. What is fatal fails the installation at once;
    /// anything else is tried again.
    async fn stop(&mut self, world: &World, trouble: &Trouble) -> Result<End, Failure> {
        self.note(trouble);
        if trouble.is_fatal() {
            self.end_as(world, InstallationPhase::Failed);
        }
        self.status.waiting_on.clear();
        self.context.write_status(&self.status).await?;
        if trouble.is_fatal() {
            // What was asked for has been done, with this end. A force goes on by its note in the status.
            let asked = annotation(&self.metadata, keys::OPERATION).and_then(Operation::parse);
            if let Some(Operation::Reconcile | Operation::ForceReconcile) = asked {
                self.drop_operation().await?;
            }
            Ok(End::Stopped(Outcome::Done))
        } else {
            Err(Failure::Transient(trouble.message.clone()))
        }
    }

    /// What can't be written fails the installation: nothing is at work. What may be written later is tried again.
    async fn fail(&mut self, world: &World, failure: Failure) -> Result<End, Failure> {
        let Some(trouble) = Trouble::of_write("Reconcile", &failure) else {
            return Err(failure);
        };
        if !trouble.is_fatal() {
            self.end_as(world, InstallationPhase::Failed);
        }
        self.stop(world, &trouble).await
    }

    fn end_as(&mut self, world: &World, phase: InstallationPhase) {
        self.status.phase = Some(phase);
        self.status.ended_generation = self.metadata.generation;
        self.status.ended_imports = world.digest_of_imports();
        self.status.ended_blueprint = world.blueprint_digest.clone().unwrap_or_default();
    }

    fn note(&mut self, trouble: &Trouble) {
        let now = write_time(self.context.now_ms());
        if set_error(&mut self.status.last_error, trouble, &now) {
            let warning = EventType::Warning;
            self.context
                .event(warning, &trouble.reason, &trouble.message);
        }
        if let Some(condition) = condition_of(&trouble.operation) {
            let conditions = &mut self.status.conditions;
            let (reason, message) = (&trouble.reason, &trouble.message);
            set_condition(
                conditions,
                condition,
                ConditionStatus::False,
                reason,
                message,
                &now,
            );
        }
    }

    /// Reports an unknown operation, which has no other effect.
    fn tell_operation(&mut self) {
        let now = write_time(self.context.now_ms());
        let operation = annotation(&self.metadata, keys::OPERATION);
        let told = note_operation(&mut self.status.conditions, operation, &now);
        if let Some(message) = told {
            let warning = EventType::Warning;
            self.context.event(warning, "UnknownOperation", &message);
        }
    }

    fn tell(&mut self, world: &World, decision: &Decision) {
        if let Some(phase) = decision.phase {
            match phase {
                InstallationPhase::Failed | InstallationPhase::Aborted => self.end_as(world, phase),
                InstallationPhase::Init
                | InstallationPhase::PendingDependencies
                | InstallationPhase::Progressing
                | InstallationPhase::Deleting
                | InstallationPhase::Succeeded => {
                    self.status.phase = Some(phase);
                    self.status.ended_generation = None;
                    self.status.ended_imports.clear();
                    self.status.ended_blueprint.clear();
                }
            }
            if phase == InstallationPhase::Aborted {
                self.status.force_begun = false;
            }
            if phase == InstallationPhase::Succeeded {
                self.status.last_error = None;
                self.nothing_is_wrong();
            }
        }
        match &decision.problem {
            Some(problem) => self.note(&trouble_of(problem)),
            // What was waited for is there.
            None if decision.rule == Some(Rule::I15) || decision.rule == Some(Rule::I21) => {
                self.status.last_error = None;
            }
            None => self.forget_importers(),
        }
        let all_is_written = decision.problem.is_none() && decision.afterwards.is_empty();
        if all_is_written && forget_refusal(&mut self.status.last_error) {
            // That was why it had ended.
            self.status.ended_generation = None;
            self.status.ended_imports.clear();
            self.status.ended_blueprint.clear();
        }
    }

    /// Those that imported from it hold its deletion no longer.
    fn forget_importers(&mut self) {
        let held = |error: &LastError| error.reason == SIBLING_IMPORTS;
        if self.status.last_error.as_ref().is_some_and(held) {
            self.status.last_error = None;
        }
    }

    /// What was wrong may have passed without an update, such as an import that was not seen for a moment.
    fn nothing_is_wrong(&mut self) {
        let now = write_time(self.context.now_ms());
        let conditions = &mut self.status.conditions;
        let all: Vec<String> = conditions.iter().map(|found| found.kind.clone()).collect();
        for condition in all.into_iter().filter(|kind| kind != CONDITION_OPERATION) {
            let done = ConditionStatus::True;
            set_condition(conditions, &condition, done, "Done", "", &now);
        }
    }

    async fn act(&mut self, world: &World, action: &Action) -> Result<(), Stop> {
        match action {
            Action::Hold => {
                let hold = self.edit(|metadata| {
                    let finalizers = metadata.finalizers.get_or_insert_default();
                    if !finalizers.iter().any(|name| name == keys::FINALIZER) {
                        finalizers.push(keys::FINALIZER.to_owned());
                    }
                });
                Ok(hold.await?)
            }
            Action::LetGo => {
                let let_go = self.edit(|metadata| {
                    if let Some(finalizers) = &mut metadata.finalizers {
                        finalizers.retain(|name| name != keys::FINALIZER);
                    }
                });
                Ok(let_go.await?)
            }
            Action::DropOperation => Ok(self.drop_operation().await?),
            Action::BeginForce => {
                self.status.force_begun = true;
                Ok(())
            }
            Action::Update { force } => {
                if !force {
                    moment::is_one(self.context, world).await?;
                }
                self.update(world, *force).await?;
                self.status.force_begun = false;
                Ok(())
            }
            Action::UpdateBeforeDeletion { force } => match self.update(world, *force).await {
                Ok(()) if !force => Ok(()),
                Ok(()) => self.delete_nested(world, true).await,
                // What can't be updated goes all the same.
                Err(Stop::Trouble(trouble)) => {
                    self.note(&trouble);
                    self.delete_nested(world, *force).await
                }
                Err(Stop::Failure(failure)) => match Trouble::of_write("Reconcile", &failure) {
                    Some(trouble) => {
                        self.note(&trouble);
                        self.delete_nested(world, *force).await
                    }
                    None => Err(failure.into()),
                },
                Err(stop) => Err(stop),
            },
            Action::DeleteNested { force } => self.delete_nested(world, *force).await,
            Action::KeepOutside => self.keep_outside(world).await,
            Action::Ask(operation, children) => self.ask(world, *operation, children).await,
            Action::NoteAutomatic(done) => {
                self.status.automatic_reconcile_status = done.map(automatic::noted);
                Ok(())
            }
            Action::Export => {
                let end = export::Export {
                    context: self.context,
                    blueprints: self.blueprints,
                    world,
                };
                end.write(&mut self.status).await
            }
            Action::TriggerImporters => self.trigger(world).await,
        }
    }

    async fn drop_operation(&mut self) -> Result<(), Failure> {
        self.edit(|metadata| {
            if let Some(annotations) = &mut metadata.annotations {
                annotations.remove(keys::OPERATION);
            }
        })
        .await
    }

    async fn edit(&mut self, edit: impl Fn(&mut ObjectMeta) + Send + Sync) -> Result<(), Failure> {
        if let Some(written) = self.context.edit_metadata(edit).await? {
            self.metadata = written.metadata;
        }
        Ok(())
    }

    async fn update(&mut self, world: &World, force: bool) -> Result<(), Stop> {
        let update = update::Update {
            context: self.context,
            blueprints: self.blueprints,
            world,
            force,
        };
        update.carry_out(&mut self.status).await
    }

    async fn delete_nested(&self, world: &World, force: bool) -> Result<(), Stop> {
        let key = keys::DELETE_WITHOUT_UNINSTALL;
        let bare = annotation(&self.metadata, key) == Some(keys::TRUE);
        for (kind, child) in &world.children {
            let mut annotations = Vec::new();
            if bare {
                annotations.push((key, keys::TRUE));
            }
            if force {
                annotations.push((keys::OPERATION, Operation::ForceReconcile.as_str()));
            }
            let fresh = world.objects.get(
                word(*kind),
                child.metadata.name.as_deref().unwrap_or_default(),
            );
            let Some(fresh) = fresh.await? else {
                continue;
            };
            if fresh.metadata.uid != child.metadata.uid {
                continue;
            }
            let marked = fresh.metadata.deletion_timestamp.is_some();
            // Asked once: a child drops the annotation when it has done what it asks for.
            if !annotations.is_empty() && (bare || !marked) {
                world
                    .objects
                    .annotate(word(*kind), &fresh, &annotations)
                    .await?;
            }
            if !marked {
                world.objects.delete(word(*kind), &fresh.metadata).await?;
            }
        }
        Ok(())
    }

    async fn keep_outside(&self, world: &World) -> Result<(), Stop> {
        let bare = [(keys::DELETE_WITHOUT_UNINSTALL, keys::TRUE)];
        for (kind, child) in &world.children {
            if child.metadata.deletion_timestamp.is_some() {
                world.objects.annotate(word(*kind), child, &bare).await?;
            }
        }
        Ok(())
    }

    async fn ask(
        &self,
        world: &World,
        operation: Operation,
        children: &[(ChildKind, String)],
    ) -> Result<(), Stop> {
        for (kind, name) in children {
            if let Some(child) = world.objects.get(word(*kind), name).await? {
                let annotations = [(keys::OPERATION, operation.as_str())];
                world
                    .objects
                    .annotate(word(*kind), &child, &annotations)
                    .await?;
            }
        }
        Ok(())
    }

    /// I18. A sibling that has taken this very generation already would do nothing, and isn't asked.
    async fn trigger(&self, world: &World) -> Result<(), Stop> {
        let namespace = world.objects.namespace();
        let own = world.name();
        for importer in &world.observed().importers {
            let Some(facts) = self.index.facts(namespace, &importer.name) else {
                continue;
            };
            let taken = facts.taken.get(own) == Some(&self.status.config_generation);
            if taken || facts.marked || facts.operation.is_some() {
                continue;
            }
            let Some(sibling) = world.objects.get("Installation", &importer.name).await? else {
                continue;
            };
            if facts::operation_of(&sibling).is_none() {
                let annotations = [(keys::OPERATION, Operation::Reconcile.as_str())];
                let asked = world
                    .objects
                    .annotate("Installation", &sibling, &annotations);
                match asked.await {
                    // Whoever wrote first has brought a run of it anyway.
                    Ok(_) | Err(Failure::Conflict(_)) => {}
                    Err(failure) => return Err(failure.into()),
                }
            }
        }
        Ok(())
    }
}

fn waits_for_outdated(world: &World) -> bool {
    let observed = world.observed();
    let dependencies = &observed.dependencies;
    let is_well = |phase| phase == Some(InstallationPhase::Succeeded);
    let mut outdated = dependencies.iter().filter(|found| !found.current);
    outdated.any(|found| is_well(found.phase))
}

fn trouble_of(problem: &Problem) -> Trouble {
    Trouble {
        operation: problem.operation.into(),
        reason: problem.reason.into(),
        message: problem.message.clone(),
        codes: problem.code.into_iter().collect(),
    }
}

/// The condition that an operation belongs to.
fn condition_of(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "CheckDependencies" | "ValidateImports" | "ReadBlueprint" => "ValidateImports",
        "CreateImports" => "CreateImports",
        "EnsureSubInstallations" => "EnsureSubInstallations",
        "EnsureExecutions" => "EnsureExecutions",
        "CheckExports" | "ValidateExport" => "ValidateExport",
        "CreateExports" => "CreateExports",
        "WaitForNested" => "ReconcileExecution",
        _ => return None,
    })
}
