//! Whose an object at the target is, and what that means for it.
//!
//! An object is this item's when its uid is in the item's inventory, or when it carries the item's mark:
//! an annotation with the item's uid, which is written in the same request that creates the object. The mark
//! of another item says that the object was taken over, and wins over the inventory. All other objects are somebody else's and are never written to, unless the manifest says so.

use kube::core::DynamicObject;

use super::configuration::Policy;

/// On each object: the name of its deploy item, as Landscaper has it.
pub(super) const LABEL_ITEM: &str = "manifest.deployer.landscaper.gardener.cloud/deployitem";
/// On each object: the uid of its deploy item.
pub const ANNOTATION_ITEM: &str = "landform.dev/deploy-item";
/// On a manifest, `"true"`: an object that exists and is somebody else's is taken over.
pub const ANNOTATION_ADOPT: &str = "landform.dev/adopt";

/// On a manifest and on the object: items whose objects have the same value here take them over from each
/// other. Versions of one operator do that.
pub const ANNOTATION_FAMILY: &str = "landform.dev/family";

/// Whose an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Absent,
    Ours,
    /// Somebody else's: whose, for people.
    Foreign(String),
}

/// What to do about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Create,
    Update,
    /// It is ours, and stays as it is.
    Leave,
    /// It isn't ours, and shall not be.
    LetGo,
    /// Nothing may be written: whose it is.
    Refuse(String),
}

/// Looks at the live object only; what is wanted says nothing about whose it is.
pub(super) fn standing(
    live: Option<&DynamicObject>,
    recorded_uid: Option<&str>,
    item_uid: &str,
    family: Option<&str>,
) -> Standing {
    let Some(live) = live else {
        return Standing::Absent;
    };
    let uid = live.metadata.uid.as_deref();
    let recorded = uid.is_some() && uid == recorded_uid;
    let related = family.is_some_and(|family| annotation(live, ANNOTATION_FAMILY) == Some(family));
    if related || is_marked(live, item_uid) || (recorded && !is_marked_by_another(live, item_uid)) {
        return Standing::Ours;
    }
    let label = live.metadata.labels.as_ref();
    let whose = match label.and_then(|labels| labels.get(LABEL_ITEM)) {
        Some(item) => format!("it belongs to a deploy item called {item}"),
        None => "it was made by somebody else".to_owned(),
    };
    Standing::Foreign(whose)
}

/// Whether an object carries the mark of an item.
pub(super) fn is_marked(live: &DynamicObject, item_uid: &str) -> bool {
    !item_uid.is_empty() && annotation(live, ANNOTATION_ITEM) == Some(item_uid)
}

fn annotation<'a>(object: &'a DynamicObject, key: &str) -> Option<&'a str> {
    let annotations = object.metadata.annotations.as_ref();
    annotations?.get(key).map(String::as_str)
}

/// Whether an object carries the mark of another item, which has taken it over.
pub(super) fn is_marked_by_another(live: &DynamicObject, item_uid: &str) -> bool {
    annotation(live, ANNOTATION_ITEM).is_some_and(|mark| mark != item_uid)
}

/// What a policy makes of an object's standing.
pub(super) fn verdict(policy: Policy, standing: Standing, adopt: bool) -> Verdict {
    let ours = match policy {
        Policy::Ignore => return Verdict::LetGo,
        Policy::Immutable => Verdict::Leave,
        Policy::Manage | Policy::Fallback | Policy::Keep => Verdict::Update,
    };
    match standing {
        Standing::Absent => Verdict::Create,
        Standing::Ours => ours,
        Standing::Foreign(_) if policy == Policy::Fallback => Verdict::LetGo,
        Standing::Foreign(_) if adopt => ours,
        Standing::Foreign(whose) => Verdict::Refuse(whose),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn live(metadata: Value) -> DynamicObject {
        serde_json::from_value(json!({"metadata": metadata})).unwrap()
    }

    #[test]
    fn an_object_is_ours_by_recorded_uid_or_mark() {
        let foreign = |text: &str| Standing::Foreign(text.into());
        let somebody = "it was made by somebody else";
        let other = "it belongs to a deploy item called web";
        let marked = |uid: &str| json!({"uid": "u", "annotations": {ANNOTATION_ITEM: uid}});
        for (what, metadata, recorded, expected) in [
            ("recorded", json!({"uid": "u"}), Some("u"), Standing::Ours),
            (
                "another uid",
                json!({"uid": "v"}),
                Some("u"),
                foreign(somebody),
            ),
            ("not recorded", json!({"uid": "u"}), None, foreign(somebody)),
            ("no uid at all", json!({}), None, foreign(somebody)),
            ("marked", marked("item"), None, Standing::Ours),
            (
                "marked by another item",
                marked("other"),
                None,
                foreign(somebody),
            ),
            (
                "recorded, and taken over by another item",
                marked("other"),
                Some("u"),
                foreign(somebody),
            ),
            (
                "only the label",
                json!({"uid": "u", "labels": {LABEL_ITEM: "web"}}),
                None,
                foreign(other),
            ),
        ] {
            let live = live(metadata);
            assert_eq!(
                standing(Some(&live), recorded, "item", None),
                expected,
                "{what}"
            );
        }
        assert_eq!(standing(None, Some("u"), "item", None), Standing::Absent);
    }

    #[test]
    fn an_object_of_the_family_is_ours_whoever_of_them_made_it() {
        let object = live(json!({"uid": "u", "annotations": {
            ANNOTATION_ITEM: "other", ANNOTATION_FAMILY: "default/etcd",
        }}));
        let stands = |family| standing(Some(&object), None, "item", family);
        assert_eq!(stands(Some("default/etcd")), Standing::Ours);
        assert!(matches!(
            stands(Some("default/other")),
            Standing::Foreign(_)
        ));
        assert!(matches!(stands(None), Standing::Foreign(_)));
    }

    #[test]
    fn each_policy_treats_each_standing_in_its_way() {
        let (absent, ours) = (Standing::Absent, Standing::Ours);
        let foreign = Standing::Foreign("x".into());
        let refuse = Verdict::Refuse("x".into());
        for (policy, standing, adopt, expected) in [
            (Policy::Manage, &absent, false, Verdict::Create),
            (Policy::Manage, &ours, false, Verdict::Update),
            (Policy::Manage, &foreign, false, refuse.clone()),
            (Policy::Manage, &foreign, true, Verdict::Update),
            (Policy::Fallback, &absent, false, Verdict::Create),
            (Policy::Fallback, &ours, false, Verdict::Update),
            (Policy::Fallback, &foreign, false, Verdict::LetGo),
            (Policy::Fallback, &foreign, true, Verdict::LetGo),
            (Policy::Keep, &absent, false, Verdict::Create),
            (Policy::Keep, &ours, false, Verdict::Update),
            (Policy::Keep, &foreign, false, refuse.clone()),
            (Policy::Immutable, &absent, false, Verdict::Create),
            (Policy::Immutable, &ours, false, Verdict::Leave),
            (Policy::Immutable, &foreign, false, refuse),
            (Policy::Immutable, &foreign, true, Verdict::Leave),
            (Policy::Ignore, &absent, false, Verdict::LetGo),
            (Policy::Ignore, &ours, false, Verdict::LetGo),
            (Policy::Ignore, &foreign, true, Verdict::LetGo),
        ] {
            let what = format!("{policy:?} {standing:?} {adopt}");
            assert_eq!(verdict(policy, standing.clone(), adopt), expected, "{what}");
        }
    }
}
