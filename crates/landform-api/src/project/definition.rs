//! The CustomResourceDefinition of `Project`, generated from the Rust type.

use serde_json::Value;

use super::{GROUP, KIND, Project, VERSION};
use crate::definition::{Names, Scope, column, definition};

/// The definition.
#[must_use]
pub fn definitions() -> Vec<Value> {
    vec![definition::<Project>(&Names {
        group: GROUP,
        version: VERSION,
        scope: Scope::Cluster,
        kind: KIND,
        plural: "projects",
        short: &["proj"],
        columns: vec![
            column("Phase", "string", ".status.phase"),
            column("Files", "integer", ".status.files"),
            column("Objects", "integer", ".status.objects"),
            column("Problems", "integer", ".status.problemCount"),
            column("Directory", "string", ".spec.directory"),
            column("Age", "date", ".metadata.creationTimestamp"),
        ],
        with_status: true,
    })]
}
