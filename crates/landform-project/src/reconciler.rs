//! The reconciler of projects.
//!
//! # Flow of a run
//! 1. The directory is read, as far as it changed, and followed.
//! 2. What is there of the project is read: everything after a start or a change of the project itself,
//!    otherwise what is remembered will do.
//! 3. `resolve` and `decide` say what must be done; definitions and namespaces come first, because the rest may
//!    need them.
//! 4. It is done, and the status tells of it.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::core::{DynamicObject, ObjectMeta};
use landform_api::project::{
    self, ANNOTATION_APPROVED_DELETIONS, FINALIZER, GROUP, Project, ProjectPhase, ProjectStatus,
};
use landform_api::{GroupKind, GroupVersionKind};
use landform_engine::{
    Actor, Context, Failure, Order, Outcome, Reconciler, Related, Right, content_of_spec,
};
use serde_json::Value;

use crate::act::{Acting, Report};
use crate::applied;
use crate::apply::{self, ApplyError, Served};
use crate::decide::{Decision, GoingAlong, Live, Observed, Stays, decide};
use crate::leaving;
use crate::live;
use crate::object::ObjectId;
use crate::order::{defined, rank};
use crate::projects::Shared;
use crate::reader::{ReadProblem, Reading};
use crate::resolve::{self, Resolved, resolve};
use crate::state::{Memory, State};
use crate::status::{
    fail, kept_namespaces, last_error, settings_alone, tell_people, unsettled, unsettled_settings,
};
use crate::watch::{Wake, Watch};

/// The status lists at most this many problems.
const PROBLEMS_LISTED_MAX: usize = 100;
/// What the API refused is tried again after this time.
const AGAIN_MS: u64 = 5_000;
/// New directories may appear while directories are read.
const READS: usize = 5;

/// Reconciles projects.
pub struct ProjectReconciler {
    pub(crate) shared: Arc<Shared>,
}

/// Where the objects of kinds are that are there.
pub(crate) type LiveKinds = BTreeMap<(String, String), Served>;

impl ProjectReconciler {
    async fn run(&self, context: &Context) -> Result<Outcome, Failure> {
        let name = context.object().name_any();
        let state = self.shared.state(&name);
        state.memory.lock().begin();
        let outcome = self.look(context, &name, &state).await;
        let look_again = state.memory.lock().end();
        if look_again {
            self.shared.wake(&name);
        }
        outcome
    }

    async fn look(
        &self,
        context: &Context,
        name: &str,
        state: &Arc<State>,
    ) -> Result<Outcome, Failure> {
        let mut project: Project = context.typed()?;
        if context.deleting() {
            return self.remove(context, state, project.status).await;
        }
        if applied::is_settings_alone(&project.spec, &project.status) {
            return settings_alone(context, project.status).await;
        }
        let annotations = context.object().annotations();
        let last_applied = annotations.get(applied::LAST_APPLIED);
        project.spec = applied::without_settings(project.spec, last_applied.map(String::as_str));
        let directory = match self.directory(context, &project.spec.directory).await? {
            Ok(directory) => directory,
            Err(message) => {
                return fail(context, state, project.status, &message, Vec::new()).await;
            }
        };
        if let Some(said) = &project.status.settings {
            state.reader.lock().remember_settings(said);
        }
        let reading = match self
            .read(state, name, directory, &project, context.now_ms())
            .await?
        {
            Ok(reading) => reading,
            Err(ReadProblem::Unsettled(until)) => {
                return unsettled_settings(context, state, project.status, until).await;
            }
            Err(problem) => {
                let problems = match &problem {
                    ReadProblem::Settings(problems) => problems.clone(),
                    ReadProblem::Directory(_) | ReadProblem::Unsettled(_) => Vec::new(),
                };
                let message = problem.to_string();
                return fail(context, state, project.status, &message, problems).await;
            }
        };
        self.sync(context, state, &project, &reading).await
    }

