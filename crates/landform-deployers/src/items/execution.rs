//! The execution of an item that is marked: a deletion with policy `Foreground` or `Cascade` marks
//! both at once, and the items go when the execution lets them, because its installation may be held by a
//! sibling (I31).

use kube::ResourceExt as _;
use kube::api::Api;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use landform_api::landscaper::{GROUP, VERSION, keys, labels};
use landform_decide::deploy_item::Execution;
use landform_engine::{Context, Failure};

/// What the execution of this run's item is about to do. Read now: that the item is marked may be known
/// here before it is known that its execution is.
pub(super) async fn of(context: &Context) -> Result<Execution, Failure> {
    let item = context.object();
    let name = labels::get(item.labels(), item.annotations(), keys::MANAGED_BY);
    let marked = item.metadata.deletion_timestamp.is_some();
    let name = match name {
        _ if !marked => return Ok(Execution::Stays),
        Some(name) => name,
        None => return Ok(Execution::Goes),
    };
    let kind = GroupVersionKind::gvk(GROUP, VERSION, "Execution");
    let resource = ApiResource::from_gvk_with_plural(&kind, "executions");
    let namespace = item.namespace().unwrap_or_default();
    let executions: Api<DynamicObject> =
        Api::namespaced_with(context.client(), &namespace, &resource);
    let found = executions.get_opt(name).await.map_err(|error| {
        Failure::Transient(format!("the execution {name} can't be read: {error}"))
    })?;
    let owned = |execution: &DynamicObject| {
        let mut owners = item.owner_references().iter();
        owners.any(|owner| Some(&owner.uid) == execution.metadata.uid.as_ref())
    };
    Ok(match found.filter(owned) {
        Some(execution) if is_holding(&execution) => Execution::Holds(name.to_owned()),
        Some(execution) if execution.metadata.deletion_timestamp.is_none() => Execution::Stays,
        Some(_) | None => Execution::Goes,
    })
}

/// Whether an execution is marked and has not begun to take its items down. The mark moves its generation, so
/// a phase that is up to date was written since.
pub(super) fn is_holding(execution: &DynamicObject) -> bool {
    let marked = execution.metadata.deletion_timestamp.is_some();
    let mut finalizers = execution.finalizers().iter();
    let held = finalizers.any(|name| name == keys::FINALIZER);
    let status = &execution.data["status"];
    let failed = status["phase"] == "Failed"
        && status["observedGeneration"].as_i64() == execution.metadata.generation;
    marked && held && status["phase"] != "Deleting" && !failed
}
