//! What arrives in the driver's inbox.

use std::sync::Arc;

use landform_api::GroupKind;
use landform_schedule::{RunId, Version};
use tokio::sync::mpsc;

use crate::driver::Driver;
use crate::key::Key;
use crate::run::Returned;
use crate::sighted::Sighted;

/// Where everybody puts what the driver must know. Sending never waits, so that what happened first is
/// also in there first.
#[derive(Clone)]
pub(crate) struct Inbox(mpsc::UnboundedSender<Message>);

impl Inbox {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Message>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    /// Puts a message in. When the driver has ended nobody needs to know any more.
    pub(crate) fn put(&self, message: Message) {
        let _ = self.0.send(message);
    }
}

pub(crate) enum Message {
    /// A kind's objects, from its source.
    Source {
        kind: Arc<GroupKind>,
        /// Which source of that kind it was; those that were closed count no more.
        epoch: u64,
        event: SourceEvent,
    },
    /// A run is about to write.
    WriteBegan { run: RunId, target: WriteTarget },
    /// That write is over.
    WriteEnded {
        run: RunId,
        target: WriteTarget,
        written: Option<Written>,
    },
    /// A run has returned.
    Returned { run: RunId, returned: Returned },
    /// Somebody asks for a run.
    Asked(Key),
    /// Somebody wants to look at the driver, or to change what it does.
    Visit(Box<dyn FnOnce(&mut Driver) + Send>),
}

/// What a source saw.
pub(crate) enum SourceEvent {
    /// All objects there are, as one consistent state.
    Listed(Vec<Sighted>),
    /// An object appeared or changed.
    Applied(Sighted),
    /// An object is gone; its last state.
    Deleted(Sighted),
    /// The API doesn't know the kind.
    Absent,
    /// The kind can't be read at present.
    Failing(String),
    /// It can be read again, and nothing had happened.
    Recovered,
}

impl SourceEvent {
    /// Whether something large has to be decoded for it.
    pub(crate) fn is_large(&self) -> bool {
        match self {
            Self::Listed(objects) => objects.iter().any(Sighted::is_large),
            Self::Applied(object) | Self::Deleted(object) => object.is_large(),
            Self::Absent | Self::Failing(_) | Self::Recovered => false,
        }
    }
}

/// What a run writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteTarget {
    /// Its own object.
    Own,
    /// Another one.
    Other,
}

/// What the API answered to a write that it carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) kind: GroupKind,
    /// None when the object is gone, or the answer doesn't tell.
    pub(crate) version: Option<Version>,
}
