//! `landform create`, `patch`, `label` and `annotate`: single changes of objects, with the words of kubectl.
//!
//! `selected.rs` finds the objects that a command line means; `create.rs`, `patch.rs` and `marks.rs` are the commands.

pub(crate) mod create;
pub(crate) mod marks;
pub(crate) mod patch;
mod selected;

use clap::ValueEnum;

/// Whether something is only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// It is done.
    None,
    /// The server checks it and keeps nothing.
    Server,
    /// The same: only the server knows what would become of an object.
    Client,
}

impl DryRun {
    /// What is added to a path.
    fn query(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Server | Self::Client => "?dryRun=All",
        }
    }

    /// What is said after what was done.
    fn word(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Server => " (server dry run)",
            Self::Client => " (dry run)",
        }
    }
}
