//! Reviews: questions about who somebody is and what they may do, posted like objects and never stored.

use http::{Method, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::body::Body;
use crate::error::{ApiError, Result};
use crate::identity::{Caller, Identity};
use crate::rbac::{Action, Ask};
use crate::request::accept;
use crate::request::decode::{self, BodyForm};
use crate::request::path::ObjectsPath;
use crate::respond;
use crate::server::{ApiServer, Call};

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";

/// The reviews, as discovery lists them: group, plural, kind, namespaced.
pub(crate) const REVIEWS: [(&str, &str, &str, bool); 6] = [
    (
        AUTHENTICATION,
        "selfsubjectreviews",
        "SelfSubjectReview",
        false,
    ),
    (AUTHENTICATION, "tokenreviews", "TokenReview", false),
    (
        AUTHORIZATION,
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        false,
    ),
    (
        AUTHORIZATION,
        "selfsubjectrulesreviews",
        "SelfSubjectRulesReview",
        false,
    ),
    (
        AUTHORIZATION,
        "subjectaccessreviews",
        "SubjectAccessReview",
        false,
    ),
    (
        AUTHORIZATION,
        "localsubjectaccessreviews",
        "LocalSubjectAccessReview",
        true,
    ),
];

/// What an access review asks about.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AccessSpec {
    resource_attributes: Option<ResourceAttributes>,
    non_resource_attributes: Option<PathAttributes>,
    user: Option<String>,
    groups: Option<Vec<String>>,
    uid: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResourceAttributes {
    namespace: String,
    verb: String,
    group: String,
    resource: String,
    subresource: String,
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PathAttributes {
    path: String,
    verb: String,
}

impl AccessSpec {
    fn ask(&self) -> Result<Ask<'_>> {
        match (&self.resource_attributes, &self.non_resource_attributes) {
            (Some(wanted), None) => Ok(Ask::Action(Action {
                verb: &wanted.verb,
                group: &wanted.group,
                resource: &wanted.resource,
                subresource: &wanted.subresource,
                namespace: &wanted.namespace,
                name: wanted.name.as_str().into(),
            })),
            (None, Some(wanted)) => Ok(Ask::Path {
                verb: wanted.verb.as_str().into(),
                path: &wanted.path,
            }),
            (None, None) | (Some(_), Some(_)) => Err(ApiError::bad_request(
                "spec: exactly one of resourceAttributes and nonResourceAttributes must be specified",
            )),
        }
    }

    /// Somebody else.
    fn subject(&self) -> Result<Identity> {
        let identity = Identity::from(Caller {
            user: self.user.clone().unwrap_or_default(),
            groups: self.groups.clone().unwrap_or_default(),
            uid: self.uid.clone().unwrap_or_default(),
            ..Caller::default()
        });
        if identity.user.is_empty() && identity.groups.is_empty() {
            return Err(ApiError::bad_request(
                "spec: at least one of user or groups must be specified",
            ));
        }
        Ok(identity)
    }
}

impl ApiServer {
    /// Answers a review; `None` when the path names none.
    pub(super) async fn review(
        &self,
        call: &Call,
        path: &ObjectsPath,
    ) -> Result<Option<Response<Body>>> {
        let found = REVIEWS.iter().find(|(group, plural, _, namespaced)| {
            *group == path.group
                && *plural == path.resource
                && path.version == "v1"
                && path.name.is_none()
                && *namespaced == path.namespace.is_some()
        });
        let Some((group, _, kind, _)) = found else {
            return Ok(None);
        };
        if call.method != Method::POST {
            return Err(super::not_allowed(&call.method, "a review: post it"));
        }
        let form = BodyForm::from_content_type(call.header(http::header::CONTENT_TYPE))?;
        let mut review = match call.body.is_empty() {
            true => json!({}),
            false => decode::decode(&call.body, form)?.value,
        };
        if !review.is_object() {
            return Err(ApiError::bad_request(format!("the body must be a {kind}")));
        }
        review["apiVersion"] = json!(format!("{group}/v1"));
        review["kind"] = json!(kind);
        let namespace = path.namespace.as_deref();
        review["status"] = self.verdict(call, kind, &review["spec"], namespace).await?;
        let encoding = accept::negotiate(call.header(http::header::ACCEPT))?.encoding;
        Ok(Some(respond::value(StatusCode::CREATED, &review, encoding)))
    }

    async fn verdict(
        &self,
        call: &Call,
        kind: &str,
        spec: &Value,
        namespace: Option<&str>,
    ) -> Result<Value> {
        match kind {
            "SelfSubjectReview" => Ok(json!({"userInfo": user_info(&call.identity)})),
            "SelfSubjectRulesReview" => self.all_rules(&call.identity, spec).await,
            "TokenReview" => self.review_token(spec).await,
            _ => {
                let spec = match spec {
                    Value::Null => AccessSpec::default(),
                    spec => AccessSpec::deserialize(spec)
                        .map_err(|error| ApiError::bad_request(format!("spec: {error}")))?,
                };
                let ask = spec.ask()?;
                let wanted = namespace.is_none_or(|namespace| ask.namespace() == namespace);
                if !wanted {
                    return Err(ApiError::bad_request(
                        "spec.resourceAttributes.namespace must be the namespace of the path",
                    ));
                }
                let somebody = match kind {
                    "SelfSubjectAccessReview" => call.identity.clone(),
                    _ => spec.subject()?,
                };
                Ok(match self.reason_to_allow(&somebody, &ask).await? {
                    Some(reason) => json!({"allowed": true, "reason": reason}),
                    None => json!({"allowed": false}),
                })
            }
        }
    }

    /// Everything that somebody may do in a namespace.
    async fn all_rules(&self, who: &Identity, spec: &Value) -> Result<Value> {
        let namespace = spec["namespace"].as_str().unwrap_or_default();
        if namespace.is_empty() {
            return Err(ApiError::bad_request(
                "spec.namespace: Required value: say in which namespace",
            ));
        }
        let (mut resources, mut paths) = (Vec::new(), Vec::new());
        for rule in self.rules_of(who, namespace).await? {
            if !rule.resources.is_empty() {
                resources.push(json!({
                    "verbs": rule.verbs, "apiGroups": rule.api_groups,
                    "resources": rule.resources, "resourceNames": rule.resource_names,
                }));
            }
            if !rule.non_resource_urls.is_empty() {
                let urls = &rule.non_resource_urls;
                paths.push(json!({"verbs": rule.verbs, "nonResourceURLs": urls}));
            }
        }
        Ok(json!({"incomplete": false, "resourceRules": resources, "nonResourceRules": paths}))
    }

    async fn review_token(&self, spec: &Value) -> Result<Value> {
        let audiences: Vec<String> = spec["audiences"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|audience| audience.as_str().map(str::to_owned))
            .collect();
        let token = spec["token"].as_str().unwrap_or_default();
        if token.is_empty() {
            return Err(ApiError::bad_request(
                "spec.token: Required value: say which token is to be looked at",
            ));
        }
        Ok(match self.prove(token, &audiences).await? {
            Some(proven) => json!({
                "authenticated": true,
                "user": user_info(&proven.identity),
                "audiences": proven.audiences,
            }),
            None => json!({
                "authenticated": false,
                "error": "the token is not of this server, has expired, or what it was issued for is gone",
            }),
        })
    }
}

fn user_info(who: &Identity) -> Value {
    let mut info = json!({"username": who.user, "groups": who.groups});
    if !who.uid.is_empty() {
        info["uid"] = json!(who.uid);
    }
    if !who.extra.is_empty() {
        info["extra"] = json!(who.extra);
    }
    info
}
