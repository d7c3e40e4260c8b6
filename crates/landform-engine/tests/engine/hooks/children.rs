//! Children and status: as the hook says, and whatever others do to them.

use serde_json::json;

use super::server::HookServer;
use super::stage::{Stage, map};
use crate::harness::GROUP;

#[tokio::test]
async fn r2_a_hook_makes_children_and_status() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    let toy = stage.world.create("a", json!({"value": 1})).await;
    let call = hook.call_for("a").await;
    let request = call.request.clone();
    call.answer(json!({"status": {"sum": 1}, "owned": [map("m", json!({"k": "v"}))]}));
    stage.success_of("a").await;

    assert_eq!(request["object"]["kind"], "Toy");
    assert_eq!(request["object"]["spec"], json!({"value": 1}));
    let rest =
        ["refs", "owned", "reason", "renamedFrom", "deleting"].map(|name| request[name].clone());
    assert_eq!(
        rest,
        [
            json!([]),
            json!([]),
            json!("appeared"),
            json!(null),
            json!(false)
        ]
    );
    assert_eq!(stage.world.status("a").await, json!({"sum": 1}));
    let made = stage.world.maps().get("m").await.unwrap();
    assert_eq!(made.data["data"], json!({"k": "v"}));
    let owners = serde_json::to_value(made.metadata.owner_references).unwrap();
    let owner = json!([{
        "apiVersion": format!("{GROUP}/v1"), "kind": "Toy", "name": "a", "uid": toy.metadata.uid,
        "controller": true, "blockOwnerDeletion": true,
    }]);
    assert_eq!(owners, owner);
}

#[tokio::test]
async fn r2_r5_a_child_that_others_change_or_delete_is_put_right_and_own_writes_bring_no_run() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    let maps = stage.world.maps();
    let answer = json!({"status": {"sum": 1}, "owned": [map("m", json!({"k": "v"}))]});
    stage.world.create("a", json!({})).await;
    hook.call_for("a").await.answer(answer.clone());
    stage.success_of("a").await;

    stage
        .patch(&maps, "m", json!({"data": {"k": "wrong", "theirs": "x"}}))
        .await;
    let call = hook.call_for("a").await;
    assert_eq!(call.request["reason"], "owned");
    assert_eq!(call.request["owned"][0]["kind"], "ConfigMap");
    assert_eq!(call.request["owned"][0]["data"]["k"], "wrong");
    call.answer(answer.clone());
    stage.success_of("a").await;
    let right = maps.get("m").await.unwrap();
    assert_eq!(right.data["data"], json!({"k": "v", "theirs": "x"}));

    stage.delete(&maps, "m").await;
    hook.call_for("a").await.answer(answer.clone());
    stage.success_of("a").await;
    let anew = maps.get("m").await.unwrap();
    assert_eq!(anew.data["data"], json!({"k": "v"}));
    assert_ne!(anew.metadata.uid, right.metadata.uid);

    // Convergence, then silence: the next call is that of another object, and an answer that says
    // nothing new writes nothing.
    stage.world.create("z", json!({})).await;
    hook.call_for("z").await.answer(json!({}));
    stage.success_of("z").await;
    stage.world.update("a", json!({"value": 2})).await;
    hook.call_for("a").await.answer(answer);
    stage.success_of("a").await;
    let still = maps.get("m").await.unwrap();
    assert_eq!(
        still.metadata.resource_version,
        anew.metadata.resource_version
    );
}

#[tokio::test]
async fn a_child_or_a_field_that_is_dropped_from_the_answer_goes() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    let maps = stage.world.maps();
    stage.world.create("a", json!({})).await;
    let two = json!({"owned": [map("m", json!({"k": "v", "old": "x"})), map("n", json!({}))]});
    hook.call_for("a").await.answer(two);
    stage.success_of("a").await;
    assert!(maps.get_opt("n").await.unwrap().is_some());

    stage.world.update("a", json!({"value": 2})).await;
    let call = hook.call_for("a").await;
    assert_eq!(call.request["reason"], "changed");
    assert_eq!(call.request["owned"].as_array().unwrap().len(), 2);
    call.answer(json!({"owned": [map("m", json!({"k": "v"}))]}));
    stage.success_of("a").await;
    assert!(maps.get_opt("n").await.unwrap().is_none());
    assert_eq!(maps.get("m").await.unwrap().data["data"], json!({"k": "v"}));

    // An answer without `owned` says nothing about children. The map that went brought a run as well.
    hook.call_for("a").await.answer(json!({}));
    stage.success_of("a").await;
    assert!(maps.get_opt("m").await.unwrap().is_some());
}

