//! What was measured, beside its bounds.

use std::fmt;
use std::time::Duration;

use super::attacks::{Attack, Seen};

/// What an attack has cost.
pub(super) struct Measured {
    pub(super) took: Duration,
    pub(super) memory_mib: Option<u64>,
    pub(super) ours: bool,
    pub(super) probe_p99_ms: u64,
    pub(super) probes: usize,
    pub(super) probes_failed: Vec<String>,
}

/// One row of the table: what was found, and which bounds are broken.
#[derive(Debug)]
pub struct Row {
    name: &'static str,
    sends: &'static str,
    found: String,
    /// The bounds that do not hold, each in a sentence.
    pub broken: Vec<String>,
}

impl Row {
    pub(super) fn judge(attack: &Attack, measured: Measured, seen: Seen) -> Self {
        let mut broken = Vec::new();
        let mut hold = |holds: bool, sentence: String| {
            if !holds {
                broken.push(sentence);
            }
        };
        let (memory, p99) = (measured.memory_mib, measured.probe_p99_ms);
        let (memory_max, p99_max) = (attack.memory_mib, attack.probe_ms);
        hold(
            memory.is_none_or(|grown| grown <= memory_max),
            format!("memory grows by at most {memory_max} MiB"),
        );
        hold(
            memory.is_some() || !measured.ours,
            "the server is still running".to_owned(),
        );
        hold(
            p99 <= p99_max,
            format!("the bystander's p99 is at most {p99_max} ms"),
        );
        let failed = &measured.probes_failed;
        hold(
            failed.is_empty(),
            format!(
                "every request of the bystander succeeds ({} of {} failed: {})",
                failed.len(),
                measured.probes,
                failed.first().map_or("", String::as_str)
            ),
        );
        for code in seen
            .codes
            .keys()
            .filter(|code| !attack.answers.contains(code))
        {
            let answer = if *code == 0 {
                "a cut connection".to_owned()
            } else {
                code.to_string()
            };
            hold(false, format!("{answer} is no answer to this"));
        }
        for (sentence, holds) in &seen.checks {
            hold(*holds, sentence.clone());
        }
        let answers: Vec<String> = seen
            .codes
            .iter()
            .map(|(code, count)| match code {
                0 => format!("cut × {count}"),
                code => format!("{code} × {count}"),
            })
            .collect();
        let memory = match memory {
            Some(grown) => format!("memory +{grown} MiB (≤ {memory_max})"),
            None => "memory not looked at".to_owned(),
        };
        let notes: Vec<String> = seen
            .checks
            .into_iter()
            .filter(|(_, holds)| *holds)
            .map(|(sentence, _)| sentence)
            .chain(
                seen.left_out
                    .into_iter()
                    .map(|what| format!("left out: {what}")),
            )
            .collect();
        let found = format!(
            "{memory} · bystander p99 {p99} ms (≤ {p99_max}) of {} · {:.1} s · answers {}{}{}",
            measured.probes,
            measured.took.as_secs_f64(),
            if answers.is_empty() {
                "none".to_owned()
            } else {
                answers.join(", ")
            },
            if notes.is_empty() { "" } else { " · " },
            notes.join(" · "),
        );
        Self {
            name: attack.name,
            sends: attack.sends,
            found,
            broken,
        }
    }

    pub(super) fn not_run(attack: &Attack, error: &str) -> Self {
        Self {
            name: attack.name,
            sends: attack.sends,
            found: "not run".to_owned(),
            broken: vec![format!(
                "the server can be prepared for the attack: {error}"
            )],
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.broken.is_empty() {
            "ok    "
        } else {
            "BROKEN"
        };
        writeln!(out, "{verdict} {:<34} {}", self.name, self.sends)?;
        write!(out, "       {}", self.found)?;
        for sentence in &self.broken {
            write!(out, "\n       does not hold: {sentence}")?;
        }
        Ok(())
    }
}

/// All rows.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order of the table.
    pub rows: Vec<Row>,
}

impl Report {
    /// How many rows have a bound that does not hold.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.rows
            .iter()
            .filter(|row| !row.broken.is_empty())
            .count()
    }

    /// The last line.
    #[must_use]
    pub fn summary(&self) -> String {
        let failed = self.failed();
        format!("{} passed, {failed} failed", self.rows.len() - failed)
    }
}
