//! Who may write the definition of which kind (C6).
//!
//! A definition decides what objects of its kind hold: its defaults become a part of each object that is written, and what
//! its schema doesn't know is dropped. The kinds of Landform decide what Landform does with the rights of others, so
//! their definitions are written only by those who may do everything. In all other definitions new defaults take the
//! right to update the objects of the kind; whose defaults they are is noted on the objects that they are filled into.

use serde_json::Value;

use super::Place;
use crate::error::{ApiError, Result};
use crate::identity::Identity;
use crate::object::{Object, meta, rules};
use crate::rbac::{Action, Ask};
use crate::server::ApiServer;

impl ApiServer {
    /// 403 for a write of a definition that its sender has no right to. `limited` is none for those who may do everything.
    pub(super) async fn refuse_definition(
        &self,
        place: &Place,
        limited: Option<&Identity>,
        object: &Object,
        old: Option<&Object>,
    ) -> Result<()> {
        let (Some(who), true) = (limited, place.resource.is_definitions()) else {
            return Ok(());
        };
        if old == Some(object) {
            return Ok(());
        }
        let name = meta::name(object);
        self.refuse_own_definition(place, Some(who), name).await?;
        let before = old.map(defaults).unwrap_or_default();
        let after = defaults(object);
        if after.iter().all(|default| before.contains(default)) {
            return Ok(());
        }
        let (plural, group) = kind_of(name);
        let ask = Ask::Action(Action {
            verb: "update",
            group,
            resource: plural,
            ..Action::default()
        });
        if self.authorize(who, &ask).await.is_ok() {
            return Ok(());
        }
        let why = format!(
            "its defaults become a part of every object of the kind that is written: User \"{}\" needs the right to update resource \"{plural}\" in API group \"{group}\" at the cluster scope",
            who.user
        );
        Err(forbidden(place, name, &why))
    }

    /// 403 for a write or a delete of the definition of one of Landform's own kinds, unless its sender may do everything.
    pub(super) async fn refuse_own_definition(
        &self,
        place: &Place,
        limited: Option<&Identity>,
        name: &str,
    ) -> Result<()> {
        let (Some(who), true) = (limited, place.resource.is_definitions()) else {
            return Ok(());
        };
        let (_, group) = kind_of(name);
        if !rules::is_own_group(group) {
            return Ok(());
        }
        // Only a rule for all verbs, groups and resources has these.
        let everything = Ask::Action(Action {
            verb: "*",
            group: "*",
            resource: "*",
            ..Action::default()
        });
        if self.authorize(who, &everything).await.is_ok() {
            return Ok(());
        }
        let why = format!(
            "the kinds of {group} are Landform's own, and their definitions decide what Landform does with the rights of others: User \"{}\" needs all rights, as the ClusterRole cluster-admin gives them",
            who.user
        );
        Err(forbidden(place, name, &why))
    }
}

fn forbidden(place: &Place, name: &str, why: &str) -> ApiError {
    ApiError::forbidden(&place.resource.group, &place.resource.plural, name, why)
}

/// Plural and group of the kind that a definition of this name defines.
fn kind_of(definition: &str) -> (&str, &str) {
    definition.split_once('.').unwrap_or((definition, ""))
}

/// All defaults of a definition: in which version, where, and which.
fn defaults(definition: &Object) -> Vec<(String, &Value)> {
    let versions = definition.get("spec").map(|spec| &spec["versions"]);
    let mut found = Vec::new();
    for version in versions.and_then(Value::as_array).into_iter().flatten() {
        let place = format!("{} {}", version["name"], version["served"]);
        collect(place, &version["schema"]["openAPIV3Schema"], &mut found);
    }
    found
}

fn collect<'a>(place: String, schema: &'a Value, found: &mut Vec<(String, &'a Value)>) {
    let Value::Object(schema) = schema else {
        return;
    };
    for (field, inner) in schema {
        match (field.as_str(), inner) {
            ("properties", Value::Object(properties)) => {
                for (name, inner) in properties {
                    collect(format!("{place}.{name:?}"), inner, found);
                }
            }
            ("items" | "additionalProperties", inner) => {
                collect(format!("{place}.{field}"), inner, found);
            }
            _ => {}
        }
    }
    if let Some(default) = schema.get("default") {
        found.push((place, default));
    }
}
