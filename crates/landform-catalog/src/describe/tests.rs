//! Answers about the fixtures.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::{Question, answer, explain, list, path, problems, show};
use crate::index::{CatalogInput, Index};
use crate::read;

/// The fixtures as catalogs, each by its name and priority.
pub(super) fn index(catalogs: &[(&str, i32)]) -> Index {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    Index::new(catalogs.iter().map(|(name, priority)| CatalogInput {
        name: (*name).into(),
        priority: *priority,
        labels: BTreeMap::new(),
        only_by_name: false,
        content: Arc::new(read::from_path(&data.join(name)).unwrap()),
    }))
}

pub(super) fn all() -> Index {
    index(&[("fbc", 0), ("bundles", 0), ("own", 0)])
}

fn question(package: &str, channel: &str, from: &str, to: &str) -> Question {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Question {
        package: package.to_owned(),
        channel: given(channel),
        from: given(from),
        to: given(to),
    }
}

#[test]
fn packages_are_listed_by_name_and_by_kind() {
    let index = all();
    let lines = |filter| {
        let lines = list(&index, filter).packages.into_iter();
        let line = lines.map(|line| {
            let channel = line.default_channel.unwrap_or_default();
            let head = line.head.unwrap_or_default();
            format!("{} {channel} {head} {}", line.name, line.versions)
        });
        line.collect::<Vec<_>>()
    };
    assert_eq!(
        lines(None),
        [
            "anchor stable 1.1.0 2",
            "beacon stable 1.1.0 3",
            "lantern stable 0.3.0 3",
            "tidewater stable 1.2.0 6"
        ]
    );
    assert_eq!(lines(Some("LAMP")), ["lantern stable 0.3.0 3"]);
    assert_eq!(lines(Some("tide")), ["tidewater stable 1.2.0 6"]);
    assert!(lines(Some("nothing")).is_empty());
}

#[test]
fn a_tie_is_listed_as_such() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/own");
    let content = Arc::new(read::from_path(&data).unwrap());
    let index = Index::new(["one", "two"].map(|name| CatalogInput {
        name: name.into(),
        priority: 1,
        labels: BTreeMap::new(),
        only_by_name: false,
        content: content.clone(),
    }));
    let line = &list(&index, None).packages[0];
    assert!(
        line.blocked.as_deref().unwrap().contains("one and two"),
        "{line:?}"
    );
    assert!(
        show(&index, "beacon")
            .unwrap_err()
            .error
            .contains("one and two")
    );
    assert!(problems(&index).problems[0].reason.contains("one and two"));
}

#[test]
fn a_package_is_shown_with_channels_and_versions() {
    let index = all();
    let shown = show(&index, "tidewater").unwrap();
    assert_eq!(shown.default_channel.as_deref(), Some("stable"));
    let heads: Vec<_> = shown
        .channels
        .iter()
        .map(|found| found.head.clone().unwrap())
        .collect();
    assert_eq!(heads, ["1.0.0", "2.0.0", "1.2.0"]);
    assert_eq!(shown.versions[0].packages, ["anchor >=1.1.0 <2.0.0"]);
    assert_eq!(shown.versions[0].required, ["Anchor.anchor.example.org/v1"]);
    assert!(
        shown.versions[0]
            .not_installable
            .as_deref()
            .unwrap()
            .contains("image")
    );
    let beacon = show(&index, "beacon").unwrap();
    assert!(beacon.versions[0].installable);
    assert_eq!(
        beacon.channels[0].entries[1].replaces.as_deref(),
        Some("<1.1.0")
    );
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let index = all();
    let error = show(&index, "latern").unwrap_err();
    assert!(
        error.absent && error.error.contains("Did you mean lantern?"),
        "{error}"
    );
    let error = path(&index, &question("lantern", "stabel", "0.1.0", "0.3.0")).unwrap_err();
    assert!(error.error.contains("Did you mean stable?"), "{error}");
    let error = path(&index, &question("lantern", "beta", "0.1.0", "0.4.0")).unwrap_err();
    assert!(
        error
            .error
            .contains("has no version \"0.4.0\" in the channel beta"),
        "{error}"
    );
    assert!(error.error.contains("0.3.0, 0.2.0, 0.1.0"), "{error}");
    let error = path(&index, &question("lantern", "", "", "")).unwrap_err();
    assert!(error.error.contains("--from"), "{error}");
}

