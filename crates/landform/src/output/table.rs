//! Columns: laid out, in colours by phase, as the server's Table form gives them or made here.

use serde_json::Value;

use super::color::{Paint, Tone};
use super::harmless::one_line;

/// Asks the server for rows and columns, as kubectl does; a plain list where it can't.
pub(crate) const ACCEPT: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// Rows below titles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) titles: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(titles: &[&str]) -> Self {
        Self {
            titles: titles.iter().map(|title| (*title).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    /// How wide each column is.
    pub(crate) fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.titles.iter().map(|title| length(title)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(length(&plain(cell)));
            }
        }
        widths
    }

    /// Titles and rows as text.
    pub(crate) fn text(&self, paint: Paint) -> String {
        let widths = self.widths();
        let titles = line(&self.titles, &widths, |text| paint.tone(Tone::Bold, text));
        titles + &self.lines(&widths, paint)
    }

    /// The rows alone, with columns of a given width.
    pub(crate) fn lines(&self, widths: &[usize], paint: Paint) -> String {
        let rows = self.rows.iter();
        rows.map(|row| line(row, widths, |text| paint.phase(text)))
            .collect()
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn line(cells: &[String], widths: &[usize], show: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    for (at, cell) in cells.iter().enumerate() {
        // A cell is one line whatever is in it.
        let cell = plain(cell);
        text.push_str(&show(&cell));
        if at + 1 < cells.len() {
            let width = widths.get(at).copied().unwrap_or_default();
            let pad = width.saturating_sub(length(&cell)) + 3;
            text.push_str(&" ".repeat(pad));
        }
    }
    let end = text.trim_end().len();
    text.truncate(end);
    text.push('\n');
    text
}

/// What is shown of a server's table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown<'a> {
    /// Also columns of little weight.
    pub(crate) wide: bool,
    /// The namespace in front.
    pub(crate) namespaces: bool,
    /// The kind before each name; empty when it goes without saying.
    pub(crate) kind: &'a str,
}

/// The server's table as one of ours; `None` when it is none.
pub(crate) fn of_server(answer: &Value, shown: Shown<'_>) -> Option<Table> {
    if answer["kind"] != "Table" {
        return None;
    }
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let definitions = list(&answer["columnDefinitions"]);
    let keep: Vec<bool> = definitions
        .iter()
        .map(|column| shown.wide || column["priority"].as_i64().unwrap_or(0) == 0)
        .collect();
    let mut table = Table::default();
    if shown.namespaces {
        table.titles.push("NAMESPACE".to_owned());
    }
    let names = definitions.iter().zip(&keep).filter(|(_, keep)| **keep);
    let titles = names.map(|(column, _)| column["name"].as_str().unwrap_or_default());
    table.titles.extend(titles.map(str::to_uppercase));
    for row in list(&answer["rows"]) {
        let mut cells = Vec::new();
        if shown.namespaces {
            let namespace = row["object"]["metadata"]["namespace"].as_str();
            cells.push(namespace.unwrap_or_default().to_owned());
        }
        for ((at, cell), keep) in list(&row["cells"]).iter().enumerate().zip(&keep) {
            if !keep {
                continue;
            }
            let text = cell_text(cell);
            cells.push(if at == 0 && !shown.kind.is_empty() {
                format!("{}/{text}", shown.kind)
            } else {
                text
            });
        }
        table.rows.push(cells);
    }
    Some(table)
}

/// A text in one line and without what nobody sees, as wide as it looks.
fn plain(cell: &str) -> String {
    one_line(cell).replace('\t', " ")
}

fn cell_text(cell: &Value) -> String {
    match cell {
        Value::Null => "<none>".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::color::When;
    use super::*;
    use serde_json::json;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["NAME", "PHASE"]);
        table.push(["a-long-name".into(), "Failed".into()]);
        table.push(["ü".into(), String::new()]);
        let text = table.text(Paint::new(When::Never));
        assert_eq!(text, "NAME          PHASE\na-long-name   Failed\nü\n");
        let mut odd = Table::new(&["NAME"]);
        odd.push(["a\nb\x1b\u{200b}\tc".into()]);
        let text = odd.text(Paint::new(When::Never));
        assert_eq!(text, "NAME\na\\nb\\u{1b}\\u{200b} c\n");
        let text = table.text(Paint::new(When::Always));
        assert!(
            text.contains("a-long-name   \x1b[31mFailed\x1b[0m"),
            "{text:?}"
        );
    }

    #[test]
    fn a_server_s_table_has_more_columns_when_it_is_wide() {
        let answer = json!({"kind": "Table",
            "columnDefinitions": [{"name": "Name"}, {"name": "Age"}, {"name": "Node", "priority": 1}],
            "rows": [{"cells": ["a", "1s", null], "object": {"metadata": {"namespace": "team"}}}]});
        let narrow = of_server(&answer, Shown::default()).unwrap();
        assert_eq!(narrow.titles, ["NAME", "AGE"]);
        let shown = Shown {
            wide: true,
            namespaces: true,
            kind: "pod",
        };
        let wide = of_server(&answer, shown).unwrap();
        assert_eq!(wide.titles, ["NAMESPACE", "NAME", "AGE", "NODE"]);
        assert_eq!(wide.rows, [["team", "pod/a", "1s", "<none>"]]);
        assert_eq!(
            of_server(&json!({"kind": "PodList"}), Shown::default()),
            None
        );
    }
}
