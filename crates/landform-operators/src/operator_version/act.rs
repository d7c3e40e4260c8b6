//! Carries out what was decided about an operator version.

use kube::api::{Patch, PatchParams};
use landform_api::catalog::operator_version::{OperatorVersionStatus, Replaced};
use landform_api::catalog::{self, Phase, keys};
use landform_api::landscaper::{self, LastError, Operation};
use landform_api::words::status_message;
use landform_decide::operator_version::{Action, Decision, Reason};
use landform_engine::{Context, EventType, Failure, Outcome, write_time};
use serde_json::json;

use super::observe::World;
use crate::adoption::{self, Version};
use crate::catalogs::definition_of;
use crate::definition::write::{self, DefinitionOwner};
use crate::objects;
use crate::shared::Shared;
use crate::strategy;

/// A service account that won't do is looked at again after so long.
const ACCOUNTS_MS: u64 = 3_000;
/// So many versions that are gone are remembered.
const REMEMBERED: usize = 50;

pub(super) async fn carry_out(
    context: &Context,
    shared: &Shared,
    world: &World,
    decision: Decision,
) -> Result<Outcome, Failure> {
    let act = Act {
        context,
        shared,
        world,
    };
    let mut status = world.version.status.clone();
    let (first, later): (Vec<_>, Vec<_>) = decision
        .actions
        .iter()
        .partition(|action| **action != Action::Install);
    for action in first {
        act.act(action).await?;
        if let Action::Reassert(token) = action {
            status.reasserted_for = Some(token.clone());
        }
    }
    // That installing has begun is known before anything is there.
    status.begun |= !later.is_empty();
    act.tell(&mut status, &decision);
    context.write_status(&status).await?;
    for action in later.into_iter().chain(&decision.afterwards) {
        act.act(action).await?;
    }
    let Some(waiting) = decision.waiting_on.first() else {
        return Ok(Outcome::Done);
    };
    let reason = waiting.reason.clone();
    // Nobody tells of accounts and of their rights.
    let mut needs = world.observed.needs.iter();
    let unheard = needs.any(|need| need.requirement.kind == "ServiceAccount" && !need.is_met());
    Ok(if unheard {
        Outcome::WaitUntil(reason, context.now_ms().saturating_add(ACCOUNTS_MS))
    } else {
        Outcome::Wait(reason)
    })
}

struct Act<'a> {
    context: &'a Context,
    shared: &'a Shared,
    world: &'a World,
}

