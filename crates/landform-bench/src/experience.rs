//! `landform-bench experience`: what a person waits for: the first object after `landform up`, a saved file, an
//! answer of `landform why`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::disk::Machine;
use crate::landscape::shapes;
use crate::lines::Lines;
use crate::process::Others;
use crate::report::{Figure, Goal, table, with_introduced_section};
use crate::server::Server;

/// What to measure and where.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A short run with fewer objects, to see that everything works.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Put the results into this document, in place of its section about this.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// The server to measure [default: `landform` beside this binary].
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

const SECTION: &str = "Experience";
const INTRODUCTION: &str = "Written by `cargo xtask bench experience --write docs/benchmarks.md`: the release binary with the embedded store and fsync on, on a project of so many files with one ConfigMap each, and on so many installations of which each imports from the one before.";
const MAPS: &str =
    "/api/v1/namespaces/default/configmaps?watch=true&labelSelector=landform.dev%2Fproject";

/// Measures everything and prints the results.
pub(crate) async fn run(arguments: &Arguments) -> Outcome {
    let beside = std::env::current_exe()?;
    let beside = beside.parent().ok_or("this binary has no directory")?;
    let binary = arguments.binary.clone();
    let binary = binary.unwrap_or_else(|| beside.join("landform"));
    let dir = tempfile::Builder::new()
        .prefix("bench-")
        .tempdir_in(beside)?;
    let machine = Machine::look(dir.path())?;
    let others = Others::watch()?;
    let (files, rounds, installations) = if arguments.quick {
        (20, 5, 50)
    } else {
        (1_000, 50, 1_000)
    };
    let mut figures = Vec::new();
    first_objects(&binary, dir.path(), files, rounds, &mut figures).await?;
    explanations(&binary, dir.path(), installations, rounds, &mut figures).await?;

    let mut text = table(&figures);
    text.push_str(&format!(
        "\n- Machine: {} cores, {}. Other processes took {:.0} % of the cores' time during the run.\n",
        machine.cores,
        machine.file_system,
        others.share(machine.cores)? * 100.0
    ));
    println!("{text}");
    if let Some(file) = &arguments.write {
        let before = std::fs::read_to_string(file).unwrap_or_default();
        let document = with_introduced_section(&before, SECTION, INTRODUCTION, &text);
        std::fs::write(file, document)
            .map_err(|error| format!("can't write {}: {error}", file.display()))?;
    }
    Ok(())
}

/// From the start of `landform up` to the first object, to all of them, and from saving a file to its object.
async fn first_objects(
    binary: &Path,
    dir: &Path,
    files: usize,
    rounds: usize,
    figures: &mut Vec<Figure>,
) -> Outcome {
    let project = dir.join("project");
    std::fs::create_dir(&project)?;
    for number in 0..files {
        save(&project, number, 0)?;
    }
    let started = Instant::now();
    let mut command = Command::new(binary);
    command
        .args(["up", "--listen", "127.0.0.1:0"])
        .arg(&project);
    let server = Server::launch(&mut command, &dir.join("up.log"))?;
    let mut events = Lines::open(&server, MAPS).await?;
    for seen in 0..files {
        events.next().await?;
        if seen == 0 {
            let goal = Goal::AtMost(500.0);
            add(
                figures,
                "from `landform up` on a new directory to the first object",
                goal,
                started.elapsed(),
            );
        }
    }
    let what = format!("the same, to all {files} objects");
    add(figures, what, Goal::None, started.elapsed());

    let mut times = Vec::new();
    for round in 1..=rounds {
        let wanted = round.to_string();
        let saved = Instant::now();
        save(&project, round % files, round)?;
        loop {
            let event = events.next().await?;
            if event["object"]["data"]["round"].as_str() == Some(&wanted) {
                break;
            }
        }
        times.push(saved.elapsed());
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    add(
        figures,
        "from a saved file to its changed object, median",
        Goal::AtMost(200.0),
        median,
    );
    let worst = times.last().copied().unwrap_or_default();
    add(figures, "the same, at worst", Goal::AtMost(200.0), worst);
    server.stop().await
}

/// As editors save: another file in its place.
fn save(project: &Path, number: usize, round: usize) -> Outcome {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m{number}\ndata:\n  round: \"{round}\"\n"
    );
    let temporary = project.join(format!(".m{number}.yaml.tmp"));
    std::fs::write(&temporary, text)?;
    std::fs::rename(&temporary, project.join(format!("m{number}.yaml")))?;
    Ok(())
}

/// Why the last of many installations waits, of which the first lacks its import.
async fn explanations(
    binary: &Path,
    dir: &Path,
    installations: usize,
    rounds: usize,
    figures: &mut Vec<Figure>,
) -> Outcome {
    let data = dir.join("landform");
    let server = Server::start(binary, &data)?;
    let objects = (1..=installations).map(shapes::link).collect();
    shapes::create_all(&server, "default", objects).await?;
    let mut client = server.client().await?;
    let runs = installations as f64;
    crate::engine_metrics::quiet(&mut client, runs).await?;
    let path = format!(
        "/apis/landform.dev/v1alpha1/why/landscaper.gardener.cloud/Installation/default/l{installations}"
    );
    let uri = client.uri(&path)?;
    let text = client.text(uri.clone()).await?;
    let why: serde_json::Value = serde_json::from_slice(&text)?;
    if why["roots"].as_array().is_none_or(Vec::is_empty) {
        return Err(format!("no root cause was found: {why}").into());
    }
    let mut times = Vec::new();
    for _ in 0..rounds {
        let asked = Instant::now();
        client.text(uri.clone()).await?;
        times.push(asked.elapsed());
    }
    times.sort_unstable();
    let worst = times.last().copied().unwrap_or_default();
    let what = format!("why the last of {installations} installations in a row waits, at worst");
    add(figures, what, Goal::AtMost(100.0), worst);
    let mut times = Vec::new();
    for _ in 0..rounds.min(10) {
        let asked = Instant::now();
        let answered = Command::new(binary)
            .args(["why", &format!("installation/l{installations}")])
            .arg("--data-dir")
            .arg(&data)
            .output()?;
        if answered.stdout.is_empty() {
            return Err(String::from_utf8_lossy(&answered.stderr).into());
        }
        times.push(asked.elapsed());
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    add(
        figures,
        "the same with `landform why`, from its start to its end, median",
        Goal::None,
        median,
    );
    server.stop().await
}

fn add(figures: &mut Vec<Figure>, what: impl Into<String>, goal: Goal, reached: Duration) {
    figures.push(Figure {
        what: what.into(),
        unit: "ms",
        goal,
        reached: reached.as_secs_f64() * 1e3,
    });
}
