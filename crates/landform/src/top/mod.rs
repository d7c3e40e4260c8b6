//! `landform top`: what runs since when, what waits on whom, and how much gets done.
//!
//! `text.rs` writes the page; this file reads the engine's view and keeps the screen.

mod screen;
mod text;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use futures::future::try_join3;
use kube::Client;
use serde_json::Value;

use crate::client::{ClientArgs, block_on, get};
use crate::output::ColorArgs;
use crate::output::color::Paint;
use crate::output::harmless::harmless;
use crate::output::live;
use crate::output::time::now;
use crate::{AnyError, exit, say, say_raw};

const VIEW: &str = "/apis/landform.dev/v1alpha1/engine";
/// How often the page is written anew.
const REFRESH: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "Examples:
  landform top                 everything, each second, until q
  landform top -n shop         objects of one namespace
  landform top --once          one page";

/// Arguments of `landform top`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TopArgs {
    /// Shows one page, and ends.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    server: ClientArgs,
    #[command(flatten)]
    color: ColorArgs,
}

pub(crate) fn run(args: TopArgs) -> Result<ExitCode, AnyError> {
    block_on(top(args))
}

/// One reading of the engine.
struct Reading {
    summary: Value,
    objects: Vec<Value>,
    trace: Vec<Value>,
}

async fn read(client: &Client, namespace: Option<&str>) -> Result<Reading, AnyError> {
    let namespace = namespace.map_or(String::new(), |name| format!("&namespace={name}"));
    let objects = format!("{VIEW}/objects?limit=100000{namespace}");
    let trace = format!("{VIEW}/trace?limit=5000");
    let (summary, objects, trace) = try_join3(
        get(client, VIEW),
        get(client, &objects),
        get(client, &trace),
    )
    .await?;
    let Some(summary) = summary else {
        return Err(
            "this server runs no engine: `landform engine` shows its own under /engine".into(),
        );
    };
    let list = |value: Option<Value>| {
        let value = value.unwrap_or_default();
        value["items"].as_array().cloned().unwrap_or_default()
    };
    Ok(Reading {
        summary,
        objects: list(objects),
        trace: list(trace),
    })
}

async fn top(args: TopArgs) -> Result<ExitCode, AnyError> {
    let client = args.server.connect().await?;
    let namespace = args.server.namespace.clone();
    let paint = Paint::new(args.color.color);
    let terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if args.once || !terminal {
        let reading = read(&client, namespace.as_deref()).await?;
        say(&text::page(&reading, now(), usize::MAX, usize::MAX, paint))?;
        return Ok(exit::OK);
    }
    let mut screen = screen::Screen::open()?;
    loop {
        let reading = read(&client, namespace.as_deref()).await?;
        let (width, height) = live::size();
        let page = text::page(&reading, now(), width, height.saturating_sub(2), paint);
        let page = harmless(&page).replace('\n', "\x1b[K\r\n");
        if !say_raw(&format!("\x1b[H{page}\x1b[K\r\nq quits\x1b[J"))? {
            return Ok(exit::OK);
        }
        tokio::select! {
            () = screen.quit() => return Ok(exit::OK),
            () = tokio::time::sleep(REFRESH) => {}
        }
    }
}
