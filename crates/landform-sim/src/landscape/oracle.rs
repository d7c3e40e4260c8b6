//! What must never happen to a landscape, found by reading the log of the store write by write.
//!
//! - One template has one object: never two executions, items or nested installations for it.
//! - E10: an item is not deleted while one remains that depends on it.
//! - I14: an installation is not updated while one that it imports from has not succeeded, unless by force.
//! - I17: an installation succeeds only when everything nested in it has.
//! - I10b: what counts as succeeded has deployed the present values. An installation is *settled* when it has succeeded,
//!   its items have the values that its imports have now, and so have all nested in it and all that it imports from.
//! - I10b, where numbers tell where they come from (`versions.rs`): what is deployed was made of versions that stood
//!   together at some moment.
//! - No flapping: between two changes by people, nothing leaves a final phase twice, unless it is reconciled automatically.
//!
//! A run sees what was there when it began, or later. So what a rule asks for must have been so at some
//! moment since the run began; only then nobody could have known better.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::FutureExt as _;
use landform_api::landscaper::{keys, names};
use landform_store::{Event, EventKind, Revision, Store as _};
use parking_lot::Mutex;
use serde_json::Value;

use super::target::News;
use super::versions::Moments;
use super::{bucket, wanted};
use crate::disk::Disk;

/// Reads the log of one simulation. Clones share what they know.
#[derive(Clone)]
pub(super) struct Oracle {
    disk: Disk,
    inner: Arc<Mutex<Inner>>,
    /// Whether watches are prompt, so that a run knows what was so when it began.
    prompt: bool,
}

#[derive(Default)]
struct Inner {
    read: u64,
    objects: BTreeMap<String, Value>,
    /// The installations and executions that are settled, and until which revision others were.
    settled: BTreeSet<String>,
    settled_until: BTreeMap<String, u64>,
    /// How often objects have left a final phase since people last changed something.
    left: BTreeMap<String, u64>,
    /// How often people have changed something since all was at rest.
    wishes: u64,
    /// The last revision at which an installation was forced, if it isn't now.
    forced_until: BTreeMap<String, u64>,
    /// When runs of installations began, by name.
    began: BTreeMap<String, BTreeSet<u64>>,
    /// What the sources were, if numbers tell where they come from.
    moments: Moments,
    broken: Option<String>,
}

impl Oracle {
    pub(super) fn new(disk: &Disk, prompt: bool) -> Self {
        let inner = Inner {
            read: disk.store().revision().0,
            ..Inner::default()
        };
        Self {
            disk: disk.clone(),
            inner: Arc::new(Mutex::new(inner)),
            prompt,
        }
    }

    /// A run of an installation begins.
    pub(super) fn begins(&self, installation: &str) {
        let revision = self.disk.store().revision().0;
        let mut inner = self.inner.lock();
        let began = inner.began.entry(installation.to_owned());
        began.or_default().insert(revision);
    }

    /// Reads on; the first rule that was broken.
    pub(super) fn check(&self) -> Result<(), String> {
        let mut inner = self.inner.lock();
        let after = Revision(inner.read);
        let Ok(mut watch) = self.disk.store().watch_all(after) else {
            return Err("the log was cut off before the oracle has read it".into());
        };
        while let Some(Ok(events)) = watch.next().now_or_never() {
            for event in events {
                inner.read = event.revision.0;
                inner.event(&event, self.prompt);
            }
        }
        inner.broken.clone().map_or(Ok(()), Err)
    }

    /// The first number that was deployed and is a mix of versions.
    pub(super) fn judge_mixes(&self, deployed: &[News]) -> Result<(), String> {
        let inner = self.inner.lock();
        let found = deployed.iter().find_map(|news| {
            let mix = inner.moments.mix(news.number)?;
            let (at, place) = (news.at, &news.place);
            Some(format!(
                "at {at}: I10b: {place} is deployed with a mix: {mix}"
            ))
        });
        found.map_or(Ok(()), Err)
    }

    /// People change something.
    pub(super) fn wish(&self) {
        self.inner.lock().wish();
    }

