//! `landform-bench api`: the figures of the API server, in order.

use std::path::PathBuf;
use std::time::Duration;

use crate::disk::{self, Machine};
use crate::etcd::Etcd;
use crate::load::{Numbers, Until};
use crate::memory;
use crate::process::Others;
use crate::report::Results;
use crate::server::Server;
use crate::{Outcome, reads, watches, writes};

/// What to measure and where.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A short run with fewer objects, to see that everything works.
    #[arg(long)]
    pub(crate) quick: bool,
    /// How long each load lasts [default: 4; 1 with --quick].
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// How often both servers take their turn at each number of writers [default: 3; 1 with --quick].
    #[arg(long, value_name = "N")]
    rounds: Option<usize>,
    /// Write the results to this file, in Markdown.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Keep the data in a new directory under this one, on a real disk [default: beside the binary].
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// The server to measure [default: `landform` beside this binary].
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// The etcd to compare with [default: that of `LANDFORM_TEST_ETCD`, or on PATH].
    #[arg(long, value_name = "FILE")]
    etcd: Option<PathBuf>,
}

/// How much is measured.
struct Scale {
    time: Duration,
    rounds: usize,
    listed: u64,
    stored: u64,
    watchers: usize,
    slow_writes: u64,
    events: usize,
}

impl Arguments {
    fn scale(&self) -> Scale {
        let (seconds, rounds, listed, stored, slow_writes, events) = if self.quick {
            (1, 1, 2_000, 5_000, 300, 5)
        } else {
            (4, 3, 10_000, 100_000, 2_000, 20)
        };
        Scale {
            time: Duration::from_secs(self.seconds.unwrap_or(seconds)),
            rounds: self.rounds.unwrap_or(rounds).max(1),
            listed,
            stored,
            watchers: 1_000,
            slow_writes,
            events,
        }
    }
}

fn say(what: &str) {
    eprintln!("· {what}");
}

/// Measures everything, prints the results, and writes them down if asked to.
pub(crate) async fn run(arguments: &Arguments) -> Outcome {
    let beside = std::env::current_exe()?
        .parent()
        .map(PathBuf::from)
        .ok_or("this binary has no directory")?;
    let binary = match &arguments.binary {
        Some(binary) => binary.clone(),
        None => beside.join("landform"),
    };
    let parent = arguments.directory.as_ref().unwrap_or(&beside);
    let dir = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(parent)?;
    let dir = dir.path();
    let machine = Machine::look(dir)?;
    if matches!(machine.file_system.as_str(), "tmpfs" | "ramfs") {
        return Err(format!(
            "{} is in memory, where a sync costs nothing: name a directory on a disk with --directory",
            parent.display()
        )
        .into());
    }
    let scale = arguments.scale();
    let others = Others::watch()?;

    say("fdatasync");
    let syncs = disk::syncs_per_second(dir, scale.time)?;
    say("start and memory of an empty server");
    let idle = memory::idle(&binary, dir).await?;

    let program = arguments
        .etcd
        .clone()
        .or_else(|| std::env::var_os("LANDFORM_TEST_ETCD").map(PathBuf::from))
        .unwrap_or_else(|| "etcd".into());
    let etcd = Etcd::start(&program, &dir.join("etcd")).await?;
    let server = Server::start(&binary, &dir.join("landform"))?;
    server.client().await?.create_namespace("bench").await?;
    let numbers = Numbers::default();
    let mut all_writes = Vec::new();
    for writers in [16, 64, 256] {
        say(&format!("writes, {writers} writers, in turn with etcd"));
        let until = Until::Time(scale.time);
        all_writes
            .push(writes::measure(&server, &etcd, writers, until, scale.rounds, &numbers).await?);
    }
    let etcd_version = etcd.version.clone();
    drop(etcd);
    server.stop().await?;

    let server = Server::start(&binary, &dir.join("reads"))?;
    server.client().await?.create_namespace("list").await?;
    writes::fill(&server, "list", scale.listed).await?;
    say("gets");
    let gets = reads::gets(&server, "list", scale.listed, scale.time).await?;
    say("lists");
    let lists = reads::lists(&server, "list", scale.listed).await?;

    say("watches");
    let pause = Duration::from_millis(2);
    let calm = Until::Count(scale.slow_writes);
    let calm_delay = watches::delay(&server, "calm", 1, pause, calm).await?;
    let busy = Until::Time(scale.time);
    let busy_delay = watches::delay(&server, "busy", 64, Duration::ZERO, busy).await?;
    say("one event to many watchers");
    let fan_out = watches::fan_out(&server, scale.watchers, scale.events).await?;
    server.stop().await?;

    say(&format!("a server with {} objects", scale.stored));
    let full = memory::full(&binary, dir, scale.stored).await?;

    let results = Results {
        others: others.share(machine.cores)?,
        machine,
        syncs,
        etcd_version,
        writes: all_writes,
        gets,
        lists,
        calm_delay,
        busy_delay,
        fan_out,
        idle,
        full,
    };
    println!("{}", results.tables());
    if let Some(file) = &arguments.write {
        // Sections that people wrote below the results stay.
        let before = std::fs::read_to_string(file).unwrap_or_default();
        let notes = before.find("\n## ").map_or("", |at| &before[at..]);
        std::fs::write(file, results.document() + notes)
            .map_err(|error| format!("can't write {}: {error}", file.display()))?;
    }
    Ok(())
}
