//! Hostile and broken input: nothing that a client sends may crash the server or get past its limits.

use std::convert::Infallible;

use http::{Method, Request};
use http_body::Frame;
use http_body_util::Full;
use landform_apiserver::{Config, Identity, MASTERS};
use landform_store::Store as _;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::harness::{Api, DEFINITIONS, MAPS, map, widgets};

#[tokio::test]
async fn without_an_identity_everything_but_health_is_401() {
    let api = Api::without_background(Config::default()).await;
    for path in [
        "/",
        "/api",
        "/apis",
        "/version",
        "/metrics",
        "/openapi/v2",
        MAPS,
        "/api/v1/secrets",
        "/nowhere",
    ] {
        let request = Request::builder()
            .uri(path)
            .body(Full::new(bytes::Bytes::new()))
            .unwrap();
        let response = api.server.answer(request).await;
        assert_eq!(response.status(), 401, "{path}");
        assert!(response.headers().contains_key("www-authenticate"));
    }
    let request = Request::builder()
        .uri("/livez")
        .body(Full::new(bytes::Bytes::new()))
        .unwrap();
    assert_eq!(api.server.answer(request).await.status(), 200);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413() {
    let api = Api::without_background(Config::default()).await;
    let huge = json!({"metadata": {"name": "a"}, "data": {"x": "x".repeat(3 * 1024 * 1024)}});
    assert_eq!(api.post(MAPS, huge).await.failed().0, 413);
    let large = json!({"metadata": {"name": "a"}, "data": {"x": "x".repeat(1024 * 1024 + 1)}});
    assert_eq!(
        api.post(MAPS, large).await.failed().0,
        422,
        "more than a config map may hold"
    );
}

#[tokio::test]
async fn objects_do_not_grow_past_the_limit_by_patches() {
    let api = Api::start().await;
    let mut definition = widgets();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    api.post(DEFINITIONS, definition).await.ok();
    let path = "/apis/example.com/v1/namespaces/default/widgets";
    api.post(path, json!({"metadata": {"name": "a"}}))
        .await
        .ok();
    let mut refused = None;
    for n in 0..4 {
        let patch = json!({"spec": {n.to_string(): "x".repeat(1024 * 1024)}});
        let answer = api.patch(&format!("{path}/a"), "merge", patch).await;
        if answer.code != 200 {
            refused = Some(answer.failed().0);
            break;
        }
    }
    assert_eq!(refused, Some(413));
}

#[tokio::test]
async fn depth_and_rubbish_are_400() {
    let api = Api::without_background(Config::default()).await;
    let deep = format!("{}{}", "{\"a\":".repeat(5000), "1") + &"}".repeat(5000);
    for body in [
        deep.as_str(),
        "{",
        "null",
        "\u{0}",
        "{\"metadata\": 7}",
        "{\"metadata\": {\"name\": 7}}",
    ] {
        let answer = api
            .send(
                Method::POST,
                MAPS,
                &[("content-type", "application/json")],
                body.to_owned(),
            )
            .await;
        assert!(
            (400..=422).contains(&answer.failed().0),
            "{body:.20}: {}",
            answer.value
        );
    }
}

#[tokio::test]
async fn too_many_requests_at_once_are_429_and_later_ones_go_through() {
    let config = Config {
        writes_in_flight: 0,
        ..Config::default()
    };
    let api = Api::without_background(config).await;
    let admin = api.by(Identity::new("admin", [MASTERS]));
    let answer = admin.post(MAPS, map("a")).await;
    assert_eq!(answer.failed().0, 429);
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(
        admin.get(MAPS).await.code,
        200,
        "reads have places of their own"
    );
    assert_eq!(
        api.post(MAPS, map("a")).await.code,
        201,
        "and so have Landform's own controllers"
    );
}

/// Bodies that never end hold no place.
#[tokio::test]
async fn requests_whose_bodies_never_come_keep_nobody_out() {
    let config = Config {
        reads_in_flight: 2,
        writes_in_flight: 2,
        ..Config::default()
    };
    let api = Api::without_background(config).await;
    let mut unfinished = Vec::new();
    for _ in 0..10 {
        let never = futures::stream::pending::<Result<Frame<bytes::Bytes>, Infallible>>();
        let body = http_body_util::StreamBody::new(never);
        let mut request = Request::post(MAPS).body(body).unwrap();
        let slow = Identity::new("slow", [MASTERS]);
        request.extensions_mut().insert(slow);
        let server = api.server.clone();
        let mut answer = Box::pin(async move { server.answer(request).await });
        assert!(futures::poll!(answer.as_mut()).is_pending());
        unfinished.push(answer);
    }
    let admin = api.by(Identity::new("slow", [MASTERS]));
    admin.post(MAPS, map("a")).await.ok();
    assert_eq!(admin.get(MAPS).await.code, 200);
    drop(unfinished);
}

/// A kind whose objects may hold anything.
async fn anything(api: &Api) -> &'static str {
    let mut definition = widgets();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    api.post(DEFINITIONS, definition).await.ok();
    "/apis/example.com/v1/namespaces/default/widgets"
}

