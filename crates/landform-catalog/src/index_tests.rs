//! Priorities, selectors, kinds, and what a changed catalog costs.

use super::*;
use crate::testing::{catalog, content, kind};

fn labelled(mut input: CatalogInput, key: &str, value: &str) -> CatalogInput {
    input.labels.insert(key.to_owned(), value.to_owned());
    input
}

fn by_name(names: &[&str]) -> CatalogSelector {
    CatalogSelector {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        match_labels: BTreeMap::new(),
    }
}

fn names(changed: &BTreeSet<Arc<str>>) -> Vec<&str> {
    changed.iter().map(|name| &**name).collect()
}

#[test]
fn the_highest_priority_wins_and_a_tie_names_both() {
    let index = Index::new([
        catalog("low", 1, content([("foo", "a 1.0.0"), ("bar", "a 1.0.0")])),
        catalog("high", 2, content([("foo", "a 2.0.0"), ("baz", "a 1.0.0")])),
        catalog("other", 2, content([("baz", "a 3.0.0")])),
    ]);
    assert_eq!(&**index.offering("foo", None).unwrap().catalog, "high");
    assert_eq!(&**index.offering("bar", None).unwrap().catalog, "low");
    let error = index.offering("baz", None).unwrap_err().to_string();
    assert_eq!(
        error,
        "the catalogs high and other all offer baz with priority 2, so none of them wins"
    );
    assert_eq!(index.ties().count(), 1);
    let error = index.offering("qux", None).unwrap_err();
    assert_eq!(error.to_string(), "no catalog that counts offers qux");
}

#[test]
fn selectors_by_name_and_label_choose_among_the_same_index() {
    let index = Index::new([
        labelled(
            catalog("low", 1, content([("foo", "a 1.0.0")])),
            "team",
            "red",
        ),
        labelled(
            catalog("high", 2, content([("foo", "a 2.0.0")])),
            "team",
            "blue",
        ),
        catalog("also", 2, content([("foo", "a 3.0.0")])),
    ]);
    assert!(index.offering("foo", None).is_err());
    let chosen = |selector: &CatalogSelector| {
        let offering = index.offering("foo", Some(selector));
        offering.map(|found| found.catalog.to_string())
    };
    assert_eq!(chosen(&by_name(&["high", "low"])).unwrap(), "high");
    assert_eq!(chosen(&by_name(&["low"])).unwrap(), "low");
    assert!(chosen(&by_name(&["none"])).is_err());
    let red = CatalogSelector {
        match_labels: BTreeMap::from([("team".to_owned(), "red".to_owned())]),
        ..CatalogSelector::default()
    };
    assert_eq!(chosen(&red).unwrap(), "low");
    let both = CatalogSelector {
        names: vec!["high".to_owned()],
        ..red
    };
    assert!(chosen(&both).is_err());
    assert!(chosen(&CatalogSelector::default()).is_err());
}

#[test]
fn kinds_lead_to_the_bundles_that_bring_or_need_them() {
    let index = Index::new([
        catalog(
            "main",
            1,
            content([
                (
                    "foo",
                    "a 1.0.0 owns=g/Foo/v1\na 2.0.0 owns=g/Foo/v1,g/Foo/v2",
                ),
                ("bar", "a 1.0.0 owns=g/Foo/v1\na 1.1.0 needs=g/Foo/v2"),
            ]),
        ),
        catalog("worse", 0, content([("foo", "a 9.0.0 owns=g/Foo/v1")])),
    ]);
    let found = |having: &mut dyn Iterator<Item = Having<'_>>| -> Vec<String> {
        having
            .flat_map(|having| {
                having
                    .bundles()
                    .map(|bundle| bundle.name.to_string())
                    .collect::<Vec<_>>()
            })
            .collect()
    };
    let (one, two) = (kind("g/Foo/v1"), kind("g/Foo/v2"));
    assert_eq!(
        found(&mut index.owners(&one, None)),
        ["bar.v1.0.0", "foo.v1.0.0", "foo.v2.0.0"]
    );
    let worse = by_name(&["worse"]);
    assert_eq!(found(&mut index.owners(&one, Some(&worse))), ["foo.v9.0.0"]);
    assert_eq!(found(&mut index.owners(&two, None)), ["foo.v2.0.0"]);
    assert_eq!(found(&mut index.requirers(&two, None)), ["bar.v1.1.0"]);
    assert_eq!(index.kinds().count(), 2);
}

#[test]
fn a_changed_catalog_says_which_packages_changed() {
    let before = content([
        ("foo", "a 1.0.0 owns=g/Foo/v1"),
        ("bar", "a 1.0.0 owns=g/Bar/v1"),
        ("gone", "a 1.0.0 owns=g/Gone/v1"),
    ]);
    let mut index = Index::new([catalog("main", 1, before.clone())]);
    assert!(index.replace("main", before).is_empty());
    let after = content([
        ("foo", "a 1.0.0 owns=g/Foo/v1\na 1.1.0 owns=g/Foo/v2"),
        ("bar", "a 1.0.0 owns=g/Bar/v1"),
        ("fresh", "a 1.0.0"),
    ]);
    let changed = index.replace("main", after.clone());
    assert_eq!(names(&changed), ["foo", "fresh", "gone"]);
    assert_eq!(index.owners(&kind("g/Gone/v1"), None).count(), 0);
    assert_eq!(index.owners(&kind("g/Foo/v2"), None).count(), 1);
    // What didn't change is now that of the new content.
    let bar = index.offering("bar", None).unwrap().package;
    assert!(Arc::ptr_eq(bar, &after.packages["bar"]));
    assert!(index.replace("unknown", after).is_empty());
}

#[test]
fn a_catalog_comes_goes_and_changes_its_priority() {
    let mut index = Index::new([catalog("one", 1, content([("foo", "a 1.0.0")]))]);
    let two = content([("foo", "a 2.0.0"), ("bar", "a 1.0.0")]);
    assert_eq!(
        names(&index.insert(catalog("two", 1, two.clone()))),
        ["bar", "foo"]
    );
    assert!(index.offering("foo", None).is_err());
    assert_eq!(
        names(&index.insert(catalog("two", 5, two.clone()))),
        ["bar", "foo"]
    );
    assert_eq!(&**index.offering("foo", None).unwrap().catalog, "two");
    assert!(index.insert(catalog("two", 5, two)).is_empty());
    assert_eq!(names(&index.remove("two")), ["bar", "foo"]);
    assert_eq!(&**index.offering("foo", None).unwrap().catalog, "one");
    assert_eq!(index.packages().count(), 1);
    assert_eq!(index.catalogs().count(), 1);
}

#[test]
fn c6_a_catalog_that_counts_only_by_name_is_used_by_those_who_name_it() {
    let mut theirs = catalog("theirs", 100, content([("notes", "a 1.0.0")]));
    theirs.only_by_name = true;
    let index = Index::new([theirs]);
    assert!(index.offering("notes", None).is_err());
    assert!(index.offering("notes", Some(&by_name(&[]))).is_err());
    assert!(index.offering("notes", Some(&by_name(&["other"]))).is_err());
    assert!(index.offering("notes", Some(&by_name(&["theirs"]))).is_ok());
}
