//! The gate: how many connections there may be, and how long one may do nothing.
//!
//! A connection is a *stranger* while no request with credentials has come on it, while all its requests were refused, and
//! when its user has half of the places already. When all places are taken, the oldest stranger goes; one address never
//! holds more than three quarters of the places.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body::{Frame, SizeHint};
use landform_apiserver::Body;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The most connections that may be open, if the process may have as many files.
const CONNECTIONS_MAX: usize = 10_000;
/// Files that are not connections: the store, logs, programs.
const OTHER_FILES: usize = 256;
/// The first request must come within this time.
const FIRST_REQUEST: Duration = Duration::from_secs(15);
/// A connection without a request is closed after this time.
pub(super) const IDLE: Duration = Duration::from_secs(90);

/// Lets connections in.
pub(super) struct Gate {
    places: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    count: usize,
    by_address: HashMap<IpAddr, usize>,
    /// Connections that are no strangers.
    by_user: HashMap<String, usize>,
    /// By number: the oldest first.
    strangers: BTreeMap<u64, CancellationToken>,
    next: u64,
}

/// A connection that was let in; its place is free again when this is dropped.
pub(super) struct Pass {
    gate: Arc<Gate>,
    number: u64,
    address: IpAddr,
    /// Whose connection it is, when it is no stranger.
    user: Mutex<Option<String>>,
    /// Whether a request of a known user was not refused.
    welcome: AtomicBool,
    /// Cancelled when the connection must make room.
    pub(super) leave: CancellationToken,
}

impl Gate {
    /// A gate with as many places as the process may open files. The soft limit is raised to the hard one.
    pub(super) fn new() -> Arc<Self> {
        Self::with_places(
            files_max()
                .saturating_sub(OTHER_FILES)
                .clamp(64, CONNECTIONS_MAX),
        )
    }

    fn with_places(places: usize) -> Arc<Self> {
        Arc::new(Self {
            places,
            open: Mutex::default(),
        })
    }

    /// Lets a connection in, if need be in the place of the oldest stranger; `None` when there is no room.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Pass> {
        let mut open = self.open.lock();
        let share = (self.places * 3).div_ceil(4);
        let of_address = open.by_address.get(&address).copied().unwrap_or(0);
        if open.count >= self.places || of_address >= share {
            let (_, oldest) = open.strangers.pop_first()?;
            oldest.cancel();
        }
        open.count += 1;
        *open.by_address.entry(address).or_default() += 1;
        let number = open.next;
        open.next += 1;
        let leave = CancellationToken::new();
        open.strangers.insert(number, leave.clone());
        Some(Pass {
            gate: self.clone(),
            number,
            address,
            user: Mutex::default(),
            welcome: AtomicBool::new(false),
            leave,
        })
    }
}

impl Pass {
    /// A request with credentials has come: the connection is no stranger any more, unless its user has many others.
    pub(super) fn is_known(&self, user: &str) {
        let mut known_as = self.user.lock();
        if known_as.is_some() {
            return;
        }
        let mut open = self.gate.open.lock();
        let held = open.by_user.get(user).copied().unwrap_or(0);
        if held < self.gate.places.div_ceil(2) {
            open.by_user.insert(user.to_owned(), held + 1);
            open.strangers.remove(&self.number);
            *known_as = Some(user.to_owned());
        }
    }

    /// A request was answered. Where all were refused, the connection is a stranger again.
    pub(super) fn answered(&self, status: http::StatusCode) {
        // Everybody may read health checks: that says nothing about whom the connection belongs to.
        if !matches!(status.as_u16(), 401 | 403) && self.user.lock().is_some() {
            self.welcome.store(true, Ordering::Release);
        }
        if self.welcome.load(Ordering::Acquire) {
            return;
        }
        if let Some(user) = self.user.lock().take() {
            let mut open = self.gate.open.lock();
            open.forget(&user);
            open.strangers.insert(self.number, self.leave.clone());
        }
    }
}

impl Open {
    /// One connection less of a user's.
    fn forget(&mut self, user: &str) {
        if let Some(count) = self.by_user.get_mut(user) {
            *count -= 1;
            if *count == 0 {
                self.by_user.remove(user);
            }
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let user = self.user.lock().take();
        let mut open = self.gate.open.lock();
        if let Some(user) = user {
            open.forget(&user);
        }
        open.count -= 1;
        open.strangers.remove(&self.number);
        if let Some(count) = open.by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.by_address.remove(&self.address);
            }
        }
    }
}

/// How many files the process may have open, after the soft limit was raised to the hard one.
fn files_max() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let before = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: before.maximum,
        ..before
    };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised,
        Err(error) => {
            tracing::warn!(%error, "the number of open files stays limited");
            before
        }
    };
    let files = limit.current.map(|files| usize::try_from(files).ok());
    files.flatten().unwrap_or(usize::MAX)
}