/// However a patch goes about it, what it leaves is within the budget; a dry run is held to the same.
#[tokio::test]
async fn no_patch_leaves_an_object_that_is_too_deep() {
    let api = Api::start().await;
    let path = anything(&api).await;
    api.post(path, json!({"metadata": {"name": "a"}, "spec": {}}))
        .await
        .ok();
    let one = format!("{path}/a");
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({ "a": inner }));
    let mut doubling = vec![json!({"op": "add", "path": "/spec/a", "value": nested(90)})];
    let mut place = "/spec".to_owned() + &"/a".repeat(91);
    for _ in 0..200 {
        doubling.push(json!({"op": "copy", "from": "/spec/a", "path": place}));
        place += &"/a".repeat(91);
    }
    let deep_path = (0..18_000)
        .map(|n| json!({"op": "add", "path": format!("/spec{}", "/a".repeat(n + 1)), "value": {}}));
    let table = [
        ("json", json!(doubling)),
        ("json", json!(deep_path.take(9_000).collect::<Vec<_>>())),
        (
            "json",
            json!([{"op": "add", "path": "/spec/a", "value": nested(99)}]),
        ),
        ("merge", json!({"spec": nested(100)})),
    ];
    for (form, patch) in table {
        for query in ["", "?dryRun=All"] {
            let answer = api
                .patch(&format!("{one}{query}"), form, patch.clone())
                .await;
            let (code, ..) = answer.failed();
            assert!([400, 413].contains(&code), "{form}: {code}");
        }
    }
    assert_eq!(api.get(&one).await.value["spec"], json!({}));
    let fits = json!([{"op": "add", "path": "/spec/a", "value": nested(97)}]);
    api.patch(&one, "json", fits).await.ok();
}

/// What is reported about a body is limited, whatever the body is.
#[tokio::test]
async fn reports_are_short() {
    let api = Api::start().await;
    api.post(DEFINITIONS, widgets()).await.ok();
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let key = "k".repeat(400_000);
    let twice = format!(
        r#"{{"metadata":{{"name":"a"}},"data":{{"{key}":{{{}"a":1}}}}}}"#,
        r#""a":1,"#.repeat(300_000)
    );
    let unknown: serde_json::Map<String, Value> = (0..100_000)
        .map(|n| (format!("unknown-{n}"), json!(n)))
        .collect();
    let unknown = json!({"metadata": {"name": "a"}, "spec": unknown}).to_string();
    let labels: serde_json::Map<String, Value> =
        (0..150_000).map(|n| (format!("l{n}"), json!(n))).collect();
    let labels = json!({"metadata": {"name": "a", "labels": labels}}).to_string();
    for (path, body) in [(MAPS, twice), (widgets, unknown), (MAPS, labels)] {
        for validation in ["Strict", "Warn", "Ignore"] {
            let answer = api
                .send(
                    Method::POST,
                    &format!("{path}?fieldValidation={validation}&dryRun=All"),
                    &[("content-type", "application/json")],
                    body.clone(),
                )
                .await;
            let warnings: usize = answer.headers.values().map(http::HeaderValue::len).sum();
            assert!(
                warnings < 32_000,
                "{validation}: {warnings} bytes of headers"
            );
            let refused = answer.code >= 400;
            assert!(
                !refused || answer.bytes.len() < 150_000,
                "{validation}: {} bytes",
                answer.bytes.len()
            );
        }
    }
}

