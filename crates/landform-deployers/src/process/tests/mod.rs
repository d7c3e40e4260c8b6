//! Real processes: `sh` and `python3`.

mod adoption;
mod bench;
mod crash;
mod hidden;
mod lifecycle;
mod probes;
mod replacement;
