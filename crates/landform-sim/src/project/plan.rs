//! Random scenarios: what people do with files, and what others do with objects.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;

use super::directory::Touch;
use super::{Doc, ELSEWHERE, GRACE, HOME, Kind, PROJECT, Said, Who};
use crate::chance::{CERTAIN, Chance};
use crate::simulation::Action;
use crate::user::{ObjectName, Wish};

/// The settings, in full.
const SETTINGS: &str = "apiVersion: landform.dev/v1alpha1\nkind: Project\nspec: {namespace: web, grace: 2s, values: {a: 1}, ignore: [drafts]}\n";
/// Where they are.
const SETTINGS_FILE: &str = "landform.yaml";
/// Written by others, and none of the project's business.
pub(super) const THEIRS: &str = "sim.landform.dev/theirs";

/// What happens next.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Files change, all at once; and what they say then.
    Edit(Vec<Touch>, Said),
    /// Anything else.
    Act(Action),
    /// Others write an object of the project.
    Write(Who, Wish),
    /// Others delete an object of the project.
    Delete(Who, Wish),
    /// Others make an object that stays whatever happens.
    Foreign(Wish, String),
    /// Everything comes to rest, and is judged.
    Settle,
    /// The project is deleted.
    End(Wish),
}

/// A file that people have.
#[derive(Clone, Debug, Default)]
pub(super) struct File {
    pub(super) docs: Vec<Doc>,
    /// Whether something is in it that can't be read.
    pub(super) broken: bool,
    /// Whether it is somewhere else, or empty, for now.
    pub(super) away: bool,
}

pub(super) struct Planner {
    pub(super) chance: Chance,
    pub(super) steps: Vec<Step>,
    pub(super) files: BTreeMap<String, File>,
    /// Whose objects may not be as the files said at the last rest: a rename of these may not be found.
    pub(super) touched: BTreeSet<Who>,
    /// Whose objects are being renamed, or written by others: their docs stay as they are until the next rest.
    pub(super) frozen: BTreeSet<Who>,
    /// Files that say something else than at the last rest: what left them stays while they can't be read.
    pub(super) saved: BTreeSet<String>,
    whos: Who,
    values: u64,
    names: u64,
    paths: u64,
}

/// The steps of a seed.
pub(super) fn random(seed: u64) -> Vec<Step> {
    let mut planner = Planner {
        chance: Chance::new(seed, "plan"),
        steps: Vec::new(),
        files: BTreeMap::new(),
        touched: BTreeSet::new(),
        frozen: BTreeSet::new(),
        saved: BTreeSet::new(),
        whos: 0,
        values: 0,
        names: 0,
        paths: 0,
    };
    planner.begin(seed);
    for _ in 0..2 + planner.chance.below(3) {
        for _ in 0..2 + planner.chance.below(5) {
            planner.act();
            planner.pause(3_000);
        }
        planner.settle();
    }
    planner.clear_out(&Chance::new(seed, "clear-out"));
    if planner.chance.happens(CERTAIN / 3) {
        for _ in 0..planner.chance.below(3) {
            planner.act();
        }
        let project = ObjectName {
            api_version: "landform.dev/v1alpha1".into(),
            kind: "Project".into(),
            namespace: String::new(),
            name: PROJECT.into(),
        };
        planner.steps.push(Step::End(Wish::Deleted(project)));
    }
    planner.steps
}

impl Planner {
    fn begin(&mut self, seed: u64) {
        let settings = Touch::Write(format!("{PROJECT}/{SETTINGS_FILE}"), SETTINGS.into());
        self.edit(vec![settings]);
        for _ in 0..4 + self.chance.below(7) {
            self.add();
        }
        for namespace in ["default", ELSEWHERE] {
            self.foreign(namespace);
        }
        let project = Action::Wish(Wish::Applied(super::manifest()));
        self.steps.push(Step::Act(project));
        self.settle();
        // Without others in it, the namespace goes with the project.
        if !seed.is_multiple_of(3) {
            self.foreign(HOME);
        }
    }

