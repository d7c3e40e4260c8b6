//! What Landform made keeps belonging to the installation that it was made for, when others remove its owner references and labels (I5b).

use landform_engine::view::Filter;
use serde_json::{Value, json};

use crate::harness::{
    Landscape, OPERATION, contains, data_import, product, spec, template, text, wiring,
};
use crate::nested::sub;

const NESTED: &str = "Installation";
const DATA: &str = "DataObject";
const TARGET: &str = "Target";

/// A root in which `b` imports what `a` exports; both get the target and the data of the root, which exports what both export.
async fn root() -> (Landscape, [String; 2]) {
    let land = Landscape::new().await;
    land.data("given", json!(1)).await;
    land.target("place", json!({"at": "here"})).await;
    let place = || json!({"name": "place", "type": "target", "targetType": "test.dev/place"});
    let targets = || json!([{"name": "place", "target": "place"}]);
    let mut inner = product("b", &["given", "x"], &["out"]);
    inner["imports"].as_array_mut().unwrap().push(place());
    inner["exports"].as_array_mut().unwrap().push(place());
    inner["exportExecutions"] = template(
        "exports",
        "exports:\n  out: {{ .values.deployitems.b.value }}\n  place: {type: test.dev/place, config: {at: there}}\n",
    );
    let mut of_b = wiring(&["given", "x"], &["out"]);
    of_b["imports"]["targets"] = targets();
    of_b["exports"]["targets"] = json!([{"name": "place", "target": "made"}]);
    let blueprint = json!({
        "imports": [data_import("given", json!({})), place()],
        "exports": [data_import("out", json!({}))],
        "subinstallations": [
            sub("a", product("a", &["given"], &["x"]), wiring(&["given"], &["x"])),
            sub("b", inner, of_b),
        ],
        "exportExecutions": template("exports", "exports: {out: {{ .values.dataobjects.out }}}"),
    });
    let mut outside = wiring(&["given"], &["out"]);
    outside["imports"]["targets"] = targets();
    land.install("root", blueprint, outside).await;
    land.phase("root", "Succeeded").await;
    land.quiet().await;
    let nested = [
        land.nested("root", "a").await,
        land.nested("root", "b").await,
    ];
    (land, nested)
}

/// Whose each object says that it is.
async fn belongings(land: &Landscape) -> Vec<Value> {
    let mut all = Vec::new();
    for kind in [NESTED, "Execution", "DeployItem", DATA, TARGET] {
        for object in land.list(kind).await {
            let metadata = &object["metadata"];
            all.push(json!([
                kind,
                metadata["name"],
                metadata["labels"],
                metadata["ownerReferences"],
                object["status"]["phase"],
            ]));
        }
    }
    all
}

/// A changed import reaches everything, and nothing is left after the deletion but what a person made.
async fn goes_on(land: &Landscape, case: &str) {
    land.recorder.take();
    land.patch(DATA, "given", json!({"data": 2})).await;
    land.until(NESTED, "root", |root| {
        root["status"]["phase"] != "Succeeded"
    })
    .await;
    land.phase("root", "Succeeded").await;
    land.quiet().await;
    assert_eq!(land.recorder.take(), ["deploy a", "deploy b"], "{case}");
    land.delete(NESTED, "root").await;
    land.gone(NESTED, "root").await;
    for kind in [NESTED, "Execution", "DeployItem"] {
        assert!(land.names(kind).await.is_empty(), "{case}: {kind}");
    }
    land.left(DATA, &["given"]).await;
    land.left(TARGET, &["place"]).await;
    assert_eq!(land.recorder.take(), ["remove b", "remove a"], "{case}");
}

#[tokio::test]
async fn i5b_a_nested_installation_is_put_right_whoever_is_looked_at_first() {
    let owners = || json!({"metadata": {"ownerReferences": null}});
    let labels = || json!({"metadata": {"labels": null}});
    let all = || {
        json!({"metadata": {
            "labels": null, "ownerReferences": null,
            "annotations": {"landscaper.gardener.cloud/subinstallation-name": null},
        }})
    };
    let whom: [&[usize]; 3] = [&[0], &[1], &[0, 1]];
    let (land, nested) = root().await;
    let well = belongings(&land).await;
    for change in [owners(), labels(), all()] {
        for whom in whom {
            for operation in [None, Some("reconcile")] {
                let case = format!("{change} of {whom:?}, {operation:?}");
                land.recorder.take();
                for at in whom {
                    let mut change = change.clone();
                    if let Some(operation) = operation {
                        change["metadata"]["annotations"][OPERATION] = json!(operation);
                    }
                    land.patch(NESTED, &nested[*at], change).await;
                }
                land.quiet().await;
                land.phase("root", "Succeeded").await;
                assert_eq!(belongings(&land).await, well, "{case}");
                assert!(land.recorder.take().is_empty(), "{case}");
            }
        }
    }
    for at in [0, 1] {
        land.patch(NESTED, &nested[at], owners()).await;
    }
    goes_on(&land, "the import changes at once").await;
}

