//! Reads what the decision about an operator version may see.

use kube::ResourceExt as _;
use kube::core::{DynamicObject, ObjectMeta};
use landform_api::catalog::AppType;
use landform_api::catalog::keys;
use landform_api::catalog::operator_version::{HigherVersion, OperatorVersion};
use landform_api::keys::FINALIZER_ORPHAN;
use landform_api::landscaper::{DeployItemTemplate, Execution, ExecutionPhase};
use landform_decide::operator_version::{Family, Install, Observed, Standing};
use landform_engine::{Context, Failure};
use serde::Deserialize as _;
use std::sync::Arc;

use super::needs::{self, Needed};
use super::resources::{self, Found};
use crate::entitled::{self, Entitled, Relative};
use crate::facts::{self, VersionFacts, member, operator_version};
use crate::objects::{self, is_owned_by};
use crate::shared::Shared;
use crate::strategy::{self, Whose};

/// An operator version with everything around it, as it is now.
pub(super) struct World {
    pub(super) metadata: ObjectMeta,
    pub(super) version: OperatorVersion,
    pub(super) facts: VersionFacts,
    pub(super) others: Vec<VersionFacts>,
    pub(super) observed: Observed,
    /// What the needs of the observed are about, in the same order.
    pub(super) needed: Vec<Needed>,
    /// What the resources of the observed are, in the same order.
    pub(super) resources: Vec<Found>,
    /// The deploy items of its install strategy.
    pub(super) items: Vec<DeployItemTemplate>,
    pub(super) execution_name: String,
    pub(super) execution: Option<DynamicObject>,
}

