//! Removes a project: its objects go, and then it goes.

use std::collections::BTreeMap;

use kube::ResourceExt as _;
use landform_api::project::{ProjectPhase, ProjectStatus};
use landform_engine::{Context, Failure, Outcome};

use crate::act::{Acting, Report};
use crate::decide::rank;
use crate::live;
use crate::reconciler::{ProjectReconciler, failure};
use crate::state::State;
use crate::status::{last_error, waiting_on};

impl ProjectReconciler {
    /// The project was deleted: its objects go, those that others may need last.
    pub(crate) async fn remove(
        &self,
        context: &Context,
        state: &State,
        before: ProjectStatus,
    ) -> Result<Outcome, Failure> {
        *state.watch.lock().await = None;
        let (client, name) = (context.client(), context.object().name_any());
        let found = live::list(&client, &self.shared.kinds, &name)
            .await
            .map_err(failure)?;
        let kinds = self.live_kinds(context, &found).await?;
        let highest = found.keys().map(rank).max();
        let leaving: Vec<_> = found
            .iter()
            .filter(|(id, _)| Some(rank(id)) == highest)
            .collect();
        {
            let mut memory = state.memory.lock();
            memory.complete = false;
            memory.awaited = found.keys().cloned().collect();
        }
        let followed = kinds.values().map(|served| served.kind.clone()).collect();
        self.shared.follow(followed).await?;
        let marked: Vec<_> = leaving
            .iter()
            .filter(|(_, live)| !live.deleting)
            .map(|(id, live)| ((*id).clone(), live.uid.clone()))
            .collect();
        let (wanted, served) = (BTreeMap::new(), BTreeMap::new());
        let acting = Acting {
            context,
            client,
            state,
            wanted: &wanted,
            served: &served,
            live_kinds: &kinds,
        };
        let mut report = Report::default();
        acting.delete(&marked, &mut report).await?;
        if found.is_empty() {
            return Ok(Outcome::Done);
        }
        let waiting = leaving.iter().map(|(id, _)| (*id).clone()).collect();
        let refused = report
            .problems
            .first()
            .map(|problem| problem.message.clone());
        let trouble = report.transient.clone().or(refused);
        let last_error = trouble
            .as_ref()
            .map(|message| last_error(context, &before, "Delete", "NotDeleted", message));
        let status = ProjectStatus {
            phase: Some(ProjectPhase::Deleting),
            observed_generation: context.object().metadata.generation,
            waiting_on: waiting_on("R15", &waiting, "it must be gone before the project goes"),
            held_deletions: None,
            last_error,
            ..before
        };
        context.write_status(&status).await?;
        match trouble {
            Some(message) => Err(Failure::Transient(message)),
            None => Ok(Outcome::Wait(format!(
                "{} objects must be gone",
                found.len()
            ))),
        }
    }
}
