//! Small habits that are easier to keep when a test holds them.

use std::path::{Path, PathBuf};

use xtask::repository;

use crate::expect_none;

/// The longest source file that may be committed. Past 500 lines a file asks to be split.
const MAX_LINES: usize = 700;
/// Files that may be longer, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[(
    "crates/landform-schema/src/schema/tests.rs",
    "tables of cases, one after the other; there is nothing to understand between them",
)];

/// `path:line` of the lines that a predicate finds.
fn lines_with(files: &[(PathBuf, String)], found: impl Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    for (file, text) in files {
        let lines = text.lines().enumerate().filter(|(_, line)| found(line));
        findings.extend(
            lines.map(|(at, line)| format!("{}:{}: {}", file.display(), at + 1, line.trim())),
        );
    }
    findings
}

#[test]
fn every_source_file_says_what_it_is_for() {
    let silent = repository::texts("rs")
        .unwrap()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! "));
    let findings: Vec<_> = silent.map(|(file, _)| file.display().to_string()).collect();
    expect_none(&findings, "begin these files with a `//! ` line");
}

#[test]
fn no_source_file_is_too_long() {
    let excepted = |file: &Path| LONG_FILES.iter().any(|(name, _)| Path::new(name) == file);
    let mut findings = Vec::new();
    for (file, text) in repository::texts("rs").unwrap() {
        let lines = text.lines().count();
        if lines > MAX_LINES && !excepted(&file) {
            findings.push(format!("{}: {lines} lines", file.display()));
        }
    }
    expect_none(
        &findings,
        "split these files, or list them here with a reason",
    );
}

#[test]
fn nothing_is_left_to_do_or_ignored_without_a_reason() {
    let marks = [
        concat!("to", "do!("),
        concat!("#[ign", "ore]"),
        concat!("unimplem", "ented!("),
    ];
    let sources = repository::texts("rs").unwrap();
    let findings = lines_with(&sources, |line| {
        marks.iter().any(|mark| line.contains(mark))
    });
    expect_none(&findings, "finish these, or give the reason");
}

#[test]
fn no_path_or_host_of_a_machine_is_committed() {
    let folders = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];
    let hosts = [concat!("artif", "actory"), concat!("index.crates", ".io:")];
    let names_machine = |line: &str| {
        let at_start_of_path = |at: usize| {
            let before = line[..at].chars().next_back();
            before.is_none_or(|c| !c.is_alphanumeric() && !"./_-}".contains(c))
        };
        let folder = |folder: &&str| {
            line.match_indices(*folder)
                .any(|(at, _)| at_start_of_path(at))
        };
        folders.iter().any(folder) || hosts.iter().any(|host| line.contains(host))
    };
    let files = repository::files().unwrap();
    // Files that are no text (pictures) have no paths in them.
    let texts: Vec<_> = files
        .into_iter()
        .filter_map(|file| repository::read(&file).ok().map(|text| (file, text)))
        .collect();
    let findings = lines_with(&texts, names_machine);
    expect_none(&findings, "these lines are true on one machine only");
}

#[test]
fn locked_crates_come_from_the_public_index() {
    let text = repository::read(Path::new("Cargo.lock")).unwrap();
    let sources = text.lines().filter(|line| line.starts_with("source = "));
    let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let findings: Vec<_> = sources
        .filter(|line| *line != public)
        .map(str::to_owned)
        .collect();
    expect_none(&findings, "Cargo.lock names another source of crates");
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut findings = Vec::new();
    for (file, text) in repository::texts("md").unwrap() {
        let folder = repository::root()
            .join(&file)
            .parent()
            .map(Path::to_path_buf)
            .unwrap();
        for target in links(&text) {
            let path = target.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") && !folder.join(path).exists() {
                findings.push(format!("{}: {target}", file.display()));
            }
        }
    }
    expect_none(&findings, "these links lead nowhere");
}

/// The targets of `[text](target)` outside of code.
fn links(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if !in_code {
            let targets = line
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split(')').next());
            found.extend(targets.filter(|target| !target.starts_with("mailto:")));
        }
    }
    found
}
