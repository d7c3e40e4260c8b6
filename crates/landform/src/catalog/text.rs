//! Answers as text for people.

use std::fmt::Write as _;

use landform_api::words::counted;
use landform_catalog::describe::{Explained, List, Path, Problems, Shown, ShownVersion, Stop};

/// A table, columns as wide as they must be.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    let head: Vec<String> = head.iter().map(|cell| (*cell).to_owned()).collect();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            let _ = write!(line, "{cell:width$}   ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn or_dash(text: Option<&String>) -> String {
    text.cloned().unwrap_or_else(|| "-".to_owned())
}

pub(super) fn list(list: &List) -> String {
    if list.packages.is_empty() {
        return "There are no such packages.\n".to_owned();
    }
    let rows: Vec<Vec<String>> = list
        .packages
        .iter()
        .map(|line| {
            let remark = match (&line.blocked, &line.deprecation) {
                (Some(blocked), _) => blocked.clone(),
                (None, Some(deprecation)) => format!("deprecated: {}", one_line(deprecation)),
                (None, None) => String::new(),
            };
            vec![
                line.name.clone(),
                or_dash(line.default_channel.as_ref()),
                or_dash(line.head.as_ref()),
                line.versions.to_string(),
                or_dash(line.catalog.as_ref()),
                remark,
            ]
        })
        .collect();
    table(
        &["PACKAGE", "CHANNEL", "HEAD", "VERSIONS", "CATALOG", ""],
        &rows,
    )
}

pub(super) fn show(shown: &Shown) -> String {
    let mut text = format!("{} (from {})\n", shown.name, shown.catalog);
    if let Some(deprecation) = &shown.deprecation {
        let _ = writeln!(text, "deprecated: {}", one_line(deprecation));
    }
    text.push_str("\nChannels\n");
    let rows: Vec<Vec<String>> = shown
        .channels
        .iter()
        .map(|channel| {
            let mut remarks = Vec::new();
            if shown.default_channel.as_ref() == Some(&channel.name) {
                remarks.push("default".to_owned());
            }
            if !channel.other_heads.is_empty() {
                remarks.push(format!(
                    "nothing replaces {} either",
                    channel.other_heads.join(", ")
                ));
            }
            if let Some(deprecation) = &channel.deprecation {
                remarks.push(format!("deprecated: {}", one_line(deprecation)));
            }
            vec![
                format!("  {}", channel.name),
                or_dash(channel.head.as_ref()),
                channel.entries.len().to_string(),
                remarks.join("; "),
            ]
        })
        .collect();
    text.push_str(&table(&["  NAME", "HEAD", "VERSIONS", ""], &rows));
    text.push_str("\nVersions\n");
    let rows: Vec<Vec<String>> = shown
        .versions
        .iter()
        .map(|version| {
            let remarks = match &version.deprecation {
                Some(deprecation) => format!("deprecated: {}", one_line(deprecation)),
                None => String::new(),
            };
            vec![
                format!("  {}", version.version),
                version.name.clone(),
                version.channels.join(", "),
                if version.installable { "yes" } else { "no" }.to_owned(),
                remarks,
            ]
        })
        .collect();
    text.push_str(&table(
        &["  VERSION", "NAME", "CHANNELS", "INSTALLABLE", ""],
        &rows,
    ));
    // What the highest version has; older ones are in the other forms of output.
    if let Some(version) = shown.versions.first() {
        text.push_str(&details(version));
    }
    if !shown.problems.is_empty() {
        text.push_str("\nProblems\n");
        for problem in &shown.problems {
            let word = if problem.warning { "warning" } else { "error" };
            let _ = writeln!(text, "  {word}: {}: {}", problem.file, problem.reason);
        }
    }
    text
}

fn details(version: &ShownVersion) -> String {
    let mut text = format!("\nThe highest version, {}\n", version.version);
    let lists = [
        ("brings", &version.owned),
        ("needs the kinds", &version.required),
        ("needs the packages", &version.packages),
    ];
    for (word, items) in lists.into_iter().filter(|(_, items)| !items.is_empty()) {
        let _ = writeln!(text, "  {word}: {}", items.join(", "));
    }
    if let Some(server) = &version.min_server_version {
        let _ = writeln!(text, "  needs a server of version {server} or higher");
    }
    if let Some(reason) = &version.not_installable {
        let _ = writeln!(text, "  can't be installed: {reason}");
    }
    text
}

pub(super) fn problems(found: &Problems, quiet: bool) -> String {
    let mut text = String::new();
    for problem in found
        .problems
        .iter()
        .filter(|problem| !(quiet && problem.warning))
    {
        let word = if problem.warning { "warning" } else { "error" };
        let mut place = problem.file.clone();
        if !problem.package.is_empty() {
            let _ = write!(place, " ({})", problem.package);
        }
        let _ = writeln!(text, "{word}: {}: {}", place.trim_start(), problem.reason);
    }
    let _ = writeln!(
        text,
        "{}, {}: {}, {}.",
        counted(found.packages, "package"),
        counted(found.versions, "version"),
        counted(found.errors, "error"),
        counted(found.warnings, "warning"),
    );
    text
}

pub(super) fn path(found: &Path) -> String {
    let steps = found.path.len().saturating_sub(1);
    let mut text = stops(&found.path);
    let _ = writeln!(text, "{}.", counted(steps, "step"));
    text
}

fn stops(path: &[Stop]) -> String {
    let mut text = String::new();
    for (number, stop) in path.iter().enumerate() {
        let arrow = if number == 0 { "  " } else { "→ " };
        let _ = write!(text, "{arrow}{}", stop.version);
        if stop.name.is_empty() {
            text.push_str(" (not in the catalog)");
        } else {
            let _ = write!(text, " ({})", stop.name);
        }
        if let Some(deprecation) = &stop.deprecation {
            let _ = write!(text, " deprecated: {}", one_line(deprecation));
        }
        text.push('\n');
    }
    text
}

pub(super) fn explain(found: &Explained) -> String {
    let mut text = String::new();
    if !found.possible {
        let _ = writeln!(
            text,
            "{} can't be had as asked. All of this together is why:",
            found.package
        );
        for fact in &found.facts {
            let _ = writeln!(text, "  - {fact}.");
        }
        if !found.fixes.is_empty() {
            text.push_str("Any of these would help:\n");
            for fix in &found.fixes {
                let _ = writeln!(text, "  - {fix}.");
            }
        }
        return text;
    }
    let rows: Vec<Vec<String>> = found
        .chosen
        .iter()
        .map(|chosen| {
            vec![
                chosen.package.clone(),
                chosen.version.clone(),
                or_dash(chosen.channel.as_ref()),
                or_dash(chosen.catalog.as_ref()),
                chosen.because.clone(),
            ]
        })
        .collect();
    text.push_str(&table(
        &["PACKAGE", "VERSION", "CHANNEL", "CATALOG", "WHY"],
        &rows,
    ));
    if found.path.len() > 1 {
        text.push_str("\nThe way there:\n");
        text.push_str(&stops(&found.path));
    }
    if !found.notes.is_empty() {
        text.push_str("\nGood to know:\n");
        for note in &found.notes {
            let _ = writeln!(text, "  - {}", one_line(note));
        }
    }
    text
}

/// Messages of catalogs may have several lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
