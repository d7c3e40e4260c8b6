//! Why things are not well, when `landform up --wait` gives up and when `landform down` gets no further: the root causes, each once.

use std::collections::BTreeSet;

use kube::Client;
use landform_explain::why::{Rank, Root};
use landform_explain::{ClientReader, ObjectRef, explain};

use super::sight::Sight;
use crate::AnyError;
use crate::logs::last_lines;

/// At most this many root causes are told.
const TOLD: usize = 10;

/// The root causes of what is not well, the worst first, as lines.
pub(crate) async fn lines(client: &Client, late: &[Sight]) -> Result<Vec<String>, AnyError> {
    Ok(told(client, &roots(client, late).await?).await)
}

/// Whether nothing goes on before a person acts.
pub(super) fn wait_for_a_person(roots: &[Root]) -> bool {
    let rests = |root: &Root| root.rank == Rank::Person && root.next_retry.is_none();
    !roots.is_empty() && roots.iter().all(rests)
}

/// Whether something goes on, and nothing is wrong with it.
pub(super) fn are_at_work(roots: &[Root]) -> bool {
    roots.iter().any(|root| root.rank == Rank::InWork)
}

/// The root causes of what is not well, the worst first.
pub(super) async fn roots(client: &Client, late: &[Sight]) -> Result<Vec<Root>, AnyError> {
    let reader = ClientReader::new(client.clone());
    let mut known = BTreeSet::new();
    let mut roots: Vec<Root> = Vec::new();
    for sight in late {
        let Some(object) = ObjectRef::known(&sight.kind, &sight.namespace, &sight.name) else {
            continue;
        };
        for root in explain(&reader, &object).await?.roots {
            if known.insert((root.object.to_string(), root.message.clone())) {
                roots.push(root);
            }
        }
    }
    roots.sort_by_key(|root| root.rank);
    Ok(roots)
}

/// Root causes as lines, each with what to do.
pub(super) async fn told(client: &Client, roots: &[Root]) -> Vec<String> {
    let more = roots.len().saturating_sub(TOLD);
    let mut lines = Vec::new();
    for root in roots.iter().take(TOLD) {
        lines.push(format!("✗ {}: {}", root.object, root.message));
        let (object, reason) = (&root.object, &root.reason);
        let said = last_lines(client, &object.namespace, &object.name, reason).await;
        lines.extend(said.iter().map(|line| format!("  {line}")));
        lines.push(format!("  → {}", root.act));
    }
    if more > 0 {
        lines.push(format!("… and {more} more causes"));
    }
    lines
}
