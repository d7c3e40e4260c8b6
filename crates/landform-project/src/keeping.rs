//! What a run does so that nothing goes which should stay, and that others hear of changed blueprints.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use kube::core::ObjectMeta;
use landform_api::protection::{BY_SETTINGS, PROTECT};
use landform_engine::{Context, Failure};

use crate::apply;
use crate::blueprint::News;
use crate::decide::{Decision, Live, Stays};
use crate::object::ObjectId;
use crate::reader::Reading;
use crate::reconciler::{ProjectReconciler, failure};
use crate::settings::Settings;
use crate::state::State;

impl ProjectReconciler {
    /// What is there, with what is about to go read anew: others may have given it a finalizer, or protection. None when
    /// nothing is about to go.
    pub(crate) async fn look_at_leaving(
        &self,
        context: &Context,
        state: &State,
        live: &BTreeMap<ObjectId, Live>,
        decision: &Decision,
    ) -> Result<Option<BTreeMap<ObjectId, Live>>, Failure> {
        let going = decision.deletions.iter().chain(&decision.deletions_later);
        let protected = decision.stays.iter();
        let protected = protected.filter(|(_, stays)| **stays == Stays::Protected);
        let going = going.map(|(id, _)| id).chain(protected.map(|(id, _)| id));
        let going: Vec<_> = going.chain(&decision.unknown_company).collect();
        if going.is_empty() {
            return Ok(None);
        }
        let (client, kinds) = (context.client(), state.memory.lock().kinds.clone());
        let mut fresh = live.clone();
        for id in going {
            let served = kinds.get(&(id.group.clone(), id.kind.clone()));
            let (Some(served), Some(known)) = (served, fresh.get_mut(id)) else {
                continue;
            };
            let read = context
                .or_cancelled(apply::read(&client, served, id))
                .await?;
            if let Some(read) = read.map_err(failure)?
                && read["metadata"]["uid"] == known.uid.as_str()
            {
                let read = Live::of(&read, &known.file);
                (known.held, known.protected) = (read.held, read.protected);
            }
        }
        let mut memory = state.memory.lock();
        for (id, known) in &mut memory.live {
            if let Some(read) = fresh.get(id) {
                (known.held, known.protected) = (read.held, read.protected);
            }
        }
        drop(memory);
        Ok(Some(fresh))
    }

    /// Others use the project's blueprints: they are told when files of these have changed.
    pub(crate) fn tell_of_blueprints(&self, context: &Context, state: &State, reading: &Reading) {
        let grace_ms = reading.settings.grace_ms();
        let news = {
            let told = &mut state.memory.lock().blueprints;
            told.take(&reading.blueprints, grace_ms, context.now_ms())
        };
        if news == News::Tell {
            self.shared.blueprints_changed();
        }
    }

    /// Protects the project itself, if its settings say so (R15b).
    pub(crate) async fn protect_itself(
        &self,
        context: &Context,
        settings: &Settings,
    ) -> Result<(), Failure> {
        let said = context.object().annotations().get(PROTECT);
        let said = said.map(String::as_str);
        let wanted = settings.protects_project(&context.object().name_any());
        if wanted == said.is_some() || (!wanted && said != Some(BY_SETTINGS)) {
            return Ok(());
        }
        let edit = |metadata: &mut ObjectMeta| {
            let annotations = metadata.annotations.get_or_insert_default();
            if wanted {
                annotations.insert(PROTECT.to_owned(), BY_SETTINGS.to_owned());
            } else {
                annotations.remove(PROTECT);
            }
        };
        context.edit_metadata(edit).await.map(drop)
    }
}
