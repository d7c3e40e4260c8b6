//! One run, from the fresh read of its object to the notes that its end leaves behind.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock};

use futures::{FutureExt as _, StreamExt as _, stream};
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Client, ResourceExt as _};
use landform_api::keys::{ANNOTATION_RENAMED_FROM, ANNOTATION_RETRIGGER_AT};
use landform_api::words::status_message;
use landform_schedule::{Phase, Reason, Retry, RunId};
use landform_threads::{Aside, Large};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::acting::{self, Right};
use crate::client::Clients;
use crate::clock::{Clock, millis, read_time, write_time};
use crate::context::{Context, Referred, api_of, get};
use crate::cycle::Reporting;
use crate::errors::{self, ErrorPlace, Problem};
use crate::key::{Key, is_name};
use crate::large::{self, LARGE_BYTES, LargePlace, LargeRuns, ReadSoFar};
use crate::message::Inbox;
use crate::reconciler::{Failure, Outcome, Reconciler, Ref};
use crate::recorder::{EventType, Recorder};
use crate::resources::Resources;
use crate::source::Resource;
use crate::times::{self, Asked, Times};

/// After a conflict an object runs again this soon.
const CONFLICT_PAUSE_MS: u64 = 100;
/// So often a finalizer is tried to be removed when others write at the same time.
const FINALIZER_ATTEMPTS: usize = 5;
/// So many refs are read at once.
const READS_AT_ONCE: usize = 16;

/// All that a run needs.
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) key: Key,
    /// The uid of the object that has this name now.
    pub(crate) uid: Option<Arc<str>>,
    pub(crate) reason: Reason,
    pub(crate) phase: Phase,
    pub(crate) former_name: Option<String>,
    pub(crate) reconciler: Arc<dyn Reconciler>,
    pub(crate) resource: Arc<Resource>,
    pub(crate) resources: Resources,
    pub(crate) client: Client,
    /// Whether the API notes who wrote an object (C6).
    pub(crate) writers_noted: bool,
    pub(crate) inbox: Inbox,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) recorder: Recorder,
    pub(crate) large: LargeRuns,
    pub(crate) cancellation: CancellationToken,
    /// What may still be on its way to the object from a cycle that it was in.
    pub(crate) cycle_report: Option<Reporting>,
}

/// How a run ended, for the machine and for people.
#[derive(Clone, Debug)]
pub(crate) struct Returned {
    pub(crate) outcome: landform_schedule::Outcome,
    /// What it waits for, when it said so.
    pub(crate) waiting_for: Option<String>,
}

impl Returned {
    pub(crate) fn cancelled() -> Self {
        Self {
            outcome: landform_schedule::Outcome::Cancelled,
            waiting_for: None,
        }
    }
}

/// How a run ended that nobody cancelled.
struct Ending {
    result: Result<Went, Failure>,
    times: Times,
}

/// How a run went that didn't fail.
enum Went {
    Done,
    /// It isn't done, and may have said what it waits for.
    On(Option<String>),
}

impl Ending {
    /// There was nothing to do.
    fn nothing() -> Self {
        Self {
            result: Ok(Went::Done),
            times: Times::default(),
        }
    }
}

impl From<Failure> for Ending {
    /// The object could not even be read.
    fn from(failure: Failure) -> Self {
        Self {
            result: Err(failure),
            times: Times::default(),
        }
    }
}

impl Run {
    /// Runs the reconciler. Never panics: a panic is an error of the object.
    pub(crate) async fn carry_out(mut self) -> Returned {
        if let Some(report) = self.cycle_report.take() {
            report.end().await;
        }
        let writes = TaskTracker::new();
        let large = Large::default();
        let attempt = Box::pin(self.attempt(&writes, &large));
        let attempt = Aside::new(attempt, large.clone(), &self.large.turns);
        let attempt = AssertUnwindSafe(attempt).catch_unwind().await;
        writes.close();
        writes.wait().await;
        let ending = attempt.unwrap_or_else(|panic| Err(panicked(&self.key, &*panic)));
        let Ending { result, times } = ending.unwrap_or_else(Ending::from);
        match result {
            Ok(went) => Returned {
                outcome: landform_schedule::Outcome::Succeeded {
                    retrigger_at_ms: times.next_ms,
                },
                waiting_for: match went {
                    Went::Done => None,
                    Went::On(what) => what,
                },
            },
            Err(failure) => self.failed(failure, times),
        }
    }

