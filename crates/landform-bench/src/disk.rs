//! The machine and its disk: what nothing on it can be faster than.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::Outcome;

/// Appends 1 KiB and syncs it, again and again; returns how often in a second.
pub(crate) fn syncs_per_second(dir: &Path, time: Duration) -> Outcome<f64> {
    let path = dir.join("syncs");
    let mut file = File::create(&path)?;
    let block = [b'x'; 1024];
    let started = Instant::now();
    let mut count = 0;
    while started.elapsed() < time {
        file.write_all(&block)?;
        file.sync_data()?;
        count += 1;
    }
    let rate = f64::from(count) / started.elapsed().as_secs_f64();
    fs::remove_file(path)?;
    Ok(rate)
}

/// The space that a directory takes on disk.
pub(crate) fn used_bytes(dir: &Path) -> Outcome<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        sum += if metadata.is_dir() {
            used_bytes(&entry.path())?
        } else {
            metadata.blocks() * 512
        };
    }
    Ok(sum)
}

/// The file system that a directory is on, by the longest mount point above it.
pub(crate) fn file_system(dir: &Path) -> Outcome<String> {
    let dir = dir.canonicalize()?;
    let mounts = fs::read_to_string("/proc/mounts")?;
    let found = mounts
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(' ').skip(1);
            Some((fields.next()?, fields.next()?))
        })
        .filter(|(point, _)| dir.starts_with(point))
        .max_by_key(|(point, _)| point.len());
    Ok(found.map_or("unknown", |(_, kind)| kind).to_owned())
}

/// What the figures were measured on.
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) memory_gib: u64,
    pub(crate) file_system: String,
}

impl Machine {
    pub(crate) fn look(dir: &Path) -> Outcome<Self> {
        let memory = fs::read_to_string("/proc/meminfo")?;
        let kibibytes: u64 = memory
            .lines()
            .find_map(|line| line.strip_prefix("MemTotal:"))
            .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok())
            .unwrap_or(0);
        Ok(Self {
            cores: std::thread::available_parallelism()?.get(),
            memory_gib: kibibytes.div_ceil(1024 * 1024),
            file_system: file_system(dir)?,
        })
    }
}