/// Objects that an earlier version stored, and that are deeper than bodies may be, can be listed and deleted.
#[tokio::test]
async fn whatever_is_stored_can_be_listed_and_deleted() {
    let api = Api::start().await;
    let path = anything(&api).await;
    api.post(
        path,
        json!({"metadata": {"name": "a", "finalizers": ["x.io/y"]}}),
    )
    .await
    .ok();
    let key = landform_store::Key::new(
        &landform_store::Bucket::new("widgets.example.com"),
        "default/a",
    );
    let record = api
        .store
        .get(&key)
        .await
        .unwrap()
        .expect("it is stored there");
    for levels in [110, 200, 300_000] {
        let text = String::from_utf8(record.value.to_vec()).unwrap();
        let text = text.strip_suffix('}').unwrap();
        let deep = format!(
            "{text},\"spec\":{}{}}}",
            "[".repeat(levels),
            "]".repeat(levels)
        );
        let op = landform_store::Op::Put(deep.into());
        let txn = landform_store::Txn::one(key.clone(), landform_store::Compare::Any, op);
        api.store.commit(txn).await.unwrap();
        assert_eq!(api.get(path).await.code, 200);
        let table = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
        assert_eq!(api.send(Method::GET, path, &table, "").await.code, 200);
    }
    api.delete(&format!("{path}/a")).await.ok();
    let patch = json!({"metadata": {"finalizers": null}});
    api.patch(&format!("{path}/a"), "merge", patch).await.ok();
    assert_eq!(api.get(&format!("{path}/a")).await.code, 404);
}

fn small_maps(count: usize) -> Value {
    json!(vec![json!({"a": 1}); count])
}

/// A map takes a node of a tree when it is decoded, however little text it has.
#[tokio::test]
async fn more_small_maps_than_an_object_may_have_are_refused_on_every_way_in() {
    let api = Api::without_background(Config::default()).await;
    let path = anything(&api).await;
    let widget =
        |name: &str, maps: usize| json!({"metadata": {"name": name}, "spec": small_maps(maps)});
    assert_eq!(api.post(path, widget("a", 60_000)).await.failed().0, 413);
    let yaml = [("content-type", "application/yaml")];
    let text = format!(
        "metadata: {{name: a}}\nspec:\n{}",
        "- {a: 1}\n".repeat(60_000)
    );
    let answer = api.send(Method::POST, path, &yaml, text).await;
    let (code, _, message) = answer.failed();
    assert_eq!(code, 400);
    assert!(message.contains("more than 500000 cells"), "{message}");
    api.post(path, widget("a", 30_000)).await.ok();
    let one = format!("{path}/a");
    let copy = json!([{"op": "copy", "from": "/spec", "path": "/status"}]);
    assert_eq!(api.patch(&one, "json", copy).await.failed().0, 413);
    let merge = json!({"status": small_maps(30_000)});
    assert_eq!(api.patch(&one, "merge", merge).await.failed().0, 413);
    let stored = api.get(&one).await.ok();
    assert_eq!(stored["spec"], small_maps(30_000));
    assert!(stored.get("status").is_none());
}

