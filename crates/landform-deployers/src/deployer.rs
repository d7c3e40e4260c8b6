//! What somebody writes to have a type of deploy items deployed.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::future::BoxFuture;
use kube::Client;
use kube::core::{DynamicObject, ObjectMeta};
use landform_api::landscaper::data::TargetSpec;
use landform_api::landscaper::report::{ErrorCode, LastError};
use landform_api::landscaper::{self, DeployItemSpec, DeployItemStatus};
use landform_api::words::status_message;
use landform_api::writer::Maker;
use landform_engine::{
    Actor, Context, Denied, Engine, Failure, Key, Right, RightsLater, write_time,
};
use serde_json::{Map, Value, json};

use crate::secrets::Secrets;

/// Brings deploy items of one type to their targets.
///
/// # What it may rely on
/// - One item never has two calls at once. A call is cancelled when the item changes, is deleted or is told
///   to abort, and the next call comes after it has returned: that is the fence behind which a target is
///   written by nobody.
/// - Phases, timeouts, pickup, exports and finalizers are none of its business.
///
/// # What is asked of it
/// - Every call may come at any time and twice for the same state, after a crash at any point too.
/// - It writes to targets only from within a call, or from a task that it ends in [`Deployer::stop`] and
///   [`Deployer::remove`]. Work goes through [`Job::or_cancelled`], or looks at [`Job::is_cancelled`]
///   before each write.
/// - What it makes it first notes with [`Job::remember`], so that it finds it again to remove it.
/// - What it returns, notes and logs never holds a secret: no configuration, no exports, no credentials.
pub trait Deployer: Send + Sync + 'static {
    /// The type of deploy items, for instance `landscaper.gardener.cloud/mock`.
    fn kind(&self) -> &str;

    /// Whether it is for items of this namespace; those of others are left to deployers elsewhere.
    fn serves(&self, namespace: &str) -> bool {
        let _ = namespace;
        true
    }

    /// Brings the item to its target, and waits until it is ready there.
    fn deploy<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Deployed, DeployError>>;

    /// Takes away what was deployed, from what was noted then: the configuration may be broken by now.
    fn remove<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>>;

    /// Looks after an item that has succeeded: called when Landform starts, after [`Kept::Again`], and
    /// after [`Wake::item`].
    fn keep<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<Kept, DeployError>> {
        let _ = job;
        Box::pin(async { Ok(Kept::Fine) })
    }

    /// Whether [`Deployer::keep`] has anything to do when Landform starts.
    fn keeps(&self) -> bool {
        false
    }

    /// Lets go of an item whose deployment stays (I36): what only a removal would need goes. Called after [`Deployer::stop`].
    fn forget<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        let _ = job;
        Box::pin(async { Ok(()) })
    }

    /// Ends whatever still goes on for an item outside of calls, because it was told to abort.
    fn stop<'a>(&'a self, job: &'a Job<'a>) -> BoxFuture<'a, Result<(), DeployError>> {
        let _ = job;
        Box::pin(async { Ok(()) })
    }
}

/// What came of a deployment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deployed {
    /// What to remember (`status.providerStatus`); none leaves what was remembered.
    pub provider_status: Option<Value>,
    /// What the item exports.
    pub exports: Option<Map<String, Value>>,
    /// What was exported before stays, whatever `exports` says.
    pub exports_stay: bool,
    /// The names of exports that are secret wherever they come from. What contains a secret of the configuration is found
    /// without that.
    pub secret_exports: BTreeSet<String>,
    /// When it wants to look after it again.
    pub keep_after: Option<Duration>,
}

/// How an item that has succeeded was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// As it should be, or repaired.
    Fine,
    /// As it should be, and to be looked at again after this time.
    Again(Duration),
    /// It must be deployed again.
    Redeploy,
}

/// Why something could not be deployed or removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DeployError {
    /// What was being done, for instance `Apply`.
    pub operation: String,
    /// Why it failed, as one word.
    pub reason: String,
    /// Why it failed, and what to do, for people. Never holds a secret.
    pub message: String,
    /// Kinds of error; with a fatal one the item fails at once, otherwise it is tried again.
    pub codes: Vec<ErrorCode>,
}

impl From<landform_process::StillRunning> for DeployError {
    fn from(error: landform_process::StillRunning) -> Self {
        Self::transient("Stop", "StillRunning", error.to_string())
    }
}