    /// The directory that a spec names, if the project's writer may use it (C6).
    async fn directory(
        &self,
        context: &Context,
        given: &str,
    ) -> Result<Result<PathBuf, String>, Failure> {
        if *context.actor() == Actor::Engine {
            return Ok(self.shared.directory(given));
        }
        let may_use = async |path: &Path| {
            let Some(name) = self.shared.first_part(path) else {
                return Ok(Err(format!(
                    "spec.directory {given:?} must be below the server's directory of projects, and without '..'"
                )));
            };
            let right = Right::new("use", GROUP, "projectdirectories", "", &name);
            let missing = context.missing([right]).await?;
            Ok::<_, Failure>(missing.map_or(Ok(()), |denied| Err(denied.to_string())))
        };
        // First by what is written: whether a directory exists is nothing that a user without the right may learn.
        if let Err(denied) = may_use(Path::new(given)).await? {
            return Ok(Err(denied));
        }
        let directory = match self.shared.directory(given) {
            Ok(directory) => directory,
            Err(problem) => return Ok(Err(problem)),
        };
        // A link may lead to another one.
        let used = may_use(&directory).await?;
        Ok(used.map(|()| directory))
    }

    /// Reads the directory, and follows it. What appears while that happens is read, too.
    async fn read(
        &self,
        state: &Arc<State>,
        name: &str,
        directory: PathBuf,
        project: &Project,
        now_ms: u64,
    ) -> Result<Result<Reading, ReadProblem>, Failure> {
        let mut attempt = 1;
        loop {
            let (reader, directory) = (state.clone(), directory.clone());
            let (name_, spec) = (name.to_owned(), project.spec.clone());
            let read = move || reader.reader.lock().read(&directory, &name_, &spec, now_ms);
            let reading = if self.shared.reads_inline {
                read()
            } else {
                let reading = tokio::task::spawn_blocking(read).await;
                reading.map_err(|error| Failure::Transient(error.to_string()))?
            };
            let reading = match reading {
                Ok(reading) => reading,
                Err(problem) => return Ok(Err(problem)),
            };
            let mut watch = state.watch.lock().await;
            let notifier = &*self.shared.notifier;
            let begin = || Watch::new(notifier, self.waker(name), state.touched.clone());
            let watch = watch.get_or_insert_with(begin);
            let new = watch.follow(&reading.directories);
            if !new || attempt >= READS {
                return Ok(Ok(reading));
            }
            attempt += 1;
        }
    }

    fn waker(&self, name: &str) -> Wake {
        let (shared, name) = (Arc::downgrade(&self.shared), name.to_owned());
        Arc::new(move || {
            if let Some(shared) = shared.upgrade() {
                shared.wake(&name);
            }
        })
    }

    async fn sync(
        &self,
        context: &Context,
        state: &State,
        project: &Project,
        reading: &Reading,
    ) -> Result<Outcome, Failure> {
        let (client, name) = (context.client(), context.object().name_any());
        let content = content(context.object());
        self.protect_itself(context, &reading.settings).await?;
        let mut before = self.observe(context, state, content).await?;
        state.miss_anew(&reading.root);
        let find = || self.shared.kinds.find(&client, resolve::kinds(reading));
        let mut served = find().await.map_err(failure)?;
        let mut live_kinds = state.memory.lock().kinds.clone();
        let homes = |id: &ObjectId| before.get(id).map(|live| live.file.clone());
        let mut resolved = resolve(&name, reading, &served, &homes);
        let mut report = Report::default();
        let mut early = BTreeSet::new();
        if !resolved.unknown.is_empty() {
            // Their definitions may be part of the project.
            let nothing = BTreeMap::new();
            let decision = self.decide(context, state, reading, &resolved, &before, &nothing);
            let acting = Acting {
                context,
                client: context.making()?,
                state,
                wanted: &resolved.wanted,
                served: &served,
                live_kinds: &live_kinds,
                kinds: &self.shared.kinds,
            };
            acting.apply(&decision.applies, 0..=1, &mut report).await?;
            early.extend(decision.applies);
            for id in resolved.wanted.keys().filter(|id| rank(id) == 1) {
                context
                    .or_cancelled(apply::established(&client, &id.name))
                    .await?
                    .map_err(failure)?;
            }
            served = find().await.map_err(failure)?;
            resolved = resolve(&name, reading, &served, &homes);
        }
        if is_outdated(&before, &served) {
            // What could not be seen can be now: it may be what is wanted under another name.
            before = self.observe(context, state, content).await?;
            let homes = |id: &ObjectId| before.get(id).map(|live| live.file.clone());
            resolved = resolve(&name, reading, &served, &homes);
            early.clear();
            live_kinds = state.memory.lock().kinds.clone();
        }
        // What was applied just now is known from memory; all else as it was read.
        let mut live = state.memory.lock().live.clone();
        for (id, read) in before {
            if let Some(known) = live.get_mut(&id).filter(|_| !early.contains(&id)) {
                *known = read;
            }
        }
        let decision = self
            .decide_in_full(context, state, reading, &resolved, &live)
            .await?;
        let acting = Acting {
            context,
            client: context.making()?,
            state,
            wanted: &resolved.wanted,
            served: &served,
            live_kinds: &live_kinds,
            kinds: &self.shared.kinds,
        };
        {
            // Whatever becomes of this run: the consent and the times hold.
            let mut memory = state.memory.lock();
            memory.agreed.extend(decision.agreed.iter().cloned());
            memory.missed.clone_from(&decision.missed);
            memory.kinds.extend(served.values().map(|served| {
                let kind = &served.kind;
                ((kind.group.clone(), kind.kind.clone()), served.clone())
            }));
            memory.said.extend(as_said(&resolved, &live, &decision));
            memory.forget_objects();
        }
        acting.rename(&decision, &mut report).await?;
        acting
            .apply(&decision.applies, 0..=u8::MAX, &mut report)
            .await?;
        acting.delete(&decision.deletions, &mut report).await?;
        self.tell_of_blueprints(context, state, reading);
        let company = decision.held_for.iter();
        let company = company.filter_map(|(id, _)| self.shared.kinds.known(&id.group, &id.kind));
        // Also of those that no file has any more: their end is waited for.
        let there = live_kinds.values().map(|served| served.kind.clone());
        let followed = served.into_keys().chain(there).chain(company).collect();
        self.shared.follow(followed).await?;
        if has_arrived(&decision, &state.memory.lock().live) {
            self.shared.wake(&name);
        }
        self.tell(
            context, state, project, reading, resolved, decision, report, content,
        )
        .await
    }