#[tokio::test]
async fn a_foreign_object_of_the_same_name_is_not_touched() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    stage.world.create_map("theirs", "1").await;
    let before = stage.world.maps().get("theirs").await.unwrap();
    stage.world.create("a", json!({})).await;
    let owned = json!([map("theirs", json!({"v": "2"})), map("mine", json!({}))]);
    hook.call_for("a")
        .await
        .answer(json!({"owned": owned, "status": {"sum": 1}}));
    let error = stage.failure_of("a").await;
    assert!(
        error.contains("ConfigMap default/theirs exists and is not owned by this Toy"),
        "{error}"
    );
    let after = stage.world.maps().get("theirs").await.unwrap();
    assert_eq!(
        before.metadata.resource_version,
        after.metadata.resource_version
    );
    // The rest of the answer holds.
    assert!(stage.world.maps().get_opt("mine").await.unwrap().is_some());
    assert_eq!(stage.world.status("a").await, json!({"sum": 1}));
    // It is tried again.
    assert_eq!(hook.call_for("a").await.request["reason"], "retry");
}

#[tokio::test]
async fn wrong_answers_are_errors_that_name_hook_and_object() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
    let both = json!({"owned": [map("m", json!({})), secret]}).to_string();
    let upper = map("Upper", json!({}));
    let escape = map("../secrets/s", json!({}));
    let table = [
        ("", "the answer is empty"),
        ("<html>", "the answer is not JSON"),
        ("{\"x\": 1}", "the answer has a field that isn't known"),
        (
            both.as_str(),
            "owned[1] is of a kind that spec.owns doesn't list",
        ),
        (
            &json!({"owned": [upper]}).to_string(),
            "ConfigMap default/Upper can't be created",
        ),
        (
            &json!({"owned": [escape]}).to_string(),
            "owned[0] has no name that an object can have",
        ),
    ];
    for (at, (answer, expected)) in table.iter().enumerate() {
        let name = format!("t{at}");
        stage.world.create(&name, json!({})).await;
        // Objects before this one are tried again meanwhile.
        let mut call = hook.next().await;
        while call.name() != name {
            call.answer(json!({}));
            call = hook.next().await;
        }
        call.answer_text(answer);
        let error = stage.failure_of(&name).await;
        assert!(error.contains(expected), "{answer}: {error}");
        let shown = landform_engine::hooks::shown_url(&hook.url());
        assert!(error.contains(&shown), "{error}");
    }
    // One child that is wrong spoils the whole answer.
    assert!(stage.world.maps().get_opt("m").await.unwrap().is_none());
}

#[tokio::test]
async fn an_error_of_the_hook_is_the_objects_error_and_the_rest_of_the_answer_holds() {
    let mut hook = HookServer::start().await;
    let mut stage = Stage::with_url(&hook.url(), json!({})).await;
    stage.world.create("a", json!({})).await;
    hook.call_for("a")
        .await
        .answer(json!({"error": "no disk", "status": {"sum": 1}}));
    assert_eq!(stage.failure_of("a").await, "no disk");
    assert_eq!(stage.world.status("a").await, json!({"sum": 1}));
    let call = hook.call_for("a").await;
    assert_eq!(call.request["reason"], "retry");
    call.answer(json!({"error": {"message": "wrong color", "retry": false}}));
    assert_eq!(stage.failure_of("a").await, "wrong color");
    // It isn't tried again: the next call is that of a change.
    stage.world.update("a", json!({"value": 2})).await;
    assert_eq!(hook.call_for("a").await.request["reason"], "changed");
}