    async fn attempt(&self, writes: &TaskTracker, large: &Large) -> Result<Ending, Failure> {
        let began_ms = self.clock.now_ms();
        let mut place = None;
        let Some(object) = self.read_in_turn(&mut place, large).await? else {
            return Ok(Ending::nothing());
        };
        let clients = Clients {
            client: self.client.clone(),
            inbox: self.inbox.clone(),
            run: self.id,
            path: self.path(),
            writes: writes.clone(),
            on_behalf: acting::authors_of(&object, self.writers_noted),
            writers_noted: self.writers_noted,
        };
        let own = clients.own();
        let object = match self.hold(&own, object).await? {
            Held::Yes(object) => *object,
            // The finalizer was removed before: this reconciler's part is done.
            Held::Finished => return Ok(Ending::nothing()),
        };
        let object = Arc::new(object);
        let context = self.context(own.clone(), clients, object.clone(), &mut place, large);
        let context = context.await?;
        let result = match context.settle_actor(self.writers_noted).await {
            Ok(()) => {
                let reconciled = AssertUnwindSafe(self.reconciler.reconcile(&context));
                let result = reconciled.catch_unwind().await;
                result.unwrap_or_else(|panic| Err(panicked(&self.key, &*panic)))
            }
            Err(failure) => {
                self.reconciler.refused(&context, &failure).await?;
                Err(failure)
            }
        };
        if self.cancellation.is_cancelled() {
            // Another run follows, and its end counts.
            return result.map(|_| Ending::nothing());
        }
        let ending = self.ending(result, &context, began_ms);
        self.leave(&own, &object, ending).await
    }

    /// The path of the object's own URL.
    fn path(&self) -> Arc<str> {
        let namespace = self.resource.namespaced.then_some(&*self.key.namespace);
        let api = api_of(self.client.clone(), &self.resource.api, namespace);
        format!("{}/{}", api.resource_url(), self.key.name).into()
    }

    async fn read(&self) -> Result<Option<DynamicObject>, Failure> {
        let namespace = self.resource.namespaced.then_some(&*self.key.namespace);
        let api = api_of(self.client.clone(), &self.resource.api, namespace);
        Ok(get(&api, &self.key.name).await?)
    }

    /// The same. When the object is large and runs take turns, the run has a place afterwards.
    async fn read_in_turn(
        &self,
        place: &mut Option<LargePlace>,
        large: &Large,
    ) -> Result<Option<DynamicObject>, Failure> {
        let namespace = self.resource.namespaced.then_some(&*self.key.namespace);
        let api = api_of(self.client.clone(), &self.resource.api, namespace);
        let read = || large::text_of(&self.client, &api, &self.key.name);
        let mut text = read().await?;
        if text.as_ref().is_some_and(|text| text.len() > LARGE_BYTES) {
            large.set();
            if self.reconciler.takes_turns() {
                drop(text.take());
                *place = Some(self.large.enter(&self.cancellation).await?);
                text = read().await?;
            }
        }
        let object = text.map(|text| large::decoded(&text)).transpose();
        Ok(object?)
    }

    /// Makes sure that the object can't go before its reconciler has let it go.
    async fn hold(&self, own: &Client, object: DynamicObject) -> Result<Held, Failure> {
        let Some(finalizer) = self.reconciler.finalizer() else {
            return Ok(Held::Yes(Box::new(object)));
        };
        let marked = object.metadata.deletion_timestamp.is_some();
        match (object.finalizers().contains(&finalizer), marked) {
            (true, _) => Ok(Held::Yes(Box::new(object))),
            (false, true) => Ok(Held::Finished),
            (false, false) => {
                let mut finalizers = object.finalizers().to_vec();
                finalizers.push(finalizer);
                let held = self.write_finalizers(own, &object, &finalizers).await?;
                Ok(Held::Yes(Box::new(held)))
            }
        }
    }

    async fn write_finalizers(
        &self,
        own: &Client,
        object: &DynamicObject,
        finalizers: &[String],
    ) -> Result<DynamicObject, Failure> {
        let patch = json!({"metadata": {
            "resourceVersion": object.resource_version(),
            "finalizers": finalizers,
        }});
        self.patch(own, object, patch).await
    }

    async fn patch(
        &self,
        own: &Client,
        object: &DynamicObject,
        patch: Value,
    ) -> Result<DynamicObject, Failure> {
        let namespace = object.metadata.namespace.as_deref();
        let api = api_of(own.clone(), &self.resource.api, namespace);
        let patch = Patch::Merge(patch);
        let name = object.name_any();
        Ok(api.patch(&name, &PatchParams::default(), &patch).await?)
    }

