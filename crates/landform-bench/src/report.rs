//! The results: beside the goals, as text and as a document.

use std::fmt::Write as _;

use crate::disk::Machine;
use crate::load::Load;
use crate::memory::{Full, Idle};
use crate::reads::Lists;
use crate::watches::{Delay, FanOut};
use crate::writes::Writes;

/// Everything that was measured.
pub(crate) struct Results {
    pub(crate) machine: Machine,
    /// The part of the cores' time that other processes took meanwhile.
    pub(crate) others: f64,
    pub(crate) syncs: f64,
    pub(crate) etcd_version: String,
    pub(crate) writes: Vec<Writes>,
    pub(crate) gets: Load,
    pub(crate) lists: Lists,
    pub(crate) calm_delay: Delay,
    pub(crate) busy_delay: Delay,
    pub(crate) fan_out: FanOut,
    pub(crate) idle: Idle,
    pub(crate) full: Full,
}

/// One figure beside its goal.
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
    pub(crate) reached: f64,
}

pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
    /// Nobody asked for it, and it helps to understand the others.
    None,
}

impl Figure {
    pub(crate) fn line(&self) -> String {
        let Self { what, unit, .. } = self;
        let reached = number(self.reached);
        let (sign, goal, met) = match self.goal {
            Goal::AtLeast(goal) => ("≥", goal, self.reached >= goal),
            Goal::AtMost(goal) => ("≤", goal, self.reached <= goal),
            Goal::None => return format!("| {what} | | {reached} {unit} | |"),
        };
        let verdict = if met { "met" } else { "**missed**" };
        let goal = number(goal);
        format!("| {what} | {sign} {goal} {unit} | {reached} {unit} | {verdict} |")
    }
}

/// Figures beside their goals.
pub(crate) fn table(figures: &[Figure]) -> String {
    let mut text =
        String::from("| figure | goal | reached | verdict |\n| --- | --- | --- | --- |\n");
    for figure in figures {
        text.push_str(&figure.line());
        text.push('\n');
    }
    text
}

/// A document with one of its sections replaced, or added at its end.
pub(crate) fn with_section(document: &str, title: &str, command: &str, text: &str) -> String {
    let introduction =
        format!("Written by `{command}`: through the API, on the embedded store with fsync on.");
    with_introduced_section(document, title, &introduction, text)
}

/// The same for a section that isn't about the API.
pub(crate) fn with_introduced_section(
    document: &str,
    title: &str,
    introduction: &str,
    text: &str,
) -> String {
    let heading = format!("\n## {title}\n");
    let section = format!("{heading}\n{introduction}\n\n{text}");
    let Some(start) = document.find(&heading) else {
        return format!("{}\n{section}", document.trim_end());
    };
    let rest = &document[start + heading.len()..];
    let after = rest.find("\n## ").map_or("", |at| &rest[at..]);
    format!("{}{section}{after}", &document[..start])
}

