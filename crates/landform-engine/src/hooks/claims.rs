//! Which of several Reconcilers may have a kind. Pure.

/// A Reconciler that wants a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) name: String,
    /// RFC 3339, UTC: later is greater.
    pub(crate) created: String,
    /// Whether it is being deleted.
    pub(crate) marked: bool,
    /// Whether it can't have the kind, whoever else wants it.
    pub(crate) refused: bool,
}

/// The one that may have the kind: the oldest that isn't being deleted or refused, and of several that are equally
/// old the first by name.
pub(crate) fn rightful(claims: &[Claim]) -> Option<&Claim> {
    let claims = claims
        .iter()
        .filter(|claim| !claim.marked && !claim.refused);
    claims.min_by_key(|claim| (&claim.created, &claim.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_keeps_the_kind() {
        let claim = |name: &str, second: u32, marked| Claim {
            name: name.into(),
            created: format!("2026-01-01T00:00:{second:02}Z"),
            marked,
            refused: name.starts_with("no-"),
        };
        let table = [
            (vec![], None),
            (vec![claim("a", 1, false)], Some("a")),
            (vec![claim("a", 2, false), claim("b", 1, false)], Some("b")),
            (vec![claim("a", 2, false), claim("b", 1, true)], Some("a")),
            (vec![claim("b", 1, false), claim("a", 1, false)], Some("a")),
            (vec![claim("a", 1, true)], None),
            (
                vec![claim("no-a", 1, false), claim("b", 2, false)],
                Some("b"),
            ),
        ];
        for (claims, expected) in table {
            let name = rightful(&claims).map(|claim| claim.name.as_str());
            assert_eq!(name, expected, "{claims:?}");
        }
    }
}