/// Earlier versions took them.
#[tokio::test]
async fn what_is_stored_with_more_small_maps_can_be_listed_labelled_and_deleted() {
    let api = Api::without_background(Config::default()).await;
    let path = anything(&api).await;
    api.post(path, json!({"metadata": {"name": "a"}}))
        .await
        .ok();
    let bucket = landform_store::Bucket::new("widgets.example.com");
    let key = landform_store::Key::new(&bucket, "default/a");
    let record = api.store.get(&key).await.unwrap().unwrap();
    let mut stored: Value = serde_json::from_slice(&record.value).unwrap();
    stored["spec"] = small_maps(100_000);
    let op = landform_store::Op::Put(stored.to_string().into());
    let txn = landform_store::Txn::one(key, landform_store::Compare::Any, op);
    api.store.commit(txn).await.unwrap();
    for accept in [
        "application/json",
        "application/yaml",
        "application/json;as=Table;v=v1;g=meta.k8s.io",
    ] {
        let answer = api.send(Method::GET, path, &[("accept", accept)], "").await;
        assert_eq!(answer.code, 200, "{accept}");
    }
    let one = format!("{path}/a");
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    api.patch(&one, "merge", label).await.ok();
    let shown = api.get(&one).await.ok();
    assert_eq!(shown["metadata"]["labels"]["a"], "b");
    assert_eq!(shown["spec"], small_maps(100_000));
    api.delete(&format!("{one}?propagationPolicy=Background"))
        .await
        .ok();
    assert_eq!(api.get(&one).await.code, 404);
}

