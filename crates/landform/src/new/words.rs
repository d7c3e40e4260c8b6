//! What something new is called in its files.

use crate::AnyError;
use crate::exit::misused;

/// The longest name: those that are made from it must be names, too.
const LONGEST: usize = 40;

/// A name, and the words that follow from it.
#[derive(Debug)]
pub(crate) struct Words {
    name: String,
    kind: String,
    singular: String,
    plural: String,
}

impl Words {
    /// Checks the name first: objects will be called like that.
    pub(crate) fn of(name: &str) -> Result<Self, AnyError> {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        if !begins || name.ends_with('-') || !name.chars().all(fits) || name.len() > LONGEST {
            return misused(format!(
                "{name:?} can't be a name: write at most {LONGEST} lower case letters, digits and `-`, with a letter first"
            ));
        }
        let kind: String = name.split('-').map(capital).collect();
        let singular = kind.to_lowercase();
        Ok(Self {
            plural: plural(&singular),
            name: name.to_owned(),
            singular,
            kind,
        })
    }

    /// A text with the words in their places.
    pub(crate) fn put_into(&self, text: &str) -> String {
        text.replace("@NAME@", &self.name)
            .replace("@KIND@", &self.kind)
            .replace("@SINGULAR@", &self.singular)
            .replace("@PLURAL@", &self.plural)
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// As English has it, nearly: a word that it gets wrong can be changed in the files.
fn plural(singular: &str) -> String {
    let hisses = ["s", "x", "ch", "sh"]
        .iter()
        .any(|end| singular.ends_with(end));
    match singular.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if hisses => format!("{singular}es"),
        _ => format!("{singular}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_plurals_follow_from_a_name() {
        for (name, words) in [
            ("recipe", "recipe Recipe recipe recipes"),
            (
                "shopping-list",
                "shopping-list ShoppingList shoppinglist shoppinglists",
            ),
            ("policy", "policy Policy policy policies"),
            ("box2-x", "box2-x Box2X box2x box2xes"),
        ] {
            let found = Words::of(name).unwrap();
            let found = found.put_into("@NAME@ @KIND@ @SINGULAR@ @PLURAL@");
            assert_eq!(found, words);
        }
    }

    #[test]
    fn names_that_no_object_can_have_are_refused() {
        for name in ["", "Shop", "1st", "a_b", "a-", "-a", "ä", &"x".repeat(41)] {
            assert!(Words::of(name).is_err(), "{name}");
        }
    }
}
