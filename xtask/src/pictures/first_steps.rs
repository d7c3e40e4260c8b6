//! The first steps with kubectl: a kind is defined and used, and its objects outlive a kill of the server.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::process;

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

/// A server that is killed when it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the server; returns it and the line that it printed.
fn start(home: &Path) -> Result<(Server, String), String> {
    let mut child = Command::new(process::binary("landform"))
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
pub(super) fn record(root: &Path, home: &Path) -> Result<Vec<String>, String> {
    let (mut server, ready) = start(home)?;
    let mut lines = vec!["$ landform serve &".to_owned(), ready.clone()];
    for command in SESSION {
        if command == "!" {
            drop(server);
            server = start(home)?.0;
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
