//! Operators come, are upgraded, fail, go back and go.

use landform_sim::Action;
use landform_sim::operators::{Adoption, Release};

use super::tell::{delete, go_back, offer, survives, want};

fn first() -> Release {
    Release::new("1.0.0")
}

fn second() -> Release {
    Release::new("2.0.0").after("1.0.0")
}

/// 1.0.0 runs and has resources, then 2.0.0 is offered.
fn upgrade(to: Release) -> Vec<Action> {
    vec![
        offer(&[first()]),
        want("Keep"),
        Action::Rest,
        offer(&[first(), to]),
    ]
}

#[test]
fn o1_o10_an_operator_is_installed_wherever_it_is_interrupted() {
    let end = survives(&[offer(&[first().with_kind()]), want("Keep")]);
    assert_eq!(end.app_type(), "Succeeded 1.0.0");
    assert_eq!(end.versions(), ["etcd.v1.0.0"]);
    assert_eq!(end.owners("data-a"), ["etcd.v1.0.0"]);
    assert!(end.has_kind());
}

fn hands_over(adoption: Adoption) {
    let end = survives(&upgrade(second().taking_over(adoption)));
    assert_eq!(end.app_type(), "Succeeded 2.0.0");
    assert_eq!(end.versions(), ["etcd.v2.0.0"]);
    assert_eq!(end.operator(), "2.0.0");
    assert_eq!(end.owners("data-a"), ["etcd.v2.0.0"]);
    assert_eq!(end.owners("data-b"), ["etcd.v2.0.0"]);
}

#[test]
fn o12_o13_o15_option_1_survives_a_crash_after_every_write() {
    hands_over(Adoption::Managed);
}

#[test]
fn o12_o13_o15_option_1_with_the_operators_loop_survives_a_crash_after_every_write() {
    hands_over(Adoption::ManagedByOperator);
}

#[test]
fn o14_o15_option_2_survives_a_crash_after_every_write() {
    hands_over(Adoption::Operator);
}

#[test]
fn o14_o15_option_2_with_the_operators_loop_survives_a_crash_after_every_write() {
    hands_over(Adoption::OperatorAlone);
}

#[test]
fn o17_a_failed_upgrade_and_its_rollback_survive_a_crash_after_every_write() {
    let mut story = upgrade(second().broken());
    let end = survives(&story);
    assert_eq!(end.app_type(), "Failed 1.0.0");
    assert_eq!(end.versions(), ["etcd.v1.0.0", "etcd.v2.0.0"]);
    assert_eq!(
        end.operator(),
        "1.0.0",
        "the old version has its objects back"
    );
    assert_eq!(end.owners("data-a"), ["etcd.v1.0.0"]);
    story.extend([Action::Rest, go_back("1.0.0")]);
    let end = survives(&story);
    assert_eq!(end.app_type(), "Succeeded 1.0.0");
    assert_eq!(end.versions(), ["etcd.v1.0.0"]);
    assert_eq!(end.operator(), "1.0.0");
    assert_eq!(end.owners("data-b"), ["etcd.v1.0.0"]);
}

#[test]
fn o17_a_rollback_after_an_upgrade_survives_a_crash_after_every_write() {
    let mut story = upgrade(second());
    story.extend([Action::Rest, go_back("1.0.0")]);
    let end = survives(&story);
    assert_eq!(end.app_type(), "Succeeded 1.0.0");
    assert_eq!(end.versions(), ["etcd.v1.0.0"]);
    assert_eq!(end.operator(), "1.0.0");
    assert_eq!(end.owners("data-a"), ["etcd.v1.0.0"]);
}

#[test]
fn o16_a_deletion_survives_a_crash_after_every_write() {
    for (policy, stays) in [("Keep", true), ("Delete", false)] {
        let story = [
            offer(&[first().with_kind()]),
            want(policy),
            Action::Rest,
            delete("AppType", "etcd"),
        ];
        let end = survives(&story);
        assert_eq!(end.app_type(), "gone");
        assert!(end.versions().is_empty());
        assert_eq!(end.operator(), "gone");
        assert!(end.owners("data-a").is_empty());
        assert_eq!(end.has_kind(), stays, "{policy}");
    }
}

#[test]
fn o15_o16_the_old_version_goes_in_a_handover_and_a_crash_after_every_write_loses_nothing() {
    let mut story = upgrade(second().stalled());
    let end = survives(&story);
    assert_eq!(end.owners("data-a"), ["etcd.v1.0.0", "etcd.v2.0.0"]);
    story.extend([Action::Rest, delete("OperatorVersion", "etcd.v1.0.0")]);
    let end = survives(&story);
    assert_eq!(end.app_type(), "Succeeded 2.0.0");
    assert_eq!(end.versions(), ["etcd.v2.0.0"]);
    assert_eq!(end.owners("data-a"), ["etcd.v2.0.0"]);
}

#[test]
fn o15_o17_a_rollback_in_a_handover_survives_a_crash_after_every_write() {
    let mut story = upgrade(second().stalled());
    story.extend([Action::Rest, go_back("1.0.0")]);
    let end = survives(&story);
    assert_eq!(end.app_type(), "Succeeded 1.0.0");
    assert_eq!(end.versions(), ["etcd.v1.0.0"]);
    assert_eq!(end.operator(), "1.0.0");
    assert_eq!(end.owners("data-b"), ["etcd.v1.0.0"]);
}
