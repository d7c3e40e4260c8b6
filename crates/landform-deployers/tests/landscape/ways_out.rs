//! Removals that fail, what no deployer has begun, and what others have deleted: every state has a way out.

use futures::StreamExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, PropagationPolicy};
use kube::runtime::watcher;
use landform_deployers::DeployItems;
use landform_deployers::command::CommandDeployer;
use serde_json::{Value, json};

use crate::harness::{
    Landscape, OPERATION, contains, data_import, files, product, spec, template, text, wiring,
};
use crate::nested::sub;
use crate::recorder::Recorder;

const BARE: &str = "landscaper.gardener.cloud/delete-without-uninstall";

/// An installation with one nested installation, whose item has this name.
fn around(inner: Value) -> Value {
    json!({"subinstallations": [{"name": "inner", "blueprint": {"filesystem": files(inner)}}]})
}

fn items(items: &str) -> Value {
    json!({"deployExecutions": template("items", &format!("deployItems: [{items}]"))})
}

fn recorded(name: &str) -> String {
    format!("{{name: {name}, type: test.dev/recorder}}")
}

async fn installed(blueprint: Value) -> Landscape {
    let land = Landscape::new().await;
    land.install("root", blueprint, json!({})).await;
    land.phase("root", "Succeeded").await;
    land.quiet().await;
    land.recorder.take();
    land
}

async fn change(land: &Landscape, blueprint: Value) {
    let spec = spec(blueprint, json!({}));
    land.patch("Installation", "root", json!({"spec": spec}))
        .await;
}

fn has_failed(object: &Value) -> bool {
    object["status"]["phase"] == "Failed" && object["metadata"]["annotations"][OPERATION].is_null()
}

/// All levels show the error.
async fn all_have_failed(land: &Landscape, pieces: &[&str]) {
    land.phase("root", "Failed").await;
    for kind in ["Installation", "Execution", "DeployItem"] {
        for object in land.list(kind).await {
            assert!(has_failed(&object), "{kind}: {:#}", object["status"]);
            contains(text(&object["status"]["lastError"]["message"]), pieces);
        }
    }
}

#[tokio::test]
async fn i35b_a_removal_that_fails_is_failed_at_every_level_and_goes_on_by_itself() {
    let land = installed(around(items(&recorded("db")))).await;
    land.recorder.cling("db");
    land.delete("Installation", "root").await;
    all_have_failed(&land, &["it clings"]).await;
    land.recorder.let_loose();
    land.gone("Installation", "root").await;
    assert_eq!(land.recorder.take().last().unwrap(), "remove db");
    assert!(land.names("DeployItem").await.is_empty());
}

#[tokio::test]
async fn i35b_e10_a_removal_is_tried_again_at_once_when_any_level_is_asked_to() {
    for level in ["DeployItem", "Execution", "inner", "root"] {
        let land = installed(around(items(&recorded("db")))).await;
        let inner = land.nested("root", "inner").await;
        // It is given up, so that nothing comes by itself.
        land.recorder.break_removal(true);
        land.delete("Installation", "root").await;
        all_have_failed(&land, &["the target refuses to let it go"]).await;
        land.recorder.break_removal(false);
        let (kind, name) = match level {
            "inner" => ("Installation", inner),
            "root" => ("Installation", level.to_owned()),
            kind => (kind, land.names(kind).await.remove(0)),
        };
        land.annotate(kind, &name, OPERATION, "reconcile").await;
        land.gone("Installation", "root").await;
        assert_eq!(land.recorder.take(), ["remove db"], "{level}");
    }
}

#[tokio::test]
async fn i35b_e6_an_item_that_is_left_out_and_can_not_go_is_told_at_the_root() {
    let both = || items(&format!("{}, {}", recorded("db"), recorded("extra")));
    let land = installed(both()).await;
    land.recorder.break_removal(true);
    change(&land, items(&recorded("db"))).await;
    let failed = land.phase("root", "Failed").await;
    contains(
        text(&failed["status"]["lastError"]["message"]),
        &["extra", "the target refuses to let it go"],
    );
    // It is wanted again: it can't be before it is gone.
    change(&land, both()).await;
    land.until("Installation", "root", |object| {
        has_failed(object)
            && object["status"]["observedGeneration"] == object["metadata"]["generation"]
    })
    .await;
    land.recorder.break_removal(false);
    land.annotate("Installation", "root", OPERATION, "reconcile")
        .await;
    land.phase("root", "Succeeded").await;
    assert_eq!(land.names("DeployItem").await.len(), 2);
    let journal = land.recorder.take();
    let last = journal.iter().filter(|line| line.ends_with("extra"));
    assert_eq!(last.collect::<Vec<_>>(), ["remove extra", "deploy extra"]);
}