impl Act<'_> {
    fn tell(&self, status: &mut OperatorVersionStatus, decision: &Decision) {
        let now = write_time(self.context.now_ms());
        let moved = decision.phase != status.phase || decision.reason.to_string() != status.reason;
        if decision.phase != status.phase {
            status.last_transition_time = Some(now.clone());
        }
        if moved {
            let kind = match decision.phase {
                Some(Phase::Failed) => EventType::Warning,
                _ => EventType::Normal,
            };
            let message = format!("{}: {}", decision.rule, decision.message);
            self.context
                .event(kind, &decision.reason.to_string(), &message);
        }
        status.observed_generation = self.world.metadata.generation;
        status.phase = decision.phase;
        status.reason = decision.reason.to_string();
        status.message.clone_from(&decision.message);
        status.higher.clone_from(&decision.higher);
        let needs = self.world.observed.needs.iter();
        status.requirements = needs.map(|need| need.requirement.clone()).collect();
        let namespace = self.world.metadata.namespace.clone().unwrap_or_default();
        status.waiting_on.clone_from(&decision.waiting_on);
        for object in status
            .waiting_on
            .iter_mut()
            .filter_map(|found| found.object.as_mut())
        {
            object.namespace.clone_from(&namespace);
        }
        for name in &decision.replaces {
            self.remember(status, name);
        }
        match decision.phase {
            Some(Phase::Failed) => set_error(&mut status.last_error, decision, &now),
            Some(Phase::Succeeded) => status.last_error = None,
            _ => {}
        }
    }

    /// Notes whose place it takes, and what that one had replaced.
    fn remember(&self, status: &mut OperatorVersionStatus, name: &str) {
        if status.replaced.iter().any(|known| known.name == *name) {
            return;
        }
        let mut others = self.world.others.iter();
        let Some(former) = others.find(|found| found.member.name == *name) else {
            return;
        };
        let edges = &former.member.edges;
        let replaces = edges.replaces.iter().map(ToString::to_string);
        let skips = edges.skips.iter().map(ToString::to_string);
        let range = edges.skip_range.iter().map(ToString::to_string);
        // What the former one remembered is remembered on.
        let older = former.member.replaced.iter();
        let older: Vec<_> = older
            .filter(|old| status.replaced.iter().all(|known| known.name != old.name))
            .map(|old| Replaced {
                name: old.name.clone(),
                version: String::new(),
                edges: old.edges.iter().map(ToString::to_string).collect(),
            })
            .collect();
        status.replaced.extend(older);
        status.replaced.push(Replaced {
            name: name.to_owned(),
            version: former.member.version.to_string(),
            edges: replaces.chain(skips).chain(range).collect(),
        });
        let surplus = status.replaced.len().saturating_sub(REMEMBERED);
        status.replaced.drain(..surplus);
    }

    async fn act(&self, action: &Action) -> Result<(), Failure> {
        match action {
            Action::Hold => objects::hold(self.context, true).await,
            Action::LetGo => objects::hold(self.context, false).await,
            Action::ForgetRollback => {
                let edited = self.context.edit_metadata(|metadata| {
                    if let Some(annotations) = &mut metadata.annotations {
                        annotations.remove(keys::ROLLBACK_OF);
                    }
                });
                edited.await.map(drop)
            }
            Action::WriteDefinition(place) => self.write_definition(*place).await,
            Action::Ask(place) => self.ask(*place).await,
            Action::Install => self.install().await,
            Action::Uninstall => match &self.world.execution {
                Some(execution) => {
                    let api = objects::executions(&self.context.client(), self.namespace());
                    objects::delete(&api, &execution.metadata).await
                }
                None => Ok(()),
            },
            Action::Reassert(_) => self.reassert().await,
            Action::AddOwner(place) => {
                let found = &self.world.resources[*place];
                let api = objects::at(&self.context.acting()?, &found.place, self.namespace());
                let name = found.metadata.name.as_deref().unwrap_or_default();
                adoption::add_owner(&api, name, &self.me()).await.map(drop)
            }
            Action::Adopt(place, from) => {
                let found = &self.world.resources[*place];
                let api = objects::at(&self.context.acting()?, &found.place, self.namespace());
                let name = found.metadata.name.as_deref().unwrap_or_default();
                let family = self
                    .world
                    .others
                    .iter()
                    .map(|found| found.member.uid.as_str());
                let family: Vec<_> = family.collect();
                adoption::adopt(&api, name, from, &self.me(), &family)
                    .await
                    .map(drop)
            }
            Action::DeleteResource(place) => {
                let found = &self.world.resources[*place];
                let api = objects::at(&self.context.acting()?, &found.place, self.namespace());
                let name = found.metadata.name.as_deref().unwrap_or_default();
                // What others own as well is theirs from now on.
                if adoption::disown(&api, name, self.me().uid).await? {
                    return Ok(());
                }
                objects::delete(&api, &found.metadata).await
            }
            Action::DeleteSelf => objects::delete(&self.context.api(), &self.world.metadata).await,
        }
    }

    fn namespace(&self) -> &str {
        self.world.metadata.namespace.as_deref().unwrap_or_default()
    }

    fn me(&self) -> Version<'_> {
        let member = &self.world.observed.me;
        Version {
            name: &member.name,
            uid: &member.uid,
        }
    }

    /// Who owns the definitions that it brings: its app type, or itself.
    fn definition_owner(&self) -> DefinitionOwner {
        let namespace = self.namespace();
        match &self.world.facts.app_type {
            Some(owner) => DefinitionOwner {
                title: format!("AppType/{namespace}/{}", owner.name),
                uid: Some(owner.uid.clone()),
            },
            None => DefinitionOwner {
                title: format!("OperatorVersion/{namespace}/{}", self.me().name),
                uid: Some(self.me().uid.to_owned()),
            },
        }
    }

    async fn write_definition(&self, place: usize) -> Result<(), Failure> {
        let Some(definition) = &self.world.needed[place].definition else {
            return Ok(());
        };
        let package = &self.world.version.spec.package;
        let version = &self.world.observed.me.version;
        let owner = self.definition_owner();
        let client = self.context.acting()?;
        write::write(&client, definition, package, version, &owner).await
    }

    /// O11: the definition first, owned by the app type that is about to be, then the app type. After a crash
    /// in between the loop over definitions (O3) makes it.
    async fn ask(&self, place: usize) -> Result<(), Failure> {
        let needed = &self.world.needed[place];
        let landform_decide::operator_version::Remedy::Ask { package, .. } = &needed.need.remedy
        else {
            return Ok(());
        };
        let client = self.context.client();
        let namespace = self.namespace();
        let known = self.shared.index.app_types_in(namespace, package);
        let known = known.first();
        let name = known.map_or_else(|| package.to_lowercase(), |(name, _)| name.clone());
        if let Some(kind) = &needed.kind
            && let Some(offered) = self.shared.catalogs.package(package, None)
            && let Some(bundle) = offered
                .bundles
                .iter()
                .rev()
                .find(|bundle| bundle.owned.contains(kind))
            && let Some(manifest) = self.shared.catalogs.manifest(package, &bundle.version)
            && let Some(definition) = definition_of(&manifest, &kind.clone().into())
        {
            let owner = DefinitionOwner {
                title: format!("AppType/{namespace}/{name}"),
                uid: known.map(|(_, facts)| facts.uid.clone()),
            };
            let acting = self.context.acting()?;
            write::write(&acting, &definition, package, &bundle.version, &owner).await?;
        }
        if known.is_some() {
            return Ok(());
        }
        let mut spec = json!({"package": package});
        if let Some(range) = &needed.range {
            spec["version"] = json!(range);
        }
        let app_type = json!({
            "apiVersion": catalog::API_VERSION, "kind": "AppType",
            "metadata": {
                "name": name, "namespace": namespace,
                "annotations": {keys::REQUIRED_BY: format!("OperatorVersion/{}", self.me().name)},
            },
            "spec": spec,
        });
        let api = objects::app_types(&client, namespace);
        objects::create_for(self.context, &api, app_type).await?;
        let message = format!(
            "O11: {} needs {}",
            self.me().name,
            needed.need.requirement.name
        );
        self.context
            .event(EventType::Normal, "PackageAsked", &message);
        Ok(())
    }

    async fn install(&self) -> Result<(), Failure> {
        if self.world.items.is_empty() {
            // Nothing is to be there: the next look finds it ready.
            self.shared
                .ask_versions([(self.namespace().to_owned(), self.me().name.to_owned())]);
            return Ok(());
        }
        let api = objects::executions(&self.context.client(), self.namespace());
        let spec = json!({"deployItems": self.world.items});
        if let Some(found) = &self.world.execution {
            let mut wanted = found.clone();
            wanted.data["spec"] = spec;
            self.context.inherit(&mut wanted.metadata);
            let name = found.metadata.name.as_deref().unwrap_or_default();
            api.replace(name, &kube::api::PostParams::default(), &wanted)
                .await?;
            return Ok(());
        }
        let me = self.me();
        let execution = json!({
            "apiVersion": landscaper::API_VERSION, "kind": "Execution",
            "metadata": {
                "name": self.world.execution_name, "namespace": self.namespace(),
                "ownerReferences": [objects::owner("OperatorVersion", me.name, me.uid, true)],
            },
            "spec": spec,
        });
        match objects::create_for(self.context, &api, execution).await? {
            Some(_) => Ok(()),
            None => Err(Failure::Conflict(
                "its execution was created just now".into(),
            )),
        }
    }

    /// O17: what a failed successor may have written over is written again.
    async fn reassert(&self) -> Result<(), Failure> {
        if self.world.execution.is_none() {
            return Ok(());
        }
        let api = objects::executions(&self.context.client(), self.namespace());
        let operation = Operation::ForceReconcile.as_str();
        let patch = Patch::Merge(json!({"metadata": {
            "annotations": {landscaper::keys::OPERATION: operation},
        }}));
        let name = strategy::execution_name(self.me().name, self.me().uid);
        api.patch(&name, &PatchParams::default(), &patch).await?;
        Ok(())
    }
}

/// The same error again moves no time.
fn set_error(last: &mut Option<LastError>, decision: &Decision, now: &str) {
    let operation = match decision.reason {
        Reason::InstallFailed => "Install",
        Reason::RequirementsNotMet | Reason::RequirementsRefused => "CheckRequirements",
        _ => "Reconcile",
    };
    let message = status_message(&decision.message);
    let same = last
        .as_ref()
        .is_some_and(|last| last.message == message && last.reason == decision.reason.to_string());
    if !same {
        *last = Some(LastError {
            operation: operation.into(),
            reason: decision.reason.to_string(),
            message: message.into_owned(),
            codes: Vec::new(),
            last_transition_time: Some(now.to_owned()),
            last_update_time: Some(now.to_owned()),
        });
    }
}
