//! Landscapes come to be: alone, in a chain, as a diamond, nested.

use landform_sim::landscape::{Installation, Item};

use super::tell::{apply, given, survives};

/// Imports one thing and exports another one, which is larger by its own value.
pub(super) fn step(name: &str, from: &str, to: &str, value: u64) -> Installation {
    let item = Item::new("add", value).take(from);
    Installation::new(name)
        .import(from)
        .item(item)
        .export(to, "add")
}

#[test]
fn i2_i15_i17_a_single_installation_succeeds_wherever_it_is_interrupted() {
    let story = [given("x", 1), apply(step("a", "x", "y", 10))];
    let end = survives(&story);
    assert_eq!(end.phase("a"), "Succeeded");
    assert_eq!(end.outside(), [("a.add", 11)]);
    assert_eq!((end.count("executions"), end.count("deployitems")), (1, 1));
}

#[test]
fn e7_e8_deploy_items_follow_each_other_wherever_they_are_interrupted() {
    let items = [
        Item::new("one", 1),
        Item::new("two", 2).after("one"),
        Item::new("three", 3).after("one"),
        Item::new("four", 4).after("two").after("three"),
    ];
    let installation = items
        .into_iter()
        .fold(Installation::new("a"), Installation::item);
    let end = survives(&[apply(installation)]);
    assert_eq!(end.phase("a"), "Succeeded");
    assert_eq!(end.outside().len(), 4);
}

#[test]
fn i14_i18_a_chain_of_three_passes_its_values_on() {
    // The last comes first: it waits.
    let story = [
        apply(step("c", "y", "z", 100)),
        apply(step("b", "x", "y", 10)),
        apply(step("a", "w", "x", 1)),
        given("w", 1000),
    ];
    let end = survives(&story);
    assert_eq!(end.phase("c"), "Succeeded");
    let expected = [("a.add", 1001), ("b.add", 1011), ("c.add", 1111)];
    assert_eq!(end.outside(), expected);
}

#[test]
fn i14_i18_the_end_of_a_diamond_waits_for_both_sides() {
    let both = Item::new("add", 1000).take("left").take("right");
    let bottom = Installation::new("d")
        .import("left")
        .import("right")
        .item(both);
    let story = [
        given("w", 1),
        apply(bottom),
        apply(step("a", "w", "x", 10)),
        apply(step("b", "x", "left", 100)),
        apply(step("c", "x", "right", 200)),
    ];
    let end = survives(&story);
    let expected = [
        ("a.add", 11),
        ("b.add", 111),
        ("c.add", 211),
        ("d.add", 1322),
    ];
    assert_eq!(end.outside(), expected);
}

#[test]
fn i10_i14b_i17_i40_exports_come_up_from_three_levels() {
    let inner = step("inner", "x", "deep", 10);
    let middle = Installation::new("middle")
        .import("x")
        .nest(inner)
        .item(Item::new("own", 1))
        .pass_up("half", "deep");
    let beside = step("beside", "half", "whole", 100);
    let outer = Installation::new("outer")
        .import("x")
        .nest(middle)
        .nest(beside)
        .pass_up("y", "whole");
    let story = [
        given("x", 1000),
        apply(outer),
        apply(step("next", "y", "z", 5)),
    ];
    let end = survives(&story);
    assert_eq!(end.phase("outer.middle.inner"), "Succeeded");
    assert_eq!(end.phase("next"), "Succeeded");
    let expected = [
        ("next.add", 1115),
        ("outer.beside.add", 1110),
        ("outer.middle.inner.add", 1010),
        ("outer.middle.own", 1),
    ];
    assert_eq!(end.outside(), expected);
}
