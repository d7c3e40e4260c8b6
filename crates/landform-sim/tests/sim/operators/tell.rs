//! How stories are told: once undisturbed, to see where they lead, and once for each write with a crash after it.

use std::collections::BTreeMap;
use std::sync::Arc;

use landform_sim::fault::Rates;
use landform_sim::operators::{
    OperatorsWorld, Release, app_type, catalog, named, rollback, template,
};
use landform_sim::user::Wish;
use landform_sim::{Action, Simulation, crash_at_writes};
use serde_json::Value;

/// How a story ends.
pub(super) struct End {
    objects: BTreeMap<String, Value>,
}

/// Tells a story with a crash after each write: all end alike, and this is how.
pub(super) fn survives(story: &[Action]) -> End {
    let template = template().unwrap();
    let world = Arc::new(OperatorsWorld::default());
    let mut calm = Simulation::new(world, &template, 0, Rates::none());
    for action in story.iter().chain(&[Action::Rest]) {
        if let Err(failure) = calm.perform(action) {
            panic!("{}\n{failure}", calm.surroundings().trace.text());
        }
    }
    let objects = calm.end_state().into_iter();
    let parse = |(name, text): (String, String)| (name, serde_json::from_str(&text).unwrap());
    let end = End {
        objects: objects.map(parse).collect(),
    };
    if let Err(failure) = crash_at_writes(&template, OperatorsWorld::default, story) {
        panic!("{failure}");
    }
    end
}

impl End {
    fn get(&self, place: &str, name: &str) -> Option<&Value> {
        self.objects.get(&format!("{place} default/{name}"))
    }

    /// The version that the app type says is installed, and its phase.
    pub(super) fn app_type(&self) -> String {
        let Some(found) = self.get("apptypes.catalog.landform.dev", "etcd") else {
            return "gone".into();
        };
        let text = |value: &Value| value.as_str().unwrap_or("none").to_owned();
        let status = &found["status"];
        format!(
            "{} {}",
            text(&status["phase"]),
            text(&status["installed"]["version"])
        )
    }

    /// The names of the versions that are there.
    pub(super) fn versions(&self) -> Vec<&str> {
        let prefix = "operatorversions.catalog.landform.dev default/";
        let names = self.objects.keys();
        names.filter_map(|name| name.strip_prefix(prefix)).collect()
    }

    /// What the operator that all versions share says that it is.
    pub(super) fn operator(&self) -> &str {
        let found = self.get("configmaps", "etcd-operator");
        found.map_or("gone", |found| {
            found["data"]["version"].as_str().unwrap_or("none")
        })
    }

    /// The names of the owners of a resource.
    pub(super) fn owners(&self, resource: &str) -> Vec<&str> {
        let found = self.get("configmaps", resource);
        let owners = found.and_then(|found| found["metadata"]["ownerReferences"].as_array());
        let owners = owners.into_iter().flatten();
        owners.filter_map(|owner| owner["name"].as_str()).collect()
    }

    /// Whether the kind that the operator brings is there.
    pub(super) fn has_kind(&self) -> bool {
        let bucket = "customresourcedefinitions.apiextensions.k8s.io";
        self.objects
            .contains_key(&format!("{bucket} clusters.etcd.example.com"))
    }
}

pub(super) fn offer(releases: &[Release]) -> Action {
    Action::Wish(Wish::Applied(catalog(releases)))
}

pub(super) fn want(definitions: &str) -> Action {
    Action::Wish(Wish::Applied(app_type(definitions)))
}

pub(super) fn go_back(version: &str) -> Action {
    Action::Wish(Wish::Applied(rollback(version)))
}

pub(super) fn delete(kind: &str, name: &str) -> Action {
    Action::Wish(Wish::DeletedBy(named(kind, name), "Background"))
}
