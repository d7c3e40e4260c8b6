//! Troubles × ways out: whatever is broken in a landscape, it ends well when it is corrected, retried, forced or deleted,
//! and says what is wrong until then.
//!
//! The oracles of the world hold all the while: no false Succeeded, no flapping, values at the items.

use landform_sim::Action;
use landform_sim::landscape::{Installation, Item};

use super::growth::step;
use super::tell::{
    End, a_while, apply, ask, ask_of_marked, delete, delete_in_background, given, let_stay,
    survives, survives_in_long_version,
};

/// Something that is wrong with the installation `a`, which imports `x`.
struct Trouble {
    what: &'static str,
    broken: fn() -> Installation,
    /// What a person reads: in which phase it is, and what the error names.
    phase: &'static str,
    names: &'static str,
}

/// Two nested installations, of which the second imports from the first, and items of its own.
fn sound() -> Installation {
    Installation::new("a")
        .import("x")
        .item(Item::new("own", 1).take("x"))
        .nest(step("first", "x", "y", 10))
        .nest(step("second", "y", "z", 100))
        .pass_up("result", "z")
}

fn with_first(first: Installation) -> Installation {
    let mut all = sound();
    all.nested[0] = first;
    all
}

fn first_with(item: Item) -> Installation {
    Installation::new("first")
        .import("x")
        .item(item)
        .export("y", "add")
}

const TROUBLES: &[Trouble] = &[
    Trouble {
        what: "an item of its own fails",
        broken: || {
            let mut all = sound();
            all.items = vec![Item::new("own", 1).take("x").fails()];
            all
        },
        phase: "Failed",
        names: "own",
    },
    Trouble {
        what: "an item of its own hangs until its time is over",
        broken: || {
            let mut all = sound();
            all.items = vec![Item::new("own", 1).take("x").hangs()];
            all
        },
        phase: "Failed",
        names: "own",
    },
    Trouble {
        what: "an item fails on which a sibling of its installation depends",
        broken: || with_first(first_with(Item::new("add", 10).take("x").fails())),
        phase: "Failed",
        names: "first",
    },
    Trouble {
        what: "nested installations import from each other",
        broken: || {
            let mut all = sound();
            all.nested[0] = step("first", "z", "y", 10);
            all
        },
        phase: "Failed",
        names: "first",
    },
    Trouble {
        what: "a nested installation imports what it exports",
        broken: || with_first(step("first", "y", "y", 10)),
        phase: "Failed",
        names: "first",
    },
    Trouble {
        what: "nested installations export the same",
        broken: || sound().nest(step("third", "x", "y", 1)),
        phase: "Failed",
        names: "third",
    },
    Trouble {
        what: "a nested installation imports what nobody gives it",
        broken: || with_first(step("first", "nothing", "y", 10)),
        phase: "Failed",
        names: "first",
    },
    Trouble {
        what: "the blueprint can't be rendered",
        broken: || sound().broken(),
        phase: "Failed",
        names: "nonsense",
    },
    Trouble {
        what: "a nested blueprint can't be rendered",
        broken: || with_first(step("first", "x", "y", 10).broken()),
        phase: "Failed",
        names: "first",
    },
    Trouble {
        what: "an import doesn't exist",
        broken: || {
            let mut all = sound();
            all.imports.push("nothing".into());
            all
        },
        phase: "PendingDependencies",
        names: "nothing",
    },
];

fn sound_end(what: &str, end: &End) {
    assert_eq!(end.phase("a"), "Succeeded", "{what}");
    let expected = [("a.first.add", 11), ("a.own", 2), ("a.second.add", 111)];
    assert_eq!(end.outside(), expected, "{what}");
}

/// From nothing, and from something that was sound.
fn broken(trouble: &Trouble, was_sound: bool) -> Vec<Action> {
    let mut story = vec![given("x", 1)];
    if was_sound {
        story.extend([apply(sound()), Action::Rest]);
    }
    story.extend([apply((trouble.broken)()), Action::Rest]);
    story
}

