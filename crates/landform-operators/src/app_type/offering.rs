//! What the catalogs offer to an app type, from where it stands.

use std::sync::Arc;

use kube::ResourceExt as _;
use landform_api::catalog::app_type::{AppTypeSpec, Offer};
use landform_catalog::graph::Walk;
use landform_catalog::model::Manifest;
use landform_catalog::{Bundle, Payload, Range, resolve};
use landform_decide::app_type::{Candidate, Offered, Offering, Trouble};
use landform_engine::{Context, Failure};
use semver::Version;
use serde_json::Value;

use super::resolving;
use crate::definition::write;
use crate::shared::Shared;

/// What was looked up while the index could not change.
struct Found {
    catalog: String,
    latest: Bundle,
    next: Vec<Offer>,
    step: Result<Option<Bundle>, Trouble>,
    digest: String,
}

/// What there is, with a digest that moves when the package does.
pub(super) async fn read(
    context: &Context,
    shared: &Arc<Shared>,
    spec: &AppTypeSpec,
    range: Option<&Range>,
    from: Option<&(String, Version)>,
) -> Result<(Offering, Option<String>), Failure> {
    let unread = shared.catalogs.unread(spec.catalogs.as_ref());
    if !unread.is_empty() {
        return Ok((Offering::Unread(unread.join(", ")), None));
    }
    let found = match look(shared, spec, range, from) {
        Ok(found) => found,
        Err(trouble) => return Ok((Offering::Nothing(trouble), None)),
    };
    tracing::trace!(catalog = found.catalog, latest = %found.latest.version, "offered");
    let latest = match from {
        None => candidate(context, shared, spec, &found.latest, true).await?,
        // Only what is about to be installed is looked at closely.
        Some(_) => plain(&found.latest),
    };
    let step = match found.step {
        Ok(None) => Ok(None),
        Ok(Some(bundle)) => Ok(Some(candidate(context, shared, spec, &bundle, true).await?)),
        Err(trouble) => Err(trouble),
    };
    let offered = Offered {
        latest,
        next: found.next,
        step,
    };
    Ok((Offering::Found(offered), Some(found.digest)))
}

fn plain(bundle: &Bundle) -> Candidate {
    Candidate {
        name: bundle.name.to_string(),
        version: bundle.version.clone(),
        troubles: Vec::new(),
    }
}

fn look(
    shared: &Shared,
    spec: &AppTypeSpec,
    range: Option<&Range>,
    from: Option<&(String, Version)>,
) -> Result<Found, Trouble> {
    let trouble = |reason, message: String, unblock: &str| Trouble {
        reason,
        message,
        unblock: unblock.to_owned(),
    };
    shared.catalogs.look(|index| {
        let offering = index.offering(&spec.package, spec.catalogs.as_ref()).map_err(|error| {
            trouble(
                "NotOffered",
                error.to_string(),
                "correct spec.package or spec.catalogs, add a Catalog, or give one of them a higher priority",
            )
        })?;
        let package = offering.package;
        let channel = offering.channel(spec.channel.as_deref()).ok_or_else(|| {
            let channels: Vec<_> = package.channels.keys().map(|name| &**name).collect();
            let channels = channels.join(", ");
            let message = match &spec.channel {
                Some(name) => format!("{} has no channel {name}; it has {channels}", spec.package),
                None => format!("{} has no default channel; it has {channels}", spec.package),
            };
            trouble("NoChannel", message, "name one of them in spec.channel")
        })?;
        let walk = Walk::new(package, channel);
        let latest = walk.candidates(range).next().ok_or_else(|| {
            let versions: Vec<_> = walk.candidates(None).take(5).map(|bundle| bundle.version.to_string()).collect();
            let asked = spec.version.as_deref().unwrap_or("any version");
            let message = format!(
                "channel {} of {} has no version in {asked}; the highest are {}",
                channel.name,
                spec.package,
                versions.join(", ")
            );
            trouble("NoneInRange", message, "widen spec.version or choose another channel")
        })?;
        let offer = |bundle: &Bundle| Offer {
            name: bundle.name.to_string(),
            version: bundle.version.to_string(),
            catalog: offering.catalog.to_string(),
            deprecation: bundle.deprecation.clone().unwrap_or_default(),
        };
        let (next, step) = match from {
            None => (Vec::new(), Ok(None)),
            Some((name, version)) => {
                let from = (name.as_str(), version);
                let mut next = walk.steps(from);
                next.truncate(10);
                let step = step(&walk, from, latest, range).map_err(|error| {
                    trouble("NoPath", error.0, &error.1)
                });
                (next.into_iter().map(offer).collect(), step)
            }
        };
        let labels = format!("{} {} {}", offering.catalog, channel.name, package.digest);
        Ok(Found {
            catalog: offering.catalog.to_string(),
            latest: latest.clone(),
            next,
            step: step.map(Option::<&Bundle>::cloned),
            digest: labels,
        })
    })
}

