//! Discovery: how clients find out what the server has. Paths, groups, resources, OpenAPI, version.

mod cache;
mod groups;
mod openapi;
mod protobuf;

use http::header::{ACCEPT, CACHE_CONTROL, ETAG, HeaderValue};
use http::{Response, StatusCode};
use serde_json::json;

pub(crate) use cache::DiscoveryCache;
pub(crate) use openapi::OpenApiCache;

use crate::body::Body;
use crate::error::{ApiError, Result};
use crate::request::accept::{self, Encoding, media_ranges};
use crate::request::path::Target;
use crate::respond;
use crate::server::{ApiServer, Call};

/// The version of the Kubernetes API that the server follows.
const KUBERNETES: (&str, &str) = ("1", "34");
/// What clients ask for by an old name with a character that media types may not have, and get by another.
const PROTOBUF_V2_OLD: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const PROTOBUF_V2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

impl ApiServer {
    /// Answers a request for what the server has.
    pub(crate) fn discover(&self, call: &Call, target: &Target) -> Result<Response<Body>> {
        let kinds = self.shared.registry.kinds();
        let own = self.virtual_resources();
        let header = call.header(ACCEPT);
        match target {
            Target::CoreVersions | Target::Groups => {
                let core = *target == Target::CoreVersions;
                if let Some(version) = aggregated_version(header) {
                    let cache = &self.shared.discovery;
                    let list = cache.aggregated(&kinds, &own, core, version);
                    let text = format!(
                        "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
                    );
                    let content_type = HeaderValue::from_str(&text)
                        .map_err(|error| ApiError::internal(error.to_string()))?;
                    return Ok(respond::with_type(StatusCode::OK, content_type, list));
                }
                let value = if core {
                    groups::core_versions(&self.shared.config.address)
                } else {
                    groups::groups(&kinds)
                };
                Ok(respond::value(
                    StatusCode::OK,
                    &value,
                    accept::negotiate(header)?.encoding,
                ))
            }
            Target::Group(group) => {
                let value = groups::group(&kinds, group).ok_or_else(ApiError::no_such_path)?;
                Ok(respond::value(
                    StatusCode::OK,
                    &value,
                    accept::negotiate(header)?.encoding,
                ))
            }
            Target::Resources(group, version) => {
                let cache = &self.shared.discovery;
                let text = cache.resources(&kinds, &own, group, version);
                let text = text.ok_or_else(ApiError::no_such_path)?;
                let encoding = accept::negotiate(header)?.encoding;
                Ok(match encoding {
                    Encoding::Json => respond::json_bytes(StatusCode::OK, text),
                    Encoding::Yaml => respond::encoded(StatusCode::OK, text.into(), encoding),
                })
            }
            Target::Version => Ok(respond::value(
                StatusCode::OK,
                &version(),
                accept::negotiate(header)?.encoding,
            )),
            Target::Index => {
                let value = json!({"paths": groups::paths(&kinds)});
                Ok(respond::value(
                    StatusCode::OK,
                    &value,
                    accept::negotiate(header)?.encoding,
                ))
            }
            Target::OpenApiV2 => Ok(self.openapi_v2(call, header)),
            Target::OpenApiV3Index => Ok(respond::json_bytes(
                StatusCode::OK,
                self.shared.openapi.v3_index(&kinds),
            )),
            Target::OpenApiV3(path) => {
                let (document, hash) = self
                    .shared
                    .openapi
                    .v3(&kinds, path)
                    .ok_or_else(ApiError::no_such_path)?;
                let mut response = respond::json_bytes(StatusCode::OK, document);
                if let Ok(tag) = HeaderValue::from_str(&format!("\"{hash}\"")) {
                    response.headers_mut().insert(ETAG, tag);
                }
                if call.query.get("hash") == Some(hash.as_str()) {
                    let forever = HeaderValue::from_static("public, immutable");
                    response.headers_mut().insert(CACHE_CONTROL, forever);
                }
                Ok(crate::verbs::present::compressed(call, response))
            }
            Target::Health | Target::Metrics | Target::Objects(_) | Target::Unknown => {
                Err(ApiError::no_such_path())
            }
        }
    }

    fn openapi_v2(&self, call: &Call, header: Option<&str>) -> Response<Body> {
        let kinds = self.shared.registry.kinds();
        let wants_protobuf = media_ranges(header.unwrap_or_default())
            .next()
            .is_some_and(|range| matches!(range.media.as_str(), PROTOBUF_V2 | PROTOBUF_V2_OLD));
        let response = if wants_protobuf {
            let bytes = self.shared.openapi.v2_protobuf(&kinds);
            respond::with_type(StatusCode::OK, HeaderValue::from_static(PROTOBUF_V2), bytes)
        } else {
            respond::json_bytes(StatusCode::OK, self.shared.openapi.v2(&kinds))
        };
        crate::verbs::present::compressed(call, response)
    }
}

/// The version of the aggregated form, when the client asks for it before any other.
fn aggregated_version(header: Option<&str>) -> Option<&'static str> {
    media_ranges(header?).find_map(|range| {
        let aggregated = range.media == "application/json"
            && range.group == Some("apidiscovery.k8s.io")
            && range.shape == Some("APIGroupDiscoveryList");
        match range.version {
            Some("v2") if aggregated => Some("v2"),
            Some("v2beta1") if aggregated => Some("v2beta1"),
            _ => None,
        }
    })
}

fn version() -> serde_json::Value {
    let (major, minor) = KUBERNETES;
    json!({
        "major": major,
        "minor": minor,
        "gitVersion": format!("v{major}.{minor}.0+landform-{}", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": minor,
    })
}
