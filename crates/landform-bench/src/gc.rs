//! `landform-bench gc`: how long deletions take, and what they cost other clients.
//!
//! Objects are made in a shape, the root is deleted, and the time until it is gone is measured: by
//! then everything below it is gone. Meanwhile another client reads an object again and again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::Outcome;
use crate::client::Client;
use crate::disk::{self, Machine};
use crate::load::percentile;
use crate::process::Others;
use crate::report::{Figure, Goal, with_section};
use crate::server::Server;

/// What to measure and where.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A short run with fewer objects, to see that everything works.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Put the results into this document, in place of its section about deletions.
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Keep the data in a new directory under this one, on a real disk [default: beside the binary].
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// The server to measure [default: `landform` beside this binary].
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

/// What the objects look like.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Fan(usize),
    Chain(usize),
    /// So many levels, each object with ten dependents.
    Tree(u32),
}

impl Shape {
    fn name(self) -> String {
        match self {
            Self::Fan(size) => format!("fan of {size}"),
            Self::Chain(size) => format!("chain of {size}"),
            Self::Tree(levels) => format!("tree of {levels} levels, ten dependents each"),
        }
    }
}

/// How one deletion went.
struct Deletion {
    shape: Shape,
    objects: usize,
    time: Duration,
    /// Revisions that the store spent, for each object.
    writes: f64,
    get_p99: Duration,
    gets: usize,
    graph_bytes: f64,
}

const MAPS: &str = "/api/v1/namespaces/bench/configmaps";
const WRITERS: usize = 64;
const CONNECTIONS: usize = 4;
const SECTION: &str = "Deletions";
const COMMAND: &str = "cargo xtask bench gc --write docs/benchmarks.md";

/// Measures all shapes and prints the results.
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
    let shapes: &[Shape] = if arguments.quick {
        &[Shape::Fan(1_000), Shape::Chain(100), Shape::Tree(2)]
    } else {
        &[
            Shape::Fan(1_000),
            Shape::Chain(1_000),
            Shape::Tree(4),
            Shape::Chain(10_000),
            Shape::Fan(100_000),
        ]
    };
    let server = Server::start(&binary, &dir.path().join("landform"))?;
    let mut client = server.client().await?;
    client.create_namespace("bench").await?;
    let mut deletions = Vec::new();
    for shape in shapes {
        eprintln!("· {}", shape.name());
        deletions.push(measure(&server, *shape).await?);
    }
    server.stop().await?;
    let mut text = tables(&deletions);
    text.push_str(&format!(
        "\n- Machine: {} cores, {}; {syncs:.0} fdatasync/s. Other processes took {:.0} % of the cores' time during the run.\n",
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

async fn measure(server: &Server, shape: Shape) -> Outcome<Deletion> {
    let clients = server.access.clients(CONNECTIONS).await?;
    let (root, objects) = make(&clients, shape).await?;
    let mut client = clients[0].clone();
    let graph_bytes = graph_bytes(&mut client, objects).await?;
    let bystander = create(&mut client, "bystander", None).await?;
    let before = revision(&mut client).await?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut reader = server.client().await?;
    let reading = tokio::spawn({
        let stop = stop.clone();
        async move { read_until(&mut reader, &stop).await }
    });
    let started = Instant::now();
    delete(&mut client, &root.name, "Cascade").await?;
    wait_until_gone(&mut client, &root.name).await?;
    let time = started.elapsed();
    stop.store(true, Ordering::Relaxed);
    let gets = reading.await??;
    let writes = (revision(&mut client).await? - before) as f64 / objects as f64;
    delete(&mut client, &bystander.name, "Background").await?;
    Ok(Deletion {
        shape,
        objects,
        time,
        writes,
        get_p99: Duration::from_secs_f64(percentile(&gets, 99)),
        gets: gets.len(),
        graph_bytes,
    })
}

/// An object that was made.
#[derive(Clone)]
struct Made {
    name: String,
    uid: String,
}

/// Makes the objects of a shape; returns the root and how many there are.
async fn make(clients: &[Client], shape: Shape) -> Outcome<(Made, usize)> {
    let root = create(&mut clients[0].clone(), "root", None).await?;
    match shape {
        Shape::Fan(size) => {
            make_below(clients, std::slice::from_ref(&root), size).await?;
            Ok((root, size + 1))
        }
        Shape::Chain(size) => {
            let mut client = clients[0].clone();
            let mut last = root.clone();
            for number in 1..size {
                last = create(&mut client, &format!("link-{number}"), Some(&last)).await?;
            }
            Ok((root, size))
        }
        Shape::Tree(levels) => {
            let mut level = vec![root.clone()];
            let mut objects = 1;
            for _ in 0..levels {
                level = make_below(clients, &level, 10).await?;
                objects += level.len();
            }
            Ok((root, objects))
        }
    }
}

/// Makes so many dependents of each owner, many at a time.
async fn make_below(clients: &[Client], owners: &[Made], each: usize) -> Outcome<Vec<Made>> {
    let all: Vec<(String, Made)> = owners
        .iter()
        .flat_map(|owner| (0..each).map(move |n| (format!("{}-{n}", owner.name), owner.clone())))
        .collect();
    let all = Arc::new(all);
    let mut tasks = JoinSet::new();
    for task in 0..WRITERS {
        let mut client = clients[task % clients.len()].clone();
        let all = all.clone();
        tasks.spawn(async move {
            let mut made = Vec::new();
            for (name, owner) in all.iter().skip(task).step_by(WRITERS) {
                made.push(create(&mut client, name, Some(owner)).await?);
            }
            Ok::<_, crate::AnyError>(made)
        });
    }
    let mut made = Vec::with_capacity(all.len());
    while let Some(part) = tasks.join_next().await {
        made.extend(part??);
    }
    Ok(made)
}

async fn create(client: &mut Client, name: &str, owner: Option<&Made>) -> Outcome<Made> {
    let mut object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": "value"},
    });
    if let Some(owner) = owner {
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "v1", "kind": "ConfigMap", "name": owner.name, "uid": owner.uid,
            "blockOwnerDeletion": true,
        }]);
    }
    let uri = client.uri(MAPS)?;
    let answer = client
        .send(Method::POST, uri, &[], object.to_string().into())
        .await?;
    let created = body(answer, StatusCode::CREATED).await?;
    let uid = created["metadata"]["uid"].as_str().ok_or("no uid")?;
    Ok(Made {
        name: name.to_owned(),
        uid: uid.to_owned(),
    })
}

