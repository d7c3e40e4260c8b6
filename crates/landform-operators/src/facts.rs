//! What is remembered of objects while they are followed: as much as decisions about others need.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::catalog::app_type::{AppType, AppTypeStatus, CatalogSelector};
use landform_api::catalog::operator_version::{
    HigherVersion, OperatorVersion, OperatorVersionSpec, OperatorVersionStatus,
};
use landform_api::catalog::{API_VERSION, Phase, keys};
use landform_api::{GroupKind, GroupVersionKind};
use landform_catalog::{Edges, Range, Replaces};
use landform_decide::app_type::OwnVersion;
use landform_decide::operator_version::{Former, Member, Reason};
use semver::Version;
use serde::Deserialize as _;
use serde_json::Value;

/// An operator version, as others see it.
#[derive(Clone, Debug)]
pub(crate) struct VersionFacts {
    pub(crate) member: Member,
    /// What follows from the spec; the same in every namespace that has this version.
    pub(crate) spec: Arc<SpecFacts>,
    /// The app type that owns it.
    pub(crate) app_type: Option<Owner>,
}

/// Name and uid of an owner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// What follows from the spec of an operator version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SpecFacts {
    pub(crate) package: String,
    /// Kinds that it brings or needs.
    pub(crate) kinds: BTreeSet<(String, String)>,
    /// Packages that it needs.
    pub(crate) packages: BTreeSet<String>,
    /// Kinds of resources that it manages.
    pub(crate) managed: Vec<(String, String, String)>,
    pub(crate) labels: BTreeMap<String, String>,
}

impl SpecFacts {
    pub(crate) fn of(spec: &OperatorVersionSpec) -> Self {
        let owned = spec.owned.iter();
        let owned = owned.map(|kind| (kind.group.clone(), kind.kind.clone()));
        let required = spec.requirements.definitions.iter();
        let required = required.map(|kind| (kind.group.clone(), kind.kind.clone()));
        let packages = spec.requirements.packages.iter();
        let of_owned = spec.owned.iter();
        let of_owned = of_owned.map(|kind| (&kind.group, &kind.version, &kind.kind));
        let more = spec.manages.kinds.iter();
        let more = more.map(|kind| (&kind.group, &kind.version, &kind.kind));
        let managed = of_owned.chain(more);
        Self {
            package: spec.package.clone(),
            kinds: owned.chain(required).collect(),
            packages: packages.map(|found| found.package.clone()).collect(),
            managed: managed
                .map(|(group, version, kind)| (group.clone(), version.clone(), kind.clone()))
                .collect(),
            labels: spec.manages.match_labels.clone(),
        }
    }

    /// The kinds of resources that it manages.
    pub(crate) fn managed(&self) -> impl Iterator<Item = GroupVersionKind> {
        let managed = self.managed.iter();
        managed.map(|(group, version, kind)| GroupVersionKind::new(group, version, kind))
    }
}

/// What an operator version says, as far as it can be read.
pub(crate) fn operator_version(object: &DynamicObject) -> OperatorVersion {
    OperatorVersion::deserialize(&object.data).unwrap_or_default()
}

/// Lowest of all: a version that can't be read never takes anybody's place.
const UNREADABLE: Version = Version::new(0, 0, 0);

/// What a version replaces, as its spec says.
pub(crate) fn edges(spec: &OperatorVersionSpec) -> Edges {
    Edges {
        replaces: spec.replaces.as_deref().map(Replaces::parse),
        skips: spec.skips.iter().map(|text| text.as_str().into()).collect(),
        skip_range: spec
            .skip_range
            .as_deref()
            .and_then(|text| Range::parse(text).ok()),
    }
}

/// Whether another version may take the place of this one.
fn upgradeable(version: &OperatorVersion) -> Result<(), String> {
    if let Some(stated) = version.spec.upgradeable {
        return if stated {
            Ok(())
        } else {
            Err("spec.upgradeable is false".to_owned())
        };
    }
    let condition = version
        .status
        .conditions
        .iter()
        .find(|found| found["type"] == "Upgradeable");
    match condition {
        Some(found) if found["status"] == "False" => {
            let message = found["message"].as_str().filter(|text| !text.is_empty());
            Err(message.unwrap_or("the operator says so").to_owned())
        }
        _ => Ok(()),
    }
}

