//! Words as messages need them.

use std::fmt::Display;

/// A number of things: `1 object`, `2 objects`. For nouns whose plural ends in `s`.
#[must_use]
pub fn counted(number: impl Display, noun: &str) -> String {
    let number = number.to_string();
    let plural = if number == "1" { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let told: Vec<_> = [0, 1, 2, 11].map(|at| counted(at, "object")).into();
        assert_eq!(told, ["0 objects", "1 object", "2 objects", "11 objects"]);
    }
}
