//! Names that follow from other names, so that whoever needs an object can compute what it is called.

use sha1::{Digest as _, Sha1};

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// What a generated name ends in, as in Kubernetes: five characters that form no words.
const SUFFIX: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
/// An object's name is no longer than this.
const LONGEST_NAME: usize = 253;
/// A generated name is no longer than this before its suffix: the whole fits into a label.
const LONGEST_PREFIX: usize = 58;
/// What can be read of a prefix in a name that is hashed.
const LONGEST_READABLE: usize = 30;

/// The Context of installations that name none.
pub const DEFAULT_CONTEXT: &str = "default";

/// The context that the children of an installation see.
#[must_use]
pub fn installation_context(installation: &str) -> String {
    format!("Inst.{installation}")
}

/// The context of what an execution exports.
#[must_use]
pub fn execution_context(execution: &str) -> String {
    format!("Exec.{execution}")
}

/// The name of the DataObject or Target that has a key in a context. At the root, where there is no
/// context, keys that can be names are names; a leading `#` also means that the rest is a name.
#[must_use]
pub fn data_name(context: Option<&str>, key: &str) -> String {
    match (key.strip_prefix('#'), context) {
        (Some(literal), _) => literal.to_owned(),
        (None, None) if can_be_a_name(key) => key.to_owned(),
        (None, context) => {
            let context = context.unwrap_or_default();
            base32(&Sha1::digest(format!("{context}/{key}")))
        }
    }
}

/// Whether an object can have this name: lower-case letters, digits, `-` and `.`, the last two only inside.
#[must_use]
pub fn can_be_a_name(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let labels = || text.split('.');
    text.len() <= LONGEST_NAME
        && labels().all(|label| {
            let bytes = label.as_bytes();
            let ends = bytes.first().zip(bytes.last());
            ends.is_some_and(|(first, last)| alphanumeric(*first) && alphanumeric(*last))
                && bytes
                    .iter()
                    .all(|byte| alphanumeric(*byte) || *byte == b'-')
        })
}

/// The key of one target of an imported map (or list) in the context of what is nested in the importer.
#[must_use]
pub fn element_key(import: &str, element: &str) -> String {
    format!("{import}[{element}]")
}

/// The import and the element that a key of [`element_key`]'s form names.
#[must_use]
pub fn element_of(key: &str) -> Option<(&str, &str)> {
    key.strip_suffix(']')?.split_once('[')
}

/// The Secret with what a deploy item exports.
#[must_use]
pub fn export_secret(deploy_item: &str) -> String {
    secret_of_item(format!("{deploy_item}-export"))
}

/// A hash of what an export Secret holds. Its deployer notes it there, so that an edited Secret is told from one that is as it was
/// written.
#[must_use]
pub fn export_hash<'a>(data: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> String {
    let mut all = Sha1::new();
    for (key, value) in data {
        all.update(format!("{}/{key}/{}/", key.len(), value.len()));
        all.update(value);
    }
    base32(&all.finalize())
}

/// The Secret with what a deploy item's command was started with, if anything of it is secret.
#[must_use]
pub fn command_secret(deploy_item: &str) -> String {
    secret_of_item(format!("{deploy_item}-command"))
}

fn secret_of_item(name: String) -> String {
    if name.len() <= LONGEST_NAME {
        name
    } else {
        base32(&Sha1::digest(name))
    }
}

/// The Secret with the whole value of a DataObject, or the configuration of a Target, that has secret parts. The owner is that of
/// both.
#[must_use]
pub fn data_secret(object: &str, owner_uid: &str) -> String {
    generated(&format!("{object}-"), owner_uid, &format!("data/{object}"))
}

/// The Secret with the configuration of an installation's deploy item, if anything in it is secret.
#[must_use]
pub fn item_secret(item: &str, installation_uid: &str) -> String {
    generated(
        &format!("{item}-config-"),
        installation_uid,
        &format!("item/{item}"),
    )
}

/// The Secret with the state of an installation's templates, if anything in it is secret.
#[must_use]
pub fn state_secret(installation_uid: &str) -> String {
    generated("template-state-", installation_uid, "state")
}

/// The name of an object that another one generates: it looks like one made from `generateName`, and is
/// the same whenever it is computed, so that an object can't be made twice. With a prefix that no name can begin with,
/// or that must be cut, all of it is hashed: what can be read of it doesn't tell two such names apart.
#[must_use]
pub fn generated(prefix: &str, owner_uid: &str, part: &str) -> String {
    let hash = Sha1::digest(format!("{owner_uid}/{part}"));
    if prefix.len() > LONGEST_PREFIX || !can_be_a_name(&format!("{prefix}x")) {
        let hash = base32(&hash);
        return match readable(prefix) {
            text if text.is_empty() => hash,
            text => format!("{text}-{hash}"),
        };
    }
    let number = hash
        .iter()
        .take(8)
        .fold(0_u64, |all, byte| (all << 8) | u64::from(*byte));
    let mut name = prefix.to_owned();
    let base = SUFFIX.len() as u64;
    let mut rest = number;
    for _ in 0..SUFFIX_LENGTH {
        name.push(char::from(
            SUFFIX[usize::try_from(rest % base).unwrap_or(0)],
        ));
        rest /= base;
    }
    name
}

