//! Rows of a terminal as a picture.

use std::fmt::Write as _;

use super::terminal::{Row, Style, text};

/// The widest line; longer ones are broken.
pub const COLUMNS: usize = 124;
const CHARACTER: usize = 8;
const LINE: usize = 20;
const MARGIN: usize = 20;

/// The picture.
#[must_use]
pub fn svg(rows: &[Row]) -> String {
    let rows: Vec<&[(char, Style)]> = rows.iter().flat_map(|row| pieces(row)).collect();
    let (width, height) = (COLUMNS * CHARACTER + 2 * MARGIN, rows.len() * LINE + 50);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#14181f\"/>\n<g fill=\"#3c4656\"><circle cx=\"20\" cy=\"18\" r=\"5\"/><circle cx=\"38\" cy=\"18\" r=\"5\"/><circle cx=\"56\" cy=\"18\" r=\"5\"/></g>\n"
    );
    for (index, row) in rows.iter().enumerate() {
        let y = 50 + index * LINE;
        let whole = text(&row.to_vec());
        for (column, run) in runs(row) {
            let said: String = run.iter().map(|(one, _)| one).collect();
            if said.trim().is_empty() {
                continue;
            }
            let style = run[0].1;
            let x = MARGIN + column * CHARACTER;
            // A fixed width keeps columns in line, whatever font there is.
            let length = run.len() * CHARACTER;
            let weight = if style.bold {
                " font-weight=\"bold\""
            } else {
                ""
            };
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" fill=\"{}\"{weight} textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">{}</text>",
                fill(style, &whole),
                escaped(&said)
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

/// A row in pieces that fit, broken between words where that is possible.
fn pieces(row: &Row) -> Vec<&[(char, Style)]> {
    let mut pieces = Vec::new();
    let mut rest = row.as_slice();
    while rest.len() > COLUMNS {
        let blank = rest[..COLUMNS].iter().rposition(|(one, _)| *one == ' ');
        let cut = blank
            .filter(|at| *at > COLUMNS / 2)
            .map_or(COLUMNS, |at| at + 1);
        pieces.push(&rest[..cut]);
        rest = &rest[cut..];
    }
    pieces.push(rest);
    pieces
}

/// Neighbours that look alike, with the column where they begin. Gaps of two and more part them, so that each
/// column of a table stands where it should.
fn runs(row: &[(char, Style)]) -> Vec<(usize, &[(char, Style)])> {
    let mut runs = Vec::new();
    let mut start = 0;
    for at in 1..=row.len() {
        let ends = at == row.len()
            || row[at].1 != row[at - 1].1
            || (row[at].0 != ' ' && row[at - 1].0 == ' ' && at >= 2 && row[at - 2].0 == ' ');
        if ends {
            let run = &row[start..at];
            let kept = run
                .iter()
                .rposition(|(one, _)| *one != ' ')
                .map_or(0, |last| last + 1);
            let lead = run
                .iter()
                .take(kept)
                .take_while(|(one, _)| *one == ' ')
                .count();
            if kept > lead {
                runs.push((start + lead, &run[lead..kept]));
            }
            start = at;
        }
    }
    runs
}

fn fill(style: Style, row: &str) -> &'static str {
    match style.colour {
        Some(1) => "#ff9d8a",
        Some(2) => "#a5e39b",
        Some(3) => "#ffd98a",
        Some(4 | 6) => "#8ecbff",
        Some(5) => "#d9a5e3",
        _ if style.dim => "#7d8899",
        _ if row.starts_with("$ ") => "#8ecbff",
        _ if row.contains("invalid") || row.contains("rror") => "#ff9d8a",
        _ if row.starts_with("landform ready") => "#a5e39b",
        _ => "#d7dde6",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::svg;
    use crate::pictures::terminal::show;

    #[test]
    fn columns_stand_where_they_were_written() {
        let picture = svg(&show("NAME    PHASE\na<b     Succeeded"));
        assert!(picture.contains("x=\"84\""), "{picture}");
        assert!(picture.contains("a&lt;b</text>"), "{picture}");
    }
}
