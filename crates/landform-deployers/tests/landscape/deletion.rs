//! Taking things down: in order, and from what was recorded.

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, DeleteParams, ListParams};
use kube::runtime::watcher;
use serde_json::{Value, json};

use crate::harness::{Landscape, OPERATION, contains, files, product, spec, text, wiring};

const NAMES: [&str; 3] = ["db", "api", "web"];

/// db ← api ← web.
fn chain() -> [(&'static str, Value, Value); 3] {
    [
        ("db", product("db", &[], &["host"]), wiring(&[], &["host"])),
        (
            "api",
            product("api", &["host"], &["url"]),
            wiring(&["host"], &["url"]),
        ),
        ("web", product("web", &["url"], &[]), wiring(&["url"], &[])),
    ]
}

async fn shop() -> Landscape {
    shop_in(Landscape::new().await).await
}

async fn shop_in(land: Landscape) -> Landscape {
    for (name, blueprint, rest) in chain() {
        land.install(name, blueprint, rest).await;
    }
    for name in NAMES {
        land.phase(name, "Succeeded").await;
    }
    land.quiet().await;
    assert_eq!(
        land.recorder.take(),
        ["deploy db", "deploy api", "deploy web"]
    );
    land
}

/// The same three, nested.
async fn nested_shop() -> Landscape {
    nested_shop_in(0).await
}

/// The same three, nested this many levels below the first.
async fn nested_shop_in(depth: usize) -> Landscape {
    let land = Landscape::new().await;
    let nested = chain().map(|(name, blueprint, mut rest)| {
        rest["name"] = name.into();
        rest["blueprint"] = json!({"filesystem": files(blueprint)});
        rest
    });
    let mut blueprint = json!({"subinstallations": nested});
    for _ in 0..depth {
        let filesystem = files(blueprint);
        let inner = json!({"name": "inner", "blueprint": {"filesystem": filesystem}});
        blueprint = json!({"subinstallations": [inner]});
    }
    land.install("shop", blueprint, json!({})).await;
    land.phase("shop", "Succeeded").await;
    land.quiet().await;
    land.recorder.take();
    land
}

const ORDER: [&str; 3] = ["remove web", "remove api", "remove db"];

#[tokio::test]
async fn i31_siblings_go_in_the_order_of_their_imports() {
    for parameters in [
        DeleteParams::background(),
        DeleteParams::foreground(),
        DeleteParams::default(),
    ] {
        let land = shop().await;
        let api = land.api("Installation");
        for name in NAMES {
            api.delete(name, &parameters).await.unwrap();
        }
        for name in NAMES {
            land.gone("Installation", name).await;
        }
        assert_eq!(land.recorder.take(), ORDER, "{parameters:?}");
        assert!(land.names("DataObject").await.is_empty());
        assert!(land.names("Secret").await.is_empty());
    }
}

#[tokio::test]
async fn i31b_the_order_holds_for_a_collection_and_for_a_namespace() {
    let land = shop().await;
    let all = ListParams::default();
    let background = DeleteParams::background();
    let api = land.api("Installation");
    api.delete_collection(&background, &all).await.unwrap();
    for name in NAMES {
        land.gone("Installation", name).await;
    }
    assert_eq!(land.recorder.take(), ORDER, "by collection");

    let land = shop_in(Landscape::in_namespace("team").await).await;
    let place = json!({"type": "test.dev/place", "config": {}});
    land.create("Target", "mine", json!({"spec": place})).await;
    let namespaces: Api<Namespace> = Api::all(land.client.clone());
    namespaces.delete("team", &background).await.unwrap();
    let mut watch = std::pin::pin!(watcher::watch_object(namespaces, "team"));
    while watch.next().await.unwrap().unwrap().is_some() {}
    assert_eq!(land.recorder.take(), ORDER, "with the namespace");
}

#[tokio::test]
async fn i35_nested_ones_go_in_the_order_of_their_imports() {
    for parameters in [
        DeleteParams::background(),
        DeleteParams::foreground(),
        DeleteParams::default(),
    ] {
        let land = nested_shop().await;
        let api = land.api("Installation");
        api.delete("shop", &parameters).await.unwrap();
        land.gone("Installation", "shop").await;
        assert_eq!(land.recorder.take(), ORDER, "{parameters:?}");
        land.quiet().await;
        for kind in ["Installation", "Execution", "DeployItem", "DataObject"] {
            assert!(land.names(kind).await.is_empty(), "{kind}");
        }
    }
}

#[tokio::test]
async fn i31_i40b_an_owner_stays_until_another_one_has_taken_over_what_is_imported() {
    let land = shop().await;
    // It would export the same, and fails alone; and it needs something that isn't there.
    land.install(
        "next",
        product("next", &["size"], &["host"]),
        wiring(&["size"], &["host"]),
    )
    .await;
    land.fails("next", &["db", "host"]).await;
    land.delete("Installation", "db").await;
    let held = land
        .until("Installation", "db", |object| {
            text(&object["status"]["lastError"]["message"]).contains("next")
        })
        .await;
    contains(
        text(&held["status"]["lastError"]["message"]),
        &["api", "next"],
    );
    land.quiet().await;
    assert!(land.recorder.take().is_empty(), "nothing was removed");
    assert_eq!(land.config("db", "db").await["imports"], json!({}));
    assert_eq!(land.get("DataObject", "host").await["data"], "db");
    // What it needs comes: it takes the name over, and the old one goes.
    land.data("size", json!(1)).await;
    land.gone("Installation", "db").await;
    land.phase("next", "Succeeded").await;
    land.until("Installation", "web", |object| {
        object["status"]["phase"] == "Succeeded"
    })
    .await;
    land.quiet().await;
    assert_eq!(
        land.config("api", "api").await["imports"],
        json!({"host": "next"})
    );
    assert_eq!(land.get("DataObject", "host").await["data"], "next");
    let journal = land.recorder.take();
    let place_of = |line: &str| journal.iter().position(|found| found == line);
    let (deployed, removed) = (place_of("deploy next"), place_of("remove db"));
    assert!(deployed.is_some() && deployed < removed, "{journal:?}");
}

#[tokio::test]
async fn i31_an_installation_that_others_import_from_stays_and_names_them() {
    let land = shop().await;
    land.delete("Installation", "db").await;
    let held = land
        .until("Installation", "db", |object| {
            object["status"]["waitingOn"][0]["rule"] == "I31"
        })
        .await;
    assert_eq!(held["status"]["waitingOn"][0]["object"]["name"], "api");
    contains(text(&held["status"]["lastError"]["message"]), &["api"]);
    land.quiet().await;
    assert!(land.recorder.journal().is_empty());
    land.phase("web", "Succeeded").await;
    // The importer gives the import up.
    let (name, _, _) = &chain()[1];
    let free = spec(product("api", &[], &["url"]), wiring(&[], &["url"]));
    let mut free = json!({"spec": free});
    free["spec"]["imports"] = json!({"data": null});
    land.patch("Installation", name, free).await;
    land.gone("Installation", "db").await;
    land.phase("api", "Succeeded").await;
}

#[tokio::test]
async fn i34_a_broken_blueprint_keeps_nothing_from_going() {
    let land = shop().await;
    for name in NAMES {
        let broken = json!({"spec": {"blueprint": {"inline": {"filesystem": {
            "blueprint.yaml": "imports: {{{"}}}}});
        land.patch("Installation", name, broken).await;
    }
    land.phase("db", "Failed").await;
    land.quiet().await;
    for name in NAMES {
        land.delete("Installation", name).await;
    }
    for name in NAMES {
        land.gone("Installation", name).await;
    }
    assert_eq!(land.recorder.take(), ORDER);
}

#[tokio::test]
async fn i34_a_missing_import_and_a_changed_spec_keep_nothing_from_going() {
    let land = Landscape::new().await;
    land.data("port", json!(1)).await;
    let rest = json!({
        "context": "somewhere",
        "imports": {"data": [{"name": "port", "dataRef": "port"}]},
    });
    land.create("Context", "somewhere", json!({})).await;
    land.install("web", product("web", &["port"], &[]), rest)
        .await;
    land.phase("web", "Succeeded").await;
    land.delete("DataObject", "port").await;
    land.delete("Context", "somewhere").await;
    land.gone("DataObject", "port").await;
    // Not yet looked at when it is deleted.
    let other = json!({"spec": {"imports": {"data": [{"name": "port", "dataRef": "ghost"}]}}});
    land.patch("Installation", "web", other).await;
    land.delete("Installation", "web").await;
    land.gone("Installation", "web").await;
    assert_eq!(land.recorder.take(), ["deploy web", "remove web"]);
    assert!(land.names("Execution").await.is_empty());
}

#[tokio::test]
async fn i32_one_that_never_ran_goes_at_once() {
    let land = Landscape::new().await;
    land.install(
        "web",
        product("web", &["port"], &[]),
        wiring(&["port"], &[]),
    )
    .await;
    land.phase("web", "PendingDependencies").await;
    land.delete("Installation", "web").await;
    land.gone("Installation", "web").await;
}

#[tokio::test]
async fn i36_delete_without_uninstall_leaves_what_was_deployed() {
    let land = nested_shop().await;
    let key = "landscaper.gardener.cloud/delete-without-uninstall";
    land.annotate("Installation", "shop", key, "true").await;
    land.delete("Installation", "shop").await;
    land.gone("Installation", "shop").await;
    assert!(land.recorder.journal().is_empty());
    assert!(land.names("DeployItem").await.is_empty());
}

#[tokio::test]
async fn i35_a_removal_that_fails_is_told_at_the_root_and_tried_again_when_asked() {
    let land = nested_shop().await;
    land.recorder.break_removal(true);
    land.delete("Installation", "shop").await;
    let failed = land.phase("shop", "Failed").await;
    contains(
        text(&failed["status"]["lastError"]["message"]),
        &["the target refuses to let it go"],
    );
    land.recorder.break_removal(false);
    land.annotate("Installation", "shop", OPERATION, "reconcile")
        .await;
    land.gone("Installation", "shop").await;
    assert_eq!(land.recorder.take(), ORDER);
}

#[tokio::test]
async fn i30_force_takes_down_what_siblings_still_import_from() {
    let land = shop().await;
    land.delete("Installation", "db").await;
    land.annotate("Installation", "db", OPERATION, "force-reconcile")
        .await;
    land.gone("Installation", "db").await;
    land.quiet().await;
    assert!(land.recorder.take().contains(&"remove db".to_owned()));
    assert_eq!(land.names("Installation").await, ["api", "web"]);
}

#[tokio::test]
async fn i31b_the_order_holds_below_one_that_is_deleted_by_force() {
    let force = "force-reconcile";
    for (together, depth) in [(false, 0), (true, 0), (false, 1), (true, 2)] {
        let case = format!("together: {together}, depth {depth}");
        let mut land = nested_shop_in(depth).await;
        if together {
            land.stop().await;
        }
        land.delete("Installation", "shop").await;
        land.annotate("Installation", "shop", OPERATION, force)
            .await;
        if together {
            land.restart().await;
        }
        land.gone("Installation", "shop").await;
        assert_eq!(land.recorder.take(), ORDER, "{case}");
        assert!(land.names("Installation").await.is_empty(), "{case}");
    }
}

#[tokio::test]
async fn i30_force_goes_on_past_what_cannot_be_removed() {
    for clinging in NAMES {
        let land = nested_shop_in(0).await;
        land.recorder.cling(clinging);
        land.delete("Installation", "shop").await;
        land.annotate("Installation", "shop", OPERATION, "force-reconcile")
            .await;
        let nested = land.nested("shop", clinging).await;
        land.until("Installation", "shop", |shop| {
            let all = shop["status"]["waitingOn"].as_array();
            let left = all.map_or(0, Vec::len);
            shop["status"]["phase"] == "Failed" && left == 1
        })
        .await;
        land.quiet().await;
        let mut wanted = [nested.as_str(), "shop"];
        wanted.sort_unstable();
        assert_eq!(land.names("Installation").await, wanted);
        let mut removed = land.recorder.take();
        removed.retain(|line| line.starts_with("remove"));
        let mut order = ORDER.to_vec();
        order.retain(|line| !line.ends_with(clinging));
        assert_eq!(removed, order, "{clinging} clings");
        land.recorder.let_loose();
        land.annotate("Installation", "shop", OPERATION, "reconcile")
            .await;
        land.gone("Installation", "shop").await;
    }
}

#[tokio::test]
async fn r8b_an_item_that_takes_long_to_go_holds_back_no_other_installation() {
    let land = Landscape::new().await;
    for name in ["slow", "other"] {
        land.install(name, product(name, &[], &[]), json!({})).await;
        land.phase(name, "Succeeded").await;
    }
    land.quiet().await;
    land.recorder.take();
    land.recorder.hang_removal();
    land.delete("Installation", "slow").await;
    land.recorder.removing().await;

    land.install("late", product("late", &[], &[]), json!({}))
        .await;
    land.annotate("Installation", "other", OPERATION, "force-reconcile")
        .await;
    land.phase("late", "Succeeded").await;
    land.phase("other", "Succeeded").await;
    let mut journal = land.recorder.take();
    journal.retain(|line| line.starts_with("deploy"));
    journal.sort();
    assert_eq!(journal, ["deploy late", "deploy other"]);
    assert_eq!(
        land.get("Installation", "slow").await["status"]["phase"],
        "Deleting"
    );
}
