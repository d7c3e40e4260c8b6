//! Operators: stories with a crash after each write.

mod stories;
mod tell;
