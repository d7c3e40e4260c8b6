//! Carries out what was decided about an app type.

use std::sync::Arc;

use kube::api::{Patch, PatchParams};
use landform_api::catalog::app_type::{AppTypeStatus, Installed};
use landform_api::catalog::operator_version::OperatorVersionSpec;
use landform_api::catalog::{self, AppTypePhase, keys};
use landform_catalog::{Edges, Payload};
use landform_decide::app_type::{Action, Decision, installed, upgrading};
use landform_engine::{
    Context, Denied, EventType, Failure, Outcome, RIGHTS_RECHECK, Right, write_time,
};
use semver::Version;
use serde_json::json;

use super::observe::World;
use crate::definition::write::{self, DefinitionOwner};
use crate::objects;
use crate::shared::Shared;

/// So many versions that ran before are remembered.
const HISTORY: usize = 20;

pub(super) async fn carry_out(
    context: &Context,
    shared: &Arc<Shared>,
    world: &World,
    mut decision: Decision,
) -> Result<Outcome, Failure> {
    let act = Act {
        context,
        shared,
        world,
    };
    if !world.observed.marked {
        act.claim().await?;
    }
    let mut refused = None;
    for action in &decision.actions {
        if let Action::DeleteDefinitions(names) = action
            && let Some(denied) = act.missing("delete", names).await?
        {
            refused = Some(format!("{denied}, or set spec.definitions to Keep"));
            continue;
        }
        act.act(action).await?;
    }
    if let Some(refused) = &refused {
        for waiting in &mut decision.waiting_on {
            waiting.reason.clone_from(refused);
        }
    }
    let status = act.status(&decision);
    context.write_status(&status).await?;
    for action in &decision.afterwards {
        act.act(action).await?;
    }
    if refused.is_some() {
        // No event says that a right was granted.
        return Ok(Outcome::Recheck(RIGHTS_RECHECK));
    }
    let waiting = decision.waiting_on.first();
    Ok(waiting.map_or(Outcome::Done, |waiting| {
        Outcome::Wait(waiting.reason.clone())
    }))
}

struct Act<'a> {
    context: &'a Context,
    shared: &'a Arc<Shared>,
    world: &'a World,
}

