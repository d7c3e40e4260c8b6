//! Which names in a directory are none of a project's.

/// What `spec.ignore` of a project names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ignore {
    patterns: Vec<Vec<String>>,
}

impl Ignore {
    pub(crate) fn new(patterns: &[String]) -> Self {
        let patterns = patterns.iter().map(|pattern| {
            let parts = pattern.split('/');
            let parts = parts.filter(|part| !part.is_empty() && *part != ".");
            parts.map(ToOwned::to_owned).collect()
        });
        Self {
            patterns: patterns
                .filter(|parts: &Vec<_>| !parts.is_empty())
                .collect(),
        }
    }

    /// Whether a path, relative to the project's directory, is ignored. A pattern without a slash is a name
    /// that may stand anywhere.
    pub(crate) fn covers(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        let Some(name) = parts.last() else {
            return false;
        };
        self.patterns
            .iter()
            .any(|pattern| match pattern.as_slice() {
                [one] if one != "**" => name_matches(one, name),
                pattern => path_matches(pattern, &parts),
            })
    }
}

fn path_matches(pattern: &[String], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some((first, rest)), _) if first == "**" => {
            (0..=path.len()).any(|skipped| path_matches(rest, &path[skipped..]))
        }
        (Some(_), None) => false,
        (Some((first, rest)), Some((name, names))) => {
            name_matches(first, name) && path_matches(rest, names)
        }
    }
}

/// `*` stands for any characters of one name. Two cursors: no pattern takes more than length times length.
fn name_matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p, n));
            p += 1;
        } else if pattern.get(p) == name.get(n) {
            p += 1;
            n += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            n = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths_are_matched() {
        let table = [
            ("target", "target", true),
            ("target", "a/target", true),
            ("target", "target2", false),
            ("*.json", "a/b.json", true),
            ("a/*.json", "a/b.json", true),
            ("a/*.json", "a/c/b.json", false),
            ("a/**", "a/c/b.json", true),
            ("**/b.json", "a/c/b.json", true),
            ("**/b.json", "b.json", true),
            ("./a/", "a", true),
            ("/a/b", "a/b", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("", "a", false),
        ];
        for (pattern, path, covered) in table {
            let ignore = Ignore::new(&[pattern.to_owned()]);
            assert_eq!(ignore.covers(path), covered, "{pattern:?} on {path:?}");
        }
    }
}
