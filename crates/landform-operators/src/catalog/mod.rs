//! The reconciler of catalogs: reads them, puts what they offer into the index, and tells what it found.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::catalog;
use landform_api::catalog::source::{Catalog, CatalogPhase, CatalogProblem, CatalogStatus};
use landform_api::keys::ANNOTATION_SERVICE_ACCOUNT;
use landform_api::{GroupKind, GroupVersionKind, duration};
use landform_catalog::{CatalogInput, Content, graph};
use landform_engine::{
    Actor, Context, EventType, Failure, Order, Outcome, Reconciler, Related, write_time,
};
use parking_lot::Mutex;
use serde::Deserialize as _;
use sha2::{Digest as _, Sha256};

use crate::facts::hash_of;
use crate::shared::Shared;
use source::{Fingerprint, Source};

/// A source that doesn't tell of changes is looked at so often, unless the catalog says otherwise.
const INTERVAL: Duration = Duration::from_secs(5);
/// So many problems are listed in the status.
const PROBLEMS: usize = 100;

/// The names of catalogs by the namespace and name of the ConfigMap that they are in.
type ConfigMaps = BTreeMap<(String, String), BTreeSet<String>>;

/// Reconciles catalogs.
pub struct Catalogs {
    shared: Arc<Shared>,
    /// The directory below which catalogs may be on disk.
    directory: Option<PathBuf>,
    /// ConfigMaps, and the catalogs that are in them.
    config_maps: Arc<Mutex<ConfigMaps>>,
    /// What was read last, by catalog.
    read: Mutex<BTreeMap<String, Read>>,
}

/// What was read.
#[derive(Clone)]
struct Read {
    fingerprint: Fingerprint,
    content: Arc<Content>,
}

impl Catalogs {
    pub(crate) fn new(shared: Arc<Shared>, directory: Option<PathBuf>) -> Self {
        Self {
            shared,
            directory,
            config_maps: Arc::default(),
            read: Mutex::default(),
        }
    }

    async fn run(&self, context: &Context) -> Result<Outcome, Failure> {
        let object = context.object();
        let name = object.name_any();
        if context.deleting() {
            return Ok(Outcome::Done);
        }
        let catalog = Catalog::deserialize(&object.data)
            .map_err(|error| Failure::Invalid(format!("the catalog can't be read: {error}")))?;
        let mut status = catalog.status.clone();
        status.observed_generation = object.metadata.generation;
        let interval = match catalog.spec.interval.as_deref().map(duration::parse) {
            None => INTERVAL,
            Some(Some(interval)) => interval.max(Duration::from_secs(1)),
            Some(None) => {
                let text = catalog.spec.interval.as_deref().unwrap_or_default();
                let message = format!("spec.interval {text:?} is no length of time, such as 30s");
                return self.fail(context, status, &message, true).await;
            }
        };
        let source = match Source::of(&catalog.spec, self.directory.as_deref()) {
            Ok(source) => source,
            Err(message) => return self.fail(context, status, &message, true).await,
        };
        self.follow(&name, &source);
        let before = self.read.lock().get(&name).cloned();
        let known = before.as_ref().map(|read| &read.fingerprint);
        let read = match source.read(context, known).await {
            Err(message) => {
                let fixed = !source.may_recover();
                let failed = self.fail(context, status, &message, fixed).await;
                return match (failed?, source.is_polled()) {
                    (_, true) => Ok(later(context, interval)),
                    (outcome, false) if fixed => Ok(outcome),
                    (_, false) => Err(Failure::Transient(message)),
                };
            }
            Ok(None) => before.ok_or_else(|| Failure::Transient("nothing was read".into()))?,
            Ok(Some((fingerprint, content))) => Read {
                fingerprint,
                content: Arc::new(content),
            },
        };
        self.read.lock().insert(name.clone(), read.clone());
        let (changed, first) = self.shared.catalogs.read(CatalogInput {
            name: name.as_str().into(),
            priority: catalog.spec.priority,
            labels: object.labels().clone(),
            only_by_name: *context.actor() != Actor::Engine,
            content: read.content.clone(),
        });
        tell(context, &mut status, &read.content);
        context.write_status(&status).await?;
        self.shared.ask_about(&changed, first);
        Ok(if source.is_polled() {
            later(context, interval)
        } else {
            Outcome::Done
        })
    }

