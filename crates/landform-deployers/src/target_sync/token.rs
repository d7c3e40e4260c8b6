//! Replaces the token in the kubeconfig of a TargetSync, as Landscaper documents it: the kubeconfig has one user, who
//! is called like a service account of the source namespace and may request tokens for itself.

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use landform_api::landscaper::{TargetSync, keys};
use landform_engine::{Context, Failure, Right, read_time};
use serde_json::Value;

use super::SOURCE_PATIENCE;
use super::wanted::kubeconfig_key;
use crate::manifest::report;

/// A token is replaced after this time, and lives for longer.
const INTERVAL: Duration = Duration::from_secs(60 * 24 * 60 * 60);
const LIFETIME_SECONDS: i64 = 90 * 24 * 60 * 60;

/// Whether the token is to be replaced now: it never was, it is time, or the annotation asks for it.
pub(super) fn is_due(context: &Context, sync: &TargetSync) -> bool {
    let rotation = sync.spec.token_rotation.as_ref();
    if !rotation.is_some_and(|rotation| rotation.enabled) {
        return false;
    }
    let asked = context.object().annotations();
    let last = sync.status.last_token_rotation_time.as_deref();
    let last_ms = last.and_then(read_time);
    let interval_ms = u64::try_from(INTERVAL.as_millis()).unwrap_or(u64::MAX);
    asked.contains_key(keys::ROTATE_TOKEN)
        || last_ms.is_none_or(|last_ms| context.now_ms() > last_ms.saturating_add(interval_ms))
}

/// Requests a token and puts it into the kubeconfig of the Secret. What is in the way is returned.
pub(super) async fn replace(
    context: &Context,
    sync: &TargetSync,
    source: &Client,
    mut kubeconfig: Value,
) -> Result<Result<(), String>, Failure> {
    let namespace = context.object().namespace().unwrap_or_default();
    let reference = &sync.spec.secret_ref;
    let name = &reference.name;
    let right = Right::new("update", "", "secrets", &namespace, name);
    if let Some(denied) = context.missing([right]).await? {
        return Ok(Err(denied.to_string()));
    }
    let users = kubeconfig["users"].as_array().map_or(0, Vec::len);
    let user = kubeconfig["users"][0]["name"].as_str().map(str::to_owned);
    let Some(user) = user.filter(|_| users == 1) else {
        return Ok(Err(format!(
            "spec.tokenRotation needs a kubeconfig with one user, who is called like the service account whose token it \
             has; that in the Secret {name} has {users}"
        )));
    };
    let token = match request(context, source, &sync.spec.source_namespace, &user).await? {
        Ok(token) => token,
        Err(problem) => return Ok(Err(problem)),
    };
    kubeconfig["users"][0]["user"]["token"] = token.into();
    let text = landform_yaml::write(&kubeconfig);
    let secrets: Api<Secret> = Api::namespaced(context.acting()?, &namespace);
    let mut secret = secrets.get(name).await?;
    let key = kubeconfig_key(reference).to_owned();
    let data = secret.data.get_or_insert_default();
    data.insert(key, ByteString(text.into_bytes()));
    secrets
        .replace(name, &PostParams::default(), &secret)
        .await?;
    Ok(Ok(()))
}

async fn request(
    context: &Context,
    source: &Client,
    namespace: &str,
    account: &str,
) -> Result<Result<String, String>, Failure> {
    let accounts: Api<ServiceAccount> = Api::namespaced(source.clone(), namespace);
    let request = TokenRequest {
        spec: TokenRequestSpec {
            expiration_seconds: Some(LIFETIME_SECONDS),
            ..TokenRequestSpec::default()
        },
        ..TokenRequest::default()
    };
    let parameters = PostParams::default();
    let answer = accounts.create_token_request(account, &parameters, &request);
    let answer = tokio::time::timeout(SOURCE_PATIENCE, answer);
    let problem = match context.or_cancelled(answer).await? {
        Ok(Ok(TokenRequest {
            status: Some(status),
            ..
        })) => return Ok(Ok(status.token)),
        Ok(Ok(_)) => "the answer has no token".to_owned(),
        Ok(Err(error)) => report::in_short(true, &error),
        Err(_) => format!("no answer came in {} s", SOURCE_PATIENCE.as_secs()),
    };
    Ok(Err(format!(
        "the source cluster gave no token for the service account {namespace}/{account}: {problem}"
    )))
}
