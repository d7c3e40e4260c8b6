//! What people see of the engine (R13): every object, what it waits for, and what happened last.

use landform_api::GroupKind;
use landform_schedule::{Standing, Status, Wait};
use serde::Serialize;

use crate::clock::write_time;
use crate::driver::Driver;
use crate::engine::{Engine, EngineError};
use crate::key::Key;
use crate::kinds::Reading;
use crate::trace::{TraceEntry, TraceEvent};

/// The engine at a glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Runs that are under way.
    pub running: usize,
    /// Runs that wait because enough of their kind are under way.
    pub waiting_for_a_place: usize,
    /// Cancelled runs that ignore it.
    pub stuck: usize,
    /// The kinds that are followed.
    pub kinds: Vec<KindView>,
}

/// A kind that the engine follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KindView {
    /// The group; empty for the core group.
    pub group: String,
    /// The version that is read.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// Whether it has a reconciler here.
    pub reconciled: bool,
    /// How many objects of it there are.
    pub objects: usize,
    /// Where reading it stands.
    pub state: ReadingView,
    /// Why it can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Where reading a kind stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ReadingView {
    /// It is being listed for the first time.
    Listing,
    /// It is watched.
    Watching,
    /// The API doesn't know it.
    Absent,
    /// It can't be read at present.
    Failing,
}

/// Which objects to show. What is empty doesn't matter.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only this kind.
    pub kind: Option<String>,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only objects in this state.
    pub state: Option<State>,
    /// At most so many.
    pub limit: usize,
}

/// What an object is doing, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum State {
    /// Nothing.
    Idle,
    /// It must run, or something above it must.
    Pending,
    /// It runs.
    Running,
    /// Its run was told to return.
    Cancelling,
    /// As cancelling, for too long.
    Stuck,
    /// It is in a cycle of references.
    Cyclic,
}

impl State {
    /// Reads what [`State`] is called.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let all = [
            Self::Idle,
            Self::Pending,
            Self::Running,
            Self::Cancelling,
            Self::Stuck,
            Self::Cyclic,
        ];
        all.into_iter()
            .find(|state| format!("{state:?}").eq_ignore_ascii_case(text))
    }
}

/// An object, as the engine sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectView {
    /// The object.
    #[serde(flatten)]
    pub object: NameView,
    /// What it is doing.
    pub state: State,
    /// Why it must run or runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it waits for; the first few.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<WaitView>,
    /// What its last run said that it waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
    /// Since when it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running_since: Option<String>,
    /// By whom its run was told to return.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<String>,
    /// The cycle that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycle: Option<String>,
    /// The error of its last run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// When it runs again by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_run: Option<String>,
}

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NameView {
    /// The group; empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for objects of the cluster.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// Something that an object waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitView {
    /// Why that object is in the way.
    pub relation: Relation,
    /// The object.
    #[serde(flatten)]
    pub object: NameView,
}

/// Why an object is in the way of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Relation {
    /// It is referred to, directly or not, and must have run.
    Ref,
    /// Its cancelled run must have returned.
    Dependent,
    /// The run under the former name must have returned.
    FormerName,
    /// A delete that goes first must have run (R8).
    Delete,
    /// A rename that goes first must have run (R8).
    Rename,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceView {
    /// When.
    pub time: String,
    /// The object.
    #[serde(flatten)]
    pub object: NameView,
    /// What, in one word.
    pub event: &'static str,
    /// What, in a sentence.
    pub message: String,
}

impl Engine {
    /// The engine at a glance.
    ///
    /// # Errors
    /// When the engine has stopped.
    pub async fn summary(&self) -> Result<Summary, EngineError> {
        self.visit(|driver| driver.summary()).await
    }

    /// Objects, in the order of their names, and how many more there are.
    ///
    /// # Errors
    /// When the engine has stopped.
    pub async fn objects(&self, filter: Filter) -> Result<(Vec<ObjectView>, usize), EngineError> {
        self.visit(move |driver| driver.objects(&filter)).await
    }

    /// One object; `None` when the engine doesn't know it.
    ///
    /// # Errors
    /// When the engine has stopped.
    pub async fn object(&self, key: Key) -> Result<Option<ObjectView>, EngineError> {
        self.visit(move |driver| driver.object(&key)).await
    }

    /// What happened last, newest first; of one object, if one is named.
    ///
    /// # Errors
    /// When the engine has stopped.
    pub async fn trace(
        &self,
        of: Option<Key>,
        limit: usize,
    ) -> Result<Vec<TraceEntry>, EngineError> {
        self.visit(move |driver| {
            let entries = driver.trace.newest();
            let entries = entries.filter(|entry| of.as_ref().is_none_or(|key| entry.key == *key));
            entries.take(limit).cloned().collect()
        })
        .await
    }
}

