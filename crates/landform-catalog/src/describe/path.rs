//! The way from one version to another.

use semver::Version;
use serde::{Deserialize, Serialize};

use super::{Question, Refusal, find};
use crate::graph::{self, Walk};
use crate::index::Index;

/// A way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Path {
    /// From the first version to the last, both included.
    pub path: Vec<Stop>,
}

/// A version on a way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Stop {
    /// Its version.
    pub version: String,
    /// Its name; empty for a version that the catalog doesn't have.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What the catalog says against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation: Option<String>,
}

/// Finds the shortest way along a channel's edges. Without `to` it leads to the head.
///
/// # Errors
/// When there is none, or something that was named isn't there.
pub fn path(index: &Index, question: &Question) -> Result<Path, Refusal> {
    let offering = find::package(index, &question.package)?;
    let package = offering.package;
    let channel = find::channel(package, question.channel.as_deref())?;
    let Some(named) = &question.from else {
        return Err(Refusal {
            error: "where does the way begin? Give a version with --from".to_owned(),
            ..Refusal::default()
        });
    };
    let known = find::bundle(package, channel, named);
    let unknown = find::version(named);
    // What runs may be so old that the catalog no longer has it; its ranges may still know it.
    let from: (&str, &Version) = match (known, &unknown) {
        (Some(bundle), _) => (&bundle.name, &bundle.version),
        (None, Some(version)) => (named, version),
        (None, None) => return Err(find::no_version(package, channel, named)),
    };
    let to = match &question.to {
        Some(named) => match find::bundle(package, channel, named) {
            Some(bundle) => bundle.version.clone(),
            None => return Err(find::no_version(package, channel, named)),
        },
        None => match graph::head(package, channel) {
            Some(bundle) => bundle.version.clone(),
            None => {
                return Err(Refusal {
                    error: format!("the channel {} has no versions", channel.name),
                    ..Refusal::default()
                });
            }
        },
    };
    let way = Walk::new(package, channel)
        .path(from, &to)
        .map_err(|error| {
            let mut refusal = Refusal {
                error: error.to_string(),
                exists: error.elsewhere.iter().map(ToString::to_string).collect(),
                fixes: vec![error.fix()],
                absent: false,
            };
            if known.is_none() {
                let hint = find::no_version(package, channel, named);
                refusal.error.push_str(&format!(" Besides, {}", hint.error));
            }
            refusal
        })?;
    let stops = way.iter().map(|stop| Stop {
        version: stop.version.to_string(),
        name: stop
            .bundle
            .map(|bundle| bundle.name.to_string())
            .unwrap_or_default(),
        deprecation: stop.bundle.and_then(|bundle| bundle.deprecation.clone()),
    });
    Ok(Path {
        path: stops.collect(),
    })
}
