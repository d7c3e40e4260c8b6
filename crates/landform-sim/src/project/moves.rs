//! Renames of all sorts, and docs that move from file to file.

use super::directory::Touch;
use super::plan::{File, Planner, Step, text};
use super::{Doc, GRACE, PROJECT};
use crate::chance::{CERTAIN, Chance};
use crate::simulation::Action;

/// Files of one save are written within this time.
const GAP_MS: u64 = 300;

/// In a project with this many objects it takes consent to delete most of them.
const LARGE: usize = 8;

impl Planner {
    /// In a third of all scenarios people remove most files of a large project at once. For good, or they bring them
    /// back: as long as nobody has agreed, nothing is lost, however late that is.
    pub(super) fn clear_out(&mut self, chance: &Chance) {
        if !chance.happens(CERTAIN / 3) {
            return;
        }
        let whole = |file: &File| !file.broken && !file.away;
        let count = |planner: &Self| -> usize {
            let files = planner.files.values();
            files.map(|file| file.docs.len()).sum()
        };
        while count(self) < LARGE {
            self.add();
        }
        self.settle();
        let all = count(self);
        let (mut gone, mut paths) = (0, Vec::new());
        for path in self.paths_where(whole) {
            if gone * 2 <= all + 1 {
                gone += self.files[&path].docs.len();
                paths.push(path);
            }
        }
        let removed = paths.iter();
        let removed = removed.map(|path| Touch::Remove(format!("{PROJECT}/{path}")));
        let removed = removed.collect();
        let come_back = chance.happens(CERTAIN / 2);
        for path in &paths {
            self.set_away(path, true);
        }
        self.edit(removed);
        self.steps.push(Step::Act(Action::Wait(GRACE * 4)));
        if come_back {
            let back = paths.iter();
            let back =
                back.map(|path| Touch::Write(format!("{PROJECT}/{path}"), text(&self.files[path])));
            let back = back.collect();
            for path in &paths {
                self.set_away(path, false);
            }
            self.edit(back);
        } else {
            for path in &paths {
                self.files.remove(path);
            }
        }
        self.settle();
    }

    /// One object gets another name: alone, together with its file, or with the former name in an annotation and
    /// other content.
    pub(super) fn rename(&mut self) {
        let Some((path, at)) = self.any_untouched() else {
            return;
        };
        let (name, value) = (self.fresh_name(), self.fresh_value());
        let told = self.chance.happens(CERTAIN / 3);
        let Some(doc) = self.doc_mut(&path, at) else {
            return;
        };
        let who = doc.who;
        doc.renamed_from = told.then(|| doc.name.clone());
        if told {
            doc.value = value;
        }
        doc.name = name;
        self.touched.insert(who);
        self.frozen.insert(who);
        if self.chance.happens(CERTAIN / 3) {
            self.rename_file(&path);
        } else {
            self.save(&path);
        }
    }

    /// The file gets another name and its new content at the same moment.
    fn rename_file(&mut self, path: &str) {
        let Some(file) = self.files.remove(path) else {
            return;
        };
        let new = self.fresh_path();
        let (from, to) = (format!("{PROJECT}/{path}"), format!("{PROJECT}/{new}"));
        let text = text(&file);
        self.saved.insert(new.clone());
        self.files.insert(new, file);
        self.edit(vec![Touch::Move(from, to.clone()), Touch::Write(to, text)]);
    }

    /// Several objects of a kind change names: in a chain whose end gets a new one, or in a circle.
    pub(super) fn rename_in_a_circle(&mut self) {
        let Some((path, at)) = self.any_untouched() else {
            return;
        };
        let first = self.files[&path].docs[at].clone();
        let mut places = vec![(path, at)];
        let most = 2 + self.chance.index(2);
        for (path, file) in &self.files {
            for (at, doc) in file.docs.iter().enumerate() {
                let free = !file.broken && !file.away && self.may_be_renamed(doc);
                let alike = doc.kind == first.kind && doc.elsewhere == first.elsewhere;
                if free && alike && doc.who != first.who && places.len() < most {
                    places.push((path.clone(), at));
                }
            }
        }
        let mut names: Vec<String> = places
            .iter()
            .map(|(path, at)| self.files[path].docs[*at].name.clone())
            .collect();
        if self.chance.happens(CERTAIN / 2) {
            // A chain: the first name is free then.
            names[0] = self.fresh_name();
        }
        names.rotate_left(1);
        for ((path, at), name) in places.iter().zip(names) {
            let Some(doc) = self.doc_mut(path, *at) else {
                continue;
            };
            let who = doc.who;
            (doc.name, doc.renamed_from) = (name, None);
            self.touched.insert(who);
            self.frozen.insert(who);
        }
        let mut paths: Vec<String> = places.into_iter().map(|(path, _)| path).collect();
        paths.sort();
        paths.dedup();
        self.save_together(&paths);
    }

    /// A doc is cut from one file and pasted into another.
    pub(super) fn move_doc(&mut self) {
        let Some((from, at)) = self.any_doc(|_| true) else {
            return;
        };
        let to = match self.any_file() {
            Some(to) if to != from => to,
            _ => self.fresh_path(),
        };
        let Some(file) = self.files.get_mut(&from) else {
            return;
        };
        let doc = file.docs.remove(at);
        self.touched.insert(doc.who);
        self.save(&from);
        self.pause(GAP_MS);
        self.files.entry(to.clone()).or_default().docs.push(doc);
        self.save(&to);
    }

    fn any_untouched(&self) -> Option<(String, usize)> {
        self.any_doc(|doc| self.may_be_renamed(doc))
    }

    fn may_be_renamed(&self, doc: &Doc) -> bool {
        !self.touched.contains(&doc.who) && !self.frozen.contains(&doc.who)
    }

    /// All files are written, one after the other: what the later ones say isn't known before.
    fn save_together(&mut self, paths: &[String]) {
        if self.chance.happens(CERTAIN / 2) {
            self.saved.extend(paths.iter().cloned());
            let touches = paths
                .iter()
                .map(|path| Touch::Write(format!("{PROJECT}/{path}"), text(&self.files[path])));
            let touches = touches.collect();
            return self.edit(touches);
        }
        for path in paths {
            self.save(path);
            self.pause(GAP_MS);
        }
    }
}
