//! `cargo xtask rules`: which test proves which rule, from the names of the tests.
//!
//! `docs/rules.toml` holds the ids. A test proves a rule when its name begins with the rule's id in
//! lower case (`g7_removes_the_finalizer`, `g6_g7_…` for both), and so does a scenario file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{Outcome, repository, say, sources};

const LIST: &str = "docs/rules.toml";
/// The file that this command writes.
pub const TABLE: &str = "docs/rules.md";

/// A section of the list, with its rules in order.
struct Section {
    title: String,
    rules: Vec<(String, String)>,
}

/// Writes the table anew.
///
/// # Errors
/// When the list is malformed or a file can't be read or written.
pub fn run() -> Outcome {
    let path = repository::root().join(TABLE);
    std::fs::write(&path, table()?).map_err(|error| format!("can't write {TABLE}: {error}"))?;
    say(&format!("wrote {TABLE}"));
    Ok(())
}

/// The table as it should be.
///
/// # Errors
/// When the list is malformed or the sources can't be read.
pub fn table() -> Outcome<String> {
    let sections = parse(&repository::read(Path::new(LIST))?)?;
    let mut proofs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let tests = sources::tests()?
        .into_iter()
        .map(|test| (test.name.clone(), test.path()));
    for (name, path) in tests.chain(scenarios()?) {
        for id in ids(&name) {
            proofs.entry(id).or_default().push(path.clone());
        }
    }
    Ok(render(&sections, &proofs))
}

/// Reads `[title]` and `ID = "text"` lines: all of TOML that the list needs.
fn parse(text: &str) -> Outcome<Vec<Section>> {
    let mut sections: Vec<Section> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let malformed = || {
            format!(
                "{LIST}, line {}: write [\"title\"] or ID = \"text\"",
                at + 1
            )
        };
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(title) = line
            .strip_prefix("[\"")
            .and_then(|rest| rest.strip_suffix("\"]"))
        {
            sections.push(Section {
                title: title.to_owned(),
                rules: Vec::new(),
            });
            continue;
        }
        let (id, text) = line.split_once(" = ").ok_or_else(malformed)?;
        let text = text
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        let rule = (id.to_owned(), text.ok_or_else(malformed)?.to_owned());
        sections.last_mut().ok_or_else(malformed)?.rules.push(rule);
    }
    Ok(sections)
}

/// The scenario files of the simulator: name without ending, and path.
fn scenarios() -> Outcome<Vec<(String, String)>> {
    let is_scenario = |file: &PathBuf| file.iter().any(|part| part == "scenarios");
    let files = repository::files()?.into_iter().filter(is_scenario);
    Ok(files
        .filter_map(|file| {
            Some((
                file.file_stem()?.to_str()?.to_owned(),
                file.display().to_string(),
            ))
        })
        .collect())
}

/// The ids that a name begins with: `i14b_` is I14b, `g6_g7_` is G6 and G7.
fn ids(name: &str) -> Vec<String> {
    name.split('_').map_while(id).collect()
}

fn id(word: &str) -> Option<String> {
    let (letter, number) = word.split_at_checked(1)?;
    let digits = number.strip_suffix('b').unwrap_or(number);
    let number_ok = !digits.is_empty()
        && !digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    ("cgrieo".contains(letter) && number_ok).then(|| letter.to_uppercase() + number)
}

fn render(sections: &[Section], proofs: &BTreeMap<String, Vec<String>>) -> String {
    let all: Vec<_> = sections.iter().flat_map(|section| &section.rules).collect();
    let proven = all.iter().filter(|(id, _)| proofs.contains_key(id)).count();
    let mut out = format!(
        "# Rules and their tests\n\n\
         Written by `cargo xtask rules` from `docs/rules.toml` and the names of the tests: don't edit.\n\
         A test proves a rule when its name begins with the rule's id in lower case.\n\n\
         {proven} of {} rules have a test; **hole** marks the others.\n",
        all.len()
    );
    for section in sections {
        out += &format!(
            "\n## {}\n\n| rule | what it says | tests |\n| --- | --- | --- |\n",
            section.title
        );
        for (id, text) in &section.rules {
            let tests = proofs.get(id).map(|paths| {
                paths
                    .iter()
                    .map(|path| format!("`{path}`"))
                    .collect::<Vec<_>>()
                    .join("<br>")
            });
            out += &format!(
                "| {id} | {text} | {} |\n",
                tests.unwrap_or("**hole**".to_owned())
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{ids, parse};

    #[test]
    fn names_of_tests_give_ids() {
        let table: [(&str, &[&str]); 7] = [
            ("g7_removes_the_finalizer", &["G7"]),
            ("g6_g7_both", &["G6", "G7"]),
            ("i14b_nested", &["I14b"]),
            ("e2e_works", &[]),
            ("g07_zero_in_front", &[]),
            ("plain_name", &[]),
            ("c1", &["C1"]),
        ];
        for (name, expected) in table {
            assert_eq!(ids(name), expected, "for {name}");
        }
    }

    #[test]
    fn a_malformed_list_names_the_line() {
        let error = parse("[\"A\"]\nC1 = \"x\"\nnonsense\n").err();
        assert!(error.is_some_and(|error| error.contains("line 3")));
    }
}
