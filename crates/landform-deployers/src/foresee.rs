//! What can be known of a deploy item before it is deployed, from its configuration alone: for plans.
//!
//! Nothing is started, written or asked here. A configuration that its deployer would refuse is refused in
//! the deployer's own words.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::DeployError;
use crate::command::CommandDeployer;
use crate::manifest;
use crate::process::ProcessDeployer;

/// What is known of an item.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreseen {
    /// What it exports. `None` when even the names of its exports are known only afterwards.
    pub exports: Option<BTreeMap<String, Foresight>>,
    /// The objects that it would apply, by kind and name.
    pub objects: Vec<String>,
}

/// What is known of one export.
#[derive(Clone, Debug, PartialEq)]
pub enum Foresight {
    /// It has this value.
    Value(Value),
    /// Only who runs it can tell; this says where it comes from.
    Later(String),
}

/// Looks at the configuration of an item of a type. Types that aren't part of Landform are never known.
///
/// # Errors
/// What its deployer would say about the configuration.
pub fn foresee(kind: &str, config: Option<&Value>) -> Result<Foreseen, DeployError> {
    match kind {
        ProcessDeployer::KIND => crate::process::foresee(config),
        CommandDeployer::KIND => crate::command::foresee(config),
        manifest::KIND => manifest::foresee(config),
        _ => Ok(Foreseen::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn exports_of_a_process_are_known_as_far_as_they_stand_in_its_configuration() {
        let config = json!({"command": ["x"], "exports": {
            "port": {"value": 80}, "token": {"fromFile": {"path": "token"}},
        }});
        let exports = foresee(ProcessDeployer::KIND, Some(&config))
            .unwrap()
            .exports;
        let exports = exports.unwrap();
        assert_eq!(exports["port"], Foresight::Value(json!(80)));
        assert_eq!(exports["token"], Foresight::Later("the file token".into()));
    }

    #[test]
    fn nobody_knows_what_a_command_or_a_foreign_type_exports() {
        let config = json!({"command": ["x"]});
        let command = foresee(CommandDeployer::KIND, Some(&config)).unwrap();
        assert_eq!(command.exports, None);
        assert_eq!(foresee("example.dev/x", None).unwrap(), Foreseen::default());
    }

    #[test]
    fn manifests_tell_their_names_and_what_they_say_themselves() {
        let config = json!({
            "manifests": [{"manifest": {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "a", "namespace": "n"}, "data": {"x": "1"},
            }}],
            "exports": {"exports": [
                {"key": "x", "jsonPath": ".data.x"},
                {"key": "uid", "jsonPath": ".metadata.uid"},
            ]},
        });
        let found = foresee(manifest::KIND, Some(&config)).unwrap();
        assert_eq!(found.objects, ["ConfigMap n/a"]);
        let exports = found.exports.unwrap();
        assert_eq!(exports["x"], Foresight::Value(json!("1")));
        assert!(matches!(exports["uid"], Foresight::Later(_)));
    }

    #[test]
    fn a_wrong_configuration_is_refused_in_the_words_of_its_deployer() {
        for kind in [ProcessDeployer::KIND, CommandDeployer::KIND, manifest::KIND] {
            let error = foresee(kind, None).unwrap_err();
            assert!(error.is_fatal(), "{kind}: {error}");
        }
    }
}