/// An operator version as a member of its family.
pub(crate) fn member(object: &DynamicObject, version: &OperatorVersion) -> Member {
    let status = &version.status;
    let annotation = |key: &str| object.annotations().get(key).cloned();
    Member {
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        generation: object.metadata.generation.unwrap_or_default(),
        version: Version::parse(&version.spec.version).unwrap_or(UNREADABLE),
        edges: edges(&version.spec),
        rollback_of: annotation(keys::ROLLBACK_OF),
        phase: status.phase,
        up_to_date: status.observed_generation == object.metadata.generation,
        marked: object.metadata.deletion_timestamp.is_some(),
        begun: status.begun,
        stuck: is_stuck(status),
        upgradeable: upgradeable(version),
        message: status.message.clone(),
        replaced: status
            .replaced
            .iter()
            .map(|former| Former {
                name: former.name.clone(),
                edges: former
                    .edges
                    .iter()
                    .map(|text| Replaces::parse(text))
                    .collect(),
            })
            .collect(),
        reasserted_for: status.reasserted_for.clone(),
    }
}

fn is_stuck(status: &OperatorVersionStatus) -> bool {
    status.phase == Some(Phase::Pending) && status.reason == Reason::RequirementsNotMet.to_string()
}

impl VersionFacts {
    pub(crate) fn of(object: &DynamicObject) -> Self {
        let version = operator_version(object);
        let owners = object.metadata.owner_references.iter().flatten();
        let mut app_types =
            owners.filter(|owner| owner.kind == "AppType" && owner.api_version == API_VERSION);
        Self {
            member: member(object, &version),
            spec: Arc::new(SpecFacts::of(&version.spec)),
            app_type: app_types.next().map(|owner| Owner {
                name: owner.name.clone(),
                uid: owner.uid.clone(),
            }),
        }
    }

    /// As its app type sees it.
    pub(crate) fn own_version(&self, app_type_uid: &str) -> OwnVersion {
        let member = &self.member;
        OwnVersion {
            name: member.name.clone(),
            version: member.version.clone(),
            phase: member.phase,
            marked: member.marked,
            begun: member.begun,
            mine: self
                .app_type
                .as_ref()
                .is_some_and(|owner| owner.uid == app_type_uid),
            rollback_of: member.rollback_of.clone(),
            upgradeable: member.upgradeable.clone(),
            message: member.message.clone(),
        }
    }
}

/// Moves when something of an operator version moved that matters to its family, its app type or those
/// that need its package.
pub(crate) fn version_movement(object: &DynamicObject) -> u64 {
    let facts = VersionFacts::of(object);
    let member = &facts.member;
    let mut hasher = DefaultHasher::new();
    (&member.uid, &member.version, &member.rollback_of).hash(&mut hasher);
    (member.generation, member.up_to_date).hash(&mut hasher);
    (member.phase, member.marked, member.begun, member.stuck).hash(&mut hasher);
    (&member.upgradeable, &member.message, &member.reasserted_for).hash(&mut hasher);
    format!("{:?} {:?}", member.edges, member.replaced).hash(&mut hasher);
    facts.app_type.hash(&mut hasher);
    facts.spec.hash(&mut hasher);
    hasher.finish()
}

/// An app type, as others see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AppTypeFacts {
    pub(crate) package: String,
    pub(crate) uid: String,
    pub(crate) created: String,
    pub(crate) marked: bool,
    pub(crate) catalogs: Option<CatalogSelector>,
    /// Of the package, when its last decision was made.
    pub(crate) catalog_digest: Option<String>,
    pub(crate) installed: Option<String>,
    /// Whether something besides its package is in its way: other packages, kinds or objects.
    pub(crate) held_up: bool,
    /// What it says of a higher version than the installed one.
    pub(crate) offer: Option<HigherVersion>,
}

/// Reasons why an app type waits for something besides its package and its spec.
const OUTSIDE: [&str; 3] = [
    "RequirementsNotMet",
    "DefinitionOwned",
    "DefinitionWouldBreak",
];

/// Whether an app type waits for something besides its package and its spec.
pub(crate) fn is_held_up(status: &AppTypeStatus) -> bool {
    let mut blocked = status.blocked_by.iter();
    blocked.any(|found| OUTSIDE.contains(&found.reason.as_str()))
}

