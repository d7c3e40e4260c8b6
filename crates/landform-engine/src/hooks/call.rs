//! One call of a hook, whether it is a URL or a command: bytes there and back, with a limit of time and
//! size, and an end as soon as the run is cancelled.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::command::CommandHook;
use super::connect::Dial;
use super::http_hook::HttpHook;
use super::machine::{CommandLine, Machine};
use super::protocol;
use super::spec::HookSpec;
use super::this_machine::ThisMachine;
use landform_api::duration;

/// The longest answer that is read.
pub(crate) const ANSWER_BYTES: usize = 4 << 20;

/// At most this much of what a hook says about a failure is kept.
const WORDS_BYTES: usize = 8 << 10;

/// What the engine provides for calls.
#[derive(Clone)]
pub(crate) struct Means {
    /// Where commands run.
    pub(crate) machine: Arc<dyn Machine>,
    /// How URLs are reached, if not by the network.
    pub(crate) dial: Option<Dial>,
}

impl Default for Means {
    /// This machine and its network; no process after this one knows of its calls.
    fn default() -> Self {
        Self {
            machine: Arc::new(ThisMachine::default()),
            dial: None,
        }
    }
}

/// Who is called.
pub(crate) enum Hook {
    Url(Box<HttpHook>),
    Command(CommandHook),
}

/// How long a call may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// From its begin to its answer.
    pub(crate) timeout: Duration,
    /// From when it is given up to its end.
    pub(crate) grace: Duration,
}

/// Why a call brought no answer. The texts don't name the hook or the object; callers do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    /// The run was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Nobody is there: a matter of the hook and not of the object.
    #[error("can't be reached: {0}")]
    Unreachable(String),
    /// Somebody is there, and the call failed.
    #[error("{0}")]
    Failed(String),
    /// The same, and the hook printed or answered something that wasn't meant for those who may read the object.
    #[error("{problem}")]
    Refused {
        /// What is shown.
        problem: String,
        /// What is kept in the hook's log, which takes a right of its own to read.
        words: String,
    },
}

impl CallError {
    /// A call that failed: `complaint` is what the hook says to all, `words` is what else came from it.
    pub(crate) fn refused(problem: String, complaint: Option<String>, words: &[u8]) -> Self {
        let problem = match complaint {
            Some(complaint) => format!("{problem}: {complaint}"),
            None => problem,
        };
        let words = String::from_utf8_lossy(words);
        match protocol::cut_at(words.trim(), WORDS_BYTES) {
            "" => Self::Failed(problem),
            words => Self::Refused {
                problem,
                words: words.to_owned(),
            },
        }
    }
}

impl Hook {
    /// Reads who is called.
    ///
    /// # Errors
    /// What is wrong with it; the schema has refused most of that before.
    pub(crate) fn new(spec: &HookSpec, means: Means) -> Result<Self, String> {
        let Means { machine, dial } = means;
        match (&spec.url, &spec.command) {
            (Some(url), None) => HttpHook::new(url, dial).map(Box::new).map(Self::Url),
            (None, Some(words)) => {
                let command = CommandLine {
                    words: words.clone(),
                    environment: spec.env.clone(),
                };
                CommandHook::new(command, machine).map(Self::Command)
            }
            (None, None) | (Some(_), Some(_)) => {
                Err("exactly one of hook.url and hook.command must be given".to_owned())
            }
        }
    }

    /// Calls it. Gives up when the time is up or `cancelled` resolves. When this returns nothing of the call goes on
    /// any more, but for a URL that has not answered within its grace period (R9b).
    pub(crate) async fn call(
        &self,
        request: Bytes,
        limits: Limits,
        cancelled: impl Future<Output = ()>,
    ) -> Result<Bytes, CallError> {
        let Limits { timeout, grace } = limits;
        let give_up = async {
            tokio::select! {
                biased;
                () = cancelled => CallError::Cancelled,
                () = tokio::time::sleep(timeout) => {
                    let time = duration::write(timeout);
                    CallError::Failed(format!("has not answered after {time}"))
                }
            }
        };
        match self {
            Self::Url(hook) => hook.call(request, grace, give_up).await,
            Self::Command(hook) => hook.call(request, grace, give_up).await,
        }
    }
}

/// The hook as messages name it.
impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(hook) => write!(f, "hook {hook}"),
            Self::Command(hook) => write!(f, "hook `{hook}`"),
        }
    }
}

/// What is said of an answer that is too long.
pub(crate) fn too_long() -> CallError {
    CallError::Failed(format!("answered more than {} MiB", ANSWER_BYTES >> 20))
}

#[cfg(test)]
#[path = "call_tests.rs"]
mod tests;
