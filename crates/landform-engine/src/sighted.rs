//! Objects as a source sees them: large ones stay text until they are looked at.
//!
//! A kind is listed as a whole, and its objects wait for those of other kinds. Decoded all at once, a few megabytes of them could
//! be more than there is memory, at every start anew.

use std::borrow::Cow;

use kube::Resource;
use kube::core::{ApiResource, DynamicObject, ObjectMeta};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::large::{LARGE_BYTES, decoded};

/// An object that was seen.
#[derive(Clone, Debug)]
pub(crate) enum Sighted {
    Small(Box<DynamicObject>),
    Large {
        metadata: Box<ObjectMeta>,
        text: Box<RawValue>,
    },
}

#[derive(Deserialize)]
struct OnlyMetadata {
    #[serde(default)]
    metadata: ObjectMeta,
}

impl Sighted {
    pub(crate) fn metadata(&self) -> &ObjectMeta {
        match self {
            Self::Small(object) => &object.metadata,
            Self::Large { metadata, .. } => metadata,
        }
    }

    pub(crate) fn is_large(&self) -> bool {
        matches!(self, Self::Large { .. })
    }

    /// The object, decoded. It should be let go before the next one is.
    pub(crate) fn object(&self) -> Cow<'_, DynamicObject> {
        match self {
            Self::Small(object) => Cow::Borrowed(object),
            Self::Large { metadata, text } => {
                // The text was read once, for its metadata.
                let object = decoded(text.get()).unwrap_or_else(|_| DynamicObject {
                    types: None,
                    metadata: (**metadata).clone(),
                    data: serde_json::Value::Null,
                });
                Cow::Owned(object)
            }
        }
    }

    pub(crate) fn into_object(self) -> Box<DynamicObject> {
        match self {
            Self::Small(object) => object,
            large @ Self::Large { .. } => Box::new(large.object().into_owned()),
        }
    }
}

impl From<Box<DynamicObject>> for Sighted {
    fn from(object: Box<DynamicObject>) -> Self {
        Self::Small(object)
    }
}

impl<'de> Deserialize<'de> for Sighted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let text = Box::<RawValue>::deserialize(deserializer)?;
        if text.get().len() <= LARGE_BYTES {
            let object = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
            return Ok(Self::Small(Box::new(object)));
        }
        let OnlyMetadata { metadata } =
            serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        Ok(Self::Large {
            metadata: Box::new(metadata),
            text,
        })
    }
}

/// What kube asks of the objects of a watcher.
impl Resource for Sighted {
    type DynamicType = ApiResource;
    type Scope = <DynamicObject as Resource>::Scope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        DynamicObject::kind(resource)
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        DynamicObject::group(resource)
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        DynamicObject::version(resource)
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        DynamicObject::plural(resource)
    }

    fn meta(&self) -> &ObjectMeta {
        self.metadata()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Small(object) => &mut object.metadata,
            Self::Large { metadata, .. } => metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::{ObjectList, WatchEvent};
    use serde_json::{Value, json};

    use super::*;

    fn object(name: &str, maps: usize) -> Value {
        json!({
            "apiVersion": "v1", "kind": "A", "metadata": {"name": name, "resourceVersion": "7"},
            "spec": {"list": vec![json!({"a": 1}); maps]},
        })
    }

    #[test]
    fn a_large_object_stays_text_in_lists_and_events_until_it_is_looked_at() {
        let (small, large) = (object("small", 3), object("large", 20_000));
        let list =
            json!({"apiVersion": "v1", "kind": "AList", "metadata": {}, "items": [small, large]});
        let list: ObjectList<Sighted> = serde_json::from_str(&list.to_string()).unwrap();
        let event = format!(r#"{{"type":"ADDED","object":{large}}}"#);
        let event: WatchEvent<Sighted> = serde_json::from_str(&event).unwrap();
        let WatchEvent::Added(event) = event else {
            panic!("{event:?}");
        };
        let [first, second] = list.items.as_slice() else {
            panic!("two are listed");
        };
        assert!(matches!(first, Sighted::Small(_)));
        for sighted in [second, &event] {
            assert!(matches!(sighted, Sighted::Large { .. }));
            assert_eq!(sighted.metadata().name.as_deref(), Some("large"));
            let expected: DynamicObject = serde_json::from_value(large.clone()).unwrap();
            assert_eq!(*sighted.object(), expected);
            assert_eq!(*sighted.clone().into_object(), expected);
        }
    }
}