/// O2: what an app type says of a higher version, for the one that is installed.
pub(crate) fn offer(status: &AppTypeStatus) -> Option<HigherVersion> {
    let (next, blocked) = (status.next.first()?, status.blocked_by.first()?);
    Some(HigherVersion {
        version: next.version.clone(),
        reason: blocked.reason.clone(),
        message: format!("{}; {}", blocked.message, blocked.unblock),
    })
}

impl AppTypeFacts {
    pub(crate) fn of(object: &DynamicObject) -> Self {
        let app_type = AppType::deserialize(&object.data).unwrap_or_default();
        let created = object.metadata.creation_timestamp.as_ref();
        Self {
            package: app_type.spec.package,
            uid: object.uid().unwrap_or_default(),
            created: created.map(|time| time.0.to_string()).unwrap_or_default(),
            marked: object.metadata.deletion_timestamp.is_some(),
            held_up: is_held_up(&app_type.status),
            offer: offer(&app_type.status),
            catalogs: app_type.spec.catalogs,
            catalog_digest: app_type.status.catalog_digest,
            installed: app_type.status.installed.map(|found| found.name),
        }
    }
}

/// A kind's definition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DefinitionFacts {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
    pub(crate) served: Vec<String>,
    pub(crate) stored: Vec<String>,
    pub(crate) established: bool,
    pub(crate) marked: bool,
    /// What is in the way of its deletion.
    pub(crate) blocker: String,
    pub(crate) package: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) digest: Option<String>,
    pub(crate) owner: Option<String>,
    pub(crate) owner_uid: Option<String>,
}

impl DefinitionFacts {
    pub(crate) fn of(object: &DynamicObject) -> Self {
        let (spec, status) = (&object.data["spec"], &object.data["status"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let texts = |value: &Value| -> Vec<String> {
            let all = value.as_array().into_iter().flatten();
            all.map(text).collect()
        };
        let versions = spec["versions"].as_array().into_iter().flatten();
        let served = versions.filter(|version| version["served"] == true);
        let conditions = status["conditions"].as_array();
        let condition = |kind: &str| {
            let mut all = conditions.into_iter().flatten();
            all.find(|found| found["type"] == kind)
        };
        let annotation = |key: &str| object.annotations().get(key).cloned();
        let established = condition("Established");
        let terminating = condition("Terminating");
        Self {
            name: object.name_any(),
            group: text(&spec["group"]),
            kind: text(&spec["names"]["kind"]),
            plural: text(&spec["names"]["plural"]),
            namespaced: spec["scope"] == "Namespaced",
            served: served.map(|version| text(&version["name"])).collect(),
            stored: texts(&status["storedVersions"]),
            established: established.is_some_and(|found| found["status"] == "True"),
            marked: object.metadata.deletion_timestamp.is_some(),
            blocker: terminating.map_or_else(String::new, |found| text(&found["message"])),
            package: annotation(keys::PACKAGE),
            version: annotation(keys::VERSION),
            digest: annotation(keys::DIGEST),
            owner: annotation(keys::OWNER),
            owner_uid: annotation(keys::OWNER_UID),
        }
    }

    /// The namespace and name of the app type that owns it.
    pub(crate) fn app_type(&self) -> Option<(&str, &str)> {
        self.owner
            .as_deref()?
            .strip_prefix("AppType/")?
            .split_once('/')
    }

    /// Its kind in a version that is served.
    pub(crate) fn served_kind(&self) -> GroupVersionKind {
        let version = self.served.first().map(String::as_str);
        GroupVersionKind::new(&self.group, version.unwrap_or_default(), &self.kind)
    }

    pub(crate) fn group_kind(&self) -> GroupKind {
        GroupKind {
            group: self.group.clone(),
            kind: self.kind.clone(),
        }
    }

    /// Its owner, for people.
    pub(crate) fn told_owner(&self) -> String {
        let package = self.package.as_deref().unwrap_or("an unknown package");
        match &self.owner {
            Some(owner) => {
                let words: Vec<_> = owner.splitn(3, '/').collect();
                match words.as_slice() {
                    [kind, namespace, name] => {
                        format!("{kind} {name} in namespace {namespace} (package {package})")
                    }
                    _ => format!("{owner} (package {package})"),
                }
            }
            None => format!("package {package}"),
        }
    }
}

/// A hash of anything that can be one.
pub(crate) fn hash_of(value: &impl std::hash::Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
