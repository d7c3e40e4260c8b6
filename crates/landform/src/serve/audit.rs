//! Options of the audit log.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use landform_apiserver::{AuditLevel, AuditLog, AuditOptions};

use super::running::make_private_dir;
use crate::AnyError;

/// The file below the data directory.
const FILE: &str = "audit/audit.log";
const MIB: u64 = 1024 * 1024;
const SIZE_MIB: u64 = 20;
const FILES: u16 = 5;

/// What is written down of requests, and where.
#[derive(Args)]
pub(crate) struct AuditArgs {
    /// Which requests the audit log has.
    #[arg(long, value_enum, default_value_t = Level::Metadata)]
    audit_level: Level,
    /// The audit log's file; older ones are FILE.1, FILE.2 and so on [default: audit/audit.log in the data directory].
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
    /// A file of the audit log that would become larger than this many MiB is closed, and a new one begun.
    #[arg(long, value_name = "MIB", default_value_t = SIZE_MIB, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    audit_log_size: u64,
    /// At most this many files of the audit log are kept.
    #[arg(long, value_name = "NUMBER", default_value_t = FILES, value_parser = clap::value_parser!(u16).range(1..=1000))]
    audit_log_files: u16,
    /// Log what Landform's own controllers do, too.
    #[arg(long)]
    audit_own: bool,
}

/// Which requests the audit log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Level {
    /// None: there is no audit log.
    None,
    /// Writes, and what was refused with 401 or 403.
    Metadata,
    /// Reads and watches as well.
    All,
}

impl AuditArgs {
    /// What `landform serve` does without options.
    pub(crate) fn usual() -> Self {
        Self {
            audit_level: Level::Metadata,
            audit_log: None,
            audit_log_size: SIZE_MIB,
            audit_log_files: FILES,
            audit_own: false,
        }
    }

    /// Opens the log, if there is to be one.
    pub(super) fn open(&self, data_dir: &Path) -> Result<Option<AuditLog>, AnyError> {
        let level = match self.audit_level {
            Level::None => return Ok(None),
            Level::Metadata => AuditLevel::Metadata,
            Level::All => AuditLevel::All,
        };
        let file = match &self.audit_log {
            Some(file) => file.clone(),
            None => {
                let file = data_dir.join(FILE);
                make_private_dir(file.parent().unwrap_or(data_dir))?;
                file
            }
        };
        let options = AuditOptions {
            file: file.clone(),
            level,
            own: self.audit_own,
            file_bytes_max: self.audit_log_size.saturating_mul(MIB),
            files_max: usize::from(self.audit_log_files),
        };
        let log = AuditLog::open(options).map_err(|error| {
            format!(
                "can't write the audit log {}: {error}; name another file with --audit-log",
                file.display()
            )
        })?;
        Ok(Some(log))
    }
}
