//! The candidates of a package, the preferred one first, and what each needs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use landform_api::GroupVersionKind;
use landform_api::catalog::app_type::CatalogSelector;
use semver::Version;

use super::{Installed, Reach, Request, Wanted};
use crate::graph::Walk;
use crate::index::{Index, Offering};
use crate::model::{Bundle, Channel, RequiredPackage};

/// A request with its parts by package.
pub(super) struct Gathering<'a> {
    pub(super) index: &'a Index,
    pub(super) request: &'a Request,
    /// In the order of names, so that no other order matters.
    pub(super) wanted: BTreeMap<&'a str, &'a Wanted>,
    pub(super) installed: BTreeMap<&'a str, &'a Installed>,
    /// Kinds that something installed here brings: they may go with it.
    brought: BTreeSet<&'a GroupVersionKind>,
}

/// A version that may be chosen.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) package: &'a str,
    pub(super) bundle: &'a Bundle,
    /// None for what is installed.
    pub(super) from: Option<(&'a Arc<str>, &'a Arc<str>)>,
}

/// What a bundle can't do without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Need<'a> {
    Package(&'a RequiredPackage),
    Kind(&'a GroupVersionKind),
}

/// Which catalogs count for somebody.
pub(super) type Selector<'a> = Option<&'a CatalogSelector>;

impl<'a> Gathering<'a> {
    pub(super) fn new(index: &'a Index, request: &'a Request) -> Self {
        let installed: BTreeMap<_, _> = request
            .installed
            .iter()
            .map(|installed| (&*installed.package, installed))
            .collect();
        let bundles = installed.values().map(|installed| &installed.bundle);
        let brought = bundles.flat_map(|bundle| &bundle.owned).collect();
        let wanted = request.wanted.iter();
        Self {
            index,
            request,
            wanted: wanted.map(|wanted| (&*wanted.package, wanted)).collect(),
            installed,
            brought,
        }
    }

    /// What may be chosen for somebody who wants this.
    pub(super) fn for_wanted(&self, wanted: &'a Wanted) -> Vec<Candidate<'a>> {
        let in_range = |bundle: &Bundle| {
            let range = wanted.range.as_ref();
            range.is_none_or(|range| range.contains(&bundle.version))
        };
        let installed = self.installed.get(&*wanted.package);
        let offering = self
            .index
            .offering(&wanted.package, wanted.catalogs.as_ref());
        let mut found = Vec::new();
        if let Ok(offering) = offering
            && let Some(channel) = offering.channel(wanted.channel.as_deref())
        {
            let walk = Walk::new(offering.package, channel);
            let bundles = match installed {
                None => walk.candidates(None).collect(),
                Some(installed) => reached(&walk, installed, wanted.reach),
            };
            let bundles = bundles.into_iter();
            let fitting = bundles.filter(|bundle| in_range(bundle) && self.runs_here(bundle));
            found.extend(fitting.map(|bundle| candidate(offering, channel, bundle)));
        }
        if let Some(installed) = installed.filter(|installed| in_range(&installed.bundle)) {
            found.push(staying(installed));
        }
        found
    }

    /// What may be chosen because something needs the package.
    pub(super) fn for_need(&self, package: &str, selector: Selector<'a>) -> Vec<Candidate<'a>> {
        let mut found = Vec::new();
        let installed = self.installed.get(package);
        if let Some(installed) = installed {
            found.push(staying(installed));
            if !installed.movable {
                return found;
            }
        }
        let Ok(offering) = self.index.offering(package, selector) else {
            return found;
        };
        for channel in channels(offering, installed) {
            let walk = Walk::new(offering.package, channel);
            let bundles: Vec<&Bundle> = match installed {
                None => walk.candidates(None).collect(),
                Some(installed) => reached(&walk, installed, Reach::Way),
            };
            let (fine, deprecated): (Vec<&Bundle>, Vec<&Bundle>) = bundles
                .into_iter()
                .filter(|bundle| self.runs_here(bundle))
                .partition(|bundle| bundle.deprecation.is_none());
            for bundle in fine.into_iter().chain(deprecated) {
                if !found.iter().any(|other| other.bundle.name == bundle.name) {
                    found.push(candidate(offering, channel, bundle));
                }
            }
        }
        found
    }

    /// The packages that bring a kind, the preferred one first: what is installed, what is from the
    /// catalog of the one who needs it, and what is from a catalog with a higher priority.
    pub(super) fn owners(
        &self,
        kind: &'a GroupVersionKind,
        needing: Candidate<'a>,
        selector: Selector<'a>,
    ) -> Vec<&'a str> {
        let catalog = needing.from.map(|(catalog, _)| catalog);
        let mut found: Vec<_> = self
            .index
            .owners(kind, selector)
            .map(|having| {
                let Offering {
                    catalog: own,
                    priority,
                    package,
                } = having.offering;
                let name = &*package.name;
                let there = self.installed.contains_key(name);
                (!there, catalog != Some(own), -i64::from(priority), name)
            })
            .collect();
        // What is installed may be in no catalog.
        for (name, installed) in &self.installed {
            let listed = found.iter().any(|(_, _, _, other)| other == name);
            if installed.bundle.owned.contains(kind) && !listed {
                found.push((false, true, 0, *name));
            }
        }
        found.sort_unstable();
        found.into_iter().map(|(_, _, _, name)| name).collect()
    }

    /// What a candidate needs. What something installed lacks already is nobody's fault now.
    pub(super) fn needs(&self, candidate: Candidate<'a>) -> Vec<Need<'a>> {
        let bundle = candidate.bundle;
        let packages = bundle.packages.iter().map(Need::Package);
        let kinds = bundle.required.iter().map(Need::Kind);
        let all = packages.chain(kinds).filter(|need| match need {
            Need::Package(_) => true,
            Need::Kind(kind) => !self.is_there(kind) && !bundle.owned.contains(kind),
        });
        match candidate.from {
            Some(_) => all.collect(),
            None => all.filter(|need| self.is_met_now(*need)).collect(),
        }
    }

    /// Whether the cluster has a kind that stays whatever happens here.
    fn is_there(&self, kind: &GroupVersionKind) -> bool {
        self.request.kinds.contains(kind) && !self.brought.contains(kind)
    }

    fn is_met_now(&self, need: Need<'_>) -> bool {
        match need {
            Need::Kind(kind) => self.brought.contains(kind),
            Need::Package(required) => {
                let installed = self.installed.get(&*required.package);
                installed.is_some_and(|found| required.range.contains(&found.bundle.version))
            }
        }
    }

    pub(super) fn runs_here(&self, bundle: &Bundle) -> bool {
        meets(self.request.server.as_ref(), bundle)
    }
}

/// Whether a server of this version is new enough.
pub(super) fn meets(server: Option<&Version>, bundle: &Bundle) -> bool {
    match (server, &bundle.min_server_version) {
        (Some(server), Some(least)) => server.cmp_precedence(least).is_ge(),
        _ => true,
    }
}

/// The default channel first, then by name. What is installed follows one channel only.
fn channels<'a>(
    offering: Offering<'a>,
    installed: Option<&&'a Installed>,
) -> impl Iterator<Item = &'a Channel> {
    let followed = installed.map(|installed| installed.channel.as_deref());
    let first = offering.channel(followed.flatten());
    let others = offering.package.channels.values().filter(move |other| {
        followed.is_none() && first.is_none_or(|first| first.name != other.name)
    });
    first.into_iter().chain(others)
}

pub(super) fn reached<'a>(walk: &Walk<'a>, installed: &Installed, reach: Reach) -> Vec<&'a Bundle> {
    let from = (&*installed.bundle.name, &installed.bundle.version);
    match reach {
        Reach::Way => walk.reachable(from),
        Reach::Step => walk.steps(from),
    }
}

pub(super) fn staying(installed: &Installed) -> Candidate<'_> {
    Candidate {
        package: &installed.package,
        bundle: &installed.bundle,
        from: None,
    }
}

pub(super) fn candidate<'a>(
    offering: Offering<'a>,
    channel: &'a Channel,
    bundle: &'a Bundle,
) -> Candidate<'a> {
    Candidate {
        package: &offering.package.name,
        bundle,
        from: Some((offering.catalog, &channel.name)),
    }
}
