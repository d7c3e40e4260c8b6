//! Landscapes: stories with a crash after each write, and random ones with all faults.

mod change;
mod deletion;
mod growth;
mod operations;
mod random;
mod tell;
mod times;
mod trouble;