#[tokio::test]
async fn i35b_a_nested_installation_that_is_left_out_and_can_not_go_is_told_at_the_root() {
    let with = |names: &[&str]| {
        let nested = names.iter().map(|name| {
            let blueprint = items(&recorded(name));
            json!({"name": name, "blueprint": {"filesystem": files(blueprint)}})
        });
        json!({"subinstallations": nested.collect::<Vec<_>>()})
    };
    let land = installed(with(&["db", "extra"])).await;
    land.recorder.break_removal(true);
    for wanted in [&["db"][..], &["db", "extra"]] {
        change(&land, with(wanted)).await;
        let failed = land
            .until("Installation", "root", |object| {
                let message = text(&object["status"]["lastError"]["message"]);
                let ended = &object["status"]["endedGeneration"];
                has_failed(object)
                    && message.contains("the target refuses to let it go")
                    && *ended == object["metadata"]["generation"]
            })
            .await;
        contains(text(&failed["status"]["lastError"]["message"]), &["extra"]);
    }
    land.recorder.break_removal(false);
    land.annotate("Installation", "root", OPERATION, "reconcile")
        .await;
    land.phase("root", "Succeeded").await;
    let journal = land.recorder.take();
    assert_eq!(journal, ["remove extra", "deploy extra"]);
}

/// Two nested installations, of which the second imports from the first.
fn pair() -> Value {
    let nested = [
        ("a", product("a", &["x"], &["y"]), wiring(&["x"], &["y"])),
        ("b", product("b", &["y"], &[]), wiring(&["y"], &[])),
    ];
    let nested = nested.map(|(name, blueprint, mut rest)| {
        rest["name"] = name.into();
        rest["blueprint"] = json!({"filesystem": files(blueprint)});
        rest
    });
    let import = json!([{"name": "x", "type": "data", "schema": {}}]);
    json!({"imports": import, "subinstallations": nested})
}

#[tokio::test]
async fn i5b_a_nested_installation_that_others_import_from_is_made_again_when_it_is_deleted() {
    let land = Landscape::new().await;
    land.data("x", json!(1)).await;
    land.install("root", pair(), wiring(&["x"], &[])).await;
    land.phase("root", "Succeeded").await;
    land.quiet().await;
    land.recorder.take();
    let a = land.nested("root", "a").await;
    let before = land.get("Installation", &a).await["metadata"]["uid"].clone();
    land.delete("Installation", &a).await;
    land.until("Installation", &a, |object| {
        !object.is_null() && object["metadata"]["uid"] != before
    })
    .await;
    land.phase("root", "Succeeded").await;
    land.phase(&a, "Succeeded").await;
    land.quiet().await;
    let journal = land.recorder.take();
    assert_eq!(journal[..2], ["remove a", "deploy a"]);
    assert!(!journal.contains(&"remove b".to_owned()), "{journal:?}");
    land.patch("DataObject", "x", json!({"data": 2})).await;
    land.quiet().await;
    land.phase("root", "Succeeded").await;
    assert_eq!(land.config(&a, "a").await["imports"]["x"], 2);
}

#[tokio::test]
async fn e9_e10_an_item_that_others_depend_on_is_made_again_when_it_is_deleted() {
    let second = "{name: second, type: test.dev/recorder, dependsOn: [first]}";
    let land = installed(items(&format!("{}, {second}", recorded("first")))).await;
    let first = item(&land, "first").await;
    let before = land.get("DeployItem", &first).await["metadata"]["uid"].clone();
    land.delete("DeployItem", &first).await;
    land.until("DeployItem", &first, |object| {
        let phase = &object["status"]["phase"];
        object["metadata"]["uid"] != before && phase == "Succeeded"
    })
    .await;
    land.phase("root", "Succeeded").await;
    // What depends on it has stayed.
    assert_eq!(land.recorder.take(), ["remove first", "deploy first"]);
    land.delete("Installation", "root").await;
    land.gone("Installation", "root").await;
    assert_eq!(land.recorder.take(), ["remove second", "remove first"]);
}

