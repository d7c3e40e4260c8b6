//! `landform completion` and `landform man`: what shells and `man` know of the command line, made from it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::{AnyError, Cli, exit, say_raw};

const EXAMPLES: &str = "Examples:
  landform completion bash > ~/.local/share/bash-completion/completions/landform
  landform completion zsh > \"${fpath[1]}/_landform\"
  landform completion fish > ~/.config/fish/completions/landform.fish";

/// Arguments of `landform completion`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CompletionArgs {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Arguments of `landform man`.
#[derive(Args)]
pub(crate) struct ManArgs {
    /// Writes a page for each command into this directory, instead of the first one to stdout.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn completion(args: CompletionArgs) -> Result<ExitCode, AnyError> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "landform", &mut text);
    text.extend_from_slice(crate::complete::script(args.shell).as_bytes());
    say_raw(&String::from_utf8_lossy(&text))?;
    Ok(exit::OK)
}

pub(crate) fn man(args: ManArgs) -> Result<ExitCode, AnyError> {
    if let Some(dir) = args.dir {
        std::fs::create_dir_all(&dir)?;
        clap_mangen::generate_to(Cli::command(), &dir)?;
        return Ok(exit::OK);
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut text)?;
    say_raw(&String::from_utf8_lossy(&text))?;
    Ok(exit::OK)
}
