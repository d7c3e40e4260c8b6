//! The audit log: who did what to which object, from where, and how it was answered, one JSON line each.
//!
//! 1. `draft.rs` notes what is known when a request arrives, and makes an entry of it when it is answered.
//! 2. `entry.rs` is the line: an `Event` of `audit.k8s.io/v1`, so that tools for Kubernetes' audit logs read it.
//! 3. `flood.rs` says which of many requests without credentials still get a line.
//! 4. `file.rs` writes, and keeps a limited number of files of a limited size.
//!
//! # Guarantees
//! - Nothing of an object but its kind, namespace and name is ever in it.
//! - No request waits for it: lines go through a queue to a thread of their own. What finds the queue full is counted,
//!   and the log says how much is missing.

mod draft;
mod entry;
mod file;
mod flood;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prometheus::{IntCounter, IntCounterVec, Opts};

pub(crate) use self::draft::{Created, Draft, Outcome, Renamed};
use self::entry::{Entry, Facts, Gap};
use self::file::LogFile;
use self::flood::{Floods, WINDOW};

/// Lines of this time are written together. The queue holds ten times what comes in it.
const GATHER: Duration = Duration::from_millis(20);
/// At most this many lines wait to be written.
const QUEUE: usize = 4_096;

/// Where a request comes from. A listener puts it into the request's extensions.
#[derive(Clone, Copy, Debug)]
pub struct PeerAddress(pub SocketAddr);

/// Which requests get a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuditLevel {
    /// Writes, and whatever was refused with 401 or 403.
    #[default]
    Metadata,
    /// Reads and watches as well.
    All,
}

/// What is logged, and where.
#[derive(Clone, Debug)]
pub struct AuditOptions {
    /// The file; older ones are named `FILE.1`, `FILE.2` and so on.
    pub file: PathBuf,
    /// Which requests get a line.
    pub level: AuditLevel,
    /// Whether the server's own parts get lines for what they do in their own name.
    pub own: bool,
    /// A file that would become larger than this is closed, and a new one begun.
    pub file_bytes_max: u64,
    /// At most this many files are kept, the newest included.
    pub files_max: usize,
}

/// The audit log. A clone is the same log.
#[derive(Clone)]
pub struct AuditLog(Arc<Shared>);

struct Shared {
    options: AuditOptions,
    queue: SyncSender<Message>,
    floods: Mutex<Floods>,
    /// Lines that found the queue full.
    unqueued: Arc<AtomicU64>,
    written: IntCounter,
    dropped: IntCounterVec,
    /// What the identifiers of this process's requests begin with.
    start: u64,
    requests: AtomicU64,
}

enum Message {
    Line(String),
    /// Requests without credentials get no line for now: look again when the window has ended.
    Flooded,
    Flush(SyncSender<()>),
}

