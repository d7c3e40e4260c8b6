//! Watch: every change after a revision, in order, as a stream of lines.
//!
//! All watchers of a resource read one shared log, each with a cursor of its own. What an event
//! looks like on the wire is made once, by the first watcher that needs it, and kept with the event;
//! the others send the same bytes. A watcher that is too slow falls out of the history and gets 410.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use landform_store::{Event, EventKind, Record, Revision, Watch, WatchError};
use landform_threads::aside_if;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::list::{Selection, prefix, revision};
use super::{Place, present};
use crate::answers;
use crate::body::Body;
use crate::error::{ApiError, Reason, Result};
use crate::heavy::LARGE_BYTES;
use crate::identity::Identity;
use crate::lanes::Held;
use crate::registry::{Presentation, Resource};
use crate::request::accept::{Encoding, Shape};
use crate::respond;
use crate::server::{ApiServer, Call};
use crate::table;

/// The mark on the bookmark that ends the initial events.
const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";
/// A watch ends this long after its last bookmark, so that a client resumes from a fresh revision.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// Pieces of a watch are put together up to this size.
const PIECE: usize = 64 * 1024;

/// Where a watch starts.
enum Start {
    /// With the objects that exist, as if they had just been added.
    Initial {
        /// And then a bookmark that says so.
        marked: bool,
    },
    /// After a revision.
    After(Revision),
    /// With the next change.
    Now,
}

fn start(call: &Call) -> Result<Start> {
    let query = &call.query;
    let version = query.get("resourceVersion");
    let initial = query.optional_flag("sendInitialEvents")?;
    let matching = query.get("resourceVersionMatch");
    let invalid = |message: &str| Err(ApiError::new(Reason::Invalid, message));
    match (initial, matching) {
        (Some(_), Some("NotOlderThan")) | (None, None) => {}
        (Some(_), _) => {
            return invalid(
                "sendInitialEvents: Forbidden: it needs resourceVersionMatch=NotOlderThan",
            );
        }
        (None, Some(_)) => {
            return invalid(
                "resourceVersionMatch: Forbidden: a watch takes it only with sendInitialEvents",
            );
        }
    }
    match (initial, version) {
        (Some(true), _) => Ok(Start::Initial { marked: true }),
        (Some(false), None) => Ok(Start::Now),
        (Some(false) | None, Some("0")) | (None, None) => Ok(Start::Initial { marked: false }),
        (Some(false) | None, Some(text)) => Ok(Start::After(revision(text)?)),
    }
}

impl ApiServer {
    pub(super) async fn watch(&self, call: &Call, place: &Place) -> Result<Response<Body>> {
        let selection = Selection::from_call(call, place)?;
        let form = present::form(call)?;
        if form.encoding != Encoding::Json {
            return Err(ApiError::new(
                Reason::NotAcceptable,
                "a watch is sent as JSON only",
            ));
        }
        let wants_bookmarks = call.query.flag("allowWatchBookmarks")?;
        let start = start(call)?;
        let place_of_user = self.shared.watches.open_watch(&call.identity)?;
        let lines = Lines {
            resource: place.resource.clone(),
            server: self.clone(),
            shape: form.shape,
            include: table::Include::from_query(&call.query)?,
            columns_sent: false,
        };
        let mut initial = Initial::default();
        let after = match start {
            Start::After(after) => after,
            Start::Now => self.shared.store.revision(),
            Start::Initial { marked } => {
                if let Some(text) = call.query.get("resourceVersion") {
                    self.reach(revision(text)?).await?;
                }
                let (page, _) = self.select(place, &selection, None, None, None).await?;
                initial.records = page.records.into_iter();
                initial.end = (marked && wants_bookmarks).then_some(page.revision);
                page.revision
            }
        };
        let prefix = prefix(place, &selection);
        let watch = match self
            .shared
            .store
            .watch(&place.resource.bucket, &prefix, after)
        {
            Ok(watch) => watch,
            // As Kubernetes says it: clients such as kube-rs list anew after this event, and not after a 410 of the
            // request itself.
            Err(error @ WatchError::Compacted { .. }) => {
                let status = ApiError::from(error).to_status();
                let only = line("ERROR", status.to_string().as_bytes());
                return Ok(respond::pieces(Box::pin(futures::stream::iter([only]))));
            }
            Err(error @ WatchError::Closed) => return Err(error.into()),
        };
        let lifetime = self.watch_lifetime(call)?;
        let watcher = Watcher {
            watch,
            lines,
            selection,
            initial,
            queue: VecDeque::new(),
            events: VecDeque::new(),
            reader: call.identity.clone(),
            deadline: Instant::now() + lifetime,
            bookmarks: wants_bookmarks.then(|| Bookmarks {
                interval: self.shared.config.bookmark_interval,
                next: Instant::now()
                    + self
                        .shared
                        .config
                        .bookmark_interval
                        .min(lifetime.saturating_sub(LAST_BOOKMARK)),
                last: after,
            }),
            ended: false,
            stopped: Box::pin(self.stopped()),
            _open: (
                self.shared.metrics.watch_opened(&place.resource),
                place_of_user,
            ),
        };
        let stream = futures::stream::unfold(watcher, |mut watcher| async move {
            watcher.next_piece().await.map(|piece| (piece, watcher))
        });
        Ok(respond::pieces(Box::pin(stream)))
    }

