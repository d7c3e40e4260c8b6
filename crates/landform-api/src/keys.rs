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