#[tokio::test]
async fn methods_that_do_not_fit_are_405() {
    let api = Api::without_background(Config::default()).await;
    assert_eq!(api.put(MAPS, json!({})).await.failed().0, 405);
    assert_eq!(
        api.post(&format!("{MAPS}/a"), json!({})).await.failed().0,
        405
    );
    let odd = api.send(Method::OPTIONS, MAPS, &[], "").await;
    assert_eq!(odd.failed().0, 405);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z$./~]{0,8}".prop_map(Value::from),
    ];
    let keys = prop_oneof![
        Just("metadata".to_owned()),
        Just("spec".to_owned()),
        Just("status".to_owned()),
        Just("name".to_owned()),
        Just("finalizers".to_owned()),
        Just("ownerReferences".to_owned()),
        Just("labels".to_owned()),
        Just("data".to_owned()),
        Just("uid".to_owned()),
        Just("template".to_owned()),
        Just("containers".to_owned()),
        Just("$patch".to_owned()),
        Just("resourceVersion".to_owned()),
        "[a-z]{1,4}".prop_map(|s| s),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(keys.clone(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Each case is many requests, so a few are enough in CI; `PROPTEST_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(64)
}

/// One server for all cases of a property, on a runtime of its own.
fn with_server(test: impl AsyncFnOnce(Api)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let api = Api::without_background(Config::default()).await;
        api.post(MAPS, map("a")).await.ok();
        test(api).await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is posted, put or patched, the answer is an object or a proper `Status`, never a 500.
    #[test]
    fn any_json_gets_a_proper_answer(bodies in prop::collection::vec(any_json(), 8), query in "[a-zA-Z=&%0-9]{0,30}") {
        with_server(async |api| {
            for body in bodies {
                for path in [MAPS, "/apis/apps/v1/namespaces/default/deployments", "/api/v1/namespaces", DEFINITIONS,
                             "/api/v1/namespaces/default/secrets", "/api/v1/namespaces/default/pods"] {
                    let answer = api.post(&format!("{path}?{query}"), body.clone()).await;
                    assert!(answer.code < 500, "POST {path} {body}: {}", answer.value);
                }
                for form in ["json", "merge", "strategic-merge"] {
                    let answer = api.patch(&format!("{MAPS}/a"), form, body.clone()).await;
                    assert!(answer.code < 500, "{form} {body}: {}", answer.value);
                }
                let answer = api.put(&format!("{MAPS}/a"), body.clone()).await;
                assert!(answer.code < 500, "PUT {body}: {}", answer.value);
                let answer = api.send(Method::DELETE, &format!("{MAPS}/none"), &[], body.to_string()).await;
                assert!(answer.code < 500, "DELETE {body}: {}", answer.value);
            }
        });
    }

    /// Whatever path and query are read, the answer is proper.
    #[test]
    fn any_path_gets_a_proper_answer(paths in prop::collection::vec("(/(api|apis|v1|watch|namespaces|default|configmaps|a|%2[0-9a-f]|[a-z.]{1,5})){0,7}", 16),
                                     query in "(limit|continue|labelSelector|fieldSelector|resourceVersion|watch)=[a-z0-9=,!()%]{0,12}") {
        with_server(async |api| {
            for path in paths {
                let uri = format!("/{}?timeoutSeconds=1&{}", path.trim_start_matches('/'), query.replace('%', "%25").replace("watch=", "x="));
                let answer = api.get(&uri).await;
                assert!(answer.code < 500 || answer.code == 504, "{uri}: {}", answer.value);
            }
        });
    }
}

#[tokio::test]
async fn no_error_repeats_a_secrets_value() {
    const CANARY: &str = "canary-7f3a";
    let api = Api::without_background(Config::default()).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let kept =
        json!({"metadata": {"name": "kept"}, "immutable": true, "stringData": {"k": CANARY}});
    api.post(secrets, kept).await.ok();
    let named = |more: Value| {
        let mut secret = json!({"metadata": {"name": "s"}});
        secret
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        secret
    };
    for body in [
        json!({"data": {"k": CANARY}}),
        json!({"data": CANARY}),
        json!({"data": [CANARY]}),
        json!({"data": {"k": [CANARY]}}),
        json!({"stringData": {"k": {"x": CANARY}}}),
        json!({"stringData": CANARY}),
        json!({"stringData": {"k": 7_316_402_985_u64}}),
        json!({"data": {"k": CANARY.repeat(100)}}),
        json!({"immutable": CANARY}),
        json!({"type": {"x": CANARY}}),
        json!({"data": {"bad/key": CANARY}}),
        json!({"stringData": {"bad key": CANARY}}),
    ] {
        for query in ["", "?fieldValidation=Strict"] {
            let answer = api
                .post(&format!("{secrets}{query}"), named(body.clone()))
                .await;
            assert!(answer.failed().0 >= 400, "{body}");
            let text = format!("{:?} {:?}", answer.headers, answer.bytes);
            assert!(!text.contains(CANARY), "{body}: {text}");
            assert!(!text.contains("7316402985"), "{body}: {text}");
        }
    }
    let one = format!("{secrets}/kept");
    for (form, patch) in [
        ("merge", json!({"stringData": {"k": format!("{CANARY}2")}})),
        ("merge", json!({"data": {"k": format!("{CANARY}2")}})),
        (
            "strategic-merge",
            json!({"data": {"k": format!("{CANARY}2")}}),
        ),
        (
            "json",
            json!([{"op": "replace", "path": "/data/k", "value": format!("{CANARY}2")}]),
        ),
        (
            "json",
            json!([{"op": "test", "path": "/data/k", "value": CANARY}]),
        ),
        (
            "json",
            json!([{"op": "add", "path": "/data/x/y", "value": CANARY}]),
        ),
    ] {
        let answer = api.patch(&one, form, patch.clone()).await;
        assert!(answer.failed().0 >= 400, "{patch}");
        let text = format!("{:?} {:?}", answer.headers, answer.bytes);
        assert!(!text.contains(CANARY), "{patch}: {text}");
    }
}

/// One thread serves all requests: one that kept it busy would be answered before the other is looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn small_requests_do_not_wait_for_large_ones() {
    let api = Api::without_background(Config::default()).await;
    let many: serde_json::Map<String, Value> =
        (0..40_000).map(|n| (format!("k{n}"), json!("v"))).collect();
    api.post(MAPS, json!({"metadata": {"name": "large"}, "data": many}))
        .await
        .ok();
    let (done, mut order) = tokio::sync::mpsc::unbounded_channel();
    let large = {
        let (api, done) = (api.clone(), done.clone());
        tokio::spawn(async move {
            // A small patch of a large object, a large patch, and a large object.
            let one = format!("{MAPS}/large");
            let tiny = json!({"data": {"k1": "w"}});
            api.patch(&one, "strategic-merge", tiny).await.ok();
            let data: serde_json::Map<String, Value> =
                (0..20_000).map(|n| (format!("k{n}"), json!("w"))).collect();
            api.patch(&one, "merge", json!({"data": data})).await.ok();
            done.send("large").unwrap();
        })
    };
    let small = tokio::spawn(async move {
        api.get("/api/v1/namespaces/default").await.ok();
        done.send("small").unwrap();
    });
    assert_eq!(order.recv().await, Some("small"));
    assert_eq!(order.recv().await, Some("large"));
    large.await.unwrap();
    small.await.unwrap();
}
