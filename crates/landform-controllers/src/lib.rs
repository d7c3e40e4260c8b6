//! The controllers of Landform: clients of the API like any other.
//!
//! Each takes a `kube::Client`: in one process its service is the API server itself, on a cluster it is
//! an ordinary one, and no controller knows which: the garbage [`collector`], and the reconcilers of
//! installations and executions ([`landscape`]).

pub mod collector;
pub mod landscape;
