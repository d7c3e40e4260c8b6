//! Whole bodies: those of real clients, those that no client should send, and the table's facts.

mod bodies;
mod facts;
mod hostile;
mod writer;
