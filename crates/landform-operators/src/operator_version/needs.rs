//! What an operator version needs, requirement by requirement, and what can be done about what is missing
//! (O10, O11).

use std::sync::Arc;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, ResourceExt as _};
use landform_api::catalog::operator_version::{
    Definition, KindVersion, OperatorVersion, OperatorVersionSpec, PackageRange, Requirement,
    ServiceAccountRights,
};
use landform_api::catalog::{Phase, RequirementStatus};
use landform_api::{GroupKind, GroupVersionKind};
use landform_catalog::Range;
use landform_decide::operator_version::{Need, Remedy};
use landform_engine::{Context, Failure};
use semver::Version;
use serde_json::Value;

use crate::catalogs::definition_of;
use crate::definition::write;
use crate::facts::{DefinitionFacts, VersionFacts};
use crate::objects;
use crate::shared::Shared;

/// So many rights of one service account are looked at.
const REVIEWS: usize = 200;

/// A need, and what is done about it if that is decided.
pub(super) struct Needed {
    pub(super) need: Need,
    /// The definition to be written.
    pub(super) definition: Option<Value>,
    /// The versions of the package that will do.
    pub(super) range: Option<String>,
    /// The kind that is missing.
    pub(super) kind: Option<GroupVersionKind>,
}

/// What is wrong with a spec, apart from its strategy.
pub(super) fn problem(spec: &OperatorVersionSpec) -> Option<String> {
    if spec.package.is_empty() {
        return Some("spec.package is missing".into());
    }
    if let Err(error) = Version::parse(&spec.version) {
        return Some(format!(
            "spec.version {:?} is no version: {error}",
            spec.version
        ));
    }
    if let Some(Err(error)) = spec.skip_range.as_deref().map(Range::parse) {
        return Some(format!("spec.skipRange: {error}"));
    }
    let mut ranges = spec.requirements.packages.iter().enumerate();
    ranges.find_map(|(place, package)| {
        let error = range_of(package).err()?;
        Some(format!(
            "spec.requirements.packages[{place}].range: {error}"
        ))
    })
}

fn range_of(package: &PackageRange) -> Result<Option<Range>, String> {
    if package.range.is_empty() {
        return Ok(None);
    }
    let range = Range::parse(&package.range);
    range.map(Some).map_err(|error| error.to_string())
}

pub(super) async fn read(
    context: &Context,
    shared: &Arc<Shared>,
    version: &OperatorVersion,
    facts: &VersionFacts,
) -> Result<Vec<Needed>, Failure> {
    let spec = &version.spec;
    let namespace = context
        .object()
        .metadata
        .namespace
        .clone()
        .unwrap_or_default();
    let mut needed = Vec::new();
    let leaving = !spec.owned.is_empty() && app_type_leaves(context, &namespace, facts).await?;
    for owned in &spec.owned {
        let mut found = of_owned(context, shared, owned, facts).await?;
        if leaving && found.need.remedy == Remedy::WriteDefinition {
            // It takes its kinds along, and nobody brings them back meanwhile.
            found.need.remedy = Remedy::Nothing;
            found.need.requirement.message = "its app type is being deleted".into();
        }
        needed.push(found);
    }
    for kind in &spec.requirements.definitions {
        needed.push(of_kind(context, shared, &namespace, kind).await?);
    }
    for package in &spec.requirements.packages {
        needed.push(of_package(shared, &namespace, package));
    }
    for account in &spec.requirements.service_accounts {
        needed.push(of_account(context, &namespace, account).await?);
    }
    if let Some(minimum) = &spec.requirements.min_server_version {
        needed.push(of_server(context, shared, minimum).await?);
    }
    Ok(needed)
}

/// Whether the app type that owns a version is about to go.
async fn app_type_leaves(
    context: &Context,
    namespace: &str,
    facts: &VersionFacts,
) -> Result<bool, Failure> {
    let Some(owner) = &facts.app_type else {
        return Ok(false);
    };
    let api = objects::app_types(&context.client(), namespace);
    let found = api.get_opt(&owner.name).await?;
    let found = found.filter(|found| found.metadata.uid.as_ref() == Some(&owner.uid));
    Ok(found.is_none_or(|found| found.metadata.deletion_timestamp.is_some()))
}

