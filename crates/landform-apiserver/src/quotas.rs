//! `ResourceQuota`: how many objects of a kind a namespace may have.
//!
//! A create in a namespace with a quota for its kind takes a reservation before it is committed, and gives it back
//! afterwards. Stored objects and reservations together never exceed the limit; a create that fits only if a reservation
//! comes to nothing waits for it, so that none is refused for one that failed. All creates go through this process, so
//! this is exact. Namespaces without quotas pay one look into an empty range.
//!
//! Limits of other things than numbers of objects (cpu, storage), and quotas with scopes, are kept and not enforced.

use std::collections::BTreeMap;
use std::sync::Arc;

use landform_store::{Bucket, RangeQuery};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;

use crate::error::{ApiError, Result};
use crate::object::{Object, meta};
use crate::registry::Resource;
use crate::server::ApiServer;
use crate::verbs::Place;
use crate::verbs::write::decoded;

/// Kinds of the core group whose plural alone stands for their number.
const CLASSIC: [&str; 7] = [
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];

/// The bucket of quotas.
pub(crate) const BUCKET: &str = "resourcequotas";

/// One limit of a quota.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// As the quota names it: `configmaps`, `count/widgets.example.com`.
    pub(crate) name: String,
    /// At most this many.
    pub(crate) hard: u64,
}

impl Limit {
    /// Group and plural of what is counted; `None` when it is not a number of objects.
    fn counts(&self) -> Option<(&str, &str)> {
        counted(&self.name)
    }
}

/// Group and plural of what a limit of this name counts; `None` when it is not a number of objects.
pub(crate) fn counted(name: &str) -> Option<(&str, &str)> {
    match name.strip_prefix("count/") {
        Some(counted) => {
            let (plural, group) = counted.split_once('.').unwrap_or((counted, ""));
            Some((group, plural))
        }
        None => CLASSIC.contains(&name).then_some(("", name)),
    }
}

/// The limits of numbers of objects that a quota sets.
pub(crate) fn limits(quota: &Object) -> Vec<Limit> {
    let Some(spec) = quota.get("spec") else {
        return Vec::new();
    };
    let has_scopes = spec["scopes"]
        .as_array()
        .is_some_and(|list| !list.is_empty())
        || spec["scopeSelector"].is_object();
    if has_scopes {
        return Vec::new();
    }
    let hard = spec["hard"].as_object().into_iter().flatten();
    hard.filter_map(|(name, value)| {
        let limit = Limit {
            name: name.clone(),
            hard: whole(value)?,
        };
        limit.counts().is_some().then_some(limit)
    })
    .collect()
}

/// The whole number from 0 that a quantity is, if it is one.
pub(crate) fn whole(value: &Value) -> Option<u64> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let end = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, suffix) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.parse().ok()?;
    let factor = match suffix {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "Ki" => 1024.0,
        "Mi" => 1024.0 * 1024.0,
        "Gi" => 1024.0 * 1024.0 * 1024.0,
        exponent => format!("1{exponent}").parse().ok()?,
    };
    let number = number * factor;
    if number < 0.0 || number.fract() != 0.0 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is not negative, and a cast from a float saturates"
    )]
    Some(number as u64)
}

/// Creates that are under way in namespaces with quotas.
#[derive(Default)]
pub(crate) struct Quotas {
    /// By bucket and namespace.
    reserved: Mutex<BTreeMap<(Bucket, String), u64>>,
    /// A reservation was given back.
    settled: Notify,
    /// One decision at a time.
    turn: tokio::sync::Mutex<()>,
}

/// A create that is counted though it is not stored yet; until this is dropped.
pub(crate) struct Reservation {
    server: ApiServer,
    key: (Bucket, String),
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let quotas = &self.server.shared.quotas;
        let mut reserved = quotas.reserved.lock();
        if let Some(count) = reserved.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                reserved.remove(&self.key);
            }
        }
        drop(reserved);
        quotas.settled.notify_waiters();
    }
}

