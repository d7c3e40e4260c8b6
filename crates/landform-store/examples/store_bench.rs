//! Measures the embedded store: durable writes, opening, memory, and the cost of many watchers.
//!
//! `cargo run --release -p landform-store --example store_bench [seconds per step; 0 for opening and watchers only]`

#![expect(clippy::print_stdout, reason = "the figures are the output")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use landform_store::embedded::{EmbeddedStore, Options};
use landform_store::{Bucket, Compare, Key, Op, Revision, Store, Txn};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const VALUE_BYTES: usize = 1024;
const OBJECTS: usize = 100_000;
const WATCHERS: usize = 1_000;

fn main() -> Outcome<()> {
    let argument = std::env::args().nth(1);
    let runtime = tokio::runtime::Runtime::new()?;
    if let (Some("fill"), Some(path)) = (argument.as_deref(), std::env::args().nth(2)) {
        return fill(&runtime, Path::new(&path));
    }
    let seconds = argument.map_or(Ok(3), |text| text.parse())?;
    let directory = tempfile::tempdir_in(".")?;
    if seconds == 0 {
        opening(&runtime, &directory.path().join("opening"))?;
        return runtime.block_on(watchers(&directory.path().join("watchers")));
    }
    opening(&runtime, &directory.path().join("opening"))?;
    for update in [false, true] {
        for writers in [1, 16, 64, 256] {
            let path = directory.path().join(format!("writes-{update}-{writers}"));
            runtime.block_on(writes(&path, writers, update, Duration::from_secs(seconds)))?;
            std::fs::remove_dir_all(&path)?;
        }
    }
    runtime.block_on(watchers(&directory.path().join("watchers")))
}

/// Creates or overwrites objects from several tasks at once.
async fn writes(path: &Path, writers: usize, update: bool, time: Duration) -> Outcome<()> {
    let store = Arc::new(EmbeddedStore::open(path, Options::default())?);
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let (started, cpu) = (Instant::now(), cpu_time()?);
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let (store, stop, done) = (store.clone(), stop.clone(), done.clone());
            tokio::spawn(async move {
                for turn in 0_u64.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let name = if update { turn % 10 } else { turn };
                    store.commit(put(&format!("ns/{writer}-{name}"))).await?;
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<_, landform_store::Error>(())
            })
        })
        .collect();
    tokio::time::sleep(time).await;
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await??;
    }
    let (elapsed, cpu) = (started.elapsed().as_secs_f64(), cpu_time()? - cpu);
    let done = done.load(Ordering::Relaxed) as f64;
    println!(
        "{} with {writers:3} writers: {:6.0} writes/s, {:4.1} µs CPU per write",
        if update { "updates" } else { "creates" },
        done / elapsed,
        cpu.as_secs_f64() * 1e6 / done
    );
    store.close().await?;
    Ok(())
}

/// One event to many watchers, all of which have it before the next one is written.
async fn watchers(path: &Path) -> Outcome<()> {
    const EVENTS: u32 = 1_000;
    let store = Arc::new(EmbeddedStore::open(path, Options::default())?);
    let seen = Arc::new((AtomicU64::new(0), tokio::sync::Notify::new()));
    for _ in 0..WATCHERS {
        let mut watch = store.watch(&bucket(), "", Revision::ZERO)?;
        let seen = Arc::clone(&seen);
        tokio::spawn(async move {
            while watch.next().await.is_ok() {
                let count = seen.0.fetch_add(1, Ordering::Relaxed) + 1;
                if count.is_multiple_of(WATCHERS as u64) {
                    seen.1.notify_one();
                }
            }
        });
    }
    let (mut slowest, cpu) = (Duration::ZERO, cpu_time()?);
    for turn in 0..EVENTS {
        store.commit(put(&format!("ns/{turn}"))).await?;
        let acknowledged = Instant::now();
        seen.1.notified().await;
        slowest = slowest.max(acknowledged.elapsed());
    }
    let cpu = (cpu_time()? - cpu) / EVENTS;
    println!(
        "one event to {WATCHERS} watchers: {cpu:?} CPU with the write, \
         the last has it {slowest:?} after the acknowledgement at most"
    );
    store.close().await?;
    Ok(())
}

fn fill(runtime: &tokio::runtime::Runtime, path: &Path) -> Outcome<()> {
    let store = EmbeddedStore::open(path, Options::default())?;
    runtime.block_on(async {
        for chunk in 0..OBJECTS / 1000 {
            let txn = (0..1000).fold(Txn::default(), |mut txn, index| {
                txn.writes
                    .append(&mut put(&format!("ns/{chunk}-{index}")).writes);
                txn
            });
            store.commit(txn).await?;
        }
        store.close().await
    })?;
    Ok(())
}

/// Opens what another process filled, so that the memory seen is that of the open store.
fn opening(runtime: &tokio::runtime::Runtime, path: &Path) -> Outcome<()> {
    let filled = std::process::Command::new(std::env::current_exe()?)
        .arg("fill")
        .arg(path)
        .status()?;
    assert!(filled.success(), "filling the store failed");
    let before = resident_bytes()?;
    let (started, cpu) = (Instant::now(), cpu_time()?);
    let store = EmbeddedStore::open(path, Options::default())?;
    let (elapsed, cpu) = (started.elapsed(), cpu_time()? - cpu);
    println!(
        "open with {OBJECTS} objects and {} revisions of history: {elapsed:?}, {cpu:?} CPU, \
         {} MB resident ({} MB before)",
        store.revision().0 - store.compacted().0,
        resident_bytes()? / 1_000_000,
        before / 1_000_000,
    );
    let started = Instant::now();
    let page = runtime.block_on(store.range(landform_store::RangeQuery {
        bucket: bucket(),
        prefix: String::new(),
        after: None,
        limit: Some(10_000),
        at: None,
    }))?;
    let took = started.elapsed();
    println!("a page of {} of them: {took:?}", page.records.len());
    let started = Instant::now();
    let file = path.join("backup");
    runtime.block_on(store.backup(&file))?;
    println!("backup of all of them: {:?}", started.elapsed());
    drop(store);
    let started = Instant::now();
    let report = landform_store::embedded::check(path)?;
    println!("check, {:?}:\n{report}", started.elapsed());
    Ok(())
}

fn bucket() -> Bucket {
    Bucket::new("configmaps")
}

fn put(name: &str) -> Txn {
    let value = Bytes::from(vec![b'x'; VALUE_BYTES]);
    Txn::one(Key::new(&bucket(), name), Compare::Any, Op::Put(value))
}

/// What this process has used of the processors, in user and system mode.
fn cpu_time() -> Outcome<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The command in parentheses may hold spaces; the fields after it are numbered from 3.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split(' ').collect();
    let ticks: u64 = fields[12].parse::<u64>()? + fields[13].parse::<u64>()?;
    Ok(Duration::from_millis(ticks * 10))
}

fn resident_bytes() -> Outcome<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split(' ').nth(1).unwrap_or("0").parse()?;
    Ok(pages * 4096)
}
