//! Who may take whose place (C6).
//!
//! A version that runs makes those that it replaces go. So who writes it needs the rights to that: to delete them, and to change the app
//! type that owns them. The versions that an app type makes have its writer, and take each other's place without further rights.
//! Owner references prove nothing here, since clients write them.

use kube::ResourceExt as _;
use kube::core::DynamicObject;
use landform_api::catalog::GROUP;
use landform_decide::operator_version::Family;
use landform_engine::{Actor, Context, Denied, Failure, Right};

use crate::facts::VersionFacts;
use crate::objects;

/// A version of a family, and how it stands in the API.
pub(crate) struct Relative {
    pub(crate) object: DynamicObject,
    pub(crate) facts: VersionFacts,
}

/// The versions of a family that may take the places that they claim; of one of them, what is missing for that.
pub(crate) struct Entitled {
    pub(crate) others: Vec<VersionFacts>,
    /// Why the version itself may not.
    pub(crate) refusal: Option<String>,
}

impl Relative {
    pub(crate) fn of(object: DynamicObject) -> Self {
        Self {
            facts: VersionFacts::of(&object),
            object,
        }
    }
}

/// Looks at the claims of all versions of a package, the one with the uid `me` among them.
pub(crate) async fn of_family(
    context: &Context,
    me: &str,
    family: Vec<Relative>,
) -> Result<Entitled, Failure> {
    let mut refused = Vec::new();
    for heir in &family {
        // One that can't act at all takes no place.
        let missing = match missing(context, heir, &family).await {
            Err(Failure::Refused(message) | Failure::Invalid(message)) => Some(message),
            missing => missing?.map(|denied| denied.to_string()),
        };
        refused.push(missing);
    }
    let (mut others, mut refusal) = (Vec::new(), None);
    for (relative, refused) in family.into_iter().zip(refused) {
        if relative.facts.member.uid == me {
            refusal = refused;
        } else if refused.is_none() {
            others.push(relative.facts);
        }
    }
    Ok(Entitled { others, refusal })
}

/// What the actor of a version may not do to those whose place it claims.
async fn missing(
    context: &Context,
    heir: &Relative,
    family: &[Relative],
) -> Result<Option<Denied>, Failure> {
    let member = &heir.facts.member;
    let claimed = |former: &&Relative| Family::claims(member, &former.facts.member);
    let claimed: Vec<_> = family.iter().filter(claimed).collect();
    if claimed.is_empty() {
        return Ok(None);
    }
    let actor = context.actor_of(&heir.object).await?;
    if actor == Actor::Engine {
        return Ok(None);
    }
    let namespace = heir.object.namespace().unwrap_or_default();
    let right = |verb: &str, resource: &str, name: &str| {
        Right::new(verb, GROUP, resource, &namespace, name)
    };
    let mut rights = Vec::new();
    for former in claimed {
        let same = context.actor_of(&former.object).await;
        let mut theirs = !same.is_ok_and(|same| same == actor);
        if let Some(owner) = &former.facts.app_type {
            let app_types = objects::app_types(&context.client(), &namespace);
            let found = app_types.get_opt(&owner.name).await?;
            if let Some(found) = found.filter(|found| found.uid().as_ref() == Some(&owner.uid)) {
                let same = context.actor_of(&found).await;
                if same.is_ok_and(|same| same == actor) {
                    theirs &= heir.facts.app_type.as_ref() != Some(owner);
                } else {
                    rights.push(right("update", "apptypes", &owner.name));
                    theirs = true;
                }
            }
        }
        if theirs {
            rights.push(right(
                "delete",
                "operatorversions",
                &former.facts.member.name,
            ));
        }
    }
    context.missing_of(&actor, rights).await
}
