//! All packages, a line each.

use serde::{Deserialize, Serialize};

use crate::graph;
use crate::index::Index;

/// All packages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct List {
    /// By name.
    pub packages: Vec<PackageLine>,
}

/// A package in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageLine {
    /// Its name.
    pub name: String,
    /// The catalog that it comes from; none when several claim it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
    /// The channel for those who name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_channel: Option<String>,
    /// The version that those get who name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// How many channels there are.
    pub channels: usize,
    /// How many versions there are.
    pub versions: usize,
    /// What the catalog says against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation: Option<String>,
    /// Why it can't be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
}

/// Lists packages: all of them, or those with a text in their name or in a kind that they bring.
#[must_use]
pub fn list(index: &Index, filter: Option<&str>) -> List {
    let filter = filter.map(str::to_lowercase).unwrap_or_default();
    let mut packages = Vec::new();
    for name in index.packages() {
        let offering = match index.offering(name, None) {
            Ok(offering) => offering,
            Err(error) => {
                if name.to_lowercase().contains(&filter) {
                    packages.push(PackageLine {
                        name: name.to_string(),
                        blocked: Some(error.to_string()),
                        ..PackageLine::default()
                    });
                }
                continue;
            }
        };
        let package = offering.package;
        let channel = package.channel(None);
        let found = filter.is_empty() || name.to_lowercase().contains(&filter) || {
            let kinds = package.bundles.iter().flat_map(|bundle| &bundle.owned);
            kinds
                .map(|kind| format!("{}.{}", kind.kind, kind.group).to_lowercase())
                .any(|kind| kind.contains(&filter))
        };
        if found {
            packages.push(PackageLine {
                name: name.to_string(),
                catalog: Some(offering.catalog.to_string()),
                default_channel: channel.map(|channel| channel.name.to_string()),
                head: channel
                    .and_then(|channel| graph::head(package, channel))
                    .map(|bundle| bundle.version.to_string()),
                channels: package.channels.len(),
                versions: package.bundles.len(),
                deprecation: package.deprecation.clone(),
                blocked: None,
            });
        }
    }
    List { packages }
}