    /// It can't be read. What was read before stays.
    async fn fail(
        &self,
        context: &Context,
        mut status: CatalogStatus,
        message: &str,
        warn: bool,
    ) -> Result<Outcome, Failure> {
        let name = context.object().name_any();
        let read = self.read.lock().contains_key(&name);
        let phase = if read {
            CatalogPhase::Stale
        } else {
            CatalogPhase::Failed
        };
        if warn && status.message.as_deref() != Some(message) {
            context.event(EventType::Warning, "Unreadable", message);
        }
        status.phase = Some(phase);
        status.message = Some(message.to_owned());
        context.write_status(&status).await?;
        if self.shared.catalogs.failed(&name) {
            self.shared.ask_about(&BTreeSet::new(), true);
        }
        Ok(Outcome::Done)
    }

    /// Remembers which ConfigMap a catalog is in.
    fn follow(&self, name: &str, source: &Source) {
        let mut all = self.config_maps.lock();
        all.retain(|_, names| {
            names.remove(name);
            !names.is_empty()
        });
        if let Some(place) = source.config_map() {
            all.entry(place).or_default().insert(name.to_owned());
        }
    }
}

fn later(context: &Context, interval: Duration) -> Outcome {
    let interval = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
    let at = context.now_ms().saturating_add(interval);
    Outcome::WaitUntil("its source is looked at again".into(), at)
}

/// What was found. Nothing moves when the content is the same.
fn tell(context: &Context, status: &mut CatalogStatus, content: &Content) {
    let mut hash = Sha256::new();
    for (name, package) in &content.packages {
        hash.update(format!("{name} {:x}\n", package.digest));
    }
    for problem in &content.problems {
        hash.update(format!("{problem:?}\n"));
    }
    let digest = format!("{:x}", hash.finalize());
    if status.digest.as_ref() != Some(&digest) {
        status.last_change_time = Some(write_time(context.now_ms()));
    }
    let packages = content.packages.values();
    let of_graphs = packages.clone().flat_map(|package| {
        let problems = graph::problems(package).into_iter();
        problems.map(|problem| problem.in_catalog(package))
    });
    let problems: Vec<CatalogProblem> = content.problems.iter().cloned().chain(of_graphs).collect();
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    *status = CatalogStatus {
        observed_generation: status.observed_generation,
        phase: Some(CatalogPhase::Ready),
        message: None,
        digest: Some(digest),
        last_change_time: status.last_change_time.take(),
        packages: count(content.packages.len()),
        versions: count(packages.map(|package| package.bundles.len()).sum()),
        problem_count: count(problems.len()),
        problems: problems.into_iter().take(PROBLEMS).collect(),
    };
}

impl Reconciler for Catalogs {
    fn kind(&self) -> GroupVersionKind {
        catalog::kind("Catalog")
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(self.run(context))
    }

    fn order(&self) -> Order {
        Order::Free
    }

    fn related(&self) -> Vec<Related> {
        let config_maps = self.config_maps.clone();
        let kind = GroupVersionKind::new("", "v1", "ConfigMap");
        let related = Related::new(kind, move |object| {
            let place = (object.namespace().unwrap_or_default(), object.name_any());
            let names = config_maps.lock().get(&place).cloned().unwrap_or_default();
            names.into_iter().map(|name| (None, name)).collect()
        });
        // App types are known before catalogs are read, so that those who waited are asked.
        let app_types = Related::new(catalog::kind("AppType"), |_| Vec::new());
        vec![related, app_types.when_moved(|_| 0)]
    }

    fn seen(&self, kind: &GroupKind, object: &DynamicObject) {
        match kind.kind.as_str() {
            "Catalog" => {
                let labels = object.labels().clone();
                self.shared.catalogs.seen(&object.name_any(), labels);
                let place = &object.data["spec"]["configMap"];
                let text = |field: &str| place[field].as_str().map(ToOwned::to_owned);
                if let (Some(namespace), Some(name)) = (text("namespace"), text("name")) {
                    let mut all = self.config_maps.lock();
                    all.entry((namespace, name))
                        .or_default()
                        .insert(object.name_any());
                }
            }
            "AppType" => self.shared.index.app_type_seen(object),
            _ => {}
        }
    }

    fn gone(&self, kind: &GroupKind, _: &str, name: &str, _uid: &str) {
        if kind.kind == "Catalog" {
            self.read.lock().remove(name);
            let changed = self.shared.catalogs.gone(name);
            self.shared.ask_about(&changed, true);
        }
    }

    fn content(&self, object: &DynamicObject) -> u64 {
        let metadata = &object.metadata;
        let account = object.annotations().get(ANNOTATION_SERVICE_ACCOUNT);
        hash_of(&(
            &metadata.uid,
            metadata.generation,
            &metadata.labels,
            account,
        ))
    }
}
