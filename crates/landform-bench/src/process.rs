//! Processes under measurement: killed when dropped, and what they cost.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Outcome;

/// The kernel counts the time of processes in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// A process that doesn't outlive this value.
pub(crate) struct Process {
    pub(crate) child: Child,
}

impl Process {
    /// Starts a program; what it logs goes to a file.
    pub(crate) fn start(command: &mut Command, log: &Path) -> Outcome<Self> {
        let log = fs::OpenOptions::new().create(true).append(true).open(log)?;
        let child = command
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(|error| format!("can't start {}: {error}", command.get_program().display()))?;
        Ok(Self { child })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, and waits until it has; kills it if that takes longer than ten seconds.
    pub(crate) async fn stop(mut self) -> Outcome {
        Command::new("kill").arg(self.id().to_string()).status()?;
        let until = Instant::now() + Duration::from_secs(10);
        while self.child.try_wait()?.is_none() {
            if Instant::now() > until {
                return Err(format!("process {} does not end", self.id()).into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only when it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The CPU time that a process has used so far, all its threads together.
pub(crate) fn cpu(process: u32) -> Outcome<Duration> {
    cpu_of(&format!("/proc/{process}/stat"), 2)
}

/// The CPU time that this process has used so far.
pub(crate) fn own_cpu() -> Outcome<Duration> {
    cpu_of("/proc/self/stat", 2)
}

/// The CPU time that this thread has used so far, in nanoseconds; 0 when the kernel doesn't say. It moves
/// in steps of milliseconds.
pub(crate) fn own_nanoseconds() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|field| field.parse().ok()).unwrap_or(0)
}

/// How busy the machine was with what is none of ours.
pub(crate) struct Others {
    started: Instant,
    before: Duration,
}

impl Others {
    /// From now on.
    pub(crate) fn watch() -> Outcome<Self> {
        Ok(Self {
            started: Instant::now(),
            before: Self::cpu()?,
        })
    }

    /// The part of the cores' time that went to other processes. Those that were started here must
    /// have ended.
    pub(crate) fn share(&self, cores: usize) -> Outcome<f64> {
        let spent = Self::cpu()?.saturating_sub(self.before);
        Ok(spent.as_secs_f64() / self.started.elapsed().as_secs_f64() / cores as f64)
    }

    /// The CPU time of all processes but this one and its children so far.
    fn cpu() -> Outcome<Duration> {
        let text = fs::read_to_string("/proc/stat")?;
        let line = text.lines().next().unwrap_or_default();
        // The fourth and the fifth are idle and waiting; behind the eighth, some count twice.
        let ticks: u32 = line
            .split_whitespace()
            .skip(1)
            .take(8)
            .enumerate()
            .filter(|(at, _)| !matches!(at, 3 | 4))
            .map(|(_, field)| field.parse().unwrap_or(0))
            .sum();
        // The children that ended count in their parent's last two fields.
        let ours = cpu_of("/proc/self/stat", 4)?;
        Ok((TICK * ticks).saturating_sub(ours))
    }
}

fn cpu_of(file: &str, fields_of_time: usize) -> Outcome<Duration> {
    let text = fs::read_to_string(file)?;
    // The name before it may hold anything, blanks and parentheses too.
    let (_, fields) = text.rsplit_once(')').ok_or("no process")?;
    let ticks: u32 = fields
        .split_whitespace()
        .skip(11)
        .take(fields_of_time)
        .map(|field| field.parse().unwrap_or(0))
        .sum();
    Ok(TICK * ticks)
}

/// How much memory a process has in use, in bytes.
pub(crate) fn resident_bytes(process: u32) -> Outcome<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("the process has no memory")?;
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kibibytes * 1024)
}
