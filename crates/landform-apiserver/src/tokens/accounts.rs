//! Tokens of service accounts: issued on request, and turned back into who they speak for.

use std::sync::Arc;

use http::{Method, Response, StatusCode};
use ring::digest::{SHA256, digest};
use serde::Deserialize;
use serde_json::{Value, json};

use super::claims::{Claims, Kubernetes, Reference};
use super::key::TokenKey;
use super::{REMEMBERED, Tokens};
use crate::body::Body;
use crate::environment::timestamp;
use crate::error::{ApiError, Reason, Result};
use crate::identity::{Identity, account_user};
use crate::request::accept;
use crate::request::decode::{self, BodyForm};
use crate::respond;
use crate::server::{ApiServer, Call};
use crate::verbs::{Place, not_allowed};

/// Who issues tokens, and for whom they are when nobody says so: this API.
pub(crate) const AUDIENCE: &str = "landform";
/// How long a token holds when nobody says so, at least and at the most.
const USUAL_SECONDS: i64 = 3600;
const LEAST_SECONDS: i64 = 600;
const MOST_SECONDS: i64 = 365 * 24 * 3600;
/// A clock that was set back a little must not make a new token invalid.
const LEEWAY_SECONDS: i64 = 60;

/// Somebody who was proven by a token, and for which audiences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proven {
    pub(crate) identity: Identity,
    pub(crate) audiences: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    audiences: Option<Vec<String>>,
    expiration_seconds: Option<i64>,
    bound_object_ref: Option<BoundObject>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BoundObject {
    kind: String,
    name: String,
    uid: String,
}

impl Tokens {
    fn key(&self, given: Option<&Arc<TokenKey>>) -> Option<Arc<TokenKey>> {
        let own = || {
            let made = TokenKey::generate();
            if let Err(error) = &made {
                tracing::error!(%error, "there is no key for tokens of service accounts");
            }
            made.ok().map(Arc::new)
        };
        given
            .cloned()
            .or_else(|| self.own_key.get_or_init(own).clone())
    }

    /// What a token says, if it was signed here.
    fn verified(&self, key: &TokenKey, token: &str) -> Option<Arc<Claims>> {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        if let Some(claims) = self.verified.lock().get(&hash) {
            return Some(claims.clone());
        }
        let claims = Arc::new(key.verify(token)?);
        let mut verified = self.verified.lock();
        if verified.len() >= REMEMBERED {
            verified.clear();
        }
        verified.insert(hash, claims.clone());
        Some(claims)
    }
}

impl ApiServer {
    /// Who a bearer token speaks for; `None` when it is worth nothing here.
    ///
    /// # Errors
    /// When the store can't be read.
    pub async fn authenticate(&self, token: &str) -> Result<Option<Identity>> {
        let proven = self.prove(token, &[]).await?;
        Ok(proven.map(|proven| proven.identity))
    }

    /// As [`ApiServer::authenticate`], for one of these audiences; for this API when there are none.
    pub(crate) async fn prove(&self, token: &str, wanted: &[String]) -> Result<Option<Proven>> {
        let own = [AUDIENCE.to_owned()];
        let wanted = if wanted.is_empty() { &own } else { wanted };
        let known = self.shared.config.static_tokens.iter();
        if let Some(identity) = known.filter_map(|known| known.identity(token)).next() {
            let audiences = shared(wanted, &own);
            return Ok((!audiences.is_empty()).then(|| Proven {
                identity: identity.clone(),
                audiences,
            }));
        }
        let tokens = &self.shared.tokens;
        let Some(claims) = tokens
            .key(self.shared.config.token_key.as_ref())
            .and_then(|key| tokens.verified(&key, token))
        else {
            return Ok(None);
        };
        let audiences = shared(wanted, &claims.aud);
        let now = self.shared.environment.now().unix_timestamp();
        let is_its_time = now < claims.exp && now + LEEWAY_SECONDS >= claims.nbf;
        if audiences.is_empty() || !is_its_time || claims.iss != AUDIENCE {
            return Ok(None);
        }
        let Kubernetes {
            namespace,
            serviceaccount,
            ..
        } = &claims.kubernetes;
        for (plural, reference) in claims.kubernetes.references() {
            let uid = self.uid_of(plural, namespace, &reference.name).await?;
            if uid.is_none_or(|uid| uid != reference.uid) {
                return Ok(None);
            }
        }
        let mut identity = Identity::service_account(namespace, &serviceaccount.name);
        identity.uid.clone_from(&serviceaccount.uid);
        let credential = "authentication.kubernetes.io/credential-id".to_owned();
        identity
            .extra
            .insert(credential, vec![format!("JTI={}", claims.jti)]);
        Ok(Some(Proven {
            identity,
            audiences,
        }))
    }

