//! Lanes: how many requests are under way at once, and whose turn it is.
//!
//! A request takes a place when its body is there, so that a client that sends nothing holds none. Whoever finds all places
//! taken waits; a place that becomes free goes to the waiting user who holds the fewest. One user never holds more than
//! three quarters of a lane. The service accounts of a namespace are one user here. Landform's own controllers have a lane of their own.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::error::{ApiError, Reason, Result};

/// A request that has found no place after this time is sent away.
const PATIENCE: Duration = Duration::from_secs(10);

/// The places of one sort of requests.
pub(crate) struct Lane {
    shared: Arc<Mutex<Places>>,
}

struct Places {
    free: usize,
    /// One user may hold this many.
    share: usize,
    /// One user may have this many requests waiting.
    queue: usize,
    users: BTreeMap<String, Standing>,
    /// Counts waiting requests, so that of equal users the one who waits longest comes first.
    ticket: u64,
}

#[derive(Default)]
struct Standing {
    held: usize,
    waiting: VecDeque<(u64, oneshot::Sender<()>)>,
}

/// A place in a lane; it is free again when this is dropped.
pub(crate) struct Held {
    lane: Arc<Mutex<Places>>,
    user: String,
}

impl Lane {
    pub(crate) fn new(places: usize) -> Self {
        Self::with_queue(places, places)
    }

    /// A lane in which one user may have `queue` requests waiting.
    pub(crate) fn with_queue(places: usize, queue: usize) -> Self {
        Self {
            shared: Arc::new(Mutex::new(Places {
                free: places,
                share: (places * 3).div_ceil(4),
                queue,
                users: BTreeMap::new(),
                ticket: 0,
            })),
        }
    }

    /// Takes a place for a request of this user, at once or when it is the user's turn.
    pub(crate) async fn enter(&self, user: &str) -> Result<Held> {
        let mut turn = {
            let mut places = self.shared.lock();
            if places.has_room_for(user) {
                places.take(user);
                return Ok(self.held(user));
            }
            Turn {
                receiver: places.wait(user)?,
                lane: self.shared.clone(),
                user: user.to_owned(),
            }
        };
        match tokio::time::timeout(PATIENCE, &mut turn.receiver).await {
            Ok(Ok(())) => Ok(self.held(user)),
            Ok(Err(_)) | Err(_) => Err(too_many_requests()),
        }
    }

    fn held(&self, user: &str) -> Held {
        Held {
            lane: self.shared.clone(),
            user: user.to_owned(),
        }
    }
}

/// A request that waits. If it is dropped when its turn has come and before it knew, the place goes to the next.
struct Turn {
    lane: Arc<Mutex<Places>>,
    user: String,
    receiver: oneshot::Receiver<()>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.receiver.close();
        if self.receiver.try_recv().is_ok() {
            self.lane.lock().give_back(&self.user);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.lane.lock().give_back(&self.user);
    }
}

impl Places {
    fn has_room_for(&self, user: &str) -> bool {
        let held = self.users.get(user).map_or(0, |standing| standing.held);
        self.free > 0 && held < self.share
    }

    fn take(&mut self, user: &str) {
        self.free -= 1;
        match self.users.get_mut(user) {
            Some(standing) => standing.held += 1,
            None => {
                let standing = Standing {
                    held: 1,
                    ..Standing::default()
                };
                self.users.insert(user.to_owned(), standing);
            }
        }
    }

    fn wait(&mut self, user: &str) -> Result<oneshot::Receiver<()>> {
        self.ticket += 1;
        let ticket = self.ticket;
        let standing = self.users.entry(user.to_owned()).or_default();
        standing.waiting.retain(|(_, turn)| !turn.is_closed());
        if standing.waiting.len() >= self.queue {
            return Err(too_many_requests());
        }
        let (turn, receiver) = oneshot::channel();
        standing.waiting.push_back((ticket, turn));
        Ok(receiver)
    }