    /// What must hold when nothing happens any more.
    pub(super) fn judge_at_rest(&self) -> Result<(), String> {
        self.check()?;
        let mut inner = self.inner.lock();
        (inner.wishes, inner.left) = (0, BTreeMap::new());
        inner.at_rest()
    }
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn uid_of(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

fn is_marked(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn is_ready(object: &Value) -> bool {
    object["status"]["phase"] == "Succeeded"
        && object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

fn is_forced(object: &Value) -> bool {
    object["metadata"]["annotations"][keys::OPERATION] == "force-reconcile"
}

fn is_owned_by(object: &Value, uid: &str) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners
        .into_iter()
        .flatten()
        .any(|owner| owner["uid"] == *uid)
}

/// What an installation imports or exports.
fn data<'a>(installation: &'a Value, way: &str) -> BTreeSet<&'a str> {
    let all = installation["spec"][way]["data"].as_array();
    let all = all.into_iter().flatten();
    all.filter_map(|data| data["dataRef"].as_str()).collect()
}

impl Inner {
    fn of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        let prefix = format!("{} ", bucket(kind));
        let all = self.objects.iter();
        all.filter(move |(key, _)| key.starts_with(&prefix))
            .map(|(_, object)| object)
    }

    fn break_rule(&mut self, what: String) {
        self.broken.get_or_insert(what);
    }

    fn event(&mut self, event: &Event, prompt: bool) {
        let key = format!("{} {}", event.record.key.bucket, event.record.key.name);
        let object: Value = serde_json::from_slice(&event.record.value).unwrap_or(Value::Null);
        let before = self.objects.get(&key).cloned();
        let at = event.revision.0;
        match event.kind {
            EventKind::Deleted => {
                self.objects.remove(&key);
            }
            EventKind::Created | EventKind::Updated => {
                self.objects.insert(key.clone(), object.clone());
            }
        }
        let said = |object: &Value| (object["spec"].clone(), object["data"].clone());
        match event.kind {
            EventKind::Deleted => self.moments.state(&key, []),
            // Most writes are of statuses.
            _ if before.as_ref().map(said) == Some(said(&object)) => {}
            EventKind::Created | EventKind::Updated => {
                self.moments.state(&key, wanted::stated_numbers(&object));
            }
        }
        let kind = object["kind"].as_str().unwrap_or_default();
        let gone = event.kind == EventKind::Deleted;
        if before.as_ref().is_some_and(is_forced) && (gone || !is_forced(&object)) {
            self.forced_until.insert(key.clone(), at);
        }
        let flapping = self.flapping(&key, before.as_ref(), &object, prompt);
        let problem = match kind {
            "DeployItem" => self.item(&object, gone),
            "Execution" | "Installation" if !gone => {
                self.nested(&object, before.as_ref(), prompt, at)
            }
            _ => None,
        };
        if let Some(problem) = problem.or(flapping) {
            self.break_rule(format!("at {at}: {problem}"));
        }
        self.settle(at);
    }

    /// People change something: what was final may not be so any more.
    fn wish(&mut self) {
        self.wishes += 1;
    }

    fn flapping(
        &mut self,
        key: &str,
        before: Option<&Value>,
        object: &Value,
        prompt: bool,
    ) -> Option<String> {
        let is_final = |object: &Value| {
            let phase = object["status"]["phase"].as_str();
            matches!(phase, Some("Succeeded" | "Failed" | "Aborted"))
        };
        let landscape = ["Installation", "Execution"].contains(&object["kind"].as_str()?);
        let left = before.is_some_and(is_final) && !is_final(object);
        // Here the time of day is one who asks for something.
        let is_repeated = |found: &Value| found["spec"]["automaticReconcile"].is_object();
        let repeated = self.of("Installation").any(is_repeated);
        if !landscape || !left || is_marked(object) || repeated {
            return None;
        }
        let left = self.left.entry(key.to_owned()).or_default();
        *left += 1;
        let often = *left > self.wishes.max(1);
        (often && prompt).then(|| {
            let (left, wishes) = (*left, self.wishes);
            format!("{key} left a final phase {left} times, and people changed {wishes} things")
        })
    }

    /// Finds out who is settled now, and notes until when others were.
    fn settle(&mut self, at: u64) {
        let mut now = BTreeSet::new();
        let installations: Vec<_> = self.of("Installation").collect();
        let executions: Vec<_> = self.of("Execution").collect();
        for execution in executions {
            if is_ready(execution) {
                now.insert(key_of(execution));
            }
        }
        // From those that nothing is nested in and that import from nobody, to all others.
        let mut left: Vec<&Value> = installations;
        loop {
            let (found, rest): (Vec<_>, Vec<_>) = left
                .iter()
                .partition(|installation| self.is_settled(installation, &now));
            if found.is_empty() {
                break;
            }
            now.extend(found.into_iter().map(key_of));
            left = rest;
        }
        for key in self.settled.difference(&now) {
            self.settled_until.insert(key.clone(), at);
        }
        self.settled = now;
    }

