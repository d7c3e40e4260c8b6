//! What a token of a service account says.

use serde::{Deserialize, Serialize};

/// The claims, with the names that Kubernetes gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Claims {
    /// For whom it is.
    pub(super) aud: Vec<String>,
    /// When it ends, in seconds since 1970.
    pub(super) exp: i64,
    pub(super) iat: i64,
    pub(super) iss: String,
    /// Its own name.
    pub(super) jti: String,
    pub(super) nbf: i64,
    pub(super) sub: String,
    #[serde(rename = "kubernetes.io")]
    pub(super) kubernetes: Kubernetes,
}

/// The objects that it depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Kubernetes {
    pub(super) namespace: String,
    pub(super) serviceaccount: Reference,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pod: Option<Reference>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<Reference>,
}

/// One object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) uid: String,
}

impl Kubernetes {
    /// Everything that must be there, with its uid: the plural, the name, the uid.
    pub(super) fn references(&self) -> impl Iterator<Item = (&'static str, &Reference)> {
        let account = [("serviceaccounts", &self.serviceaccount)];
        let pod = self.pod.iter().map(|pod| ("pods", pod));
        let secret = self.secret.iter().map(|secret| ("secrets", secret));
        account.into_iter().chain(pod).chain(secret)
    }
}
