//! What a person should know after an import: on the terminal, and in a page beside the files.

use std::fmt::Write as _;
use std::path::Path;

use super::source::{Source, Weight};

const WEIGHTS: [(Weight, &str); 3] = [
    (Weight::ToDo, "Left to do"),
    (Weight::Differs, "Works differently here"),
    (Weight::NoEffect, "Has no effect here"),
];

/// The page.
pub(crate) fn page(source: &Source) -> String {
    let file = source.file.display();
    let mut page = format!("# Imported from {file}\n");
    let notes = source.notes();
    if notes.is_empty() {
        page.push_str("\nEverything was taken over as it is.\n");
    }
    for (weight, title) in WEIGHTS {
        let mut notes = notes.iter().filter(|note| note.weight == weight).peekable();
        if notes.peek().is_some() {
            let _ = write!(page, "\n## {title}\n\n");
        }
        for note in notes {
            let _ = writeln!(page, "- {}: {}", source.shown(note.place), note.text);
        }
    }
    page
}

/// What is printed: what is left to do, and how much else there is to know.
pub(crate) fn summary(source: &Source, directory: &Path) -> String {
    let notes = source.notes();
    let mut text = String::new();
    let (to_do, others): (Vec<_>, Vec<_>) =
        notes.iter().partition(|note| note.weight == Weight::ToDo);
    if !to_do.is_empty() {
        text.push_str("\nLeft to do:\n");
    }
    for note in to_do {
        let _ = writeln!(text, "  {}: {}", source.shown(note.place), note.text);
    }
    let shown = directory.display();
    if !others.is_empty() {
        let _ = write!(
            text,
            "\nWhat works differently here, or has no effect ({}), is in {shown}/{}.\n",
            others.len(),
            super::write::REPORT
        );
    }
    let _ = write!(text, "\nNext: landform up {shown}\n");
    text
}
