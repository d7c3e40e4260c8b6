//! What would be installed, and why, or why it can't be.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::path::{Stop, path};
use super::{Question, Refusal, find};
use crate::index::Index;
use crate::model::{Bundle, Payload};
use crate::range::Range;
use crate::resolve::{Because, Chosen, Installed, Request, Wanted, resolve};

/// What would be installed, or why nothing can be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Explained {
    /// The package.
    pub package: String,
    /// Whether there is an answer.
    pub possible: bool,
    /// All that would be there: the package first, then what it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<ChosenVersion>,
    /// The way from the installed version, when one was given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Stop>,
    /// What to know before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What conflicts; all of these together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// What would help; each by itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<String>,
}

/// A version that would be there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ChosenVersion {
    /// The package.
    pub package: String,
    /// The version.
    pub version: String,
    /// The bundle's name.
    pub name: String,
    /// The catalog; none for what stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub catalog: Option<String>,
    /// The channel; none for what stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Why it is there: `wanted`, `installed`, or `needed by NAME`.
    pub because: String,
}

/// Says what would be installed for somebody who wants a package and has nothing but, perhaps, one version
/// of it.
///
/// # Errors
/// When something that was named isn't there. A conflict is an answer.
pub fn explain(index: &Index, question: &Question) -> Result<Explained, Refusal> {
    let offering = find::package(index, &question.package)?;
    let package = offering.package;
    let channel = find::channel(package, question.channel.as_deref())?;
    let mut request = Request::default();
    let mut wanted = Wanted {
        package: package.name.clone(),
        channel: Some(channel.name.clone()),
        ..Wanted::default()
    };
    if let Some(named) = &question.to {
        let Some(bundle) = find::bundle(package, channel, named) else {
            return Err(find::no_version(package, channel, named));
        };
        wanted.range = Some(Range::exactly(&bundle.version));
    }
    if let Some(named) = &question.from {
        let bundle = match (find::bundle(package, channel, named), find::version(named)) {
            (Some(bundle), _) => bundle.clone(),
            (None, Some(version)) => Bundle {
                name: named.as_str().into(),
                version,
                owned: Vec::new(),
                required: Vec::new(),
                packages: Vec::new(),
                min_server_version: None,
                deprecation: None,
                file: "".into(),
                payload: Payload::Facts,
            },
            (None, None) => return Err(find::no_version(package, channel, named)),
        };
        request.installed.push(Installed {
            package: package.name.clone(),
            bundle: Arc::new(bundle),
            channel: Some(channel.name.clone()),
            movable: true,
        });
    }
    request.wanted.push(wanted);
    let mut explained = Explained {
        package: package.name.to_string(),
        ..Explained::default()
    };
    match resolve(index, &request) {
        Ok(resolution) => {
            explained.possible = true;
            let mut chosen: Vec<&Chosen<'_>> = resolution.chosen.values().collect();
            chosen.sort_by_key(|chosen| chosen.package != &*package.name);
            for chosen in chosen {
                explained.notes.extend(notes(chosen));
                explained.chosen.push(line(chosen));
            }
            explained.path = way(index, question, &explained.chosen);
        }
        Err(conflict) => {
            explained.facts = conflict
                .facts
                .iter()
                .map(|fact| fact.message.clone())
                .collect();
            explained.fixes = conflict.fixes.iter().map(ToString::to_string).collect();
        }
    }
    Ok(explained)
}

/// The steps from the installed version to the chosen one.
fn way(index: &Index, question: &Question, chosen: &[ChosenVersion]) -> Vec<Stop> {
    let Some(to) = chosen.first().filter(|_| question.from.is_some()) else {
        return Vec::new();
    };
    let question = Question {
        to: Some(to.name.clone()),
        ..question.clone()
    };
    path(index, &question)
        .map(|found| found.path)
        .unwrap_or_default()
}

fn line(chosen: &Chosen<'_>) -> ChosenVersion {
    ChosenVersion {
        package: chosen.package.to_owned(),
        version: chosen.bundle.version.to_string(),
        name: chosen.bundle.name.to_string(),
        catalog: chosen.catalog.map(ToString::to_string),
        channel: chosen.channel.map(ToString::to_string),
        because: match chosen.because {
            Because::Wanted => "wanted".to_owned(),
            Because::Installed => "installed".to_owned(),
            Because::Needed(by) => format!("needed by {by}"),
        },
    }
}

fn notes(chosen: &Chosen<'_>) -> Vec<String> {
    let bundle = chosen.bundle;
    let mut notes = Vec::new();
    if let Some(deprecation) = &bundle.deprecation {
        notes.push(format!("{} is deprecated: {deprecation}", bundle.name));
    }
    if chosen.stays() {
        return notes;
    }
    match &bundle.payload {
        Payload::Manifest(_) => {}
        Payload::Image(image) => notes.push(format!(
            "{} can't be installed by Landform: its objects are in the image {image}",
            bundle.name
        )),
        Payload::Facts => notes.push(format!(
            "{} can't be installed: the catalog doesn't have its objects",
            bundle.name
        )),
    }
    if let Some(version) = &bundle.min_server_version {
        notes.push(format!(
            "{} needs a server of version {version} or higher",
            bundle.name
        ));
    }
    notes
}
