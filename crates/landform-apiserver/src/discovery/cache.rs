//! Lists of discovery as text, kept for as long as they are made from the same resources.
//!
//! Clients ask for all kinds again whenever one of them changes: what is said of the others is not made anew.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

use super::groups;
use crate::registry::{Kinds, Resource};
use crate::view::Virtual;

/// The texts that were asked for last.
#[derive(Default)]
pub(crate) struct DiscoveryCache {
    /// By group: its part of the aggregated form.
    groups: Mutex<HashMap<String, Kept>>,
    /// By group and version: the list of its resources.
    resources: Mutex<HashMap<(String, String), Kept>>,
}

/// A text, and what it was made from.
struct Kept {
    from: Vec<Arc<Resource>>,
    own: Vec<Virtual>,
    text: Bytes,
}

impl Kept {
    fn is_of<'a>(
        &self,
        own: &[Virtual],
        resources: impl Iterator<Item = &'a Arc<Resource>>,
    ) -> bool {
        let held = self.from.iter().map(Arc::as_ptr);
        self.own == own && held.eq(resources.map(Arc::as_ptr))
    }
}

impl DiscoveryCache {
    /// `/api` or `/apis`, everything at once.
    pub(super) fn aggregated(
        &self,
        kinds: &Kinds,
        own: &[Virtual],
        core: bool,
        version: &str,
    ) -> Bytes {
        let mut text = String::new();
        // Writing to a string can't fail.
        let _ = write!(
            text,
            r#"{{"apiVersion":"apidiscovery.k8s.io/{version}","items":["#
        );
        let mut kept = self.groups.lock();
        let groups = groups::aggregated_groups(kinds, core);
        kept.retain(|group, _| group.is_empty() != core || groups.contains_key(group));
        for (at, (group, versions)) in groups.into_iter().enumerate() {
            let resources = || {
                let versions = versions.iter();
                versions.flat_map(|version| kinds.resources(&group, version).unwrap_or_default())
            };
            let known = kept.get(&group);
            if !known.is_some_and(|kept| kept.is_of(own, resources())) {
                let made = groups::aggregated_group(kinds, own, &group, &versions);
                let made = Kept {
                    own: own.to_vec(),
                    from: resources().cloned().collect(),
                    text: made.to_string().into(),
                };
                kept.insert(group.clone(), made);
            }
            if at > 0 {
                text.push(',');
            }
            if let Some(kept) = kept.get(&group) {
                text.push_str(std::str::from_utf8(&kept.text).unwrap_or_default());
            }
        }
        text.push_str(r#"],"kind":"APIGroupDiscoveryList","metadata":{}}"#);
        text.into()
    }

    /// `/api/v1`, `/apis/GROUP/VERSION`; none when there is no such version.
    pub(super) fn resources(
        &self,
        kinds: &Kinds,
        own: &[Virtual],
        group: &str,
        version: &str,
    ) -> Option<Bytes> {
        let resources = kinds.resources(group, version).unwrap_or_default();
        let key = (group.to_owned(), version.to_owned());
        let mut kept = self.resources.lock();
        if let Some(kept) = kept.get(&key)
            && kept.is_of(own, resources.iter())
        {
            return Some(kept.text.clone());
        }
        kept.remove(&key);
        let text = groups::resources(kinds, own, group, version)?;
        let text: Bytes = text.to_string().into();
        let made = Kept {
            own: own.to_vec(),
            from: resources.to_vec(),
            text: text.clone(),
        };
        kept.insert(key, made);
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::registry::{Registry, from_definition};

    fn definition(group: &str, short: &str) -> Value {
        json!({
            "metadata": {"name": format!("boxes.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced",
                "names": {"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList", "shortNames": [short]},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}}}],
            },
            "status": {"conditions": [{"type": "Established", "status": "True"}]},
        })
    }

    #[test]
    fn what_is_kept_is_what_would_be_made_now_whatever_changed_before() {
        let (registry, cache) = (Registry::builtin(), DiscoveryCache::default());
        let own = [Virtual {
            name: "processes",
            verbs: &["run"],
            namespaced: true,
        }];
        let check = |what: &str| {
            let kinds = registry.kinds();
            for core in [true, false] {
                let kept: Value =
                    serde_json::from_slice(&cache.aggregated(&kinds, &own, core, "v2")).unwrap();
                assert_eq!(kept, groups::aggregated(&kinds, &own, core, "v2"), "{what}");
            }
            for (group, version) in [
                ("", "v1"),
                ("apps", "v1"),
                ("a.example", "v1"),
                ("b.example", "v1"),
            ] {
                let kept = cache.resources(&kinds, &own, group, version);
                let kept = kept.map(|text| serde_json::from_slice::<Value>(&text).unwrap());
                assert_eq!(
                    kept,
                    groups::resources(&kinds, &own, group, version),
                    "{what}: {group}"
                );
            }
        };
        let put = |group: &str, short: &str| {
            let definition = definition(group, short);
            let object = definition.as_object().unwrap().clone();
            registry.put(from_definition(&object, landform_store::Revision(1)).unwrap());
        };
        check("built-in kinds");
        check("again");
        put("a.example", "x");
        check("a kind has come");
        put("b.example", "x");
        check("another one has come");
        put("a.example", "y");
        check("a kind has changed");
        registry.remove("boxes.a.example");
        check("a kind has gone");
    }
}