impl Act<'_> {
    fn status(&self, decision: &Decision) -> AppTypeStatus {
        let seen = &self.world.observed;
        let before = &self.world.app_type.status;
        let now = write_time(self.context.now_ms());
        let mut status = before.clone();
        if status.phase != Some(decision.phase) {
            status.last_transition_time = Some(now);
            let kind = match decision.phase {
                AppTypePhase::Failed => EventType::Warning,
                _ => EventType::Normal,
            };
            let reason = format!("{:?}", decision.phase);
            let message = format!("{}: {}", decision.rule, decision.message);
            self.context.event(kind, &reason, &message);
        }
        status.observed_generation = self.world.metadata.generation;
        status.phase = Some(decision.phase);
        status.message.clone_from(&decision.message);
        status.next.clone_from(&decision.next);
        status.blocked_by.clone_from(&decision.blocked_by);
        status.catalog_digest.clone_from(&self.world.catalog_digest);
        status.waiting_on.clone_from(&decision.waiting_on);
        let namespace = self.world.metadata.namespace.clone().unwrap_or_default();
        for object in status
            .waiting_on
            .iter_mut()
            .filter_map(|found| found.object.as_mut())
        {
            if object.kind == "OperatorVersion" {
                object.namespace.clone_from(&namespace);
            }
        }
        let named = |found: &landform_decide::app_type::OwnVersion| Installed {
            name: found.name.clone(),
            version: found.version.to_string(),
        };
        let runs = installed(&seen.versions).map(named);
        note_history(&mut status, runs.as_ref());
        status.upgrading_to = upgrading(&seen.versions)
            .map(named)
            .filter(|_| runs.is_some());
        status.installed = runs;
        if let Some(left) = &decision.rolled_back_from {
            status.rolled_back_from = Some(left.clone());
        } else if has_passed(before, &status) {
            status.rolled_back_from = None;
        }
        status
    }

    /// Kinds of the package that nobody owns become this one's, and its own get its uid.
    async fn claim(&self) -> Result<(), Failure> {
        let seen = &self.world.observed;
        if seen.rival.is_some() || seen.problem.is_some() {
            return Ok(());
        }
        let namespace = self.world.metadata.namespace.as_deref().unwrap_or_default();
        let name = self.world.metadata.name.as_deref().unwrap_or_default();
        let me = DefinitionOwner {
            title: format!("AppType/{namespace}/{name}"),
            uid: self.world.metadata.uid.clone(),
        };
        for facts in self
            .shared
            .index
            .definitions_of(&self.world.app_type.spec.package)
        {
            let unowned = facts.owner.is_none();
            let unnoted = facts.owner.as_ref() == Some(&me.title) && facts.owner_uid.is_none();
            if !facts.marked && (unowned || unnoted) {
                // One who may not write a definition doesn't get it.
                let name = std::slice::from_ref(&facts.name);
                if self.missing("patch", name).await?.is_some() {
                    continue;
                }
                let client = self.context.acting()?;
                write::move_to(&client, &facts.name, facts.owner.as_deref(), Some(&me)).await?;
            }
        }
        Ok(())
    }

    async fn act(&self, action: &Action) -> Result<(), Failure> {
        let client = self.context.client();
        let namespace = self.world.metadata.namespace.as_deref().unwrap_or_default();
        let versions = objects::versions(&client, namespace);
        match action {
            Action::Hold => objects::hold(self.context, true).await,
            Action::LetGo => objects::hold(self.context, false).await,
            Action::Create { name, rollback_of } => self.create(name, rollback_of.as_deref()).await,
            Action::TakeBack { name, of } => match versions.get_opt(name).await? {
                Some(found) => {
                    let change = json!({"annotations": {keys::ROLLBACK_OF: of}});
                    objects::patch_metadata(&versions, &found.metadata, change).await
                }
                None => Ok(()),
            },
            Action::Delete(names) => {
                for name in names {
                    if let Some(found) = versions.get_opt(name).await? {
                        objects::delete(&versions, &found.metadata).await?;
                    }
                }
                Ok(())
            }
            Action::ForgetRollback => {
                let patch = Patch::Merge(json!({
                    "metadata": {"annotations": {keys::ROLLBACK: null}},
                    "spec": {"approved": null},
                }));
                let name = self.world.metadata.name.as_deref().unwrap_or_default();
                let parameters = PatchParams::default();
                self.context.api().patch(name, &parameters, &patch).await?;
                Ok(())
            }
            Action::DeleteDefinitions(names) => {
                let api = objects::definitions(&self.context.acting()?);
                for name in names {
                    if let Some(found) = api.get_opt(name).await? {
                        objects::delete(&api, &found.metadata).await?;
                    }
                }
                Ok(())
            }
            Action::ReleaseDefinitions(names) => self.release(names).await,
        }
    }

    /// Which rights to these definitions the writer lacks (C6).
    async fn missing(&self, verb: &str, names: &[String]) -> Result<Option<Denied>, Failure> {
        let right = |name: &String| {
            let (group, resource) = ("apiextensions.k8s.io", "customresourcedefinitions");
            Right::new(verb, group, resource, "", name)
        };
        let rights: Vec<Right> = names.iter().map(right).collect();
        self.context.missing(rights).await
    }

    async fn release(&self, names: &[String]) -> Result<(), Failure> {
        let namespace = self.world.metadata.namespace.as_deref().unwrap_or_default();
        let name = self.world.metadata.name.as_deref().unwrap_or_default();
        let own = format!("AppType/{namespace}/{name}");
        for definition in &self.world.observed.definitions {
            if !names.contains(&definition.name) {
                continue;
            }
            let heir = definition.heir.as_ref().map(|title| DefinitionOwner {
                title: title.clone(),
                uid: None,
            });
            // To let go of what is its own needs no right.
            let client = self.context.client();
            write::move_to(&client, &definition.name, Some(&own), heir.as_ref()).await?;
        }
        Ok(())
    }

    /// O1, O4: the operator version of this name, as the catalog has it.
    async fn create(&self, name: &str, rollback_of: Option<&str>) -> Result<(), Failure> {
        let spec = &self.world.app_type.spec;
        let package = self
            .shared
            .catalogs
            .package(&spec.package, spec.catalogs.as_ref());
        let gone = || Failure::Transient(format!("no catalog has {name} any more"));
        let package = package.ok_or_else(gone)?;
        let bundle = package.bundle(name).ok_or_else(gone)?;
        let Payload::Manifest(manifest) = &bundle.payload else {
            return Err(gone());
        };
        let mut version: OperatorVersionSpec =
            serde_json::from_str(&manifest.spec).map_err(|error| {
                Failure::Invalid(format!("{name} in the catalog can't be read: {error}"))
            })?;
        // The channel says what it replaces; a manifest of its own knows only of itself.
        let channel = package.channel(spec.channel.as_deref());
        let entry =
            channel.and_then(|channel| channel.entries.iter().find(|entry| &*entry.name == name));
        if let Some(entry) = entry {
            with_edges(&mut version, &entry.edges);
        }
        version.package.clone_from(&spec.package);
        version.version = bundle.version.to_string();
        for owned in &mut version.owned {
            // It is in the catalog, once for all namespaces.
            owned.definition = None;
        }
        let namespace = self.world.metadata.namespace.as_deref().unwrap_or_default();
        let mut annotations = json!({});
        if let Some(of) = rollback_of {
            annotations[keys::ROLLBACK_OF] = json!(of);
        }
        let metadata = &self.world.metadata;
        let (own, uid) = (metadata.name.as_deref(), metadata.uid.as_deref());
        let owner = objects::owner(
            "AppType",
            own.unwrap_or_default(),
            uid.unwrap_or_default(),
            true,
        );
        let object = json!({
            "apiVersion": catalog::API_VERSION, "kind": "OperatorVersion",
            "metadata": {
                "name": name.to_lowercase(), "namespace": namespace,
                "annotations": annotations, "ownerReferences": [owner],
            },
            "spec": version,
        });
        let api = objects::versions(&self.context.client(), namespace);
        objects::create_for(self.context, &api, object).await?;
        Ok(())
    }
}

