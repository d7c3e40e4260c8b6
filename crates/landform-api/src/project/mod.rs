//! The kind `Project` of `landform.dev/v1alpha1`: a directory of files that is reconciled into objects (R15).
//!
//! A `landform.yaml` at the root of a directory is a `Project` without `spec.directory`; where there is none,
//! the directory's name and defaults stand in.

pub mod definition;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::GroupVersionKind;
use crate::landscaper::{LastError, WaitingOn};

/// The group.
pub const GROUP: &str = "landform.dev";
/// The version.
pub const VERSION: &str = "v1alpha1";
/// The kind.
pub const KIND: &str = "Project";

/// The file that a project's settings are in.
pub const SETTINGS_FILE: &str = "landform.yaml";
/// The directory within a project where `landform up` keeps what belongs to it.
pub const STATE_DIRECTORY: &str = ".landform";

/// On every object of a project: the project's name.
pub const LABEL_PROJECT: &str = "landform.dev/project";
/// On every object of a project: the file that it stands in, relative to the project's directory.
pub const ANNOTATION_FILE: &str = "landform.dev/project-file";
/// On an object that was applied by Landform: the shape of what was applied.
pub const ANNOTATION_APPLIED: &str = "landform.dev/applied";
/// On an object that names a blueprint by path: a sum of the blueprint's files when it was last looked at.
pub const ANNOTATION_BLUEPRINT: &str = "landform.dev/blueprint-digest";
/// On a namespace of a project: it was there before. It stays when the project goes.
pub const ANNOTATION_ADOPTED: &str = "landform.dev/adopted";
/// On a project: the deletions that somebody has agreed to, as [`HeldDeletions::token`] names them.
pub const ANNOTATION_APPROVED_DELETIONS: &str = "landform.dev/approved-deletions";
/// Holds a project until its objects are gone.
pub const FINALIZER: &str = "landform.dev/project";

/// The kind with its group and version.
#[must_use]
pub fn kind() -> GroupVersionKind {
    GroupVersionKind {
        group: GROUP.into(),
        version: VERSION.into(),
        kind: KIND.into(),
    }
}

/// A directory of files that is reconciled into objects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Project {
    /// What people want.
    pub spec: ProjectSpec,
    /// What became of it.
    pub status: ProjectStatus,
}

/// What people want.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectSpec {
    /// The directory, on the machine of the server. Not given in `landform.yaml`: there it is the file's own.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub directory: String,
    /// The namespace of objects that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// What templates (`*.gotmpl`) see as `.Values`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Value>,
    /// Files and directories that are none of the project's: names, or paths with `*` and `**`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// Addresses that are shown when all is well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// How long an object must be missing from the files until it is deleted, for instance `500ms` or `1m`; `2s`
    /// when nobody says otherwise. Until then it may come back, in whichever file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = crate::duration::PATTERN))]
    pub grace: Option<String>,
    /// What happens after that time to an object that has something below it, which would go with it: one that a
    /// finalizer holds, such as an installation. `Approve` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletions: Option<Deletions>,
    /// Objects of the project that aren't deleted before they are taken out of this list: kinds (`Installation`), names
    /// (`db`), or both (`Installation/db`). `Project` is the project itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<String>,
}

/// What happens to an object that is in no file any more, and would take something along.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Deletions {
    /// It stays until you agree: `landform approve project/NAME`.
    #[default]
    Approve,
    /// It goes after `grace`, like any other object.
    Grace,
}

/// An address that people will want to open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Link {
    /// What is there.
    pub name: String,
    /// Where.
    pub url: String,
}

/// Where a project stands.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum ProjectPhase {
    /// All files were read, and all objects are as the files say.
    Synced,
    /// Objects are missing from the files and kept for a while, or must be gone before they are made anew:
    /// `status.waitingOn` says which, and until when. All else is as the files say.
    Settling,
    /// Some files or objects are wrong; the others are as their files say.
    Incomplete,
    /// Deletions wait for somebody's consent; all else is as the files say.
    Held,
    /// The directory can't be read; nothing was touched.
    Failed,
    /// It was deleted, and its objects go.
    Deleting,
}

/// What became of a project.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectStatus {
    /// Where it stands; none before the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<ProjectPhase>,
    /// The generation that this is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many files were read.
    pub files: usize,
    /// How many objects they define.
    pub objects: usize,
    /// How many problems there are.
    pub problem_count: usize,
    /// The first problems, by file and line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProjectProblem>,
    /// Deletions that nobody has agreed to yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_deletions: Option<HeldDeletions>,
    /// The last thing that went wrong with the project as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
    /// What it waits for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting_on: Vec<WaitingOn>,
    /// Namespaces that the project wants no more and that stay, each with the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kept_namespaces: BTreeMap<String, String>,
    /// What `landform.yaml` said when it was last believed: what it lacks later may come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsSaid>,
}

/// What settings said, without the values themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SettingsSaid {
    /// The namespace of objects that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The names of values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// What is none of the project's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
    /// How long objects may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<String>,
    /// What is protected from deletion.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub protect: Vec<String>,
}

/// Something wrong with a file, or with an object that a file defines.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase", default)]
pub struct ProjectProblem {
    /// The file, relative to the project's directory.
    pub file: String,
    /// The line, from 1; 0 when it is the file as a whole.
    pub line: usize,
    /// The column, from 1; 0 when it is the line as a whole.
    pub column: usize,
    /// The line itself.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub excerpt: String,
    /// What is wrong, and what to do.
    pub message: String,
}

/// Deletions that a person must agree to: they are many, or take along what no removed file stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HeldDeletions {
    /// How many objects would go.
    pub count: usize,
    /// Of how many.
    pub of: usize,
    /// The first of them; definitions that take objects along are all named.
    pub first: Vec<String>,
    /// What goes along without being removed from a file, a sentence for each definition that takes its kind with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// Names exactly these deletions: what the annotation `landform.dev/approved-deletions` must say.
    pub token: String,
}

impl HeldDeletions {
    /// Whether an object is named among those that would go. All definitions are; of many objects the first.
    #[must_use]
    pub fn names(&self, kind: &str, namespace: &str, name: &str) -> bool {
        let told = match namespace {
            "" => format!("{kind} {name}"),
            namespace => format!("{kind} {namespace}/{name}"),
        };
        self.first.contains(&told)
    }

    /// What would happen, in a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let own = format!("{} of {} objects would be deleted", self.count, self.of);
        let all: Vec<_> = [own].into_iter().chain(self.others.clone()).collect();
        all.join("; ")
    }
}
