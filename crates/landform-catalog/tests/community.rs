//! A real public catalog: 7,714 bundles of 446 packages, with all that is odd in them.
//!
//! The counts are asserted, so that a change of meaning shows.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::sync::{Arc, LazyLock};

use landform_catalog::graph::{self, Obstacle, ProblemKind, Walk};
use landform_catalog::resolve::{FactKind, Request, Wanted, resolve};
use landform_catalog::{
    Bundle, CatalogInput, Channel, Content, Index, Package, Range, Replaces, facts,
};
use semver::Version;

static CONTENT: LazyLock<Arc<Content>> = LazyLock::new(|| {
    let (bundles, packages) = (text("community-catalog"), text("community-packages"));
    Arc::new(facts::content(&bundles, &packages).unwrap())
});

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    Index::new([CatalogInput {
        name: "community".into(),
        priority: 0,
        labels: BTreeMap::new(),
        only_by_name: false,
        content: CONTENT.clone(),
    }])
});

fn text(name: &str) -> String {
    let path = format!("{}/tests/data/{name}.jsonl.gz", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::open(path).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    text
}

fn channels() -> impl Iterator<Item = (&'static Package, &'static Channel)> {
    let packages = CONTENT.packages.values();
    packages.flat_map(|package| package.channels.values().map(move |it| (&**package, it)))
}

fn bundles(package: &'static Package, channel: &'static Channel) -> Vec<&'static Bundle> {
    let entries = channel.entries.iter();
    entries
        .map(|entry| &package.bundles[entry.bundle.unwrap()])
        .collect()
}

#[test]
fn everything_is_loaded_and_indexed() {
    assert_eq!(CONTENT.problems, []);
    assert_eq!(CONTENT.packages.len(), 446);
    assert_eq!(channels().count(), 704);
    let bundles = CONTENT
        .packages
        .values()
        .map(|package| package.bundles.len());
    assert_eq!(bundles.sum::<usize>(), 7_714);
    // A bundle is often in several channels.
    let entries = channels().map(|(_, channel)| channel.entries.len());
    assert_eq!(entries.sum::<usize>(), 9_583);
    assert_eq!(INDEX.packages().count(), 446);
    assert_eq!(INDEX.kinds().count(), 2_107);
    let defaults = CONTENT.packages.values();
    let without = defaults.filter(|package| package.channel(None).is_none());
    let without: Vec<_> = without.map(|package| &*package.name).collect();
    assert_eq!(without, [""; 0]);
}

