//! Carries out what was decided, and remembers what became of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::{StreamExt as _, stream};
use kube::{Client, ResourceExt as _};
use landform_api::GroupVersionKind;
use landform_api::project::ProjectProblem;
use landform_engine::{Context, Failure, Right};
use serde_json::Value;

use crate::apply::{self, ApplyError, Kinds, Outcome, Served};
use crate::decide::{Decision, Live};
use crate::namespaces;
use crate::object::{ObjectId, Wanted};
use crate::order::rank;
use crate::renames::steps;
use crate::state::State;

/// At most this many objects are written at once.
const AT_ONCE: usize = 16;

/// What a run did, and what it could not do.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) problems: Vec<ProjectProblem>,
    /// What may work the next time.
    pub(crate) transient: Option<String>,
    /// Whether the API refused something: it may take it later, without a file changing.
    pub(crate) refused: bool,
    /// Objects that must be gone before they are made anew.
    pub(crate) waiting: BTreeSet<ObjectId>,
    pub(crate) created: usize,
    pub(crate) changed: usize,
    pub(crate) renamed: Vec<(ObjectId, ObjectId)>,
    pub(crate) deleted: usize,
    /// Namespaces that are left to themselves, with the reason.
    pub(crate) kept: BTreeMap<ObjectId, String>,
}

/// Everything that acting needs.
pub(crate) struct Acting<'a> {
    pub(crate) context: &'a Context,
    pub(crate) client: Client,
    pub(crate) state: &'a State,
    pub(crate) wanted: &'a BTreeMap<ObjectId, Wanted>,
    pub(crate) served: &'a BTreeMap<GroupVersionKind, Served>,
    /// How the kinds of objects that are there are served.
    pub(crate) live_kinds: &'a BTreeMap<(String, String), Served>,
    pub(crate) kinds: &'a Kinds,
}

