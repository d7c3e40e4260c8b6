//! What names an object for the engine: kind, namespace, name.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use landform_api::kind::GroupKind;

/// The name of an object. Versions of a kind are the same objects, so there is no version in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The kind.
    pub kind: Arc<GroupKind>,
    /// The namespace; empty for objects of the cluster.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Key {
    /// Names an object.
    #[must_use]
    pub fn new(kind: Arc<GroupKind>, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// By kind, namespace and name. The kind of most keys that are compared is the same piece of memory: nothing else is read of it.
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let kinds = if Arc::ptr_eq(&self.kind, &other.kind) {
            Ordering::Equal
        } else {
            self.kind.cmp(&other.kind)
        };
        kinds
            .then_with(|| self.namespace.cmp(&other.namespace))
            .then_with(|| self.name.cmp(&other.name))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl landform_schedule::ObjectKey for Key {
    fn namespace(&self) -> &str {
        &self.namespace
    }
}

/// `Widget.example.com shop/web`, as in messages and cycles.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind.kind)?;
        if !self.kind.group.is_empty() {
            write!(f, ".{}", self.kind.group)?;
        }
        f.write_str(" ")?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// Whether an object of any kind can have this name. It becomes part of a URL, so what would lead
/// somewhere else must not get through; the API knows the exact rules of each kind.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    !text.is_empty() && text.len() <= 253 && text.chars().all(plain) && !matches!(text, "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_not_lead_to_another_url() {
        for good in ["a", "a.b-c", "system:node", "0"] {
            assert!(is_name(good), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "../secrets/s",
            "a/b",
            "a?b",
            "a%2fb",
            "a#b",
            "ä",
        ] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_key_is_written_as_people_say_it() {
        let kind = |group: &str, kind: &str| {
            Arc::new(GroupKind {
                group: group.into(),
                kind: kind.into(),
            })
        };
        let table = [
            (Key::new(kind("", "Secret"), "shop", "db"), "Secret shop/db"),
            (
                Key::new(kind("example.com", "Zone"), "", "eu"),
                "Zone.example.com eu",
            ),
        ];
        for (key, text) in table {
            assert_eq!(key.to_string(), text);
        }
    }
}
