//! Nobody grants what they don't have.
//!
//! Whoever writes a role must have every right in it, or the verb `escalate` on it. Whoever writes a
//! binding must have every right of the role that it binds, or the verb `bind` on that role. What a write
//! leaves as it was is not asked about, so that labels and finalizers can be changed by anybody who may
//! change the object.

use serde_json::Value;

use super::ask::{Action, Ask};
use super::index::{Index, RoleKey, read_rules};
use super::rule::Rule;
use super::{Binding, GROUP, Role};
use crate::error::{ApiError, Reason, Result};
use crate::identity::Identity;
use crate::object::{Object, meta};
use crate::server::ApiServer;
use crate::verbs::Place;

/// A write may grant so many single rights (a verb on a resource) at once, so that checking them has an end.
const PIECES: usize = 20_000;
/// So many rights that are missing are listed.
const LISTED: usize = 10;

impl ApiServer {
    /// 403 when a write of a role or a binding grants what the writer doesn't have.
    pub(crate) async fn refuse_escalation(
        &self,
        place: &Place,
        who: Option<&Identity>,
        object: &Object,
        old: Option<&Object>,
    ) -> Result<()> {
        let Some(who) = who else {
            return Ok(());
        };
        if place.resource.group != GROUP {
            return Ok(());
        }
        let fields = match place.resource.plural.as_str() {
            "roles" | "clusterroles" => ["rules", "aggregationRule"],
            "rolebindings" | "clusterrolebindings" => ["roleRef", "subjects"],
            _ => return Ok(()),
        };
        let is_same = |old: &Object| {
            fields
                .iter()
                .all(|field| old.get(*field) == object.get(*field))
        };
        if old.is_some_and(is_same) {
            return Ok(());
        }
        let rules = self.rules().await?;
        for one in who.each() {
            if fields.contains(&"rules") {
                write_of_role(&rules, place, one, object)?;
            } else {
                write_of_binding(&rules, place, one, object)?;
            }
        }
        Ok(())
    }
}

fn write_of_role(index: &Index, place: &Place, who: &Identity, object: &Object) -> Result<()> {
    let name = meta::name(object);
    let escalate = Ask::Action(Action {
        verb: "escalate",
        group: GROUP,
        resource: &place.resource.plural,
        namespace: &place.namespace,
        name: name.into(),
        ..Action::default()
    });
    if index.decide_for_one(who, &escalate).is_some() {
        return Ok(());
    }
    if Role::from_object(object).is_aggregated() {
        // What it will gather is not known yet.
        return confirm(index, place, who, name, &Rule::everything());
    }
    let granted = read_rules(object.get("rules").unwrap_or(&Value::Null));
    confirm(index, place, who, name, &granted)
}

fn write_of_binding(index: &Index, place: &Place, who: &Identity, object: &Object) -> Result<()> {
    let RoleKey { namespace, name } = Binding::from_object(object, &place.namespace).role;
    let plural = if namespace.is_empty() {
        "clusterroles"
    } else {
        "roles"
    };
    let bind = Ask::Action(Action {
        verb: "bind",
        group: GROUP,
        resource: plural,
        namespace: &place.namespace,
        name: name.as_str().into(),
        ..Action::default()
    });
    if index.decide_for_one(who, &bind).is_some() {
        return Ok(());
    }
    let key = RoleKey { namespace, name };
    let Some(granted) = index.rules(&key) else {
        return Err(ApiError::not_found(GROUP, plural, &key.name));
    };
    confirm(index, place, who, meta::name(object), granted)
}

/// Checks that somebody has every right of these rules, where the object is.
fn confirm(
    index: &Index,
    place: &Place,
    who: &Identity,
    name: &str,
    granted: &[Rule],
) -> Result<()> {
    let resource = &place.resource;
    let count = granted
        .iter()
        .fold(0_usize, |sum, rule| sum.saturating_add(rule.count()));
    if count > PIECES {
        return Err(ApiError::new(
            Reason::Forbidden,
            format!(
                "{}.{GROUP} \"{name}\" is forbidden: its rules grant {count} single rights, and at most {PIECES} can be checked: write fewer or use \"*\"",
                resource.plural
            ),
        )
        .about(GROUP, &resource.plural, name));
    }
    let held: Vec<&Rule> = index
        .held(who, &place.namespace)
        .map(|(_, rule)| rule)
        .collect();
    let missing: Vec<String> = granted
        .iter()
        .flat_map(Rule::pieces)
        .filter(|piece| !held.iter().any(|rule| rule.covers(piece)))
        .take(LISTED + 1)
        .map(|piece| piece.to_string())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let more = if missing.len() > LISTED { "\n…" } else { "" };
    let list = missing[..missing.len().min(LISTED)].join("\n");
    let why = format!(
        "user {:?} (groups={:?}) is attempting to grant RBAC permissions not currently held:\n{list}{more}",
        who.user, who.groups
    );
    Err(ApiError::forbidden(GROUP, &resource.plural, name, &why))
}
