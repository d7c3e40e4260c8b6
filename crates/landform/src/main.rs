//! The `landform` binary.

fn main() {}