    fn watch_lifetime(&self, call: &Call) -> Result<Duration> {
        if let Some(seconds) = call
            .query
            .number("timeoutSeconds")?
            .filter(|seconds| *seconds > 0)
        {
            return Ok(Duration::from_secs(seconds.min(24 * 3600)));
        }
        // Between once and twice the least, so that clients don't all come back together.
        let least = self.shared.config.watch_timeout;
        let percent = u32::try_from(self.shared.environment.random() % 100).unwrap_or(0);
        Ok(least + least * percent / 100)
    }
}

struct Bookmarks {
    interval: Duration,
    next: Instant,
    last: Revision,
}

/// One client's watch.
struct Watcher {
    watch: Box<dyn Watch>,
    lines: Lines,
    selection: Selection,
    initial: Initial,
    queue: VecDeque<Bytes>,
    /// Events of which no lines were made yet: that happens as the client takes them.
    events: VecDeque<Arc<Event>>,
    /// Whose share the lines that were not read are.
    reader: Identity,
    deadline: Instant,
    bookmarks: Option<Bookmarks>,
    ended: bool,
    stopped: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>,
    _open: (crate::metrics::OpenWatch, crate::shares::Share),
}

/// What a watch begins with: its lines are made as the client takes them.
#[derive(Default)]
struct Initial {
    records: std::vec::IntoIter<Record>,
    /// The revision of the bookmark that ends it.
    end: Option<Revision>,
}

impl Watcher {
    /// Makes lines of what the watch begins with: as many as are sent at once.
    async fn take_initial(&mut self) -> Result<()> {
        while let Some(record) = self.initial.records.as_slice().first()
            && self.has_room_for(record)
        {
            let turn = self.turn(record.value.len()).await?;
            let Some(record) = self.initial.records.next() else {
                break;
            };
            let line = || self.lines.record("ADDED", &record, record.modified);
            let line = aside_if(turn.is_some(), line);
            self.queue.push_back(line);
        }
        if self.initial.records.as_slice().is_empty()
            && let Some(revision) = self.initial.end.take()
        {
            self.queue.push_back(self.lines.bookmark(revision, true));
        }
        Ok(())
    }

    /// Makes lines of events: as many as are sent at once.
    async fn take_events(&mut self) -> Result<()> {
        while let Some(event) = self.events.front()
            && self.has_room_for(&event.record)
        {
            let before = event
                .previous
                .as_ref()
                .map_or(0, |record| record.value.len());
            let turn = self.turn(event.record.value.len().max(before)).await?;
            let Some(event) = self.events.pop_front() else {
                break;
            };
            let line = || self.lines.event(&event, &self.selection);
            if let Some(line) = aside_if(turn.is_some(), line) {
                self.queue.push_back(line);
            }
        }
        Ok(())
    }

    /// Waits until it is the user's turn to have an object of this length decoded, if it is large and has to be.
    async fn turn(&mut self, length: usize) -> Result<Option<Held>> {
        let decodes = self.lines.decodes() || self.selection.decodes();
        if !decodes || length <= LARGE_BYTES || !landform_threads::has_others() {
            return Ok(None);
        }
        let lane = &self.lines.server.shared.heavy_watches;
        Ok(Some(lane.enter(&self.reader.counted_as()).await?))
    }

    /// Whether the line of a record is sent together with those that wait. A line that waits for the next piece is in nobody's share.
    fn has_room_for(&self, record: &Record) -> bool {
        let waiting: usize = self.queue.iter().map(Bytes::len).sum();
        self.queue.is_empty() || waiting + record.value.len() < PIECE
    }

    /// A piece as a part of what its reader has not read; a watch of one who has too much of that ends.
    fn counted(&mut self, piece: Bytes) -> Bytes {
        let answers = &self.lines.server.shared.answers;
        answers::count_piece(answers, &self.reader, piece)
            .unwrap_or_else(|error| self.broken(&error))
    }

