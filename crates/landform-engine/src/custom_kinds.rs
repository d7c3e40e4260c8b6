//! The view `customkinds` of Landform's API server: which custom kinds there are, and what is stored of those that
//! aren't served.
//!
//! Discovery can't tell a kind that isn't served from one that doesn't exist. The difference matters to all who wait for
//! objects: those of the first are stored, and come back.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use landform_api::GroupKind;
use serde::Deserialize;

/// Where the view is.
pub const PATH: &str = "/apis/landform.dev/v1alpha1/customkinds";

/// A custom kind as the server has it, and its objects when they can't be listed.
#[derive(Clone, Debug, Deserialize)]
pub struct CustomKind {
    /// The API group.
    pub group: String,
    /// The version that is stored.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The plural, as URLs have it.
    pub plural: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Whether any version is served.
    pub served: bool,
    /// Its objects, if it isn't served.
    pub unserved: Vec<Partial>,
}

/// An object's metadata.
#[derive(Clone, Debug, Deserialize)]
pub struct Partial {
    /// The metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
}

/// The whole view.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct CustomKinds {
    /// The kinds.
    pub items: Vec<CustomKind>,
}

impl CustomKind {
    /// The name of its definition: `boxes.example.com`.
    #[must_use]
    pub fn definition(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }
}

impl CustomKinds {
    /// Reads the view; another server has none, and can't tell.
    ///
    /// # Errors
    /// What the API answers.
    pub async fn read(client: &Client) -> Result<Self, kube::Error> {
        let request = http::Request::get(PATH).body(Vec::new());
        let request = request.map_err(kube::Error::HttpError)?;
        match client.request(request).await {
            // Another server says either, depending on the rights of who asks.
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => {
                Ok(Self { items: Vec::new() })
            }
            other => other,
        }
    }

    /// A kind, if it is defined.
    #[must_use]
    pub fn get(&self, kind: &GroupKind) -> Option<&CustomKind> {
        let mut items = self.items.iter();
        items.find(|found| found.group == kind.group && found.kind == kind.kind)
    }

    /// A kind that is defined, and of which no version is served.
    #[must_use]
    pub fn unserved(&self, kind: &GroupKind) -> Option<&CustomKind> {
        self.get(kind).filter(|found| !found.served)
    }
}
