//! Chains of versions in a [world](super::world): whatever comes in whichever order, and whatever is cut off,
//! nothing is lost and it comes to rest where it should.

use landform_api::catalog::operator_version::Upgrade;
use landform_api::catalog::{AdoptionBy, Phase, UpgradeMode};

use super::world::{Event, Made, Name, Package, World, explore, made};

use Event::{Create, CreateAfter, CreateInsteadOf, Delete, Fix, Has, Make, TakeBack};

/// Both options, each with both loops of adoption.
const UPGRADES: [Upgrade; 4] = [
    upgrade(UpgradeMode::Managed, AdoptionBy::Landform),
    upgrade(UpgradeMode::Managed, AdoptionBy::Operator),
    upgrade(UpgradeMode::Operator, AdoptionBy::Landform),
    upgrade(UpgradeMode::Operator, AdoptionBy::Operator),
];

const fn upgrade(mode: UpgradeMode, adoption: AdoptionBy) -> Upgrade {
    Upgrade { mode, adoption }
}

fn package(versions: &[(Name, Made)], upgrade: Upgrade) -> Package {
    let with = |made: &Made| Made {
        upgrade,
        ..made.clone()
    };
    versions
        .iter()
        .map(|(name, made)| (*name, with(made)))
        .collect()
}

/// A ← B ← C.
fn chain() -> [(Name, Made); 3] {
    [
        ("a", made("1.0.0", "")),
        ("b", made("2.0.0", "a")),
        ("c", made("3.0.0", "b")),
    ]
}

fn in_all_ways(versions: &[(Name, Made)], events: &[Event], at_rest: impl Fn(&World)) {
    for upgrade in UPGRADES {
        let package = package(versions, upgrade);
        explore(&package, World::new(events), &at_rest);
    }
}

/// Only the two that differ most, where there are very many orders.
fn in_two_ways(versions: &[(Name, Made)], events: &[Event], at_rest: impl Fn(&World)) {
    for upgrade in [UPGRADES[0], UPGRADES[3]] {
        let package = package(versions, upgrade);
        explore(&package, World::new(events), &at_rest);
    }
}

#[test]
fn o12_o13_o14_o15_o16_one_version_follows_another_and_gets_all_that_it_owns() {
    let events = [Create("a"), Create("b"), Make("a", "x"), Make("b", "y")];
    in_all_ways(&chain()[..2], &events, |world| {
        world.check_only("b");
    });
}

#[test]
fn o12_o16_three_versions_in_any_order_end_with_the_last() {
    let events = [Create("a"), Create("b"), Create("c"), Has("a", "x")];
    in_all_ways(&chain(), &events, |world| {
        world.check_only("c");
        let ways: [&[Name]; 3] = [&["a", "b", "c"], &["b", "c"], &["c"]];
        assert!(ways.contains(&&*world.installs), "{:?}", world.installs);
    });
}

#[test]
fn o12_a_version_is_left_out_only_where_an_edge_says_so() {
    let events = [Create("a"), Create("b"), Create("c"), Has("a", "x")];
    let [a, b, c] = chain();
    let skips = [a.clone(), b.clone(), ("c", c.1.clone().skips("a"))];
    let range = [a, b, ("c", c.1.skip_range("<3.0.0"))];
    for versions in [skips, range] {
        in_two_ways(&versions, &events, |world| world.check_only("c"));
    }
}

#[test]
fn o17_a_failed_version_leaves_the_one_before_it_running() {
    let [a, b, c] = chain();
    let versions = [a.clone(), ("b", b.1.clone().broken())];
    let events = [Create("a"), Create("b"), Make("a", "x")];
    in_all_ways(&versions, &events, |world| {
        if world.installs[0] == "a" {
            world.check_owner("a");
        }
        assert_eq!(world.versions["b"].phase, Some(Phase::Failed));
    });
    let events = [Create("a"), Create("b"), Make("a", "x"), Fix("b")];
    in_all_ways(&versions, &events, |world| world.check_only("b"));
    let versions = [a, b, ("c", c.1.broken())];
    let events = [Create("a"), Create("b"), Create("c"), Has("a", "x")];
    in_all_ways(&versions, &events, |world| {
        if world.installs[0] != "c" {
            world.check_owner("b");
            assert!(!world.versions.contains_key("a"));
        }
        assert_eq!(world.versions["c"].phase, Some(Phase::Failed));
    });
}

#[test]
fn o17_a_later_version_follows_the_failed_one() {
    let [a, b, c] = chain();
    let versions = [a, ("b", b.1.broken()), c];
    let events = [Create("a"), Create("b"), Create("c"), Has("a", "x")];
    in_two_ways(&versions, &events, |world| world.check_only("c"));
}

#[test]
fn o17_a_rollback_at_any_moment_ends_with_the_old_version() {
    let events = [
        Create("a"),
        Create("b"),
        Make("a", "x"),
        Make("b", "y"),
        TakeBack("a", "b"),
    ];
    in_all_ways(&chain()[..2], &events, |world| {
        let asked = !world.events.contains(&TakeBack("a", "b"));
        world.check_only(if asked { "a" } else { "b" });
    });
    let events = [
        Create("a"),
        Create("b"),
        Make("a", "x"),
        CreateInsteadOf("a", "b"),
    ];
    in_all_ways(&chain()[..2], &events, |world| {
        let asked = !world
            .events
            .iter()
            .any(|event| matches!(event, CreateInsteadOf(..)));
        world.check_only(if asked { "a" } else { "b" });
    });
}

