//! Memory, start-up and disk: of an empty server, and of one with many objects.

use std::path::Path;
use std::time::Duration;

use crate::Outcome;
use crate::disk::used_bytes;
use crate::load::median;
use crate::process::resident_bytes;
use crate::server::Server;
use crate::writes::fill;

/// A server settles for so long before its memory is looked at.
const SETTLE: Duration = Duration::from_secs(1);
/// A server is started on an empty directory so often; the middle one counts.
const STARTS: usize = 5;

/// An empty server.
pub(crate) struct Idle {
    pub(crate) startup_ms: f64,
    pub(crate) resident_mb: f64,
}

/// A server with many objects.
pub(crate) struct Full {
    pub(crate) objects: u64,
    /// After they were written through the API, with the history of that.
    pub(crate) resident_mb: f64,
    pub(crate) disk_mb: f64,
    /// After it was stopped and started again.
    pub(crate) restart_ms: f64,
    pub(crate) restarted_mb: f64,
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Starts servers on empty directories.
pub(crate) async fn idle(binary: &Path, dir: &Path) -> Outcome<Idle> {
    let (mut starts, mut resident) = (Vec::new(), 0.0);
    for turn in 0..STARTS {
        let server = Server::start(binary, &dir.join(format!("idle-{turn}")))?;
        starts.push(server.startup.as_secs_f64() * 1e3);
        if turn == 0 {
            tokio::time::sleep(SETTLE).await;
            resident = megabytes(resident_bytes(server.id())?);
        }
        server.stop().await?;
    }
    Ok(Idle {
        startup_ms: median(starts),
        resident_mb: resident,
    })
}

/// Fills a server, then starts it again.
pub(crate) async fn full(binary: &Path, dir: &Path, objects: u64) -> Outcome<Full> {
    let data_dir = dir.join("full");
    let server = Server::start(binary, &data_dir)?;
    server.client().await?.create_namespace("full").await?;
    fill(&server, "full", objects).await?;
    tokio::time::sleep(SETTLE).await;
    let resident_mb = megabytes(resident_bytes(server.id())?);
    server.stop().await?;
    let disk_mb = megabytes(used_bytes(&data_dir)?);
    let server = Server::start(binary, &data_dir)?;
    let restart_ms = server.startup.as_secs_f64() * 1e3;
    tokio::time::sleep(SETTLE).await;
    let restarted_mb = megabytes(resident_bytes(server.id())?);
    server.stop().await?;
    Ok(Full {
        objects,
        resident_mb,
        disk_mb,
        restart_ms,
        restarted_mb,
    })
}
