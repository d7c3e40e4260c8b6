//! Reads what the decision about an item may see.

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::Api;
use kube::core::{ApiResource, DynamicObject, ObjectMeta};
use landform_api::duration;
use landform_api::landscaper::report::WRITE_REFUSED;
use landform_api::landscaper::{DeployItem, ExecutionPhase, LastError, Operation, keys};
use landform_decide::deploy_item::{
    Dependent, Deployer, Execution, Observed, PROGRESSING_TIMEOUT_MS,
};
use landform_engine::{Context, Failure, read_time};
use serde::Deserialize as _;

use super::{ABORTED, target_secrets};

/// The item of a run, as it was when the run began.
pub(super) struct Item {
    pub(super) metadata: ObjectMeta,
    pub(super) object: DeployItem,
    /// The target's uid and generation, if there is a target.
    pub(super) target_generation: Option<String>,
}

impl Item {
    pub(super) async fn read(context: &Context) -> Result<Self, Failure> {
        let target = context
            .refs()
            .first()
            .and_then(|target| target.object.as_ref());
        let target_generation = match target {
            Some(target) => Some(target_generation(context, target).await?),
            None => None,
        };
        Self::of(context.object(), target_generation)
    }

    pub(super) fn of(
        object: &DynamicObject,
        target_generation: Option<String>,
    ) -> Result<Self, Failure> {
        let item = DeployItem::deserialize(&object.data)
            .map_err(|error| Failure::Invalid(format!("the deploy item can't be read: {error}")))?;
        Ok(Self {
            metadata: object.metadata.clone(),
            object: item,
            target_generation,
        })
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        let annotations = self.metadata.annotations.as_ref()?;
        annotations.get(key).map(String::as_str)
    }

    /// Whether it has failed because a write was refused that may work later.
    pub(super) fn was_refused(&self) -> bool {
        let status = &self.object.status;
        let error = status.last_error.as_ref();
        status.phase == Some(ExecutionPhase::Failed)
            && error.is_some_and(|error| error.reason == WRITE_REFUSED)
    }

    fn time(&self, key: &str) -> Option<u64> {
        self.annotation(key).and_then(read_time)
    }
}

/// Moves with the target, and with the Secret that it names.
async fn target_generation(context: &Context, target: &DynamicObject) -> Result<String, Failure> {
    let generation = target.metadata.generation.unwrap_or_default();
    let own = format!("{}.{generation}", target.uid().unwrap_or_default());
    let item_namespace = context.object().namespace().unwrap_or_default();
    let Some((namespace, name)) = target_secrets::of_target(target, &item_namespace) else {
        return Ok(own);
    };
    let resource = ApiResource::erase::<Secret>(&());
    let secrets: Api<DynamicObject> = Api::namespaced_with(context.client(), &namespace, &resource);
    let secret = secrets.get_opt(&name).await?;
    let secret = target_secrets::generation(secret.as_ref());
    Ok(format!("{own}/{secret}"))
}

/// Whether an error is one after which nothing is tried again by itself.
fn is_final(error: &LastError) -> bool {
    error.reason == ABORTED || error.codes.iter().any(|code| code.is_fatal())
}

pub(super) fn observed(
    now_ms: u64,
    item: &Item,
    ours: bool,
    needed_by: Vec<Dependent>,
) -> Observed {
    let (spec, status) = (&item.object.spec, &item.object.status);
    let finalizers = item.metadata.finalizers.as_deref().unwrap_or_default();
    let is_true = |key| item.annotation(key) == Some(keys::TRUE);
    let timeout = spec.timeout.as_deref().and_then(duration::timeout);
    let timeout_ms = timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    let elsewhere = || {
        // What a process of Landform had before, and doesn't serve any more, is for any deployer of that type.
        let deployer = status.deployer.as_ref();
        let deployer = deployer.filter(|deployer| deployer.identity != super::IDENTITY);
        let name = deployer.map(|deployer| deployer.name.as_str());
        match name.filter(|name| !name.is_empty()) {
            Some(name) => format!("the deployer {name} of type {}", spec.kind),
            None => format!("a deployer of type {}", spec.kind),
        }
    };
    // A deletion hands an item out, too: its deployer has to take away what it has brought.
    let generation = item.metadata.generation;
    let marked = item.metadata.deletion_timestamp.as_ref();
    let begun =
        status.observed_generation == generation || status.phase == Some(ExecutionPhase::Deleting);
    let marked = marked.filter(|_| !ours && !begun);
    let to_be_removed_ms = marked.and_then(|time| u64::try_from(time.0.as_millisecond()).ok());
    // Times of an older status don't count for work that was handed out since.
    let picked_up = status.last_reconcile_time.as_deref().and_then(read_time);
    Observed {
        now_ms,
        generation: item.metadata.generation.unwrap_or_default(),
        observed_generation: status.observed_generation,
        phase: status.phase,
        marked: item.metadata.deletion_timestamp.is_some(),
        held: finalizers.iter().any(|name| name == keys::FINALIZER),
        operation: item.annotation(keys::OPERATION).and_then(Operation::parse),
        ignore: is_true(keys::IGNORE),
        without_uninstall: is_true(keys::DELETE_WITHOUT_UNINSTALL),
        waits: !status.waiting_on.is_empty(),
        given_up: status.last_error.as_ref().is_some_and(is_final),
        handed_out_ms: item.time(keys::RECONCILE_TIME).or(to_be_removed_ms),
        abort_asked_ms: item.time(keys::ABORT_TIME),
        picked_up_ms: picked_up,
        needed_by,
        execution: Execution::Stays,
        target_changed: item.target_generation.is_some()
            && item.target_generation != status.target_generation,
        timeout_ms: timeout_ms.unwrap_or(PROGRESSING_TIMEOUT_MS),
        deployer: if ours {
            Deployer::Ours(format!("the deployer {}", spec.kind))
        } else {
            Deployer::Elsewhere(elsewhere())
        },
    }
}
