//! The hostile suite: a table of attacks on a real server, each with bounds on what it may cost.
//!
//! A row says what is sent and by whom. While it runs, another user asks the server for small things again and again
//! ([`probe`]). Afterwards the row is judged by what was answered, by how long that other user waited, by how much the
//! server's memory grew, and by whether everything that was stored before is still there.
//!
//! Reading order: `attacks/` is the table; `stage.rs` the server with its accounts; `probe.rs` what is measured;
//! `verdict.rs` compares it with the bounds; `wire.rs` sends bytes; `kubeconfig.rs` finds a server that is not ours.

mod attacks;
mod frames;
mod kubeconfig;
mod probe;
mod stage;
mod verdict;
mod wire;

use std::path::PathBuf;

use self::kubeconfig::Entrance;
use self::stage::Stage;
pub use self::verdict::{Report, Row};

/// A result, or a sentence that says what is in the way.
pub(crate) type Outcome<T = ()> = Result<T, String>;

/// What to run.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Send less of everything: a test of the suite and of the worst regressions, in seconds.
    #[arg(long)]
    pub quick: bool,
    /// Attack the server of this kubeconfig, which must be on this machine, instead of one that is started for it.
    #[arg(long, value_name = "KUBECONFIG")]
    pub against: Option<PathBuf>,
    /// Only the attacks whose names contain this text.
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
}

/// Runs the attacks one after the other, and shows each row when it is there.
///
/// # Errors
/// When there is nothing to run, or the server of the kubeconfig can't be used.
pub fn run(options: &Options, mut show: impl FnMut(&Row)) -> Outcome<Report> {
    let only = options.only.as_deref().unwrap_or_default();
    let table = attacks::table();
    let chosen: Vec<_> = table
        .iter()
        .filter(|attack| attack.name.contains(only))
        .collect();
    if chosen.is_empty() {
        let names: Vec<_> = table.iter().map(|attack| attack.name).collect();
        return Err(format!(
            "no attack has {only:?} in its name; there are:\n  {}",
            names.join("\n  ")
        ));
    }
    let foreign = match &options.against {
        None => None,
        Some(file) => Some(Entrance::read(file)?),
    };
    let mut report = Report::default();
    for attack in chosen {
        let row = match Stage::build(attack, foreign.as_ref(), options.quick) {
            Ok(stage) => {
                let row = probe::observe(attack, &stage);
                stage.clear();
                row
            }
            Err(error) => Row::not_run(attack, &error),
        };
        show(&row);
        report.rows.push(row);
    }
    Ok(report)
}