    fn is_settled(&self, installation: &Value, settled: &BTreeSet<String>) -> bool {
        let mut children = self.children(installation).into_iter();
        let mut exporters = self.exporters(installation).into_iter();
        is_ready(installation)
            && children.all(|child| settled.contains(&key_of(child)))
            && exporters.all(|exporter| settled.contains(&key_of(exporter)))
            && self.has_present_values(installation)
    }

    /// Whether the items of an installation have the values of its imports, as these are now.
    fn has_present_values(&self, installation: &Value) -> bool {
        let parent = installation["metadata"]["labels"][keys::ENCOMPASSED_BY].as_str();
        let scope = parent.map(names::installation_context);
        let value = |name: &str| {
            let object = names::data_name(scope.as_deref(), name);
            let mut all = self.of("DataObject");
            all.find(|found| name_of(found) == object)
                .map_or(Value::Null, |found| found["data"].clone())
        };
        let own = name_of(installation);
        let items = self
            .of("DeployItem")
            .filter(|item| item["metadata"]["labels"][keys::MANAGED_BY] == *own);
        let mut takes = items.flat_map(|item| {
            let takes = item["spec"]["config"]["takes"].as_object();
            takes.into_iter().flatten()
        });
        takes.all(|(name, taken)| *taken == value(name))
    }

    /// The siblings from which an installation imports.
    fn exporters(&self, installation: &Value) -> Vec<&Value> {
        let imports = data(installation, "imports");
        let parent = |object: &Value| object["metadata"]["labels"][keys::ENCOMPASSED_BY].clone();
        let scope = parent(installation);
        let scope = scope.as_str().map(names::installation_context);
        let siblings = self.of("Installation").filter(|other| {
            uid_of(other) != uid_of(installation) && parent(other) == parent(installation)
        });
        // Of several that export a name, only the one that has it counts.
        let taken_by_another = |other: &Value, name: &str| {
            let object = names::data_name(scope.as_deref(), name);
            let mut all = self.of("DataObject");
            let found = all.find(|found| name_of(found) == object);
            found.is_some_and(|found| !is_owned_by(found, uid_of(other)))
        };
        let exporters = siblings.filter(|other| {
            let mut shared = data(other, "exports")
                .intersection(&imports)
                .copied()
                .collect::<Vec<_>>()
                .into_iter();
            shared.any(|name| !taken_by_another(other, name))
        });
        exporters.collect()
    }

    fn item(&self, item: &Value, gone: bool) -> Option<String> {
        let label = |object: &Value, key: &str| {
            let text = object["metadata"]["labels"][key].as_str();
            text.unwrap_or_default().to_owned()
        };
        let owner = item["metadata"]["ownerReferences"][0]["uid"].as_str()?;
        let name = label(item, keys::ITEM_NAME);
        let siblings = || {
            self.of("DeployItem")
                .filter(|other| is_owned_by(other, owner) && uid_of(other) != uid_of(item))
        };
        if siblings().any(|other| label(other, keys::ITEM_NAME) == name) {
            return Some(format!("two deploy items for one template: {name}"));
        }
        if gone {
            let needs = |other: &Value| {
                let names = &other["metadata"]["annotations"][keys::DEPENDS_ON];
                let mut names = names.as_str().unwrap_or_default().split(',');
                names.any(|needed| needed == name)
            };
            let user = siblings().find(|other| needs(other))?;
            return Some(format!(
                "E10: the deploy item {name} is deleted while {} depends on it",
                label(user, keys::ITEM_NAME)
            ));
        }
        None
    }