impl AuditLog {
    /// Opens the file and starts the thread that writes it.
    ///
    /// # Errors
    /// When the file can't be opened, or can't be made private.
    #[expect(
        clippy::expect_used,
        reason = "the names and labels are constants, checked by tests"
    )]
    pub fn open(options: AuditOptions) -> io::Result<Self> {
        let file = LogFile::open(&options)?;
        let (queue, messages) = sync_channel(QUEUE);
        let written = IntCounter::new("landform_audit_lines_total", "Lines of the audit log.")
            .expect("a valid metric");
        let dropped = IntCounterVec::new(
            Opts::new(
                "landform_audit_dropped_total",
                "Requests that are missing in the audit log, by reason.",
            ),
            &["reason"],
        )
        .expect("a valid metric");
        let unqueued = Arc::<AtomicU64>::default();
        let log = Self(Arc::new(Shared {
            options,
            queue,
            floods: Mutex::default(),
            unqueued: unqueued.clone(),
            written: written.clone(),
            dropped: dropped.clone(),
            start: uuid::Uuid::new_v4().as_u64_pair().1,
            requests: AtomicU64::new(0),
        }));
        let writer = Writer {
            file,
            messages,
            log: Arc::downgrade(&log.0),
            unqueued,
            written,
            dropped,
            failed: 0,
            look_again: None,
        };
        std::thread::Builder::new()
            .name("audit-log".to_owned())
            .spawn(move || writer.run())?;
        Ok(log)
    }

    /// Queues a line for a client that was cut off in the handshake because of its certificate. Such clients count among
    /// those without credentials, as far as floods go.
    pub fn handshake_refused(&self, peer: PeerAddress, problem: &'static str) {
        let source = Some(peer.0.ip());
        self.submit_unauthorized(source, || {
            let id = self.next_id();
            let facts = Facts {
                received: time::OffsetDateTime::now_utc(),
                duration: Duration::ZERO,
                source: Some(peer.0),
                code: 401,
                reason: "Unauthorized",
                certificate: Some(problem),
            };
            let mut entry = Entry::new(&id, &facts);
            entry.verb = "handshake".into();
            entry.to_line()
        });
    }

    /// Writes what was queued before this. Blocks for at most the time given.
    pub fn flush(&self, patience: Duration) {
        let (done, wait) = sync_channel(1);
        if self.0.queue.try_send(Message::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(patience);
        }
    }

    pub(crate) fn register(&self, registry: &prometheus::Registry) {
        for collector in [
            Box::new(self.0.written.clone()) as Box<dyn prometheus::core::Collector>,
            Box::new(self.0.dropped.clone()),
        ] {
            // A second server with the same log counts into the same metrics.
            let _ = registry.register(collector);
        }
    }

    fn options(&self) -> &AuditOptions {
        &self.0.options
    }

    /// An identifier that no other request of this log has.
    fn next_id(&self) -> String {
        let number = self.0.requests.fetch_add(1, Ordering::Relaxed);
        format!("{:016x}-{number}", self.0.start)
    }

    /// Queues the line of a request without credentials, unless its source has had too many.
    fn submit_unauthorized(&self, source: Option<IpAddr>, line: impl FnOnce() -> String) {
        let admitted = self.0.floods.lock().admit(source, Instant::now());
        if admitted.line {
            return self.submit(line());
        }
        self.0.dropped.with_label_values(&["flood"]).inc();
        if admitted.first {
            let _ = self.0.queue.try_send(Message::Flooded);
        }
    }

    /// Queues a line, unless there are too many.
    fn submit(&self, line: String) {
        if self.0.queue.try_send(Message::Line(line)).is_err() {
            self.0.unqueued.fetch_add(1, Ordering::Relaxed);
            self.0.dropped.with_label_values(&["queue"]).inc();
        }
    }
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AuditLog").field(self.options()).finish()
    }
}

/// The thread that writes.
struct Writer {
    file: LogFile,
    messages: Receiver<Message>,
    log: std::sync::Weak<Shared>,
    unqueued: Arc<AtomicU64>,
    written: IntCounter,
    dropped: IntCounterVec,
    /// Lines that the disk refused since the last one that it took.
    failed: u64,
    /// When a window of many requests without credentials ends.
    look_again: Option<Instant>,
}

impl Writer {
    fn run(mut self) {
        loop {
            let next = match self.look_again {
                None => self
                    .messages
                    .recv()
                    .map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => self
                    .messages
                    .recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            let mut flushed = Vec::new();
            match next {
                Ok(message) => self.take(message, &mut flushed),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.file.flush(),
            }
            while let Ok(message) = self.messages.try_recv() {
                self.take(message, &mut flushed);
            }
            self.write_gaps(!flushed.is_empty());
            self.file.flush();
            for done in flushed {
                let _ = done.try_send(());
            }
            // Lines gather meanwhile, and nobody who queues one has to wake this thread.
            std::thread::sleep(GATHER);
        }
    }

    fn take(&mut self, message: Message, flushed: &mut Vec<SyncSender<()>>) {
        match message {
            Message::Line(line) => self.write(line),
            Message::Flooded => {
                let window_end = Instant::now() + WINDOW;
                self.look_again.get_or_insert(window_end);
            }
            Message::Flush(done) => flushed.push(done),
        }
    }

    /// Says what is missing since the last line that said so.
    fn write_gaps(&mut self, flush: bool) {
        let unqueued = self.unqueued.swap(0, Ordering::Relaxed);
        if unqueued > 0 {
            self.write(Gap::new("queue", unqueued, None).to_line());
        }
        let is_over = self.look_again.is_some_and(|at| at <= Instant::now());
        if (is_over || flush)
            && let Some(log) = self.log.upgrade()
        {
            self.look_again = None;
            let missing = log.floods.lock().end();
            for (source, count) in missing {
                self.write(Gap::new("flood", count, source).to_line());
            }
        }
    }

    fn write(&mut self, line: String) {
        if self.failed > 0
            && self
                .file
                .append(Gap::new("disk", self.failed, None).to_line())
                .is_ok()
        {
            self.failed = 0;
        }
        match self.file.append(line) {
            Ok(()) => self.written.inc(),
            Err(error) => {
                if self.failed == 0 {
                    tracing::error!(%error, "the audit log can't be written; requests go on without it");
                }
                self.failed += 1;
                self.dropped.with_label_values(&["disk"]).inc();
            }
        }
    }
}