#[tokio::test]
async fn i5b_a_nested_installation_that_goes_is_put_right_first() {
    let (mut land, nested) = root().await;
    land.stop().await;
    for name in &nested {
        let change = json!({"metadata": {"labels": null, "ownerReferences": null}});
        land.patch(NESTED, name, change).await;
        land.delete(NESTED, name).await;
    }
    land.delete(NESTED, "root").await;
    land.recorder.take();
    land.restart().await;
    land.gone(NESTED, "root").await;
    assert!(land.names(NESTED).await.is_empty());
    assert_eq!(land.recorder.take(), ["remove b", "remove a"]);
}

#[tokio::test]
async fn i5b_exports_and_what_is_passed_on_get_their_owners_back() {
    let owners = || json!({"metadata": {"ownerReferences": null}});
    for stopped in [false, true] {
        let (mut land, _) = root().await;
        let well = belongings(&land).await;
        if stopped {
            land.stop().await;
        }
        for kind in [DATA, TARGET] {
            for object in land.list(kind).await {
                let name = text(&object["metadata"]["name"]);
                let of_landform = object["metadata"]["ownerReferences"].is_array();
                if of_landform {
                    land.patch(kind, name, owners()).await;
                }
            }
        }
        if stopped {
            land.restart().await;
        }
        land.quiet().await;
        assert_eq!(belongings(&land).await, well, "stopped: {stopped}");
        goes_on(&land, "after the repair").await;
    }
}

#[tokio::test]
async fn i5b_exports_without_owners_go_with_their_installation() {
    let (mut land, _) = root().await;
    land.stop().await;
    for kind in [DATA, TARGET] {
        for object in land.list(kind).await {
            if object["metadata"]["ownerReferences"].is_array() {
                let name = text(&object["metadata"]["name"]);
                let change = json!({"metadata": {"ownerReferences": null}});
                land.patch(kind, name, change).await;
            }
        }
    }
    land.delete(NESTED, "root").await;
    land.restart().await;
    land.gone(NESTED, "root").await;
    land.left(DATA, &["given"]).await;
    land.left(TARGET, &["place"]).await;
}

#[tokio::test]
async fn i40b_labels_make_nothing_an_installations_that_a_person_made() {
    let land = Landscape::new().await;
    // As an export of "c" would look.
    let data = "data.landscaper.gardener.cloud";
    let labels = json!({
        format!("{data}/sourceType"): "export", format!("{data}/key"): "cfg",
        format!("{data}/source"): "Inst.c",
    });
    let annotations = json!({"landform.dev/maker": "{\"uid\":\"made-up\"}"});
    let content = json!({"data": 5, "metadata": {"labels": labels, "annotations": annotations}});
    land.create(DATA, "cfg", content).await;
    land.install("c", product("make", &[], &["cfg"]), wiring(&[], &["cfg"]))
        .await;
    land.fails("c", &["cfg", "is not this installation's: delete it"])
        .await;
    land.delete(NESTED, "c").await;
    land.gone(NESTED, "c").await;
    land.quiet().await;
    assert_eq!(land.get(DATA, "cfg").await["data"], 5);
}

const MAKER: &str = "landform.dev/maker";

/// The uid of what the API server notes as the maker, and that of the owner.
async fn maker_and_owner(land: &Landscape, kind: &str, name: &str) -> (Value, Value) {
    let object = land.get(kind, name).await;
    let note = object["metadata"]["annotations"][MAKER].as_str();
    let note: Value = serde_json::from_str(note.unwrap_or("{}")).unwrap();
    let owner = &object["metadata"]["ownerReferences"][0]["uid"];
    (note["uid"].clone(), owner.clone())
}

