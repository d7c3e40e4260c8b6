//! What the deployers that start programs on this machine share.

mod changes;
mod environment;
mod field;
mod files;
mod hidden;
mod tree;
mod user;

pub(crate) use changes::Changes;
pub(crate) use environment::{read_command, read_environment};
pub(crate) use field::Field;
pub(crate) use files::{
    Files, is_inside, private_directory, read_files, write_all, write_atomically, write_owned,
};
pub(crate) use hidden::Hidden;
pub(crate) use landform_process::{
    Cgroup, Cgroups, Group, Handle, Identity, MARK, Mark, StartLock, leaders,
};
pub(crate) use tree::Tree;
pub(crate) use user::{
    environment_of, let_enter, let_in, may_run, other_user, own_directory, own_file, read_below,
    read_user, right_to_run,
};
