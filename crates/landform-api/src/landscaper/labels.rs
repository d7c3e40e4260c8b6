//! Names in labels. A label holds 63 characters of a few kinds, a name of a person is any text: what doesn't fit is a
//! hash in the label, and an annotation with the same key has the name.

use std::collections::BTreeMap;

use serde_json::Value;

use super::names;

/// The value of a label is no longer than this.
const LONGEST_VALUE: usize = 63;

/// A text as the value of a label: itself if it can be one, else a hash of it.
#[must_use]
pub fn value(text: &str) -> String {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let outer = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    let fits = text.len() <= LONGEST_VALUE
        && text.chars().all(inner)
        && outer(text.chars().next())
        && outer(text.chars().last());
    if fits {
        text.to_owned()
    } else {
        names::data_name(Some("label"), &format!("/{text}"))
    }
}

/// Writes a name into a label, and into the annotation of that key if the label can't hold it.
pub fn put(
    labels: &mut BTreeMap<String, String>,
    annotations: &mut BTreeMap<String, String>,
    key: &str,
    name: &str,
) {
    let value = value(name);
    if value == name {
        annotations.remove(key);
    } else {
        annotations.insert(key.to_owned(), name.to_owned());
    }
    labels.insert(key.to_owned(), value);
}

/// The name that [`put`] wrote.
#[must_use]
pub fn get<'a>(
    labels: &'a BTreeMap<String, String>,
    annotations: &'a BTreeMap<String, String>,
    key: &str,
) -> Option<&'a str> {
    let annotation = annotations.get(key).map(String::as_str);
    Some(meant(labels.get(key)?, annotation))
}

/// The name that [`put`] wrote into metadata.
#[must_use]
pub fn in_metadata<'a>(metadata: &'a Value, key: &str) -> Option<&'a str> {
    let label = metadata["labels"][key].as_str()?;
    Some(meant(label, metadata["annotations"][key].as_str()))
}

/// The label decides: an annotation that says something else doesn't count.
fn meant<'a>(label: &'a str, annotation: Option<&'a str>) -> &'a str {
    let annotation = annotation.filter(|name| value(name) == label);
    annotation.unwrap_or(label)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn i40_every_name_comes_back_from_a_label() {
        let long = "x".repeat(64);
        let names = [
            "", "a", "my_item", "My.Item", "-a", "a b", "ä", "a/b", &long,
        ];
        for name in names {
            let (mut labels, mut annotations) = (BTreeMap::new(), BTreeMap::new());
            put(&mut labels, &mut annotations, "k", name);
            assert_eq!(get(&labels, &annotations, "k"), Some(name));
            let held = &labels["k"];
            assert!(
                held.len() <= LONGEST_VALUE && value(held) == *held,
                "{held}"
            );
            let metadata = json!({"labels": labels, "annotations": annotations});
            assert_eq!(in_metadata(&metadata, "k"), Some(name));
            // A name that fits leaves nothing of the one before.
            put(&mut labels, &mut annotations, "k", "short");
            assert_eq!((labels["k"].as_str(), annotations.len()), ("short", 0));
        }
    }

    #[test]
    fn i40_an_annotation_that_says_something_else_does_not_count() {
        let of = |text: &str| BTreeMap::from([("k".to_owned(), text.to_owned())]);
        assert_eq!(get(&of("mine"), &of("another one"), "k"), Some("mine"));
        assert_eq!(get(&BTreeMap::new(), &of("another one"), "k"), None);
    }
}
