//! One run, from the fresh read of its object to the notes that its end leaves behind.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::{FutureExt as _, StreamExt as _, stream};
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::{Client, ResourceExt as _};
use landform_api::keys::{ANNOTATION_RENAMED_FROM, ANNOTATION_RETRIGGER_AT};
use landform_schedule::{Phase, Reason, Retry, RunId};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::client;
use crate::clock::{Clock, millis, read_time, write_time};
use crate::context::{Context, Referred, api_of};
use crate::cycle::Reporting;
use crate::key::{Key, is_name};
use crate::message::Inbox;
use crate::reconciler::{Failure, Outcome, Reconciler, Ref};
use crate::recorder::{EventType, Recorder};
use crate::resources::Resources;
use crate::source::Resource;

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
    pub(crate) reason: Reason,
    pub(crate) phase: Phase,
    pub(crate) former_name: Option<String>,
    pub(crate) reconciler: Arc<dyn Reconciler>,
    pub(crate) resource: Arc<Resource>,
    pub(crate) resources: Resources,
    pub(crate) client: Client,
    pub(crate) inbox: Inbox,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) recorder: Recorder,
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

/// What was asked for, in the engine's own terms.
struct Ending {
    done: bool,
    recheck_at_ms: Option<u64>,
    /// What of it must survive a restart.
    noted_at_ms: Option<u64>,
    waiting_for: Option<String>,
}

impl Run {
    /// Runs the reconciler. Never panics: a panic is an error of the object.
    pub(crate) async fn carry_out(mut self) -> Returned {
        if let Some(report) = self.cycle_report.take() {
            report.end().await;
        }
        let writes = TaskTracker::new();
        let attempt = AssertUnwindSafe(self.attempt(&writes)).catch_unwind().await;
        writes.close();
        writes.wait().await;
        let result = attempt.unwrap_or_else(|panic| Err(panicked(&self.key, &*panic)));
        match result {
            Ok(ending) => Returned {
                outcome: landform_schedule::Outcome::Succeeded {
                    retrigger_at_ms: ending.recheck_at_ms,
                },
                waiting_for: ending.waiting_for,
            },
            Err(failure) => self.failed(failure),
        }
    }

