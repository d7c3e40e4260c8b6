//! The CustomResourceDefinitions of these kinds, generated from the Rust types.

use serde_json::Value;

use schemars::JsonSchema;

use super::{GROUP, VERSION, data, deploy_item, execution, further, installation};
use crate::definition::{Names, Scope, column, definition};

/// The definitions of the six kinds that make a landscape.
#[must_use]
pub fn definitions() -> Vec<Value> {
    let with_phase = |more: &[(&str, &str)]| {
        let mut columns = vec![column("Phase", "string", ".status.phase")];
        columns.extend(more.iter().map(|(name, path)| column(name, "string", path)));
        columns.push(column("Age", "date", ".metadata.creationTimestamp"));
        columns
    };
    let age = || column("Age", "date", ".metadata.creationTimestamp");
    vec![
        definition::<installation::Installation>(&Names {
            group: GROUP,
            version: VERSION,
            scope: Scope::Namespaced,
            kind: "Installation",
            plural: "installations",
            short: &["inst"],
            columns: with_phase(&[("Execution", ".status.executionRef.name")]),
            with_status: true,
        }),
        definition::<execution::Execution>(&Names {
            group: GROUP,
            version: VERSION,
            scope: Scope::Namespaced,
            kind: "Execution",
            plural: "executions",
            short: &["exec"],
            columns: with_phase(&[("ExportRef", ".status.exportRef.name")]),
            with_status: true,
        }),
        definition::<deploy_item::DeployItem>(&Names {
            group: GROUP,
            version: VERSION,
            scope: Scope::Namespaced,
            kind: "DeployItem",
            plural: "deployitems",
            short: &["di"],
            columns: {
                let mut columns = vec![column("Type", "string", ".spec.type")];
                columns.extend(with_phase(&[("ExportRef", ".status.exportRef.name")]));
                columns
            },
            with_status: true,
        }),
        definition::<data::DataObject>(&Names {
            group: GROUP,
            version: VERSION,
            scope: Scope::Namespaced,
            kind: "DataObject",
            plural: "dataobjects",
            short: &["do", "dobj"],
            columns: vec![
                column(
                    "Context",
                    "string",
                    r".metadata.labels.data\.landscaper\.gardener\.cloud/context",
                ),
                column(
                    "Key",
                    "string",
                    r".metadata.labels.data\.landscaper\.gardener\.cloud/key",
                ),
                age(),
            ],
            with_status: false,
        }),
        definition::<data::Target>(&Names {
            group: GROUP,
            version: VERSION,
            scope: Scope::Namespaced,
            kind: "Target",
            plural: "targets",
            short: &["tgt", "tg"],
            columns: vec![
                column("Type", "string", ".spec.type"),
                column(
                    "Context",
                    "string",
                    r".metadata.labels.data\.landscaper\.gardener\.cloud/context",
                ),
                column(
                    "Key",
                    "string",
                    r".metadata.labels.data\.landscaper\.gardener\.cloud/key",
                ),
                age(),
            ],
            with_status: false,
        }),
        definition::<data::Context>(&Names {
            group: GROUP,
            version: VERSION,
            scope: Scope::Namespaced,
            kind: "Context",
            plural: "contexts",
            short: &["ctx"],
            columns: vec![age()],
            with_status: false,
        }),
    ]
}

