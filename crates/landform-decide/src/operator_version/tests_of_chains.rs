//! Chains of versions in a [world](super::world): whatever comes in whichever order, and whatever is cut off,
//! nothing is lost and it comes to rest where it should.

use landform_api::catalog::operator_version::Upgrade;
use landform_api::catalog::{AdoptionBy, Phase, UpgradeMode};

use super::world::{Event, Made, Name, Package, World, explore, made};

use Event::{Create, CreateAfter, CreateInsteadOf, Delete, Fix, Make, TakeBack};

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

#[test]
fn o12_o13_o14_o15_o16_one_version_follows_another_and_gets_all_that_it_owns() {
    let events = [Create("a"), Create("b"), Make("a", "x"), Make("b", "y")];
    in_all_ways(&chain()[..2], &events, |world| {
        world.check_only("b");
    });
}

#[test]
fn o12_o16_three_versions_in_any_order_end_with_the_last() {
    let events = [Create("a"), Create("b"), Create("c"), Make("a", "x")];
    in_all_ways(&chain(), &events, |world| {
        world.check_only("c");
    });
}
