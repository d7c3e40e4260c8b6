//! Explanations of a real server with everything that reconciles in it.

mod deployer;
mod harness;
mod reads;
mod trouble;
mod views;
