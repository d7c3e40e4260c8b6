//! The audit log: what is in it, and what never is.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request};
use http_body_util::Full;
use landform_apiserver::{
    AUTHENTICATED, AuditLevel, AuditLog, AuditOptions, Config, Identity, MASTERS, PeerAddress,
};
use serde_json::{Value, json};

use crate::harness::{Api, MAPS, map};

const CANARY: &str = "canary-7f3a";

/// A server with an audit log in a directory of its own.
struct Audited {
    api: Api,
    log: AuditLog,
    file: PathBuf,
    _dir: tempfile::TempDir,
}

impl Audited {
    async fn start(change: impl FnOnce(&mut AuditOptions)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("audit.log");
        let mut options = AuditOptions {
            file: file.clone(),
            level: AuditLevel::Metadata,
            own: false,
            file_bytes_max: 1 << 20,
            files_max: 3,
        };
        change(&mut options);
        let log = AuditLog::open(options).unwrap();
        let config = Config {
            audit: Some(log.clone()),
            ..Config::default()
        };
        let api = Api::without_background(config).await;
        Self {
            api,
            log,
            file,
            _dir: dir,
        }
    }

    fn admin(&self) -> Api {
        let admin = Identity::new("admin", [MASTERS, AUTHENTICATED]);
        self.api.by(admin)
    }

    fn text(&self) -> String {
        self.log.flush(Duration::from_secs(10));
        std::fs::read_to_string(&self.file).unwrap()
    }

    fn lines(&self) -> Vec<Value> {
        let text = self.text();
        let lines = text.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().unwrap()
    }

    /// Sends a request without credentials, from an address.
    async fn anonymous(&self, path: &str, from: &str) -> u16 {
        let mut request = Request::builder()
            .uri(path)
            .header("user-agent", "probe/1")
            .body(Full::new(Bytes::new()))
            .unwrap();
        let from: SocketAddr = from.parse().unwrap();
        request.extensions_mut().insert(PeerAddress(from));
        self.api.server.answer(request).await.status().as_u16()
    }
}

#[tokio::test]
async fn writes_are_logged_with_who_what_and_how_it_ended() {
    let audited = Audited::start(|_| {}).await;
    let admin = audited.admin();
    let answer = admin.post(MAPS, map("a")).await;
    let id = answer.headers["audit-id"].to_str().unwrap().to_owned();
    answer.ok();
    admin.get(MAPS).await.ok();
    let generated = json!({"metadata": {"generateName": "made-"}});
    let generated = admin.post(MAPS, generated).await.ok();
    assert_eq!(admin.post(MAPS, map("a")).await.code, 409);
    admin.delete(&format!("{MAPS}/a?dryRun=All")).await.ok();
    let status = json!({"status": {"phase": "Active"}});
    admin
        .patch("/api/v1/namespaces/default/status", "merge", status)
        .await
        .ok();
    let lines = audited.lines();
    let seen: Vec<(&Value, &Value, &Value)> = lines
        .iter()
        .map(|line| {
            let code = &line["responseStatus"]["code"];
            (&line["verb"], &line["objectRef"]["name"], code)
        })
        .collect();
    let made = &generated["metadata"]["name"];
    assert_eq!(
        seen,
        [
            (&json!("create"), &json!("a"), &json!(201)),
            (&json!("create"), made, &json!(201)),
            (&json!("create"), &json!("a"), &json!(409)),
            (&json!("delete"), &json!("a"), &json!(200)),
            (&json!("patch"), &json!("default"), &json!(200)),
        ]
    );
    let first = &lines[0];
    assert_eq!(first["kind"], "Event");
    assert_eq!(first["apiVersion"], "audit.k8s.io/v1");
    assert_eq!(first["auditID"], json!(id));
    assert_eq!(
        first["user"],
        json!({"username": "admin", "groups": [MASTERS, AUTHENTICATED]})
    );
    assert_eq!(
        first["objectRef"],
        json!({"apiVersion": "v1", "resource": "configmaps", "namespace": "default", "name": "a"})
    );
    assert_eq!(
        first["annotations"]["authorization.k8s.io/decision"],
        "allow"
    );
    assert_eq!(lines[2]["responseStatus"]["reason"], "AlreadyExists");
    assert_eq!(lines[3]["requestURI"], format!("{MAPS}/a?dryRun=All"));
    assert_eq!(lines[4]["objectRef"]["subresource"], "status");
    assert!(first["requestReceivedTimestamp"].as_str() <= first["stageTimestamp"].as_str());
}

