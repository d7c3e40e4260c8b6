//! `landform-bench landscape`: how fast installations are brought up, changed, taken down and found again.
//!
//! Each installation has an inline blueprint with one deploy item of the mock deployer. `follow.rs` watches
//! until they are where they should be; `shapes.rs` writes them.

mod follow;
pub(crate) mod shapes;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use serde_json::json;

use crate::Outcome;
use crate::client::{Client, take};
use crate::disk::{self, Machine};
use crate::engine_metrics::quiet;
use crate::process::{Others, cpu, resident_bytes};
use crate::report::{Figure, Goal, table, with_section};
use crate::server::Server;

use follow::Follow;

/// What to measure and where.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A short run with fewer objects, to see that everything works.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Put the results into this document, in place of its section about landscapes.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Keep the data in a new directory under this one, on a real disk [default: beside the binary].
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// The server to measure [default: `landform` beside this binary].
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// How many of everything.
struct Sizes {
    many: usize,
    batches: usize,
    batch: usize,
    chain: usize,
    all: usize,
}

const FULL: Sizes = Sizes {
    many: 1_000,
    batches: 10,
    batch: 200,
    chain: 100,
    all: 20_000,
};
const QUICK: Sizes = Sizes {
    many: 100,
    batches: 3,
    batch: 20,
    chain: 10,
    all: 300,
};

const SECTION: &str = "Landscapes";
const COMMAND: &str = "cargo xtask bench landscape --write docs/benchmarks.md";

/// Measures everything and prints the results.
pub(crate) async fn run(arguments: &Arguments) -> Outcome {
    let beside = std::env::current_exe()?
        .parent()
        .map(PathBuf::from)
        .ok_or("this binary has no directory")?;
    let binary = arguments.binary.clone();
    let binary = binary.unwrap_or_else(|| beside.join("landform"));
    let parent = arguments.directory.as_ref().unwrap_or(&beside);
    let dir = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(parent)?;
    let machine = Machine::look(dir.path())?;
    let others = Others::watch()?;
    let syncs = disk::syncs_per_second(dir.path(), Duration::from_secs(1))?;
    let sizes = if arguments.quick { &QUICK } else { &FULL };
    let data = dir.path().join("landform");
    let mut server = Server::start(&binary, &data)?;
    let mut figures = Vec::new();

    many(&server, sizes, &mut figures).await?;
    batches(&server, sizes, &mut figures).await?;
    chain(&server, sizes, &mut figures).await?;
    server = all(server, &binary, &data, sizes, &mut figures).await?;
    server.stop().await?;

    let mut text = table(&figures);
    text.push_str(&format!(
        "\n- Machine: {} cores, {}; {syncs:.0} fdatasync/s. Other processes took {:.0} % of the cores' time during the run.\n- Landscaper's own published figures, on a cluster: 1,000 installations in 1,050 s after tuning (3,046 s before), batches of 200 from 183 s to 1,242 s for the eighth, delete of 500 in 394 s, restart with 60,000 objects 10 min (30 s with a cache of 2.3–4.4 GB).\n",
        machine.cores,
        machine.file_system,
        others.share(machine.cores)? * 100.0
    ));
    println!("{text}");
    if let Some(file) = &arguments.write {
        let before = std::fs::read_to_string(file).unwrap_or_default();
        std::fs::write(file, with_section(&before, SECTION, COMMAND, &text))
            .map_err(|error| format!("can't write {}: {error}", file.display()))?;
    }
    Ok(())
}

fn at_most(what: impl Into<String>, unit: &'static str, goal: f64, reached: f64) -> Figure {
    Figure {
        what: what.into(),
        unit,
        goal: Goal::AtMost(goal),
        reached,
    }
}

/// Creates installations at once, and returns the time until all have succeeded.
async fn bring_up(
    server: &Server,
    namespace: &str,
    objects: Vec<serde_json::Value>,
) -> Outcome<(Duration, Follow)> {
    let count = objects.len();
    let mut follow = Follow::start(server, namespace).await?;
    let started = Instant::now();
    let creating = shapes::create_all(server, namespace, objects);
    let (created, waited) = tokio::join!(creating, follow.until_succeeded(count));
    created?;
    waited?;
    Ok((started.elapsed(), follow))
}

async fn many(server: &Server, sizes: &Sizes, figures: &mut Vec<Figure>) -> Outcome {
    eprintln!("· {} installations at once", sizes.many);
    let mut client = server.client().await?;
    client.create_namespace("many").await?;
    let objects = (0..sizes.many).map(|number| shapes::single(&format!("i{number}")));
    let before = (cpu(server.id())?, shapes::revision(&mut client).await?);
    let (time, mut follow) = bring_up(server, "many", objects.collect()).await?;
    let after = (cpu(server.id())?, shapes::revision(&mut client).await?);
    let each = |total: f64| total / sizes.many as f64;
    let what = format!(
        "{} installations with an execution and an item each",
        sizes.many
    );
    figures.push(at_most(what, "s", 10.0, time.as_secs_f64()));
    figures.push(Figure {
        what: "writes for each installation".into(),
        unit: "",
        goal: Goal::None,
        reached: each((after.1 - before.1) as f64),
    });
    figures.push(Figure {
        what: "server's CPU for each installation".into(),
        unit: "ms",
        goal: Goal::None,
        reached: each((after.0 - before.0).as_secs_f64() * 1e3),
    });
    eprintln!("· delete of {}", sizes.many);
    let started = Instant::now();
    let names = (0..sizes.many).map(|number| format!("i{number}"));
    let deleting = shapes::delete_all(server, "many", names.collect());
    let (deleted, waited) = tokio::join!(deleting, follow.until_gone(sizes.many));
    deleted?;
    waited?;
    let what = format!("delete of {} installations", sizes.many);
    figures.push(at_most(what, "s", 10.0, started.elapsed().as_secs_f64()));
    Ok(())
}