    async fn context(
        &self,
        own: Client,
        clients: Clients,
        object: Arc<DynamicObject>,
        place: &mut Option<LargePlace>,
        large: &Large,
    ) -> Result<Context, Failure> {
        let references = self.reconciler.refs(&object);
        let most = if self.reconciler.takes_turns() && place.is_none() {
            LARGE_BYTES
        } else {
            usize::MAX
        };
        let refs = match self.read_refs(&references, most, large).await? {
            Some(refs) => refs,
            None => {
                *place = Some(self.large.enter(&self.cancellation).await?);
                let refs = self.read_refs(&references, usize::MAX, large).await?;
                refs.unwrap_or_default()
            }
        };
        let retrigger_at = object.annotations().get(ANNOTATION_RETRIGGER_AT);
        Ok(Context {
            key: self.key.clone(),
            resource: self.resource.api.clone(),
            retrigger_at_ms: retrigger_at.and_then(|text| read_time(text)),
            object,
            refs,
            large: large.clone(),
            client: own,
            clients,
            actor: OnceLock::new(),
            cancellation: self.cancellation.clone(),
            clock: self.clock.clone(),
            former_name: self.former_name.clone(),
            reason: self.reason,
            phase: self.phase,
            recorder: self.recorder.clone(),
            inbox: self.inbox.clone(),
            run: self.id,
            written: tokio::sync::Mutex::default(),
            asked_at_ms: Mutex::default(),
        })
    }

    /// What the object refers to; `None` when it has more bytes than this.
    async fn read_refs(
        &self,
        references: &[Ref],
        most_bytes: usize,
        large: &Large,
    ) -> Result<Option<Vec<Referred>>, Failure> {
        let reads = references.iter().cloned();
        let reads = reads.map(|reference| self.read_ref(reference));
        let mut reads = stream::iter(reads).buffered(READS_AT_ONCE);
        let mut refs = Vec::new();
        let mut so_far = ReadSoFar::default();
        while let Some(read) = reads.next().await {
            let (mut referred, text) = read?;
            if let Some(text) = text {
                if so_far.bytes + text.len() > LARGE_BYTES {
                    large.set();
                }
                if so_far.bytes + text.len() > most_bytes {
                    return Ok(None);
                }
                let object = large::decoded(&text)?;
                so_far.add(text.len(), &object)?;
                referred.object = Some(Arc::new(object));
            }
            refs.push(referred);
        }
        Ok(Some(refs))
    }

    /// A reference, and the text of what it refers to.
    async fn read_ref(&self, reference: Ref) -> Result<(Referred, Option<String>), Failure> {
        let namespace = reference.namespace.as_deref();
        let nameable = is_name(&reference.name) && namespace.is_none_or(is_name);
        let resource = self.resources.find(&reference.kind);
        let text = match &resource {
            None => None,
            // Nothing is called that, and it must not become part of a URL.
            Some(_) if !nameable => None,
            Some(resource) => {
                let namespace = namespace.filter(|_| resource.namespaced);
                let api = api_of(self.client.clone(), &resource.api, namespace);
                large::text_of(&self.client, &api, &reference.name).await?
            }
        };
        let right = resource.map(|resource| {
            let namespace = namespace.filter(|_| resource.namespaced);
            let (group, plural) = (&reference.kind.group, &resource.api.plural);
            Right::new(
                "get",
                group,
                plural,
                namespace.unwrap_or_default(),
                &reference.name,
            )
        });
        let referred = Referred {
            right,
            reference,
            object: None,
        };
        Ok((referred, text))
    }

    /// What a result means for the future of the object.
    fn ending(&self, result: Result<Outcome, Failure>, context: &Context, began_ms: u64) -> Ending {
        let now_ms = self.clock.now_ms();
        let mut asked = Asked {
            began_ms,
            now_ms,
            retriggered: self.reason == Reason::Retrigger,
            before_ms: context.retrigger_at_ms,
            at_ms: context.asked_at_ms(),
            until_ms: None,
        };
        let result = result.map(|outcome| match outcome {
            Outcome::Done => Went::Done,
            Outcome::Wait(what) => Went::On(Some(what)),
            Outcome::WaitUntil(what, at_ms) => {
                asked.until_ms = Some(at_ms);
                Went::On(Some(what))
            }
            Outcome::Recheck(after) => {
                asked.at_ms = Some(now_ms.saturating_add(millis(after)));
                Went::On(None)
            }
            Outcome::RecheckAt(at_ms) => {
                asked.at_ms = Some(at_ms);
                Went::On(None)
            }
        });
        let times = times::next(&asked);
        Ending { result, times }
    }

