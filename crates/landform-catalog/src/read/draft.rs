//! What single documents say, before packages are made of them.

use std::sync::Arc;

use landform_api::GroupVersionKind;
use landform_api::catalog::OperatorVersionSpec;
use semver::Version;
use serde_json::Value;

use super::problem::Note;
use crate::edges::Edges;
use crate::model::{Bundle, RequiredPackage};

/// One document: where it is, and what it says.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) file: Arc<str>,
    /// Its number in the file.
    pub(super) number: usize,
    pub(super) place: String,
    pub(super) said: Said,
}

/// What a document says.
#[derive(Debug)]
pub(super) enum Said {
    /// `olm.package`.
    Package {
        name: String,
        default_channel: String,
    },
    /// `olm.channel`.
    Channel(ChannelDraft),
    /// `olm.bundle`.
    Bundle(Box<BundleDraft>),
    /// A bundle that was left out, and reported.
    Lost { package: String, name: String },
    /// `olm.deprecations`.
    Deprecations {
        package: String,
        entries: Vec<Deprecation>,
    },
    /// An OperatorVersion of our own.
    Own(Box<OwnDraft>),
    /// A ClusterServiceVersion.
    ServiceVersion(Box<ServiceVersion>),
    /// A CustomResourceDefinition.
    Definition(DefinitionDraft),
    /// Another object that belongs to a bundle: its kind and name.
    Other(String),
    /// `metadata/annotations.yaml`.
    Annotations(Annotations),
    /// `metadata/dependencies.yaml`.
    Dependencies(Needs),
    /// `*.package.yaml` of the oldest layout.
    PackageManifest(PackageManifest),
    /// `ci.yaml`.
    Graph(UpdateGraph),
}

/// A channel as it is written.
#[derive(Debug)]
pub(super) struct ChannelDraft {
    pub(super) package: String,
    pub(super) name: String,
    pub(super) entries: Vec<EntryDraft>,
}

/// A channel's entry as it is written.
#[derive(Debug)]
pub(super) struct EntryDraft {
    pub(super) name: String,
    pub(super) edges: Edges,
    pub(super) place: String,
}

/// A bundle that is complete but for its place in channels.
#[derive(Debug)]
pub(super) struct BundleDraft {
    pub(super) package: String,
    pub(super) bundle: Bundle,
    pub(super) place: String,
    /// Its channels when it says them itself; none when documents of channels do.
    pub(super) membership: Option<Membership>,
}

/// The channels of a bundle that says them itself.
#[derive(Clone, Debug)]
pub(super) struct Membership {
    pub(super) channels: Vec<String>,
    pub(super) default_channel: Option<String>,
    pub(super) edges: Edges,
    /// The directory that its package has to itself; none when packages have none.
    pub(super) home: Option<String>,
}

/// Something said against a part of a package.
#[derive(Debug)]
pub(super) struct Deprecation {
    /// `olm.package`, `olm.channel` or `olm.bundle`.
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) message: String,
    pub(super) place: String,
}

/// An OperatorVersion of our own, without definitions.
#[derive(Debug)]
pub(super) struct OwnDraft {
    pub(super) name: String,
    pub(super) version: Version,
    pub(super) spec: OperatorVersionSpec,
    /// Definitions that stand in it.
    pub(super) definitions: Vec<DefinitionDraft>,
    pub(super) membership: Membership,
    pub(super) needs: Needs,
    pub(super) notes: Vec<Note>,
}

/// What a ClusterServiceVersion says.
#[derive(Debug)]
pub(super) struct ServiceVersion {
    pub(super) name: String,
    /// None when there is none, or no valid one: a note says so.
    pub(super) version: Option<Version>,
    pub(super) edges: Edges,
    /// Without a package.
    pub(super) spec: OperatorVersionSpec,
    pub(super) min_server_version: Option<Version>,
    pub(super) notes: Vec<Note>,
}

/// A CustomResourceDefinition.
#[derive(Clone, Debug)]
pub(super) struct DefinitionDraft {
    pub(super) group: String,
    pub(super) kind: String,
    /// All of it, as JSON.
    pub(super) text: Box<str>,
    /// Why it can't be used.
    pub(super) unusable: Option<String>,
    /// What of it has no effect.
    pub(super) note: Option<Note>,
    pub(super) place: String,
}

/// What a bundle needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Needs {
    pub(super) kinds: Vec<GroupVersionKind>,
    pub(super) packages: Vec<RequiredPackage>,
    pub(super) notes: Vec<Note>,
}

/// `metadata/annotations.yaml`.
#[derive(Clone, Debug, Default)]
pub(super) struct Annotations {
    pub(super) package: String,
    pub(super) channels: Vec<String>,
    pub(super) default_channel: Option<String>,
}

/// The oldest layout: a file that names the head of each channel.
#[derive(Clone, Debug, Default)]
pub(super) struct PackageManifest {
    pub(super) package: String,
    /// Names of channels and of the bundle at the head of each.
    pub(super) channels: Vec<(String, String)>,
    pub(super) default_channel: Option<String>,
}

/// How a package's graph is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateGraph {
    /// As the versions say it.
    Replaces,
    /// Each version replaces the next lower one of its channel.
    Semver,
    /// The highest patch of a minor version replaces that of the next lower one, and skips the others.
    SemverSkipPatch,
}

/// A JSON text; what was read from JSON can be written as JSON.
pub(super) fn to_text(value: &Value) -> Box<str> {
    value.to_string().into_boxed_str()
}