#[test]
fn o17_after_a_rollback_the_higher_version_may_come_again() {
    let back = [TakeBack("a", "b"), CreateInsteadOf("a", "b")];
    for back in back {
        let events = [
            Create("a"),
            Create("b"),
            Make("a", "x"),
            back,
            CreateAfter("b", "b"),
        ];
        in_all_ways(&chain()[..2], &events, |world| {
            world.check_only("b");
        });
    }
}

#[test]
fn o17_a_rollback_over_two_versions_leaves_none_of_them() {
    let events = [
        Create("a"),
        Create("b"),
        Create("c"),
        Has("a", "x"),
        CreateInsteadOf("a", "c"),
    ];
    in_two_ways(&chain(), &events, |world| {
        let asked = !world.events.contains(&CreateInsteadOf("a", "c"));
        let original = world.events.contains(&Create("a"));
        if asked && original {
            return; // It was created twice: the later one is an ordinary latecomer.
        }
        // B may come when the rollback is over.
        let last = if asked {
            world.installs[world.installs.len() - 1]
        } else {
            "c"
        };
        assert!(!asked || last != "c");
        world.check_only(last);
    });
}

#[test]
fn o15_a_deletion_in_the_middle_of_a_handover_loses_nothing() {
    let created = [Create("a"), Create("b"), Make("a", "x"), Make("b", "y")];
    let with = |event| [&created[..], &[event]].concat();
    in_all_ways(&chain()[..2], &with(Delete("a")), |world| {
        assert!(!world.versions.contains_key("a"));
        if world.versions.contains_key("b") {
            world.check_owner("b");
        }
    });
    in_all_ways(&chain()[..2], &with(Delete("b")), |world| {
        if world.events.contains(&Delete("b")) {
            world.check_only("b");
        } else if world.versions.contains_key("a") {
            world.check_owner("a");
            assert!(!world.deleted.contains("x"));
        }
    });
}

#[test]
fn o15_deletions_in_a_chain_of_three_lose_nothing() {
    for name in ["a", "b", "c"] {
        let events = [
            Create("a"),
            Create("b"),
            Create("c"),
            Has("a", "x"),
            Delete(name),
        ];
        in_two_ways(&chain(), &events, |world| {
            for (name, living) in &world.versions {
                assert!(!living.marked, "{name} stays {world:#?}");
            }
            let succeeded = world.versions.iter();
            let mut succeeded =
                succeeded.filter(|(_, living)| living.phase == Some(Phase::Succeeded));
            if let Some((name, _)) = succeeded.next() {
                world.check_owner(name);
            }
            assert_eq!(succeeded.next(), None, "two run: {world:#?}");
        });
    }
}

#[test]
fn o15_a_failed_version_that_is_deleted_gives_back_what_both_install() {
    let [a, b, c] = chain();
    let versions = [a, ("b", b.1.broken()), ("c", c.1.broken())];
    for deleted in ["b", "c"] {
        let events = [
            Create("a"),
            Create("b"),
            Create("c"),
            Has("a", "x"),
            Delete(deleted),
        ];
        in_two_ways(&versions, &events, |world| {
            for (name, living) in &world.versions {
                assert!(!living.marked, "{name} stays {world:#?}");
            }
            if world.installs[0] == "a" {
                world.check_owner("a");
            }
        });
    }
}

#[test]
fn o10_odd_edges_lead_to_no_loop_and_no_downgrade() {
    let odd: [&[(Name, Made)]; 9] = [
        // One that replaces itself.
        &[("a", made("1.0.0", "a")), ("b", made("2.0.0", "b"))],
        // A cycle.
        &[("a", made("1.0.0", "b")), ("b", made("2.0.0", "a"))],
        // Ranges without an upper bound.
        &[
            ("a", made("1.0.0", ">=0.0.0")),
            ("b", made("2.0.0", ">=0.0.0")),
        ],
        &[
            ("a", made("1.0.0", ">=0.0.0")),
            ("b", made("2.0.0", ">=0.0.0")),
            ("c", made("3.0.0", ">=0.0.0")),
        ],
        // Two heads.
        &[
            ("a", made("1.0.0", "")),
            ("b", made("2.0.0", "a")),
            ("c", made("3.0.0", "a")),
        ],
        // The same version twice.
        &[
            ("a", made("1.0.0", "b")),
            ("b", made("1.0.0", "a")),
            ("c", made("1.0.0+build", "a")),
        ],
        // Pre-releases.
        &[
            ("a", made("1.0.0-alpha", "")),
            ("b", made("1.0.0-beta", "a")),
            ("c", made("1.0.0", "b")),
        ],
        // Edges to what is absent.
        &[("a", made("1.0.0", "z")), ("b", made("2.0.0", "y"))],
        &[
            ("a", made("1.0.0", "z")),
            ("b", made("2.0.0", "a")),
            ("c", made("3.0.0", "y")),
        ],
    ];
    for versions in odd {
        let mut events: Vec<_> = versions.iter().map(|(name, _)| Create(name)).collect();
        events.push(Make("a", "x"));
        let package = package(versions, UPGRADES[0]);
        explore(&package, World::new(&events), |world| {
            let succeeded = world
                .versions
                .iter()
                .filter(|(_, living)| living.phase == Some(Phase::Succeeded));
            let names: Vec<_> = succeeded.map(|(name, _)| *name).collect();
            let [name] = names[..] else {
                panic!("{names:?} run {world:#?}");
            };
            world.check_owner(name);
        });
    }
}

#[test]
fn o10_a_higher_version_that_lacks_something_is_not_waited_for() {
    let [a, b, c] = chain();
    let versions = [a, b, ("c", c.1.skips("a").lacking())];
    let events = [Create("a"), Create("b"), Create("c"), Has("a", "x")];
    in_two_ways(&versions, &events, |world| {
        world.check_owner("b");
        assert_eq!(world.versions["c"].phase, Some(Phase::Pending));
    });
}