    /// Writes down what must survive a restart, tells an error on the object or takes it back, and lets a marked
    /// object go.
    async fn leave(
        &self,
        own: &Client,
        object: &DynamicObject,
        ending: Ending,
    ) -> Result<Ending, Failure> {
        let marked = object.metadata.deletion_timestamp.is_some();
        let done = matches!(ending.result, Ok(Went::Done));
        if let Some(finalizer) = self.reconciler.finalizer().filter(|_| marked && done) {
            self.let_go(own, &finalizer).await?;
            return Ok(ending);
        }
        let problem = ending.result.as_ref().err().and_then(Problem::of);
        if let Some(problem) = &problem {
            self.tell_people(object, problem);
        }
        let succeeded = ending.result.is_ok();
        let left = match self.note(own, object, &ending).await {
            // Whoever failed for nothing but a conflict has not changed what is wrong with the object.
            Ok(()) if succeeded || problem.is_some() => self.tell_error(own, object, problem).await,
            other => other,
        };
        match left {
            Err(failure) if succeeded => Err(failure),
            Err(failure) => {
                // The failure of the run itself is what people must know; the next run tries this again.
                tracing::warn!(object = %self.key, error = %failure, "the end of a run could not be written down");
                Ok(ending)
            }
            Ok(()) => Ok(ending),
        }
    }

    /// Writes down when the object runs next, and that its new name is known.
    async fn note(
        &self,
        own: &Client,
        object: &DynamicObject,
        ending: &Ending,
    ) -> Result<(), Failure> {
        let known = ending.result.is_ok() && self.phase == Phase::Rename;
        let notes = notes(object, ending.times.noted_ms, known);
        if notes.is_empty() {
            return Ok(());
        }
        let patch = json!({"metadata": {"annotations": notes}});
        match self.patch(own, object, patch).await {
            Err(Failure::Transient(_)) if self.read().await?.is_none() => Ok(()),
            other => other.map(drop),
        }
    }

    /// Makes the object tell its error, or that it has none any more (R7b).
    async fn tell_error(
        &self,
        own: &Client,
        object: &DynamicObject,
        problem: Option<Problem>,
    ) -> Result<(), Failure> {
        let place = self.reconciler.error_place();
        let nothing = problem.is_none() && !errors::tells(&place, object);
        if nothing || place == ErrorPlace::Nowhere {
            return Ok(());
        }
        let namespace = object.metadata.namespace.as_deref();
        let api = api_of(own.clone(), &self.resource.api, namespace);
        let told = errors::tell(&api, &self.key.name, &place, problem.as_ref(), &*self.clock).await;
        Ok(told?)
    }

    async fn let_go(&self, own: &Client, finalizer: &str) -> Result<(), Failure> {
        let mut last = Ok(());
        for _ in 0..FINALIZER_ATTEMPTS {
            let Some(object) = self.read().await? else {
                return Ok(());
            };
            let mut finalizers = object.finalizers().to_vec();
            finalizers.retain(|other| other != finalizer);
            if finalizers.len() == object.finalizers().len() {
                return Ok(());
            }
            match self.write_finalizers(own, &object, &finalizers).await {
                Err(failure @ Failure::Conflict(_)) => last = Err(failure),
                other => return other.map(drop),
            }
        }
        last
    }

    fn tell_people(&self, object: &DynamicObject, problem: &Problem) {
        let Problem { reason, message } = problem;
        let resource = &self.resource.api;
        let warning = EventType::Warning;
        self.recorder
            .record(object, resource, warning, reason, message);
    }

    fn failed(&self, failure: Failure, times: Times) -> Returned {
        let retry = match &failure {
            Failure::Cancelled if self.cancellation.is_cancelled() => return Returned::cancelled(),
            Failure::Conflict(_) => Retry::AtMs(self.clock.now_ms() + CONFLICT_PAUSE_MS),
            Failure::Transient(_) | Failure::Refused(_) | Failure::Cancelled => Retry::Backoff,
            Failure::Invalid(_) => Retry::OnChange,
        };
        let error = match &failure {
            Failure::Cancelled => "it stopped without having been told to".to_owned(),
            other => other.to_string(),
        };
        Returned {
            outcome: landform_schedule::Outcome::Failed {
                // It is kept for as long as the object fails, and in the trace.
                error: status_message(&error).into(),
                retry,
                retrigger_at_ms: times.next_ms,
            },
            waiting_for: None,
        }
    }
}

enum Held {
    Yes(Box<DynamicObject>),
    Finished,
}

/// The annotations that must change: the time of the next run, and the former name when the new one is known.
fn notes(object: &DynamicObject, noted_ms: Option<u64>, renamed: bool) -> Map<String, Value> {
    let mut notes = Map::new();
    let annotations = object.annotations();
    let time = noted_ms.map(write_time);
    if annotations.get(ANNOTATION_RETRIGGER_AT) != time.as_ref() {
        notes.insert(ANNOTATION_RETRIGGER_AT.to_owned(), json!(time));
    }
    if renamed && annotations.contains_key(ANNOTATION_RENAMED_FROM) {
        notes.insert(ANNOTATION_RENAMED_FROM.to_owned(), Value::Null);
    }
    notes
}

fn panicked(key: &Key, panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no message");
    tracing::error!(object = %key, panic = text, "a reconciler panicked: this is a bug in it");
    Failure::Transient(format!("the reconciler panicked: {text}"))
}