async fn batches(server: &Server, sizes: &Sizes, figures: &mut Vec<Figure>) -> Outcome {
    eprintln!("· {} batches of {}", sizes.batches, sizes.batch);
    server.client().await?.create_namespace("batches").await?;
    let mut times = Vec::new();
    for batch in 0..sizes.batches {
        let objects = (0..sizes.batch).map(|number| shapes::single(&format!("b{batch}-{number}")));
        let mut follow = Follow::start(server, "batches").await?;
        let started = Instant::now();
        let creating = shapes::create_all(server, "batches", objects.collect());
        let total = sizes.batch * (batch + 1);
        let (created, waited) = tokio::join!(creating, follow.until_succeeded(total));
        created?;
        waited?;
        times.push(started.elapsed().as_secs_f64());
    }
    let (first, last) = (times[0], times[times.len() - 1]);
    let what = format!(
        "batch {} of {} in one namespace, against the first",
        sizes.batches, sizes.batch
    );
    figures.push(at_most(what, "×", 1.2, last / first));
    figures.push(Figure {
        what: format!("the first batch of {}", sizes.batch),
        unit: "s",
        goal: Goal::None,
        reached: first,
    });
    Ok(())
}

async fn chain(server: &Server, sizes: &Sizes, figures: &mut Vec<Figure>) -> Outcome {
    eprintln!("· a chain of {}", sizes.chain);
    let mut client = server.client().await?;
    client.create_namespace("chain").await?;
    shapes::create_data(&mut client, "chain", "c0", json!("first")).await?;
    let objects = (1..=sizes.chain).map(shapes::link).collect();
    let (time, follow) = bring_up(server, "chain", objects).await?;
    let what = format!(
        "a chain of {}, each importing the last one's export",
        sizes.chain
    );
    figures.push(at_most(what, "s", 3.0, time.as_secs_f64()));
    let (slowest, median) = follow.delays(sizes.chain);
    figures.push(at_most(
        "a dependent starts after its dependency succeeded, at worst",
        "ms",
        100.0,
        slowest,
    ));
    figures.push(Figure {
        what: "the same, median".into(),
        unit: "ms",
        goal: Goal::None,
        reached: median,
    });
    let mut end = follow::Data::start(server, "chain", &format!("c{}", sizes.chain)).await?;
    let started = Instant::now();
    shapes::change_data(&mut client, "chain", "c0", json!("second")).await?;
    end.until("second").await?;
    let what = "a changed root import reaches the end of that chain";
    figures.push(at_most(what, "s", 3.0, started.elapsed().as_secs_f64()));
    Ok(())
}

/// Many installations, and a restart with all of them.
async fn all(
    server: Server,
    binary: &std::path::Path,
    data: &std::path::Path,
    sizes: &Sizes,
    figures: &mut Vec<Figure>,
) -> Outcome<Server> {
    eprintln!("· {} installations", sizes.all);
    server.client().await?.create_namespace("all").await?;
    let objects = (0..sizes.all).map(|number| shapes::single(&format!("a{number}")));
    let (time, _) = bring_up(&server, "all", objects.collect()).await?;
    figures.push(Figure {
        what: format!("{} installations", sizes.all),
        unit: "s",
        goal: Goal::None,
        reached: time.as_secs_f64(),
    });
    let resident = resident_bytes(server.id())? as f64 / 1e6;
    figures.push(at_most(
        format!("memory with {} installations", sizes.all),
        "MB",
        1500.0,
        resident,
    ));
    let mut client = server.client().await?;
    quiet(&mut client, 0.0).await?;
    let before = shapes::revision(&mut client).await?;
    drop(client);
    server.stop().await?;

    eprintln!("· restart");
    let started = Instant::now();
    let server = Server::start(binary, data)?;
    let mut client = server.client().await?;
    quiet(&mut client, (sizes.all * 3) as f64).await?;
    let time = started.elapsed().as_secs_f64();
    let what = format!("restart with {} objects: ready and quiet", sizes.all * 3);
    figures.push(at_most(what, "s", 3.0, time));
    let after = shapes::revision(&mut client).await?;
    figures.push(at_most(
        "writes of that restart",
        "",
        0.0,
        (after - before) as f64,
    ));
    let resident = resident_bytes(server.id())? as f64 / 1e6;
    figures.push(at_most("memory after the restart", "MB", 1500.0, resident));
    Ok(server)
}

/// Sends a request whose answer must be this one.
pub(crate) async fn expect(
    client: &mut Client,
    method: Method,
    path: &str,
    body: String,
    expected: StatusCode,
) -> Outcome {
    let uri = client.uri(path)?;
    let answer = client.send(method, uri, &[], body.into()).await?;
    take(answer, expected).await.map(drop)
}
