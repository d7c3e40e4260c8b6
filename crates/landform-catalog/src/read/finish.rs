//! From a draft to a package: channels and bundles are tied together, and what doesn't fit is told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::assemble::Draft;
use super::digest;
use super::draft::{BundleDraft, Deprecation, EntryDraft, Membership, UpdateGraph};
use super::problem::Problems;
use super::semver_graph;
use crate::model::{Bundle, Channel, Entry, Package};

/// Makes the package; none when nothing of it is left.
pub(super) fn finish(name: &str, mut draft: Draft, problems: &mut Problems) -> Option<Package> {
    let bundles = unique(name, std::mem::take(&mut draft.bundles), problems);
    if bundles.is_empty() && draft.channels.is_empty() {
        // What was lost is reported already; a bare `olm.package` isn't.
        if let Some((_, place)) = draft.declared.first().filter(|_| draft.lost.is_empty()) {
            let reason = "the package has neither bundles nor channels: it is left out".to_owned();
            problems.error(place.as_str(), name, reason);
        }
        return None;
    }
    homes(name, &bundles, problems);
    let first_place = bundles.first().map(|found| found.place.clone());
    let first_place = first_place
        .or_else(|| draft.channels.first().map(|(_, place)| place.clone()))
        .unwrap_or_default();
    let mut channels = written_channels(name, &mut draft, problems);
    let memberships = split(bundles);
    said_channels(&memberships, draft.graph, &mut channels);
    let default_channel = default_channel(
        name,
        &draft,
        &memberships,
        &channels,
        &first_place,
        problems,
    );
    let bundles: Vec<Bundle> = memberships.into_iter().map(|(bundle, ..)| bundle).collect();
    let channels = tie(name, &bundles, channels, &draft, problems);
    in_no_channel(name, &bundles, &channels, &first_place, problems);
    let mut package = Package {
        name: name.into(),
        default_channel,
        channels,
        bundles,
        deprecation: None,
        digest: 0,
    };
    for deprecation in draft.deprecations {
        deprecate(&mut package, deprecation, problems);
    }
    package.digest = digest::of(&package);
    Some(package)
}

/// A bundle with its channels, when it says them, and its place.
type Member = (Bundle, Option<Membership>, String);

/// Bundles, each name once, from the lowest version to the highest.
fn unique(package: &str, drafts: Vec<BundleDraft>, problems: &mut Problems) -> Vec<BundleDraft> {
    let mut by_name: BTreeMap<Arc<str>, BundleDraft> = BTreeMap::new();
    for draft in drafts {
        match by_name.get(&draft.bundle.name) {
            Some(first) => {
                let reason = format!(
                    "bundle {} is also in {}: that one is taken, and this one is left out",
                    draft.bundle.name, first.place
                );
                problems.error(draft.place, package, reason);
            }
            None => {
                by_name.insert(draft.bundle.name.clone(), draft);
            }
        }
    }
    let mut bundles: Vec<BundleDraft> = by_name.into_values().collect();
    // Stable, so that equal versions stay sorted by name.
    bundles.sort_by(|a, b| a.bundle.version.cmp_precedence(&b.bundle.version));
    bundles
}

/// Bundle directories of a package lie beside each other; elsewhere they may be of somebody else.
fn homes(package: &str, bundles: &[BundleDraft], problems: &mut Problems) {
    let mut first: Option<(&str, &str)> = None;
    let mut told = BTreeSet::new();
    for draft in bundles {
        let Some(home) = draft
            .membership
            .as_ref()
            .and_then(|found| found.home.as_deref())
        else {
            continue;
        };
        match first {
            None => first = Some((home, &draft.place)),
            Some((other, place)) if other != home && told.insert(home) => {
                let reason = format!(
                    "bundles of package {package} are also in another directory ({place}): they are \
                     taken as one package; give it another name if it is another"
                );
                problems.warning(draft.place.as_str(), package, reason);
            }
            Some(_) => {}
        }
    }
    let formats: BTreeSet<bool> = bundles
        .iter()
        .map(|draft| draft.membership.is_some())
        .collect();
    if formats.len() > 1
        && let Some(draft) = bundles.iter().find(|draft| draft.membership.is_some())
    {
        let reason = format!(
            "package {package} is also in a file-based catalog: both are taken as one package; give one \
             of them another name if they are two"
        );
        problems.warning(draft.place.as_str(), package, reason);
    }
}

