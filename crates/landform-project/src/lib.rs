//! Directories of files that are reconciled into objects (R15).
