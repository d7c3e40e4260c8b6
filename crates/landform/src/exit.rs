//! What the program's exit codes mean, in one place.

use std::process::ExitCode;

/// All went well; what was asked for is so.
pub(crate) const OK: ExitCode = ExitCode::SUCCESS;
/// It failed, or what was asked for is not so.
pub(crate) const FAILED: ExitCode = ExitCode::FAILURE;

/// `diff` and `plan` have found changes.
pub(crate) fn changes() -> ExitCode {
    ExitCode::from(2)
}

/// The command line can't be understood. clap's own code would be 2, which means changes here.
pub(crate) fn usage() -> ExitCode {
    ExitCode::from(3)
}

/// How `landform --help` ends.
pub(crate) const HELP: &str = "Exit codes:
  0  all went well
  1  it failed, or what was asked for is not so (nothing found, not in time)
  2  `diff` and `plan`: there are changes
  3  the command line can't be understood";

/// A command line that can't be understood, found after clap was content with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Usage(pub(crate) String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Fails with a sentence about the command line.
pub(crate) fn misused<T>(message: impl Into<String>) -> Result<T, crate::AnyError> {
    Err(Box::new(Usage(message.into())))
}
