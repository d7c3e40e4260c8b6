//! How a program and all that it has started do, for people: since when, as whom, what they use, where they listen.

use std::collections::BTreeSet;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::{Group, Identity, User};

/// Linux counts times of processes in these for all programs, on all machines that Landform runs on.
const TICKS_A_SECOND: u64 = 100;
/// A socket that waits for connections, in `/proc/net/tcp`.
const LISTENS: &str = "0A";

/// What can be seen of a program and all that it has started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Facts {
    /// The numbers of all of them.
    pub pids: Vec<i32>,
    /// When the first of them was started, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// The user that the program runs as.
    pub user: Option<String>,
    /// What all of them have in memory.
    pub memory_bytes: u64,
    /// The processor time that they have used.
    pub processor_ms: u64,
    /// Where they accept connections of TCP.
    pub ports: BTreeSet<u16>,
}

impl Group {
    /// What can be seen of it now.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let members: Vec<Identity> = self
            .members()
            .iter()
            .map(|member| member.identity().clone())
            .collect();
        let leader = self.leader.as_ref().map(|leader| leader.pid);
        let leads = |member: &&Identity| Some(member.pid) == leader;
        let first = members.iter().find(leads).or_else(|| {
            let started = |member: &&Identity| (member.start_time, member.pid);
            members.iter().min_by_key(started)
        });
        let inside = self.cgroup.as_ref().and_then(crate::Cgroup::processor_us);
        let alone = || {
            members
                .iter()
                .filter_map(|member| processor_ms(member.pid))
                .sum()
        };
        Facts {
            since_ms: first.and_then(|first| since_ms(first.start_time)),
            user: first.and_then(|first| user(first.pid)),
            memory_bytes: members.iter().filter_map(|member| memory(member.pid)).sum(),
            processor_ms: inside.map_or_else(alone, |used| used / 1000),
            ports: ports(&members),
            pids: members.iter().map(|member| member.pid).collect(),
        }
    }
}

/// The time of day at which a process was started that many ticks after the machine.
fn since_ms(start_time: u64) -> Option<u64> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split(' ').next()?.parse().ok()?;
    let uptime = std::time::Duration::try_from_secs_f64(uptime).ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let booted = u64::try_from(now.checked_sub(uptime)?.as_millis()).ok()?;
    Some(booted + start_time * 1000 / TICKS_A_SECOND)
}

/// A line of `/proc/PID/status`.
fn status(pid: i32, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

fn memory(pid: i32) -> Option<u64> {
    let text = status(pid, "VmRSS:")?;
    let kilobytes: u64 = text.split(' ').next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

fn user(pid: i32) -> Option<String> {
    let text = status(pid, "Uid:")?;
    let id = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(User::name_of(id))
}

fn processor_ms(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(") ")?.1.split(' ').skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some((next()? + next()?) * 1000 / TICKS_A_SECOND)
}

/// Where processes accept connections. Those of other users can be looked into by root only.
fn ports(members: &[Identity]) -> BTreeSet<u16> {
    let mut sockets = BTreeSet::new();
    for member in members {
        let open = fs::read_dir(format!("/proc/{}/fd", member.pid));
        for entry in open.into_iter().flatten().flatten() {
            let target = fs::read_link(entry.path()).unwrap_or_default();
            let target = target.to_string_lossy();
            let socket = target.strip_prefix("socket:[");
            sockets.extend(socket.map(|rest| rest.trim_end_matches(']').to_owned()));
        }
    }
    if sockets.is_empty() {
        return BTreeSet::new();
    }
    let tables = members.first().into_iter().flat_map(|member| {
        // A process may be in a network of its own.
        ["tcp", "tcp6"].map(|name| format!("/proc/{}/net/{name}", member.pid))
    });
    let tables: Vec<String> = tables
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect();
    let lines = tables.iter().flat_map(|table| table.lines());
    lines
        .filter_map(listening)
        .filter(|(_, socket)| sockets.contains(*socket))
        .map(|(port, _)| port)
        .collect()
}

/// The port and the socket of a line of `/proc/net/tcp`, if it accepts connections.
fn listening(line: &str) -> Option<(u16, &str)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (local, state, socket) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
    if *state != LISTENS {
        return None;
    }
    let port = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
    Some((port, socket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_that_listens_is_seen_with_its_port() {
        let script = "import socket,sys,time\ns=socket.socket();s.bind(('127.0.0.1',0));s.listen()\nprint(s.getsockname()[1],flush=True)\ntime.sleep(1000)";
        let mut child = tokio::process::Command::new("python3")
            .args(["-c", script])
            .stdout(std::process::Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut lines = tokio::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        tokio::io::AsyncBufReadExt::read_line(&mut lines, &mut line)
            .await
            .unwrap();
        let port: u16 = line.trim().parse().unwrap();
        let pid = i32::try_from(child.id().unwrap()).unwrap();
        let group = Group::of_leader(Identity::of_child(pid).unwrap());
        let facts = group.facts();
        assert_eq!(facts.pids, [pid]);
        assert_eq!(facts.ports, BTreeSet::from([port]));
        assert_eq!(facts.user, Some(User::current().name));
        assert!(facts.memory_bytes > 1 << 20, "{facts:?}");
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_millis();
        let since = u128::from(facts.since_ms.unwrap());
        assert!(now.abs_diff(since) < 60_000, "{facts:?}");
        group.kill().await.unwrap();
        assert_eq!(group.facts(), Facts::default());
    }
}
