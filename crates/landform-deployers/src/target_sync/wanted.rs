//! What a TargetSync asks for: pure, so that it can be said without a cluster.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use landform_api::landscaper::TargetSyncSpec;
use landform_api::landscaper::installation::KeyReference;
use regex::{Regex, RegexBuilder};
use serde_json::{Value, json};

use crate::manifest::target::{DEFAULT_KEY, KUBERNETES_CLUSTER};

/// A compiled expression is no larger than this.
const EXPRESSION_BYTES_MAX: usize = 1024 * 1024;

/// What is asked for, as far as the spec alone says.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Which Secrets; none when no expression is given.
    pub(super) expression: Option<Regex>,
}

/// One object of each kind that should exist, by name.
#[derive(Debug, Default, PartialEq)]
pub(super) struct WantedObjects {
    /// Specs of Targets.
    pub(super) targets: BTreeMap<String, Value>,
    /// Contents of Secrets.
    pub(super) secrets: BTreeMap<String, Content>,
}

/// What is in a Secret.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Content {
    pub(super) kind: Option<String>,
    pub(super) data: Option<BTreeMap<String, ByteString>>,
}

/// The key of the kubeconfig in the Secret that the spec names.
pub(super) fn kubeconfig_key(reference: &KeyReference) -> &str {
    match reference.key.as_str() {
        "" => DEFAULT_KEY,
        key => key,
    }
}

impl Wanted {
    /// What a spec asks for.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn of(spec: &TargetSyncSpec) -> Result<Self, String> {
        if spec.secret_ref.name.is_empty() {
            return Err(
                "spec.secretRef.name is missing: it names a Secret with a kubeconfig for the source cluster".to_owned(),
            );
        }
        if spec.source_namespace.is_empty() {
            return Err(
                "spec.sourceNamespace is missing: it is the namespace of the Secrets in the source cluster".to_owned(),
            );
        }
        if !spec.shoot_name_expression.is_empty() {
            return Err(
                "spec.shootNameExpression needs Gardener's requests for kubeconfigs, which Landform doesn't make: use \
                 spec.secretNameExpression"
                    .to_owned(),
            );
        }
        let expression = match spec.secret_name_expression.as_str() {
            "" => None,
            "*" => Some(".*"),
            expression => Some(expression),
        };
        let expression = expression.map(|expression| {
            let built = RegexBuilder::new(expression)
                .size_limit(EXPRESSION_BYTES_MAX)
                .build();
            built.map_err(|_| {
                format!(
                    "spec.secretNameExpression {:?} is no regular expression that is known here, or too large",
                    landform_api::budget::shown(expression)
                )
            })
        });
        Ok(Self {
            expression: expression.transpose()?,
        })
    }

    /// The objects that follow from the Secrets of the source.
    pub(super) fn objects(&self, spec: &TargetSyncSpec, source: Vec<Secret>) -> WantedObjects {
        let mut wanted = WantedObjects::default();
        let matches = |name: &str| {
            let expression = self.expression.as_ref();
            expression.is_some_and(|expression| expression.is_match(name))
        };
        for secret in source {
            let name = secret.name_any();
            if matches(&name) {
                wanted
                    .targets
                    .insert(name.clone(), target(&name, DEFAULT_KEY));
                let content = Content {
                    kind: secret.type_,
                    data: secret.data,
                };
                wanted.secrets.insert(name, content);
            }
        }
        if spec.create_target_to_source {
            let name = match spec.target_to_source_name.as_str() {
                "" => &spec.source_namespace,
                name => name,
            };
            let secret = &spec.secret_ref;
            let to_source = target(&secret.name, kubeconfig_key(secret));
            wanted.targets.insert(name.to_owned(), to_source);
        }
        wanted
    }
}

fn target(secret: &str, key: &str) -> Value {
    json!({"type": KUBERNETES_CLUSTER, "secretRef": {"name": secret, "key": key}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(expression: &str) -> TargetSyncSpec {
        TargetSyncSpec {
            source_namespace: "garden".into(),
            secret_name_expression: expression.into(),
            secret_ref: KeyReference {
                name: "access".into(),
                ..KeyReference::default()
            },
            ..TargetSyncSpec::default()
        }
    }

    fn names(expression: &str) -> Vec<String> {
        let secrets = ["a.kubeconfig", "b.kubeconfig", "other", "x.kubeconfig.old"];
        let secrets = secrets.into_iter().map(|name| {
            let mut secret = Secret::default();
            secret.metadata.name = Some(name.to_owned());
            secret
        });
        let spec = spec(expression);
        let wanted = Wanted::of(&spec).unwrap().objects(&spec, secrets.collect());
        assert!(wanted.targets.keys().eq(wanted.secrets.keys()));
        wanted.secrets.into_keys().collect()
    }

    #[test]
    fn expressions_match_somewhere_in_the_name_and_a_star_matches_all() {
        assert_eq!(names(r"\.kubeconfig$"), ["a.kubeconfig", "b.kubeconfig"]);
        assert_eq!(names("^a"), ["a.kubeconfig"]);
        assert_eq!(names("*").len(), 4);
        assert_eq!(names(""), [""; 0]);
    }

    #[test]
    fn the_source_itself_can_be_a_target() {
        let mut spec = spec("");
        spec.create_target_to_source = true;
        spec.secret_ref.key = "config".into();
        let wanted = |spec: &TargetSyncSpec| Wanted::of(spec).unwrap().objects(spec, Vec::new());
        let found = wanted(&spec);
        assert_eq!(
            found.targets["garden"],
            json!({"type": KUBERNETES_CLUSTER, "secretRef": {"name": "access", "key": "config"}})
        );
        assert!(found.secrets.is_empty());
        spec.target_to_source_name = "there".into();
        assert!(wanted(&spec).targets.contains_key("there"));
    }

    #[test]
    fn what_is_wrong_with_a_spec_is_said() {
        let mut shoots = spec("");
        shoots.shoot_name_expression = "*".into();
        let nameless = TargetSyncSpec {
            secret_ref: KeyReference::default(),
            ..spec("*")
        };
        let nowhere = TargetSyncSpec {
            source_namespace: String::new(),
            ..spec("*")
        };
        for (spec, piece) in [
            (spec("["), "no regular expression"),
            (spec(&format!("({}){{1000}}", "a{1000}")), "too large"),
            (shoots, "spec.shootNameExpression"),
            (nameless, "spec.secretRef.name is missing"),
            (nowhere, "spec.sourceNamespace is missing"),
        ] {
            let problem = Wanted::of(&spec).unwrap_err();
            assert!(problem.contains(piece), "{problem}");
        }
    }
}
