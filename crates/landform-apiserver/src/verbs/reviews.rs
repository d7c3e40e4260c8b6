//! Reviews: questions about the caller that are posted like objects and never stored.
//!
//! Until RBAC is here, whoever has credentials is the admin and may do everything.

use http::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::body::Body;
use crate::error::{ApiError, Result};
use crate::request::accept;
use crate::request::decode::{self, BodyForm};
use crate::request::path::ObjectsPath;
use crate::respond;
use crate::server::{ApiServer, Call};

/// The reviews, as discovery lists them: group, plural, kind, namespaced.
pub(crate) const REVIEWS: [(&str, &str, &str, bool); 5] = [
    (
        "authentication.k8s.io",
        "selfsubjectreviews",
        "SelfSubjectReview",
        false,
    ),
    (
        "authorization.k8s.io",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        false,
    ),
    (
        "authorization.k8s.io",
        "selfsubjectrulesreviews",
        "SelfSubjectRulesReview",
        false,
    ),
    (
        "authorization.k8s.io",
        "subjectaccessreviews",
        "SubjectAccessReview",
        false,
    ),
    (
        "authorization.k8s.io",
        "localsubjectaccessreviews",
        "LocalSubjectAccessReview",
        true,
    ),
];

impl ApiServer {
    /// Answers a review; `None` when the path names none.
    pub(super) fn review(&self, call: &Call, path: &ObjectsPath) -> Result<Option<Response<Body>>> {
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
        review["status"] = self.verdict(call, kind, &review);
        let encoding = accept::negotiate(call.header(http::header::ACCEPT))?.encoding;
        Ok(Some(respond::value(StatusCode::CREATED, &review, encoding)))
    }

    fn verdict(&self, call: &Call, kind: &str, review: &Value) -> Value {
        let caller = json!({"username": call.identity.user, "groups": call.identity.groups});
        match kind {
            "SelfSubjectReview" => json!({"userInfo": caller}),
            "SelfSubjectRulesReview" => json!({
                "incomplete": false,
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            }),
            "SelfSubjectAccessReview" => allowed(),
            // Only the admin and the server itself have rights so far.
            _ if review["spec"]["user"] == call.identity.user
                || review["spec"]["groups"]
                    .as_array()
                    .is_some_and(|g| g.contains(&json!("system:masters"))) =>
            {
                allowed()
            }
            _ => json!({"allowed": false, "reason": "only the admin has rights on this server"}),
        }
    }
}

fn allowed() -> Value {
    json!({"allowed": true, "reason": "the admin may do everything"})
}
