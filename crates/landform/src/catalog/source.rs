//! Where answers come from: catalogs in files, or the server's view.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use http::Request;
use landform_catalog::describe::{self, Refusal};
use landform_catalog::{CatalogInput, Content, Index, read};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Common, facts};
use crate::{AnyError, client};

const VIEW: &str = "/apis/landform.dev/v1alpha1/catalogs";

/// Answers a question: a path of the view, and its query.
pub(super) fn ask<T: DeserializeOwned>(
    common: &Common,
    path: &str,
    query: &[(&str, &str)],
) -> Result<Result<T, Refusal>, AnyError> {
    let answer = if common.catalog.is_empty() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(ask_server(common, path, query))?
    } else {
        let index = index(common)?;
        let query: Vec<_> = query
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        describe::answer(&index, path, &query)
    };
    Ok(match answer {
        Ok(value) => Ok(serde_json::from_value(value)?),
        Err(refusal) => Err(refusal),
    })
}

/// The catalogs that were named. The first goes before the others.
fn index(common: &Common) -> Result<Index, AnyError> {
    let mut index = Index::default();
    let mut priority = i32::try_from(common.catalog.len()).unwrap_or(i32::MAX);
    for path in &common.catalog {
        let name = path.display().to_string();
        if index.catalogs().any(|known| *known.name == *name) {
            continue;
        }
        index.insert(CatalogInput {
            name: name.as_str().into(),
            priority,
            labels: BTreeMap::new(),
            only_by_name: false,
            content: Arc::new(content(path, common.packages.as_deref())?),
        });
        priority -= 1;
    }
    Ok(index)
}

fn content(path: &Path, packages: Option<&Path>) -> Result<Content, AnyError> {
    if let Some(content) = facts::content(path, packages)? {
        return Ok(content);
    }
    Ok(read::from_path(path)?)
}

async fn ask_server(
    common: &Common,
    path: &str,
    query: &[(&str, &str)],
) -> Result<Result<Value, Refusal>, AnyError> {
    let client = common.server.connect().await?;
    let request = Request::get(url(path, query)).body(Vec::new())?;
    match client.request(request).await {
        Ok(value) => Ok(Ok(value)),
        Err(kube::Error::Api(status)) if (400..500).contains(&status.code) => Ok(Err(Refusal {
            error: status.message.clone(),
            absent: status.code == 404,
            ..Refusal::default()
        })),
        Err(error) => Err(client::plain(error)),
    }
}

fn url(path: &str, query: &[(&str, &str)]) -> String {
    let path: Vec<String> = path.split('/').map(encode).collect();
    let pairs: Vec<String> = query
        .iter()
        .map(|(name, value)| format!("{name}={}", encode(value)))
        .collect();
    let mark = if pairs.is_empty() { "" } else { "?" };
    let path = path.join("/");
    format!(
        "{VIEW}{}{mark}{}",
        path.trim_end_matches('/'),
        pairs.join("&")
    )
}

/// Letters, digits and `-._~` stay; all else is written as its bytes.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_become_addresses() {
        assert_eq!(url("/", &[]), VIEW);
        assert_eq!(
            url("/packages/a b/path", &[("from", "1.0.0+x"), ("to", "é")]),
            format!("{VIEW}/packages/a%20b/path?from=1.0.0%2Bx&to=%C3%A9")
        );
    }
}