#[test]
fn every_walk_from_the_oldest_to_the_head_ends_there_or_says_why_not() {
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut longest = 0;
    for (package, channel) in channels() {
        let oldest = bundles(package, channel).into_iter();
        let oldest = oldest
            .min_by(|one, other| one.version.cmp(&other.version))
            .unwrap();
        let head = graph::head(package, channel).unwrap();
        let found = graph::path(
            package,
            channel,
            (&oldest.name, &oldest.version),
            &head.version,
        );
        let outcome = match found {
            Ok(stops) => {
                assert_eq!(stops.first().unwrap().version, &oldest.version);
                assert_eq!(stops.last().unwrap().version, &head.version);
                assert!(stops.is_sorted_by(|one, other| one.version < other.version));
                longest = longest.max(stops.len());
                "there"
            }
            Err(error) => {
                assert!(!error.reason().is_empty() && !error.fix().is_empty());
                match error.obstacle {
                    Obstacle::Downgrade => "down",
                    Obstacle::NotInChannel => "not in the channel",
                    Obstacle::Skipped { .. } => "skipped",
                    Obstacle::Apart { reached: None, .. } => "nothing replaces the oldest",
                    Obstacle::Apart { .. } => "it ends before",
                }
            }
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    // All 14 have no edge at all at some version, in packages whose graph is as written.
    let expected = BTreeMap::from([
        ("it ends before", 5),
        ("nothing replaces the oldest", 9),
        ("there", 690),
    ]);
    assert_eq!(outcomes, expected);
    assert_eq!(longest, 237);
}

#[test]
fn no_walk_loops_or_goes_down() {
    for (package, channel) in channels() {
        let walk = Walk::new(package, channel);
        for bundle in bundles(package, channel) {
            let from = (&*bundle.name, &bundle.version);
            let mut here = bundle;
            let mut seen = BTreeSet::new();
            // Always the best step, as an automatic upgrade does.
            loop {
                assert!(seen.insert(&*here.name), "{} is passed twice", here.name);
                let steps = walk.steps((&here.name, &here.version));
                let up = |to: &&Bundle| to.version.cmp_precedence(&here.version).is_gt();
                assert!(steps.iter().all(up), "{}", here.name);
                let Some(next) = steps.first() else { break };
                here = next;
            }
            let up = |to: &&Bundle| to.version.cmp_precedence(from.1).is_gt();
            assert!(walk.reachable(from).iter().all(up));
        }
    }
}

/// The issue speaks of 18,900 edges. That is the number without the ranges of packages whose graph is
/// made from versions. We count those too, since that is where the ranges are that match themselves.
#[test]
fn upgrade_edges_are_counted() {
    let (mut taken, mut written, mut without_ranges) = (0, 0, 0);
    let by_versions: BTreeSet<String> = text("community-packages")
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|line| {
            line["updateGraph"]
                .as_str()
                .is_some_and(|mode| mode.starts_with("semver"))
        })
        .map(|line| line["package"].as_str().unwrap().to_owned())
        .collect();
    for (package, channel) in channels() {
        taken += Walk::new(package, channel).edges().count();
        for to in &channel.entries {
            let version = |place: Option<usize>| &package.bundles[place.unwrap()].version;
            let mut edges = to.edges.clone();
            let leads = |edges: &landform_catalog::Edges, from: &landform_catalog::Entry| {
                edges.lead(
                    (&from.name, version(from.bundle)),
                    (&to.name, version(to.bundle)),
                )
            };
            written += channel
                .entries
                .iter()
                .filter(|from| leads(&edges, from))
                .count();
            if by_versions.contains(&*package.name) {
                edges.skip_range = None;
            }
            without_ranges += channel
                .entries
                .iter()
                .filter(|from| leads(&edges, from))
                .count();
        }
    }
    assert_eq!(without_ranges, 18_924);
    assert_eq!(written, 20_637);
    // 123 of them lead to a bundle that a higher one skips.
    assert_eq!(taken, 20_514);
}

#[test]
fn problems_are_found_and_say_what_follows() {
    let mut counts: BTreeMap<ProblemKind, usize> = BTreeMap::new();
    for package in CONTENT.packages.values() {
        for problem in graph::problems(package) {
            assert!(problem.message.contains(':'), "{problem}");
            *counts.entry(problem.kind).or_default() += 1;
        }
    }
    let expected = BTreeMap::from([
        (ProblemKind::SeveralHeads, 14),
        (ProblemKind::StaleRange, 88),
        (ProblemKind::UnboundedRange, 19),
        (ProblemKind::Unreachable, 43),
    ]);
    assert_eq!(counts, expected);
}

#[test]
fn nineteen_ranges_match_their_own_bundle_and_lead_nowhere_new() {
    let mut found = BTreeSet::new();
    for (package, channel) in channels() {
        for entry in &channel.entries {
            let bundle = &package.bundles[entry.bundle.unwrap()];
            let range = entry.edges.skip_range.as_ref();
            if range.is_some_and(|range| range.contains(&bundle.version)) {
                let own = (&*bundle.name, &bundle.version);
                assert!(!entry.edges.lead(own, own));
                assert!(
                    !matches!(&entry.edges.replaces, Some(Replaces::Name(it)) if *it == bundle.name)
                );
                found.insert((&*package.name, &*bundle.name));
            }
        }
    }
    assert_eq!(found.len(), 19);
    let packages: BTreeSet<_> = found.into_iter().map(|(package, _)| package).collect();
    assert_eq!(
        packages.into_iter().collect::<Vec<_>>(),
        ["fence-agents-remediation", "node-maintenance-operator"]
    );
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// The preferred candidate, and nothing else.
    Alone,
    /// The preferred candidates, with what they need.
    WithNeeds,
    /// By the solver.
    Solved,
    /// There is no answer, because of a fact of this kind.
    Refused(FactKind),
}

fn outcome(request: &Request) -> Outcome {
    match resolve(&INDEX, request) {
        Ok(found) if found.solved => Outcome::Solved,
        Ok(found) if found.chosen.len() > 1 => Outcome::WithNeeds,
        Ok(_) => Outcome::Alone,
        Err(conflict) => {
            assert!(!conflict.fixes.is_empty(), "{conflict}");
            let kinds = conflict.facts.iter().map(|fact| fact.kind);
            let telling = kinds.filter(|kind| *kind < FactKind::Supply).max();
            Outcome::Refused(telling.unwrap())
        }
    }
}

fn wanting(package: &Arc<str>, channel: Option<&Arc<str>>, range: Option<Range>) -> Request {
    Request {
        wanted: vec![Wanted {
            package: package.clone(),
            channel: channel.cloned(),
            range,
            ..Wanted::default()
        }],
        server: Some(Version::new(1, 34, 0)),
        ..Request::default()
    }
}

#[test]
fn every_package_can_be_resolved() {
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    for package in INDEX.packages() {
        *counts
            .entry(outcome(&wanting(package, None, None)))
            .or_default() += 1;
    }
    let expected = BTreeMap::from([(Outcome::Alone, 434), (Outcome::WithNeeds, 12)]);
    assert_eq!(counts, expected);
}

#[test]
fn every_entry_can_be_resolved_or_says_why_not() {
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    for (package, channel) in channels() {
        for bundle in bundles(package, channel) {
            let range = Some(Range::exactly(&bundle.version));
            let request = wanting(&package.name, Some(&channel.name), range);
            *counts.entry(outcome(&request)).or_default() += 1;
        }
    }
    // 50 are skipped by a higher one, so nobody goes there.
    let expected = BTreeMap::from([
        (Outcome::Alone, 9_416),
        (Outcome::WithNeeds, 117),
        (Outcome::Refused(FactKind::Range), 50),
    ]);
    assert_eq!(counts, expected);
}