/// The definitions of Landscaper's other kinds, with their names in the versions that had them last.
#[must_use]
pub fn further_definitions() -> Vec<Value> {
    fn made<T: JsonSchema>(
        (kind, plural): (&'static str, &'static str),
        short: &'static [&'static str],
        scope: Scope,
        with_status: bool,
        columns: &[(&str, &str, &str)],
    ) -> Value {
        let columns = columns.iter();
        definition::<T>(&Names {
            group: GROUP,
            version: VERSION,
            scope,
            kind,
            plural,
            short,
            columns: columns
                .map(|(name, kind, path)| column(name, kind, path))
                .collect(),
            with_status,
        })
    }
    use Scope::{Cluster, Namespaced};
    let age = ("Age", "date", ".metadata.creationTimestamp");
    let mut overwrites = made::<further::ComponentVersionOverwrites>(
        ("ComponentVersionOverwrites", "componentversionoverwrites"),
        &["compveroverwrite", "cvo"],
        Namespaced,
        false,
        &[age],
    );
    overwrites["spec"]["names"]["singular"] = "componentversionoverwrite".into();
    vec![
        made::<further::TargetSync>(
            ("TargetSync", "targetsyncs"),
            &["tgs"],
            Namespaced,
            true,
            &[
                ("Source", "string", ".spec.sourceNamespace"),
                ("Problem", "string", ".status.lastErrors[0]"),
                age,
            ],
        ),
        made::<further::SyncObject>(
            ("SyncObject", "syncobjects"),
            &["so"],
            Namespaced,
            true,
            &[
                ("PodName", "string", ".spec.podName"),
                ("Kind", "string", ".spec.kind"),
                ("Name", "string", ".spec.name"),
            ],
        ),
        made::<further::LsHealthCheck>(
            ("LsHealthCheck", "lshealthchecks"),
            &["lshc"],
            Namespaced,
            false,
            &[
                ("Status", "string", ".status"),
                ("LastUpdateTime", "date", ".lastUpdateTime"),
            ],
        ),
        made::<further::CriticalProblems>(
            ("CriticalProblems", "criticalproblems"),
            &["cps"],
            Namespaced,
            true,
            &[age],
        ),
        overwrites,
        made::<further::ComponentOverwrites>(
            ("ComponentOverwrites", "componentoverwrites"),
            &["compoverwrite", "co", "overwrite"],
            Cluster,
            false,
            &[age],
        ),
        made::<further::DeployerRegistration>(
            ("DeployerRegistration", "deployerregistrations"),
            &["deployreg", "deployerreg", "dreg"],
            Cluster,
            true,
            &[age],
        ),
        made::<further::Environment>(
            ("Environment", "environments"),
            &["env"],
            Cluster,
            false,
            &[age],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_kind_has_a_definition_with_its_short_names() {
        let definitions = definitions();
        let names: Vec<_> = definitions
            .iter()
            .map(|definition| {
                let names = &definition["spec"]["names"];
                let short: Vec<_> = names["shortNames"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|name| name.as_str().unwrap())
                    .collect();
                format!("{} {}", names["kind"].as_str().unwrap(), short.join(","))
            })
            .collect();
        assert_eq!(
            names,
            [
                "Installation inst",
                "Execution exec",
                "DeployItem di",
                "DataObject do,dobj",
                "Target tgt,tg",
                "Context ctx"
            ]
        );
    }

    #[test]
    fn further_kinds_have_the_names_of_landscapers_definitions() {
        let definitions = further_definitions();
        let names: Vec<_> = definitions
            .iter()
            .map(|definition| {
                let spec = &definition["spec"];
                let names = &spec["names"];
                let short = names["shortNames"].as_array().unwrap();
                let short: Vec<_> = short.iter().map(|name| name.as_str().unwrap()).collect();
                format!(
                    "{} {} {} {} {}",
                    spec["scope"].as_str().unwrap(),
                    names["kind"].as_str().unwrap(),
                    names["plural"].as_str().unwrap(),
                    names["singular"].as_str().unwrap(),
                    short.join(",")
                )
            })
            .collect();
        assert_eq!(
            names,
            [
                "Namespaced TargetSync targetsyncs targetsync tgs",
                "Namespaced SyncObject syncobjects syncobject so",
                "Namespaced LsHealthCheck lshealthchecks lshealthcheck lshc",
                "Namespaced CriticalProblems criticalproblems criticalproblems cps",
                "Namespaced ComponentVersionOverwrites componentversionoverwrites componentversionoverwrite compveroverwrite,cvo",
                "Cluster ComponentOverwrites componentoverwrites componentoverwrites compoverwrite,co,overwrite",
                "Cluster DeployerRegistration deployerregistrations deployerregistration deployreg,deployerreg,dreg",
                "Cluster Environment environments environment env",
            ]
        );
        let text = serde_json::to_string(&definitions).unwrap();
        for word in ["$ref", "anyOf", "oneOf", "nullable", "\"const\"", "uint"] {
            assert!(!text.contains(word), "{word}");
        }
    }

    #[test]
    fn limits_of_fields_are_in_the_schema() {
        let definitions = definitions();
        let schema = &definitions[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let automatic = &schema["properties"]["spec"]["properties"]["automaticReconcile"];
        let failed = &automatic["properties"]["failedReconcile"]["properties"];
        let pattern = failed["interval"]["pattern"].as_str().unwrap();
        assert_eq!(pattern, crate::duration::PATTERN, "{failed}");
        assert_eq!(failed["numberOfReconciles"]["minimum"], 0);
    }

    #[test]
    fn schemas_are_structural_and_know_all_words_of_a_phase() {
        let definitions = definitions();
        let schema = &definitions[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let status = &schema["properties"]["status"]["properties"];
        assert_eq!(status["phase"]["type"], "string", "{}", status["phase"]);
        assert_eq!(status["phase"]["enum"].as_array().unwrap().len(), 7);
        let codes = &status["lastError"]["properties"]["codes"]["items"];
        assert!(
            codes["enum"]
                .as_array()
                .unwrap()
                .contains(&json!("ERR_TIMEOUT")),
            "{codes}"
        );
        let blueprint = &schema["properties"]["spec"]["properties"]["blueprint"]["properties"];
        assert_eq!(
            blueprint["inline"]["properties"]["filesystem"]["x-kubernetes-preserve-unknown-fields"],
            true
        );
        let text = serde_json::to_string(&definitions).unwrap();
        for word in ["$ref", "anyOf", "oneOf", "nullable", "\"const\"", "uint"] {
            assert!(!text.contains(word), "{word}");
        }
    }
}
