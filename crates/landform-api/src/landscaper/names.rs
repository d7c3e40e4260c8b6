//! Names that follow from other names, so that whoever needs an object can compute what it is called.

use sha1::{Digest as _, Sha1};

const BASE32: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
/// What a generated name ends in, as in Kubernetes: five characters that form no words.
const SUFFIX: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;
/// A generated name is no longer than this before its suffix.
const LONGEST_PREFIX: usize = 58;

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
/// context, keys are names; a leading `#` also means that the rest is a name.
#[must_use]
pub fn data_name(context: Option<&str>, key: &str) -> String {
    match (key.strip_prefix('#'), context) {
        (Some(literal), _) => literal.to_owned(),
        (None, None) => key.to_owned(),
        (None, Some(context)) => base32(&Sha1::digest(format!("{context}/{key}"))),
    }
}

/// The Secret with what a deploy item exports.
#[must_use]
pub fn export_secret(deploy_item: &str) -> String {
    format!("{deploy_item}-export")
}

/// The name of an object that another one generates: it looks like one made from `generateName`, and is
/// the same whenever it is computed, so that an object can't be made twice.
#[must_use]
pub fn generated(prefix: &str, owner_uid: &str, part: &str) -> String {
    let hash = Sha1::digest(format!("{owner_uid}/{part}"));
    let number = hash
        .iter()
        .take(8)
        .fold(0_u64, |all, byte| (all << 8) | u64::from(*byte));
    let mut name: String = prefix.chars().take(LONGEST_PREFIX).collect();
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
    fn generated_names_are_stable_and_fit_into_a_label() {
        let name = generated("exec-item-", "uid-1", "item");
        assert_eq!(name, generated("exec-item-", "uid-1", "item"));
        assert_ne!(name, generated("exec-item-", "uid-2", "item"));
        assert!(name.starts_with("exec-item-") && name.len() == 15, "{name}");
        assert!(generated(&"x".repeat(200), "u", "p").len() <= 63);
    }
}