    /// Somebody else's object, called as one of the project may be in another namespace.
    fn foreign(&mut self, namespace: &str) {
        let name = format!("theirs-{namespace}");
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace}, "data": {"value": "1"},
        });
        let place = format!("configmaps {namespace}/{name}");
        self.steps.push(Step::Foreign(Wish::Applied(map), place));
    }

    pub(super) fn pause(&mut self, most_ms: u64) {
        let time = Duration::from_millis(self.chance.below(most_ms));
        self.steps.push(Step::Act(Action::Wait(time)));
    }

    pub(super) fn edit(&mut self, touches: Vec<Touch>) {
        let said = self.said();
        self.steps.push(Step::Edit(touches, said));
    }

    fn said(&self) -> Said {
        let mut said = Said::default();
        for (path, file) in &self.files {
            for doc in &file.docs {
                if file.broken {
                    said.unsure.insert(doc.who);
                } else if !file.away {
                    said.docs.insert(doc.who, (path.clone(), doc.clone()));
                }
            }
        }
        said
    }

    fn act(&mut self) {
        match self.chance.below(26) {
            0..3 => self.change(),
            3..5 => self.add(),
            5..7 => self.remove(),
            7..11 => self.send_away(),
            11..13 => self.break_or_mend(),
            13..16 => self.rename(),
            16..19 => self.rename_in_a_circle(),
            19 => self.move_doc(),
            20 => self.disturb_settings(),
            21 => self.move_directory(),
            22 => self.others_write(),
            23 => self.others_delete(),
            24 => self.steps.push(Step::Act(Action::Crash)),
            _ => {
                let writes = self.chance.below(12);
                let crash = Action::CrashAfterWrites(writes);
                self.steps.push(Step::Act(crash));
            }
        }
    }

    /// Everybody waits until nothing happens any more.
    pub(super) fn settle(&mut self) {
        let broken: Vec<String> = self.paths_where(|file| file.broken);
        for path in broken {
            if self.saved.contains(&path) || self.chance.happens(CERTAIN / 2) {
                self.mend(&path);
            }
        }
        self.steps.push(Step::Settle);
        self.touched.clear();
        self.frozen.clear();
        self.saved.clear();
    }

    pub(super) fn paths_where(&self, fits: impl Fn(&File) -> bool) -> Vec<String> {
        let fitting = self.files.iter().filter(|(_, file)| fits(file));
        fitting.map(|(path, _)| path.clone()).collect()
    }

    /// A file that can be edited.
    pub(super) fn any_file(&self) -> Option<String> {
        let whole = self.paths_where(|file| !file.broken && !file.away);
        self.pick(&whole)
    }

    pub(super) fn pick<T: Clone>(&self, among: &[T]) -> Option<T> {
        if among.is_empty() {
            return None;
        }
        Some(among[self.chance.index(among.len())].clone())
    }

    /// A doc that may be edited: its file, and its place there.
    pub(super) fn any_doc(&self, fits: impl Fn(&Doc) -> bool) -> Option<(String, usize)> {
        let mut fitting = Vec::new();
        for (path, file) in &self.files {
            for (at, doc) in file.docs.iter().enumerate() {
                let free = !file.broken && !file.away && !self.frozen.contains(&doc.who);
                if free && fits(doc) {
                    fitting.push((path.clone(), at));
                }
            }
        }
        self.pick(&fitting)
    }

    pub(super) fn fresh_name(&mut self) -> String {
        self.names += 1;
        format!("n{:02}", self.names)
    }

    pub(super) fn fresh_value(&mut self) -> u64 {
        self.values += 1;
        self.values
    }

    pub(super) fn fresh_path(&mut self) -> String {
        self.paths += 1;
        let directory = ["", "sub/", "sub/deep/"][self.chance.index(3)];
        format!("{directory}f{:02}.yaml", self.paths)
    }

    /// Writes a file as editors do, with all its docs; or removes it when there are none.
    pub(super) fn save(&mut self, path: &str) {
        self.saved.insert(path.to_owned());
        let real = format!("{PROJECT}/{path}");
        let file = self.files.get(path).cloned().unwrap_or_default();
        if file.docs.is_empty() {
            self.files.remove(path);
            return self.edit(vec![Touch::Remove(real)]);
        }
        let whole = Touch::Write(real.clone(), text(&file));
        match self.chance.below(4) {
            0 => {
                self.set_away(path, true);
                self.edit(vec![Touch::Write(real, String::new())]);
                self.pause(120);
                self.set_away(path, false);
                self.edit(vec![whole]);
            }
            1 => {
                let passing = format!("{real}.tmp");
                let written = Touch::Write(passing.clone(), text(&file));
                self.edit(vec![written, Touch::Move(passing, real)]);
            }
            _ => self.edit(vec![whole]),
        }
    }

    pub(super) fn set_away(&mut self, path: &str, away: bool) {
        if let Some(file) = self.files.get_mut(path) {
            file.away = away;
        }
    }

    fn change(&mut self) {
        let Some((path, at)) = self.any_doc(|_| true) else {
            return;
        };
        let value = self.fresh_value();
        if let Some(doc) = self.doc_mut(&path, at) {
            doc.value = value;
            let who = doc.who;
            self.touched.insert(who);
        }
        self.save(&path);
    }

    pub(super) fn doc_mut(&mut self, path: &str, at: usize) -> Option<&mut Doc> {
        self.files.get_mut(path)?.docs.get_mut(at)
    }

    pub(super) fn add(&mut self) {
        let path = match self.any_file() {
            Some(path) if self.chance.happens(CERTAIN / 3) => path,
            _ => self.fresh_path(),
        };
        self.whos += 1;
        let doc = Doc {
            who: self.whos,
            kind: Kind::ALL[self.chance.index(2)],
            elsewhere: self.chance.happens(CERTAIN / 4),
            name: self.fresh_name(),
            value: self.fresh_value(),
            renamed_from: None,
        };
        self.touched.insert(doc.who);
        self.files.entry(path.clone()).or_default().docs.push(doc);
        self.save(&path);
    }

    /// For good.
    fn remove(&mut self) {
        let Some((path, at)) = self.any_doc(|_| true) else {
            return;
        };
        if let Some(file) = self.files.get_mut(&path) {
            file.docs.remove(at);
        }
        self.save(&path);
    }

    /// A checkout, or a person, takes files away and brings them back: soon enough, or too late.
    fn send_away(&mut self) {
        let first = self.any_file();
        let second = self.any_file().filter(|_| self.chance.happens(CERTAIN / 3));
        let paths: BTreeSet<String> = first.into_iter().chain(second).collect();
        let renamed = |path: &String| {
            let docs = &self.files[path].docs;
            docs.iter().any(|doc| self.frozen.contains(&doc.who))
        };
        let soon = paths.iter().any(renamed) || self.chance.happens(CERTAIN * 2 / 3);
        for path in &paths {
            self.set_away(path, true);
            self.edit(vec![Touch::Remove(format!("{PROJECT}/{path}"))]);
        }
        let grace = u64::try_from(GRACE.as_millis()).unwrap_or(0);
        if soon {
            self.pause(grace * 9 / 10);
        } else {
            self.pause(grace * 4);
        }
        for path in &paths {
            let docs = &self.files[path].docs;
            self.touched.extend(docs.iter().map(|doc| doc.who));
            self.set_away(path, false);
            self.save(path);
        }
    }

    fn break_or_mend(&mut self) {
        let broken = self.paths_where(|file| file.broken);
        if let Some(path) = self.pick(&broken) {
            return self.mend(&path);
        }
        let Some(path) = self.any_file() else { return };
        if let Some(file) = self.files.get_mut(&path) {
            file.broken = true;
        }
        let text = text(&self.files[&path]);
        let write = Touch::Write(format!("{PROJECT}/{path}"), text);
        self.edit(vec![write]);
    }

    fn mend(&mut self, path: &str) {
        if let Some(file) = self.files.get_mut(path) {
            file.broken = false;
        }
        self.save(path);
    }

    /// The settings are away, empty or wrong for a moment.
    fn disturb_settings(&mut self) {
        let real = format!("{PROJECT}/{SETTINGS_FILE}");
        let (touch, most_ms) = match self.chance.below(4) {
            0 => (Touch::Remove(real.clone()), 1_800),
            1 => (Touch::Write(real.clone(), String::new()), 1_800),
            2 => (
                Touch::Write(
                    real.clone(),
                    "apiVersion: landform.dev/v1alpha1\nkind: Project\n".into(),
                ),
                1_800,
            ),
            // Those that were read last go on to hold.
            _ => (Touch::Write(real.clone(), "spec: [".into()), 9_000),
        };
        self.edit(vec![touch]);
        self.pause(most_ms);
        self.edit(vec![Touch::Write(real, SETTINGS.into())]);
    }

    /// The whole directory is away: nothing is touched, however long.
    fn move_directory(&mut self) {
        let away = format!("{PROJECT}-away");
        self.edit(vec![Touch::Move(PROJECT.into(), away.clone())]);
        self.pause(9_000);
        self.edit(vec![Touch::Move(away, PROJECT.into())]);
    }

    fn others_write(&mut self) {
        let Some((who, doc)) = self.untouched() else {
            return;
        };
        let mut object = doc.manifest();
        object["metadata"]["namespace"] = json!(doc.namespace());
        object["metadata"]["annotations"][THEIRS] = json!(self.fresh_value().to_string());
        self.steps.push(Step::Write(who, Wish::Applied(object)));
    }

    fn others_delete(&mut self) {
        let Some((who, doc)) = self.untouched() else {
            return;
        };
        let wish = Wish::Deleted(doc.object_name());
        self.steps.push(Step::Delete(who, wish));
    }

    /// An object that is as its file says, and stays so until the next rest.
    fn untouched(&mut self) -> Option<(Who, Doc)> {
        let touched = self.touched.clone();
        let (path, at) = self.any_doc(|doc| !touched.contains(&doc.who))?;
        let doc = self.files[&path].docs[at].clone();
        self.touched.insert(doc.who);
        self.frozen.insert(doc.who);
        self.saved.insert(path);
        Some((doc.who, doc))
    }
}

/// A file as people write it.
pub(super) fn text(file: &File) -> String {
    let docs = file.docs.iter().map(|doc| doc.manifest().to_string());
    let mut text = docs.collect::<Vec<_>>().join("\n---\n");
    if file.broken {
        text.push_str("\n---\na: [\n");
    }
    text
}
