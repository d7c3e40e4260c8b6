//! Tests of the pure parts that belong to no single file.
