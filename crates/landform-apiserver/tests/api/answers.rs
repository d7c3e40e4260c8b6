//! Answers that no client reads, and what reading large objects costs.

use http::{Method, Request};
use http_body_util::Full;
use landform_apiserver::{Body, Config, Identity, LocalService, MASTERS};
use serde_json::{Value, json};
use tower::Service as _;

use crate::harness::{Api, DEFINITIONS, MAPS, widgets};

const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const MIB: usize = 1 << 20;
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

async fn asked(api: &Api, who: &Identity, path: &str) -> http::Response<Body> {
    let request = Request::builder().uri(path);
    let request = request.body(Full::new(bytes::Bytes::new())).unwrap();
    let mut service = LocalService::new(api.server.clone(), who.clone());
    service.call(request).await.unwrap()
}

fn large(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"x": "x".repeat(MIB - 1000)}})
}

#[tokio::test]
async fn answers_that_are_not_read_are_a_share_of_their_user() {
    let api = Api::without_background(Config::default()).await;
    api.post(MAPS, large("a")).await.ok();
    let tenant = Identity::new("tenant", [MASTERS]);
    let one = format!("{MAPS}/a");
    let mut unread = Vec::new();
    for path in [one.as_str(), MAPS] {
        unread.clear();
        let refused = loop {
            let answer = asked(&api, &tenant, path).await;
            if answer.status() != 200 {
                break answer;
            }
            unread.push(answer);
            assert!(unread.len() <= 130, "{path}: never refused");
        };
        assert_eq!(refused.status(), 429, "{path}");
        assert_eq!(refused.headers()["retry-after"], "1");
        assert!(unread.len() > 100, "{path}: {}", unread.len());
        let other = Identity::new("other", [MASTERS]);
        assert_eq!(asked(&api, &other, path).await.status(), 200, "{path}");
    }
    // Who holds the bytes alone, as the buffers of a connection do, still holds the share.
    let mut held = Vec::new();
    for answer in unread.drain(..) {
        let mut body = answer.into_body();
        let frame = http_body_util::BodyExt::frame(&mut body).await;
        held.push(frame.unwrap().unwrap().into_data().unwrap());
    }
    assert_eq!(asked(&api, &tenant, &one).await.status(), 429);
    held.clear();
    assert_eq!(asked(&api, &tenant, &one).await.status(), 200);
}

#[tokio::test]
async fn a_watch_of_a_user_who_reads_nothing_ends() {
    let api = Api::without_background(Config::default()).await;
    api.post(MAPS, large("a")).await.ok();
    let tenant = Identity::new("tenant", [MASTERS]);
    let one = format!("{MAPS}/a");
    let mut unread = Vec::new();
    loop {
        let answer = asked(&api, &tenant, &one).await;
        if answer.status() != 200 {
            break;
        }
        unread.push(answer);
    }
    let tenant = api.by(tenant);
    let mut watch = tenant.watch(MAPS).await;
    let (type_, object) = watch.next().await.unwrap();
    assert_eq!((type_.as_str(), &object["code"]), ("ERROR", &json!(429)));
    assert_eq!(watch.next().await, None);
    drop(unread);
    let mut watch = tenant.watch(MAPS).await;
    assert_eq!(watch.next_name().await, "ADDED a");
}

#[tokio::test]
async fn cells_of_a_table_are_cut_and_an_answer_that_is_too_large_says_so() {
    let api = Api::start().await;
    let mut definition = widgets();
    let version = &mut definition["spec"]["versions"][0];
    version["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    version["additionalPrinterColumns"] =
        json!([{"name": "All", "type": "string", "jsonPath": ".spec.list[*].a"}]);
    api.post(DEFINITIONS, definition).await.ok();
    for n in 0..45 {
        let list = vec![json!({"a": "x".repeat(100)}); 15_000];
        let object = json!({"metadata": {"name": format!("w{n}")}, "spec": {"list": list}});
        api.post(WIDGETS, object).await.ok();
    }
    let table = async |query: &str| {
        let path = format!("{WIDGETS}?{query}");
        api.send(Method::GET, &path, &[("accept", TABLE)], "").await
    };
    let answer = table("").await;
    assert!(answer.bytes.len() < 100_000, "{}", answer.bytes.len());
    let value = answer.ok();
    assert_eq!(value["rows"].as_array().unwrap().len(), 45);
    assert_eq!(value["rows"][0]["cells"][0], "w0");
    let cell = value["rows"][0]["cells"][1].as_str().unwrap();
    assert_eq!(cell.len(), 1024 + "…".len());
    let refused = table("includeObject=Object").await;
    let (code, _, message) = refused.failed();
    assert_eq!(code, 413);
    assert!(message.contains("limit"), "{message}");
    assert_eq!(
        table("includeObject=Object&limit=3").await.ok()["rows"][2]["object"]["metadata"]["name"],
        "w10"
    );
}

#[tokio::test]
async fn what_a_sender_wrote_is_not_repeated_at_length() {
    let api = Api::without_background(Config::default()).await;
    let small = json!({"metadata": {"name": "a"}});
    api.post(MAPS, small).await.ok();
    let long = "x".repeat(30_000);
    let patch = json!([{"op": "replace", "path": format!("/{long}"), "value": 1}]);
    let admin = api.by(Identity::new("admin", ["tenants"]));
    let answers = [
        api.patch(&format!("{MAPS}/a"), "json", patch).await,
        api.get(&format!("{MAPS}?labelSelector={long}%20{long}"))
            .await,
        api.get(&format!("{MAPS}?fieldSelector={long}")).await,
        api.get(&format!("{MAPS}/{long}")).await,
        api.get(&format!("{MAPS}?limit={long}")).await,
        admin
            .send(Method::GET, MAPS, &[("impersonate-user", &long)], "")
            .await,
    ];
    for answer in answers {
        let (code, _, message) = answer.failed();
        assert!((400..500).contains(&code), "{code}");
        assert!(answer.bytes.len() < 3_000, "{code} {message:.300}");
    }
}