async fn delete(client: &mut Client, name: &str, policy: &str) -> Outcome {
    let uri = client.uri(&format!("{MAPS}/{name}?propagationPolicy={policy}"))?;
    let answer = client.send(Method::DELETE, uri, &[], Bytes::new()).await?;
    body(answer, StatusCode::OK).await.map(drop)
}

/// Watches one object until it is gone.
async fn wait_until_gone(client: &mut Client, name: &str) -> Outcome {
    let path = format!("{MAPS}?watch=true&fieldSelector=metadata.name%3D{name}");
    let uri = client.uri(&path)?;
    let mut events = client
        .send(Method::GET, uri, &[], Bytes::new())
        .await?
        .into_body();
    let mut seen = String::new();
    let mut check = client.clone();
    let uri = client.uri(&format!("{MAPS}/{name}"))?;
    let found = check.send(Method::GET, uri, &[], Bytes::new()).await?;
    if found.status() == StatusCode::NOT_FOUND {
        return Ok(());
    }
    while let Some(frame) = events.frame().await {
        if let Ok(data) = frame?.into_data() {
            seen.push_str(&String::from_utf8_lossy(&data));
        }
        if seen.contains("\"type\":\"DELETED\"") {
            return Ok(());
        }
    }
    Err(format!("the watch of {name} ended before it was gone").into())
}

async fn read_until(client: &mut Client, stop: &AtomicBool) -> Outcome<Vec<Duration>> {
    let uri = client.uri(&format!("{MAPS}/bystander"))?;
    let mut times = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        client.read(uri.clone()).await?;
        times.push(begun.elapsed());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    times.sort_unstable();
    Ok(times)
}

/// The newest revision.
async fn revision(client: &mut Client) -> Outcome<u64> {
    let uri = client.uri(&format!("{MAPS}?limit=1"))?;
    let answer = client.send(Method::GET, uri, &[], Bytes::new()).await?;
    let list = body(answer, StatusCode::OK).await?;
    let version = list["metadata"]["resourceVersion"].as_str();
    Ok(version.ok_or("no version")?.parse()?)
}

