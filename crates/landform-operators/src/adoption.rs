//! The adoption loop of an operator as library calls (O13, O14): each is one write that keeps O15, never two
//! controllers and never no owner. Landform calls them for operators that have no loop of their own; an
//! operator in Rust may call them itself.

use kube::api::{Api, Patch, PatchParams};
use kube::core::DynamicObject;
use landform_engine::Failure;
use serde_json::{Value, json};

use crate::objects::owner;

/// An operator version, as an owner reference names it.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// The name of the OperatorVersion.
    pub name: &'a str,
    /// Its uid.
    pub uid: &'a str,
}

/// O12: adds a version as a second owner, which isn't the controller. Returns whether anything was written.
///
/// # Errors
/// What the API answers; a conflict when somebody wrote at the same time: call it again.
pub async fn add_owner(
    api: &Api<DynamicObject>,
    resource: &str,
    version: &Version<'_>,
) -> Result<bool, Failure> {
    change(api, resource, |owners| with_second_owner(owners, version)).await
}

/// O13, O14: in one write the version becomes the controller of a resource, as an owner if it wasn't one,
/// and the version with the uid `from` is an owner no more. Other versions of the `family`, by uid, lose
/// control; a stranger that controls the resource keeps it. Does nothing when `from` owns it no more. Returns
/// whether anything was written.
///
/// # Errors
/// What the API answers; a conflict when somebody wrote at the same time: call it again.
pub async fn adopt(
    api: &Api<DynamicObject>,
    resource: &str,
    from: &str,
    version: &Version<'_>,
    family: &[&str],
) -> Result<bool, Failure> {
    change(api, resource, |owners| {
        adopted(owners, from, version, family)
    })
    .await
}

/// Takes one owner off a resource that has others as well. Returns whether it did; not when it is the only one.
pub(crate) async fn disown(
    api: &Api<DynamicObject>,
    resource: &str,
    uid: &str,
) -> Result<bool, Failure> {
    change(api, resource, |mut owners| {
        let before = owners.len();
        owners.retain(|found| found["uid"] != uid);
        (owners.len() < before && !owners.is_empty()).then_some(owners)
    })
    .await
}

fn with_second_owner(mut owners: Vec<Value>, version: &Version<'_>) -> Option<Vec<Value>> {
    if owners.iter().any(|found| found["uid"] == version.uid) {
        return None;
    }
    owners.push(owner("OperatorVersion", version.name, version.uid, false));
    Some(owners)
}

fn adopted(
    mut owners: Vec<Value>,
    from: &str,
    version: &Version<'_>,
    family: &[&str],
) -> Option<Vec<Value>> {
    let before = owners.len();
    owners.retain(|found| found["uid"] != from);
    if owners.len() == before {
        return None;
    }
    for found in &mut owners {
        if found["uid"]
            .as_str()
            .is_some_and(|uid| family.contains(&uid))
        {
            found["controller"] = json!(false);
        }
    }
    let strange = |found: &Value| found["controller"] == true && found["uid"] != version.uid;
    let controls = !owners.iter().any(strange);
    match owners.iter_mut().find(|found| found["uid"] == version.uid) {
        Some(own) => own["controller"] = json!(controls),
        None => owners.push(owner(
            "OperatorVersion",
            version.name,
            version.uid,
            controls,
        )),
    }
    Some(owners)
}

/// Changes the owners of the very state that was read.
async fn change(
    api: &Api<DynamicObject>,
    resource: &str,
    change: impl FnOnce(Vec<Value>) -> Option<Vec<Value>>,
) -> Result<bool, Failure> {
    let Some(found) = api.get_opt(resource).await? else {
        return Ok(false);
    };
    let owners = found.metadata.owner_references.iter().flatten();
    let owners: Result<Vec<_>, _> = owners.map(serde_json::to_value).collect();
    let owners = owners.map_err(|error| Failure::Transient(error.to_string()))?;
    let Some(owners) = change(owners) else {
        return Ok(false);
    };
    let patch = Patch::Merge(json!({"metadata": {
        "resourceVersion": found.metadata.resource_version, "ownerReferences": owners,
    }}));
    match api.patch(resource, &PatchParams::default(), &patch).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Version<'static> = Version {
        name: "etcd.v2",
        uid: "new",
    };

    fn reference(uid: &str, controller: bool) -> Value {
        json!({"uid": uid, "controller": controller})
    }

    fn shown(owners: Option<Vec<Value>>) -> Vec<(String, bool)> {
        let owners = owners.unwrap_or_default().into_iter();
        owners
            .map(|found| {
                (
                    found["uid"].as_str().unwrap_or_default().to_owned(),
                    found["controller"] == true,
                )
            })
            .collect()
    }

    #[test]
    fn o12_a_second_owner_is_added_once_and_controls_nothing() {
        let before = vec![reference("old", true)];
        let after = with_second_owner(before, &NEW);
        assert_eq!(
            shown(after.clone()),
            [("old".into(), true), ("new".into(), false)]
        );
        assert_eq!(with_second_owner(after.unwrap_or_default(), &NEW), None);
    }

    #[test]
    fn o13_adoption_moves_control_and_takes_the_old_owner_off_in_one_write() {
        let both = vec![reference("old", true), reference("new", false)];
        assert_eq!(
            shown(adopted(both, "old", &NEW, &["old"])),
            [("new".into(), true)]
        );
        // Option 2 adds the owner in the same write.
        let old = vec![reference("old", true)];
        assert_eq!(
            shown(adopted(old, "old", &NEW, &["old"])),
            [("new".into(), true)]
        );
    }

    #[test]
    fn o15_another_version_of_the_family_controls_it_no_more() {
        let three = vec![reference("old", false), reference("between", true)];
        let after = shown(adopted(three, "old", &NEW, &["old", "between"]));
        assert_eq!(after, [("between".into(), false), ("new".into(), true)]);
    }

    #[test]
    fn o15_a_stranger_stays_in_control_and_what_is_not_the_old_ones_is_left_alone() {
        let strange = vec![reference("old", false), reference("stranger", true)];
        let after = shown(adopted(strange, "old", &NEW, &["old"]));
        assert_eq!(after, [("stranger".into(), true), ("new".into(), false)]);
        assert_eq!(
            adopted(vec![reference("stranger", true)], "old", &NEW, &["old"]),
            None
        );
        assert_eq!(adopted(Vec::new(), "old", &NEW, &["old"]), None);
    }
}