fn split(bundles: Vec<BundleDraft>) -> Vec<Member> {
    bundles
        .into_iter()
        .map(|draft| (draft.bundle, draft.membership, draft.place))
        .collect()
}

/// The channels of `olm.channel` documents; those of one name are joined.
fn written_channels(
    package: &str,
    draft: &mut Draft,
    problems: &mut Problems,
) -> BTreeMap<String, Vec<EntryDraft>> {
    let mut channels: BTreeMap<String, Vec<EntryDraft>> = BTreeMap::new();
    for (channel, place) in std::mem::take(&mut draft.channels) {
        let entries = channels.entry(channel.name.clone()).or_default();
        if channel.entries.is_empty() {
            let reason = format!(
                "channel {} has no entries: nobody gets anything by it",
                channel.name
            );
            problems.error(place, package, reason);
        }
        for entry in channel.entries {
            if let Some(first) = entries.iter().find(|found| found.name == entry.name) {
                let reason = format!(
                    "{} is in channel {} already ({}): this entry is left out",
                    entry.name, channel.name, first.place
                );
                problems.error(entry.place, package, reason);
            } else {
                entries.push(entry);
            }
        }
    }
    channels
}

/// Adds the channels that bundles say themselves.
fn said_channels(
    members: &[Member],
    graph: Option<UpdateGraph>,
    channels: &mut BTreeMap<String, Vec<EntryDraft>>,
) {
    let mut said: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, (_, membership, _)) in members.iter().enumerate() {
        for channel in membership.iter().flat_map(|found| &found.channels) {
            let numbers = said.entry(channel).or_default();
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
    }
    for (channel, numbers) in said {
        let mut made = Vec::new();
        for number in numbers {
            let (bundle, Some(membership), place) = &members[number] else {
                continue;
            };
            made.push((
                &bundle.version,
                EntryDraft {
                    name: bundle.name.to_string(),
                    edges: membership.edges.clone(),
                    place: place.clone(),
                },
            ));
        }
        semver_graph::apply(graph.unwrap_or(UpdateGraph::Replaces), &mut made);
        let entries = channels.entry(channel.to_owned()).or_default();
        for (_, entry) in made {
            if !entries.iter().any(|found| found.name == entry.name) {
                entries.push(entry);
            }
        }
    }
}

fn default_channel(
    package: &str,
    draft: &Draft,
    members: &[Member],
    channels: &BTreeMap<String, Vec<EntryDraft>>,
    place: &str,
    problems: &mut Problems,
) -> Option<Arc<str>> {
    // The highest version's word counts.
    let said = members.iter().rev().find_map(|(_, membership, place)| {
        let name = membership.as_ref()?.default_channel.as_ref()?;
        Some((name.as_str(), place.as_str()))
    });
    let declared = draft.declared.first();
    for (other, place) in draft.declared.iter().skip(1) {
        let reason = format!(
            "olm.package {package} is also in {}: its default channel counts, and {other:?} of this one \
             doesn't",
            declared.map_or("", |(_, place)| place)
        );
        if declared.is_some_and(|(first, _)| first != other) {
            problems.error(place.as_str(), package, reason);
        }
    }
    let from_documents = members.is_empty() || members.iter().any(|member| member.1.is_none());
    if declared.is_none() && from_documents {
        let reason =
            "there is no olm.package document: the package has no default channel unless it has \
                      only one"
                .to_owned();
        problems.error(place, package, reason);
    }
    let written = declared
        .map(|(name, place)| (name.as_str(), place.as_str()))
        .filter(|(name, _)| !name.is_empty());
    let only = || match channels.len() {
        1 => channels.keys().next().map(|name| name.as_str().into()),
        _ => None,
    };
    let Some((name, place)) = written.or(said) else {
        let only = only();
        if only.is_none() && !channels.is_empty() && (declared.is_some() || !from_documents) {
            let reason = format!(
                "no default channel is given, and there are several ({}): people have to name one",
                names(channels)
            );
            problems.warning(place, package, reason);
        }
        return only;
    };
    if channels.contains_key(name) {
        return Some(name.into());
    }
    let reason = match channels.len() {
        0 => format!("the default channel {name} doesn't exist: the package has no channels"),
        1 => format!(
            "the default channel {name} doesn't exist: {}, the only one, takes its place",
            names(channels)
        ),
        _ => format!(
            "the default channel {name} doesn't exist, only {}: people have to name one",
            names(channels)
        ),
    };
    problems.error(place, package, reason);
    only()
}

