//! One kind in one served version, as the verbs see it.

use std::sync::Arc;

use landform_api::jsonpath::JsonPath;
use landform_api::writer::Writer;
use landform_schema::Schema;
use landform_store::{Bucket, Key, Revision};

use crate::kinds::KindRules;
use crate::object::names::NameRule;

/// The plural of Secrets, which is the bucket that they are stored in, too.
pub const SECRETS: &str = "secrets";

/// One kind in one served version.
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: String,
    /// The served version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The kind of its lists.
    pub list_kind: String,
    /// The plural, as in paths.
    pub plural: String,
    /// The singular.
    pub singular: String,
    /// Short names, as in `kubectl get cm`.
    pub short_names: Vec<String>,
    /// Categories, as in `kubectl get all`.
    pub categories: Vec<String>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Where its objects are stored; the same for all versions.
    pub bucket: Bucket,
    /// How stored objects are shown in this version.
    pub presentation: Presentation,
    /// The apiVersion that objects are stored with.
    pub stored_api_version: String,
    /// The rules for its fields, in this version.
    pub schema: Arc<Schema>,
    /// Whether `/status` is a subresource of its own.
    pub status: bool,
    /// Where `/scale` reads and writes, when it is there.
    pub scale: Option<Scale>,
    /// Printer columns of a custom kind.
    pub columns: Vec<CustomColumn>,
    /// Fields, besides name and namespace, that field selectors may name.
    pub selectable: Vec<String>,
    /// How its names are checked.
    pub name_rule: NameRule,
    /// What this kind does beyond its schema.
    pub rules: &'static dyn KindRules,
    /// Built in, or from a definition.
    pub origin: Origin,
}

/// How stored objects are shown in a served version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presentation {
    /// As they are stored.
    AsStored,
    /// With another apiVersion and nothing else changed.
    OtherVersion,
    /// Core events in the words of events.k8s.io.
    NewEvents,
}

/// Where a kind comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// Part of the server.
    Builtin,
    /// A CustomResourceDefinition.
    Custom {
        /// The key of the definition.
        definition: Key,
        /// The revision of the definition that this kind was made from.
        revision: Revision,
        /// Whether the definition is being deleted: nothing can be created any more.
        terminating: bool,
        /// Who wrote the definition; none when that writer may do everything.
        author: Option<Writer>,
    },
}

/// Where `/scale` reads and writes.
#[derive(Clone, Debug)]
pub struct Scale {
    /// The wanted replicas, by field names.
    pub spec_replicas: Vec<String>,
    /// The present replicas.
    pub status_replicas: Vec<String>,
    /// The label selector in text form, or a selector object.
    pub selector: Option<Vec<String>>,
}

/// A printer column of a custom kind.
#[derive(Clone, Debug)]
pub struct CustomColumn {
    /// The heading.
    pub name: String,
    /// `integer`, `number`, `string`, `boolean` or `date`.
    pub type_: String,
    /// A format, as in OpenAPI.
    pub format: String,
    /// What it shows.
    pub description: String,
    /// Zero is shown always, more only with `-o wide`.
    pub priority: i64,
    /// Where its value is.
    pub path: JsonPath,
}

impl Resource {
    /// The apiVersion of its objects as served.
    #[must_use]
    pub fn api_version(&self) -> String {
        landform_api::kind::api_version(&self.group, &self.version)
    }

    /// The key of an object.
    #[must_use]
    pub fn key(&self, namespace: &str, name: &str) -> Key {
        if self.namespaced {
            Key::new(&self.bucket, &format!("{namespace}/{name}"))
        } else {
            Key::new(&self.bucket, name)
        }
    }

    /// Namespace and name of a key of this resource.
    #[must_use]
    pub fn names_in_key<'a>(&self, key: &'a Key) -> (&'a str, &'a str) {
        if self.namespaced {
            key.name.split_once('/').unwrap_or(("", &key.name))
        } else {
            ("", &key.name)
        }
    }

    /// Who wrote the definition of a custom kind, unless that writer may do everything.
    #[must_use]
    pub fn author(&self) -> Option<&Writer> {
        match &self.origin {
            Origin::Builtin => None,
            Origin::Custom { author, .. } => author.as_ref(),
        }
    }

    /// Whether it is a custom kind.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        matches!(self.origin, Origin::Custom { .. })
    }

    /// Whether its objects are definitions of custom kinds.
    #[must_use]
    pub fn is_definitions(&self) -> bool {
        self.group == "apiextensions.k8s.io" && self.plural == "customresourcedefinitions"
    }

    /// Whether its objects are namespaces.
    #[must_use]
    pub fn is_namespaces(&self) -> bool {
        self.group.is_empty() && self.plural == "namespaces"
    }

    /// Whether its objects are Secrets, whose values are never shown but to those who read them.
    #[must_use]
    pub fn is_secrets(&self) -> bool {
        self.group.is_empty() && self.plural == SECRETS
    }

    /// Whether its objects are service accounts, which have tokens.
    #[must_use]
    pub fn is_service_accounts(&self) -> bool {
        self.group.is_empty() && self.plural == "serviceaccounts"
    }
}