#[tokio::test]
async fn a_write_has_the_name_that_was_given_whatever_it_ended_with() {
    let audited = Audited::start(|_| {}).await;
    let admin = audited.admin();
    let nowhere = "/api/v1/namespaces/nope/configmaps";
    admin.post(MAPS, map("a")).await.ok();
    admin.post(MAPS, map("taken")).await.ok();
    let generated = json!({"metadata": {"generateName": "made-"}});
    let wrong = json!({"metadata": {"name": "wrong"}, "data": {"a b": "c"}});
    let rename = |name: &str| json!({"kind": "Rename", "name": name});
    let not_owned = json!({"metadata": {"name": "owned", "ownerReferences": [{}]}});
    let table = [
        (nowhere.to_owned(), map("mine"), 404, "mine", None),
        (nowhere.to_owned(), generated, 404, "", None),
        (MAPS.to_owned(), wrong, 422, "wrong", None),
        (MAPS.to_owned(), not_owned, 422, "owned", None),
        (MAPS.to_owned(), map("a"), 409, "a", None),
        (
            format!("{MAPS}/a/rename"),
            rename("taken"),
            409,
            "a",
            Some("taken"),
        ),
        (
            format!("{MAPS}/no/rename"),
            rename("new"),
            404,
            "no",
            Some("new"),
        ),
        (
            format!("{MAPS}/a/rename?dryRun=All"),
            rename("new"),
            200,
            "a",
            Some("new"),
        ),
        (
            format!("{MAPS}/a/rename"),
            rename("new"),
            200,
            "a",
            Some("new"),
        ),
    ];
    let before = audited.lines().len();
    for (path, body, code, ..) in &table {
        let answer = admin.post(path, body.clone()).await;
        assert_eq!(answer.code, *code, "{path} {body}");
    }
    for (line, (path, body, _, name, new)) in audited.lines()[before..].iter().zip(&table) {
        let found = line["objectRef"]["name"].as_str().unwrap_or_default();
        assert_eq!(found, *name, "{path} {body}: {line}");
        let found = line["annotations"]["landform.dev/new-name"].as_str();
        assert_eq!(found, *new, "{path} {body}: {line}");
    }
}

#[tokio::test]
async fn refusals_are_logged_with_their_address_and_reads_are_not() {
    let audited = Audited::start(|_| {}).await;
    let jane = audited.api.by(Identity::new("jane", [AUTHENTICATED]));
    assert_eq!(jane.get("/api/v1/secrets").await.code, 403);
    jane.get("/version").await;
    assert_eq!(audited.anonymous(MAPS, "192.0.2.7:1234").await, 401);
    assert_eq!(audited.anonymous("/readyz", "192.0.2.7:1234").await, 200);
    let review = json!({"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    jane.post(reviews, review).await.ok();
    let lines = audited.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0]["user"]["username"], "jane");
    assert_eq!(lines[0]["verb"], "list");
    assert_eq!(lines[0]["responseStatus"]["code"], 403);
    assert_eq!(
        lines[0]["annotations"]["authorization.k8s.io/decision"],
        "forbid"
    );
    assert_eq!(lines[1]["user"], json!({}));
    assert_eq!(lines[1]["responseStatus"]["reason"], "Unauthorized");
    assert_eq!(lines[1]["sourceIPs"], json!(["192.0.2.7"]));
    assert_eq!(lines[1]["userAgent"], "probe/1");
}

