//! `landform catalog`: looks into catalogs of operators.
//!
//! With `--catalog PATH` no server is needed. Without it the server's view is asked, which gives the same
//! answers (`landform_catalog::describe`). Reading order: this file has the arguments, `source.rs` finds
//! the answers, `text.rs` writes them for people.

mod facts;
mod source;
#[cfg(test)]
mod tests;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use landform_catalog::describe::{Explained, List, Path, Problems, Question, Refusal, Shown};
use serde::Serialize;

use crate::AnyError;
use crate::client::ClientArgs;

/// What to do with catalogs.
#[derive(Subcommand)]
pub(crate) enum CatalogCommand {
    /// Lists packages with their default channel, its head and the number of versions.
    List {
        /// Only packages with this text in their name or in a kind that they bring.
        filter: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    /// Shows a package: its channels, versions, what they bring and need, and what is wrong.
    Show {
        /// The package.
        package: String,
        #[command(flatten)]
        common: Common,
    },
    /// Says what is wrong with catalogs. Ends with 1 when anything had to be left out.
    Validate {
        /// Take warnings for errors.
        #[arg(long)]
        strict: bool,
        /// Don't show warnings.
        #[arg(long, conflicts_with = "strict")]
        quiet: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Says what would be installed for a package, and what comes along; or why nothing can be, and what
    /// would help. Ends with 1 in that case.
    Explain {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        common: Common,
    },
    /// Shows the shortest way of upgrades from one version to another. Ends with 1 when there is none.
    Path {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        common: Common,
    },
}

/// Which versions a question is about.
#[derive(Args)]
pub(crate) struct Which {
    /// The package.
    package: String,
    /// The channel [default: the package's].
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// The version, or its name, that is installed.
    #[arg(long, value_name = "VERSION")]
    from: Option<String>,
    /// The version, or its name, that is wanted [default: the channel's head].
    #[arg(long, value_name = "VERSION")]
    to: Option<String>,
}

/// Arguments of all these commands.
#[derive(Args)]
pub(crate) struct Common {
    /// A directory or file with a catalog, which needs no server. Of several, the first that has a
    /// package counts for it.
    #[arg(long, value_name = "PATH")]
    catalog: Vec<PathBuf>,
    /// For a catalog that is a file of facts: the file that says how graphs are made [default: the one
    /// beside it with `packages` for `catalog` in its name].
    #[arg(long, value_name = "FILE", requires = "catalog")]
    packages: Option<PathBuf>,
    /// The form of the output.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// The same as -o json.
    #[arg(long, conflicts_with = "output")]
    json: bool,
    #[command(flatten)]
    server: ClientArgs,
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// Text for stdout and whether all is well.
#[derive(Debug, PartialEq, Eq)]
struct Written {
    text: String,
    success: bool,
}

pub(crate) fn run(command: CatalogCommand) -> Result<ExitCode, AnyError> {
    let written = write(command)?;
    crate::say(&written.text)?;
    Ok(if written.success {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Finds the answer and writes it. Refusals are errors in the form of text, and answers in the others.
fn write(command: CatalogCommand) -> Result<Written, AnyError> {
    match command {
        CatalogCommand::List { filter, common } => {
            let query: Vec<_> = filter
                .iter()
                .map(|text| ("filter", text.as_str()))
                .collect();
            let found = source::ask::<List>(&common, "/", &query)?;
            finish(&common, found, text::list, |_| true)
        }
        CatalogCommand::Show { package, common } => {
            let found = source::ask::<Shown>(&common, &format!("/packages/{package}"), &[])?;
            finish(&common, found, text::show, |_| true)
        }
        CatalogCommand::Validate {
            strict,
            quiet,
            common,
        } => {
            let found = source::ask::<Problems>(&common, "/problems", &[])?;
            let valid = |found: &Problems| found.errors == 0 && !(strict && found.warnings > 0);
            finish(&common, found, |found| text::problems(found, quiet), valid)
        }
        CatalogCommand::Explain { which, common } => {
            let (path, question) = which.question("explain");
            let found = source::ask::<Explained>(&common, &path, &question.query())?;
            finish(&common, found, text::explain, |found| found.possible)
        }
        CatalogCommand::Path { which, common } => {
            let (path, question) = which.question("path");
            let found = source::ask::<Path>(&common, &path, &question.query())?;
            finish(&common, found, text::path, |_| true)
        }
    }
}

impl Which {
    fn question(self, verb: &str) -> (String, Question) {
        let path = format!("/packages/{}/{verb}", self.package);
        let question = Question {
            package: self.package,
            channel: self.channel,
            from: self.from,
            to: self.to,
        };
        (path, question)
    }
}

fn finish<T: Serialize>(
    common: &Common,
    found: Result<T, Refusal>,
    people: impl FnOnce(&T) -> String,
    succeeds: impl FnOnce(&T) -> bool,
) -> Result<Written, AnyError> {
    let output = if common.json {
        Output::Json
    } else {
        common.output
    };
    let (text, success) = match (&found, output) {
        (Ok(found), Output::Text) => (people(found), succeeds(found)),
        (Ok(found), output) => (machine(found, output)?, succeeds(found)),
        (Err(refusal), Output::Text) => return Err(refusal.error.clone().into()),
        (Err(refusal), output) => (machine(refusal, output)?, false),
    };
    Ok(Written { text, success })
}

fn machine(found: &impl Serialize, output: Output) -> Result<String, AnyError> {
    let value = serde_json::to_value(found)?;
    Ok(match output {
        Output::Yaml => landform_yaml::write(&value),
        Output::Json | Output::Text => format!("{value:#}\n"),
    })
}
