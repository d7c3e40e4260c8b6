//! Follows a page from top to bottom, as a reader with an empty directory and two terminals does.
//!
//! A block of `sh` runs in the second terminal, where the block before it has left the shell: its directory and its
//! variables stay. A block that begins with `landform up` or `landform serve` is the first terminal's; it goes on until the page says
//! to press Ctrl-C, or ends.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use landform_e2e::{Lines, landform, run};
use tempfile::TempDir;

use super::page::{self, Block, Step};
use crate::shop::Leftovers;

/// How a page without an installed binary calls it.
const FROM_SOURCE: &str = "cargo run --release --";

/// Where a shell leaves what the next one goes on from.
const SHELL: &str = ".shell";

/// A page and what it needs here.
pub(crate) struct Page {
    /// Its path from the repository's root.
    pub(crate) path: &'static str,
    /// Ports that it names; each gets a free one. What begins with a slash gets a path below the home.
    pub(crate) words: &'static [&'static str],
    /// Directories of the repository that its commands name.
    pub(crate) uses: &'static [&'static str],
}

/// A page that was followed.
pub(crate) struct Walk {
    // Dropped before its directory goes: processes outlive their Landform.
    _leftovers: Leftovers,
    /// What each section printed.
    printed: BTreeMap<String, String>,
    /// Words of the page, each with what it is here.
    replaced: Vec<(String, String)>,
    home: TempDir,
}

impl Walk {
    /// What the commands of a section printed.
    pub(crate) fn printed(&self, section: &str) -> &str {
        self.printed
            .get(section)
            .unwrap_or_else(|| panic!("there is no section {section:?} with commands"))
    }

    /// What the page says, as it is here.
    pub(crate) fn localized(&self, text: &str) -> String {
        let pairs = self.replaced.iter();
        pairs.fold(text.to_owned(), |text, (written, own)| {
            text.replace(written, own)
        })
    }

    /// A file below the directory in which the page began.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.home.path().join(file)
    }
}

/// Runs all commands of a page.
pub(crate) fn follow(page: &Page) -> Walk {
    let mut walker = Walker::new(page);
    let text = walker.walk.localized(&page::read(page.path));
    for step in page::steps(&text) {
        match step {
            Step::Interrupt => walker.interrupt(),
            Step::Block(block) if block.language == "sh" => walker.run(&block),
            Step::Block(_) => {}
        }
    }
    walker.interrupt();
    walker.walk
}

struct Walker<'a> {
    page: &'a Page,
    /// The program in the first terminal.
    first: Option<Lines>,
    walk: Walk,
}

impl<'a> Walker<'a> {
    fn new(page: &'a Page) -> Self {
        let home = tempfile::tempdir().unwrap();
        let listeners: Vec<_> = page
            .words
            .iter()
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let pairs = page.words.iter().zip(&listeners).map(|(word, listener)| {
            let own = if word.starts_with('/') {
                format!("{}{word}", home.path().display())
            } else {
                listener.local_addr().unwrap().port().to_string()
            };
            ((*word).to_owned(), own)
        });
        let replaced = pairs.collect();
        std::fs::create_dir_all(home.path().join("bin")).unwrap();
        symlink(landform(), home.path().join("bin/landform")).unwrap();
        let walk = Walk {
            _leftovers: Leftovers(home.path().to_path_buf()),
            printed: BTreeMap::new(),
            replaced,
            home,
        };
        let walker = Self {
            page,
            first: None,
            walk,
        };
        for directory in page.uses {
            walker.copy(&page::root().join(directory), &walker.walk.path(directory));
        }
        walker
    }

    fn copy(&self, from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap();
            if name == ".landform" {
                continue;
            }
            if path.is_dir() {
                self.copy(&path, &to.join(name));
            } else {
                let text = self
                    .walk
                    .localized(&std::fs::read_to_string(&path).unwrap());
                std::fs::write(to.join(name), text).unwrap();
            }
        }
    }

    fn run(&mut self, block: &Block) {
        let text = block.text.replace(FROM_SOURCE, "landform");
        if is_of_the_first_terminal(&text) {
            self.start(block, &text);
            return;
        }
        // What the page builds is there already: the binary under test.
        let lines = text.lines();
        let lines: Vec<_> = lines.filter(|line| !line.starts_with("cargo ")).collect();
        let script = lines.join("\n").replace("$PWD/target/release:", "");
        let shell = self.walk.path(SHELL);
        let shell = shell.display();
        let script = format!(
            "[ ! -e {shell} ] || . {shell}\nset -ex\n{script}\nset +x\n{{ export -p; echo cd \"'$PWD'\"; }} > {shell}"
        );
        let done = run(self.command().args(["-c", &script]));
        assert!(
            done.status.success(),
            "{}:{}: {}\nthe first terminal has:\n{}",
            self.page.path,
            block.line,
            done.report(),
            self.first.as_ref().map(Lines::report).unwrap_or_default()
        );
        let printed = &mut self.walk.printed;
        let printed = printed.entry(block.section.clone()).or_default();
        printed.push_str(&done.stdout);
    }

    /// Starts the program of the first terminal, where the shell is now.
    fn start(&mut self, block: &Block, text: &str) {
        assert!(
            self.first.is_none(),
            "{}:{}: the first terminal is in use",
            self.page.path,
            block.line
        );
        let shell = self.walk.path(SHELL);
        let shell = shell.display();
        // A port of its own: tests run side by side.
        let script = format!(
            "[ ! -e {shell} ] || . {shell}\nexec {} --listen 127.0.0.1:0",
            text.trim_end()
        );
        let mut lines = Lines::of(self.command().args(["-c", &script]));
        lines.expect(&["landform ready"]);
        if text.starts_with("landform up") {
            lines.expect(&["Watching the files"]);
        }
        self.first = Some(lines);
    }

    fn interrupt(&mut self) {
        if let Some(first) = self.first.take() {
            first.interrupt();
            let ended = first.finish();
            assert!(ended.status.success(), "{}", ended.report());
        }
    }

    fn command(&self) -> Command {
        let home = self.walk.home.path();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("sh");
        command
            .current_dir(home)
            .env("PATH", format!("{}:{path}", home.join("bin").display()))
            .env("HOME", home)
            .env("LC_ALL", "C");
        for variable in ["KUBECONFIG", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
            command.env_remove(variable);
        }
        for variable in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
            command
                .env_remove(variable)
                .env_remove(variable.to_lowercase());
        }
        command
    }
}

/// Whether a block is one program that goes on until it is ended.
fn is_of_the_first_terminal(text: &str) -> bool {
    let stays = |line: &str| {
        let up = line.starts_with("landform up") && !line.contains("--wait");
        up || line.starts_with("landform serve")
    };
    text.lines().count() == 1 && stays(text)
}