#[tokio::test]
async fn impersonation_names_both() {
    let audited = Audited::start(|_| {}).await;
    let as_jane = [("impersonate-user", "jane"), ("impersonate-group", "dev")];
    let post = |api: Api| async move {
        let body = map("a").to_string();
        api.send(Method::POST, MAPS, &as_jane, body).await.code
    };
    assert_eq!(post(audited.admin()).await, 403);
    let joe = audited.api.by(Identity::new("joe", [AUTHENTICATED]));
    assert_eq!(post(joe).await, 403);
    // A part of the server that acts for a user is logged: it is the user's doing.
    assert_eq!(post(audited.api.clone()).await, 403);
    let lines = audited.lines();
    assert_eq!(lines[0]["user"]["username"], "admin");
    assert_eq!(
        lines[0]["impersonatedUser"],
        json!({"username": "jane", "groups": ["dev", AUTHENTICATED]})
    );
    assert_eq!(lines[1]["user"]["username"], "joe");
    assert_eq!(lines[1]["impersonatedUser"]["username"], "jane");
    assert_eq!(lines[2]["user"]["username"], "system:landform");
    assert_eq!(lines.len(), 3);
}

#[tokio::test]
async fn levels_and_own_requests_are_a_choice() {
    let audited = Audited::start(|options| options.level = AuditLevel::All).await;
    audited.admin().get(MAPS).await.ok();
    audited.anonymous("/livez", "192.0.2.7:1").await;
    audited.api.post(MAPS, map("own")).await.ok();
    let verbs = |lines: &[Value]| -> Vec<String> {
        let verbs = lines.iter().map(|line| line["verb"].as_str().unwrap());
        verbs.map(str::to_owned).collect()
    };
    assert_eq!(verbs(&audited.lines()), ["list"]);

    let audited = Audited::start(|options| options.own = true).await;
    audited.api.post(MAPS, map("own")).await.ok();
    assert_eq!(verbs(&audited.lines()), ["create"]);
}

#[tokio::test]
async fn nothing_of_an_objects_content_is_in_it() {
    let audited = Audited::start(|options| options.level = AuditLevel::All).await;
    let admin = audited.admin();
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({
        "metadata": {"name": "s", "annotations": {"a": CANARY}, "labels": {"l": CANARY}},
        "stringData": {"k": CANARY},
    });
    admin.post(secrets, secret.clone()).await.ok();
    assert_eq!(admin.post(secrets, secret).await.code, 409);
    let broken = json!({"metadata": {"name": "t"}, "data": {"k": CANARY}, "type": [CANARY]});
    assert_eq!(admin.post(secrets, broken).await.code, 422);
    let patch = json!({"stringData": {"k": CANARY}});
    let one = format!("{secrets}/s");
    admin.patch(&one, "merge", patch).await.ok();
    let path = format!("{secrets}?labelSelector=l%3D{CANARY}&token={CANARY}&{CANARY}");
    admin.get(&path).await.ok();
    let headers = [("authorization", CANARY), ("cookie", CANARY)];
    admin.send(Method::DELETE, &one, &headers, "").await;
    let text = audited.text();
    assert_eq!(text.lines().count(), 6, "{text}");
    assert!(!text.contains(CANARY), "{text}");
}