impl ApiServer {
    /// Reserves a place for an object that is about to be created; `None` where no quota limits its kind.
    pub(crate) async fn reserve(&self, place: &Place, name: &str) -> Result<Option<Reservation>> {
        if !place.resource.namespaced {
            return Ok(None);
        }
        let quotas = &self.shared.quotas;
        let key = (place.resource.bucket.clone(), place.namespace.clone());
        loop {
            let mut settled = std::pin::pin!(quotas.settled.notified());
            settled.as_mut().enable();
            let limits = self.limits_of(&place.resource, &place.namespace).await?;
            if limits.is_empty() {
                return Ok(None);
            }
            let turn = quotas.turn.lock().await;
            // Before the count: what is stored meanwhile is counted twice rather than not at all.
            let reserved = quotas.reserved.lock().get(&key).copied().unwrap_or(0);
            let used = self.count_in(&place.resource, &place.namespace).await?;
            if limits.iter().all(|(_, limit)| used + reserved < limit.hard) {
                *quotas.reserved.lock().entry(key.clone()).or_default() += 1;
                return Ok(Some(Reservation {
                    server: self.clone(),
                    key,
                }));
            }
            if reserved == 0 {
                return Err(exceeded(place, name, used, &limits));
            }
            drop(turn);
            settled.await;
        }
    }

    /// The limits that quotas of a namespace set for a kind, each with its quota's name.
    async fn limits_of(
        &self,
        resource: &Resource,
        namespace: &str,
    ) -> Result<Vec<(String, Limit)>> {
        let quotas = self.builtin("", BUCKET);
        let mut found = Vec::new();
        for record in self.records(&quotas, &format!("{namespace}/")).await? {
            let quota = decoded(&record)?;
            let of_kind = limits(&quota).into_iter().filter(|limit| {
                limit
                    .counts()
                    .is_some_and(|(group, plural)| is_of(resource, group, plural))
            });
            found.extend(of_kind.map(|limit| (meta::name(&quota).to_owned(), limit)));
        }
        Ok(found)
    }

    /// How many objects of a kind a namespace has.
    pub(crate) async fn count_in(&self, resource: &Resource, namespace: &str) -> Result<u64> {
        let query = RangeQuery {
            bucket: resource.bucket.clone(),
            prefix: format!("{namespace}/"),
            after: None,
            limit: Some(0),
            at: None,
        };
        Ok(self.shared.store.range(query).await?.remaining as u64)
    }

    /// The kind that a limit counts, if it is served.
    pub(crate) fn counted_kind(&self, limit: &Limit) -> Option<Arc<Resource>> {
        let (group, plural) = limit.counts()?;
        let kinds = self.shared.registry.kinds();
        let mut stored = kinds.stored();
        stored
            .find(|resource| resource.namespaced && is_of(resource, group, plural))
            .cloned()
    }
}

/// Whether a limit of this group and plural counts a kind. Events are the same objects in both of their groups.
fn is_of(resource: &Resource, group: &str, plural: &str) -> bool {
    let is_event = plural == "events" && matches!(group, "" | "events.k8s.io");
    resource.plural == plural
        && (resource.group == group || (is_event && resource.bucket.as_str() == "events"))
}

/// 403 in the form of words that clients of Kubernetes look for.
fn exceeded(place: &Place, name: &str, used: u64, limits: &[(String, Limit)]) -> ApiError {
    let broken = limits.iter().find(|(_, limit)| used >= limit.hard);
    let why = match broken {
        Some((quota, Limit { name, hard })) => format!(
            "exceeded quota: {quota}, requested: {name}=1, used: {name}={used}, limited: {name}={hard}"
        ),
        None => "exceeded quota".to_owned(),
    };
    ApiError::forbidden(&place.resource.group, &place.resource.plural, name, &why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_whole_numbers_of_objects() {
        for (value, expected) in [
            (json!("10"), Some(10)),
            (json!(3), Some(3)),
            (json!("1k"), Some(1000)),
            (json!("2Ki"), Some(2048)),
            (json!("1500m"), None),
            (json!("2000m"), Some(2)),
            (json!("1e3"), Some(1000)),
            (json!("2E3"), Some(2000)),
            (json!("-1"), None),
            (json!("many"), None),
            (json!(null), None),
        ] {
            assert_eq!(whole(&value), expected, "{value}");
        }
    }

    #[test]
    fn only_numbers_of_objects_are_limits() {
        let hard = json!({"configmaps": "1", "count/widgets.example.com": "2", "count/pods": 3,
            "cpu": "4", "requests.storage": "5Gi", "services.nodeports": "0"});
        let quota = json!({"spec": {"hard": hard}});
        let found = limits(quota.as_object().unwrap());
        let counted: Vec<_> = found.iter().filter_map(Limit::counts).collect();
        assert_eq!(
            counted,
            [("", "configmaps"), ("", "pods"), ("example.com", "widgets")]
        );
        let scoped = json!({"spec": {"hard": hard, "scopes": ["BestEffort"]}});
        assert_eq!(limits(scoped.as_object().unwrap()), []);
    }
}