/// The first step on the way to the highest version that can be reached and is in the range.
fn step<'a>(
    walk: &Walk<'a>,
    from: (&'a str, &'a Version),
    latest: &'a Bundle,
    range: Option<&Range>,
) -> Result<Option<&'a Bundle>, (String, String)> {
    if latest.version.cmp_precedence(from.1).is_le() {
        return Ok(None);
    }
    let reachable = walk.reachable(from);
    let mut fitting = reachable
        .into_iter()
        .filter(|bundle| range.is_none_or(|range| range.contains(&bundle.version)));
    let target = fitting.next().unwrap_or(latest);
    match walk.path(from, &target.version) {
        Ok(path) => Ok(path.get(1).and_then(|stop| stop.bundle)),
        Err(no_path) => Err((no_path.reason(), no_path.fix())),
    }
}

/// A version that could be created, with all that is in its way.
pub(super) async fn candidate(
    context: &Context,
    shared: &Arc<Shared>,
    spec: &AppTypeSpec,
    bundle: &Bundle,
    forward: bool,
) -> Result<Candidate, Failure> {
    let mut candidate = plain(bundle);
    let manifest = match &bundle.payload {
        Payload::Manifest(manifest) => Some(manifest.clone()),
        Payload::Facts => {
            candidate
                .troubles
                .push(not_installable("the catalog has only facts about it"));
            None
        }
        Payload::Image(image) => {
            let message = format!("it is in the image {image}, which Landform doesn't read");
            candidate.troubles.push(not_installable(&message));
            None
        }
    };
    candidate
        .troubles
        .extend(requirements(context, shared, spec, bundle).await?);
    if let Some(manifest) = manifest.filter(|_| forward) {
        candidate
            .troubles
            .extend(definitions(context, shared, spec, bundle, &manifest).await?);
    }
    Ok(candidate)
}

fn not_installable(why: &str) -> Trouble {
    Trouble {
        reason: "NotInstallable",
        message: format!("there is nothing to install: {why}"),
        unblock: "use a catalog with bundles that hold their manifests".into(),
    }
}

/// Requirements that nothing can meet, and versions that don't go together.
async fn requirements(
    context: &Context,
    shared: &Arc<Shared>,
    spec: &AppTypeSpec,
    bundle: &Bundle,
) -> Result<Vec<Trouble>, Failure> {
    let namespace = context
        .object()
        .metadata
        .namespace
        .clone()
        .unwrap_or_default();
    let installed = resolving::installed(&context.client(), &namespace).await?;
    let request = resolving::Request {
        spec,
        kinds: shared.index.kinds(),
        server: shared.server_version(&context.client()).await?,
        installed,
    };
    let request = request.of().going_to(&spec.package, &bundle.version);
    let conflict = shared
        .catalogs
        .look(|index| resolve::resolve(index, &request).err());
    let Some(conflict) = conflict else {
        return Ok(Vec::new());
    };
    let facts: Vec<_> = conflict.facts.iter().map(ToString::to_string).collect();
    let fixes: Vec<_> = conflict.fixes.iter().map(ToString::to_string).collect();
    Ok(vec![Trouble {
        reason: "RequirementsNotMet",
        message: facts.join("; "),
        unblock: if fixes.is_empty() {
            "change one of these facts".to_owned()
        } else {
            fixes.join(", or ")
        },
    }])
}

/// Kinds that belong to another package, and changes that would break objects.
async fn definitions(
    context: &Context,
    shared: &Arc<Shared>,
    spec: &AppTypeSpec,
    bundle: &Bundle,
    manifest: &Manifest,
) -> Result<Vec<Trouble>, Failure> {
    let mut troubles = Vec::new();
    for text in &manifest.definitions {
        let Ok(wanted) = serde_json::from_str::<Value>(text) else {
            continue;
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, kind) = (
            text(&wanted["spec"]["group"]),
            text(&wanted["spec"]["names"]["kind"]),
        );
        let Some(facts) = shared.index.definition(&group, &kind) else {
            continue;
        };
        if let Some(other) = facts
            .package
            .as_ref()
            .filter(|package| **package != spec.package)
        {
            troubles.push(Trouble {
                reason: "DefinitionOwned",
                message: format!(
                    "{kind} of {group} is brought by {other} already: {}",
                    facts.told_owner()
                ),
                unblock:
                    "delete that app type with spec.definitions Delete, or do without this one"
                        .into(),
            });
            continue;
        }
        if facts.package.is_none() || facts.digest.as_deref() == Some(&write::digest(&wanted)) {
            continue;
        }
        let written = facts
            .version
            .as_deref()
            .and_then(|text| Version::parse(text).ok());
        if written.is_some_and(|written| written.cmp_precedence(&bundle.version).is_ge()) {
            continue;
        }
        let who = (
            context.object().namespace().unwrap_or_default(),
            context.object().name_any(),
        );
        shared
            .judge(&facts.served_kind(), "AppType", who.clone())
            .await?;
        match write::breaks(&context.client(), &facts, &wanted).await? {
            Some(broken) => troubles.push(Trouble {
                reason: "DefinitionWouldBreak",
                message: format!("the definition of {kind} in {}: {broken}", bundle.version),
                unblock: "change or migrate these objects; then the upgrade goes on".into(),
            }),
            None => shared.judged(&facts.group_kind(), "AppType", &who),
        }
    }
    Ok(troubles)
}
