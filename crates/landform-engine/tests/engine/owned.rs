//! Objects that others own: whose change brings a run of the owner (R2, R5).

use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use landform_engine::{Context, Failure, Outcome};
use serde_json::json;

use crate::harness::{Toys, World, config_maps};

/// Makes sure that a ConfigMap of the toy's name exists and says the toy's value.
async fn ensure_map(context: &Context) -> Result<Outcome, Failure> {
    let toy = context.object();
    let maps = kube::core::GroupVersionKind::gvk("", "v1", "ConfigMap");
    let maps = kube::core::ApiResource::from_gvk(&maps);
    let maps: kube::Api<kube::core::DynamicObject> =
        kube::Api::default_namespaced_with(context.client(), &maps);
    let name = &*context.key().name;
    let wanted = json!({"v": toy.data["spec"]["value"].to_string()});
    match maps.get_opt(name).await? {
        None => {
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": wanted,
                "metadata": {"name": name, "ownerReferences": [{
                    "apiVersion": "toys.landform.dev/v1", "kind": "Toy", "name": name,
                    "uid": toy.metadata.uid, "controller": true,
                }]},
            });
            let map =
                serde_json::from_value(map).map_err(|error| Failure::Invalid(error.to_string()))?;
            maps.create(&PostParams::default(), &map).await?;
        }
        Some(map) if map.data["data"] != wanted => {
            let patch = Patch::Merge(json!({"data": wanted}));
            maps.patch(name, &PatchParams::default(), &patch).await?;
        }
        Some(_) => {}
    }
    Ok(Outcome::Done)
}

fn toys() -> Toys {
    let toys = Toys::new(|context| Box::pin(ensure_map(context)));
    Toys {
        owns: vec![config_maps()],
        ..toys
    }
}

#[tokio::test(start_paused = true)]
async fn r5_writing_an_owned_object_brings_no_other_run() {
    let world = World::new().await;
    let mut running = world.engine(toys());
    world.create("a", json!({"value": 1})).await;
    assert_eq!(running.starts().await, ["a"]);
    world.update("a", json!({"value": 2})).await;
    assert_eq!(running.starts().await, ["a"]);
    assert_eq!(world.maps().get("a").await.unwrap().data["data"]["v"], "2");
}

#[tokio::test(start_paused = true)]
async fn r2_what_others_do_to_an_owned_object_is_put_right() {
    let world = World::new().await;
    let mut running = world.engine(toys());
    world.create("a", json!({"value": 1})).await;
    running.until_silent().await;
    let meddle = Patch::Merge(json!({"data": {"v": "wrong"}}));
    world
        .maps()
        .patch("a", &PatchParams::default(), &meddle)
        .await
        .unwrap();
    assert_eq!(running.starts().await, ["a"]);
    assert_eq!(world.maps().get("a").await.unwrap().data["data"]["v"], "1");
    world
        .maps()
        .delete("a", &DeleteParams::background())
        .await
        .unwrap();
    assert_eq!(running.starts().await, ["a"]);
    assert_eq!(world.maps().get("a").await.unwrap().data["data"]["v"], "1");
    world.create_map("unowned", "1").await;
    assert!(running.starts().await.is_empty());
}