    /// Ends the watch; what is left to send is this.
    fn broken(&mut self, error: &ApiError) -> Bytes {
        self.queue.clear();
        self.events.clear();
        self.initial = Initial::default();
        self.ended = true;
        line("ERROR", error.to_status().to_string().as_bytes())
    }

    async fn take_lines(&mut self) -> Result<()> {
        self.take_initial().await?;
        self.take_events().await
    }

    /// The next bytes to send; `None` when the watch is over.
    async fn next_piece(&mut self) -> Option<Bytes> {
        loop {
            if self.queue.is_empty()
                && let Err(error) = self.take_lines().await
            {
                return Some(self.broken(&error));
            }
            if let Some(piece) = self.queued() {
                return Some(self.counted(piece));
            }
            if self.ended {
                return None;
            }
            let wake = self
                .bookmarks
                .as_ref()
                .map_or(self.deadline, |b| b.next.min(self.deadline));
            tokio::select! {
                biased;
                events = self.watch.next() => self.take(events),
                () = tokio::time::sleep_until(wake) => self.time_passed(),
                () = &mut self.stopped => self.ended = true,
            }
        }
    }

    /// What waits to be sent, put together.
    fn queued(&mut self) -> Option<Bytes> {
        let first = self.queue.pop_front()?;
        if self.queue.is_empty() || first.len() >= PIECE {
            return Some(first);
        }
        let mut piece = Vec::with_capacity(PIECE.min(first.len() * (self.queue.len() + 1)));
        piece.extend_from_slice(&first);
        while let Some(line) = self.queue.front()
            && piece.len() + line.len() <= PIECE
        {
            piece.extend_from_slice(line);
            self.queue.pop_front();
        }
        Some(piece.into())
    }

    fn take(&mut self, events: Result<Vec<Arc<Event>>, WatchError>) {
        match events {
            Ok(events) => self.events.extend(events),
            Err(error) => {
                let line = self.broken(&ApiError::from(error));
                self.queue.push_back(line);
            }
        }
    }

    fn time_passed(&mut self) {
        let now = Instant::now();
        if let Some(bookmarks) = &mut self.bookmarks
            && now >= bookmarks.next
        {
            let progress = self.watch.progress();
            if progress > bookmarks.last {
                bookmarks.last = progress;
                self.queue.push_back(self.lines.bookmark(progress, false));
            }
            // The last one comes right before the end.
            let last = self
                .deadline
                .checked_sub(LAST_BOOKMARK)
                .unwrap_or(self.deadline);
            bookmarks.next = if now < last {
                (now + bookmarks.interval).min(last)
            } else {
                self.deadline
            };
        }
        if now >= self.deadline {
            self.ended = true;
        }
    }
}

/// How events look on the wire for one client.
struct Lines {
    resource: Arc<Resource>,
    server: ApiServer,
    shape: Shape,
    include: table::Include,
    /// A watch of a table sends the column definitions once.
    columns_sent: bool,
}