/// All troubles, or those alone that the variable `LANDFORM_SIM_TROUBLE` names a part of.
fn troubles() -> impl Iterator<Item = &'static Trouble> {
    let only = std::env::var("LANDFORM_SIM_TROUBLE").unwrap_or_default();
    TROUBLES
        .iter()
        .filter(move |trouble| trouble.what.contains(&only))
}

fn ends_well(way: &str, out: &[Action], well: fn(&str, &End)) {
    for trouble in troubles() {
        for was_sound in [false, true] {
            let mut story = broken(trouble, was_sound);
            story.extend(out.iter().cloned());
            let what = format!("{}, {way}, sound before: {was_sound}", trouble.what);
            well(&what, &survives_in_long_version(&story));
        }
    }
}

#[test]
fn i11b_i16_what_is_wrong_can_be_read_at_the_root() {
    for trouble in troubles() {
        for was_sound in [false, true] {
            let end = survives_in_long_version(&broken(trouble, was_sound));
            let what = format!("{}, sound before: {was_sound}", trouble.what);
            assert_eq!(end.phase("a"), trouble.phase, "{what}: {}", end.error("a"));
            let error = end.error("a");
            assert!(error.contains(trouble.names), "{what}: {error}");
        }
    }
}

#[test]
fn i11b_i13_what_is_corrected_ends_well() {
    ends_well("corrected", &[apply(sound())], sound_end);
}

#[test]
fn i16b_i20_what_is_corrected_and_asked_for_ends_well() {
    for operation in ["reconcile", "force-reconcile"] {
        let out = [apply(sound()), ask("a", operation)];
        ends_well(operation, &out, sound_end);
    }
}

#[test]
fn i12_what_is_aborted_and_corrected_ends_well() {
    let out = [ask("a", "abort"), a_while(), apply(sound())];
    ends_well("aborted and corrected", &out, sound_end);
}

#[test]
fn i4_what_is_interrupted_and_corrected_ends_well() {
    let out = [ask("a", "interrupt"), a_while(), apply(sound())];
    ends_well("interrupted and corrected", &out, sound_end);
}

#[test]
fn i4_what_hangs_is_interrupted_and_corrected_and_what_waited_for_it_goes_on() {
    let hanging = with_first(first_with(Item::new("add", 10).take("x").hangs()));
    let story = [
        given("x", 1),
        apply(hanging),
        a_while(),
        ask("a", "interrupt"),
        a_while(),
        apply(sound()),
    ];
    sound_end("interrupted", &survives(&story));
}

#[test]
fn i33_i35_what_is_broken_can_be_deleted() {
    fn gone(what: &str, end: &End) {
        assert_eq!(end.phase("a"), "gone", "{what}");
        assert_eq!(end.outside(), [], "{what}");
        assert_eq!(end.count("deployitems"), 0, "{what}");
    }
    ends_well("deleted in a cascade", &[delete("a")], gone);
    ends_well("deleted", &[delete_in_background("a")], gone);
}

#[test]
fn i16b_what_failed_once_is_run_again_by_reconcile_and_nothing_else_is() {
    let fragile = |item: Item| with_first(first_with(item.take("x").fails_once()));
    let story = [
        given("x", 1),
        apply(fragile(Item::new("add", 10))),
        Action::Rest,
        ask("a", "reconcile"),
    ];
    sound_end("retried", &survives(&story));
}

