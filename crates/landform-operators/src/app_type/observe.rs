//! Reads what the decision about an app type may see.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::core::ObjectMeta;
use landform_api::catalog::{AppType, keys};
use landform_catalog::{Range, graph};
use landform_decide::app_type::{
    DefinitionState, Observed, Offering, base, installed, rollback_target,
};
use landform_engine::{Context, Failure};
use semver::Version;
use serde::Deserialize as _;

use super::offering;
use crate::entitled::{self, Relative};
use crate::objects;
use crate::shared::Shared;

/// An app type with everything around it, as it is now.
pub(super) struct World {
    pub(super) metadata: ObjectMeta,
    pub(super) app_type: AppType,
    pub(super) observed: Observed,
    /// Of the package, as the catalogs have it now.
    pub(super) catalog_digest: Option<String>,
}

impl World {
    /// After a start not all catalogs were read yet. What was decided before stands until then, and a
    /// rollback waits as well: it needs them.
    pub(super) fn waits_for_catalogs(&self) -> bool {
        let unread = matches!(self.observed.offering, Offering::Unread(_));
        let decided = self.app_type.status.phase.is_some();
        unread && decided && !self.observed.marked && self.observed.problem.is_none()
    }

    pub(super) async fn read(context: &Context, shared: &Arc<Shared>) -> Result<Self, Failure> {
        let object = context.object();
        let app_type = AppType::deserialize(&object.data)
            .map_err(|error| Failure::Invalid(format!("the app type can't be read: {error}")))?;
        let metadata = object.metadata.clone();
        let namespace = object.namespace().unwrap_or_default();
        let uid = object.uid().unwrap_or_default();
        let (spec, status) = (&app_type.spec, &app_type.status);
        let client = context.client();
        let family = objects::family_objects(&client, &namespace, &spec.package).await?;
        let family = family.into_iter().map(Relative::of).collect();
        // One whose writer may not take the place of others neither runs in it nor is in the way.
        let versions = entitled::of_family(context, "", family).await?.others;
        let own: Vec<_> = versions
            .iter()
            .map(|found| found.own_version(&uid))
            .collect();
        let (range, approved, problem) = parsed(&app_type);

        let from = base(&own).map(|found| (found.name.clone(), found.version.clone()));
        let (offering, catalog_digest) = if problem.is_none() {
            offering::read(context, shared, spec, range.as_ref(), from.as_ref()).await?
        } else {
            let unread = Offering::Unread(String::new());
            (unread, None)
        };
        let rollback = object.annotations().get(keys::ROLLBACK).cloned();
        // It ends with what was last seen to run.
        let history = status.history.iter().chain(&status.installed);
        let history: Vec<_> = history
            .filter_map(|found| Some((found.name.clone(), Version::parse(&found.version).ok()?)))
            .collect();
        let target = rollback.as_ref().zip(installed(&own));
        let target =
            target.and_then(|(asked, runs)| rollback_target(asked, &history, &runs.version));
        let rollback_candidate = match target {
            None => None,
            Some(target) => {
                let package = shared
                    .catalogs
                    .package(&spec.package, spec.catalogs.as_ref());
                let bundle = package
                    .as_deref()
                    .and_then(|package| graph::find(package, &target))
                    .cloned();
                match bundle {
                    Some(bundle) => {
                        Some(offering::candidate(context, shared, spec, &bundle, false).await?)
                    }
                    None => None,
                }
            }
        };
        let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
        let rivals = shared.index.app_types_in(&namespace, &spec.package);
        // The oldest one counts; of one that goes nobody else waits for the rest.
        let first = rivals
            .into_iter()
            .find(|(_, facts)| !facts.marked || facts.uid == uid);
        let rival = first
            .filter(|(_, facts)| facts.uid != uid)
            .map(|(name, _)| name);
        let observed = Observed {
            marked: metadata.deletion_timestamp.is_some(),
            held: finalizers.iter().any(|name| name == keys::FINALIZER),
            problem,
            rival,
            policy: spec.upgrade_policy,
            approved,
            definition_policy: spec.definitions,
            rollback,
            rolled_back_from: status
                .rolled_back_from
                .as_deref()
                .and_then(|text| Version::parse(text).ok()),
            history: status.history.clone(),
            versions: own,
            offering,
            rollback_candidate,
            definitions: definitions(shared, &namespace, &object.name_any(), &uid, &spec.package),
        };
        Ok(Self {
            metadata,
            app_type,
            observed,
            catalog_digest,
        })
    }
}

/// The range and the approved version, or what is wrong with them.
fn parsed(app_type: &AppType) -> (Option<Range>, Option<Version>, Option<String>) {
    let spec = &app_type.spec;
    let range = spec
        .version
        .as_deref()
        .filter(|text| !text.is_empty())
        .map(Range::parse);
    let approved = spec
        .approved
        .as_deref()
        .filter(|text| !text.is_empty())
        .map(Version::parse);
    let problem = match (&range, &approved) {
        _ if spec.package.is_empty() => Some("spec.package is missing".to_owned()),
        (Some(Err(error)), _) => Some(format!("spec.version: {error}")),
        (_, Some(Err(error))) => Some(format!(
            "spec.approved {:?} is no version: {error}",
            spec.approved.as_deref().unwrap_or_default()
        )),
        _ => None,
    };
    (
        range.and_then(Result::ok),
        approved.and_then(Result::ok),
        problem,
    )
}

/// The kinds of the package that this app type owns, or that nobody does.
fn definitions(
    shared: &Shared,
    namespace: &str,
    name: &str,
    uid: &str,
    package: &str,
) -> Vec<DefinitionState> {
    let own = format!("AppType/{namespace}/{name}");
    let heir = shared.index.other_app_type(package, uid);
    let heir = heir.map(|(namespace, name)| format!("AppType/{namespace}/{name}"));
    let all = shared.index.definitions_of(package).into_iter();
    all.map(|facts| DefinitionState {
        // Under its name, and by its uid once that was noted.
        mine: facts.owner.as_ref() == Some(&own)
            && facts.owner_uid.as_deref().is_none_or(|noted| noted == uid),
        heir: heir.clone(),
        marked: facts.marked,
        blocker: facts.blocker,
        name: facts.name,
    })
    .collect()
}