    /// The uid of an object of a built-in kind, if it is there.
    async fn uid_of(&self, plural: &str, namespace: &str, name: &str) -> Result<Option<String>> {
        #[derive(Deserialize)]
        struct Peek {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        struct Metadata {
            uid: String,
        }
        let key = self.builtin("", plural).key(namespace, name);
        let record = self.shared.store.get(&key).await?;
        Ok(record.and_then(|record| {
            let peek: Option<Peek> = serde_json::from_slice(&record.value).ok();
            peek.map(|peek| peek.metadata.uid)
        }))
    }

    /// `serviceaccounts/NAME/token`: a new token.
    pub(crate) async fn issue_token(&self, call: &Call, place: &Place) -> Result<Response<Body>> {
        if call.method != Method::POST {
            return Err(not_allowed(
                &call.method,
                "the subresource token: post a TokenRequest",
            ));
        }
        if call.query.dry_run()? {
            return Err(ApiError::bad_request(
                "dryRun is not possible here: a token that is not issued is no token",
            ));
        }
        let form = BodyForm::from_content_type(call.header(http::header::CONTENT_TYPE))?;
        let mut request = match call.body.is_empty() {
            true => json!({}),
            false => decode::decode(&call.body, form)?.value,
        };
        let spec = read_spec(&request)?;
        let name = place.name.clone().unwrap_or_default();
        let uid = self
            .uid_of("serviceaccounts", &place.namespace, &name)
            .await?;
        let uid = uid.ok_or_else(|| place.not_found())?;
        let mut kubernetes = Kubernetes {
            namespace: place.namespace.clone(),
            serviceaccount: Reference {
                name: name.clone(),
                uid,
            },
            ..Kubernetes::default()
        };
        if let Some(bound) = &spec.bound_object_ref {
            self.bind_token(bound, &mut kubernetes).await?;
        }
        let seconds = spec
            .expiration_seconds
            .unwrap_or(USUAL_SECONDS)
            .min(MOST_SECONDS);
        let audiences = spec.audiences.filter(|list| !list.is_empty());
        let now = self.shared.environment.now();
        let issued = now.unix_timestamp();
        let claims = Claims {
            aud: audiences.unwrap_or_else(|| vec![AUDIENCE.into()]),
            exp: issued + seconds,
            iat: issued,
            iss: AUDIENCE.into(),
            jti: self.shared.environment.uid(),
            nbf: issued,
            sub: account_user(&place.namespace, &name),
            kubernetes,
        };
        let key = self
            .shared
            .tokens
            .key(self.shared.config.token_key.as_ref());
        let token = key.and_then(|key| key.sign(&claims).ok()).ok_or_else(|| {
            ApiError::internal("the token can't be signed: the system has no randomness")
        })?;
        request["apiVersion"] = json!("authentication.k8s.io/v1");
        request["kind"] = json!("TokenRequest");
        request["metadata"] = json!({
            "name": name, "namespace": place.namespace, "creationTimestamp": timestamp(now),
        });
        request["spec"]["audiences"] = json!(claims.aud);
        request["spec"]["expirationSeconds"] = json!(seconds);
        request["status"] = json!({
            "token": token,
            "expirationTimestamp": timestamp(now + time::Duration::seconds(seconds)),
        });
        let encoding = accept::negotiate(call.header(http::header::ACCEPT))?.encoding;
        Ok(respond::value(StatusCode::CREATED, &request, encoding))
    }

    /// Binds a token to an object: when that goes, the token is worth nothing any more.
    async fn bind_token(&self, bound: &BoundObject, kubernetes: &mut Kubernetes) -> Result<()> {
        let plural = match bound.kind.as_str() {
            "Pod" => "pods",
            "Secret" => "secrets",
            other => {
                return Err(ApiError::bad_request(format!(
                    "spec.boundObjectRef.kind: {other:?}: must be Pod or Secret"
                )));
            }
        };
        let uid = self
            .uid_of(plural, &kubernetes.namespace, &bound.name)
            .await?;
        let uid = uid.ok_or_else(|| ApiError::not_found("", plural, &bound.name))?;
        if !bound.uid.is_empty() && bound.uid != uid {
            let why = format!(
                "the UID in the bound object reference ({}) does not match the UID in record",
                bound.uid
            );
            return Err(ApiError::conflict("", plural, &bound.name, &why));
        }
        let reference = Some(Reference {
            name: bound.name.clone(),
            uid,
        });
        if plural == "pods" {
            kubernetes.pod = reference;
        } else {
            kubernetes.secret = reference;
        }
        Ok(())
    }
}

fn read_spec(request: &Value) -> Result<Spec> {
    if !request.is_object() {
        return Err(ApiError::bad_request("the body must be a TokenRequest"));
    }
    let spec = match request.get("spec") {
        None | Some(Value::Null) => Spec::default(),
        Some(spec) => Spec::deserialize(spec)
            .map_err(|error| ApiError::bad_request(format!("spec: {error}")))?,
    };
    match spec.expiration_seconds {
        Some(seconds) if seconds < LEAST_SECONDS => Err(ApiError::new(
            Reason::Invalid,
            format!(
                "TokenRequest.authentication.k8s.io is invalid: spec.expirationSeconds: Invalid value: {seconds}: may not specify a duration less than 10 minutes"
            ),
        )
        .caused_by(
            "FieldValueInvalid",
            "may not specify a duration less than 10 minutes",
            "spec.expirationSeconds",
        )),
        _ => Ok(spec),
    }
}

/// What both lists have.
fn shared(wanted: &[String], given: &[String]) -> Vec<String> {
    let both = wanted.iter().filter(|audience| given.contains(audience));
    both.cloned().collect()
}
