//! One page of `landform top`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use time::OffsetDateTime;

use super::Reading;
use crate::output::color::{Paint, Tone};
use crate::output::live::{cut as shortened, cut_in_the_middle};
use crate::output::table::Table;
use crate::output::time::{age, parse, span};

/// Between columns of a table.
const GAP: usize = 3;
/// A column has at least so many letters, if it has as many to show.
const LEAST: usize = 16;
/// Rates are over so many seconds.
const WINDOW: i64 = 10;

/// The page, within so many letters and lines.
pub(super) fn page(
    reading: &Reading,
    now: OffsetDateTime,
    width: usize,
    height: usize,
    paint: Paint,
) -> String {
    let number = |name: &str| reading.summary[name].as_u64().unwrap_or_default();
    let mut out = String::new();
    let heading = format!(
        "{} running, {} waiting for a place, {} stuck; {}",
        number("running"),
        number("waitingForAPlace"),
        number("stuck"),
        rates(&reading.trace, now)
    );
    let _ = writeln!(out, "{}", shortened(&heading, width.saturating_sub(1)));
    out.push('\n');
    let kinds = kinds(&reading.summary);
    out.push_str(&cut(&kinds, width).text(paint));
    out.push('\n');
    let used = out.lines().count();
    let table = cut(&objects(&reading.objects, now), width);
    if table.rows.is_empty() {
        out.push_str(&paint.tone(Tone::Dim, "Nothing runs and nothing waits."));
        out.push('\n');
        return out;
    }
    let room = height.saturating_sub(used + 2).max(1);
    let more = table.rows.len().saturating_sub(room);
    let mut shown = table;
    shown.rows.truncate(room);
    out.push_str(&shown.text(paint));
    if more > 0 {
        let _ = writeln!(out, "… and {more} more");
    }
    out
}

/// No line is longer than the terminal's: the last column gives way first, then the first, in its middle; what doesn't
/// fit even so is left out.
fn cut(table: &Table, width: usize) -> Table {
    let width = width.saturating_sub(1);
    let mut table = table.clone();
    let space = |table: &Table, left_out: &[usize]| -> usize {
        let widths = table.widths();
        let gaps = widths.len().saturating_sub(1) * GAP;
        let widths = widths.iter().enumerate();
        let used = widths.filter(|(at, _)| !left_out.contains(at));
        let used: usize = used.map(|(_, width)| *width).sum();
        width.saturating_sub(used + gaps)
    };
    let last = table.titles.len().saturating_sub(1);
    let first_room = space(&table, &[0, last]).saturating_sub(LEAST);
    for row in &mut table.rows {
        if let Some(first) = row.first_mut() {
            *first = cut_in_the_middle(first, first_room.max(LEAST));
        }
    }
    let room = space(&table, &[last]);
    for row in &mut table.rows {
        if let Some(last) = row.last_mut() {
            *last = shortened(&last.replace(['\n', '\t'], " "), room);
        }
    }
    table
}

/// How many runs ended of late, and how.
fn rates(trace: &[Value], now: OffsetDateTime) -> String {
    let mut ends: BTreeMap<&str, u32> = BTreeMap::new();
    for entry in trace {
        let Some(at) = entry["time"].as_str().and_then(parse) else {
            continue;
        };
        let seconds = (now - at).whole_seconds();
        if seconds >= WINDOW {
            break;
        }
        if entry["event"] == "Finished" {
            let message = entry["message"].as_str().unwrap_or_default();
            let how = ["failed", "waiting", "cancelled", "succeeded"];
            let how = how
                .into_iter()
                .find(|how| message.contains(&format!("ms: {how}")));
            *ends.entry(how.unwrap_or("ended")).or_default() += 1;
        }
    }
    let all: u32 = ends.values().sum();
    let seconds = u32::try_from(WINDOW).unwrap_or(1);
    let rate = f64::from(all) / f64::from(seconds);
    let parts: Vec<String> = ends
        .iter()
        .map(|(how, count)| format!("{count} {how}"))
        .collect();
    let parts = if parts.is_empty() {
        String::new()
    } else {
        format!(" ({})", parts.join(", "))
    };
    format!("{rate:.1} runs/s in the last {}{parts}", span(WINDOW))
}

fn kinds(summary: &Value) -> Table {
    let mut table = Table::new(&["KIND", "OBJECTS", "STATE"]);
    for kind in summary["kinds"].as_array().into_iter().flatten() {
        let count = kind["objects"].as_u64().unwrap_or_default();
        let state = kind["state"].as_str().unwrap_or_default();
        if kind["reconciled"] != true || (count == 0 && state == "Watching") {
            continue;
        }
        let error = kind["error"].as_str().unwrap_or_default();
        table.push([
            kind["kind"].as_str().unwrap_or_default().to_owned(),
            count.to_string(),
            format!("{state} {error}").trim().to_owned(),
        ]);
    }
    table
}

