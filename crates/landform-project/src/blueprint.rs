//! Sums of blueprints: whether the files of one have changed since an installation used them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::scan::Stamp;

/// At most this many files and bytes of one blueprint are looked at.
const FILES: usize = 10_000;
const BYTES: u64 = 64 << 20;

/// What is remembered of blueprints that were read.
#[derive(Debug, Default)]
pub(crate) struct Blueprints {
    read: BTreeMap<String, Read>,
}

#[derive(Clone, Debug)]
struct Read {
    files: Vec<(PathBuf, Stamp)>,
    /// The blueprints that there were: one may name another.
    others: BTreeSet<String>,
    /// A sum of its own files.
    sum: [u8; 32],
    /// The others that it names.
    names: BTreeSet<String>,
}

impl Blueprints {
    /// A sum for each blueprint, of its files and of those of the blueprints that it names. One that can't be
    /// read has none: its installations will say why.
    pub(crate) fn sums(
        &mut self,
        found: &BTreeMap<String, PathBuf>,
        is_fresh: impl Fn(&Stamp) -> bool,
    ) -> BTreeMap<String, String> {
        self.read.retain(|path, _| found.contains_key(path));
        let others: BTreeSet<String> = found.keys().cloned().collect();
        for (path, real) in found {
            let mut files = Vec::new();
            if list(real, &mut files).is_none() {
                self.read.remove(path);
                continue;
            }
            files.sort();
            let settled = !files.iter().any(|(_, stamp)| is_fresh(stamp));
            let known = self.read.get(path);
            if settled && known.is_some_and(|known| known.files == files && known.others == others)
            {
                continue;
            }
            match read(real, files, &others) {
                Some(read) => drop(self.read.insert(path.clone(), read)),
                None => drop(self.read.remove(path)),
            }
        }
        let paths = self.read.keys();
        paths.map(|path| (path.clone(), self.sum(path))).collect()
    }

    fn sum(&self, path: &str) -> String {
        let mut reached = BTreeSet::new();
        let mut open = vec![path.to_owned()];
        while let Some(next) = open.pop() {
            if let Some(read) = self.read.get(&next)
                && reached.insert(next)
            {
                open.extend(read.names.iter().cloned());
            }
        }
        let mut hash = Sha256::new();
        for path in &reached {
            if let Some(read) = self.read.get(path) {
                hash.update(path);
                hash.update(read.sum);
            }
        }
        let sum = format!("{:x}", hash.finalize());
        sum[..16].to_owned()
    }
}

/// Which blueprints others were told of, by path with their sums.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// None before the first look: at a start every installation looks itself.
    sums: Option<BTreeMap<String, String>>,
    /// Since when some of them are away.
    away_since: Option<u64>,
}

/// What is to be done about changed blueprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    None,
    /// Others must look at them now.
    Tell,
}

impl Told {
    /// Compares with what there is now. What is added or changed counts at once; what is away, when it has been so for
    /// the grace.
    pub(crate) fn take(
        &mut self,
        now: &BTreeMap<String, String>,
        grace_ms: u64,
        now_ms: u64,
    ) -> News {
        let Some(told) = &mut self.sums else {
            self.sums = Some(now.clone());
            return News::None;
        };
        let away = told.keys().any(|path| !now.contains_key(path));
        let since = match (away, self.away_since) {
            (true, since) => since.unwrap_or(now_ms),
            (false, _) => now_ms,
        };
        self.away_since = away.then_some(since);
        let until = since.saturating_add(grace_ms);
        if away && until <= now_ms {
            told.clone_from(now);
            self.away_since = None;
            return News::Tell;
        }
        let mut changed = false;
        for (path, sum) in now {
            changed |= told.insert(path.clone(), sum.clone()).as_ref() != Some(sum);
        }
        if changed { News::Tell } else { News::None }
    }

    /// Until when blueprints that are away may come back.
    pub(crate) fn away_until(&self, grace_ms: u64) -> Option<u64> {
        self.away_since.map(|since| since.saturating_add(grace_ms))
    }
}

/// The path of a blueprint as installations write it, in the form that a tree has.
pub(crate) fn plain_path(path: &str) -> String {
    let parts = path.split('/');
    let parts: Vec<_> = parts
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    parts.join("/")
}

fn list(directory: &Path, files: &mut Vec<(PathBuf, Stamp)>) -> Option<()> {
    for entry in fs::read_dir(directory).ok()? {
        let entry = entry.ok()?;
        let found = entry.metadata().ok()?;
        if found.is_dir() {
            list(&entry.path(), files)?;
        } else if found.is_file() {
            files.push((entry.path(), Stamp::of(&found)));
        }
        if files.len() > FILES {
            return None;
        }
    }
    Some(())
}

fn read(root: &Path, files: Vec<(PathBuf, Stamp)>, others: &BTreeSet<String>) -> Option<Read> {
    let mut hash = Sha256::new();
    let mut names = BTreeSet::new();
    let mut bytes = 0;
    for (path, _) in &files {
        let content = fs::read(path).ok()?;
        bytes += u64::try_from(content.len()).unwrap_or(u64::MAX);
        if bytes > BYTES {
            return None;
        }
        let name = path.strip_prefix(root).unwrap_or(path);
        let name = name.to_string_lossy();
        if landform_api::files::is_passing(name.rsplit('/').next().unwrap_or_default()) {
            continue;
        }
        hash.update(name.as_bytes());
        hash.update(content.len().to_le_bytes());
        hash.update(&content);
        let text = String::from_utf8_lossy(&content);
        names.extend(
            others
                .iter()
                .filter(|other| text.contains(other.as_str()))
                .cloned(),
        );
    }
    Some(Read {
        files,
        others: others.clone(),
        sum: hash.finalize().into(),
        names,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r15b_a_blueprint_that_is_away_is_news_when_the_grace_is_over() {
        let sums = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            let all = all.iter();
            all.map(|&(path, sum)| (path.to_owned(), sum.to_owned()))
                .collect()
        };
        let both = sums(&[("db", "1"), ("web", "1")]);
        let mut told = Told::default();
        let table = [
            ("a start", both.clone(), 0, News::None, None),
            ("nothing", both.clone(), 10, News::None, None),
            (
                "a change",
                sums(&[("db", "2"), ("web", "1")]),
                20,
                News::Tell,
                None,
            ),
            (
                "one goes",
                sums(&[("db", "2")]),
                30,
                News::None,
                Some(2_030),
            ),
            (
                "another changes",
                sums(&[("db", "3")]),
                40,
                News::Tell,
                Some(2_030),
            ),
            (
                "it is back",
                sums(&[("db", "3"), ("web", "1")]),
                2_000,
                News::None,
                None,
            ),
            (
                "it goes",
                sums(&[("db", "3")]),
                2_040,
                News::None,
                Some(4_040),
            ),
            (
                "it is back, and changed",
                sums(&[("db", "3"), ("web", "2")]),
                2_050,
                News::Tell,
                None,
            ),
            (
                "it goes",
                sums(&[("db", "3")]),
                3_000,
                News::None,
                Some(5_000),
            ),
            (
                "it stays away",
                sums(&[("db", "3")]),
                5_000,
                News::Tell,
                None,
            ),
            ("nothing", sums(&[("db", "3")]), 9_000, News::None, None),
            (
                "a new one",
                sums(&[("db", "3"), ("x", "1")]),
                9_001,
                News::Tell,
                None,
            ),
        ];
        for (case, now, at, news, until) in table {
            assert_eq!(told.take(&now, 2_000, at), news, "{case} at {at}");
            assert_eq!(told.away_until(2_000), until, "{case} at {at}");
        }
    }
}