#[tokio::test]
async fn i31b_g13_installations_and_executions_are_not_orphaned() {
    let land = installed(around(items(&recorded("db")))).await;
    let inner = land.nested("root", "inner").await;
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    for (kind, name) in [
        ("Installation", "root"),
        ("Installation", &inner),
        ("Execution", &inner),
    ] {
        let refused = land.api(kind).delete(name, &orphan).await.unwrap_err();
        let kube::Error::Api(status) = refused else {
            panic!("{refused}");
        };
        assert_eq!(status.code, 403);
        contains(&status.message, &[name, &format!("{BARE}=true")]);
    }
    land.quiet().await;
    assert!(land.recorder.take().is_empty());
    // As the answer says.
    land.annotate("Installation", "root", BARE, "true").await;
    land.delete("Installation", "root").await;
    land.gone("Installation", "root").await;
    assert!(land.recorder.take().is_empty());

    // One that carries the finalizer of that policy ends, too.
    let land = installed(around(items(&recorded("db")))).await;
    let inner = land.nested("root", "inner").await;
    for (kind, name) in [("Installation", "root"), ("Execution", &inner)] {
        let mut finalizers = land.get(kind, name).await["metadata"]["finalizers"].clone();
        finalizers.as_array_mut().unwrap().push("orphan".into());
        let metadata = json!({"metadata": {"finalizers": finalizers}});
        land.patch(kind, name, metadata).await;
    }
    let api = land.api("Installation");
    api.delete("root", &DeleteParams::default()).await.unwrap();
    land.gone("Installation", "root").await;
    assert_eq!(land.recorder.take(), ["remove db"]);
    assert!(land.names("DeployItem").await.is_empty());
}

#[tokio::test]
async fn i35b_i36_what_is_left_out_and_can_not_go_is_let_go_while_the_installation_lives() {
    for is_nested in [false, true] {
        let nest = |blueprint| {
            if is_nested {
                around(blueprint)
            } else {
                blueprint
            }
        };
        let both = items(&format!("{}, {}", recorded("db"), recorded("extra")));
        let land = installed(nest(both)).await;
        land.recorder.break_removal(true);
        change(&land, nest(items(&recorded("db")))).await;
        let root = land.phase("root", "Failed").await;
        let message = text(&root["status"]["lastError"]["message"]);
        contains(message, &["extra", "refuses to let it go"]);
        land.annotate("Installation", "root", BARE, "true").await;
        land.phase("root", "Succeeded").await;
        assert_eq!(land.names("DeployItem").await.len(), 1, "{is_nested}");
        // It was about what was to go then.
        land.recorder.break_removal(false);
        let no_more = json!({"metadata": {"annotations": {BARE: null}}});
        land.patch("Installation", "root", no_more).await;
        land.recorder.take();
        land.delete("Installation", "root").await;
        land.gone("Installation", "root").await;
        assert_eq!(land.recorder.take(), ["remove db"], "{is_nested}");
    }
}

/// The name in the API of an item.
async fn item(land: &Landscape, name: &str) -> String {
    let items = land.list("DeployItem").await;
    let key = "execution.landscaper.gardener.cloud/name";
    let found = items
        .iter()
        .find(|item| item["metadata"]["labels"][key] == name);
    text(&found.unwrap()["metadata"]["name"]).to_owned()
}

#[tokio::test]
async fn i35b_the_error_of_a_removal_replaces_that_of_an_importer_that_is_gone() {
    let land = Landscape::new().await;
    land.install("db", product("db", &[], &["y"]), wiring(&[], &["y"]))
        .await;
    land.install("api", product("api", &["y"], &[]), wiring(&["y"], &[]))
        .await;
    land.phase("api", "Succeeded").await;
    land.recorder.cling("db");
    land.delete("Installation", "db").await;
    let held = |object: &Value| object["status"]["lastError"]["reason"] == "SiblingImports";
    land.until("Installation", "db", held).await;
    land.delete("Installation", "api").await;
    let failed = land.phase("db", "Failed").await;
    contains(
        text(&failed["status"]["lastError"]["message"]),
        &["it clings"],
    );
    land.recorder.let_loose();
    land.gone("Installation", "db").await;
}

/// Nested, and at work until it is released or stopped.
async fn at_work() -> Landscape {
    let land = Landscape::new().await;
    let endless = items("{name: endless, type: test.dev/recorder, config: {hold: true}}");
    land.install("root", around(endless), json!({})).await;
    let inner = land.nested("root", "inner").await;
    land.until("Execution", &inner, |object| {
        object["status"]["phase"] == "Progressing"
    })
    .await;
    let item = land.names("DeployItem").await.remove(0);
    land.until("DeployItem", &item, |object| {
        object["status"]["phase"] == "Progressing"
    })
    .await;
    land
}