    /// What is there of the project.
    async fn observe(
        &self,
        context: &Context,
        state: &State,
        content: u64,
    ) -> Result<BTreeMap<ObjectId, Live>, Failure> {
        let noted = state.take_note();
        {
            let memory = state.memory.lock();
            if noted && memory.complete && memory.content == Some(content) {
                return Ok(memory.live.clone());
            }
        }
        let (client, name) = (context.client(), context.object().name_any());
        state.memory.lock().complete = false;
        let found = live::list(&client, &self.shared.kinds, &name)
            .await
            .map_err(failure)?;
        let kinds = self.live_kinds(context, &found).await?;
        let mut memory = state.memory.lock();
        memory.live = found.clone();
        memory.kinds.extend(kinds);
        Ok(found)
    }

    pub(crate) async fn live_kinds(
        &self,
        context: &Context,
        live: &BTreeMap<ObjectId, Live>,
    ) -> Result<LiveKinds, Failure> {
        let needed = live.keys().map(|id| GroupKind {
            group: id.group.clone(),
            kind: id.kind.clone(),
        });
        let (client, needed) = (context.client(), needed.collect());
        let kinds = self.shared.kinds.preferred(&client, &needed).await;
        let kinds = kinds.map_err(failure)?.into_iter();
        Ok(kinds
            .map(|(kind, served)| ((kind.group, kind.kind), served))
            .collect())
    }

    /// Decides, and finds out what goes along when a definition goes.
    async fn decide_in_full(
        &self,
        context: &Context,
        state: &State,
        reading: &Reading,
        resolved: &Resolved,
        live: &BTreeMap<ObjectId, Live>,
    ) -> Result<Decision, Failure> {
        let nothing = BTreeMap::new();
        let decision = self.decide(context, state, reading, resolved, live, &nothing);
        let Some(fresh) = self
            .look_at_leaving(context, state, live, &decision)
            .await?
        else {
            return Ok(decision);
        };
        let live = &fresh;
        let decision = self.decide(context, state, reading, resolved, live, &nothing);
        if decision.unknown_company.is_empty() {
            return Ok(decision);
        }
        let (client, kinds) = (context.client(), &self.shared.kinds);
        let going = decision.unknown_company.iter();
        let along = leaving::going_along(&client, kinds, going, None).await;
        let along = along.map_err(failure)?;
        Ok(self.decide(context, state, reading, resolved, live, &along))
    }