impl DeployError {
    /// A person must change something before it can work.
    pub fn configuration(reason: &str, message: impl Into<String>) -> Self {
        Self::with_code(
            "Configuration",
            reason,
            message,
            ErrorCode::ConfigurationProblem,
        )
    }

    /// The actor of the item lacks rights. It fails at once, since only a person can grant them.
    pub fn denied(message: impl Into<String>) -> Self {
        Self {
            codes: vec![ErrorCode::Unauthorized, ErrorCode::ConfigurationProblem],
            ..Self::transient("Authorize", "Forbidden", message)
        }
    }

    /// What was deployed did not become ready in time.
    pub fn not_ready(message: impl Into<String>) -> Self {
        let code = ErrorCode::ReadinessCheckTimeout;
        Self::with_code("Readiness", "NotReady", message, code)
    }

    /// It may work the next time.
    pub fn transient(operation: &str, reason: &str, message: impl Into<String>) -> Self {
        Self {
            operation: operation.into(),
            reason: reason.into(),
            message: message.into(),
            codes: Vec::new(),
        }
    }

    /// An error of one kind.
    pub fn with_code(
        operation: &str,
        reason: &str,
        message: impl Into<String>,
        code: ErrorCode,
    ) -> Self {
        let error = Self::transient(operation, reason, message);
        Self {
            codes: vec![code],
            ..error
        }
    }

    /// The call was cancelled, and returned.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::transient("Cancel", Self::CANCELLED, "cancelled")
    }

    /// The reason of [`DeployError::cancelled`].
    pub const CANCELLED: &str = "Cancelled";

    /// Whether trying again can't help.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.codes.iter().any(|code| code.is_fatal())
    }
}

/// The target of an item, with what its Secret holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedTarget {
    /// The Target's name.
    pub name: String,
    /// Its type and configuration. When the Target refers to a Secret, that is read and in here.
    pub spec: TargetSpec,
}

/// One call for one item.
pub struct Job<'a> {
    pub(crate) context: &'a Context,
    /// The item's metadata.
    pub metadata: &'a ObjectMeta,
    /// What the item says.
    pub spec: &'a DeployItemSpec,
    /// Its status when the call began.
    pub status: &'a DeployItemStatus,
    /// Its target, if it names one.
    pub target: Option<&'a ResolvedTarget>,
    /// What of the configuration no message may hold.
    pub(crate) secrets: &'a Secrets,
    /// Asks for another call, from a task that looks after the item.
    pub wake: &'a Wake,
    /// When the progressing timeout ends, in milliseconds since 1970.
    pub deadline_ms: u64,
}

