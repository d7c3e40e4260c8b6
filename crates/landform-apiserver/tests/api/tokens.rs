//! Tokens of service accounts: what they open, and when they stop to.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http::Method;
use landform_apiserver::environment::{Environment, SystemEnvironment};
use landform_apiserver::{AUTHENTICATED, ApiServer, Config, Identity, StaticToken, TokenKey};
use landform_store::memory::MemoryStore;
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::harness::Api;

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

/// The real world with a clock that tests move on.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicI64>);

impl Environment for Clock {
    fn now(&self) -> OffsetDateTime {
        SystemEnvironment.now() + time::Duration::seconds(self.0.load(Ordering::SeqCst))
    }

    fn uid(&self) -> String {
        SystemEnvironment.uid()
    }

    fn random(&self) -> u64 {
        SystemEnvironment.random()
    }
}

async fn start(key: Option<Arc<TokenKey>>) -> (Api, Clock) {
    let clock = Clock::default();
    let store = Arc::new(MemoryStore::new());
    let config = Config {
        token_key: key,
        static_tokens: vec![StaticToken::new("let-me-in", Identity::internal())],
        ..Config::default()
    };
    let server = ApiServer::start_in(store.clone(), config, Arc::new(clock.clone()))
        .await
        .unwrap();
    (Api::of(server, store), clock)
}

async fn account(api: &Api, name: &str) -> Value {
    let account = json!({"metadata": {"name": name}});
    api.post(ACCOUNTS, account).await.ok()
}

async fn token(api: &Api, spec: Value) -> String {
    let path = format!("{ACCOUNTS}/x/token");
    let request = api.post(&path, json!({"spec": spec})).await.ok();
    request["status"]["token"].as_str().unwrap().to_owned()
}

async fn user(api: &Api, token: &str) -> Option<String> {
    let identity = api.server.authenticate(token).await.unwrap();
    identity.map(|identity| identity.user.clone())
}

const USER: &str = "system:serviceaccount:default:x";

#[tokio::test]
async fn a_token_speaks_for_its_account_until_it_expires() {
    let (api, clock) = start(None).await;
    let uid = account(&api, "x").await["metadata"]["uid"].clone();
    let path = format!("{ACCOUNTS}/x/token");
    let request = api
        .post(&path, json!({"spec": {"expirationSeconds": 700}}))
        .await
        .ok();
    assert_eq!(request["kind"], "TokenRequest");
    assert_eq!(
        request["spec"],
        json!({"audiences": ["landform"], "expirationSeconds": 700})
    );
    let token = request["status"]["token"].as_str().unwrap();
    let identity = api.server.authenticate(token).await.unwrap().unwrap();
    assert_eq!(identity.user, USER);
    assert_eq!(json!(identity.uid), uid);
    assert_eq!(
        identity.groups,
        [
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            AUTHENTICATED
        ]
    );
    clock.0.store(690, Ordering::SeqCst);
    assert_eq!(user(&api, token).await.as_deref(), Some(USER));
    clock.0.store(701, Ordering::SeqCst);
    assert_eq!(user(&api, token).await, None);
}

#[tokio::test]
async fn a_token_dies_with_its_account_and_does_not_wake_with_its_name() {
    let (api, _) = start(None).await;
    account(&api, "x").await;
    let token = token(&api, json!({})).await;
    assert_eq!(user(&api, &token).await.as_deref(), Some(USER));
    let options = json!({"propagationPolicy": "Background"}).to_string();
    let headers = [("content-type", "application/json")];
    api.send(Method::DELETE, &format!("{ACCOUNTS}/x"), &headers, options)
        .await
        .ok();
    assert_eq!(user(&api, &token).await, None);
    account(&api, "x").await;
    assert_eq!(user(&api, &token).await, None);
}