#[tokio::test]
async fn i36_an_item_at_work_is_let_go_when_what_it_deployed_may_stay() {
    for bare_first in [true, false] {
        let land = at_work().await;
        if bare_first {
            land.annotate("Installation", "root", BARE, "true").await;
            land.delete("Installation", "root").await;
        } else {
            land.delete("Installation", "root").await;
            land.until("Installation", "root", |object| {
                object["status"]["phase"] == "Deleting"
            })
            .await;
            land.annotate("Installation", "root", BARE, "true").await;
        }
        land.gone("Installation", "root").await;
        let journal = land.recorder.take();
        assert!(!journal.contains(&"remove endless".to_owned()));
        land.quiet().await;
        assert!(land.recorder.take().is_empty(), "it has stopped");
        assert!(land.names("DeployItem").await.is_empty());
    }
}

#[tokio::test]
async fn i12_a_changed_blueprint_starts_again_what_was_aborted_below() {
    let land = at_work().await;
    land.annotate("Installation", "root", OPERATION, "abort")
        .await;
    land.phase("root", "Aborted").await;
    land.recorder.release();
    land.recorder.take();
    let other = json!({"spec": {"blueprint": {"inline": {"filesystem": {"note.txt": "another"}}}}});
    land.patch("Installation", "root", other).await;
    land.phase("root", "Succeeded").await;
    assert_eq!(land.recorder.take(), ["deploy endless"]);
}

/// Where something is that a blueprint deploys.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Root,
    Nested,
    /// In a nested installation that another one imports from.
    BeforeAnother,
}

impl Place {
    const ALL: [Self; 3] = [Self::Root, Self::Nested, Self::BeforeAnother];

    fn around(self, mut inner: Value) -> Value {
        match self {
            Self::Root => inner,
            Self::Nested => around(inner),
            Self::BeforeAnother => {
                inner["exports"] = json!([data_import("between", json!({}))]);
                inner["exportExecutions"] = template("exports", "exports: {between: 1}");
                let after = product("after", &["between"], &[]);
                json!({"subinstallations": [
                    sub("inner", inner, wiring(&[], &["between"])),
                    sub("after", after, wiring(&["between"], &[])),
                ]})
            }
        }
    }

    /// What is deployed when its item `lost` is right.
    fn deployed(self) -> &'static [&'static str] {
        match self {
            Self::Root | Self::Nested => &["deploy lost"],
            Self::BeforeAnother => &["deploy lost", "deploy after"],
        }
    }
}

/// An item of a type that has no deployer.
async fn unclaimed(place: Place) -> Landscape {
    let land = Landscape::new().await;
    let lost = items("{name: lost, type: example.com/none}");
    land.install("root", place.around(lost), json!({})).await;
    let root = land
        .until("Installation", "root", |object| {
            object["status"]["waitingOn"][0]["rule"] == "E12"
        })
        .await;
    assert_eq!(root["status"]["phase"], "Progressing");
    land
}

#[tokio::test]
async fn i11b_e12_what_no_deployer_has_begun_can_be_corrected_aborted_and_deleted() {
    for place in Place::ALL {
        let right = place.around(items(&recorded("lost")));
        let land = unclaimed(place).await;
        change(&land, right.clone()).await;
        land.phase("root", "Succeeded").await;
        assert_eq!(land.recorder.take(), place.deployed(), "{place:?}");

        let land = unclaimed(place).await;
        land.delete("Installation", "root").await;
        land.gone("Installation", "root").await;
        assert!(land.names("DeployItem").await.is_empty());

        let land = unclaimed(place).await;
        land.annotate("Installation", "root", OPERATION, "abort")
            .await;
        land.phase("root", "Aborted").await;
        change(&land, right.clone()).await;
        land.phase("root", "Succeeded").await;
        assert_eq!(land.recorder.take(), place.deployed(), "{place:?}");

        // The old word is not for the new item.
        let land = unclaimed(place).await;
        let spec = spec(right, json!({}));
        let annotations = json!({OPERATION: "abort"});
        let all = json!({"spec": spec, "metadata": {"annotations": annotations}});
        land.patch("Installation", "root", all).await;
        land.annotate("Installation", "root", OPERATION, "force-reconcile")
            .await;
        land.phase("root", "Succeeded").await;
        assert_eq!(land.recorder.take(), place.deployed(), "{place:?}");
    }
}