#[tokio::test]
async fn names_are_cut_and_control_characters_escaped() {
    let audited = Audited::start(|_| {}).await;
    let long = "n".repeat(5_000);
    assert_eq!(
        audited
            .anonymous(&format!("{MAPS}/{long}"), "192.0.2.7:1")
            .await,
        401
    );
    assert_eq!(
        audited
            .anonymous(&format!("{MAPS}/a%0a%1b[2J"), "192.0.2.7:1")
            .await,
        401
    );
    let text = audited.text();
    assert_eq!(text.lines().count(), 2);
    assert!(text.len() < 3_000, "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[tokio::test]
async fn a_flood_of_401_costs_a_few_lines() {
    let audited = Audited::start(|_| {}).await;
    for _ in 0..500 {
        audited.anonymous(MAPS, "192.0.2.7:1").await;
    }
    audited.anonymous(MAPS, "192.0.2.8:1").await;
    let lines = audited.lines();
    assert!(lines.len() < 30, "{}", lines.len());
    assert!(
        lines
            .iter()
            .any(|line| line["sourceIPs"] == json!(["192.0.2.8"]))
    );
    let gap = lines.last().unwrap();
    assert_eq!(gap["kind"], "AuditGap");
    assert_eq!(gap["sourceIPs"], json!(["192.0.2.7"]));
    assert_eq!(gap["missing"], json!(500 - 20));
    let metrics = audited.admin().get("/metrics").await;
    let metrics = String::from_utf8(metrics.bytes.to_vec()).unwrap();
    let dropped = r#"landform_audit_dropped_total{reason="flood"} 480"#;
    assert!(metrics.contains(dropped), "{metrics}");
}

#[tokio::test]
async fn files_are_private_and_limited_in_size_and_number() {
    let audited = Audited::start(|options| options.file_bytes_max = 4_000).await;
    let admin = audited.admin();
    for number in 0..60 {
        admin.post(MAPS, map(&format!("m{number}"))).await.ok();
    }
    audited.log.flush(Duration::from_secs(10));
    let dir = audited.file.parent().unwrap();
    let mut names: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        assert!(metadata.len() <= 4_000);
        names.push(entry.file_name().into_string().unwrap());
    }
    names.sort();
    assert_eq!(names, ["audit.log", "audit.log.1", "audit.log.2"]);
    let newest = audited.lines();
    assert_eq!(newest.last().unwrap()["objectRef"]["name"], "m59");
}

#[tokio::test]
async fn a_refused_impersonation_is_logged_with_whom_it_wanted_to_be_and_the_requests_object() {
    let audited = Audited::start(|_| {}).await;
    let jane = audited.api.by(Identity::new("jane", [AUTHENTICATED]));
    let headers = [
        ("content-type", "application/json"),
        ("impersonate-user", "root"),
        ("impersonate-group", "system:masters"),
        ("impersonate-group", "dev"),
    ];
    let requests = [
        (Method::GET, format!("{MAPS}/mine"), "get", json!("mine")),
        (
            Method::DELETE,
            format!("{MAPS}/mine"),
            "delete",
            json!("mine"),
        ),
        (Method::GET, MAPS.to_owned(), "list", Value::Null),
        (Method::POST, MAPS.to_owned(), "create", Value::Null),
    ];
    for (method, path, ..) in &requests {
        let body = map("a").to_string();
        let answer = jane.send(method.clone(), path, &headers, body).await;
        assert_eq!(answer.code, 403);
    }
    let lines = audited.lines();
    assert_eq!(lines.len(), requests.len());
    for ((_, path, verb, name), line) in requests.iter().zip(&lines) {
        assert_eq!(line["verb"], *verb, "{path}");
        assert_eq!(line["objectRef"]["resource"], "configmaps", "{path}");
        assert_eq!(line["objectRef"]["name"], *name, "{path}");
        assert_eq!(line["user"]["username"], "jane");
        let wanted = json!({"username": "root", "groups": ["system:masters", "dev"]});
        assert_eq!(line["impersonatedUser"], wanted, "{path}");
    }
    // Groups alone are in the line, too.
    let group = [headers[0], headers[2]];
    let body = map("a").to_string();
    let answer = jane.send(Method::POST, MAPS, &group, body).await;
    assert_eq!(answer.code, 400);
    let lines = audited.lines();
    let line = lines.last().unwrap();
    assert_eq!(
        line["impersonatedUser"],
        json!({"groups": ["system:masters"]})
    );
}
