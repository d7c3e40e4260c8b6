//! People who write without knowing of each other: patches of their own annotations, and statuses that are not theirs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::oracle::Oracle;
use super::{API_VERSION, Kind};
use crate::chance::Chance;
use crate::client::Client;
use crate::disk::Disk;
use crate::end_state::objects;

/// The number of those who patch.
pub(super) const PATCHERS: usize = 2;
/// The longest pause between two writes of one of them.
const PAUSE_MS: u64 = 900;

/// What they have in common: nothing but how much is left to do, and a book of what was acknowledged.
#[derive(Clone)]
pub(super) struct People {
    pub(super) oracle: Oracle,
    pub(super) chance: Chance,
    left: Arc<AtomicU64>,
    count: Arc<AtomicU64>,
    acknowledged: Arc<Mutex<BTreeMap<(String, String), u64>>>,
}

impl People {
    pub(super) fn new(oracle: Oracle, chance: Chance, writes: u64) -> Self {
        Self {
            oracle,
            chance,
            left: Arc::new(AtomicU64::new(writes)),
            count: Arc::default(),
            acknowledged: Arc::default(),
        }
    }

    /// One who counts in an annotation of their own, by patches that name no version.
    pub(super) async fn patch(self, client: Client, who: usize) {
        let annotation = format!("sim.landform.dev/count-{who}");
        while let Some((path, number)) = self.next().await {
            let patch = json!({"metadata": {"annotations": {&annotation: number.to_string()}}});
            let Ok(answer) = client.send(Method::PATCH, &path, Some(&patch)).await else {
                continue;
            };
            if answer.is_success() {
                let uid = answer.value["metadata"]["uid"].as_str().unwrap_or_default();
                let mut book = self.acknowledged.lock();
                book.insert((uid.to_owned(), annotation.clone()), number);
            }
            let why = answer.value["message"].as_str().unwrap_or_default();
            if answer.code == 409 && !why.starts_with("simulated") {
                let what = format!("C4: a patch of {path} without a version was refused: {why}");
                self.oracle.break_rule(what);
            }
        }
    }

    /// One who writes into statuses.
    pub(super) async fn meddle(self, client: Client) {
        while let Some((path, number)) = self.next().await {
            let patch = json!({"status": {"foreign": number}});
            // Whether it succeeds or not: the hook's status counts.
            let _ = client
                .send(Method::PATCH, &format!("{path}/status"), Some(&patch))
                .await;
        }
    }

    /// Where to write next, and a number that was never used; none when enough has been written.
    async fn next(&self) -> Option<(String, u64)> {
        loop {
            let pause = Duration::from_millis(self.chance.below(PAUSE_MS));
            tokio::time::sleep(pause).await;
            let take = |left: u64| left.checked_sub(1);
            let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
            self.left.fetch_update(set, fetch, take).ok()?;
            let kind = Kind::ALL[self.chance.index(Kind::ALL.len())];
            let living = self.oracle.living(kind);
            // Few objects, so that they meet.
            let few = living.len().min(4);
            if few == 0 {
                continue;
            }
            let (namespace, name) = &living[self.chance.index(few)];
            let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
            let plural = kind.plural();
            let path = format!("/apis/{API_VERSION}/namespaces/{namespace}/{plural}/{name}");
            return Some((path, number));
        }
    }

    /// No patch that was acknowledged is lost.
    pub(super) fn judge(&self, disk: &Disk) -> Result<(), String> {
        let stored = objects(disk.store());
        let by_uid: BTreeMap<&str, &Value> = stored
            .values()
            .filter_map(|object| Some((object["metadata"]["uid"].as_str()?, object)))
            .collect();
        for ((uid, annotation), number) in self.acknowledged.lock().iter() {
            let Some(object) = by_uid.get(uid.as_str()) else {
                continue;
            };
            let found = object["metadata"]["annotations"][annotation.as_str()].as_str();
            let found: Option<u64> = found.and_then(|text| text.parse().ok());
            // A later one whose answer was lost may be there instead.
            if found.is_none_or(|found| found < *number) {
                return Err(format!(
                    "C4: the patch {annotation}={number} was lost: {object}"
                ));
            }
        }
        Ok(())
    }
}
