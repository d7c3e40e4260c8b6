//! More objects than there is room for.

use serde_json::json;

use super::{Attack, PLAIN, Seen};
use crate::hostile::Outcome;
use crate::hostile::stage::{CORE, Stage};

pub(super) fn table() -> Vec<Attack> {
    vec![Attack {
        name: "more than the store takes",
        sends: "471 creates of 1 MB; a server of ours has a store quota of 64 MiB",
        run: fill_the_store,
        answers: &[201, 429, 507],
        memory_mib: 400,
        store_quota_mib: Some((64, 16)),
        ..PLAIN
    }]
}

fn fill_the_store(stage: &Stage, seen: &mut Seen) -> Outcome {
    let maps = format!("{CORE}/configmaps");
    let each = stage.count(118, 10);
    let value = "v".repeat(1_000_000);
    seen.together(4, |thread, seen| {
        for number in 0..each {
            let name = format!("full-{thread}-{number}");
            let object = json!({"metadata": {"name": name}, "data": {"a": value}}).to_string();
            seen.answer(&stage.tenant.json("POST", &maps, object.as_bytes()));
        }
    });
    let full = seen.codes.contains_key(&507);
    let ready = |wanted: bool| stage.until("/readyz", |answer| (answer.code == 200) == wanted);
    if stage.is_ours() {
        seen.check("a full store answers 507".to_owned(), full);
        seen.check(
            "/readyz says that the store is full".to_owned(),
            ready(false).is_ok(),
        );
    } else {
        seen.left_out.push("the store's quota");
    }
    // A delete is never refused, and makes room.
    let mut refused = Vec::new();
    for thread in 0..4 {
        for number in 0..each {
            let path = format!("{maps}/full-{thread}-{number}");
            match stage.tenant.json("DELETE", &path, b"") {
                Ok(answer) if [200, 202, 404].contains(&answer.code) => {}
                Ok(answer) => refused.push(answer.code.to_string()),
                Err(error) => refused.push(error.to_string()),
            }
        }
    }
    seen.check(
        format!("every delete is carried out (refused: {refused:?})"),
        refused.is_empty(),
    );
    let small = json!({"metadata": {"name": "after"}}).to_string();
    let room = stage.until(&format!("{maps}?limit=1&labelSelector=x"), |_| {
        let answer = stage.tenant.json("POST", &maps, small.as_bytes());
        answer.is_ok_and(|answer| [201, 409].contains(&answer.code))
    });
    seen.check("deletes make room".to_owned(), room.is_ok());
    seen.check("the server is ready again".to_owned(), ready(true).is_ok());
    Ok(())
}
