//! A copy of the shop: brought up, asked what a change would do, broken and asked why, and taken down.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::svg::COLUMNS;
use super::terminal::{Row, Screen, show, text};
use crate::{Outcome, process, repository};

const UP: &str = "landform up examples/shop";
const PLAN: &str = "landform plan -f next.yaml";
const WHY: &str = "landform why inst/shop-web";
const DOWN: &str = "landform down examples/shop --yes";

/// The pictures `up`, `plan` and `why`.
pub(super) fn record(home: &Path) -> Outcome<Vec<(&'static str, Vec<Row>)>> {
    let session = Session::new(&home.join("well"))?;
    let up = session.up()?;
    let mut running = session.keep_up("Watching the files")?;
    let plan = session.plan();
    running.stop();
    session.shell(DOWN)?;

    let session = Session::new(&home.join("broken"))?;
    session.shell("sed -i 's/7401/80/' examples/shop/config.yaml")?;
    let mut running = session.keep_up("Installation/shop-web  PendingDependencies")?;
    session.shell("landform wait inst/shop-database --for=phase=Failed --timeout=30s")?;
    let why = session.why();
    running.stop();
    session.shell(DOWN)?;
    Ok(vec![("up", up), ("plan", plan?), ("why", why?)])
}

/// A directory with the example in it.
struct Session {
    home: PathBuf,
    path: String,
}

impl Session {
    fn new(home: &Path) -> Outcome<Self> {
        let shop = home.join("examples/shop");
        let from = repository::root().join("examples/shop");
        let copied = std::fs::create_dir_all(&shop).and_then(|()| {
            for entry in std::fs::read_dir(from)? {
                let file = entry?.path();
                if let (true, Some(name)) = (file.is_file(), file.file_name()) {
                    std::fs::copy(&file, shop.join(name))?;
                }
            }
            Ok(())
        });
        copied.map_err(|error| format!("can't copy examples/shop: {error}"))?;
        let binary = process::binary("landform");
        let folder = binary.parent().map(|folder| folder.display().to_string());
        let path = std::env::var("PATH").unwrap_or_default();
        Ok(Self {
            home: home.to_path_buf(),
            path: format!("{}:{path}", folder.unwrap_or_default()),
        })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.home)
            .env("PATH", &self.path)
            .env("HOME", &self.home)
            .env("TERM", "xterm-256color")
            .env(
                "KUBECONFIG",
                self.home.join("examples/shop/.landform/kubeconfig"),
            )
            .env_remove("NO_COLOR");
        command
    }

    /// A line of a shell that must succeed.
    fn shell(&self, line: &str) -> Outcome<String> {
        process::output(self.command("sh").args(["-ec", line]))
    }

    /// A command in a terminal: what it writes, piece by piece.
    fn in_terminal(&self, line: &str) -> Outcome<String> {
        let line = format!("stty cols {COLUMNS} rows 40; {line}");
        let mut child = self
            .command("script")
            .args(["-qfc", &line, "/dev/null"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| {
                format!("can't run script, which gives commands a terminal: {error}")
            })?;
        let mut written = Vec::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout
                .read_to_end(&mut written)
                .map_err(|error| error.to_string())?;
        }
        child.wait().map_err(|error| error.to_string())?;
        let written = String::from_utf8_lossy(&written).into_owned();
        Ok(written.replace(&self.home.display().to_string(), "~"))
    }

    /// The live tree in the middle of it, and in the end.
    fn up(&self) -> Outcome<Vec<Row>> {
        let written = self.in_terminal(&format!("{UP} --wait"))?;
        let mut best: (usize, Vec<Row>) = (0, Vec::new());
        let mut screen = Screen::default();
        screen.write(&written, &mut |screen| {
            let rows = screen.rows();
            let signs = ["✓", "◐", "○"];
            let shown = |sign: &&&str| rows.iter().any(|row| text(row).starts_with(**sign));
            let value = signs.iter().filter(shown).count() * 100 + rows.len();
            if value > best.0 {
                best = (value, rows);
            }
        });
        let end = screen.rows();
        let is_well = end
            .iter()
            .any(|row| text(row).contains("Everything is ready"));
        if !is_well {
            let end: Vec<_> = end.iter().map(text).collect();
            return Err(format!("`{UP}` did not succeed:\n{}", end.join("\n")));
        }
        let mut rows = show(&format!("$ {UP}"));
        rows.extend(best.1);
        rows.extend(show("\u{1b}[2m… a moment later\u{1b}[0m"));
        // The line with the addresses of the API is there already.
        rows.extend(
            end.into_iter()
                .skip_while(|row| text(row).starts_with("landform ready")),
        );
        Ok(rows)
    }

    /// The project, kept up without a terminal, once it has said a line.
    fn keep_up(&self, line: &str) -> Outcome<Running> {
        let mut child = self
            .command("sh")
            .args(["-c", &format!("exec {UP}")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("can't start landform: {error}"))?;
        let stdout = child.stdout.take().ok_or("no output")?;
        let running = Running(child);
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        if !lines.any(|said| said.starts_with(line)) {
            return Err(format!("`{UP}` ended before it said {line:?}"));
        }
        // Nobody reads on; what is written later must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(running)
    }

    fn plan(&self) -> Outcome<Vec<Row>> {
        self.shell("sed 's/7401/7411/' examples/shop/config.yaml > next.yaml")?;
        self.asked(PLAN)
    }

    /// What somebody sees who asks about the page of a shop whose database can't be installed.
    fn why(&self) -> Outcome<Vec<Row>> {
        self.asked(WHY)
    }

    fn asked(&self, command: &str) -> Outcome<Vec<Row>> {
        let written = self.in_terminal(command)?;
        let mut rows = show(&format!("$ {command}"));
        rows.extend(show(&written));
        Ok(rows)
    }
}

/// A `landform up` that is ended when it is dropped.
struct Running(Child);

impl Running {
    /// As Ctrl-C does it.
    fn stop(&mut self) {
        let _ = Command::new("kill")
            .args(["-INT", &self.0.id().to_string()])
            .status();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
