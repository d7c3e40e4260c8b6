//! Landscapes change: items and nested installations come, change and go; data change; what failed is mended.

use landform_sim::Action;
use landform_sim::landscape::{Installation, Item};

use super::growth::step;
use super::tell::{a_while, apply, given, survives};

#[test]
fn e5_e6_i15_items_are_added_changed_and_removed_in_one_upgrade() {
    let before = Installation::new("a")
        .item(Item::new("stays", 1))
        .item(Item::new("changes", 2).after("stays"))
        .item(Item::new("goes", 3))
        .item(Item::new("goes-too", 4).after("goes"));
    let after = Installation::new("a")
        .item(Item::new("stays", 1))
        .item(Item::new("changes", 20).after("stays").after("comes"))
        .item(Item::new("comes", 5));
    let end = survives(&[apply(before), Action::Rest, apply(after)]);
    assert_eq!(end.phase("a"), "Succeeded");
    let expected = [("a.changes", 20), ("a.comes", 5), ("a.stays", 1)];
    assert_eq!(end.outside(), expected);
}

#[test]
fn e6_an_item_goes_only_after_those_that_depended_on_it_were_changed() {
    let before = Installation::new("a")
        .item(Item::new("goes", 1))
        .item(Item::new("stays", 2).after("goes"));
    let after = Installation::new("a").item(Item::new("stays", 3));
    let end = survives(&[apply(before), Action::Rest, apply(after)]);
    assert_eq!(end.outside(), [("a.stays", 3)]);
}

#[test]
fn i15_nested_installations_are_removed_and_added_in_one_upgrade() {
    let before = Installation::new("a")
        .import("x")
        .nest(step("goes", "x", "y", 1))
        .nest(step("stays", "y", "z", 2));
    let after = Installation::new("a")
        .import("x")
        .nest(step("comes", "x", "y", 10))
        .nest(step("stays", "y", "z", 20));
    let story = [given("x", 100), apply(before), Action::Rest, apply(after)];
    let end = survives(&story);
    assert_eq!(end.phase("a"), "Succeeded");
    let expected = [("a.comes.add", 110), ("a.stays.add", 130)];
    assert_eq!(end.outside(), expected);
    assert_eq!(end.count("installations"), 3);
}

#[test]
fn i15_an_upgrade_while_another_one_is_at_work_wins() {
    let before = Installation::new("a").item(Item::new("slow", 1).hangs());
    let after = Installation::new("a").item(Item::new("quick", 2));
    let end = survives(&[apply(before), a_while(), apply(after)]);
    assert_eq!(end.phase("a"), "Succeeded");
    assert_eq!(end.outside(), [("a.quick", 2)]);
}

#[test]
fn i13_i18_a_change_of_data_goes_through_a_chain() {
    let story = [
        given("w", 1),
        apply(step("a", "w", "x", 10)),
        apply(step("b", "x", "y", 100)),
        Action::Rest,
        given("w", 2),
    ];
    let end = survives(&story);
    assert_eq!(end.outside(), [("a.add", 12), ("b.add", 112)]);
    assert_eq!(end.phase("b"), "Succeeded");
}

#[test]
fn e8_i16_an_item_that_failed_is_mended() {
    let failing = Installation::new("a")
        .item(Item::new("one", 1).fails())
        .item(Item::new("two", 2).after("one"));
    let mended = Installation::new("a")
        .item(Item::new("one", 1))
        .item(Item::new("two", 2).after("one"));
    let end = survives(&[apply(failing.clone())]);
    assert_eq!(end.phase("a"), "Failed");
    assert!(
        end.error("a").contains("told to fail"),
        "{}",
        end.error("a")
    );
    let end = survives(&[apply(failing), Action::Rest, apply(mended)]);
    assert_eq!(end.phase("a"), "Succeeded");
    assert_eq!(end.error("a"), "");
}

#[test]
fn i41_a_blueprint_that_was_broken_is_mended() {
    let whole = step("a", "x", "y", 1);
    let story = [
        given("x", 1),
        apply(whole.clone()),
        Action::Rest,
        apply(whole.clone().broken()),
        Action::Rest,
        apply(whole),
    ];
    let end = survives(&story);
    assert_eq!(end.phase("a"), "Succeeded");
    assert_eq!(end.error("a"), "");
}