#[tokio::test]
async fn i5b_i40b_an_export_that_was_taken_over_is_noted_as_the_heirs() {
    let land = Landscape::new().await;
    land.install("a", product("a", &[], &["y"]), wiring(&[], &["y"]))
        .await;
    land.phase("a", "Succeeded").await;
    let other = spec(product("a", &[], &["z"]), wiring(&[], &["z"]));
    land.patch(NESTED, "a", json!({"spec": other})).await;
    land.install("b", product("b", &[], &["y"]), wiring(&[], &["y"]))
        .await;
    land.phase("a", "Succeeded").await;
    land.phase("b", "Succeeded").await;
    land.quiet().await;
    let heir = land.get(NESTED, "b").await["metadata"]["uid"].clone();
    let expected = (heir.clone(), heir);
    assert_eq!(maker_and_owner(&land, DATA, "y").await, expected);
    let change = json!({"metadata": {"ownerReferences": null}});
    land.patch(DATA, "y", change).await;
    land.quiet().await;
    assert_eq!(maker_and_owner(&land, DATA, "y").await, expected);
    // The former owner takes nothing along.
    land.delete(NESTED, "a").await;
    land.gone(NESTED, "a").await;
    land.quiet().await;
    assert_eq!(maker_and_owner(&land, DATA, "y").await, expected);
}

#[tokio::test]
async fn i5b_what_an_earlier_version_made_without_a_note_gets_one() {
    let (mut land, _) = root().await;
    let well = belongings(&land).await;
    land.stop().await;
    let mut made_before = Vec::new();
    for kind in [DATA, TARGET] {
        for mut object in land.list(kind).await {
            let name = text(&object["metadata"]["name"]).to_owned();
            if object["metadata"]["annotations"][MAKER].is_string() {
                land.delete(kind, &name).await;
                for field in ["uid", "resourceVersion", "creationTimestamp"] {
                    object["metadata"].as_object_mut().unwrap().remove(field);
                }
                // No client writes a note.
                land.create(kind, &name, object).await;
                let (noted, _) = maker_and_owner(&land, kind, &name).await;
                assert_eq!(noted, Value::Null, "{kind} {name}");
                made_before.push((kind, name));
            }
        }
    }
    assert!(made_before.len() > 3, "{made_before:?}");
    land.restart().await;
    land.quiet().await;
    for (kind, name) in &made_before {
        let (noted, owner) = maker_and_owner(&land, kind, name).await;
        assert_eq!(noted, owner, "{kind} {name}");
    }
    assert_eq!(belongings(&land).await, well);
    for (kind, name) in &made_before {
        let change = json!({"metadata": {"ownerReferences": null}});
        land.patch(kind, name, change).await;
    }
    land.quiet().await;
    assert_eq!(belongings(&land).await, well);
    goes_on(&land, "after the notes").await;
}

#[tokio::test]
async fn i1_i5b_what_an_ignored_parent_would_put_right_says_so() {
    const IGNORE: &str = "landscaper.gardener.cloud/ignore";
    let (land, nested) = root().await;
    let uid = land.get(NESTED, &nested[1]).await["metadata"]["uid"].clone();
    land.annotate(NESTED, "root", IGNORE, "true").await;
    land.quiet().await;
    let change = json!({"metadata": {"labels": null, "ownerReferences": null}});
    land.patch(NESTED, &nested[1], change).await;
    land.delete(NESTED, &nested[1]).await;
    land.quiet().await;
    let all = Filter {
        limit: usize::MAX,
        ..Filter::default()
    };
    let (objects, _) = land.engine.objects(all).await.unwrap();
    let mut nested_ones = objects.iter().filter(|found| found.object.kind == NESTED);
    let found = nested_ones.find(|found| found.object.name == nested[1]);
    let waits = found.unwrap().waiting_for.clone().unwrap_or_default();
    contains(&waits, &["Installation root", "ignored", IGNORE]);
    land.patch(
        NESTED,
        "root",
        json!({"metadata": {"annotations": {IGNORE: null}}}),
    )
    .await;
    land.until(NESTED, &nested[1], |found| {
        !found.is_null()
            && found["metadata"]["uid"] != uid
            && found["status"]["phase"] == "Succeeded"
    })
    .await;
    land.quiet().await;
    land.phase("root", "Succeeded").await;
}
