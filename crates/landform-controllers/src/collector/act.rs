//! Carrying out a decision: one exhaustive match over its action.

use std::sync::Arc;

use super::client::{self, RequestError};
use super::confirm;
use super::decision::{Action, Decision, Finalizer, Policy, Rule};
use super::events::{Reason, Title};
use super::queue::Outcome;
use super::run::Shared;
use super::state::Subject;

/// One object's work.
pub(super) struct Job {
    pub(super) shared: Arc<Shared>,
    pub(super) title: Title,
    /// How many dependents went before it, if this deletion is not part of a larger one.
    pub(super) finishes: Option<usize>,
    pub(super) subject: Subject,
}

/// Does what was decided.
pub(super) async fn act(job: Job, decision: Decision) -> Outcome {
    tracing::debug!(object = %job.title, ?decision, "the collector acts");
    let rule = decision.rule;
    let result = match decision.action {
        Action::Nothing => Ok(()),
        Action::Delete(policy) => delete(&job, policy, rule).await,
        Action::Release(finalizer) => release(&job, finalizer, rule).await,
        Action::DropReferences(uids) => confirm::drop_references(&job, &uids).await,
    };
    match result {
        // An object that is gone needs nothing; its watch will show that it is.
        Ok(()) | Err(RequestError::NotFound) => Outcome::Settled,
        Err(error @ RequestError::Conflict(_)) => Outcome::Outdated(error.to_string()),
        Err(error) => {
            job.shared.metrics.failed(&job.title.kind);
            tracing::warn!(object = %job.title, %error, "a deletion can't go on; it is tried again");
            Outcome::Failed(error.to_string())
        }
    }
}

async fn delete(job: &Job, policy: Policy, rule: Option<Rule>) -> Result<(), RequestError> {
    let subject = &job.subject;
    let gone = client::delete(
        &job.shared.client,
        &subject.address,
        &subject.expected,
        policy,
    )
    .await?;
    job.shared.metrics.deleted(gone);
    job.shared.state.lock().note_asked(&subject.expected.uid);
    if rule == Some(Rule::G12) {
        job.shared.recorder.report(
            &job.title,
            Reason::OwnerAbsent,
            "it is deleted because none of its owners exists any more",
        );
    }
    Ok(())
}

async fn release(job: &Job, finalizer: Finalizer, rule: Option<Rule>) -> Result<(), RequestError> {
    let subject = &job.subject;
    // The members of a cycle own each other, and go nevertheless.
    if rule != Some(Rule::G11) {
        confirm::nothing_waited_for(job, finalizer).await?;
    }
    client::release(
        &job.shared.client,
        &subject.address,
        &subject.expected.uid,
        &subject.finalizers,
        finalizer.name(),
    )
    .await?;
    job.shared.metrics.released(subject.finalizers.len() == 1);
    if let Some(dependents) = job.finishes {
        let what = match finalizer {
            Finalizer::Cascade | Finalizer::Foreground => "were deleted before it",
            Finalizer::Orphan => "were let go",
        };
        job.shared.recorder.report(
            &job.title,
            Reason::DependentsSettled,
            &format!("its direct dependents ({dependents}) {what}"),
        );
    }
    Ok(())
}
