//! What somebody wants to know: the change that isn't made yet.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landform_blueprint::{FileLimits, Files};
use landform_controllers::landscape::{Overlay, plain};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change, as it would be made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Question {
    /// Manifests that would be applied, with a three-way merge.
    pub objects: Vec<Value>,
    /// Objects that would be deleted.
    pub delete: Vec<Named>,
    /// Objects that would get another name.
    pub rename: Vec<Rename>,
    /// The blueprints that a project's directory would have; none when they are the files that the server has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blueprints: Option<Blueprints>,
}

/// All blueprints of a project's directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Blueprints {
    /// The project's directory on the server.
    pub directory: PathBuf,
    /// By their paths in it: their files, by path, in base64.
    pub files: BTreeMap<String, BTreeMap<String, String>>,
}

impl Blueprints {
    /// Instead of what a server has below a path: that path, and the files. The server's blueprints are below `root`.
    pub(crate) fn instead(&self, root: Option<&Path>) -> Result<(String, Overlay), String> {
        let root = root.ok_or("the server has no directory of blueprints (--blueprints)")?;
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (root, own) = (real(root), real(&self.directory));
        let below = own.strip_prefix(&root).map_err(|_| {
            "the project's directory isn't below the server's directory of blueprints".to_owned()
        })?;
        let mut overlay = Overlay::new();
        for (path, files) in &self.files {
            let decoded = files.iter().map(|(name, text)| {
                let content = STANDARD.decode(text);
                let content = content.map_err(|error| format!("{path}/{name}: {error}"));
                content.map(|content| (name.clone(), content))
            });
            let decoded: Vec<_> = decoded.collect::<Result<_, String>>()?;
            let files = Files::from_contents(decoded, &FileLimits::default());
            let files = files.map_err(|error| format!("{path}: {error}"))?;
            overlay.insert(plain(&below.join(path)), files);
        }
        Ok((plain(below), overlay))
    }
}

/// The name of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty for objects of the cluster, and for the namespace `default`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// Another name for an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rename {
    /// The object under its present name.
    #[serde(flatten)]
    pub object: Named,
    /// The name that it would get.
    pub to: String,
}

impl Named {
    /// What a manifest names; `None` when it has no apiVersion, kind or name.
    #[must_use]
    pub fn of(manifest: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let metadata = &manifest["metadata"];
        Some(Self {
            api_version: text(&manifest["apiVersion"])?,
            kind: text(&manifest["kind"])?,
            namespace: text(&metadata["namespace"]).unwrap_or_default(),
            name: text(&metadata["name"])?,
        })
    }

    /// `KIND/NAME`, as people write it.
    #[must_use]
    pub fn short(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }

    /// Whether both name the same object, perhaps in another version.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let namespace = |of: &Self| match of.namespace.as_str() {
            "" => "default".to_owned(),
            namespace => namespace.to_owned(),
        };
        self.kind == other.kind
            && self.name == other.name
            && group(&self.api_version) == group(&other.api_version)
            && namespace(self) == namespace(other)
    }
}

/// The group of an apiVersion; empty for the core group.
pub(crate) fn group(api_version: &str) -> &str {
    landform_api::kind::split_api_version(api_version).map_or("", |(group, _)| group)
}