    fn decide(
        &self,
        context: &Context,
        state: &State,
        reading: &Reading,
        resolved: &Resolved,
        live: &BTreeMap<ObjectId, Live>,
        going_along: &BTreeMap<ObjectId, GoingAlong>,
    ) -> Decision {
        let memory = state.memory.lock();
        let approved = context
            .object()
            .annotations()
            .get(ANNOTATION_APPROVED_DELETIONS);
        decide(&Observed {
            wanted: &resolved.wanted,
            live,
            said: &memory.said,
            is_unsure: &|file| resolved.unsure.contains(file) || reading.is_unsure(file),
            missed: &memory.missed,
            grace_ms: reading.settings.grace_ms(),
            deletions: reading.settings.deletions.unwrap_or_default(),
            approved: approved.map(String::as_str),
            agreed: &memory.agreed,
            going_along,
            now_ms: context.now_ms(),
        })
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "all that a run has found comes together in the status"
    )]
    async fn tell(
        &self,
        context: &Context,
        state: &State,
        project: &Project,
        reading: &Reading,
        resolved: Resolved,
        decision: Decision,
        report: Report,
        content: u64,
    ) -> Result<Outcome, Failure> {
        let Report {
            problems: found,
            transient,
            refused,
            mut waiting,
            kept,
            ..
        } = report;
        tell_people(
            context,
            &report.renamed,
            decision.held.as_ref(),
            &kept,
            &project.status,
        );
        waiting.extend(decision.waiting.iter().cloned());
        let mut problems = resolved.problems;
        problems.extend(found);
        for (id, message) in &decision.problems {
            problems.extend(
                resolved
                    .wanted
                    .get(id)
                    .map(|wanted| wanted.problem(message)),
            );
        }
        problems.sort();
        problems.dedup();
        let leaving = {
            let mut memory = state.memory.lock();
            memory.complete = transient.is_none();
            if transient.is_some() {
                // Kinds may have come or gone.
                self.shared.kinds.forget();
            }
            memory.content = Some(content);
            let awaited = waiting.iter().map(|id| (id.clone(), String::new()));
            // What goes by itself needs nobody's consent any more.
            memory.awaited = awaited.chain(decision.held_for.iter().cloned()).collect();
            let unserved = |live: &Live| live.unserved.is_some();
            memory.lacks_kinds = !resolved.unknown.is_empty() || memory.live.values().any(unserved);
            let wanted = &resolved.wanted;
            // What still has its former name may get the new one later.
            let Memory { said, live, .. } = &mut *memory;
            said.retain(|id, _| wanted.contains_key(id) || live.contains_key(id));
            let leaving = live.iter();
            let leaving = leaving.filter(|(id, live)| live.deleting && !wanted.contains_key(id));
            leaving.map(|(id, _)| id.clone()).collect::<BTreeSet<_>>()
        };
        if decision.missed.is_empty() && decision.stays.is_empty() {
            state.reader.lock().nothing_is_left_behind();
        }
        let waiting_on = unsettled(&waiting, &leaving, &decision, reading.settings_until);
        let protected = |stays: &Stays| *stays == Stays::Protected;
        let phase = if decision.held.is_some() || decision.stays.values().any(protected) {
            ProjectPhase::Held
        } else if !problems.is_empty() || transient.is_some() {
            ProjectPhase::Incomplete
        } else if !waiting_on.is_empty() {
            ProjectPhase::Settling
        } else {
            ProjectPhase::Synced
        };
        let status = ProjectStatus {
            phase: Some(phase),
            observed_generation: context.object().metadata.generation,
            files: reading.files.len(),
            objects: resolved.wanted.len(),
            problem_count: problems.len(),
            problems: problems.into_iter().take(PROBLEMS_LISTED_MAX).collect(),
            held_deletions: decision.held,
            last_error: transient
                .as_ref()
                .map(|message| last_error(context, &project.status, "Sync", "NotApplied", message)),
            waiting_on,
            kept_namespaces: kept_namespaces(context, &project.status, kept, &resolved.wanted)
                .await,
            settings: reading.said.clone(),
        };
        context.write_status(&status).await?;
        if let Some(message) = transient {
            return Err(Failure::Transient(message));
        }
        let again = refused.then(|| context.now_ms().saturating_add(AGAIN_MS));
        let away = state
            .memory
            .lock()
            .blueprints
            .away_until(reading.settings.grace_ms());
        let times = [decision.look_again_at, reading.settings_until, away];
        let again = times.into_iter().flatten().chain(again).min();
        Ok(match again {
            Some(at) => {
                state.note();
                Outcome::WaitUntil("it looks again at what it found".into(), at)
            }
            None if waiting.is_empty() => Outcome::Done,
            None => Outcome::Wait("objects are being deleted".into()),
        })
    }
}

