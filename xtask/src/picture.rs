//! `cargo xtask picture`: draws the README's picture from a real session, so that it stays true.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::{Outcome, process, repository};

/// Where the picture goes.
const FILE: &str = "docs/images/first-steps.svg";

/// What is shown: commands that are run, in order. `!` stands for a kill -9 and a new start.
const SESSION: [&str; 7] = [
    "kubectl apply -f definition.yaml",
    "kubectl apply -f widgets.yaml",
    "kubectl get widgets",
    "kubectl apply -f wrong.yaml",
    "!",
    "kubectl get widgets",
    "kubectl delete crd widgets.example.com",
];

/// Runs the session and writes the picture.
///
/// # Errors
/// When the server can't be built or started, or the file can't be written.
pub fn run() -> Outcome {
    let root = repository::root();
    process::run(process::cargo().args(["build", "--package", "landform"]))?;
    let home = std::env::temp_dir().join(format!("landform-picture-{}", std::process::id()));
    let lines = record(&root, &home);
    let _ = std::fs::remove_dir_all(&home);
    let file = root.join(FILE);
    std::fs::write(&file, svg(&lines?)).map_err(|error| format!("can't write {FILE}: {error}"))?;
    crate::say(&format!("wrote {FILE}"));
    Ok(())
}

/// A server that is killed when it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the server; returns it and the line that it printed.
fn start(root: &Path, home: &Path) -> Result<(Server, String), String> {
    let binary =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let mut child = Command::new(binary.join("debug/landform"))
        .args(["serve", "--listen", "127.0.0.1:7443", "--data-dir"])
        .arg(home.join(".local/share/landform"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("can't start landform: {error}"))?;
    let stdout = child.stdout.take().ok_or("no output")?;
    let server = Server(child);
    let mut line = String::new();
    BufReader::new(stdout)
        .read_line(&mut line)
        .map_err(|error| error.to_string())?;
    if !line.starts_with("landform ready") {
        return Err("the server did not start: is port 7443 free?".into());
    }
    Ok((
        server,
        line.trim().replace(&home.display().to_string(), "~"),
    ))
}

/// Runs the session; returns its lines as a terminal would show them.
fn record(root: &Path, home: &Path) -> Result<Vec<String>, String> {
    let (mut server, ready) = start(root, home)?;
    let mut lines = vec!["$ landform serve &".to_owned(), ready.clone()];
    for command in SESSION {
        if command == "!" {
            drop(server);
            server = start(root, home)?.0;
            lines.push("$ kill -9 %1; landform serve &".into());
            lines.push(ready.clone());
            continue;
        }
        lines.push(format!("$ {command}"));
        let output = Command::new("sh")
            .args(["-c", &format!("{command} 2>&1")])
            .current_dir(root.join("examples/widgets"))
            .env("KUBECONFIG", home.join(".local/share/landform/kubeconfig"))
            .env("HOME", home)
            .output()
            .map_err(|error| format!("can't run {command}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        lines.extend(text.lines().map(str::to_owned));
    }
    drop(server);
    Ok(lines)
}

const COLUMNS: usize = 104;
const LINE: usize = 20;

/// The lines as a picture of a terminal.
fn svg(lines: &[String]) -> String {
    let wrapped: Vec<&str> = lines.iter().flat_map(|line| wrap(line)).collect();
    let (width, height) = (COLUMNS * 8 + 40, wrapped.len() * LINE + 50);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, monospace\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#14181f\"/>\n<g fill=\"#3c4656\"><circle cx=\"20\" cy=\"18\" r=\"5\"/><circle cx=\"38\" cy=\"18\" r=\"5\"/><circle cx=\"56\" cy=\"18\" r=\"5\"/></g>\n"
    );
    for (index, line) in wrapped.iter().enumerate() {
        let y = 50 + index * LINE;
        let color = match line {
            line if line.starts_with("$ ") => "#8ecbff",
            line if line.contains("invalid") || line.contains("rror") => "#ff9d8a",
            line if line.starts_with("landform ready") => "#a5e39b",
            _ => "#d7dde6",
        };
        let text = line
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        let _ = writeln!(
            out,
            "<text x=\"20\" y=\"{y}\" fill=\"{color}\" xml:space=\"preserve\">{text}</text>"
        );
    }
    out.push_str("</svg>\n");
    out
}

/// A line in pieces that fit.
fn wrap(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = line;
    while let Some((cut, _)) = rest.char_indices().nth(COLUMNS) {
        pieces.push(&rest[..cut]);
        rest = &rest[cut..];
    }
    pieces.push(rest);
    pieces
}