    /// An execution or an installation was written.
    fn nested(
        &self,
        object: &Value,
        before: Option<&Value>,
        prompt: bool,
        at: u64,
    ) -> Option<String> {
        let metadata = &object["metadata"];
        let owner = metadata["ownerReferences"][0]["uid"].as_str();
        let parent = owner.and_then(|owner| {
            self.of("Installation")
                .find(|installation| uid_of(installation) == owner)
        });
        if let Some(owner) = owner
            && let Some(twin) = self.twin(object, owner)
        {
            return Some(format!("two objects for one template: {twin}"));
        }
        let generation = |object: &Value| object["metadata"]["generation"].clone();
        let changed = before.map(generation) != Some(generation(object)) && !is_marked(object);
        if let Some(parent) = parent
            && changed
            && prompt
            && let Some(problem) = self.updated(parent, at)
        {
            return Some(problem);
        }
        let succeeded = object["kind"] == "Installation"
            && is_ready(object)
            && !before.is_some_and(is_ready)
            && prompt;
        if succeeded {
            let children = self.children(object);
            let lagging = children
                .into_iter()
                .find(|child| !self.was_settled(child, name_of(object), at));
            return lagging.map(|child| {
                format!(
                    "I17, I10b: {} succeeds while {} {} has not with its present imports",
                    name_of(object),
                    child["kind"],
                    name_of(child)
                )
            });
        }
        None
    }

    fn twin(&self, object: &Value, owner: &str) -> Option<String> {
        let kind = object["kind"].as_str().unwrap_or_default();
        let template = |object: &Value| {
            let annotations = &object["metadata"]["annotations"];
            annotations[keys::SUBINSTALLATION_NAME].to_string()
        };
        let mut others = self
            .of(kind)
            .filter(|other| is_owned_by(other, owner) && uid_of(other) != uid_of(object));
        let twin = others.find(|other| template(other) == template(object))?;
        Some(format!("{kind} {} and {}", name_of(object), name_of(twin)))
    }

    /// Nested objects of an installation were written: it is being updated.
    fn updated(&self, installation: &Value, at: u64) -> Option<String> {
        let name = name_of(installation);
        let key = key_of(installation);
        let since = self.began(name, at);
        let forced = is_forced(installation)
            || self
                .forced_until
                .get(&key)
                .is_some_and(|until| *until >= since);
        if forced || is_marked(installation) {
            return None;
        }
        let mut exporters = self.exporters(installation).into_iter();
        let lagging = exporters.find(|exporter| !self.was_settled(exporter, name, at))?;
        Some(format!(
            "I14, I10b: {name} is updated while {} has not succeeded with its present imports",
            name_of(lagging)
        ))
    }

    fn began(&self, installation: &str, at: u64) -> u64 {
        let runs = self.began.get(installation);
        let last = runs.and_then(|runs| runs.range(..at).next_back());
        last.copied().unwrap_or(0)
    }

    /// Whether something was settled at some moment since a run began.
    fn was_settled(&self, object: &Value, run_of: &str, at: u64) -> bool {
        let since = self.began(run_of, at);
        let key = key_of(object);
        let until = self.settled_until.get(&key);
        self.settled.contains(&key) || until.is_some_and(|until| *until > since)
    }

    fn children(&self, installation: &Value) -> Vec<&Value> {
        let uid = uid_of(installation);
        let all = self.of("Installation").chain(self.of("Execution"));
        all.filter(|child| is_owned_by(child, uid)).collect()
    }

    fn at_rest(&self) -> Result<(), String> {
        let uids: BTreeSet<&str> = self.objects.values().map(uid_of).collect();
        for (key, object) in &self.objects {
            let owners = object["metadata"]["ownerReferences"].as_array();
            let mut owners = owners.into_iter().flatten().peekable();
            let owned = owners.peek().is_some();
            if owned
                && !owners.any(|owner| owner["uid"].as_str().is_some_and(|uid| uids.contains(uid)))
            {
                return Err(format!("nobody owns {key}, and it is still there"));
            }
            let status = &object["status"];
            if is_marked(object) && status["waitingOn"].is_null() && status["lastError"].is_null() {
                return Err(format!(
                    "{key} is marked, and does not say what holds it: {object}"
                ));
            }
        }
        for installation in self.of("Installation").filter(|found| is_ready(found)) {
            let children = self.children(installation);
            if let Some(child) = children.into_iter().find(|child| !is_ready(child)) {
                return Err(format!(
                    "{} has succeeded, and {} has not",
                    name_of(installation),
                    name_of(child)
                ));
            }
        }
        Ok(())
    }
}

fn key_of(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    format!("{} default/{}", bucket(kind), name_of(object))
}