fn need(kind: &str, name: String, status: RequirementStatus, message: String) -> Needed {
    Needed {
        need: Need {
            requirement: Requirement {
                kind: kind.into(),
                name,
                status,
                message,
            },
            remedy: Remedy::Nothing,
        },
        definition: None,
        range: None,
        kind: None,
    }
}

fn with(remedy: Remedy, mut needed: Needed) -> Needed {
    needed.need.remedy = remedy;
    needed
}

/// A kind that the operator brings itself.
async fn of_owned(
    context: &Context,
    shared: &Arc<Shared>,
    owned: &Definition,
    me: &VersionFacts,
) -> Result<Needed, Failure> {
    let title = format!("{}/{} {}", owned.group, owned.version, owned.kind);
    let status = |status, message: String| need("Owned", title.clone(), status, message);
    let group_kind = GroupKind {
        group: owned.group.clone(),
        kind: owned.kind.clone(),
    };
    let wanted = owned.definition.clone().or_else(|| {
        let manifest = shared
            .catalogs
            .manifest(&me.spec.package, &me.member.version);
        manifest.and_then(|manifest| definition_of(&manifest, &group_kind))
    });
    let writes = |mut needed: Needed, definition: Value| {
        needed.definition = Some(definition);
        with(Remedy::WriteDefinition, needed)
    };
    let name = wanted
        .as_ref()
        .and_then(|found| found["metadata"]["name"].as_str());
    let known = shared.index.definition(&owned.group, &owned.kind);
    let Some(facts) = current(context, name, known).await? else {
        let missing = RequirementStatus::NotPresent;
        return Ok(match wanted {
            Some(wanted) => writes(status(missing, "it is about to be written".into()), wanted),
            None => status(
                missing,
                "neither the spec nor a catalog has its definition".into(),
            ),
        });
    };
    let unsatisfied = RequirementStatus::PresentNotSatisfied;
    if facts.marked {
        return Ok(status(
            unsatisfied,
            "its definition is being deleted".into(),
        ));
    }
    let package = facts.package.as_deref();
    if let Some(other) = package.filter(|package| *package != me.spec.package) {
        let message = format!("package {other} brings it already: {}", facts.told_owner());
        return Ok(with(Remedy::Refuse, status(unsatisfied, message)));
    }
    let serves = facts.served.contains(&owned.version);
    if let Some(wanted) = wanted.filter(|wanted| is_newer(&facts, me, wanted)) {
        let name = (
            context.object().namespace().unwrap_or_default(),
            me.member.name.clone(),
        );
        let kind = "OperatorVersion";
        shared
            .judge(&facts.served_kind(), kind, name.clone())
            .await?;
        if let Some(broken) = write::breaks(&context.client(), &facts, &wanted).await? {
            let message = format!(
                "the definition of {} can't be changed: {broken}",
                me.member.version
            );
            return Ok(with(Remedy::Refuse, status(unsatisfied, message)));
        }
        shared.judged(&group_kind, kind, &name);
        return Ok(writes(
            status(unsatisfied, "it is about to be updated".into()),
            wanted,
        ));
    }
    if !serves {
        let message = format!(
            "its definition doesn't serve {}; it belongs to {}",
            owned.version,
            if package.is_some() {
                facts.told_owner()
            } else {
                "nobody that Landform knows".into()
            }
        );
        return Ok(with(Remedy::Refuse, status(unsatisfied, message)));
    }
    if !facts.established {
        return Ok(status(
            unsatisfied,
            "its definition isn't established yet".into(),
        ));
    }
    let message = match package {
        Some(_) => String::new(),
        None => "it was made by somebody else, and is left as it is".to_owned(),
    };
    Ok(status(RequirementStatus::Present, message))
}

/// A definition as it is now: a write of this run may not have been seen yet.
async fn current(
    context: &Context,
    name: Option<&str>,
    known: Option<DefinitionFacts>,
) -> Result<Option<DefinitionFacts>, Failure> {
    match name.or(known.as_ref().map(|known| known.name.as_str())) {
        Some(name) => objects::definition(&context.client(), name).await,
        None => Ok(None),
    }
}

