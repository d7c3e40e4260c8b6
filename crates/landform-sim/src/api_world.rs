//! A world of clients only: they create, change and delete config maps at random while others watch.
//!
//! What it holds the API server to, whatever the network does and however often the process dies:
//! - C4: no write is based on anything but the version right before it;
//! - C5: every list is the state at its version, and what a watch shows, through all its resumptions, is
//!   the log after it, without a gap and nothing twice;
//! - G10: deletions end, and nothing is left that an owner should have taken along.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::Method;
use landform_store::memory::MemoryStore;
use landform_store::{Bucket, Event, EventKind, RangeQuery, Revision, Store as _};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::chance::{CERTAIN, Chance};
use crate::client::Client;
use crate::disk::Disk;
use crate::end_state::objects;
use crate::fault::Rates;
use crate::process::Process;
use crate::report::Report;
use crate::simulation::{Action, Failure, RETRIES, Simulation, Template, World};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const BUCKET: &str = "configmaps";
const CLIENTS: usize = 3;
const WATCHERS: usize = 2;
/// So many different names are used: few, so that clients meet.
const NAMES: u64 = 6;
/// The finalizer that clients put on some maps, and remove from marked ones.
const FINALIZER: &str = "sim.landform.dev/held";

/// The clients and watchers, and what the watchers have seen.
pub struct ApiWorld {
    chance: Chance,
    /// How many operations are left, of all clients in all processes.
    left: Arc<AtomicU64>,
    sessions: Arc<Mutex<Vec<Session>>>,
}

/// A list and the watches that resumed from it.
#[derive(Clone, Debug, Default)]
struct Session {
    listed_at: u64,
    listed: BTreeSet<(String, u64)>,
    events: Vec<Seen>,
    /// Whether its process still ran at the end.
    alive: bool,
}

/// An event: revision, kind, name.
type Seen = (u64, String, String);

impl ApiWorld {
    /// Clients that do so many operations altogether.
    #[must_use]
    pub fn new(seed: u64, operations: u64) -> Self {
        Self {
            chance: Chance::new(seed, "clients"),
            left: Arc::new(AtomicU64::new(operations)),
            sessions: Arc::default(),
        }
    }

    /// Compares everything that was seen with what is stored.
    ///
    /// # Errors
    /// The rule that was broken, and how.
    pub fn judge(&self, disk: &Disk) -> Result<(), String> {
        let log = log_after(disk.store(), Revision::ZERO);
        for event in &log {
            based_on_the_version_before(event)?;
        }
        for session in self.sessions.lock().iter() {
            session.judge(disk.store(), &log)?;
        }
        deletions_ended(disk.store())
    }
}

impl World for ApiWorld {
    fn start<'a>(&'a self, process: &'a Process) -> BoxFuture<'a, Result<(), String>> {
        for number in 0..CLIENTS {
            let client = Random {
                client: process.client(&format!("client-{number}")),
                chance: self.chance.clone(),
            };
            tokio::spawn(client.work(self.left.clone()));
        }
        for number in 0..WATCHERS {
            let client = process.client(&format!("watcher-{number}"));
            tokio::spawn(watch(client, self.sessions.clone()));
        }
        futures::future::ready(Ok(())).boxed()
    }

    fn patience(&self) -> Duration {
        RETRIES
    }

    fn process_ended(&self) {
        for session in self.sessions.lock().iter_mut() {
            session.alive = false;
        }
    }
}

/// A client that does what comes to its mind.
struct Random {
    client: Client,
    chance: Chance,
}