#[test]
fn ways_are_found_by_versions_and_names() {
    let index = all();
    let way = |channel: &str, from: &str, to: &str| {
        let found = path(&index, &question("tidewater", channel, from, to))
            .unwrap()
            .path;
        found
            .into_iter()
            .map(|stop| stop.version)
            .collect::<Vec<_>>()
    };
    assert_eq!(way("stable", "1.0.0", "1.2.0"), ["1.0.0", "1.1.0", "1.2.0"]);
    assert_eq!(way("", "v1.0.0", ""), ["1.0.0", "1.1.0", "1.2.0"]);
    assert_eq!(
        way("candidate", "tidewater.v1.1.0", "tidewater.v2.0.0"),
        ["1.1.0", "2.0.0"]
    );
    // One that the catalog doesn't have, but a range knows.
    assert_eq!(way("candidate", "1.1.5", "2.0.0"), ["1.1.5", "2.0.0"]);
    let error = path(&index, &question("tidewater", "stable", "1.2.0", "1.0.0")).unwrap_err();
    assert!(error.error.contains("no way goes down"), "{error}");
    let error = path(
        &index,
        &question("tidewater", "candidate", "1.0.0", "2.0.0"),
    )
    .unwrap_err();
    assert!(
        error.error.contains("there is no way from 1.0.0 to 2.0.0"),
        "{error}"
    );
    assert!(!error.fixes.is_empty());
}

#[test]
fn the_view_answers_the_same() {
    let index = all();
    let query = |pairs: &[(&str, &str)]| {
        let pairs = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        pairs.collect::<Vec<_>>()
    };
    let found = answer(&index, "/", &query(&[("filter", "anchor")])).unwrap();
    assert_eq!(found["packages"][0]["head"], "1.1.0");
    let found = answer(&index, "/packages/tidewater", &[]).unwrap();
    assert_eq!(found["defaultChannel"], "stable");
    let asked = query(&[("channel", "alpha"), ("from", "0.9.0"), ("to", "1.0.0")]);
    assert_eq!(
        answer(&index, "packages/tidewater/path", &asked).unwrap(),
        json!({"path": [
            {"version": "0.9.0", "name": "tidewater.v0.9.0"},
            {"version": "1.0.0", "name": "tidewater.v1.0.0"},
        ]})
    );
    assert_eq!(answer(&index, "/problems", &[]).unwrap()["errors"], 0);
    assert!(answer(&index, "/packages/none", &[]).unwrap_err().absent);
    assert!(answer(&index, "/elsewhere", &[]).unwrap_err().absent);
}

#[test]
fn what_comes_along_is_explained() {
    let index = all();
    let found = explain(
        &index,
        &question("tidewater", "candidate", "1.2.0", "2.0.0"),
    )
    .unwrap();
    assert!(found.possible, "{found:?}");
    let chosen: Vec<_> = found
        .chosen
        .iter()
        .map(|one| format!("{} {} {}", one.package, one.version, one.because))
        .collect();
    assert_eq!(
        chosen,
        [
            "tidewater 2.0.0 wanted",
            "anchor 1.1.0 needed by tidewater.v2.0.0"
        ]
    );
    let way: Vec<_> = found
        .path
        .iter()
        .map(|stop| stop.version.as_str())
        .collect();
    assert_eq!(way, ["1.2.0", "2.0.0"]);
    assert!(found.notes.iter().any(|note| note.contains("in the image")));
}

#[test]
fn a_conflict_is_an_answer() {
    let index = index(&[("own", 0)]);
    let found = explain(&index, &Question::of("beacon")).unwrap();
    assert!(!found.possible && found.chosen.is_empty());
    let facts = found.facts.join("\n");
    assert!(facts.contains("lantern"), "{facts}");
    assert!(!found.fixes.is_empty());
    // Nothing leads down.
    let found = explain(&all(), &question("tidewater", "stable", "1.2.0", "1.1.0")).unwrap();
    assert!(!found.possible, "{found:?}");
    let refused = explain(&all(), &question("tidewater", "stable", "", "9.9.9")).unwrap_err();
    assert!(refused.absent, "{refused}");
}