/// Whether objects were read as if their kinds weren't served, and they are.
fn is_outdated(
    live: &BTreeMap<ObjectId, Live>,
    served: &BTreeMap<GroupVersionKind, Served>,
) -> bool {
    let served: BTreeSet<GroupKind> = served.keys().cloned().map(Into::into).collect();
    let mut unserved = live.iter().filter(|(_, live)| live.unserved.is_some());
    unserved.any(|(id, _)| {
        served.contains(&GroupKind {
            group: id.group.clone(),
            kind: id.kind.clone(),
        })
    })
}

/// Whether an object is in its new place by now, so that the one in the old place can go.
fn has_arrived(decision: &Decision, live: &BTreeMap<ObjectId, Live>) -> bool {
    decision.stays.values().any(|stays| match stays {
        Stays::Moving(to) => live.get(to).is_some_and(|live| !live.deleting),
        Stays::Unserved(_) | Stays::Occupied(_) | Stays::Protected => false,
    })
}

/// What an API answers to reads: it may answer better the next time.
pub(crate) fn failure(error: ApplyError) -> Failure {
    Failure::Transient(error.to_string())
}

/// Objects that were read just now and are as the files say.
fn as_said(
    resolved: &Resolved,
    live: &BTreeMap<ObjectId, Live>,
    decision: &Decision,
) -> BTreeMap<ObjectId, Arc<Value>> {
    let applied: BTreeSet<_> = decision.applies.iter().collect();
    let wrong: BTreeSet<_> = decision.problems.iter().map(|(id, _)| id).collect();
    let wanted = resolved.wanted.iter();
    let same = wanted.filter(|(id, _)| {
        let read = live
            .get(*id)
            .is_some_and(|live| live.object.is_some() && !live.deleting);
        let renamed = decision.renames.contains_key(*id);
        let later = decision.held_back.contains(*id);
        read && !applied.contains(id) && !wrong.contains(id) && !renamed && !later
    });
    same.map(|(id, wanted)| (id.clone(), wanted.object.clone()))
        .collect()
}

/// Moves when something is asked of the project, and not with its status.
fn content(object: &DynamicObject) -> u64 {
    let metadata = &object.metadata;
    let mut hasher = DefaultHasher::new();
    let asked = (&metadata.uid, metadata.generation, &metadata.annotations);
    asked.hash(&mut hasher);
    metadata.deletion_timestamp.is_some().hash(&mut hasher);
    hasher.finish()
}

impl Reconciler for ProjectReconciler {
    fn kind(&self) -> GroupVersionKind {
        project::kind()
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(self.run(context))
    }

    fn order(&self) -> Order {
        Order::Free
    }

    fn related(&self) -> Vec<Related> {
        // A definition may bring a kind that a project lacks, or take away one that it has.
        let kind = GroupVersionKind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let shared = self.shared.clone();
        let related = Related::new(kind, move |definition| {
            shared.kinds.forget();
            let (group, kind) = defined(&definition.data);
            let states = shared.states.lock();
            let concerned = states
                .iter()
                .filter(|(_, state)| state.memory.lock().kind_changed(&group, &kind));
            concerned.map(|(name, _)| (None, name.clone())).collect()
        });
        vec![related.when_moved(content_of_spec)]
    }

    fn gone(&self, kind: &GroupKind, namespace: &str, name: &str, uid: &str) {
        if *kind == project::kind().into() {
            self.shared.states.lock().remove(name);
            return;
        }
        let id = ObjectId::of(kind, namespace, name);
        self.shared.tell(|memory| memory.gone(&id, uid));
    }

    fn listed(&self, kind: &GroupKind, objects: &[&ObjectMeta]) {
        if *kind == project::kind().into() {
            return;
        }
        let there = objects.iter().map(|object| {
            let namespace = object.namespace.as_deref().unwrap_or_default();
            ObjectId::of(kind, namespace, object.name.as_deref().unwrap_or_default())
        });
        let there = Arc::new(there.collect());
        self.shared.tell(|memory| memory.listed(kind, &there));
    }

    fn content(&self, object: &DynamicObject) -> u64 {
        content(object)
    }

    fn finalizer(&self) -> Option<String> {
        Some(FINALIZER.to_owned())
    }
}