impl Random {
    async fn work(self, left: Arc<AtomicU64>) {
        let take = |left: u64| left.checked_sub(1);
        while left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, take)
            .is_ok()
        {
            // What fails is forgotten: the next operation looks afresh.
            let _ = self.operate().await;
            let pause = Duration::from_millis(self.chance.below(300));
            tokio::time::sleep(pause).await;
        }
        self.tidy_up().await;
    }

    async fn operate(&self) -> Option<()> {
        let name = format!("map-{}", self.chance.below(NAMES));
        let path = format!("{MAPS}/{name}");
        let found = self.client.send(Method::GET, &path, None).await.ok()?;
        if found.code == 404 {
            return self.create(&name).await;
        }
        let mut map = found.value;
        match self.chance.below(10) {
            0..2 => {
                self.client.send(Method::DELETE, &path, None).await.ok()?;
            }
            2..4 => self.let_go(&path, &map).await?,
            _ => {
                let count: u64 = map["data"]["count"].as_str()?.parse().ok()?;
                map["data"]["count"] = json!((count + 1).to_string());
                self.client
                    .send(Method::PUT, &path, Some(&map))
                    .await
                    .ok()?;
            }
        }
        Some(())
    }

    async fn create(&self, name: &str) -> Option<()> {
        let mut metadata = json!({"name": name});
        if self.chance.happens(CERTAIN / 3) {
            let owner = format!("map-{}", self.chance.below(NAMES));
            let path = format!("{MAPS}/{owner}");
            let owner = self.client.send(Method::GET, &path, None).await.ok()?.value;
            let uid = owner["metadata"]["uid"].as_str()?;
            let name = &owner["metadata"]["name"];
            metadata["ownerReferences"] =
                json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}]);
        }
        if self.chance.happens(CERTAIN / 4) {
            metadata["finalizers"] = json!([FINALIZER]);
        }
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"count": "0"}});
        self.client
            .send(Method::POST, MAPS, Some(&map))
            .await
            .ok()?;
        Some(())
    }

    /// Removes the clients' finalizer of a marked map.
    async fn let_go(&self, path: &str, map: &Value) -> Option<()> {
        let mut map = map.clone();
        map["metadata"]["deletionTimestamp"].as_str()?;
        let finalizers = map["metadata"]["finalizers"].as_array_mut()?;
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        self.client.send(Method::PUT, path, Some(&map)).await.ok()?;
        Some(())
    }

    /// Lets everything go that is marked, until nothing is.
    async fn tidy_up(&self) {
        loop {
            let list = self.client.send(Method::GET, MAPS, None).await;
            let list = list.ok().filter(crate::client::Answer::is_success);
            if let Some(list) = list {
                for map in list.value["items"].as_array().into_iter().flatten() {
                    let name = map["metadata"]["name"].as_str().unwrap_or_default();
                    let _ = self.let_go(&format!("{MAPS}/{name}"), map).await;
                }
            }
            tokio::time::sleep(Duration::from_secs(300)).await;
        }
    }
}

