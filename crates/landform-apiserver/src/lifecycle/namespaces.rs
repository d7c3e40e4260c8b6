//! Namespaces: what a new one is given, and how one that is being deleted is emptied.

use landform_api::keys::FINALIZER_NAMESPACE;
use landform_api::landscaper;
use serde_json::{Value, json};

use super::content::Left;
use super::is_settled;
use crate::error::Result;
use crate::object::rules::Part;
use crate::object::{Object, meta};
use crate::registry::Resource;
use crate::server::ApiServer;
use crate::verbs::Change;
use crate::verbs::Place;
use crate::verbs::write::WriteOptions;

/// Present from the first start.
const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];
/// Namespaces that may not be deleted.
pub const UNDELETABLE: [&str; 3] = ["default", "kube-system", "kube-public"];
/// Where clients in a namespace find the server's CA.
const CA_CONFIG_MAP: &str = "kube-root-ca.crt";

impl ApiServer {
    /// Creates the namespaces that every server has.
    pub(crate) async fn ensure_namespaces(&self) -> Result<()> {
        for name in NAMESPACES {
            self.ensure(&self.namespaces(), "", json!({"metadata": {"name": name}}))
                .await?;
        }
        Ok(())
    }

    pub(super) async fn look_at_namespace(&self, namespace: &Object) -> Result<()> {
        let name = meta::name(namespace);
        if meta::is_marked(namespace) {
            return self.empty_namespace(namespace).await;
        }
        let accounts = self.builtin("", "serviceaccounts");
        self.ensure(
            &accounts,
            name,
            json!({"metadata": {"name": "default", "namespace": name}}),
        )
        .await?;
        if let Some(ca) = &self.shared.config.ca_certificate {
            let map = json!({
                "metadata": {
                    "name": CA_CONFIG_MAP, "namespace": name,
                    "annotations": {"kubernetes.io/description": "The certificate that this server's own certificate can be checked with."},
                },
                "data": {"ca.crt": ca},
            });
            self.ensure(&self.builtin("", "configmaps"), name, map)
                .await?;
        }
        Ok(())
    }