/// The lines of one event, shared by all watchers of it: one for each resource version served.
#[derive(Default)]
struct SharedLines(Mutex<Vec<(String, &'static str, Bytes)>>);

/// The events whose lines are kept. Only recent ones are: an event stays in the history for minutes,
/// its lines are needed while its watchers send it.
#[derive(Default)]
pub(crate) struct RecentLines(Mutex<Recent>);

#[derive(Default)]
struct Recent {
    /// With the size of the first line of each.
    events: VecDeque<(Arc<SharedLines>, usize)>,
    bytes: usize,
}

/// The lines of so many events are kept.
const RECENT: usize = 1024;
/// The lines that are kept may take this many bytes.
const RECENT_BYTES_MAX: usize = 16 << 20;

impl RecentLines {
    fn keep(&self, lines: &Arc<SharedLines>, bytes: usize) {
        let mut recent = self.0.lock();
        recent.events.push_back((lines.clone(), bytes));
        recent.bytes += bytes;
        let mut dropped = Vec::new();
        while (recent.events.len() > RECENT || recent.bytes > RECENT_BYTES_MAX)
            && let Some((oldest, bytes)) = recent.events.pop_front()
        {
            recent.bytes -= bytes;
            dropped.push(oldest);
        }
        drop(recent);
        for oldest in dropped {
            oldest.0.lock().clear();
        }
    }
}

impl Lines {
    /// Whether a line is made of an object that was decoded, and not copied.
    fn decodes(&self) -> bool {
        self.shape != Shape::Full || self.resource.presentation == Presentation::NewEvents
    }

    /// The line for an event, if the selection sees anything of it.
    fn event(&mut self, event: &Event, selection: &Selection) -> Option<Bytes> {
        let resource = self.resource.clone();
        let selected =
            |record: &Record| selection.is_everything() || selection.matches(&resource, record);
        let now = event.kind != EventKind::Deleted && selected(&event.record);
        let (type_, record) = match event.kind {
            EventKind::Created => ("ADDED", &event.record),
            EventKind::Deleted => ("DELETED", &event.record),
            EventKind::Updated => {
                let before = event
                    .previous
                    .as_ref()
                    .filter(|previous| selected(previous));
                match (before, now) {
                    (Some(_), true) => ("MODIFIED", &event.record),
                    (None, true) => ("ADDED", &event.record),
                    // It left the selection: the client sees it go as it last knew it.
                    (Some(previous), false) => ("DELETED", previous),
                    (None, false) => return None,
                }
            }
        };
        let seen = match event.kind {
            EventKind::Created => now,
            EventKind::Deleted => selected(&event.record),
            EventKind::Updated => true,
        };
        if !seen {
            return None;
        }
        let leaves = event.kind == EventKind::Updated && type_ == "DELETED";
        if self.shape != Shape::Full || leaves {
            return Some(self.record(type_, record, event.revision));
        }
        Some(self.shared(event, type_, record))
    }

    fn shared(&self, event: &Event, type_: &'static str, record: &Record) -> Bytes {
        let memo = event
            .memo
            .get_or_init(|| Arc::new(SharedLines::default()))
            .clone();
        let Ok(shared) = memo.downcast::<SharedLines>() else {
            return self.full(type_, record, event.revision);
        };
        let version = self.resource.api_version();
        let mut lines = shared.0.lock();
        if let Some((_, _, line)) = lines.iter().find(|(v, t, _)| *v == version && *t == type_) {
            return line.clone();
        }
        let line = self.full(type_, record, event.revision);
        lines.push((version, type_, line.clone()));
        let is_first = lines.len() == 1;
        drop(lines);
        if is_first {
            self.server.shared.recent_lines.keep(&shared, line.len());
        }
        line
    }

    fn full(&self, type_: &str, record: &Record, revision: Revision) -> Bytes {
        line(
            type_,
            &present::full(&self.resource, &record.value, revision),
        )
    }

    /// A line for a record at a revision, in this client's shape.
    fn record(&mut self, type_: &str, record: &Record, revision: Revision) -> Bytes {
        if self.shape == Shape::Full {
            return self.full(type_, record, revision);
        }
        if self.shape == Shape::Metadata {
            return match present::metadata_only(&record.value, revision) {
                Ok(metadata) => line(type_, metadata.to_string().as_bytes()),
                Err(error) => line("ERROR", error.to_status().to_string().as_bytes()),
            };
        }
        match present::object(&self.resource, &record.value, revision) {
            Ok(object) => {
                let rows = vec![table::row(&self.resource, object, self.include)];
                self.table(type_, rows, revision)
            }
            Err(error) => line("ERROR", error.to_status().to_string().as_bytes()),
        }
    }

    fn table(&mut self, type_: &str, rows: Vec<Value>, revision: Revision) -> Bytes {
        let columns = !std::mem::replace(&mut self.columns_sent, true);
        let metadata = json!({"resourceVersion": revision.to_string()});
        line(
            type_,
            table::table(&self.resource, rows, &metadata, columns)
                .to_string()
                .as_bytes(),
        )
    }

    fn bookmark(&mut self, revision: Revision, ends_initial: bool) -> Bytes {
        let mut metadata =
            json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
        if ends_initial {
            metadata["annotations"] = json!({INITIAL_EVENTS_END: "true"});
        }
        if self.shape == Shape::Table {
            let object = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata});
            let row = json!({"cells": [], "object": object});
            return self.table("BOOKMARK", vec![row], revision);
        }
        let (api_version, kind) = match self.shape {
            Shape::Metadata => (
                "meta.k8s.io/v1".to_owned(),
                "PartialObjectMetadata".to_owned(),
            ),
            Shape::Full | Shape::Table => (self.resource.api_version(), self.resource.kind.clone()),
        };
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
        line("BOOKMARK", object.to_string().as_bytes())
    }
}

/// `{"type":…,"object":…}` and a line end.
fn line(type_: &str, object: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(object.len() + 40);
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(type_.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
    out.into()
}