#[test]
fn i35b_a_removal_that_fails_is_told_and_can_be_skipped() {
    for by in [delete, delete_in_background] {
        let staying = || with_first(first_with(Item::new("add", 10).take("x").stays()));
        let start = [given("x", 1), apply(staying()), Action::Rest, by("a")];
        let held = survives(&start);
        assert_eq!(held.phase("a"), "Failed");
        assert!(
            held.error("a").contains("told to stay"),
            "{}",
            held.error("a")
        );
        assert_eq!(held.outside(), [("a.first.add", 11)]);
        // Another try changes nothing, and says so again.
        for operation in ["reconcile", "force-reconcile", "abort", "interrupt"] {
            let mut tried = start.to_vec();
            tried.extend([Action::Rest, ask_of_marked("a", operation)]);
            let end = survives(&tried);
            assert_eq!(end.phase("a"), "Failed", "{operation}");
            assert!(end.error("a").contains("told to stay"), "{operation}");
        }
        let mut skipped = start.to_vec();
        skipped.extend([Action::Rest, let_stay("a")]);
        let end = survives(&skipped);
        assert_eq!(end.phase("a"), "gone");
        assert_eq!(end.outside(), [("a.first.add", 11)]);
    }
}

#[test]
fn i10b_a_chain_of_nested_installations_never_shows_success_between_waves() {
    let chain = Installation::new("a")
        .import("x")
        .nest(step("one", "x", "b", 1))
        .nest(step("two", "b", "c", 1))
        .nest(step("three", "c", "d", 1))
        .nest(step("four", "d", "e", 1))
        .pass_up("result", "e");
    let story = [
        given("x", 1),
        apply(chain),
        apply(step("user", "result", "end", 1000)),
        Action::Rest,
        given("x", 100),
    ];
    let end = survives(&story);
    assert_eq!(end.phase("user"), "Succeeded");
    let numbers: Vec<u64> = end.outside().iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, [104, 101, 103, 102, 1104]);
}

#[test]
fn i10b_an_importer_of_two_never_mixes_their_generations() {
    let both = Item::new("add", 1000).take("left").take("right");
    let bottom = Installation::new("d")
        .import("left")
        .import("right")
        .item(both);
    let story = [
        given("w", 1),
        apply(step("b", "w", "left", 100)),
        apply(step("c", "w", "right", 200).item(Item::new("slow", 1).after("add"))),
        apply(bottom),
        Action::Rest,
        given("w", 2),
    ];
    let end = survives(&story);
    let numbers: Vec<u64> = end.outside().iter().map(|(_, number)| *number).collect();
    assert_eq!(numbers, [102, 202, 1, 1304]);
}

#[test]
fn i40b_a_name_moves_and_is_swapped_whoever_is_written_first() {
    let start = [
        given("x", 1),
        apply(step("a", "x", "left", 10)),
        apply(step("b", "x", "right", 20)),
        apply(step("l", "left", "lo", 100)),
        apply(step("r", "right", "ro", 200)),
        Action::Rest,
    ];
    let swapped = [
        apply(step("a", "x", "right", 10)),
        apply(step("b", "x", "left", 20)),
    ];
    for rests in [false, true] {
        for order in [[0, 1], [1, 0]] {
            let mut story = start.to_vec();
            for at in order {
                story.push(swapped[at].clone());
                if rests {
                    story.push(Action::Rest);
                }
            }
            let end = survives(&story);
            let expected = [("a.add", 11), ("b.add", 21), ("l.add", 121), ("r.add", 211)];
            assert_eq!(end.outside(), expected, "{order:?} {rests}");
            for name in ["a", "b", "l", "r"] {
                assert_eq!(end.phase(name), "Succeeded", "{name} {order:?} {rests}");
            }
        }
    }
}

#[test]
fn i40b_a_newcomer_with_a_taken_name_fails_alone() {
    let story = [
        given("x", 1),
        apply(step("owner", "x", "y", 10)),
        apply(step("user", "y", "z", 100)),
        Action::Rest,
        apply(step("newcomer", "x", "y", 1)),
        Action::Rest,
        given("x", 2),
    ];
    let end = survives(&story);
    assert_eq!(end.phase("owner"), "Succeeded");
    assert_eq!(end.phase("user"), "Succeeded");
    assert_eq!(end.phase("newcomer"), "Failed");
    assert!(
        end.error("newcomer").contains("owner"),
        "{}",
        end.error("newcomer")
    );
    assert_eq!(end.outside(), [("owner.add", 12), ("user.add", 112)]);
}
