//! What happens at certain times: `spec.automaticReconcile`. A crash after any write neither loses nor repeats one.

use std::time::Duration;

use landform_sim::Action;
use landform_sim::landscape::{Installation, Item};
use serde_json::json;

use super::growth::step;
use super::tell::{apply, ask, given, survives};

fn hours(count: u64) -> Action {
    Action::Wait(Duration::from_secs(count * 3600))
}

#[test]
fn i4_i16b_what_fails_once_succeeds_when_its_time_has_come() {
    let how = json!({"interval": "1h"});
    let fragile = Installation::new("a").item(Item::new("one", 7).fails_once());
    let story = [apply(fragile.repeat("failedReconcile", &how)), hours(2)];
    let end = survives(&story);
    assert_eq!(end.phase("a"), "Succeeded");
    assert_eq!(end.times("a"), None, "the row is over");
}

#[test]
fn i4_what_fails_for_good_is_tried_as_often_as_asked() {
    let how = json!({"cronSpec": "0 * * * *", "numberOfReconciles": 2});
    let broken = Installation::new("a").item(Item::new("one", 7).fails());
    let story = [apply(broken.repeat("failedReconcile", &how)), hours(5)];
    let end = survives(&story);
    assert_eq!(end.phase("a"), "Failed");
    assert_eq!(end.times("a"), Some(2));
}

#[test]
fn i4_a_word_of_a_person_begins_a_new_row() {
    let how = json!({"interval": "1h", "numberOfReconciles": 1});
    let broken = Installation::new("a").item(Item::new("one", 7).fails());
    let story = [
        apply(broken.repeat("failedReconcile", &how)),
        hours(3),
        ask("a", "reconcile"),
        Action::Wait(Duration::from_secs(600)),
    ];
    assert_eq!(survives(&story).times("a"), Some(0));
}

#[test]
fn i4_what_succeeded_is_deployed_again_and_its_importers_are_not_disturbed() {
    let how = json!({"interval": "1h", "numberOfReconciles": 3});
    let story = [
        given("x", 1),
        apply(step("a", "x", "y", 10).repeat("succeededReconcile", &how)),
        apply(step("b", "y", "z", 100)),
        hours(5),
    ];
    let end = survives(&story);
    assert_eq!(end.times("a"), Some(3));
    assert_eq!(end.phase("b"), "Succeeded");
    assert_eq!(end.outside(), [("a.add", 11), ("b.add", 111)]);
}
