//! `landform reference`: all commands and options as a page, from what the program itself knows of them.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::{Arg, Command, CommandFactory as _};

use crate::{AnyError, say};

pub(crate) fn run() -> Result<ExitCode, AnyError> {
    say(&text())?;
    Ok(ExitCode::SUCCESS)
}

/// The page.
fn text() -> String {
    let mut root = crate::Cli::command();
    root.build();
    let mut out = String::from(
        "# The command line\n\n\
         Written by `cargo xtask docs` from the program: don't edit.\n\n\
         | command | does |\n| --- | --- |\n",
    );
    let mut commands = Vec::new();
    visible(&root, "landform", &mut commands);
    for (path, command) in &commands {
        if !command.has_subcommands() {
            let anchor = path.replace(' ', "-");
            let _ = writeln!(out, "| [`{path}`](#{anchor}) | {} |", about(command));
        }
    }
    if let Some(after) = root.get_after_help() {
        // "Exit codes:" and a table with two spaces between the columns.
        let after = after.to_string();
        let mut lines = after.lines();
        let title = lines.next().unwrap_or_default().trim_end_matches(':');
        let _ = write!(out, "\n## {title}\n\n| code | means |\n| --- | --- |\n");
        for line in lines {
            let (code, means) = line.trim().split_once("  ").unwrap_or_default();
            let _ = writeln!(out, "| {code} | {} |", cell(means));
        }
    }
    for (path, command) in &commands {
        describe(path, command, &mut out);
    }
    out
}

/// All commands that people see, in the order of the help, each with its words.
fn visible<'a>(command: &'a Command, path: &str, found: &mut Vec<(String, &'a Command)>) {
    let shown = |below: &&Command| !below.is_hide_set() && below.get_name() != "help";
    for below in command.get_subcommands().filter(shown) {
        let path = format!("{path} {}", below.get_name());
        found.push((path.clone(), below));
        visible(below, &path, found);
    }
}

fn describe(path: &str, command: &Command, out: &mut String) {
    let _ = write!(out, "\n## {path}\n\n{}\n", long_about(command));
    if command.has_subcommands() {
        return;
    }
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let _ = write!(out, "\n```\n{usage}\n```\n");
    let shown =
        |arg: &&Arg| !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    let mut arguments = command.get_arguments().filter(shown).peekable();
    if arguments.peek().is_some() {
        out.push_str("\n| option | means |\n| --- | --- |\n");
    }
    for argument in arguments {
        let _ = writeln!(
            out,
            "| `{}` | {} |",
            cell(&name(argument)),
            meaning(argument)
        );
    }
    if let Some(after) = command.get_after_help() {
        let _ = write!(out, "\n```\n{}\n```\n", after.to_string().trim_end());
    }
}

/// An argument as it is written.
fn name(argument: &Arg) -> String {
    let values: Vec<_> = argument
        .get_value_names()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect();
    let takes = argument.get_action().takes_values();
    if argument.is_positional() {
        return values.join(" ");
    }
    let mut words = Vec::new();
    if let Some(short) = argument.get_short() {
        words.push(format!("-{short}"));
    }
    if let Some(long) = argument.get_long() {
        words.push(format!("--{long}"));
    }
    let words = words.join(", ");
    if takes && !values.is_empty() {
        format!("{words} {}", values.join(" "))
    } else {
        words
    }
}

fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help());
    let mut says = vec![cell(&help.map(ToString::to_string).unwrap_or_default())];
    let values = argument.get_possible_values();
    if argument.get_action().takes_values() && !values.is_empty() {
        let values: Vec<_> = values
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        says.push(format!("One of {}.", values.join(", ")));
    }
    let defaults: Vec<_> = argument
        .get_default_values()
        .iter()
        .map(|value| value.to_string_lossy())
        .collect();
    if argument.get_action().takes_values() && !defaults.is_empty() {
        says.push(format!("Default: `{}`.", defaults.join(" ")));
    }
    says.retain(|part| !part.is_empty());
    // Help has no full stop at its end; what follows it needs one.
    let ends = |part: &str| part.ends_with(['.', ']', ')']);
    if let Some(help) = says.first_mut().filter(|help| !ends(help)) {
        help.push('.');
    }
    says.join(" ")
}

fn about(command: &Command) -> String {
    cell(
        &command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default(),
    )
}

fn long_about(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about());
    about.map(ToString::to_string).unwrap_or_default()
}

/// Text that fits into a cell of a table.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn the_reference_of_commands_is_up_to_date() {
        let found = include_str!("../../../docs/cli.md");
        assert!(
            found == text(),
            "docs/cli.md is out of date: run `cargo xtask docs`"
        );
    }
}