fn names(channels: &BTreeMap<String, Vec<EntryDraft>>) -> String {
    let names: Vec<&str> = channels.keys().map(String::as_str).collect();
    names.join(", ")
}

/// Gives entries the numbers of their bundles.
fn tie(
    package: &str,
    bundles: &[Bundle],
    channels: BTreeMap<String, Vec<EntryDraft>>,
    draft: &Draft,
    problems: &mut Problems,
) -> BTreeMap<Arc<str>, Channel> {
    let numbers: BTreeMap<&str, usize> = bundles
        .iter()
        .enumerate()
        .map(|(number, bundle)| (&*bundle.name, number))
        .collect();
    let tie = |(channel, entries): (String, Vec<EntryDraft>)| {
        let mut tied = Vec::with_capacity(entries.len());
        for entry in entries {
            let bundle = numbers.get(entry.name.as_str()).copied();
            if bundle.is_none() && !draft.lost.contains(&entry.name) {
                let reason = format!(
                    "channel {channel} names {}, and there is no such bundle: it can be replaced, but \
                     nobody gets it",
                    entry.name
                );
                problems.error(entry.place, package, reason);
            }
            tied.push(Entry {
                name: entry.name.into(),
                bundle,
                edges: entry.edges,
            });
        }
        let name: Arc<str> = channel.into();
        let channel = Channel {
            name: name.clone(),
            entries: tied,
            deprecation: None,
        };
        (name, channel)
    };
    channels.into_iter().map(tie).collect()
}

fn in_no_channel(
    package: &str,
    bundles: &[Bundle],
    channels: &BTreeMap<Arc<str>, Channel>,
    place: &str,
    problems: &mut Problems,
) {
    if channels.is_empty() {
        let reason = format!(
            "package {package} has no channel: its {} version(s) are listed, and nobody gets them by a \
             channel",
            bundles.len()
        );
        problems.error(place, package, reason);
        return;
    }
    let named: BTreeSet<usize> = channels
        .values()
        .flat_map(|channel| channel.entries.iter().filter_map(|entry| entry.bundle))
        .collect();
    for (number, bundle) in bundles.iter().enumerate() {
        if !named.contains(&number) {
            let reason = format!(
                "bundle {} is in no channel: it is listed, and nobody gets it by a channel",
                bundle.name
            );
            problems.warning(bundle.file.to_string(), package, reason);
        }
    }
}

fn deprecate(package: &mut Package, deprecation: Deprecation, problems: &mut Problems) {
    let Deprecation {
        schema,
        name,
        message,
        place,
    } = deprecation;
    let found = match schema.as_str() {
        "olm.package" => Some(&mut package.deprecation),
        "olm.channel" => package
            .channels
            .get_mut(name.as_str())
            .map(|channel| &mut channel.deprecation),
        _ => package
            .bundles
            .iter_mut()
            .find(|bundle| *bundle.name == *name)
            .map(|bundle| &mut bundle.deprecation),
    };
    match found {
        Some(slot) if slot.is_none() => *slot = Some(message),
        Some(_) => {
            let reason = format!("a second deprecation of {schema} {name}: it is left out");
            problems.error(place, &package.name, reason);
        }
        None => {
            let reason =
                format!("a deprecation of {schema} {name}, which isn't there: it is left out");
            problems.error(place, &package.name, reason);
        }
    }
}
