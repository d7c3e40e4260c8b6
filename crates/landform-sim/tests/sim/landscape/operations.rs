//! What annotations ask for: reconcile, force-reconcile, abort, interrupt.

use landform_sim::Action;
use landform_sim::landscape::{Installation, Item};

use super::growth::step;
use super::tell::{a_while, apply, ask, given, survives};

#[test]
fn i4_i13_a_reconcile_of_what_is_up_to_date_changes_nothing() {
    let story = [
        given("x", 1),
        apply(step("a", "x", "y", 1)),
        apply(step("b", "y", "z", 1)),
        Action::Rest,
        ask("a", "reconcile"),
    ];
    let end = survives(&story);
    assert_eq!(end.phase("b"), "Succeeded");
}

#[test]
fn i20_i21_a_forced_installation_is_made_again_down_to_its_items() {
    let nested = Installation::new("a")
        .import("x")
        .nest(step("inner", "x", "y", 1))
        .item(Item::new("own", 5).take("x"));
    let story = [
        given("x", 1),
        apply(nested),
        Action::Rest,
        ask("a", "force-reconcile"),
    ];
    let end = survives(&story);
    assert_eq!(end.phase("a"), "Succeeded");
    assert_eq!(end.phase("a.inner"), "Succeeded");
}

#[test]
fn i20_force_does_not_wait_for_the_phase_of_a_dependency() {
    let story = [
        given("x", 1),
        apply(step("a", "x", "y", 1)),
        apply(step("b", "y", "z", 1)),
        Action::Rest,
        apply(Installation {
            items: vec![Item::new("add", 1).take("x").fails()],
            ..step("a", "x", "y", 1)
        }),
        Action::Rest,
        apply(step("b", "y", "z", 5)),
        Action::Rest,
        ask("b", "force-reconcile"),
    ];
    let end = survives(&story);
    assert_eq!(end.phase("a"), "Failed");
    assert_eq!(end.outside(), [("a.add", 2), ("b.add", 7)]);
}

#[test]
fn i4_i12_an_abort_stops_what_hangs_and_nothing_is_written_after_it() {
    let nested = Installation::new("inner").item(Item::new("slow", 1).hangs());
    let outer = Installation::new("a")
        .nest(nested)
        .item(Item::new("own", 2).hangs());
    let end = survives(&[apply(outer), a_while(), ask("a", "abort")]);
    assert_eq!(end.phase("a"), "Aborted");
    assert_eq!(end.phase("a.inner"), "Aborted");
}

#[test]
fn i4_an_interrupt_fails_what_hangs_and_nothing_is_written_after_it() {
    let nested = Installation::new("inner").item(Item::new("slow", 1).hangs());
    let outer = Installation::new("a")
        .nest(nested)
        .item(Item::new("own", 2).hangs())
        .item(Item::new("later", 3).after("own"));
    let end = survives(&[apply(outer), a_while(), ask("a", "interrupt")]);
    for name in ["a", "a.inner"] {
        assert_eq!(end.phase(name), "Failed");
        assert!(end.error(name).contains("interrupted"), "{name}");
    }
    assert_eq!(end.outside(), [("a.inner.slow", 1), ("a.own", 2)]);
}

#[test]
fn i12_i21_what_was_aborted_starts_again_by_force() {
    let slow = Installation::new("a").item(Item::new("one", 1).hangs());
    let quick = Installation::new("a").item(Item::new("one", 2));
    let story = [
        apply(slow.clone()),
        a_while(),
        ask("a", "abort"),
        a_while(),
        ask("a", "force-reconcile"),
        a_while(),
        ask("a", "abort"),
        a_while(),
        apply(quick),
    ];
    let end = survives(&story);
    assert_eq!(end.phase("a"), "Succeeded");
    assert_eq!(end.outside(), [("a.one", 2)]);
}