/// Objects that do anything, those that run first.
fn objects(objects: &[Value], now: OffsetDateTime) -> Table {
    let mut rows: Vec<(usize, Vec<String>)> = Vec::new();
    for object in objects {
        let word = |name: &str| object[name].as_str().unwrap_or_default();
        let rank = match word("state") {
            "Stuck" => 0,
            "Running" => 1,
            "Cancelling" => 2,
            "Cyclic" => 3,
            "Pending" => 4,
            _ if !word("waitingFor").is_empty() || !word("lastError").is_empty() => 5,
            _ => continue,
        };
        let state = match (rank, word("lastError")) {
            (5, "") => "Waiting",
            (5, _) => "Error",
            _ => word("state"),
        };
        let since = object["runningSince"].as_str();
        rows.push((
            rank,
            vec![
                format!("{}/{}/{}", word("kind"), word("namespace"), word("name"))
                    .replace("//", "/"),
                state.to_owned(),
                since.map_or(String::new(), |since| age(since, now)),
                why(object),
            ],
        ));
    }
    rows.sort();
    let mut table = Table::new(&["OBJECT", "STATE", "FOR", "WHY"]);
    rows.into_iter().for_each(|(_, row)| table.push(row));
    table
}

fn why(object: &Value) -> String {
    let waits = object["waitingOn"].as_array();
    let waits: Vec<String> = waits
        .into_iter()
        .flatten()
        .map(|wait| {
            let word = |name: &str| wait[name].as_str().unwrap_or_default();
            format!("{}/{}", word("kind"), word("name"))
        })
        .collect();
    if !waits.is_empty() {
        return format!("after {}", waits.join(", "));
    }
    let words = ["lastError", "waitingFor", "cycle", "cancelled", "reason"];
    let mut words = words.into_iter().filter_map(|name| object[name].as_str());
    words.next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::color::When;
    use serde_json::json;

    #[test]
    fn a_page_shows_what_runs_before_what_waits_and_on_whom() {
        let reading = Reading {
            summary: json!({"running": 1, "waitingForAPlace": 0, "stuck": 0, "kinds": [
                {"kind": "Installation", "objects": 2, "state": "Watching", "reconciled": true},
                {"kind": "Secret", "objects": 9, "state": "Watching", "reconciled": false},
            ]}),
            objects: vec![
                json!({"kind": "Installation", "namespace": "team", "name": "web", "state": "Pending",
                       "waitingOn": [{"kind": "Installation", "name": "db", "relation": "Ref"}]}),
                json!({"kind": "Installation", "namespace": "team", "name": "db", "state": "Running",
                       "reason": "it changed", "runningSince": "2026-01-01T00:00:00Z"}),
                json!({"kind": "Installation", "namespace": "team", "name": "idle", "state": "Idle"}),
            ],
            trace: vec![
                json!({"time": "2026-01-01T00:00:04Z", "event": "Finished", "message": "finished run 2 after 3 ms: failed: x"}),
                json!({"time": "2026-01-01T00:00:03Z", "event": "Finished", "message": "finished run 1 after 3 ms: succeeded"}),
                json!({"time": "2025-01-01T00:00:03Z", "event": "Finished", "message": "finished run 0 after 3 ms: succeeded"}),
            ],
        };
        let now = parse("2026-01-01T00:00:05Z").unwrap();
        let shown = page(&reading, now, 200, 40, Paint::new(When::Never));
        let expected = "1 running, 0 waiting for a place, 0 stuck; 0.2 runs/s in the last 10s (1 failed, 1 succeeded)

KIND           OBJECTS   STATE
Installation   2         Watching

OBJECT                  STATE     FOR   WHY
Installation/team/db    Running   5s    it changed
Installation/team/web   Pending         after Installation/db
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn no_line_is_longer_than_the_terminal_and_names_keep_their_ends() {
        let object = |end: &str| {
            json!({"kind": "Installation", "namespace": "payments-production", "state": "Running",
                "name": format!("worker-of-the-second-generation-with-a-long-name-{end}"),
                "reason": "it changed, and so did all that it imports from installations that are far away, \tit\nseems",
                "runningSince": "2026-01-01T00:00:00Z"})
        };
        let reading = Reading {
            summary: json!({"running": 2, "waitingForAPlace": 1000, "stuck": 0, "kinds": [
                {"kind": "Installation", "objects": 2, "state": "Watching", "reconciled": true,
                    "error": "the definition of the kind is gone, and nobody knows when it comes back, if ever"},
            ]}),
            objects: vec![object("eu-17"), object("eu-18")],
            trace: Vec::new(),
        };
        let now = parse("2026-01-01T00:00:05Z").unwrap();
        for width in [80, 120, 60] {
            let shown = page(&reading, now, width, 24, Paint::new(When::Never));
            for line in shown.lines() {
                assert!(line.chars().count() < width, "{width}: {line}");
            }
            for end in ["eu-17 ", "eu-18 "] {
                assert!(shown.contains(end), "{width}: {shown}");
            }
        }
    }
}