/// Whether this version's text of a definition should take the place of the one that is there: it is higher
/// than the one that wrote it, or is that one and its text has changed.
fn is_newer(facts: &DefinitionFacts, me: &VersionFacts, wanted: &Value) -> bool {
    if facts.package.is_none() || facts.digest.as_deref() == Some(&write::digest(wanted)) {
        return false;
    }
    let written = facts
        .version
        .as_deref()
        .and_then(|text| Version::parse(text).ok());
    let Some(written) = written else {
        return true;
    };
    let order = me.member.version.cmp_precedence(&written);
    let owner = me
        .app_type
        .as_ref()
        .map_or(&me.member.uid, |owner| &owner.uid);
    order.is_gt() || (order.is_eq() && facts.owner_uid.as_ref() == Some(owner))
}

/// A kind that another operator brings.
async fn of_kind(
    context: &Context,
    shared: &Shared,
    namespace: &str,
    kind: &KindVersion,
) -> Result<Needed, Failure> {
    let title = format!("{}/{} {}", kind.group, kind.version, kind.kind);
    let status = |status, message: String| {
        let mut needed = need("Definition", title.clone(), status, message);
        needed.kind = Some(GroupVersionKind::new(
            &kind.group,
            &kind.version,
            &kind.kind,
        ));
        needed
    };
    let wanted = GroupVersionKind::new(&kind.group, &kind.version, &kind.kind);
    let owner = shared.catalogs.owner(&wanted);
    let name = owner
        .as_ref()
        .and_then(|package| shared.catalogs.definition_name(package, &wanted));
    let known = shared.index.definition(&kind.group, &kind.kind);
    let name = known.as_ref().map(|known| known.name.clone()).or(name);
    if let Some(facts) = current(context, name.as_deref(), known).await? {
        return Ok(if facts.marked {
            let message = "its definition is being deleted".to_owned();
            status(RequirementStatus::PresentNotSatisfied, message)
        } else if !facts.served.contains(&kind.version) {
            let served = facts.served.join(", ");
            let message = format!("its definition serves {served}, not {}", kind.version);
            status(RequirementStatus::PresentNotSatisfied, message)
        } else if facts.established {
            status(RequirementStatus::Present, String::new())
        } else {
            let message = "its definition isn't established yet".to_owned();
            status(RequirementStatus::PresentNotSatisfied, message)
        });
    }
    Ok(match owner {
        None => status(
            RequirementStatus::NotPresent,
            "no catalog has an operator that brings it".into(),
        ),
        Some(package) => {
            let at_once = shared.catalogs.definition_name(&package, &wanted).is_some();
            let needed = status(RequirementStatus::NotPresent, String::new());
            asked(shared, namespace, package, at_once, needed)
        }
    })
}

/// Something that a package of the catalog brings: it is asked for, unless that has happened.
fn asked(
    shared: &Shared,
    namespace: &str,
    package: String,
    at_once: bool,
    mut needed: Needed,
) -> Needed {
    let app_types = shared.index.app_types_in(namespace, &package);
    let Some((name, _)) = app_types.first() else {
        needed.need.requirement.message = format!("the package {package} is asked for");
        return with(Remedy::Ask { package, at_once }, needed);
    };
    needed.need.requirement.message = format!("the app type {name} is to bring it");
    if at_once {
        // The definition need not wait for the operator.
        return with(Remedy::Ask { package, at_once }, needed);
    }
    needed
}

/// Another operator.
fn of_package(shared: &Shared, namespace: &str, package: &PackageRange) -> Needed {
    let title = match package.range.as_str() {
        "" => package.package.clone(),
        range => format!("{} {range}", package.package),
    };
    let status = |status, message: String| {
        let mut needed = need("Package", title.clone(), status, message);
        needed.range = Some(package.range.clone()).filter(|range| !range.is_empty());
        needed
    };
    let range = range_of(package).ok().flatten();
    let fits = |version: &Version| range.as_ref().is_none_or(|range| range.contains(version));
    let family = shared.index.family(namespace, &package.package);
    let running = family
        .iter()
        .filter(|found| found.member.phase == Some(Phase::Succeeded));
    let mut fitting = running.filter(|found| fits(&found.member.version));
    if fitting.next().is_some() {
        return status(RequirementStatus::Present, String::new());
    }
    if let Some(other) = family.first() {
        let phase = other
            .member
            .phase
            .map_or("new".to_owned(), |phase| format!("{phase:?}"));
        let message = format!("{} is here, in phase {phase}", other.member.version);
        return status(RequirementStatus::PresentNotSatisfied, message);
    }
    let missing = RequirementStatus::NotPresent;
    let offered = shared.catalogs.package(&package.package, None);
    let offered =
        offered.is_some_and(|found| found.bundles.iter().any(|bundle| fits(&bundle.version)));
    if offered {
        asked(
            shared,
            namespace,
            package.package.clone(),
            false,
            status(missing, String::new()),
        )
    } else {
        status(missing, "no catalog has such a version".into())
    }
}

