//! `spec.automaticReconcile` and its status, as the decision sees them.

use landform_api::landscaper::installation::InstallationStatus;
use landform_api::landscaper::{AutomaticReconcile, AutomaticReconcileStatus, RepeatedReconcile};
use landform_decide::installation::{Automatic, Done, Repeat};
use landform_engine::{read_time, write_time};

/// One that succeeded is deployed again after this time, if nothing else is said.
const SUCCEEDED_INTERVAL: &str = "24h";
/// One that failed runs again after this time, if nothing else is said.
const FAILED_INTERVAL: &str = "5m";

/// What the spec asks for, and what the status keeps of it.
pub(super) fn observed(
    spec: Option<&AutomaticReconcile>,
    status: &InstallationStatus,
) -> Automatic {
    let succeeded = spec.and_then(|spec| spec.succeeded_reconcile.as_ref());
    let succeeded = repeat("succeededReconcile", succeeded, SUCCEEDED_INTERVAL);
    let failed = spec.and_then(|spec| spec.failed_reconcile.as_ref());
    let failed = repeat("failedReconcile", failed, FAILED_INTERVAL);
    let problems = [succeeded.as_ref().err(), failed.as_ref().err()];
    let problems: Vec<_> = problems.into_iter().flatten().cloned().collect();
    Automatic {
        invalid: (!problems.is_empty()).then(|| problems.join("; ")),
        succeeded: succeeded.unwrap_or_default(),
        failed: failed.unwrap_or_default(),
        done: status.automatic_reconcile_status.as_ref().and_then(done),
    }
}

fn repeat(
    field: &str,
    asked: Option<&RepeatedReconcile>,
    interval: &str,
) -> Result<Option<Repeat>, String> {
    let Some(asked) = asked else {
        return Ok(None);
    };
    let schedule = asked.schedule(interval).map_err(|(inner, problem)| {
        format!("spec.automaticReconcile.{field}.{inner}: {problem}")
    })?;
    Ok(Some(Repeat {
        schedule,
        most: asked.number_of_reconciles,
    }))
}

fn done(status: &AutomaticReconcileStatus) -> Option<Done> {
    Some(Done {
        generation: status.generation,
        times: status.number_of_reconciles,
        last_ms: read_time(status.last_reconcile_time.as_deref()?)?,
        on_failed: status.on_failed,
    })
}

/// What the status keeps.
pub(super) fn noted(done: Done) -> AutomaticReconcileStatus {
    AutomaticReconcileStatus {
        generation: done.generation,
        number_of_reconciles: done.times,
        last_reconcile_time: Some(write_time(done.last_ms)),
        on_failed: done.on_failed,
    }
}