    fn give_back(&mut self, user: &str) {
        self.free += 1;
        if let Some(standing) = self.users.get_mut(user) {
            standing.held -= 1;
        }
        self.call_next();
        let is_gone = |standing: &Standing| standing.held == 0 && standing.waiting.is_empty();
        if self.users.get(user).is_some_and(is_gone) {
            self.users.remove(user);
        }
    }

    /// Gives free places to those who wait: to the user who holds the fewest, then to who waits longest.
    fn call_next(&mut self) {
        while self.free > 0 {
            let share = self.share;
            let next = self
                .users
                .iter()
                .filter(|(_, standing)| standing.held < share)
                .filter_map(|(user, standing)| {
                    let (ticket, _) = standing.waiting.front()?;
                    Some(((standing.held, *ticket), user))
                })
                .min()
                .map(|(_, user)| user.clone());
            let Some(user) = next else {
                return;
            };
            let Some(standing) = self.users.get_mut(&user) else {
                return;
            };
            // Who has gone away meanwhile leaves the queue, and takes no place.
            let called = standing.waiting.pop_front();
            if called.is_some_and(|(_, turn)| turn.send(()).is_ok()) {
                standing.held += 1;
                self.free -= 1;
            } else if standing.held == 0 && standing.waiting.is_empty() {
                self.users.remove(&user);
            }
        }
    }
}

pub(crate) fn too_many_requests() -> ApiError {
    ApiError::new(
        Reason::TooManyRequests,
        "too many requests are under way, please try again later",
    )
    .retry_after(1)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn users(lane: &Lane) -> Vec<(String, usize, usize)> {
        let places = lane.shared.lock();
        let users = places.users.iter();
        users
            .map(|(user, standing)| (user.clone(), standing.held, standing.waiting.len()))
            .collect()
    }

    #[tokio::test]
    async fn one_user_leaves_a_quarter_of_the_places_to_others() {
        let lane = Lane::new(4);
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(lane.enter("greedy").now_or_never().unwrap().unwrap());
        }
        assert!(lane.enter("greedy").now_or_never().is_none());
        assert!(lane.enter("other").now_or_never().unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_free_place_goes_to_the_user_who_holds_the_fewest() {
        let lane = Arc::new(Lane::new(4));
        let mut held = Vec::new();
        for user in ["greedy", "greedy", "greedy", "third"] {
            held.push(lane.enter(user).await.unwrap());
        }
        let mut greedy = Box::pin(lane.enter("greedy"));
        assert!(greedy.as_mut().now_or_never().is_none());
        let mut modest = Box::pin(lane.enter("modest"));
        assert!(modest.as_mut().now_or_never().is_none());
        held.remove(0);
        assert!(greedy.as_mut().now_or_never().is_none());
        let modest = modest.now_or_never().unwrap().unwrap();
        drop(modest);
        assert!(greedy.now_or_never().unwrap().is_ok());
        drop(held);
        assert_eq!(users(&lane), []);
    }

    #[tokio::test]
    async fn who_goes_away_takes_no_place() {
        let lane = Lane::new(1);
        let first = lane.enter("a").await.unwrap();
        let mut waits = Box::pin(lane.enter("b"));
        assert!(waits.as_mut().now_or_never().is_none());
        drop(waits);
        // Its turn comes, and it never learns of it.
        let mut called = Box::pin(lane.enter("c"));
        assert!(called.as_mut().now_or_never().is_none());
        drop(first);
        drop(called);
        assert!(lane.enter("d").now_or_never().unwrap().is_ok());
        assert_eq!(users(&lane), []);
    }

    #[tokio::test(start_paused = true)]
    async fn waiting_ends() {
        let lane = Lane::new(1);
        let _first = lane.enter("a").await.unwrap();
        let refused = lane.enter("b").await.err().unwrap();
        assert_eq!(refused.reason(), Reason::TooManyRequests);
        assert_eq!(users(&lane).len(), 2, "until the next one asks");
    }
}