impl Driver {
    fn summary(&self) -> Summary {
        let (running, waiting_for_a_place, stuck) = self.runs.counts();
        let kinds = self.kinds.values().map(|kind| {
            let (state, error) = match &kind.reading {
                Reading::Listing => (ReadingView::Listing, None),
                Reading::Watching => (ReadingView::Watching, None),
                Reading::Absent => (ReadingView::Absent, None),
                Reading::Failing(error) => (ReadingView::Failing, Some(error.clone())),
            };
            KindView {
                group: kind.name.group.clone(),
                version: kind.name.version.clone(),
                kind: kind.name.kind.clone(),
                reconciled: kind.reconciler.is_some(),
                objects: kind.objects.len(),
                state,
                error,
            }
        });
        Summary {
            running,
            waiting_for_a_place,
            stuck,
            kinds: kinds.collect(),
        }
    }

    fn objects(&self, filter: &Filter) -> (Vec<ObjectView>, usize) {
        let fits = |text: &str, wanted: &Option<String>| {
            wanted
                .as_ref()
                .is_none_or(|wanted| wanted.eq_ignore_ascii_case(text))
        };
        let kinds = self
            .kinds
            .values()
            .filter(|kind| fits(&kind.name.kind, &filter.kind));
        let keys = kinds.flat_map(|kind| kind.objects.keys());
        let keys = keys.filter(|key| fits(&key.namespace, &filter.namespace));
        let mut found = Vec::new();
        let mut more = 0;
        for view in keys.filter_map(|key| self.object(key)) {
            if filter.state.is_some_and(|state| state != view.state) {
                continue;
            }
            if found.len() < filter.limit {
                found.push(view);
            } else {
                more += 1;
            }
        }
        (found, more)
    }

    pub(crate) fn object(&self, key: &Key) -> Option<ObjectView> {
        let status = self.machine.status(key)?;
        Some(self.describe(key, status))
    }

    fn describe(&self, key: &Key, status: Status<Key>) -> ObjectView {
        let mut view = ObjectView {
            object: name_of(key),
            state: State::Idle,
            reason: None,
            waiting_on: Vec::new(),
            waiting_for: self.waiting_for.get(key).cloned(),
            running_since: None,
            cancelled: None,
            cycle: None,
            last_error: status.last_error.map(|error| error.to_string()),
            next_run: status.next_run_at_ms.map(write_time),
        };
        let since = |run| {
            self.runs
                .get(run)
                .and_then(|flight| flight.since_ms)
                .map(write_time)
        };
        match status.standing {
            Standing::Idle => {}
            Standing::Pending { reason, on } => {
                view.state = State::Pending;
                view.reason = reason.map(|reason| reason.to_string());
                view.waiting_on = on.iter().map(wait_of).collect();
            }
            Standing::Running { run, reason } => {
                view.state = State::Running;
                view.reason = Some(reason.to_string());
                view.running_since = since(run);
            }
            Standing::Cancelling { run, cause } => {
                view.state = State::Cancelling;
                view.cancelled = Some(cause.to_string());
                view.running_since = since(run);
            }
            Standing::Stuck { run, cause } => {
                view.state = State::Stuck;
                view.cancelled = Some(cause.to_string());
                view.running_since = since(run);
            }
            Standing::Cyclic(path) => {
                view.state = State::Cyclic;
                view.last_error = Some(format!("in a cycle of references: {path}"));
                view.cycle = Some(path.to_string());
            }
        }
        view
    }
}

pub(crate) fn name_of(key: &Key) -> NameView {
    let GroupKind { group, kind } = (*key.kind).clone();
    NameView {
        group,
        kind,
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
    }
}

fn wait_of(wait: &Wait<Key>) -> WaitView {
    let (relation, key) = match wait {
        Wait::Ref(key) => (Relation::Ref, key),
        Wait::Dependent(key) => (Relation::Dependent, key),
        Wait::FormerName(key) => (Relation::FormerName, key),
        Wait::Delete(key) => (Relation::Delete, key),
        Wait::Rename(key) => (Relation::Rename, key),
    };
    WaitView {
        relation,
        object: name_of(key),
    }
}

impl From<&TraceEntry> for TraceView {
    fn from(entry: &TraceEntry) -> Self {
        let event = match &entry.event {
            TraceEvent::Queued(_) => "Queued",
            TraceEvent::Started { .. } => "Started",
            TraceEvent::Cancelled { .. } => "Cancelled",
            TraceEvent::Finished { .. } => "Finished",
            TraceEvent::Stuck(_) => "Stuck",
            TraceEvent::Cyclic(_) => "Cyclic",
            TraceEvent::CycleBroken => "CycleBroken",
            TraceEvent::Gone => "Gone",
        };
        Self {
            time: write_time(entry.at_ms),
            object: name_of(&entry.key),
            event,
            message: entry.event.to_string(),
        }
    }
}