#[tokio::test]
async fn a_bound_token_dies_with_what_it_is_bound_to() {
    let (api, _) = start(None).await;
    account(&api, "x").await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let bound = json!({"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "s"}});
    let path = format!("{ACCOUNTS}/x/token");
    let missing = api.post(&path, json!({"spec": bound})).await;
    assert_eq!(missing.failed().2, "secrets \"s\" not found");
    api.post(secrets, json!({"metadata": {"name": "s"}}))
        .await
        .ok();
    let token = token(&api, bound).await;
    assert_eq!(user(&api, &token).await.as_deref(), Some(USER));
    let options = json!({"propagationPolicy": "Background"}).to_string();
    let headers = [("content-type", "application/json")];
    api.send(Method::DELETE, &format!("{secrets}/s"), &headers, options)
        .await
        .ok();
    assert_eq!(user(&api, &token).await, None);
    let node = json!({"spec": {"boundObjectRef": {"kind": "Node", "name": "n"}}});
    assert_eq!(api.post(&path, node).await.failed().0, 400);
}

#[tokio::test]
async fn keys_and_audiences_must_fit() {
    let key = Arc::new(TokenKey::generate().unwrap());
    let (api, _) = start(Some(key.clone())).await;
    let (foreign, _) = start(None).await;
    for api in [&api, &foreign] {
        account(api, "x").await;
    }
    let own = token(&api, json!({})).await;
    assert_eq!(user(&foreign, &own).await, None);
    // A server that was started again with the same key and store takes its tokens.
    let config = Config {
        token_key: Some(key),
        ..Config::default()
    };
    let again = ApiServer::start(api.store.clone(), config).await.unwrap();
    assert_eq!(again.authenticate(&own).await.unwrap().unwrap().user, USER);
    assert_eq!(
        user(&api, "let-me-in").await.as_deref(),
        Some("system:landform")
    );
    for wrong in ["", "let-me-i", "let-me-in2", "a.b.c"] {
        assert_eq!(user(&api, wrong).await, None, "{wrong}");
    }

    let elsewhere = token(&api, json!({"audiences": ["vault", "other"]})).await;
    assert_eq!(user(&api, &elsewhere).await, None);
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let ask = |audiences: Value| json!({"spec": {"token": elsewhere, "audiences": audiences}});
    let review = api.post(reviews, ask(json!(["vault", "bank"]))).await.ok();
    assert_eq!(review["status"]["authenticated"], true);
    assert_eq!(review["status"]["audiences"], json!(["vault"]));
    assert_eq!(review["status"]["user"]["username"], USER);
    let review = api.post(reviews, ask(json!(["bank"]))).await.ok();
    assert_eq!(review["status"]["authenticated"], false);
    let review = api.post(reviews, ask(Value::Null)).await.ok();
    assert_eq!(review["status"]["authenticated"], false);
    assert_eq!(api.post(reviews, json!({"spec": {}})).await.failed().0, 400);
}

#[tokio::test]
async fn a_request_for_a_token_must_make_sense_and_be_allowed() {
    let (api, _) = start(None).await;
    account(&api, "x").await;
    let path = format!("{ACCOUNTS}/x/token");
    let short = api
        .post(&path, json!({"spec": {"expirationSeconds": 5}}))
        .await;
    assert_eq!(short.failed().0, 422);
    assert_eq!(
        short.value["details"]["causes"][0]["field"],
        "spec.expirationSeconds"
    );
    let long = json!({"spec": {"expirationSeconds": 4_000_000_000_i64}});
    let long = api.post(&path, long).await.ok();
    assert_eq!(long["spec"]["expirationSeconds"], 365 * 24 * 3600);
    assert_eq!(api.get(&path).await.failed().0, 405);
    assert_eq!(
        api.post(&format!("{ACCOUNTS}/absent/token"), json!({}))
            .await
            .failed()
            .0,
        404
    );
    assert_eq!(
        api.post(&path, json!({"spec": {"audiences": 7}}))
            .await
            .failed()
            .0,
        400
    );
    let maps = "/api/v1/namespaces/default/configmaps/x/token";
    assert_eq!(api.post(maps, json!({})).await.failed().0, 404);
    let jane = api.by(Identity::new("jane", [AUTHENTICATED]));
    assert_eq!(
        jane.post(&path, json!({})).await.failed().2,
        r#"serviceaccounts "x" is forbidden: User "jane" cannot create resource "serviceaccounts/token" in API group "" in the namespace "default""#
    );
}