    /// Deletes what is in a namespace, also objects whose kind isn't served now; when nothing is left, lets the
    /// namespace go.
    async fn empty_namespace(&self, namespace: &Object) -> Result<()> {
        let name = meta::name(namespace).to_owned();
        let prefix = format!("{name}/");
        let kinds = self.shared.registry.kinds();
        let mut left = Vec::new();
        let mut failures = Vec::new();
        let namespaced = || kinds.stored().filter(|resource| resource.namespaced);
        let (last, first): (Vec<_>, Vec<_>) = namespaced().partition(|found| goes_last(found));
        for resources in [first, last] {
            if !left.is_empty() || !failures.is_empty() {
                break;
            }
            for resource in resources {
                match self.empty(resource, &prefix).await {
                    Ok(some) => left.extend(some),
                    // Others go on; what failed is told, and tried again with the next change.
                    Err(error) => failures.push(format!("{}: {error}", resource.bucket)),
                }
            }
        }
        let done = left.is_empty() && failures.is_empty();
        let part = if done { Part::Finalize } else { Part::Status };
        let place = Place {
            resource: self.namespaces(),
            namespace: String::new(),
            name: Some(name),
        };
        let conditions = remaining(&left, &failures);
        let now = self.now();
        let result = self
            .modify(&place, part, &WriteOptions::OWN, Vec::new(), |found| {
                let shown = found.shown();
                let mut object = shown.clone();
                if done {
                    drop_own_finalizer(&mut object);
                } else {
                    set_conditions(&mut object, &conditions, &now);
                }
                Ok(if object == shown {
                    Change::Keep
                } else {
                    Change::Sent(object)
                })
            })
            .await;
        match result {
            Ok(_) => Ok(()),
            Err(error) if is_settled(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Whether objects of a resource leave a namespace after all others: what is uninstalled is uninstalled with the rights
/// of who wrote it, with credentials that are in Secrets (C6), and from targets with data that must still be there (I31b).
fn goes_last(resource: &Resource) -> bool {
    let plural = resource.plural.as_str();
    match resource.group.as_str() {
        "" => matches!(plural, "secrets" | "serviceaccounts"),
        "rbac.authorization.k8s.io" => true,
        landscaper::GROUP => matches!(plural, "targets" | "dataobjects" | "contexts"),
        _ => false,
    }
}

fn drop_own_finalizer(object: &mut Object) {
    if let Some(Value::Array(list)) = object
        .get_mut("spec")
        .and_then(|spec| spec.get_mut("finalizers"))
    {
        list.retain(|finalizer| finalizer != FINALIZER_NAMESPACE);
    }
}

/// One condition: its type, whether it holds, and why.
struct Condition {
    kind: &'static str,
    holds: bool,
    reason: &'static str,
    message: String,
}

/// Why a namespace is still there, in the conditions that Kubernetes documents.
fn remaining(left: &[Left], failures: &[String]) -> [Condition; 5] {
    let content: Vec<String> = left
        .iter()
        .map(|left| format!("{} has {} resource instances", left.resource, left.count))
        .collect();
    let mut finalizers = std::collections::BTreeMap::<&str, usize>::new();
    for (finalizer, count) in left.iter().flat_map(|left| &left.finalizers) {
        *finalizers.entry(finalizer).or_default() += count;
    }
    let holders: Vec<String> = finalizers
        .iter()
        .map(|(finalizer, count)| format!("{finalizer} in {count} resource instances"))
        .collect();
    let condition =
        |kind, texts: &[String], reasons: (&'static str, &'static str), yes: &str, no: &str| {
            let holds = !texts.is_empty();
            let message = if holds {
                format!("{yes}: {}", texts.join(", "))
            } else {
                no.to_owned()
            };
            Condition {
                kind,
                holds,
                reason: if holds { reasons.0 } else { reasons.1 },
                message,
            }
        };
    [
        condition(
            "NamespaceDeletionDiscoveryFailure",
            &[],
            ("DiscoveryFailed", "ResourcesDiscovered"),
            "",
            "All kinds are known",
        ),
        condition(
            "NamespaceDeletionGroupVersionParsingFailure",
            &[],
            ("GroupVersionParsingFailed", "ParsedGroupVersions"),
            "",
            "All group versions are known",
        ),
        condition(
            "NamespaceDeletionContentFailure",
            failures,
            ("ContentDeletionFailed", "ContentDeleted"),
            "Some content could not be deleted",
            "All content was asked to go",
        ),
        condition(
            "NamespaceContentRemaining",
            &content,
            ("SomeResourcesRemain", "ContentRemoved"),
            "Some resources are remaining",
            "No content remains",
        ),
        condition(
            "NamespaceFinalizersRemaining",
            &holders,
            ("SomeFinalizersRemain", "ContentHasNoFinalizers"),
            "Some content in the namespace has finalizers remaining",
            "No content has finalizers",
        ),
    ]
}

fn set_conditions(object: &mut Object, conditions: &[Condition], now: &str) {
    let status = object.entry("status").or_insert_with(|| json!({}));
    let mut list = status["conditions"].as_array().cloned().unwrap_or_default();
    for Condition {
        kind,
        holds,
        reason,
        message,
    } in conditions
    {
        let holds = if *holds { "True" } else { "False" };
        let found = list.iter().position(|known| known["type"] == *kind);
        let same = found.filter(|index| list[*index]["status"] == holds);
        let since = same.map_or(json!(now), |index| {
            list[index]["lastTransitionTime"].clone()
        });
        let fresh = json!({
            "type": kind, "status": holds, "reason": reason, "message": message,
            "lastTransitionTime": since,
        });
        match found {
            Some(index) => list[index] = fresh,
            None => list.push(fresh),
        }
    }
    status["conditions"] = json!(list);
}
