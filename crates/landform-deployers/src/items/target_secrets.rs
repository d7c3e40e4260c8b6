//! Which items go to targets whose credentials are in which Secret: when that changes they are deployed again.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use parking_lot::RwLock;
use sha1::{Digest as _, Sha1};

/// A namespace and a name.
type Name = (String, String);

/// What is known of items and targets from their watches.
#[derive(Default)]
pub(super) struct TargetSecrets(RwLock<Maps>);

#[derive(Default)]
struct Maps {
    /// The target of an item.
    targets: BTreeMap<Name, Name>,
    /// The Secret of a target.
    secrets: BTreeMap<Name, Named>,
}

/// The Secret that a target names, in one of the two ways.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    /// By `spec.secretRef`: it holds the target's configuration.
    Configuration(Name),
    /// By `spec.config.kubeconfig.secretRef`: it is in the namespace of the item that goes there.
    Kubeconfig(String),
}

impl Named {
    fn of(target: &DynamicObject) -> Option<Self> {
        if let Some(named) = referred(target, "secretRef") {
            return Some(Self::Configuration(named));
        }
        let reference = &target.data["spec"]["config"]["kubeconfig"]["secretRef"];
        let name = reference["name"].as_str().filter(|name| !name.is_empty())?;
        let namespace = reference["namespace"].as_str().unwrap_or_default();
        let own = target.metadata.namespace.as_deref();
        let may_be = namespace.is_empty() || Some(namespace) == own;
        may_be.then(|| Self::Kubeconfig(name.to_owned()))
    }

    fn name(&self) -> &str {
        match self {
            Self::Configuration((_, name)) | Self::Kubeconfig(name) => name,
        }
    }

    /// Where that is, for an item of this namespace.
    fn place(&self, namespace: &str) -> Name {
        match self {
            Self::Configuration(name) => name.clone(),
            Self::Kubeconfig(name) => (namespace.to_owned(), name.clone()),
        }
    }
}

fn name_of(object: &DynamicObject) -> Name {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// The object that a reference names, in the namespace of the object that it stands in unless it says another.
fn referred(object: &DynamicObject, field: &str) -> Option<Name> {
    let reference = &object.data["spec"][field];
    let name = reference["name"].as_str().filter(|name| !name.is_empty())?;
    let namespace = reference["namespace"].as_str().unwrap_or_default();
    let namespace = match namespace {
        "" => object.namespace().unwrap_or_default(),
        namespace => namespace.to_owned(),
    };
    Some((namespace, name.to_owned()))
}

fn note<T>(map: &mut BTreeMap<Name, T>, object: &DynamicObject, found: Option<T>) {
    match found {
        Some(found) => drop(map.insert(name_of(object), found)),
        None => drop(map.remove(&name_of(object))),
    }
}

impl TargetSecrets {
    pub(super) fn item_seen(&self, item: &DynamicObject) {
        note(&mut self.0.write().targets, item, referred(item, "target"));
    }

    pub(super) fn target_seen(&self, target: &DynamicObject) {
        note(&mut self.0.write().secrets, target, Named::of(target));
    }

    pub(super) fn item_gone(&self, namespace: &str, name: &str) {
        let name = (namespace.to_owned(), name.to_owned());
        self.0.write().targets.remove(&name);
    }

    pub(super) fn target_gone(&self, namespace: &str, name: &str) {
        let name = (namespace.to_owned(), name.to_owned());
        self.0.write().secrets.remove(&name);
    }

    /// The items that use a Secret by their targets.
    pub(super) fn items(&self, secret: &DynamicObject) -> Vec<(Option<String>, String)> {
        let maps = self.0.read();
        let secret = name_of(secret);
        let targets = maps.secrets.iter();
        let targets = targets.filter(|(_, named)| named.name() == secret.1);
        let targets: BTreeMap<&Name, &Named> = targets.collect();
        if targets.is_empty() {
            return Vec::new();
        }
        let uses = |(namespace, _): &Name, target: &Name| {
            let named = targets.get(target);
            named.is_some_and(|named| named.place(namespace) == secret)
        };
        let items = maps.targets.iter();
        let items = items.filter(|(item, target)| uses(item, target));
        items
            .map(|((namespace, name), _)| (Some(namespace.clone()), name.clone()))
            .collect()
    }
}

/// Moves with what is in a Secret. It is never written down.
pub(super) fn content(secret: &DynamicObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    secret.metadata.uid.hash(&mut hasher);
    secret.data["data"].to_string().hash(&mut hasher);
    hasher.finish()
}

/// What is noted of the Secret that a target was used with: it moves with what is in the Secret, and tells nothing about that to those
/// who may not read Secrets, because they don't know the Secret's uid.
pub(super) fn generation(secret: Option<&DynamicObject>) -> String {
    let Some(secret) = secret else {
        return String::new();
    };
    let hash = Sha1::new()
        .chain_update(secret.uid().unwrap_or_default())
        .chain_update(secret.data["data"].to_string())
        .finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The Secret of a target, if that is where alone it may be: in the target's namespace, or in that of the item, which goes
/// there.
pub(super) fn of_target(target: &DynamicObject, item_namespace: &str) -> Option<(String, String)> {
    let named = Named::of(target)?;
    let (namespace, name) = named.place(item_namespace);
    let elsewhere = match &named {
        Named::Configuration(_) => Some(&namespace) != target.metadata.namespace.as_ref(),
        Named::Kubeconfig(_) => false,
    };
    (!elsewhere).then_some((namespace, name))
}
