//! What an attack costs others: a bystander's requests while it runs, the server's memory, and what is left afterwards.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::attacks::{Attack, Seen};
use super::stage::{CORE, Stage};
use super::verdict::{Measured, Row};
use super::wire::Access;

/// The bystander asks this often.
const PACE: Duration = Duration::from_millis(20);
/// The bystander asks at least this often, however short the attack is.
const REQUESTS_MIN: usize = 20;

/// What the bystander saw.
#[derive(Default)]
pub(super) struct Seconds {
    taken: Vec<Duration>,
    failed: Vec<String>,
}

impl Seconds {
    fn p99_ms(&mut self) -> u64 {
        self.taken.sort_unstable();
        let at = (self.taken.len() * 99 / 100).min(self.taken.len().saturating_sub(1));
        let taken = self.taken.get(at).copied().unwrap_or_default();
        u64::try_from(taken.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Runs an attack and measures it.
pub(super) fn observe(attack: &Attack, stage: &Stage) -> Row {
    stage.forget_peak();
    let before = stage.memory_mib();
    let mut seen = Seen::default();
    let started = Instant::now();
    let (attacked, mut bystander) = thread::scope(|scope| {
        let (end, ended) = channel();
        let asking = scope.spawn(move || ask(&stage.bystander, &ended));
        let attacked = (attack.run)(stage, &mut seen);
        drop(end);
        (attacked, asking.join().unwrap_or_default())
    });
    let took = started.elapsed();
    if let Err(error) = attacked {
        seen.check(format!("the attack could be carried out ({error})"), false);
    }
    let after = stage.admin.get(&format!("{CORE}/configmaps/kept"));
    let kept = after
        .is_ok_and(|answer| answer.code == 200 && answer.json()["data"]["kept"] == "as it was");
    if !kept {
        seen.check(
            format!("what was stored before is still there\n{}", stage.log()),
            false,
        );
    }
    let measured = Measured {
        took,
        memory_mib: stage
            .peak_mib()
            .zip(before)
            .map(|(peak, before)| peak.saturating_sub(before)),
        ours: stage.is_ours(),
        probe_p99_ms: bystander.p99_ms(),
        probes: bystander.taken.len(),
        probes_failed: bystander.failed,
    };
    Row::judge(attack, measured, seen)
}

/// Reads and writes a small object, each time on a new connection, until the attack has ended.
fn ask(bystander: &Access, ended: &Receiver<()>) -> Seconds {
    let mut seen = Seconds::default();
    let path = format!("{CORE}/configmaps/kept");
    loop {
        let number = seen.taken.len();
        let begin = Instant::now();
        let answer = if number.is_multiple_of(4) {
            let patch = format!(r#"{{"data":{{"asked":"{number}"}}}}"#);
            bystander.patch(&path, "merge", patch.as_bytes())
        } else {
            bystander.get(&path)
        };
        seen.taken.push(begin.elapsed());
        match answer {
            Ok(answer) if answer.code == 200 => {}
            Ok(answer) => seen.failed.push(answer.code.to_string()),
            Err(error) => seen.failed.push(error.to_string()),
        }
        let over = match ended.recv_timeout(PACE) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
            Err(RecvTimeoutError::Timeout) => false,
        };
        if over && seen.taken.len() >= REQUESTS_MIN {
            return seen;
        }
    }
}
