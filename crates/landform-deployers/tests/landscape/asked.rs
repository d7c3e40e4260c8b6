//! What is asked for in a way that can't be: times that are none, and operations that there aren't.

use kube::api::PostParams;
use landform_api::landscaper::{GROUP, VERSION};
use serde_json::{Value, json};

use crate::harness::{Landscape, OPERATION, contains, spec, template, text};

/// Go's, and Landscaper's `none`.
const TIMES: [&str; 8] = ["10m", "1h30m", "1.5h", "500000us", "+5m", "0s", "0", "none"];
const NO_TIMES: [&str; 8] = ["abc", "-5s", "5", "", "None", "1d", "10 m", "1h30"];

impl Landscape {
    /// What the API answers to an object.
    async fn offer(&self, kind: &str, name: &str, spec: Value) -> Result<(), kube::Error> {
        let object = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": kind,
            "metadata": {"name": name}, "spec": spec,
        });
        let object = serde_json::from_value(object).unwrap();
        let (api, parameters) = (self.api(kind), PostParams::default());
        api.create(&parameters, &object).await.map(drop)
    }
}

#[tokio::test]
async fn e12_a_timeout_that_is_no_time_is_refused_where_it_is_given() {
    let land = Landscape::new().await;
    let item =
        |timeout: &str| json!({"name": "a", "type": "test.dev/recorder", "timeout": timeout});
    for (at, time) in NO_TIMES.into_iter().enumerate() {
        let name = format!("no-{at}");
        let execution = json!({"deployItems": [item(time)]});
        for (kind, spec, field) in [
            ("DeployItem", item(time), "spec.timeout"),
            ("Execution", execution, "spec.deployItems[0].timeout"),
        ] {
            let refused = land.offer(kind, &name, spec).await.unwrap_err();
            contains(&refused.to_string(), &[field]);
        }
        let items = json!({"deployItems": [item(time)]}).to_string();
        let blueprint = json!({"deployExecutions": template("items", &items)});
        land.install(&name, blueprint, json!({})).await;
        land.fails(&name, &["\"a\"", "deployItems[0].timeout", "1h30m"])
            .await;
    }
    // A number has no unit.
    let items = "deployItems: [{name: a, type: test.dev/recorder, timeout: 5}]";
    let blueprint = json!({"deployExecutions": template("items", items)});
    land.install("number", blueprint, json!({})).await;
    land.fails("number", &["\"a\"", "timeout"]).await;
    assert_eq!(land.names("DeployItem").await, [""; 0]);
    assert_eq!(land.recorder.take(), [""; 0]);
    let corrected = json!({"deployExecutions": template("items", &items.replace(": 5}", ": 5s}"))});
    land.patch(
        "Installation",
        "number",
        json!({"spec": spec(corrected, json!({}))}),
    )
    .await;
    land.phase("number", "Succeeded").await;
}

#[tokio::test]
async fn e12_times_as_go_and_landscaper_write_them_are_taken() {
    let land = Landscape::new().await;
    for (at, time) in TIMES.into_iter().enumerate() {
        let name = format!("app-{at}");
        let items =
            json!({"deployItems": [{"name": name, "type": "test.dev/recorder", "timeout": time}]});
        let blueprint = json!({"deployExecutions": template("items", &items.to_string())});
        land.install(&name, blueprint, json!({})).await;
        land.phase(&name, "Succeeded").await;
    }
    let mut journal = land.recorder.take();
    journal.sort();
    let wanted: Vec<_> = (0..TIMES.len())
        .map(|at| format!("deploy app-{at}"))
        .collect();
    assert_eq!(journal, wanted);
}

#[tokio::test]
async fn i4_an_operation_that_there_is_not_is_told_until_it_goes() {
    let land = Landscape::new().await;
    let items = "deployItems: [{name: a, type: test.dev/recorder}]";
    let blueprint = json!({"deployExecutions": template("items", items)});
    land.install("app", blueprint, json!({})).await;
    land.phase("app", "Succeeded").await;
    land.quiet().await;
    land.recorder.take();
    let item = land.names("DeployItem").await.remove(0);
    for (kind, name) in [
        ("Installation", "app"),
        ("Execution", "app"),
        ("DeployItem", item.as_str()),
    ] {
        let told = |object: &Value| {
            let conditions = object["status"]["conditions"].as_array().cloned();
            let mut conditions = conditions.unwrap_or_default().into_iter();
            conditions.find(|condition| condition["type"] == "KnownOperation")
        };
        land.annotate(kind, name, OPERATION, "reconcil").await;
        let found = land
            .until(kind, name, |object| told(object).is_some())
            .await;
        let condition = told(&found).unwrap();
        assert_eq!(condition["status"], "False");
        let words = ["\"reconcil\"", "reconcile, force-reconcile, abort"];
        contains(text(&condition["message"]), &words);
        assert_eq!(found["status"]["phase"], "Succeeded", "{kind}");
        land.quiet().await;
        let events = land.events(name).await;
        let event = events
            .iter()
            .find(|event| event.starts_with("UnknownOperation: "));
        contains(event.map_or("", String::as_str), &words);

        // One that there is does what it says, and the other is forgotten.
        land.annotate(kind, name, OPERATION, "reconcile").await;
        land.until(kind, name, |object| {
            told(object).is_none() && object["metadata"]["annotations"][OPERATION].is_null()
        })
        .await;
        land.quiet().await;
        assert_eq!(land.get(kind, name).await["status"]["phase"], "Succeeded");
    }
}
