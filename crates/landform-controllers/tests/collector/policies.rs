//! The policies, with dependents that are shared, held and chained (G13, G15).

use crate::harness::{MAPS, World};

async fn family(world: &World) {
    world.make("owner", &[]).await;
    world.make("other", &[]).await;
    world.make("own", &["owner"]).await;
    world.make("shared", &["owner", "other"]).await;
    world.make("below", &["own"]).await;
}

#[tokio::test]
async fn g13_without_a_policy_every_direct_dependent_goes_also_a_shared_one() {
    let mut world = World::start().await;
    family(&world).await;
    world.delete("owner", None).await;
    world.left(&["other"]).await;
}

#[tokio::test]
async fn g13_background_and_foreground_spare_a_dependent_with_another_living_owner() {
    for policy in ["Background", "Foreground"] {
        let mut world = World::start().await;
        family(&world).await;
        world.delete("owner", Some(policy)).await;
        world.left(&["other", "shared"]).await;
        world
            .until("one reference", async || {
                let shared = world.read(&format!("{MAPS}/shared")).await;
                let owners = shared["metadata"]["ownerReferences"].as_array().unwrap();
                (owners.len() == 1 && owners[0]["name"] == "other").then_some(())
            })
            .await;
        // It is collected when all its owners are gone.
        world.delete("other", Some(policy)).await;
        world.left(&[]).await;
    }
}

#[tokio::test]
async fn g13_orphan_leaves_dependents_without_their_reference() {
    let mut world = World::start().await;
    family(&world).await;
    world.delete("owner", Some("Orphan")).await;
    world.left(&["below", "other", "own", "shared"]).await;
    let own = world.read(&format!("{MAPS}/own")).await;
    assert!(own["metadata"].get("ownerReferences").is_none(), "{own}");
    let below = world.read(&format!("{MAPS}/below")).await;
    assert_eq!(below["metadata"]["ownerReferences"][0]["name"], "own");
}

#[tokio::test]
async fn g13_foreground_waits_for_dependents_that_block_and_background_does_not() {
    for (policy, left) in [
        ("Foreground", &["child*", "owner*"][..]),
        ("Background", &["child*"][..]),
    ] {
        let mut world = World::start().await;
        world.make("owner", &[]).await;
        world.make_held("child", &["owner"], &["x.io/hold"]).await;
        world.delete("owner", Some(policy)).await;
        world.left(left).await;
        world.free("child", "x.io/hold").await;
        world.left(&[]).await;
    }
}

#[tokio::test]
async fn g13_a_second_delete_may_turn_to_another_policy() {
    let mut world = World::start().await;
    world.make("owner", &[]).await;
    world.make_held("child", &["owner"], &["x.io/hold"]).await;
    world.delete("owner", None).await;
    world.left(&["child*", "owner*"]).await;
    world.delete("owner", Some("Orphan")).await;
    world.left(&["child*"]).await;
}

#[tokio::test]
async fn g15_a_dependents_finalizer_holds_every_owner_above_it() {
    let mut world = World::start().await;
    world.make("a", &[]).await;
    world.make("b", &["a"]).await;
    world.make_held("c", &["b"], &["x.io/hold"]).await;
    world.delete("a", None).await;
    world.left(&["a*", "b*", "c*"]).await;
    world.free("c", "x.io/hold").await;
    world.left(&[]).await;
}