impl Acting<'_> {
    /// Gives objects their new names. What a failed step is in the way of is left as it is.
    pub(crate) async fn rename(
        &self,
        decision: &Decision,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let formers: BTreeMap<_, _> = decision
            .renames
            .iter()
            .map(|(from, to)| (to, from))
            .collect();
        for part in steps(&decision.renames) {
            let mut renamed = Vec::new();
            for (from, to) in &part {
                if !self.rename_one(from, to, report).await? {
                    break;
                }
                renamed.extend(
                    formers
                        .get(to)
                        .map(|former| ((*former).clone(), to.clone())),
                );
            }
            // Only now: a failed step leaves an object of another name where this one belongs.
            for (_, to) in &renamed {
                self.bring(to, report).await?;
            }
            report.renamed.append(&mut renamed);
        }
        Ok(())
    }

    /// One step of a rename. Returns whether it was made.
    async fn rename_one(
        &self,
        from: &ObjectId,
        to: &ObjectId,
        report: &mut Report,
    ) -> Result<bool, Failure> {
        self.go_on()?;
        let kind = (to.group.clone(), to.kind.clone());
        let Some(served) = self.served_of(to).or_else(|| self.live_kinds.get(&kind)) else {
            return Ok(false);
        };
        // The watch may show that the old name is gone before the answer is here.
        let known = self.state.memory.lock().live.remove(from);
        let said = self.state.memory.lock().said.remove(from);
        let uid = known.as_ref().map(|known| known.uid.as_str());
        match apply::rename(&self.client, served, from, to, uid).await {
            Ok(renamed) => {
                let mut memory = self.state.memory.lock();
                let file = known.map(|known| known.file).unwrap_or_default();
                memory.live.insert(to.clone(), Live::of(&renamed, &file));
                memory.said.extend(said.map(|said| (to.clone(), said)));
                Ok(true)
            }
            Err(error) => {
                let mut memory = self.state.memory.lock();
                if error != ApplyError::Gone(from.to_string()) {
                    memory.live.extend(known.map(|known| (from.clone(), known)));
                    memory.said.extend(said.map(|said| (from.clone(), said)));
                }
                drop(memory);
                match self.wanted.get(to) {
                    Some(wanted) => note(report, to, wanted, error),
                    None => report.transient = Some(format!("{from}: {error}")),
                }
                Ok(false)
            }
        }
    }

    /// Creates and changes objects of these ranks, those of lower ranks first.
    pub(crate) async fn apply(
        &self,
        ids: &[ObjectId],
        ranks: std::ops::RangeInclusive<u8>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        for rank_now in ranks {
            let ids = ids.iter().filter(|id| rank(id) == rank_now);
            // Collected first: the compiler can't see that a closure in a stream fits all lifetimes.
            let work: Vec<_> = ids.map(|id| self.one(id)).collect();
            let mut work = stream::iter(work).buffer_unordered(AT_ONCE);
            while let Some((id, result)) = work.next().await {
                self.take(&id, result?, report);
            }
        }
        Ok(())
    }

    async fn bring(&self, id: &ObjectId, report: &mut Report) -> Result<(), Failure> {
        let (id, result) = self.one(id).await;
        self.take(&id, result?, report);
        Ok(())
    }

    async fn one(
        &self,
        id: &ObjectId,
    ) -> (
        ObjectId,
        Result<Option<Result<Outcome, ApplyError>>, Failure>,
    ) {
        if let Err(cancelled) = self.go_on() {
            return (id.clone(), Err(cancelled));
        }
        let (Some(wanted), Some(served)) = (self.wanted.get(id), self.served_of(id)) else {
            return (id.clone(), Ok(None));
        };
        let only_there = wanted.only_there;
        let actor = self.context.actor();
        let is_foreign = |live: &Value| self.context.is_foreign(live, actor);
        let (client, object) = (&self.client, &wanted.object);
        let brought = apply::bring(client, served, id, object, only_there, &is_foreign).await;
        let brought = match brought {
            Err(ApplyError::Refused(message)) => {
                let missing = self.missing(served, id).await;
                Err(ApplyError::Refused(missing.unwrap_or(message)))
            }
            brought => brought,
        };
        (id.clone(), Ok(Some(brought)))
    }

    /// All rights to an object that are missing, where the API tells of the first one (C6).
    async fn missing(&self, served: &Served, id: &ObjectId) -> Option<String> {
        let right = |verb: &str, name: &str| {
            let namespace = id.namespace.as_deref().unwrap_or_default();
            Right::new(verb, &id.group, &served.plural, namespace, name)
        };
        let rights = [
            right("get", &id.name),
            right("create", ""),
            right("patch", &id.name),
        ];
        let missing = self.context.missing(rights).await.ok()??;
        Some(missing.of("the project").to_string())
    }

    fn take(
        &self,
        id: &ObjectId,
        result: Option<Result<Outcome, ApplyError>>,
        report: &mut Report,
    ) {
        let (Some(wanted), Some(result)) = (self.wanted.get(id), result) else {
            return;
        };
        match result {
            Ok(outcome) => {
                match &outcome {
                    Outcome::Created(_) => report.created += 1,
                    Outcome::Changed { .. } => report.changed += 1,
                    Outcome::Unchanged(_) => {}
                }
                self.remember(id, wanted, outcome.live());
            }
            Err(error) => note(report, id, wanted, error),
        }
    }

    /// Deletes what has vanished.
    pub(crate) async fn delete(
        &self,
        deletions: &[(ObjectId, String)],
        report: &mut Report,
    ) -> Result<(), Failure> {
        let work: Vec<_> = deletions
            .iter()
            .map(|(id, uid)| self.delete_one(id, uid))
            .collect();
        let mut work = stream::iter(work).buffer_unordered(AT_ONCE);
        while let Some((id, deleted)) = work.next().await {
            match deleted? {
                Ok(None) => report.deleted += 1,
                Ok(Some(why)) => drop(report.kept.insert(id, why)),
                Err(error @ (ApplyError::Transient(_) | ApplyError::NotServed)) => {
                    report.transient = Some(format!("{id} can't be deleted: {error}"));
                }
                Err(error) => {
                    let file = self
                        .state
                        .memory
                        .lock()
                        .live
                        .get(&id)
                        .map(|live| live.file.clone());
                    let file = file.unwrap_or_default();
                    let message = format!("{id} can't be deleted: {error}");
                    report.problems.push(crate::place::of_file(&file, message));
                    report.refused = true;
                }
            }
        }
        Ok(())
    }

    async fn delete_one(
        &self,
        id: &ObjectId,
        uid: &str,
    ) -> (
        ObjectId,
        Result<Result<Option<String>, ApplyError>, Failure>,
    ) {
        if let Err(cancelled) = self.go_on() {
            return (id.clone(), Err(cancelled));
        }
        let kind = (id.group.clone(), id.kind.clone());
        let Some(served) = self.served_of(id).or_else(|| self.live_kinds.get(&kind)) else {
            let message = format!("the API doesn't serve the kind {}", id.kind);
            return (id.clone(), Ok(Err(ApplyError::Transient(message))));
        };
        if namespaces::is_namespace(id) {
            match self.leave_to_itself(served, id).await {
                Ok(None) => {}
                kept_or_failed => return (id.clone(), Ok(kept_or_failed)),
            }
        }
        // Marked before: the watch may show that it is gone before the answer is here.
        if let Some(live) = self.state.memory.lock().live.get_mut(id) {
            live.deleting = true;
        }
        let deleted = apply::delete(&self.client, served, id, uid).await;
        if deleted.is_err()
            && let Some(live) = self.state.memory.lock().live.get_mut(id)
        {
            live.deleting = false;
        }
        (id.clone(), Ok(deleted.map(|()| None)))
    }

    /// Takes a namespace that has to stay out of the project. Returns why it stays, if it does.
    async fn leave_to_itself(
        &self,
        served: &Served,
        id: &ObjectId,
    ) -> Result<Option<String>, ApplyError> {
        let project = self.context.object().name_any();
        let why = namespaces::why_kept(&self.client, self.kinds, &id.name, &project).await?;
        if why.is_some() {
            apply::release(&self.client, served, id).await?;
            self.state.memory.lock().live.remove(id);
        }
        Ok(why)
    }

    fn served_of(&self, id: &ObjectId) -> Option<&Served> {
        let wanted = self.wanted.get(id)?;
        self.served.get(&wanted.kind)
    }

    fn remember(&self, id: &ObjectId, wanted: &Wanted, live: &Value) {
        let mut memory = self.state.memory.lock();
        let known = Live::of(live, &wanted.file);
        // One that only has to be there, and belongs to others, is none of the project's.
        let label = landform_api::project::LABEL_PROJECT;
        let ours = &wanted.object["metadata"]["labels"][label];
        if live["metadata"]["labels"][label] == *ours {
            memory.live.insert(id.clone(), known);
        }
        memory.said.insert(id.clone(), Arc::clone(&wanted.object));
    }

    /// Fails when the run was cancelled.
    pub(crate) fn go_on(&self) -> Result<(), Failure> {
        if self.context.is_cancelled() {
            return Err(Failure::Cancelled);
        }
        Ok(())
    }
}

fn note(report: &mut Report, id: &ObjectId, wanted: &Wanted, error: ApplyError) {
    match error {
        ApplyError::Transient(message) => report.transient = Some(format!("{id}: {message}")),
        ApplyError::Gone(_) | ApplyError::NotServed => {
            report.transient = Some(format!("{id}: {error}"));
        }
        ApplyError::Deleting(_) => {
            report.waiting.insert(id.clone());
        }
        ApplyError::Refused(_) | ApplyError::Foreign { .. } | ApplyError::NameTaken { .. } => {
            report.problems.push(wanted.problem(error.to_string()));
            report.refused = true;
        }
        ApplyError::NoRename(_) => report.problems.push(wanted.problem(error.to_string())),
    }
}
