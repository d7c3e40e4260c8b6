//! The real binary on a directory of its own.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;

use crate::Outcome;
use crate::client::{Access, Client};
use crate::process::Process;

/// A running `landform serve`.
pub(crate) struct Server {
    process: Process,
    pub(crate) access: Access,
    /// From the start of the process until it said that it is ready.
    pub(crate) startup: Duration,
}

impl Server {
    /// Starts it on a directory and waits until it is ready.
    pub(crate) fn start(binary: &Path, data_dir: &Path) -> Outcome<Self> {
        let mut command = Command::new(binary);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data_dir);
        Self::launch(&mut command, &data_dir.with_extension("log"))
    }

    /// Starts a command that serves, and waits until it is ready.
    pub(crate) fn launch(command: &mut Command, log: &Path) -> Outcome<Self> {
        let started = Instant::now();
        let mut process = Process::start(command.stdout(Stdio::piped()), log)?;
        let stdout = process.child.stdout.take().ok_or("no stdout")?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let startup = started.elapsed();
        // Whatever it says later must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
        let ready = line
            .trim()
            .strip_prefix("landform ready: https://")
            .and_then(|rest| rest.split_once(" kubeconfig="));
        let Some((address, kubeconfig)) = ready else {
            let log = std::fs::read_to_string(log).unwrap_or_default();
            return Err(format!("landform did not start: {line}{log}").into());
        };
        Ok(Self {
            process,
            access: access(address.parse()?, &PathBuf::from(kubeconfig))?,
            startup,
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// One connection.
    pub(crate) async fn client(&self) -> Outcome<Client> {
        let mut clients = self.access.clients(1).await?;
        clients.pop().ok_or_else(|| "no connection".into())
    }

    pub(crate) async fn stop(self) -> Outcome {
        self.process.stop().await
    }
}

/// Reads the kubeconfig as any client does.
fn access(address: SocketAddr, kubeconfig: &Path) -> Outcome<Access> {
    let text = std::fs::read_to_string(kubeconfig)?;
    let config = landform_yaml::parse_one(&text, &landform_yaml::Budget::FILE)?;
    let field = |pointer: &str| {
        let found = config.pointer(pointer).and_then(|value| value.as_str());
        found.ok_or_else(|| format!("the kubeconfig has no {pointer}"))
    };
    let authority = base64::engine::general_purpose::STANDARD
        .decode(field("/clusters/0/cluster/certificate-authority-data")?)?;
    Access::new(address, &authority, field("/users/0/user/token")?)
}
