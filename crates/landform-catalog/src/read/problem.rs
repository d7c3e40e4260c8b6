//! What is wrong with a catalog, collected while it is read.

use landform_api::catalog::source::CatalogProblem;

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<CatalogProblem>);

/// Something that is wrong with a part whose package isn't known yet.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub(super) place: String,
    pub(super) reason: String,
    pub(super) warning: bool,
}

impl Note {
    /// Something was left out.
    pub(super) fn error(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            reason: reason.into(),
            warning: false,
        }
    }

    /// Nothing was left out.
    pub(super) fn warning(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            warning: true,
            ..Self::error(place, reason)
        }
    }
}

impl Problems {
    /// Something was left out.
    pub(super) fn error(&mut self, place: impl Into<String>, package: &str, reason: String) {
        self.note(package, Note::error(place, reason));
    }

    /// Nothing was left out.
    pub(super) fn warning(&mut self, place: impl Into<String>, package: &str, reason: String) {
        self.note(package, Note::warning(place, reason));
    }

    /// Keeps a note, now that its package is known.
    pub(super) fn note(&mut self, package: &str, note: Note) {
        self.0.push(CatalogProblem {
            file: note.place,
            package: package.to_owned(),
            reason: note.reason,
            warning: note.warning,
        });
    }

    /// All of them, sorted, each once.
    pub(super) fn finish(mut self) -> Vec<CatalogProblem> {
        // By the number of the line, so that line 10 comes after line 9.
        self.0.sort_by(|a, b| {
            let (file, other) = (split(&a.file), split(&b.file));
            file.cmp(&other).then_with(|| a.cmp(b))
        });
        self.0.dedup();
        self.0
    }
}

/// A place's file and line.
fn split(place: &str) -> (&str, usize) {
    let parts = place.rsplit_once(':');
    let line = parts.and_then(|(file, line)| Some((file, line.parse().ok()?)));
    line.unwrap_or((place, 0))
}