/// Lists and watches for ever, as a client library does.
async fn watch(client: Client, sessions: Arc<Mutex<Vec<Session>>>) {
    loop {
        let path = format!("{MAPS}?resourceVersion=0");
        let list = match client.send(Method::GET, &path, None).await {
            Ok(list) if list.is_success() => list.value,
            Ok(_) | Err(_) => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let session = Session {
            listed_at: version(&list["metadata"]),
            listed: list["items"]
                .as_array()
                .into_iter()
                .flatten()
                .map(named)
                .collect(),
            events: Vec::new(),
            alive: true,
        };
        let mut position = session.listed_at;
        let index = {
            let mut sessions = sessions.lock();
            sessions.push(session);
            sessions.len() - 1
        };
        while follow(&client, &mut position, |seen| {
            if let Some(session) = sessions.lock().get_mut(index) {
                session.events.push(seen);
            }
        })
        .await
        {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        if let Some(session) = sessions.lock().get_mut(index) {
            session.alive = false;
        }
    }
}

/// One watch, until it ends; says whether it can be resumed.
async fn follow(client: &Client, position: &mut u64, mut note: impl FnMut(Seen)) -> bool {
    let watch = client.watch(MAPS, &position.to_string()).await;
    let Ok(mut watch) = watch else { return true };
    if watch.code == 410 {
        return false;
    }
    if watch.code != 200 {
        return true;
    }
    while let Some(event) = watch.next().await {
        let kind = event["type"].as_str().unwrap_or_default();
        match kind {
            "ERROR" => return false,
            "BOOKMARK" => *position = version(&event["object"]["metadata"]),
            _ => {
                let (name, version) = named(&event["object"]);
                *position = version;
                note((version, kind.to_owned(), name));
            }
        }
    }
    true
}

fn named(object: &Value) -> (String, u64) {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    (name.to_owned(), version(metadata))
}

fn version(metadata: &Value) -> u64 {
    let text = metadata["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

impl Session {
    /// C5: the list is the state, and the events are the log.
    fn judge(&self, store: &MemoryStore, log: &[Arc<Event>]) -> Result<(), String> {
        let query = RangeQuery {
            bucket: Bucket::new(BUCKET),
            prefix: "default/".into(),
            after: None,
            limit: None,
            at: Some(Revision(self.listed_at)),
        };
        let page = store.range(query).now_or_never().and_then(Result::ok);
        let stored: BTreeSet<(String, u64)> = page
            .into_iter()
            .flat_map(|page| page.records)
            .map(|record| (in_namespace(&record.key.name), record.modified.0))
            .collect();
        if stored != self.listed {
            let at = self.listed_at;
            return Err(format!(
                "C5: the list at {at} was {:?} instead of {stored:?}",
                self.listed
            ));
        }
        let happened: Vec<Seen> = log
            .iter()
            .filter(|event| event.revision.0 > self.listed_at)
            .map(|event| as_seen(event))
            .collect();
        let complete = if self.alive {
            happened == self.events
        } else {
            happened.starts_with(&self.events)
        };
        if complete {
            Ok(())
        } else {
            Err(format!(
                "C5: after the list at {} a watcher saw {:?} of {happened:?}",
                self.listed_at, self.events
            ))
        }
    }
}

fn in_namespace(key: &str) -> String {
    key.strip_prefix("default/").unwrap_or(key).to_owned()
}

fn as_seen(event: &Event) -> Seen {
    let kind = match event.kind {
        EventKind::Created => "ADDED",
        EventKind::Updated => "MODIFIED",
        EventKind::Deleted => "DELETED",
    };
    (
        event.revision.0,
        kind.to_owned(),
        in_namespace(&event.record.key.name),
    )
}

/// All events of maps after a revision.
fn log_after(store: &MemoryStore, after: Revision) -> Vec<Arc<Event>> {
    let mut log = Vec::new();
    let Ok(mut watch) = store.watch(&Bucket::new(BUCKET), "default/", after) else {
        return log;
    };
    while let Some(Ok(mut events)) = watch.next().now_or_never() {
        log.append(&mut events);
    }
    log
}

/// C4: a count that a write took from an older version would go back or stand still.
fn based_on_the_version_before(event: &Event) -> Result<(), String> {
    let count = |value: &[u8]| {
        let map: Option<Value> = serde_json::from_slice(value).ok();
        let count = map.and_then(|map| map["data"]["count"].as_str()?.parse::<u64>().ok());
        count.unwrap_or(0)
    };
    let Some(previous) = &event.previous else {
        return Ok(());
    };
    let (before, after) = (count(&previous.value), count(&event.record.value));
    if event.kind == EventKind::Updated && after != before && after != before + 1 {
        return Err(format!(
            "C4: at {} the count of {} went from {before} to {after}",
            event.revision, event.record.key
        ));
    }
    Ok(())
}

/// G10: nothing waits to be deleted, and nobody's owners have all gone.
fn deletions_ended(store: &MemoryStore) -> Result<(), String> {
    let objects = objects(store);
    let uids: BTreeSet<&str> = objects
        .values()
        .filter_map(|object| object["metadata"]["uid"].as_str())
        .collect();
    for (name, object) in &objects {
        let metadata = &object["metadata"];
        if metadata["deletionTimestamp"].is_string() {
            return Err(format!("G10: {name} is marked and still there: {object}"));
        }
        let owners = metadata["ownerReferences"].as_array();
        let abandoned = owners.is_some_and(|owners| {
            let mut uid = owners.iter().filter_map(|owner| owner["uid"].as_str());
            !uid.any(|uid| uids.contains(uid))
        });
        if abandoned {
            return Err(format!("G10: {name} outlived its owners: {object}"));
        }
    }
    Ok(())
}

/// Runs one seed.
#[must_use]
pub fn run(template: &Template, seed: u64) -> Report {
    let rates = Rates::random(&Chance::new(seed, "rates"));
    let world = Arc::new(ApiWorld::new(seed, 120));
    let mut simulation = Simulation::new(world.clone(), template, seed, rates);
    let result = go_through(&mut simulation);
    let result = result.and_then(|()| Ok(world.judge(&simulation.surroundings().disk)?));
    Report::of(seed, result, simulation.surroundings())
}

fn go_through(simulation: &mut Simulation<ApiWorld>) -> Result<(), Failure> {
    for action in [
        Action::Wait(Duration::from_secs(60)),
        Action::Rates(Rates::none()),
        Action::Rest,
        // Orphans whose owner went before they came are found by the next process.
        Action::Restart,
        Action::Rest,
        Action::Silence(Duration::from_secs(15 * 60)),
    ] {
        simulation.perform(&action)?;
    }
    Ok(())
}
