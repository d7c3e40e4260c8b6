//! The kind `Reconciler` as Rust types; `definition.yaml` is its schema.

use std::collections::BTreeMap;
use std::time::Duration;

use landform_api::{GroupKind, GroupVersionKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use landform_api::duration;

use crate::reconciler::Order;

/// The group of Landform's own kinds.
pub const GROUP: &str = "landform.dev";
/// The kind.
pub const KIND: &str = "Reconciler";
/// Unless said otherwise a call may take so long.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Unless said otherwise a call that is given up may still take this long.
const GRACE: Duration = Duration::from_secs(10);
/// Unless said otherwise so many objects are reconciled at once.
const CONCURRENCY: usize = 8;

/// The kind `Reconciler` in the version that is read and written.
#[must_use]
pub fn reconciler_kind() -> GroupVersionKind {
    GroupVersionKind::new(GROUP, "v1alpha1", KIND)
}

/// What people write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReconcilerSpec {
    /// The kind whose objects are reconciled.
    #[serde(rename = "for")]
    pub of: KindName,
    /// Where objects name other objects.
    #[serde(default)]
    pub refs: Vec<RefSpec>,
    /// The kinds of children that the hook may list.
    #[serde(default)]
    pub owns: Vec<KindName>,
    /// Who is called.
    pub hook: HookSpec,
    /// How long a call may take.
    #[serde(default = "default_timeout", with = "as_text")]
    pub timeout: Duration,
    /// So many objects are reconciled at once.
    #[serde(default = "default_concurrency")]
    pub concurrency: usize,
    /// Whether deleted objects wait until the hook says that it is done.
    #[serde(default)]
    pub finalize: bool,
    /// Among whom deletes and renames of the kind go first.
    #[serde(default)]
    pub order: Order,
    /// With whose rights children are written, in place of those of an object's writer (C6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account: Option<AccountName>,
}

/// A service account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccountName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A kind in one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KindName {
    /// The group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
}

/// Where objects name other objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RefSpec {
    /// A JSONPath into the object.
    pub path: String,
    /// The kind of what is named; that of `for` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The group of what is named; that of `for` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The version of what is named; that of `for` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Whether objects in a namespace may name objects in others (C6).
    #[serde(default)]
    pub any_namespace: bool,
}

/// Who is called: one of the two.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HookSpec {
    /// Requests are posted here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A program with its arguments, which reads the request from stdin and answers on stdout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Variables for the command, besides PATH, HOME, LANG and TZ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How long a call that is given up may still take: a URL to answer, a command to end after SIGTERM.
    #[serde(default = "default_grace", with = "as_text")]
    pub grace: Duration,
}

/// What the engine writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReconcilerStatus {
    /// The generation that the rest speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What is wrong at present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// `Ready`, and why or why not.
    pub conditions: Vec<Condition>,
}

/// A condition, as all Kubernetes kinds have them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// What it speaks of.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, for people.
    pub message: String,
    /// When the status changed last.
    pub last_transition_time: String,
    /// The generation that it speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl KindName {
    /// The same with the type that all of Landform uses.
    #[must_use]
    pub fn name(&self) -> GroupVersionKind {
        GroupVersionKind::new(&self.group, &self.version, &self.kind)
    }

    /// The kind whatever its version.
    #[must_use]
    pub fn group_kind(&self) -> GroupKind {
        GroupKind {
            group: self.group.clone(),
            kind: self.kind.clone(),
        }
    }
}

impl RefSpec {
    /// The kind of what is named, unless the name says another one.
    #[must_use]
    pub fn target(&self, of: &KindName) -> GroupVersionKind {
        GroupVersionKind::new(
            self.group.as_deref().unwrap_or(&of.group),
            self.version.as_deref().unwrap_or(&of.version),
            self.kind.as_deref().unwrap_or(&of.kind),
        )
    }
}

fn default_timeout() -> Duration {
    TIMEOUT
}

fn default_grace() -> Duration {
    GRACE
}

fn default_concurrency() -> usize {
    CONCURRENCY
}

/// A [`Duration`] as people write it.
mod as_text {
    use super::{Deserialize, Deserializer, Duration, Serializer, duration};

    pub(super) fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&duration::write(*value))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(from)?;
        let error = || serde::de::Error::custom(format!("{text:?} is no time such as 30s"));
        duration::parse(&text).ok_or_else(error)
    }
}

/// A hook's URL as messages name it: without user, path and query, which may hold a token.
#[must_use]
pub fn shown_url(url: &str) -> String {
    let parsed: Option<http::Uri> = url.parse().ok();
    let shown = parsed.and_then(|url| {
        let port = url.port().map(|port| format!(":{port}"));
        let (scheme, host) = (url.scheme_str()?, url.host()?);
        Some(format!("{scheme}://{host}{}", port.unwrap_or_default()))
    });
    shown.unwrap_or_else(|| "URL".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_left_out_has_a_default() {
        let spec: ReconcilerSpec = serde_json::from_value(json!({
            "for": {"version": "v1", "kind": "ConfigMap"}, "hook": {"url": "http://127.0.0.1:1"},
        }))
        .unwrap();
        assert_eq!(spec.of.name(), GroupVersionKind::new("", "v1", "ConfigMap"));
        assert_eq!(
            (spec.timeout, spec.concurrency, spec.finalize),
            (Duration::from_secs(30), 8, false)
        );
        assert_eq!(spec.hook.grace, Duration::from_secs(10));
    }

    #[test]
    fn a_ref_is_of_the_kind_itself_unless_it_says_more() {
        let of = KindName {
            group: "example.com".into(),
            version: "v1".into(),
            kind: "Widget".into(),
        };
        let table = [
            (json!({"path": ".a"}), ("example.com", "v1", "Widget")),
            (
                json!({"path": ".a", "kind": "Zone"}),
                ("example.com", "v1", "Zone"),
            ),
            (
                json!({"path": ".a", "group": "", "kind": "Secret"}),
                ("", "v1", "Secret"),
            ),
        ];
        for (spec, (group, version, kind)) in table {
            let spec: RefSpec = serde_json::from_value(spec).unwrap();
            assert_eq!(
                spec.target(&of),
                GroupVersionKind::new(group, version, kind)
            );
        }
    }
}