/// The requests of one connection.
#[derive(Default)]
pub(super) struct Activity {
    under_way: AtomicUsize,
    begun: AtomicUsize,
    changed: Notify,
}

impl Activity {
    /// Counts a request until what is returned is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        self.begun.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_one();
        UnderWay(self.clone())
    }

    /// Resolves when the connection has done nothing for too long.
    pub(super) async fn idle(&self) {
        loop {
            let begun = self.begun.load(Ordering::Acquire);
            if self.under_way.load(Ordering::Acquire) > 0 {
                self.changed.notified().await;
                continue;
            }
            let patience = if begun == 0 { FIRST_REQUEST } else { IDLE };
            let quiet = tokio::time::timeout(patience, self.changed.notified()).await;
            if quiet.is_err() && begun == self.begun.load(Ordering::Acquire) {
                return;
            }
        }
    }
}

/// A request that is under way, until the last byte of its answer was taken.
pub(super) struct UnderWay(Arc<Activity>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.notify_one();
    }
}

/// An answer's body, whose request is under way until it was taken or given up.
pub(super) struct Counted {
    body: Body,
    _under_way: UnderWay,
}

impl Counted {
    pub(super) fn new(body: Body, under_way: UnderWay) -> Self {
        Self {
            body,
            _under_way: under_way,
        }
    }
}

impl http_body::Body for Counted {
    type Data = <Body as http_body::Body>::Data;
    type Error = <Body as http_body::Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures::FutureExt as _;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const THERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

    #[test]
    fn the_oldest_stranger_makes_room() {
        let gate = Gate::with_places(4);
        let known = gate.admit(HERE).unwrap();
        known.is_known("a");
        let strangers: Vec<_> = (0..3).map(|_| gate.admit(THERE).unwrap()).collect();
        let newcomer = gate.admit(HERE).unwrap();
        assert!(strangers[0].leave.is_cancelled());
        assert!(!strangers[1].leave.is_cancelled());
        assert!(!known.leave.is_cancelled());
        for (pass, user) in strangers
            .iter()
            .skip(1)
            .chain([&newcomer])
            .zip(["b", "c", "d"])
        {
            pass.is_known(user);
        }
        assert!(gate.admit(HERE).is_none(), "nobody can be sent away");
        drop(newcomer);
        drop(strangers);
        assert!(gate.admit(HERE).is_some());
    }

    #[test]
    fn one_address_leaves_a_quarter_to_others() {
        let gate = Gate::with_places(4);
        let passes: Vec<_> = (0..3).map(|_| gate.admit(HERE).unwrap()).collect();
        for (pass, user) in passes.iter().zip(["a", "b", "c"]) {
            pass.is_known(user);
        }
        assert!(gate.admit(HERE).is_none());
        assert!(gate.admit(THERE).is_some());
    }

    #[test]
    fn who_was_only_refused_makes_room() {
        let gate = Gate::with_places(4);
        let passes: Vec<_> = (0..2).map(|_| gate.admit(HERE).unwrap()).collect();
        let [refused, welcome] = &passes[..] else {
            unreachable!("two were let in");
        };
        for pass in &passes {
            pass.is_known("a");
        }
        welcome.answered(http::StatusCode::NOT_FOUND);
        for pass in &passes {
            pass.answered(http::StatusCode::FORBIDDEN);
        }
        let others: Vec<_> = (0..3).map(|_| gate.admit(THERE).unwrap()).collect();
        assert!(refused.leave.is_cancelled());
        assert!(!welcome.leave.is_cancelled());
        drop((others, passes));
        assert!(gate.open.lock().by_user.is_empty());
    }

    #[test]
    fn connections_of_one_user_beyond_half_make_room() {
        let gate = Gate::with_places(4);
        let passes: Vec<_> = (0..3).map(|_| gate.admit(HERE).unwrap()).collect();
        for pass in &passes {
            pass.is_known("a");
            pass.answered(http::StatusCode::OK);
        }
        let _newcomer = gate.admit(HERE).unwrap();
        let left: Vec<bool> = passes
            .iter()
            .map(|pass| pass.leave.is_cancelled())
            .collect();
        assert_eq!(left, [false, false, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_requests_ends() {
        let activity = Arc::new(Activity::default());
        let start = tokio::time::Instant::now();
        activity.idle().await;
        assert_eq!(start.elapsed(), FIRST_REQUEST);
        let request = activity.begin();
        let hour = Duration::from_secs(3600);
        assert!(tokio::time::timeout(hour, activity.idle()).await.is_err());
        drop(request);
        let start = tokio::time::Instant::now();
        activity.idle().await;
        assert_eq!(start.elapsed(), IDLE);
        let _request = activity.begin();
        assert!(activity.idle().now_or_never().is_none());
    }
}