impl Job<'_> {
    /// The item's namespace and name.
    #[must_use]
    pub fn name(&self) -> (&str, &str) {
        let namespace = self.metadata.namespace.as_deref().unwrap_or_default();
        (namespace, self.metadata.name.as_deref().unwrap_or_default())
    }

    /// The item's uid, under which a deployer keeps what belongs to it.
    #[must_use]
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Whether anything that it is given is secret: what is noted of it outside of Secrets then may not hold it.
    #[must_use]
    pub fn has_secrets(&self) -> bool {
        let target = self
            .target
            .is_some_and(|target| target.spec.secret_ref.is_some());
        target || self.spec.config_from.is_some()
    }

    /// A text as people may see it: without what is secret in the item's configuration. Errors that a deployer returns need
    /// no such care.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.secrets.hide(text)
    }

    /// A client of Landform's own API with the rights of the service account that the item names, or else of who wrote
    /// it (C6).
    ///
    /// # Errors
    /// When that user can't be acted for.
    pub fn client(&self) -> Result<Client, DeployError> {
        self.context.acting().map_err(|failure| {
            DeployError::configuration("CannotActForWriter", failure.to_string())
        })
    }

    /// The same; what it creates is noted as made for the item.
    pub(crate) fn making_client(&self) -> Result<Client, DeployError> {
        self.context.making().map_err(|failure| {
            DeployError::configuration("CannotActForWriter", failure.to_string())
        })
    }

    /// Whether Landform made an object for this item, and with whose rights.
    pub(crate) fn maker_of(&self, object: &DynamicObject) -> Option<Maker> {
        let annotations = json!({"metadata": {"annotations": object.metadata.annotations}});
        let maker = self.context.maker_of(&annotations);
        maker.filter(|maker| maker.uid == self.uid())
    }

    /// The client of Landform's own API with Landform's own rights.
    pub(crate) fn own_client(&self) -> Client {
        self.context.client()
    }

    /// The same; what it creates is noted as a part of the item.
    pub(crate) fn part_client(&self) -> Client {
        self.context.making_parts()
    }

    /// Makes sure that the item's actor has these rights (C6).
    ///
    /// # Errors
    /// All rights that are missing.
    pub async fn require(
        &self,
        rights: impl IntoIterator<Item = Right>,
    ) -> Result<(), DeployError> {
        require(self.context, rights).await
    }

    /// The same question, for a task that outlives the call.
    pub(crate) fn rights_later(&self, rights: impl IntoIterator<Item = Right>) -> RightsLater {
        self.context.rights_later(rights)
    }

    /// Whether the item's actor may do everything that Landform itself may.
    #[must_use]
    pub fn acts_freely(&self) -> bool {
        *self.context.actor() == Actor::Engine
    }

    /// Whether others than the item's actor wrote parts of an object of Landform's own API.
    pub(crate) fn is_foreign(&self, object: &Value) -> bool {
        self.context.is_foreign(object, self.context.actor())
    }

    /// Whether the call should return.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.context.is_cancelled()
    }

    /// Resolves when the call should return.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        self.context.cancelled()
    }

    /// Does some work, unless the call is cancelled first; then the work is dropped where it stood.
    ///
    /// # Errors
    /// [`DeployError::cancelled`].
    pub async fn or_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, DeployError> {
        let result = self.context.or_cancelled(work).await;
        result.map_err(|_| DeployError::cancelled())
    }

    /// The time of day, in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        self.context.now_ms()
    }

    /// `status.providerStatus` as it is now: an earlier attempt of the same run may have written it.
    pub async fn remembered(&self) -> Option<Value> {
        let mut status = self.context.status().await;
        let remembered = status.get_mut("providerStatus").map(Value::take);
        remembered.filter(|value| !value.is_null())
    }

    /// Lets people see what goes wrong while the call goes on. The same again is not written again.
    pub async fn tell(&self, error: &DeployError) {
        let mut status = self.context.status().await;
        let message = self.hide(&error.message);
        let message = status_message(&message);
        if !status.is_object() || status["lastError"]["message"] == *message {
            return;
        }
        let now = write_time(self.now_ms());
        status["lastError"] = json!(LastError {
            operation: error.operation.clone(),
            reason: error.reason.clone(),
            message: message.into_owned(),
            codes: error.codes.clone(),
            last_transition_time: Some(now.clone()),
            last_update_time: Some(now),
        });
        if let Err(failure) = self.context.write_status(&status).await {
            tracing::debug!(%failure, "what goes wrong was not told");
        }
    }

    /// Writes `status.providerStatus` now, before something is made that must be found again.
    ///
    /// # Errors
    /// What the API answers.
    pub async fn remember(&self, provider_status: &Value) -> Result<(), DeployError> {
        let mut status = self.context.status().await;
        if !status.is_object() {
            status = Value::Object(Map::new());
        }
        status["providerStatus"] = provider_status.clone();
        if status["phase"] == "Init" {
            status["phase"] = "Progressing".into();
        }
        let written = self.context.write_status(&status).await;
        written.map_err(|failure| {
            DeployError::transient("Remember", "StatusNotWritten", failure.to_string())
        })
    }
}

/// Makes sure that the actor of a run has these rights (C6).
pub(crate) async fn require(
    context: &Context,
    rights: impl IntoIterator<Item = Right>,
) -> Result<(), DeployError> {
    allowed(context.missing(rights).await)
}

/// What an answer about rights means for an item.
pub(crate) fn allowed(missing: Result<Option<Denied>, Failure>) -> Result<(), DeployError> {
    match missing {
        Ok(None) => Ok(()),
        Ok(Some(denied)) => Err(DeployError::denied(denied.to_string())),
        Err(failure) => Err(DeployError::transient(
            "Authorize",
            "RightsUnknown",
            failure.to_string(),
        )),
    }
}

/// Asks for a call of [`Deployer::keep`] from outside of one.
#[derive(Clone, Default)]
pub struct Wake(Arc<OnceLock<Engine>>);

impl Wake {
    /// From now on, items can be asked for.
    pub fn connect(&self, engine: &Engine) {
        // A second engine would be a bug of the caller; the first one goes on.
        let _ = self.0.set(engine.clone());
    }

    /// Has an item looked at, soon.
    pub fn item(&self, namespace: &str, name: &str) {
        if let Some(engine) = self.0.get() {
            let kind = landscaper::kind("DeployItem");
            engine.ask(Key::new(Arc::new(kind.into()), namespace, name));
        }
    }
}
