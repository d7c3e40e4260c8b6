//! The CustomResourceDefinitions of these kinds, generated from the Rust types.

use serde_json::Value;

use super::{GROUP, VERSION, app_type, operator_version, source};
use crate::definition::{Names, Scope, column, definition};

/// The definitions of all three kinds.
#[must_use]
pub fn definitions() -> Vec<Value> {
    let names = |scope, kind, plural, short, columns: &[(&str, &str, &str)]| {
        let mut columns: Vec<_> = columns
            .iter()
            .map(|(name, kind, path)| column(name, kind, path))
            .collect();
        columns.push(column("Age", "date", ".metadata.creationTimestamp"));
        Names {
            group: GROUP,
            version: VERSION,
            scope,
            kind,
            plural,
            short,
            columns,
            with_status: true,
        }
    };
    vec![
        definition::<source::Catalog>(&names(
            Scope::Cluster,
            "Catalog",
            "catalogs",
            &["cat"],
            &[
                ("Phase", "string", ".status.phase"),
                ("Packages", "integer", ".status.packages"),
                ("Versions", "integer", ".status.versions"),
                ("Problems", "integer", ".status.problemCount"),
            ],
        )),
        definition::<app_type::AppType>(&names(
            Scope::Namespaced,
            "AppType",
            "apptypes",
            &["app"],
            &[
                ("Package", "string", ".spec.package"),
                ("Version", "string", ".status.installed.version"),
                ("Phase", "string", ".status.phase"),
                ("Next", "string", ".status.next[0].version"),
                ("Blocked", "string", ".status.blockedBy[0].reason"),
            ],
        )),
        definition::<operator_version::OperatorVersion>(&names(
            Scope::Namespaced,
            "OperatorVersion",
            "operatorversions",
            &["opv"],
            &[
                ("Package", "string", ".spec.package"),
                ("Version", "string", ".spec.version"),
                ("Replaces", "string", ".spec.replaces"),
                ("Phase", "string", ".status.phase"),
                ("Reason", "string", ".status.reason"),
            ],
        )),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_kinds_are_defined_and_catalogs_are_of_the_cluster() {
        let definitions = definitions();
        let scopes: Vec<_> = definitions
            .iter()
            .map(|found| {
                (
                    found["metadata"]["name"].as_str(),
                    found["spec"]["scope"].as_str(),
                )
            })
            .collect();
        assert_eq!(
            scopes,
            [
                (Some("catalogs.catalog.landform.dev"), Some("Cluster")),
                (Some("apptypes.catalog.landform.dev"), Some("Namespaced")),
                (
                    Some("operatorversions.catalog.landform.dev"),
                    Some("Namespaced")
                ),
            ]
        );
        let phase = &definitions[2]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
            ["status"]["properties"]["phase"];
        assert_eq!(phase["enum"].as_array().map(Vec::len), Some(7), "{phase}");
    }
}