/// The beginning of a text in letters, digits and single dashes.
fn readable(text: &str) -> String {
    let mut readable = String::new();
    for character in text.chars() {
        match character.to_ascii_lowercase() {
            letter if letter.is_ascii_alphanumeric() => readable.push(letter),
            _ if readable.is_empty() || readable.ends_with('-') => {}
            _ => readable.push('-'),
        }
        if readable.len() == LONGEST_READABLE {
            break;
        }
    }
    readable.trim_end_matches('-').to_owned()
}

/// Lower case, without padding.
fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 8 / 5 + 1);
    let (mut buffer, mut bits) = (0_u32, 0_u32);
    for byte in bytes {
        buffer = (buffer << 8) | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(BASE32[((buffer >> bits) & 31) as usize]));
        }
        buffer &= (1 << bits) - 1;
    }
    if bits > 0 {
        text.push(char::from(BASE32[((buffer << (5 - bits)) & 31) as usize]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base32_is_that_of_rfc_4648_in_lower_case_without_padding() {
        for (bytes, text) in [
            ("", ""),
            ("f", "my"),
            ("fo", "mzxq"),
            ("foobar", "mzxw6ytboi"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn i40_a_key_is_a_name_at_the_root_and_a_hash_in_a_context() {
        assert_eq!(data_name(None, "db"), "db");
        assert_eq!(data_name(Some("Inst.a"), "#db"), "db");
        let hashed = data_name(Some("Inst.a"), "db");
        assert_eq!(hashed.len(), 32);
        assert_ne!(hashed, data_name(Some("Inst.b"), "db"));
        assert_ne!(hashed, data_name(Some("Inst.a"), "dc"));
    }

    #[test]
    fn i40_a_key_at_the_root_that_can_be_no_name_is_hashed_as_in_landscaper() {
        // The hash of `/myIngressClass`: the context of the root is empty.
        for (key, name) in [
            ("myIngressClass", "dole6tby5kerlxruq2n2efxiql6onp3h"),
            ("my_data", "7oj474dk5hwcxrizf3xqtnjiggumh3bv"),
        ] {
            assert_eq!(data_name(None, key), name);
        }
        for key in ["a", "a-b.c", "0", "my-data", "x.y.z"] {
            assert_eq!(data_name(None, key), key);
        }
        for key in [
            "A", "a_b", "-a", "a-", ".a", "a.", "a..b", "a b", "ä", "", "x[y]",
        ] {
            assert_eq!(data_name(None, key).len(), 32, "{key:?}");
        }
        assert_eq!(data_name(None, "#my-data"), "my-data");
        assert_eq!(data_name(None, &"a".repeat(254)).len(), 32);
    }

    #[test]
    fn elements_of_maps_have_keys_of_their_own() {
        assert_eq!(element_key("clusters", "red"), "clusters[red]");
        assert_eq!(element_of("clusters[red]"), Some(("clusters", "red")));
        assert_eq!(element_of("clusters"), None);
        assert_eq!(element_of("clusters]"), None);
    }

    #[test]
    fn generated_names_are_stable_and_fit_into_a_label() {
        let name = generated("exec-item-", "uid-1", "item");
        assert_eq!(name, generated("exec-item-", "uid-1", "item"));
        assert_ne!(name, generated("exec-item-", "uid-2", "item"));
        assert!(name.starts_with("exec-item-") && name.len() == 15, "{name}");
        assert!(generated(&"x".repeat(200), "u", "p").len() <= 63);
    }

    #[test]
    fn i15_a_generated_name_is_one_whatever_it_is_made_from() {
        let long = format!("{}.-", "x".repeat(57));
        let prefixes = [
            "my_item-", "My-", "-", "", "_", "ä-", "a b/c-", "a..b-", "a.-", &long,
        ];
        for prefix in prefixes {
            let name = generated(prefix, "uid", prefix);
            assert!(can_be_a_name(&name) && name.len() <= 63, "{prefix}: {name}");
            let other = generated(prefix, "uid", "other");
            assert_ne!(name, other, "{prefix}");
        }
        let name = generated("exec-my_Item-", "uid", "my_Item");
        assert!(name.starts_with("exec-my-item-"), "{name}");
        // Nothing of the prefix tells these apart, so the rest must: five characters would be too few for many.
        assert_eq!(generated(&long, "uid", "a").len(), 63);
    }

    #[test]
    fn e12_the_secret_of_the_longest_name_has_one_too() {
        assert_eq!(export_secret("item"), "item-export");
        let long = export_secret(&"x".repeat(253));
        assert!(can_be_a_name(&long) && long != export_secret(&"x".repeat(252)));
    }
}
