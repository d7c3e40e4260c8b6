//! `cargo xtask pictures`: draws the README's pictures from real sessions, so that they stay true.
//!
//! [`first_steps`] has kubectl against a server, [`project`] a project with `up`, `plan` and `why`. [`terminal`]
//! makes of what a program writes what a terminal would show, [`svg`] draws that.

mod first_steps;
mod project;
pub mod svg;
pub mod terminal;

use std::path::Path;

use clap::Args;

use crate::{Outcome, process, repository, say};
use terminal::Row;

/// Arguments of `cargo xtask pictures`.
#[derive(Args)]
pub struct Arguments {
    /// Only these [default: all]: first-steps, up, plan, why.
    names: Vec<String>,
}

/// Runs the sessions and writes the pictures.
///
/// # Errors
/// When the binary can't be built, a session fails, or a file can't be written.
pub fn run(arguments: &Arguments) -> Outcome {
    process::run(process::cargo().args(["build", "--package", "landform"]))?;
    let wanted =
        |name: &str| arguments.names.is_empty() || arguments.names.iter().any(|one| one == name);
    let home = std::env::temp_dir().join(format!("landform-pictures-{}", std::process::id()));
    let drawn = draw(&home, &wanted);
    let _ = std::fs::remove_dir_all(&home);
    for (name, rows) in drawn?.into_iter().filter(|(name, _)| wanted(name)) {
        let file = format!("docs/images/{name}.svg");
        std::fs::write(repository::root().join(&file), svg::svg(&rows))
            .map_err(|error| format!("can't write {file}: {error}"))?;
        say(&format!("wrote {file}"));
    }
    Ok(())
}

/// The pictures by name, as rows of a terminal.
fn draw(home: &Path, wanted: &dyn Fn(&str) -> bool) -> Outcome<Vec<(&'static str, Vec<Row>)>> {
    let mut drawn = Vec::new();
    if wanted("first-steps") {
        let lines = first_steps::record(&repository::root(), &home.join("first"))?;
        drawn.push(("first-steps", terminal::show(&lines.join("\n"))));
    }
    if ["up", "plan", "why"].into_iter().any(wanted) {
        drawn.extend(project::record(&home.join("project"))?);
    }
    Ok(drawn)
}
