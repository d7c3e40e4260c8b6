//! From files to [`Content`].
//!
//! Three formats are known by what documents say, wherever they lie and however files are called:
//! our own OperatorVersion manifests (`own`), OLM's file-based catalogs (`olm`), and bundle directories with
//! a ClusterServiceVersion (`service_version`, `folder`). In reading order: `document` takes files apart;
//! `classify` below says what each document is; `assemble` puts together what lies in one directory;
//! `finish` makes packages and tells what doesn't fit.
//!
//! Guarantees: no bytes make it panic; the order of files has no effect; a bad document, bundle or package
//! costs only itself, and is told with its place and what follows from it.

mod assemble;
mod definition;
mod digest;
mod document;
mod draft;
mod finish;
mod folder;
mod needs;
mod olm;
mod own;
mod payload;
mod problem;
mod semver_graph;
mod service_version;
mod value;
mod walk;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use landform_api::GroupVersionKind;
use landform_api::catalog::OperatorVersionSpec;
use landform_api::catalog::operator_version::KindVersion;
use serde_json::Value;

pub use digest::of as digest;
pub use own::{CHANNELS, DEFAULT_CHANNEL};

use crate::model::Content;
use document::{Document, Source};
use draft::{Item, Said};
use problem::Problems;
use value::text;

/// How much of a directory is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How large one file may be.
    pub file_bytes: u64,
    /// How many files there may be.
    pub files: usize,
    /// How deep directories may be nested.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file_bytes: 256 << 20,
            files: 200_000,
            depth: 16,
        }
    }
}

/// Why nothing could be read at all.
#[derive(Debug, thiserror::Error)]
#[error("the catalog {} can't be read: give a directory or a file with a catalog", path.display())]
pub struct ReadError {
    path: PathBuf,
    source: std::io::Error,
}

impl ReadError {
    fn new(path: &Path, source: std::io::Error) -> Self {
        Self {
            path: path.to_owned(),
            source,
        }
    }
}

/// Reads files, given as paths (with `/`) and bytes. Their order has no effect.
pub fn read<P, B>(files: impl IntoIterator<Item = (P, B)>) -> Content
where
    P: AsRef<str>,
    B: AsRef<[u8]>,
{
    let mut reader = Reader::default();
    for (path, bytes) in files {
        reader.file(path.as_ref(), bytes.as_ref());
    }
    reader.finish()
}

/// Reads the documents of a Catalog object. Texts among them are taken as files.
#[must_use]
pub fn read_inline(documents: &[Value]) -> Content {
    let mut reader = Reader::default();
    for (number, value) in documents.iter().enumerate() {
        // Padded, so that they stay in order when they are sorted.
        let name = format!("inline[{number:04}]");
        match value {
            Value::String(text) => reader.file(&name, text.as_bytes()),
            value => {
                let document = Document {
                    value: value.clone(),
                    source: Source::whole(&name),
                };
                reader.document(document, 0);
            }
        }
    }
    reader.finish()
}

/// Reads a directory, with all that is in it, or a single file.
///
/// # Errors
/// When there is nothing at the path, or it can't be read. What is wrong with single files is in the
/// content's problems.
pub fn from_path(path: &Path) -> Result<Content, ReadError> {
    from_path_within(path, &Limits::default())
}

/// Reads a directory or a file within limits.
///
/// # Errors
/// As [`from_path`].
pub fn from_path_within(path: &Path, limits: &Limits) -> Result<Content, ReadError> {
    let metadata = std::fs::metadata(path).map_err(|source| ReadError::new(path, source))?;
    let mut reader = Reader::default();
    let files = if metadata.is_dir() {
        walk::walk(path, limits, &mut reader.problems)?
    } else {
        vec![walk::Found::named(path)]
    };
    for file in files {
        if let Some(bytes) = file.read(limits, &mut reader.problems) {
            reader.file(&file.name, &bytes);
        }
    }
    Ok(reader.finish())
}

/// Takes files one by one; what they say is small, so that a catalog need not fit into memory.
#[derive(Default)]
struct Reader {
    items: Vec<Item>,
    problems: Problems,
}

impl Reader {
    fn file(&mut self, name: &str, bytes: &[u8]) {
        let mut problems = std::mem::take(&mut self.problems);
        let mut number = 0;
        document::each(name, bytes, &mut problems, |document, problems| {
            self.problems = std::mem::take(problems);
            self.document(document, number);
            *problems = std::mem::take(&mut self.problems);
            number += 1;
        });
        self.problems = problems;
    }

    fn document(&mut self, document: Document<'_>, number: usize) {
        let (file, place) = (document.source.file().into(), document.source.place(""));
        if let Some(said) = classify(document, &mut self.problems) {
            self.items.push(Item {
                file,
                number,
                place,
                said,
            });
        }
    }

    fn finish(mut self) -> Content {
        self.items
            .sort_by(|a, b| (&a.file, a.number).cmp(&(&b.file, b.number)));
        let drafts = assemble::assemble(self.items, &mut self.problems);
        let mut content = Content::default();
        for (name, draft) in drafts {
            if let Some(package) = finish::finish(&name, draft, &mut self.problems) {
                content.packages.insert(name.into(), Arc::new(package));
            }
        }
        content.problems = self.problems.finish();
        content
    }
}

/// What a document is. Those that belong to no catalog are no problem.
fn classify(document: Document<'_>, problems: &mut Problems) -> Option<Said> {
    let value = &document.value;
    if !text(value, "schema").is_empty() {
        return olm::read(&document, problems);
    }
    if own::is_own(value) {
        return own::read(document, problems);
    }
    let source = &document.source;
    if service_version::is_service_version(value) {
        let version = service_version::read(value, source);
        return Some(Said::ServiceVersion(Box::new(version)));
    }
    if definition::is_definition(value) {
        return Some(Said::Definition(definition::read(value, source)));
    }
    let is_object = !text(value, "apiVersion").is_empty() && !text(value, "kind").is_empty();
    if !is_object {
        return folder::read(&document, problems);
    }
    let in_manifests = source.file().split('/').rev().nth(1) == Some("manifests");
    in_manifests.then(|| Said::Other(title(value)))
}

/// An object's kind and name.
fn title(object: &Value) -> String {
    let name = object
        .get("metadata")
        .map_or("", |found| text(found, "name"));
    format!("{} {name}", text(object, "kind"))
        .trim_end()
        .to_owned()
}

fn kind_of(kind: &KindVersion) -> GroupVersionKind {
    GroupVersionKind::new(&kind.group, &kind.version, &kind.kind)
}

/// The kinds that a version brings, each once.
fn owned(spec: &OperatorVersionSpec) -> Vec<GroupVersionKind> {
    let mut kinds = Vec::new();
    for found in &spec.owned {
        let kind = GroupVersionKind::new(&found.group, &found.version, &found.kind);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}
