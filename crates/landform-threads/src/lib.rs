//! Long computing beside the threads that serve connections.
//!
//! A runtime has few threads, and on each of them one task after the other has its turn. To decode or compare a value of megabytes
//! takes tens of milliseconds and more in one piece, and all the tasks of that thread would wait. [`aside`] carries out such a piece
//! where it stands and lets another thread serve the rest meanwhile; an [`Aside`] does so with all pieces of a future, few at once.
//!
//! A runtime of one thread, as simulations have, does the same things in the same order each time: there everything is carried out in place.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;
use tokio_util::sync::PollSemaphore;

/// Whether others go on while this thread computes.
#[must_use]
pub fn has_others() -> bool {
    Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// Carries out a piece of work that may take long. Other tasks of this thread go on elsewhere.
pub fn aside<T>(work: impl FnOnce() -> T) -> T {
    if has_others() {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

/// The same, if the value that it is about has more bytes than are handled in passing.
pub fn aside_if<T>(is_large: bool, work: impl FnOnce() -> T) -> T {
    if is_large { aside(work) } else { work() }
}

/// How many futures compute at once. Cheap to clone.
#[derive(Clone)]
pub struct Turns(Arc<Semaphore>);

impl Turns {
    /// Turns for this many at once.
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once)))
    }
}

/// Says that a future computes with large values from now on.
#[derive(Clone, Default)]
pub struct Large(Arc<AtomicBool>);

impl Large {
    /// The future that this belongs to computes aside from its next piece on.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A future of which each piece, from one wait to the next, is carried out [`aside`] in a turn of its own, once it is [`Large`]. While it
/// waits it holds no turn, however long that takes.
pub struct Aside<F> {
    future: F,
    large: Large,
    turns: PollSemaphore,
}

impl<F> Aside<F> {
    /// Makes a future compute aside as soon as it is large.
    pub fn new(future: F, large: Large, turns: &Turns) -> Self {
        Self {
            future,
            large,
            turns: PollSemaphore::new(turns.0.clone()),
        }
    }
}

impl<F: Future + Unpin> Future for Aside<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        if !this.large.is_set() || !has_others() {
            return Pin::new(&mut this.future).poll(context);
        }
        // The semaphore is never closed.
        let _turn = ready!(this.turns.poll_acquire(context));
        aside(|| Pin::new(&mut this.future).poll(context))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::mpsc::channel;

    use futures::FutureExt as _;

    use super::*;

    /// A runtime whose only serving thread can be blocked.
    fn one_serves() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).enable_all().build().unwrap()
    }

    #[test]
    fn others_go_on_while_something_is_computed_aside() {
        one_serves().block_on(async {
            let (done, wait) = channel();
            let computing = tokio::spawn(async move { aside(move || wait.recv()) });
            let other = tokio::spawn(async move { done.send(()) });
            other.await.unwrap().unwrap();
            computing.await.unwrap().unwrap();
        });
    }

    #[test]
    fn a_large_future_lets_others_go_on_and_holds_no_turn_while_it_waits() {
        one_serves().block_on(async {
            let turns = Turns::new(1);
            let large = Large::default();
            large.set();
            let waiting = Aside::new(
                Box::pin(std::future::pending::<()>()),
                large.clone(),
                &turns,
            );
            let waiting = tokio::spawn(waiting);
            let (done, wait) = channel();
            let computes = Box::pin(async move { wait.recv() });
            let computes = tokio::spawn(Aside::new(computes, large, &turns));
            tokio::spawn(async move { done.send(()) })
                .await
                .unwrap()
                .unwrap();
            computes.await.unwrap().unwrap();
            waiting.abort();
        });
    }

    #[test]
    fn few_compute_at_once() {
        let runtime = one_serves();
        let turns = Turns::new(1);
        let large = Large::default();
        large.set();
        let meeting = Arc::new(Barrier::new(2));
        let met = meeting.clone();
        let first = Aside::new(Box::pin(async move { met.wait() }), large.clone(), &turns);
        let first = runtime.spawn(first);
        while turns.0.available_permits() > 0 {
            std::thread::yield_now();
        }
        let second = Aside::new(Box::pin(async {}), large, &turns);
        let mut second = Box::pin(second);
        runtime.block_on(async { assert!((&mut second).now_or_never().is_none()) });
        meeting.wait();
        runtime.block_on(second);
        runtime.block_on(first).unwrap();
    }

    #[tokio::test]
    async fn a_runtime_of_one_thread_computes_in_place() {
        let (turns, large) = (Turns::new(1), Large::default());
        large.set();
        let thread = std::thread::current().id();
        let computed = Aside::new(
            Box::pin(async { aside(|| std::thread::current().id()) }),
            large,
            &turns,
        );
        assert_eq!(computed.await, thread);
    }
}