/// Three digits that count, and separators between thousands.
fn number(figure: f64) -> String {
    if figure < 10.0 && figure.fract() != 0.0 {
        return format!("{figure:.2}");
    }
    let digits = format!("{:.0}", figure.round());
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl Results {
    fn figures(&self) -> Vec<Figure> {
        let mut figures = Vec::new();
        let mut add = |what: String, unit, goal, reached| {
            figures.push(Figure {
                what,
                unit,
                goal,
                reached,
            });
        };
        for Writes {
            writers,
            landform,
            etcd,
        } in &self.writes
        {
            let what =
                format!("durable creates over HTTPS, {writers} writers, against etcd's puts");
            add(what, "/s", Goal::AtLeast(etcd.rate), landform.rate);
        }
        if let Some(most) = self.writes.last() {
            let what = format!("durable creates over HTTPS, {} writers", most.writers);
            add(what, "/s", Goal::AtLeast(5_000.0), most.landform.rate);
        }
        for Writes {
            writers, landform, ..
        } in &self.writes
        {
            let what = format!("CPU of the server for one create, {writers} writers");
            add(what, "µs", Goal::AtMost(100.0), landform.server_cpu_us);
        }
        let at_least = Goal::AtLeast(15_000.0);
        add(
            "gets of single objects".into(),
            "/s",
            at_least,
            self.gets.rate,
        );
        let what = format!("list of {} objects", number(self.lists.objects as f64));
        add(what, "ms", Goal::AtMost(150.0), self.lists.plain_ms);
        for (how, delay) in [
            ("one writer", self.calm_delay),
            ("64 writers", self.busy_delay),
        ] {
            let what = format!("event after the acknowledgement, p99, {how}");
            add(what, "ms", Goal::AtMost(5.0), delay.p99_ms);
        }
        let what = format!(
            "one event to {} watchers",
            number(self.fan_out.watchers as f64)
        );
        add(what, "ms", Goal::AtMost(50.0), self.fan_out.median_ms);
        let objects = number(self.full.objects as f64);
        add(
            "memory (RSS), idle".into(),
            "MB",
            Goal::AtMost(40.0),
            self.idle.resident_mb,
        );
        let what = format!("memory (RSS), {objects} objects just written");
        add(what, "MB", Goal::AtMost(400.0), self.full.resident_mb);
        let what = format!("memory (RSS), {objects} objects after a restart");
        add(what, "MB", Goal::AtMost(400.0), self.full.restarted_mb);
        add(
            "start on an empty directory".into(),
            "ms",
            Goal::AtMost(300.0),
            self.idle.startup_ms,
        );
        let what = format!("start with {objects} objects");
        add(what, "ms", Goal::AtMost(2_000.0), self.full.restart_ms);
        figures
    }

    /// The tables, in Markdown.
    pub(crate) fn tables(&self) -> String {
        let mut out =
            String::from("| figure | goal | reached | verdict |\n| --- | --- | --- | --- |\n");
        for figure in self.figures() {
            out.push_str(&figure.line());
            out.push('\n');
        }
        out.push_str(
            "\nWrites of 1 KiB, side by side (µs are CPU time for one write, ms the time that one took):\n\n\
             | writers | Landform /s | etcd /s | Landform µs | etcd µs | client µs | Landform p50/p99 ms | etcd p50/p99 ms |\n\
             | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        );
        for Writes {
            writers,
            landform,
            etcd,
        } in &self.writes
        {
            let times = |load: &Load| {
                format!(
                    "{}/{}",
                    number(load.p50_us / 1e3),
                    number(load.p99_us / 1e3)
                )
            };
            let _ = writeln!(
                out,
                "| {writers} | {} | {} | {} | {} | {} | {} | {} |",
                number(landform.rate),
                number(etcd.rate),
                number(landform.server_cpu_us),
                number(etcd.server_cpu_us),
                number(landform.client_cpu_us),
                times(landform),
                times(etcd),
            );
        }
        out.push_str(&self.details());
        out
    }

    fn details(&self) -> String {
        let Self {
            machine,
            gets,
            lists,
            calm_delay,
            busy_delay,
            fan_out,
            full,
            ..
        } = self;
        format!(
            "\n\
             - Machine: {} cores, {} GiB of memory, {}; {} fdatasync/s (1 KiB appended each time). \
             The client has the same cores, and other processes took {} % of their time during the \
             run.\n\
             - etcd {}, one member, driven over gRPC without encryption; Landform over HTTPS; \
             {} connections each.\n\
             - A get costs {} µs of the server's CPU and {} µs of the client's.\n\
             - The list has {} MB; with gzip it takes {} ms.\n\
             - The event comes after {} ms (p50, {} writes by one writer) and {} ms (p50, {} writes by 64).\n\
             - One event to {} watchers takes at worst {} ms, from sending the write, and {} ms of the \
             server's CPU.\n\
             - {} objects take {} MB on disk.\n",
            machine.cores,
            machine.memory_gib,
            machine.file_system,
            number(self.syncs),
            number(self.others * 100.0),
            self.etcd_version,
            crate::writes::CONNECTIONS,
            number(gets.server_cpu_us),
            number(gets.client_cpu_us),
            number(lists.bytes as f64 / 1e6),
            number(lists.gzip_ms),
            number(calm_delay.p50_ms),
            number(calm_delay.writes as f64),
            number(busy_delay.p50_ms),
            number(busy_delay.writes as f64),
            number(fan_out.watchers as f64),
            number(fan_out.worst_ms),
            number(fan_out.cpu_ms),
            number(full.objects as f64),
            number(full.disk_mb),
        )
    }

    /// The whole document.
    pub(crate) fn document(&self) -> String {
        format!(
            "# Benchmarks\n\n\
             Written by `cargo xtask bench api --write docs/benchmarks.md`; `--quick` is a short run. \
             Both servers write to the same disk with fsync on and are measured in turn within one \
             run. A shared machine is noisy: trust CPU times and comparisons within the run.\n\n{}",
            self.tables()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        let table = [
            (0.0, "0"),
            (0.123, "0.12"),
            (5.0, "5"),
            (12.6, "13"),
            (999.5, "1,000"),
            (1_234_567.0, "1,234,567"),
        ];
        for (figure, expected) in table {
            assert_eq!(number(figure), expected);
        }
    }

    #[test]
    fn a_figure_is_judged_by_its_goal() {
        let judged = |goal, reached| {
            let what = "x".to_owned();
            let figure = Figure {
                what,
                unit: "ms",
                goal,
                reached,
            };
            figure.line()
        };
        assert_eq!(
            judged(Goal::AtMost(5.0), 4.0),
            "| x | ≤ 5 ms | 4 ms | met |"
        );
        assert!(judged(Goal::AtLeast(5.0), 4.0).ends_with("| **missed** |"));
    }
}
