//! How much the store may keep in memory: what the user says, or a part of what the process may use.

use std::path::Path;

use landform_apiserver::StoreQuota;

/// The part of the memory that the store may keep: requests, encodings and everything else need the rest.
const PART_OF_MEMORY: u64 = 6;
/// Less than this is no use.
const QUOTA_BYTES_MIN: u64 = 64 << 20;
/// With less the server can't start: it stores the definitions of its own kinds.
const GIVEN_BYTES_MIN: u64 = 1 << 20;
/// Assumed where the memory's size can't be found out.
const MEMORY_BYTES: u64 = 4 << 30;

/// The quota without an option.
pub(super) fn default_quota() -> StoreQuota {
    let memory = memory_bytes().unwrap_or(MEMORY_BYTES);
    StoreQuota {
        bytes: (memory / PART_OF_MEMORY).max(QUOTA_BYTES_MIN),
    }
}

/// Reads a number of bytes such as `500000000`, `512Mi` or `4Gi`.
pub(super) fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, factor) = [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1_u64 << 30)]
        .into_iter()
        .find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)))
        .unwrap_or((text, 1));
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(factor))
        .ok_or_else(|| "must be a number of bytes such as 500000000, 512Mi or 4Gi".to_owned())
        .and_then(|bytes| match bytes {
            GIVEN_BYTES_MIN.. => Ok(bytes),
            _ => Err(
                "must be at least 1Mi: the definitions of Landform's own kinds need room"
                    .to_owned(),
            ),
        })
}

/// What the process may use: the machine's memory, or less if its control group or its limits say so.
fn memory_bytes() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    let machine = read("/proc/meminfo").as_deref().and_then(total_of_meminfo);
    let group = read("/proc/self/cgroup")
        .as_deref()
        .and_then(group_of)
        .and_then(|group| read(format!("/sys/fs/cgroup{group}/memory.max")));
    let groups = [
        group,
        read("/sys/fs/cgroup/memory.max"),
        read("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
    ];
    let groups = groups
        .into_iter()
        .flatten()
        .filter_map(|limit| limit.trim().parse().ok());
    let own = getrlimit(Resource::As).current;
    machine.into_iter().chain(groups).chain(own).min()
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn total_of_meminfo(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// The process's group in the one hierarchy of version 2.
fn group_of(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix("0::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_the_systems_files_are_read() {
        for (text, expected) in [
            ("5000000", Some(5_000_000)),
            ("1Mi", Some(1 << 20)),
            ("1023Ki", None),
            ("512Mi", Some(512 << 20)),
            ("4Gi", Some(4 << 30)),
            ("0", None),
            ("-1", None),
            ("4GB", None),
            ("99999999999Gi", None),
        ] {
            assert_eq!(parse_bytes(text).ok(), expected, "{text}");
        }
        let meminfo = "MemTotal:       16384 kB\nMemFree:  1 kB\n";
        assert_eq!(total_of_meminfo(meminfo), Some(16 << 20));
        assert_eq!(group_of("1:x:/y\n0::/a.slice/b\n"), Some("/a.slice/b"));
        assert!(default_quota().bytes >= QUOTA_BYTES_MIN);
    }
}