#[tokio::test]
async fn i33_e12_what_was_deployed_goes_by_its_deployer_when_the_type_was_mistyped_since() {
    let mistyped = || items("{name: db, type: example.com/none}");
    for is_nested in [false, true] {
        let nest = |blueprint| {
            if is_nested {
                around(blueprint)
            } else {
                blueprint
            }
        };
        let land = installed(nest(items(&recorded("db")))).await;
        change(&land, nest(mistyped())).await;
        land.until("Installation", "root", |object| {
            object["status"]["waitingOn"][0]["rule"] == "E12"
        })
        .await;
        land.delete("Installation", "root").await;
        land.gone("Installation", "root").await;
        assert_eq!(land.recorder.take(), ["remove db"], "{is_nested}");
    }
}

#[tokio::test]
async fn e12_an_item_that_a_deployer_elsewhere_has_ended_waits_for_nothing() {
    let land = unclaimed(Place::Root).await;
    let name = land.names("DeployItem").await.remove(0);
    let taken = json!({"metadata": {"annotations": {
        "landscaper.gardener.cloud/reconcile-time": null}}});
    land.patch("DeployItem", &name, taken).await;
    let ended = json!({"status": {"phase": "Failed", "observedGeneration": 1}});
    let patched = land
        .api("DeployItem")
        .patch_status(&name, &PatchParams::default(), &Patch::Merge(ended))
        .await;
    patched.unwrap();
    land.until("DeployItem", &name, |object| {
        object["status"]["phase"] == "Failed" && object["status"]["waitingOn"].is_null()
    })
    .await;
    land.phase("root", "Failed").await;
}

#[tokio::test]
async fn i10b_a_root_shows_no_success_while_a_forced_nested_installation_is_at_work() {
    let land = installed(around(items(&recorded("db")))).await;
    let inner = land.nested("root", "inner").await;
    let watched = watcher::watch_object(land.api("Installation"), "root");
    let mut watch = std::pin::pin!(watched);
    let mut phases: Vec<String> = Vec::new();
    let mut asked = false;
    while phases.len() < 3 {
        let seen = watch.next().await.unwrap().unwrap();
        let phase = seen.unwrap().data["status"]["phase"].clone();
        if phases.last().is_none_or(|last| phase != last.as_str()) {
            phases.push(text(&phase).to_owned());
        }
        if !asked {
            asked = true;
            land.annotate("Installation", &inner, OPERATION, "force-reconcile")
                .await;
        }
    }
    assert_eq!(phases, ["Succeeded", "Progressing", "Succeeded"]);
    assert_eq!(land.recorder.take(), ["deploy db"], "it was done before");
    land.quiet().await;
    assert!(land.recorder.take().is_empty());
}

#[tokio::test]
async fn i36_an_item_that_goes_without_being_removed_leaves_no_directory() {
    for bare in [false, true] {
        let data = tempfile::tempdir().unwrap();
        let recorder = Recorder::default();
        let commands = CommandDeployer::new(data.path());
        let items = DeployItems::new().with(recorder.clone()).with(commands);
        let land = Landscape::with(items, recorder).await;
        let outside = data.path().join("deployed");
        let script = format!(
            "touch {0}; [ $OPERATION = RECONCILE ] || rm {0}",
            outside.display()
        );
        let config = json!({"command": ["sh", "-ec", script], "importValues": {"a": 1}});
        let items =
            format!("deployItems: [{{name: own, type: landform.dev/command, config: {config}}}]");
        let blueprint = json!({"deployExecutions": template("items", &items)});
        land.install("root", blueprint, json!({})).await;
        land.phase("root", "Succeeded").await;
        let uid = text(&land.list("DeployItem").await[0]["metadata"]["uid"]).to_owned();
        let directory = data.path().join("commands").join(uid);
        assert!(directory.exists() && outside.exists());
        if bare {
            let key = "landscaper.gardener.cloud/delete-without-uninstall";
            land.annotate("Installation", "root", key, "true").await;
        }
        land.delete("Installation", "root").await;
        land.gone("Installation", "root").await;
        assert!(!directory.exists(), "bare: {bare}");
        assert_eq!(outside.exists(), bare, "what was deployed");
    }
}
