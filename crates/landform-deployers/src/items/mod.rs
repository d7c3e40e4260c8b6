//! The reconciler of deploy items: keeps the contract for every deployer that is part of this process, and
//! the times of those that are not.
//!
//! # Expected flow
//! `observe` → `landform_decide::deploy_item::decide` → `act`. A pickup first resets the status, then removes
//! the annotation that asked for it: a crash in between repeats the pickup. The deployer is then called
//! until it succeeds, fails for good or runs out of time, in the same run. Whatever changes the item cancels
//! the run, and the next one starts only when this one has returned: that is the fence of an abort.

mod act;
mod config;
mod execution;
mod export;
mod observe;
mod siblings;
mod target;
mod target_secrets;
mod work;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use futures::future::BoxFuture;
use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::keys::{ANNOTATION_RESTART, ANNOTATION_SERVICE_ACCOUNT, ANNOTATION_STOPPED};
use landform_api::landscaper::{self, keys};
use landform_api::{GroupKind, GroupVersionKind};
use landform_decide::deploy_item::{Action, Observed, decide};
use landform_engine::{Context, Failure, Order, Outcome, Reconciler, Ref, Related};

use crate::deployer::{Deployer, Wake};
use siblings::Siblings;
use target_secrets::TargetSecrets;

/// Items wait in their runs for what they deploy to become ready: a waiting run costs little.
const ITEMS_AT_ONCE: usize = 1024;
/// How the deployers of this process introduce themselves.
const IDENTITY: &str = "landform";
/// The reason of the error of an item whose work was stopped on request.
const ABORTED: &str = "Aborted";

/// Reconciles deploy items of all types.
pub struct DeployItems {
    deployers: BTreeMap<String, Arc<dyn Deployer>>,
    /// Has the items of all other types; none when these are deployed elsewhere.
    others: Option<Arc<dyn Deployer>>,
    wake: Wake,
    siblings: Arc<Siblings>,
    target_secrets: Arc<TargetSecrets>,
}

impl DeployItems {
    /// Knows no deployer yet: every item is somebody else's.
    #[must_use]
    pub fn new() -> Self {
        Self {
            deployers: BTreeMap::new(),
            others: None,
            wake: Wake::default(),
            siblings: Arc::default(),
            target_secrets: Arc::default(),
        }
    }

    /// Items of its type are deployed by this one.
    #[must_use]
    pub fn with(mut self, deployer: impl Deployer) -> Self {
        let kind = deployer.kind().to_owned();
        self.deployers.insert(kind, Arc::new(deployer));
        self
    }

    /// Items of all types that nobody has are deployed by this one, whatever its own type is.
    #[must_use]
    pub fn otherwise(mut self, deployer: impl Deployer) -> Self {
        self.others = Some(Arc::new(deployer));
        self
    }

    /// The deployer of an item, if it is one of this process. What goes is removed by the one that has deployed it, whatever
    /// type the item has got since.
    fn deployer(&self, item: &observe::Item) -> Option<&Arc<dyn Deployer>> {
        let namespace = item.metadata.namespace.as_deref();
        let by = item.object.status.deployer.as_ref();
        let by =
            by.filter(|by| by.identity == IDENTITY && item.metadata.deletion_timestamp.is_some());
        let former = by.and_then(|by| self.find(&by.name, namespace));
        former.or_else(|| self.find(&item.object.spec.kind, namespace))
    }

    /// The deployer of another type than the item has now that has deployed it: what it has brought goes first.
    fn former(&self, item: &observe::Item) -> Option<Former<'_>> {
        let (spec, status) = (&item.object.spec, &item.object.status);
        let by = status.deployer.as_ref();
        let by = by.filter(|by| by.identity == IDENTITY && by.name != spec.kind)?;
        let namespace = item.metadata.namespace.as_deref();
        let Some(former) = self.find(&by.name, namespace) else {
            return Some(Former::Absent(by.name.clone()));
        };
        let present = self.find(&spec.kind, namespace);
        let same = present.is_some_and(|present| Arc::ptr_eq(present, former));
        (!same).then_some(Former::Ours(former))
    }

    /// The deployer of a type in a namespace.
    fn find(&self, kind: &str, namespace: Option<&str>) -> Option<&Arc<dyn Deployer>> {
        let found = self.deployers.get(kind).or(self.others.as_ref());
        found.filter(|deployer| deployer.serves(namespace.unwrap_or_default()))
    }

    /// What deployers ask for calls with; to be connected with the engine when that has started.
    #[must_use]
    pub fn wake(&self) -> Wake {
        self.wake.clone()
    }
}

/// The deployer of the type that an item had.
enum Former<'a> {
    Ours(&'a Arc<dyn Deployer>),
    /// This process doesn't have it any more.
    Absent(String),
}

impl Default for DeployItems {
    fn default() -> Self {
        Self::new()
    }
}

impl Reconciler for DeployItems {
    fn kind(&self) -> GroupVersionKind {
        landscaper::kind("DeployItem")
    }

