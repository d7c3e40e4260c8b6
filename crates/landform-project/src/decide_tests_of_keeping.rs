//! What is missing from the files and is kept: until it is agreed to, or as long as it is protected.

use super::*;

#[test]
fn r15b_what_a_finalizer_holds_is_asked_for_with_all_that_is_missing_beside_it() {
    let mut scene = Scene::default()
        .has("a.yaml", "a", "1")
        .has("b.yaml", "b", "1");
    scene.live.get_mut(&id("a")).unwrap().held = true;
    let asked = scene.decide();
    let held = asked.held.clone().unwrap();
    assert_eq!((held.count, held.of), (2, 2));
    assert!(asked.deletions.is_empty(), "{asked:?}");
    let agreed = Scene {
        approved: Some(held.token),
        ..scene.clone()
    };
    let agreed = agreed.decide();
    assert_eq!(agreed.deletions.len() + agreed.deletions_later.len(), 2);
    let grace = Scene {
        deletions: Deletions::Grace,
        ..scene.clone()
    };
    assert_eq!(grace.decide().held, None);
    // What has nothing below it goes by itself.
    scene.live.get_mut(&id("a")).unwrap().held = false;
    assert_eq!(scene.decide().held, None);
    // As long as it may come back, nothing is asked.
    scene.live.get_mut(&id("a")).unwrap().held = true;
    scene.young = true;
    let young = scene.decide();
    assert_eq!((young.held, young.missing.len()), (None, 2));
}

#[test]
fn r15b_what_is_protected_stays_whatever_was_agreed_to() {
    let mut scene = Scene {
        deletions: Deletions::Grace,
        ..Scene::default()
    }
    .has("a.yaml", "a", "1")
    .has("b.yaml", "b", "1");
    scene.live.get_mut(&id("a")).unwrap().protected = true;
    let decision = scene.decide();
    assert_eq!(
        decision.stays,
        BTreeMap::from([(id("a"), Stays::Protected)])
    );
    let going: Vec<_> = decision
        .deletions
        .iter()
        .map(|(id, _)| id.clone())
        .collect();
    assert_eq!(going, [id("b")]);
    assert_eq!(decision.look_again_at, Some(1_000 + LOOK_MS));
}