/// The memory of the collector's graph for each object, when it has seen them all.
async fn graph_bytes(client: &mut Client, objects: usize) -> Outcome<f64> {
    loop {
        let uri = client.uri("/metrics")?;
        let text = client.text(uri).await?;
        let text = String::from_utf8_lossy(&text);
        let figure = |name: &str| -> Outcome<f64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            Ok(line.ok_or("no such metric")?.trim().parse()?)
        };
        let seen = figure("landform_collector_graph_objects ")?;
        if seen >= objects as f64 {
            return Ok(figure("landform_collector_graph_bytes ")? / seen);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn body(
    answer: http::Response<hyper::body::Incoming>,
    expected: StatusCode,
) -> Outcome<Value> {
    let status = answer.status();
    let bytes = answer.into_body().collect().await?.to_bytes();
    if status != expected {
        return Err(format!("{status}: {}", String::from_utf8_lossy(&bytes)).into());
    }
    Ok(serde_json::from_slice(&bytes)?)
}

fn tables(deletions: &[Deletion]) -> String {
    let mut text =
        String::from("| figure | goal | reached | verdict |\n| --- | --- | --- | --- |\n");
    let mut line = |what: String, unit, goal: f64, reached: f64| {
        let figure = Figure {
            what,
            unit,
            goal: Goal::AtMost(goal),
            reached,
        };
        text.push_str(&figure.line());
        text.push('\n');
    };
    let seconds = |deletion: &Deletion| deletion.time.as_secs_f64();
    let chain = |size: usize| {
        let found = |deletion: &&Deletion| matches!(deletion.shape, Shape::Chain(n) if n == size);
        deletions.iter().find(found).map(seconds)
    };
    for deletion in deletions {
        let goal = match deletion.shape {
            Shape::Fan(size) if size <= 1_000 => 1.0,
            Shape::Fan(_) => 40.0,
            Shape::Chain(10_000) => chain(1_000).map_or(30.0, |short| short * 10.0 * 1.2),
            Shape::Chain(_) => 3.0,
            Shape::Tree(_) => 5.0,
        };
        line(deletion.shape.name(), "s", goal, seconds(deletion));
    }
    let worst = |figure: fn(&Deletion) -> f64| deletions.iter().map(figure).fold(0.0, f64::max);
    line(
        "writes for each object, at worst".into(),
        "",
        2.0,
        worst(|d| d.writes),
    );
    let large = deletions.iter().filter(|d| d.objects > 1_000);
    let bytes = large.map(|d| d.graph_bytes).fold(0.0, f64::max);
    line(
        "graph memory for each object, without names".into(),
        "bytes",
        200.0,
        bytes,
    );
    let worst_get = worst(|d| d.get_p99.as_secs_f64() * 1e3);
    line(
        "a get meanwhile, p99 at worst".into(),
        "ms",
        20.0,
        worst_get,
    );
    text.push_str("\n| shape | objects | s | objects/s | writes for each | get p99 ms | gets |\n| --- | --- | --- | --- | --- | --- | --- |\n");
    for deletion in deletions {
        text.push_str(&format!(
            "| {} | {} | {:.2} | {:.0} | {:.2} | {:.1} | {} |\n",
            deletion.shape.name(),
            deletion.objects,
            seconds(deletion),
            deletion.objects as f64 / seconds(deletion),
            deletion.writes,
            deletion.get_p99.as_secs_f64() * 1e3,
            deletion.gets,
        ));
    }
    text.push_str(
        "\nThe goal of the longer chain is ten times the shorter one's time and a fifth.\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::{COMMAND, SECTION, with_section};

    #[test]
    fn a_section_is_added_replaced_and_leaves_others_alone() {
        let once = with_section(
            "# Benchmarks\n\n## Notes\n\nx\n",
            SECTION,
            COMMAND,
            "first\n",
        );
        assert!(
            once.starts_with("# Benchmarks\n\n## Notes\n\nx\n\n## Deletions\n"),
            "{once}"
        );
        let then = format!("{once}\n## More\n\ny\n");
        let twice = with_section(&then, SECTION, COMMAND, "second\n");
        assert!(
            twice.contains("second") && !twice.contains("first"),
            "{twice}"
        );
        assert!(twice.ends_with("\n## More\n\ny\n"), "{twice}");
    }
}
