//! What imports give: values, and what may be shown of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::core::DynamicObject;
use landform_api::landscaper::report::ObjectName;
use landform_blueprint::MASK;
use landform_engine::{Context, Failure};
use serde_json::Value;

use crate::landscape::facts::{self, Given};
use crate::landscape::kept::{self, Whole};
use crate::landscape::objects::Objects;

/// What an import gives. Only an update needs a copy of it.
pub(super) enum Content {
    /// The data of a DataObject, which stays where it is.
    Data(Arc<DynamicObject>),
    Made(Value),
    /// All of it is secret.
    Secret(Value),
    /// Parts of it are secret; the second one shows the rest.
    Guarded(Value, Value),
}

impl Content {
    pub(super) fn value(&self) -> &Value {
        match self {
            Self::Data(object) => &object.data["data"],
            Self::Made(value) | Self::Secret(value) | Self::Guarded(value, _) => value,
        }
    }

    /// Targets, and what may be shown of them.
    pub(super) fn of_target((value, shown): (Value, Value)) -> Self {
        if value == shown {
            Self::Made(value)
        } else {
            Self::Guarded(value, shown)
        }
    }

    /// What may be shown of it, if that isn't all.
    pub(super) fn shown(&self) -> Option<Value> {
        match self {
            Self::Data(_) | Self::Made(_) => None,
            Self::Secret(_) => Some(Value::from(MASK)),
            Self::Guarded(_, shown) => Some(shown.clone()),
        }
    }
}

/// Reads what imported objects keep in Secrets.
pub(super) async fn whole(
    context: &Context,
    objects: &Objects,
    fresh: &BTreeMap<Given, Option<Arc<DynamicObject>>>,
) -> Result<BTreeMap<Given, Whole>, Failure> {
    let mut all: BTreeMap<Given, Arc<DynamicObject>> = BTreeMap::new();
    for found in context.refs() {
        let reference = &found.reference;
        let given = facts::given_of(&ObjectName {
            kind: reference.kind.kind.clone(),
            name: reference.name.clone(),
            ..ObjectName::default()
        });
        if let Some((given, object)) = given.zip(found.object.clone()) {
            all.insert(given, object);
        }
    }
    let fresh = fresh.iter();
    all.extend(fresh.filter_map(|(given, found)| Some((given.clone(), found.clone()?))));
    let mut whole = BTreeMap::new();
    for (given, object) in all {
        let kind = given.kind.word();
        if kept::reference_of(kind, &object).is_some() {
            let found = kept::whole(context, objects, kind, &object).await?;
            whole.insert(given, found);
        }
    }
    Ok(whole)
}
