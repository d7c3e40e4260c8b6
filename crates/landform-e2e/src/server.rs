//! The real binary, serving on a directory of its own.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::binary::landform;
use crate::process::{DEADLINE, run, stop};

/// A running `landform serve`; killed when dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    log: Arc<Mutex<String>>,
    url: String,
    kubeconfig: PathBuf,
    started_in: Duration,
    /// Before the directory that it is in.
    disk: Option<Disk>,
    home: TempDir,
}

/// A small disk, which goes when this is dropped.
#[derive(Debug)]
struct Disk(PathBuf);

impl Disk {
    fn mount(at: PathBuf, mib: u32) -> Option<Self> {
        std::fs::create_dir_all(&at).ok()?;
        let size = format!("size={mib}m,mode=700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&at);
        run(&mut mount).status.success().then_some(Self(at))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

impl Server {
    /// Starts a server with an empty embedded store on a free port.
    ///
    /// # Panics
    /// When it doesn't become ready in time.
    #[must_use]
    pub fn start() -> Self {
        let home = tempfile::tempdir().unwrap_or_else(|error| panic!("no directory: {error}"));
        Self::start_in(home, "127.0.0.1:0", None, &[])
    }

    /// Starts a server with more arguments; a restart forgets them.
    ///
    /// # Panics
    /// When it doesn't become ready in time.
    #[must_use]
    pub fn start_with(arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap_or_else(|error| panic!("no directory: {error}"));
        Self::start_in(home, "127.0.0.1:0", None, arguments)
    }

    /// Starts a server that may open this many files at most, with more arguments; a restart forgets both.
    ///
    /// # Panics
    /// When it doesn't become ready in time.
    #[must_use]
    pub fn start_limited(files: Option<u32>, arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().unwrap_or_else(|error| panic!("no directory: {error}"));
        // Both limits, so that the server can't raise the soft one again.
        let before = files.map(|files| format!("ulimit -n {files}"));
        Self::start_in(home, "127.0.0.1:0", before.as_deref(), arguments)
    }

    /// Starts a server in a shell that has carried out a command before, for instance to open files.
    ///
    /// # Panics
    /// When it doesn't become ready in time.
    #[must_use]
    pub fn start_after(before: &str) -> Self {
        let home = tempfile::tempdir().unwrap_or_else(|error| panic!("no directory: {error}"));
        Self::start_in(home, "127.0.0.1:0", Some(before), &[])
    }

    /// Starts a server whose data directory is a disk of this size; none where this user may not mount one.
    ///
    /// # Panics
    /// When it doesn't become ready in time.
    #[must_use]
    pub fn start_on_disk(mib: u32) -> Option<Self> {
        let home = tempfile::tempdir().unwrap_or_else(|error| panic!("no directory: {error}"));
        let disk = Disk::mount(home.path().join("data"), mib)?;
        let mut server = Self::start_in(home, "127.0.0.1:0", None, &[]);
        server.disk = Some(disk);
        Some(server)
    }

    fn start_in(home: TempDir, listen: &str, before: Option<&str>, arguments: &[&str]) -> Self {
        let mut command = match before {
            None => Command::new(landform()),
            Some(before) => {
                let mut shell = Command::new("sh");
                let script = format!("{before} && exec \"$0\" \"$@\"");
                shell.args(["-c", &script]).arg(landform());
                shell
            }
        };
        command
            .arg("serve")
            .arg("--data-dir")
            .arg(home.path().join("data"));
        command.args(["--listen", listen, "--store", "embedded"]);
        command.args(arguments);
        command.env("HOME", home.path()).env_remove("KUBECONFIG");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let begin = Instant::now();
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("can't start the server: {error}"));
        let log = collect(child.stderr.take());
        let stdout = lines(child.stdout.take());
        let Ok(line) = stdout.recv_timeout(DEADLINE) else {
            stop(&mut child);
            panic!("the server printed no ready line; its log:\n{}", text(&log));
        };
        let started_in = begin.elapsed();
        let Some((url, kubeconfig)) = ready_line(&line) else {
            stop(&mut child);
            panic!("this is no ready line: {line}\nthe log:\n{}", text(&log));
        };
        Server {
            child,
            log,
            url,
            kubeconfig,
            started_in,
            disk: None,
            home,
        }
    }

    /// The address, as `https://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The number of the server's process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The kubeconfig that the ready line named.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// How long the server took from its start to its ready line.
    #[must_use]
    pub fn started_in(&self) -> Duration {
        self.started_in
    }

    /// A directory for the files of this test; it goes when the server goes.
    #[must_use]
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// What the server has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        text(&self.log)
    }

    /// Writes a file into the directory of this test, and returns its path.
    ///
    /// # Panics
    /// When the file can't be written.
    #[must_use]
    pub fn file(&self, name: &str, content: &str) -> String {
        let path = self.home().join(name);
        std::fs::write(&path, content)
            .unwrap_or_else(|error| panic!("can't write {name}: {error}"));
        path.display().to_string()
    }

    /// Asks the server to end (SIGTERM), and says how it ended and after how long.
    ///
    /// # Panics
    /// When it can't be asked.
    pub fn terminate(&mut self) -> (ExitStatus, Duration) {
        let begin = Instant::now();
        let asked = run(Command::new("kill")
            .arg("-TERM")
            .arg(self.child.id().to_string()));
        assert!(asked.status.success(), "{}", asked.report());
        let status = self.child.wait();
        let status = status.unwrap_or_else(|error| panic!("can't wait for the server: {error}"));
        (status, begin.elapsed())
    }

    /// Kills the server (SIGKILL) unless it has ended, lets `meanwhile` work on the data directory,
    /// and starts it again on the same data and the same port.
    ///
    /// # Panics
    /// When it doesn't become ready again.
    #[must_use]
    pub fn restart(self, meanwhile: impl FnOnce(&Path)) -> Self {
        self.restart_with(&[], meanwhile)
    }

    /// The same with more arguments.
    ///
    /// # Panics
    /// When it doesn't become ready again.
    #[must_use]
    pub fn restart_with(mut self, arguments: &[&str], meanwhile: impl FnOnce(&Path)) -> Self {
        stop(&mut self.child);
        let listen = self.url.trim_start_matches("https://").to_owned();
        // The directory moves on to the next server; a dropped one only kills its process.
        let placeholder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let home = std::mem::replace(&mut self.home, placeholder);
        meanwhile(&home.path().join("data"));
        let disk = self.disk.take();
        let mut next = Self::start_in(home, &listen, None, arguments);
        next.disk = disk;
        next
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        stop(&mut self.child);
        if thread::panicking() {
            report(&self.log());
        }
    }
}

#[expect(clippy::print_stderr, reason = "a failed test shows the server's log")]
fn report(log: &str) {
    eprintln!("--- the server's log\n{log}---");
}

/// `landform ready: https://127.0.0.1:PORT kubeconfig=FILE`, and nothing else.
fn ready_line(line: &str) -> Option<(String, PathBuf)> {
    let (url, kubeconfig) = line
        .strip_prefix("landform ready: ")?
        .split_once(" kubeconfig=")?;
    url.starts_with("https://127.0.0.1:")
        .then(|| (url.to_owned(), PathBuf::from(kubeconfig)))
}

fn lines(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(pipe) = pipe {
        crate::process::forward(Some(pipe), &sender);
    }
    receiver
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> Arc<Mutex<String>> {
    let log = Arc::new(Mutex::new(String::new()));
    if let Some(pipe) = pipe {
        let log = Arc::clone(&log);
        thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
                log.push_str(&line);
                log.push('\n');
            }
        });
    }
    log
}

fn text(log: &Mutex<String>) -> String {
    log.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

#[cfg(test)]
mod tests {
    use super::ready_line;

    #[test]
    fn only_the_documented_line_means_ready() {
        let found = ready_line("landform ready: https://127.0.0.1:7443 kubeconfig=/tmp/k");
        assert_eq!(
            found,
            Some(("https://127.0.0.1:7443".to_owned(), "/tmp/k".into()))
        );
        for line in [
            "",
            "ready",
            "landform ready: http://127.0.0.1:1 kubeconfig=k",
            "landform ready: ",
        ] {
            assert_eq!(ready_line(line), None, "for {line:?}");
        }
    }
}