fn with_edges(version: &mut OperatorVersionSpec, edges: &Edges) {
    // Names of objects are lower case.
    version.replaces = edges
        .replaces
        .as_ref()
        .map(|found| found.to_string().to_lowercase());
    version.skips = edges
        .skips
        .iter()
        .map(|found| found.to_lowercase())
        .collect();
    version.skip_range = edges.skip_range.as_ref().map(ToString::to_string);
}

/// A version that runs no more is remembered; one that is gone back to is taken off again.
fn note_history(status: &mut AppTypeStatus, runs: Option<&Installed>) {
    let (Some(before), Some(runs)) = (status.installed.clone(), runs) else {
        return;
    };
    if before.name == runs.name {
        return;
    }
    if status
        .history
        .last()
        .is_some_and(|last| last.name == runs.name)
    {
        status.history.pop();
        return;
    }
    status.history.push(before);
    let surplus = status.history.len().saturating_sub(HISTORY);
    status.history.drain(..surplus);
}

/// Whether the version that a rollback left has been reached or passed again, from below.
fn has_passed(before: &AppTypeStatus, now: &AppTypeStatus) -> bool {
    let parse = |text: &String| Version::parse(text).ok();
    let runs = |status: &AppTypeStatus| parse(&status.installed.as_ref()?.version);
    let Some(left) = now.rolled_back_from.as_ref().and_then(parse) else {
        return false;
    };
    let below = |version: Version| version.cmp_precedence(&left).is_lt();
    runs(before).is_some_and(below) && runs(now).is_some_and(|version| !below(version))
}
