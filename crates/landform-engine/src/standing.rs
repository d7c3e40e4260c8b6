//! How objects stand that others refer to, by their last runs.

use tokio::sync::oneshot;

use crate::driver::Driver;
use crate::key::Key;
use crate::kinds::group_kind;
use crate::message::{Inbox, Message};
use crate::reconciler::{Failure, Ref};

/// How an object stands that is referred to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RefState {
    /// Nothing runs for it here, or nothing is known of it: whether it exists is all there is to say.
    Unmanaged,
    /// Its last run succeeded.
    Ready,
    /// Its last run failed, or it is in a cycle; the error.
    Failed(String),
    /// It has not run since it changed, or its last run said that it isn't done.
    Pending,
}

/// Asks the driver how objects stand. A run asks while it goes on: what it refers to is at rest then (R4).
pub(crate) async fn ask(inbox: &Inbox, references: Vec<Ref>) -> Result<Vec<RefState>, Failure> {
    let (sender, receiver) = oneshot::channel();
    inbox.put(Message::Visit(Box::new(move |driver| {
        let states = references
            .iter()
            .map(|reference| driver.ref_state(reference));
        // The run may have been dropped.
        let _ = sender.send(states.collect());
    })));
    // The driver ends only when the process does.
    receiver.await.map_err(|_| Failure::Cancelled)
}

impl Driver {
    fn ref_state(&self, reference: &Ref) -> RefState {
        let Some(kind) = self.kinds.get(&group_kind(&reference.kind)) else {
            return RefState::Unmanaged;
        };
        if kind.reconciler.is_none() {
            return RefState::Unmanaged;
        }
        let resource = self.resources.of(&kind.key);
        let namespaced = resource.is_none_or(|found| found.namespaced);
        let namespace = reference.namespace.as_deref().filter(|_| namespaced);
        let key = Key::new(
            kind.key.clone(),
            namespace.unwrap_or_default(),
            &reference.name,
        );
        let Some(view) = self.object(&key) else {
            return RefState::Unmanaged;
        };
        match (view.last_error, view.waiting_for, view.state) {
            (Some(error), _, _) => RefState::Failed(error),
            (None, None, crate::view::State::Idle) => RefState::Ready,
            (None, _, _) => RefState::Pending,
        }
    }
}