    async fn attempt(&self, writes: &TaskTracker) -> Result<Ending, Failure> {
        let nothing = Ending {
            done: true,
            recheck_at_ms: None,
            noted_at_ms: None,
            waiting_for: None,
        };
        let own = client::of_run(&self.client, &self.inbox, self.id, self.path(), writes);
        let Some(object) = self.read().await? else {
            return Ok(nothing);
        };
        let object = match self.hold(&own, object).await? {
            Held::Yes(object) => *object,
            // The finalizer was removed before: this reconciler's part is done.
            Held::Finished => return Ok(nothing),
        };
        let object = Arc::new(object);
        let context = self.context(own.clone(), object.clone()).await?;
        let result = self.reconciler.reconcile(&context).await;
        if self.cancellation.is_cancelled() {
            // Another run follows, and its end counts.
            return result.map(|_| nothing);
        }
        if let Err(failure) = &result {
            self.tell_people(&object, failure);
        }
        let ending = self.ending(result?, context.retrigger_at_ms);
        self.leave(&own, &object, &ending).await?;
        Ok(ending)
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
        Ok(api.get_opt(&self.key.name).await?)
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

    async fn context(&self, own: Client, object: Arc<DynamicObject>) -> Result<Context, Failure> {
        let references = self.reconciler.refs(&object);
        let reads = references
            .into_iter()
            .map(|reference| self.read_ref(reference));
        let refs: Vec<_> = stream::iter(reads).buffered(READS_AT_ONCE).collect().await;
        let refs: Result<Vec<_>, Failure> = refs.into_iter().collect();
        let retrigger_at = object.annotations().get(ANNOTATION_RETRIGGER_AT);
        Ok(Context {
            key: self.key.clone(),
            resource: self.resource.api.clone(),
            retrigger_at_ms: retrigger_at.and_then(|text| read_time(text)),
            object,
            refs: refs?,
            client: own,
            cancellation: self.cancellation.clone(),
            clock: self.clock.clone(),
            former_name: self.former_name.clone(),
            reason: self.reason,
            phase: self.phase,
            recorder: self.recorder.clone(),
            written: tokio::sync::Mutex::default(),
        })
    }

    async fn read_ref(&self, reference: Ref) -> Result<Referred, Failure> {
        let namespace = reference.namespace.as_deref();
        let nameable = is_name(&reference.name) && namespace.is_none_or(is_name);
        let object = match self.resources.find(&reference.kind) {
            None => None,
            // Nothing is called that, and it must not become part of a URL.
            Some(_) if !nameable => None,
            Some(resource) => {
                let namespace = namespace.filter(|_| resource.namespaced);
                let api = api_of(self.client.clone(), &resource.api, namespace);
                api.get_opt(&reference.name).await?.map(Arc::new)
            }
        };
        Ok(Referred { reference, object })
    }

    fn ending(&self, outcome: Outcome, kept_ms: Option<u64>) -> Ending {
        let now_ms = self.clock.now_ms();
        // The run at the start of a process is nobody's wish: a time that was asked for before stays.
        let at_start = self.reason == Reason::Appeared;
        let kept_ms = kept_ms.filter(|at_ms| at_start && *at_ms > now_ms);
        let done = outcome == Outcome::Done;
        let (noted_at_ms, until_ms, waiting_for) = match outcome {
            Outcome::Done => (kept_ms, None, None),
            Outcome::Wait(what) => (kept_ms, None, Some(what)),
            Outcome::WaitUntil(what, at_ms) => (kept_ms, Some(at_ms), Some(what)),
            Outcome::Recheck(after) => (Some(now_ms.saturating_add(millis(after))), None, None),
            Outcome::RecheckAt(at_ms) => (Some(at_ms), None, None),
        };
        Ending {
            done,
            recheck_at_ms: noted_at_ms.into_iter().chain(until_ms).min(),
            noted_at_ms,
            waiting_for,
        }
    }

    /// Writes down what must survive a restart, and lets a marked object go.
    async fn leave(
        &self,
        own: &Client,
        object: &DynamicObject,
        ending: &Ending,
    ) -> Result<(), Failure> {
        let marked = object.metadata.deletion_timestamp.is_some();
        if let Some(finalizer) = self
            .reconciler
            .finalizer()
            .filter(|_| marked && ending.done)
        {
            return self.let_go(own, &finalizer).await;
        }
        let notes = notes(object, ending.noted_at_ms, self.phase);
        if notes.is_empty() {
            return Ok(());
        }
        let patch = json!({"metadata": {"annotations": notes}});
        match self.patch(own, object, patch).await {
            Err(Failure::Transient(_)) if self.read().await?.is_none() => Ok(()),
            other => other.map(drop),
        }
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

    fn tell_people(&self, object: &DynamicObject, failure: &Failure) {
        match failure {
            Failure::Conflict(_) | Failure::Cancelled => {}
            Failure::Transient(message) | Failure::Invalid(message) => {
                let resource = &self.resource.api;
                let warning = EventType::Warning;
                self.recorder
                    .record(object, resource, warning, "ReconcileFailed", message);
            }
        }
    }

    fn failed(&self, failure: Failure) -> Returned {
        let retry = match &failure {
            Failure::Cancelled if self.cancellation.is_cancelled() => return Returned::cancelled(),
            Failure::Conflict(_) => Retry::AtMs(self.clock.now_ms() + CONFLICT_PAUSE_MS),
            Failure::Transient(_) | Failure::Cancelled => Retry::Backoff,
            Failure::Invalid(_) => Retry::OnChange,
        };
        let error = match &failure {
            Failure::Cancelled => "it stopped without having been told to".to_owned(),
            other => other.to_string(),
        };
        Returned {
            outcome: landform_schedule::Outcome::Failed {
                error: error.into(),
                retry,
            },
            waiting_for: None,
        }
    }
}

enum Held {
    Yes(Box<DynamicObject>),
    Finished,
}

/// The annotations that must change: the time of the next run, and the former name.
fn notes(object: &DynamicObject, recheck_at_ms: Option<u64>, phase: Phase) -> Map<String, Value> {
    let mut notes = Map::new();
    let annotations = object.annotations();
    let time = recheck_at_ms.map(write_time);
    if annotations.get(ANNOTATION_RETRIGGER_AT) != time.as_ref() {
        notes.insert(ANNOTATION_RETRIGGER_AT.to_owned(), json!(time));
    }
    let renamed = annotations.contains_key(ANNOTATION_RENAMED_FROM);
    if renamed && phase == Phase::Rename {
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
