//! Lists: pages of one state, versions, selectors, tables, other forms.

use http::Method;
use landform_apiserver::Config;
use landform_store::Store as _;
use serde_json::{Value, json};

use crate::harness::{Api, MAPS, map};

async fn with_maps(count: usize) -> Api {
    let api = Api::without_background(Config::default()).await;
    for n in 0..count {
        let mut object = map(&format!("m{n:03}"));
        object["metadata"]["labels"] = json!({"even": (n % 2 == 0).to_string()});
        api.post(MAPS, object).await.ok();
    }
    api
}

fn names(list: &Value) -> Vec<String> {
    let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
    list["items"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn pages_show_one_state_whatever_happens_in_between() {
    let api = with_maps(25).await;
    let mut path = format!("{MAPS}?limit=10");
    let (mut seen, mut versions) = (Vec::new(), Vec::new());
    loop {
        let list = api.get(&path).await.ok();
        seen.extend(names(&list));
        versions.push(list["metadata"]["resourceVersion"].clone());
        api.post(MAPS, json!({"metadata": {"generateName": "a-"}}))
            .await
            .ok();
        api.delete(&format!(
            "{MAPS}/m{:03}?propagationPolicy=Background",
            seen.len()
        ))
        .await;
        let Some(token) = list["metadata"]["continue"].as_str() else {
            break;
        };
        assert_eq!(list["metadata"]["remainingItemCount"], 25 - seen.len());
        path = format!("{MAPS}?limit=10&continue={token}");
    }
    assert_eq!(
        seen,
        (0..25).map(|n| format!("m{n:03}")).collect::<Vec<_>>()
    );
    assert!(
        versions.windows(2).all(|pair| pair[0] == pair[1]),
        "{versions:?}"
    );
}

#[tokio::test]
async fn pages_with_a_selector_are_full() {
    let api = with_maps(25).await;
    let first = api
        .get(&format!("{MAPS}?limit=5&labelSelector=even%3Dtrue"))
        .await
        .ok();
    assert_eq!(names(&first), ["m000", "m002", "m004", "m006", "m008"]);
    assert!(first["metadata"].get("remainingItemCount").is_none());
    let token = first["metadata"]["continue"].as_str().unwrap();
    let rest = api
        .get(&format!(
            "{MAPS}?labelSelector=even%3Dtrue&continue={token}"
        ))
        .await
        .ok();
    assert_eq!(names(&rest).len(), 8);
    assert!(rest["metadata"].get("continue").is_none());
}

#[tokio::test]
async fn a_token_whose_state_is_gone_gets_410_and_a_way_on() {
    let api = with_maps(10).await;
    let first = api.get(&format!("{MAPS}?limit=4")).await.ok();
    let token = first["metadata"]["continue"].as_str().unwrap();
    api.delete(&format!("{MAPS}/m005?propagationPolicy=Background"))
        .await
        .ok();
    api.store.compact(api.store.revision()).await.unwrap();
    let expired = api.get(&format!("{MAPS}?limit=4&continue={token}")).await;
    assert_eq!((expired.failed().0, expired.failed().1), (410, "Expired"));
    let token = expired.value["metadata"]["continue"].as_str().unwrap();
    let rest = api.get(&format!("{MAPS}?continue={token}")).await.ok();
    assert_eq!(names(&rest), ["m004", "m006", "m007", "m008", "m009"]);
    assert_eq!(
        api.get(&format!("{MAPS}?continue=rubbish"))
            .await
            .failed()
            .0,
        400
    );
}

#[tokio::test]
async fn versions_unset_zero_exact_and_not_older() {
    let api = with_maps(3).await;
    let then = api.store.revision();
    api.post(MAPS, map("later")).await.ok();
    let count = |list: Value| list["items"].as_array().unwrap().len();
    assert_eq!(count(api.get(MAPS).await.ok()), 4);
    assert_eq!(
        count(api.get(&format!("{MAPS}?resourceVersion=0")).await.ok()),
        4
    );
    assert_eq!(
        count(
            api.get(&format!("{MAPS}?resourceVersion={then}"))
                .await
                .ok()
        ),
        4
    );
    let exact = api
        .get(&format!(
            "{MAPS}?resourceVersion={then}&resourceVersionMatch=Exact"
        ))
        .await
        .ok();
    assert_eq!(exact["metadata"]["resourceVersion"], then.to_string());
    assert_eq!(count(exact), 3);
    let future = api.get(&format!("{MAPS}?resourceVersion=999999")).await;
    assert_eq!(future.failed().0, 504);
    assert_eq!(
        future.value["details"]["causes"][0]["reason"],
        "ResourceVersionTooLarge"
    );
    for bad in [
        "resourceVersionMatch=Exact",
        "resourceVersion=0&resourceVersionMatch=Exact",
        "resourceVersion=1&resourceVersionMatch=Sometimes",
        "resourceVersion=abc",
    ] {
        let code = api.get(&format!("{MAPS}?{bad}")).await.failed().0;
        assert!(code == 422 || code == 400, "{bad}: {code}");
    }
}

#[tokio::test]
async fn selectors_by_label_and_field() {
    let api = with_maps(4).await;
    for (query, expected) in [
        ("labelSelector=even", 4),
        ("labelSelector=even%3Dtrue", 2),
        ("labelSelector=even%21%3Dtrue", 2),
        ("labelSelector=even%20in%20(true,false)", 4),
        ("labelSelector=%21even", 0),
        ("fieldSelector=metadata.name%3Dm001", 1),
        ("fieldSelector=metadata.name%21%3Dm001", 3),
        ("fieldSelector=metadata.namespace%3Dother", 0),
    ] {
        let list = api.get(&format!("{MAPS}?{query}")).await.ok();
        assert_eq!(names(&list).len(), expected, "{query}");
    }
    assert_eq!(
        api.get(&format!("{MAPS}?labelSelector=a%3D%3D%3Db"))
            .await
            .failed()
            .0,
        400
    );
    let answer = api.get(&format!("{MAPS}?fieldSelector=data.a%3D1")).await;
    assert!(
        answer
            .failed()
            .2
            .contains("field label not supported: data.a")
    );
}

#[tokio::test]
async fn a_list_over_all_namespaces_and_of_one() {
    let api = with_maps(1).await;
    api.post("/api/v1/namespaces", json!({"metadata": {"name": "other"}}))
        .await
        .ok();
    api.post("/api/v1/namespaces/other/configmaps", map("b"))
        .await
        .ok();
    let all = api.get("/api/v1/configmaps").await.ok();
    assert_eq!(all["kind"], "ConfigMapList");
    assert_eq!(names(&all), ["m000", "b"]);
    assert_eq!(
        names(&api.get("/api/v1/namespaces/other/configmaps").await.ok()),
        ["b"]
    );
}

#[tokio::test]
async fn a_table_has_columns_and_rows_with_metadata() {
    let api = with_maps(2).await;
    let accept = [(
        "accept",
        "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    )];
    let table = api.send(Method::GET, MAPS, &accept, "").await.ok();
    assert_eq!(table["kind"], "Table");
    let columns: Vec<&Value> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| &column["name"])
        .collect();
    assert_eq!(columns, ["Name", "Data", "Age"]);
    assert_eq!(table["rows"][1]["cells"][0], "m001");
    assert_eq!(table["rows"][1]["cells"][1], 1);
    assert_eq!(table["rows"][1]["object"]["kind"], "PartialObjectMetadata");
    assert!(table["rows"][1]["object"].get("data").is_none());
    let whole = api
        .send(
            Method::GET,
            &format!("{MAPS}/m000?includeObject=Object"),
            &accept,
            "",
        )
        .await
        .ok();
    assert_eq!(whole["rows"][0]["object"]["data"]["a"], "1");
}

#[tokio::test]
async fn partial_metadata_and_yaml() {
    let api = with_maps(1).await;
    let accept = [(
        "accept",
        "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    )];
    let list = api.send(Method::GET, MAPS, &accept, "").await.ok();
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert!(list["items"][0].get("data").is_none());
    let yaml = api
        .send(
            Method::GET,
            &format!("{MAPS}/m000"),
            &[("accept", "application/yaml")],
            "",
        )
        .await;
    let text = String::from_utf8(yaml.bytes.to_vec()).unwrap();
    assert!(
        text.contains("kind: ConfigMap") && text.contains("name: m000"),
        "{text}"
    );
    let refused = api
        .send(Method::GET, MAPS, &[("accept", "application/xml")], "")
        .await;
    assert_eq!(refused.failed().0, 406);
}

#[tokio::test]
async fn a_long_list_is_compressed_for_clients_that_want_it_and_the_same_for_all() {
    let api = Api::without_background(Config::default()).await;
    for n in 0..200 {
        let mut object = map(&format!("m{n:03}"));
        object["data"]["filler"] = json!("x".repeat(2000));
        api.post(MAPS, object).await.ok();
    }
    let plain = api.get(MAPS).await;
    assert!(plain.headers.get("content-encoding").is_none());
    let squeezed = api
        .send(Method::GET, MAPS, &[("accept-encoding", "gzip")], "")
        .await;
    assert_eq!(squeezed.headers["content-encoding"], "gzip");
    assert!(squeezed.bytes.len() * 5 < plain.bytes.len());
    let mut text = String::new();
    std::io::Read::read_to_string(
        &mut flate2::read::GzDecoder::new(&squeezed.bytes[..]),
        &mut text,
    )
    .unwrap();
    assert_eq!(text.as_bytes(), &plain.bytes[..]);
    assert_eq!(names(&plain.value).len(), 200);
}

/// Each object is put into the text by itself.
#[tokio::test]
async fn a_list_in_yaml_says_what_it_says_in_json() {
    let api = with_maps(3).await;
    let mut odd = map("odd");
    odd["data"] = json!({"text": "a\nitems: []\nb", "empty": "", "true": "yes"});
    api.post(MAPS, odd).await.ok();
    let none = format!("{MAPS}?labelSelector=none%3Dsuch");
    let page = format!("{MAPS}?limit=2");
    for path in [MAPS, &none, &page] {
        for shape in [
            "",
            ";as=Table;v=v1;g=meta.k8s.io",
            ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
        ] {
            let form = |media: &str| format!("application/{media}{shape}");
            let (json, yaml) = (form("json"), form("yaml"));
            let json = api
                .send(Method::GET, path, &[("accept", &json)], "")
                .await
                .ok();
            let yaml = api.send(Method::GET, path, &[("accept", &yaml)], "").await;
            assert_eq!(yaml.headers["content-type"], "application/yaml");
            let text = std::str::from_utf8(&yaml.bytes).unwrap();
            let budget = landform_yaml::Budget::FILE;
            let read = landform_yaml::parse_one(text, &budget).unwrap();
            assert_eq!(read, json, "{path} {shape}");
        }
    }
}