    fn reconcile<'a>(&'a self, context: &'a Context) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(async move {
            let item = observe::Item::read(context).await?;
            let deployer = self.deployer(&item);
            let needed_by = self.siblings.dependents(context.object());
            let seen = observe::observed(context.now_ms(), &item, deployer.is_some(), needed_by);
            let seen = Observed {
                execution: execution::of(context).await?,
                ..seen
            };
            let decision = decide(&seen);
            tracing::debug!(rule = %decision.rule, action = ?decision.action, "decided");
            let act = act::Act {
                context,
                item: &item,
                former: self.former(&item),
                wake: &self.wake,
                timeout_ms: seen.timeout_ms,
            };
            act.carry_out(decision, deployer).await
        })
    }

    fn order(&self) -> Order {
        Order::Related
    }

    fn refs(&self, item: &DynamicObject) -> Vec<Ref> {
        let target = &item.data["spec"]["target"];
        let Some(name) = target["name"].as_str().filter(|name| !name.is_empty()) else {
            return Vec::new();
        };
        let namespace = target["namespace"].as_str().filter(|name| !name.is_empty());
        let namespace = namespace.map(ToOwned::to_owned).or(item.namespace());
        vec![Ref {
            kind: landscaper::kind("Target"),
            namespace,
            name: name.to_owned(),
        }]
    }

    fn content(&self, item: &DynamicObject) -> u64 {
        let mut hasher = DefaultHasher::new();
        item.metadata.uid.hash(&mut hasher);
        item.metadata.generation.hash(&mut hasher);
        let annotations = item.annotations();
        for key in [
            keys::OPERATION,
            keys::IGNORE,
            keys::DELETE_WITHOUT_UNINSTALL,
            keys::RECONCILE_TIME,
            keys::ABORT_TIME,
            ANNOTATION_SERVICE_ACCOUNT,
            ANNOTATION_STOPPED,
            ANNOTATION_RESTART,
        ] {
            annotations.get(key).hash(&mut hasher);
        }
        let kind = item.data["spec"]["type"].as_str().unwrap_or_default();
        if self
            .find(kind, item.metadata.namespace.as_deref())
            .is_none()
        {
            // A deployer elsewhere tells by it what it does.
            item.data["status"]["phase"].as_str().hash(&mut hasher);
        }
        hasher.finish()
    }

    /// An item that goes leads to those that it depends on, and an execution that goes to its items: they
    /// may wait for that.
    fn related(&self) -> Vec<Related> {
        let siblings = self.siblings.clone();
        let related = Related::new(self.kind(), move |item| {
            let marked = item.metadata.deletion_timestamp.is_some();
            let names = if marked {
                siblings.dependencies(item)
            } else {
                Vec::new()
            };
            let names = names.into_iter();
            names.map(|name| (item.namespace(), name)).collect()
        });
        let siblings = self.siblings.clone();
        let executions = Related::new(landscaper::kind("Execution"), move |execution| {
            let marked = execution.metadata.deletion_timestamp.is_some();
            let names = if marked {
                siblings.of(execution)
            } else {
                Vec::new()
            };
            let names = names.into_iter();
            names.map(|name| (execution.namespace(), name)).collect()
        });
        // Those are followed for the index.
        let targets = Related::new(landscaper::kind("Target"), |_| Vec::new()).when_moved(|_| 0);
        let target_secrets = self.target_secrets.clone();
        let kind = GroupVersionKind::new("", "v1", "Secret");
        let secrets = Related::new(kind, move |secret| target_secrets.items(secret));
        vec![
            targets,
            secrets.when_moved(target_secrets::content),
            related.when_moved(|item| u64::from(item.metadata.deletion_timestamp.is_some())),
            executions.when_moved(|execution| u64::from(execution::is_holding(execution))),
        ]
    }

    fn seen(&self, kind: &GroupKind, item: &DynamicObject) {
        match kind.kind.as_str() {
            "DeployItem" => {
                self.siblings.seen(item);
                self.target_secrets.item_seen(item);
            }
            "Target" => self.target_secrets.target_seen(item),
            _ => {}
        }
    }

    fn gone(&self, kind: &GroupKind, namespace: &str, name: &str, _uid: &str) {
        match kind.kind.as_str() {
            "DeployItem" => {
                self.siblings.gone(namespace, name);
                self.target_secrets.item_gone(namespace, name);
            }
            "Target" => self.target_secrets.target_gone(namespace, name),
            _ => {}
        }
    }

    fn idle(&self, object: &DynamicObject) -> bool {
        let Ok(item) = observe::Item::of(object, None) else {
            return false;
        };
        let deployer = self.deployer(&item);
        if item.was_refused()
            || item.object.spec.target.is_some()
            || deployer.is_some_and(|deployer| deployer.keeps())
        {
            return false;
        }
        // What has come to an end doesn't depend on the time.
        let seen = observe::observed(0, &item, deployer.is_some(), Vec::new());
        matches!(decide(&seen).action, Action::Nothing | Action::Keep)
    }

    fn limit(&self) -> usize {
        ITEMS_AT_ONCE
    }
}
