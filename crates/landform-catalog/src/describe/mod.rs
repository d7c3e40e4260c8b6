//! What catalogs hold, for people: the answers of `landform catalog` and of the server's view.
//!
//! Both sides use these functions and types, so that an answer is the same with a server and without one.
//! [`answer`] has the paths of the view: `/` lists, `/packages/NAME` shows, `/packages/NAME/path` and
//! `/packages/NAME/explain` walk and resolve, `/problems` tells what is wrong.

mod explain;
mod find;
mod list;
mod path;
mod show;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use explain::{ChosenVersion, Explained, explain};
pub use list::{List, PackageLine, list};
pub use path::{Path, Stop, path};
pub use show::{Problems, Shown, ShownChannel, ShownEntry, ShownVersion, problems, show};

use crate::index::Index;

/// Why there is no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", default)]
#[error("{error}")]
pub struct Refusal {
    /// Why, in a sentence or two.
    pub error: String,
    /// What could be meant instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exists: Vec<String>,
    /// What would give an answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<String>,
    /// Whether something that was named isn't there at all.
    #[serde(skip)]
    pub absent: bool,
}

/// A question about one package. What is absent has its usual value: the default channel, its head,
/// nothing installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// The package.
    pub package: String,
    /// The channel.
    pub channel: Option<String>,
    /// A version or name that is installed.
    pub from: Option<String>,
    /// A version or name that is wanted.
    pub to: Option<String>,
}

impl Question {
    /// A question about a package.
    #[must_use]
    pub fn of(package: &str) -> Self {
        Self {
            package: package.to_owned(),
            ..Self::default()
        }
    }

    /// The path below the view, and its query.
    #[must_use]
    pub fn query(&self) -> Vec<(&'static str, &str)> {
        let fields = [
            ("channel", &self.channel),
            ("from", &self.from),
            ("to", &self.to),
        ];
        fields
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_deref()?)))
            .collect()
    }
}

/// Answers a request to the view: a path below it, and the pairs of the query. Both are decoded.
///
/// # Errors
/// When there is no answer, or nothing at the path.
pub fn answer(index: &Index, path: &str, query: &[(String, String)]) -> Result<Value, Refusal> {
    let given = |name: &str| {
        let found = query.iter().find(|(found, _)| found == name);
        found
            .map(|(_, value)| value.clone())
            .filter(|value| !value.is_empty())
    };
    let question = |package: &str| Question {
        package: package.to_owned(),
        channel: given("channel"),
        from: given("from"),
        to: given("to"),
    };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [] | ["packages"] => to_value(&list(index, given("filter").as_deref())),
        ["problems"] => to_value(&problems(index)),
        ["packages", package] => to_value(&show(index, package)?),
        ["packages", package, "path"] => to_value(&self::path(index, &question(package))?),
        ["packages", package, "explain"] => to_value(&explain(index, &question(package))?),
        _ => Err(Refusal {
            error: format!("there is nothing at {path:?}"),
            absent: true,
            ..Refusal::default()
        }),
    }
}

fn to_value(answer: &impl Serialize) -> Result<Value, Refusal> {
    serde_json::to_value(answer).map_err(|error| Refusal {
        error: format!("the answer can't be written as JSON: {error}"),
        ..Refusal::default()
    })
}
