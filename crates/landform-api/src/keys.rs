//! Finalizers, labels and annotations whose exact spelling is part of the contract.

/// Added by a delete that names no policy; the collector removes it when no dependent is left (G2, G7).
pub const FINALIZER_CASCADE: &str = "cascade_deletion";
/// Added by a delete with policy `Foreground`: dependents that block their owner go first.
pub const FINALIZER_FOREGROUND: &str = "foregroundDeletion";
/// Added by a delete with policy `Orphan`: dependents lose their reference to the owner.
pub const FINALIZER_ORPHAN: &str = "orphan";
/// Holds a namespace until its content is gone.
pub const FINALIZER_NAMESPACE: &str = "kubernetes";
/// Holds a CustomResourceDefinition until its objects are gone.
pub const FINALIZER_CRD: &str = "customresourcecleanup.apiextensions.k8s.io";
/// The label every namespace carries with its own name.
pub const LABEL_NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
/// On an object that has another name than before: the former one. Whoever renames an object sets it; the
/// engine removes it when the object's reconciler has succeeded under the new name (R2, R8).
pub const ANNOTATION_RENAMED_FROM: &str = "landform.dev/renamed-from";
/// On the last that a watch shows of an object under its former name: the new one. The API's rename sets it, and removes
/// it from what clients send, so that the DELETED event which carries it is always followed by the object
/// under its new name.
pub const ANNOTATION_RENAMED_TO: &str = "landform.dev/renamed-to";
/// When an object's reconciler wants to be called again. Kept on the object so that a restart doesn't
/// forget it (R12).
pub const ANNOTATION_RETRIGGER_AT: &str = "landform.dev/retrigger-at";
/// On an object whose last run failed, or that is in a cycle of references, and whose kind has no conditions: the
/// error. The engine removes it when the object is well again (R7b).
pub const ANNOTATION_ERROR: &str = "landform.dev/error";
/// On an object that was renamed: its uid and the name before, as [`former_name_note`] writes them. The API sets it
/// with the rename, and nothing removes it: it tells a rename that was carried out from one that is only asked
/// for, and an object that was renamed from a copy of its manifest, which has another uid (R15b).
pub const ANNOTATION_FORMER_NAME: &str = "landform.dev/former-name";

/// Who last changed the object's content, unless that writer may do everything: a [`crate::writer::Writer`] as JSON. The API
/// server sets it, and drops what clients send (C6).
pub const ANNOTATION_WRITER: &str = "landform.dev/writer";
/// For which object Landform made this one, and with whose rights: a [`crate::writer::Maker`] as JSON. The API server sets it
/// when a reconciler that asks for it creates the object, and drops what clients send (C6).
pub const ANNOTATION_MAKER: &str = "landform.dev/maker";
/// The service account, in the object's namespace, with whose rights Landform acts for the object instead of its
/// writer's (C6).
pub const ANNOTATION_SERVICE_ACCOUNT: &str = "landform.dev/service-account";
/// Who named that account, when it isn't the object's writer: a [`crate::writer::Writer`] as JSON. The API server sets it, and
/// drops what clients send (C6).
pub const ANNOTATION_NAMER: &str = "landform.dev/service-account-writer";

/// `true` on a deploy item that is a process: a person wants it stopped until the annotation is gone (ADR 0036).
pub const ANNOTATION_STOPPED: &str = "landform.dev/stopped";
/// On a deploy item that is a process: a person wants it started again, once for each text (ADR 0036).
pub const ANNOTATION_RESTART: &str = "landform.dev/restart";

/// Names that begin so are given to objects that are on their way to a name which another object still has. They are
/// not reconciled meanwhile.
pub const PREFIX_RENAMING: &str = "landform-renaming-";

/// What [`ANNOTATION_FORMER_NAME`] says of an object that had this name.
#[must_use]
pub fn former_name_note(uid: &str, name: &str) -> String {
    format!("{uid}/{name}")
}

/// The name that an object had before its last rename, if its note is about this very object.
#[must_use]
pub fn former_name<'a>(note: &'a str, uid: &str) -> Option<&'a str> {
    note.strip_prefix(uid)?.strip_prefix('/')
}