impl World {
    pub(super) async fn read(context: &Context, shared: &Arc<Shared>) -> Result<Self, Failure> {
        let object = current(context).await?;
        let mut version = operator_version(&object);
        // What this run has written is newer than what it was given.
        let status = context.status().await;
        if let Ok(status) = serde_json::from_value(status) {
            version.status = status;
        }
        let metadata = object.metadata.clone();
        let namespace = object.namespace().unwrap_or_default();
        let facts = VersionFacts::of(&object);
        let me = member(&object, &version);
        let package = &version.spec.package;
        let client = context.client();
        let mut family = objects::family_objects(&client, &namespace, package).await?;
        // As it is now, and also when the list doesn't have it any more.
        family.retain(|found| found.uid().as_deref() != Some(&me.uid));
        family.push(object.clone());
        let family = family.into_iter().map(Relative::of);
        let Entitled { others, refusal } =
            entitled::of_family(context, &me.uid, family.collect()).await?;
        let members: Vec<_> = others.iter().map(|found| found.member.clone()).collect();

        let whose = Whose {
            namespace: &namespace,
            name: &me.name,
            uid: &me.uid,
        };
        let (items, problem) = match strategy::items(&whose, &version.spec) {
            Ok(items) => (items, needs::problem(&version.spec)),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        let problem = problem.or(refusal);
        let execution_name = strategy::execution_name(&me.name, &me.uid);
        let execution = objects::executions(&client, &namespace);
        let execution = execution.get_opt(&execution_name).await?;
        let install = install(&version, &me.uid, &items, execution.as_ref());
        let install = match install {
            Install::Ready => health(context, &namespace, &version)
                .await?
                .unwrap_or(Install::Ready),
            other => other,
        };

        // What it needs matters only when it is its turn.
        let turn = matches!(Family::new(&me, &members).standing(), Standing::Turn);
        let needed = if turn && !me.marked && problem.is_none() {
            needs::read(context, shared, &version, &facts).await?
        } else {
            Vec::new()
        };
        // Alone and not about to go it gives nothing and takes nothing.
        let resources = if me.marked || !members.is_empty() {
            resources::read(context, shared, &facts, &others).await?
        } else {
            Vec::new()
        };
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        let has = |key: &str| finalizers.iter().any(|name| name == key);
        let observed = Observed {
            held: has(keys::FINALIZER),
            orphaning: has(FINALIZER_ORPHAN),
            problem,
            others: members,
            needs: needed.iter().map(|found| found.need.clone()).collect(),
            install,
            upgrade: version.spec.upgrade,
            resources: resources
                .iter()
                .map(|found| found.resource.clone())
                .collect(),
            offer: offered(context, &namespace, &facts).await?,
            me,
        };
        Ok(Self {
            metadata,
            version,
            facts,
            others,
            observed,
            needed,
            resources,
            items,
            execution_name,
            execution,
        })
    }
}

/// The object as it is now: a round of the run may have changed its metadata.
async fn current(context: &Context) -> Result<DynamicObject, Failure> {
    let found = context.api().get_opt(&context.object().name_any()).await?;
    let same = found.filter(|found| found.uid() == context.object().uid());
    Ok(same.unwrap_or_else(|| (**context.object()).clone()))
}

/// How the operator stands, by its execution.
fn install(
    version: &OperatorVersion,
    uid: &str,
    items: &[DeployItemTemplate],
    execution: Option<&DynamicObject>,
) -> Install {
    let Some(found) = execution else {
        // Where nothing is to be installed, nothing has to be there.
        return if items.is_empty() && version.status.begun {
            Install::Ready
        } else {
            Install::Absent
        };
    };
    if !is_owned_by(&found.metadata, uid) {
        let message = format!(
            "the Execution {} is somebody else's: delete it, or name the operator version otherwise",
            found.name_any()
        );
        return Install::Failed(message);
    }
    let execution = Execution::deserialize(&found.data).unwrap_or_default();
    let error = execution.status.last_error.map(|error| error.message);
    if found.metadata.deletion_timestamp.is_some() {
        let failed = execution.status.phase == Some(ExecutionPhase::Failed);
        return Install::Leaving(error.filter(|_| failed));
    }
    if execution.spec.deploy_items != items {
        return Install::Outdated;
    }
    let asked = found
        .annotations()
        .contains_key(landform_api::landscaper::keys::OPERATION);
    if execution.status.observed_generation != found.metadata.generation || asked {
        return Install::Working;
    }
    match execution.status.phase {
        Some(ExecutionPhase::Succeeded) => Install::Ready,
        Some(ExecutionPhase::Failed) => {
            Install::Failed(error.unwrap_or_else(|| "its execution failed".to_owned()))
        }
        Some(ExecutionPhase::Init | ExecutionPhase::Progressing | ExecutionPhase::Deleting)
        | None => Install::Working,
    }
}

/// Whether a Deployment lacks pods, and how many there are.
pub(super) fn unavailable(deployment: &DynamicObject) -> Option<String> {
    let wanted = deployment.data["spec"]["replicas"].as_i64().unwrap_or(1);
    let status = &deployment.data["status"];
    let available = status["availableReplicas"].as_i64().unwrap_or(0);
    (available < wanted).then(|| {
        format!(
            "the Deployment {} has {available} of {wanted} pods",
            deployment.name_any()
        )
    })
}

/// What is wrong with Deployments after they were ready.
async fn health(
    context: &Context,
    namespace: &str,
    version: &OperatorVersion,
) -> Result<Option<Install>, Failure> {
    let Some(strategy) = &version.spec.install.deployment else {
        return Ok(None);
    };
    let kind = landform_api::GroupVersionKind::new("apps", "v1", "Deployment");
    let api = objects::api(&context.client(), &kind, namespace);
    for deployment in &strategy.deployments {
        let problem = match api.get_opt(&deployment.name).await? {
            Some(found) => unavailable(&found),
            None => Some(format!("the Deployment {} is gone", deployment.name)),
        };
        if let Some(problem) = problem {
            return Ok(Some(Install::Failed(problem)));
        }
    }
    Ok(None)
}

/// O2: what the app type says of a higher version.
async fn offered(
    context: &Context,
    namespace: &str,
    version: &VersionFacts,
) -> Result<Option<HigherVersion>, Failure> {
    let Some(owner) = &version.app_type else {
        return Ok(None);
    };
    let api = objects::app_types(&context.client(), namespace);
    let Some(found) = api.get_opt(&owner.name).await? else {
        return Ok(None);
    };
    let status = AppType::deserialize(&found.data).unwrap_or_default().status;
    let installed = status.installed.as_ref();
    if installed.is_none_or(|installed| installed.name != version.member.name) {
        return Ok(None);
    }
    Ok(facts::offer(&status))
}