/// A service account that somebody made, with its rights.
async fn of_account(
    context: &Context,
    namespace: &str,
    account: &ServiceAccountRights,
) -> Result<Needed, Failure> {
    let status =
        |status, message: String| need("ServiceAccount", account.name.clone(), status, message);
    let kind = GroupVersionKind::new("", "v1", "ServiceAccount");
    let api = objects::api(&context.client(), &kind, namespace);
    if api.get_opt(&account.name).await?.is_none() {
        return Ok(status(
            RequirementStatus::NotPresent,
            "it must be made by somebody".into(),
        ));
    }
    let reviews: Api<SubjectAccessReview> = Api::all(context.client());
    let user = format!("system:serviceaccount:{namespace}:{}", account.name);
    for attributes in attributes(namespace, &account.rules).take(REVIEWS) {
        let told = format!(
            "{} {}",
            attributes.verb.as_deref().unwrap_or_default(),
            attributes.resource.as_deref().unwrap_or_default()
        );
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(user.clone()),
                groups: Some(vec![
                    "system:serviceaccounts".into(),
                    format!("system:serviceaccounts:{namespace}"),
                    "system:authenticated".into(),
                ]),
                resource_attributes: Some(attributes),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let answer = reviews.create(&PostParams::default(), &review).await?;
        if !answer.status.is_some_and(|status| status.allowed) {
            let message = format!("it may not {told} in namespace {namespace}");
            return Ok(status(RequirementStatus::PresentNotSatisfied, message));
        }
    }
    Ok(status(RequirementStatus::Present, String::new()))
}

/// Each single right of some rules.
fn attributes(namespace: &str, rules: &[Value]) -> impl Iterator<Item = ResourceAttributes> {
    let texts = |value: &Value| -> Vec<String> {
        let all = value.as_array().into_iter().flatten();
        all.filter_map(|text| text.as_str().map(ToOwned::to_owned))
            .collect()
    };
    rules.iter().flat_map(move |rule| {
        let (groups, resources, verbs) = (
            texts(&rule["apiGroups"]),
            texts(&rule["resources"]),
            texts(&rule["verbs"]),
        );
        let mut all = Vec::new();
        for group in &groups {
            for resource in &resources {
                for verb in &verbs {
                    let (resource, subresource) = match resource.split_once('/') {
                        Some((resource, sub)) => (resource, Some(sub.to_owned())),
                        None => (resource.as_str(), None),
                    };
                    all.push(ResourceAttributes {
                        namespace: Some(namespace.to_owned()),
                        group: Some(group.clone()),
                        resource: Some(resource.to_owned()),
                        subresource,
                        verb: Some(verb.clone()),
                        ..ResourceAttributes::default()
                    });
                }
            }
        }
        all
    })
}

async fn of_server(context: &Context, shared: &Shared, minimum: &str) -> Result<Needed, Failure> {
    let status =
        |status, message: String| need("ServerVersion", format!(">={minimum}"), status, message);
    let Ok(wanted) = Version::parse(minimum) else {
        let message = format!("{minimum:?} is no version");
        let needed = status(RequirementStatus::PresentNotSatisfied, message);
        return Ok(with(Remedy::Refuse, needed));
    };
    let found = shared.server_version(&context.client()).await?;
    if found.cmp_precedence(&wanted).is_ge() {
        return Ok(status(RequirementStatus::Present, String::new()));
    }
    let message = format!("the server has {found}");
    Ok(status(RequirementStatus::PresentNotSatisfied, message))
}
