//! The rules as tables, traces, properties, and all interleavings of a few objects.

mod explore;
mod model;
mod properties;
mod rules;
mod rules_of_runs;
mod scenarios;
mod world;
