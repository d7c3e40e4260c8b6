//! Asks a person before something is deleted.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use crate::AnyError;

/// Asks; without anybody to ask, that is an error.
pub(crate) fn confirmed(question: &str) -> Result<bool, AnyError> {
    if !std::io::stdin().is_terminal() {
        return Err("nobody can be asked here: say --yes to delete, or --dry-run to look".into());
    }
    print!("{question} [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
