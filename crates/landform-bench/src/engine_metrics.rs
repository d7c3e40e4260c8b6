//! What the engine's metrics say while a benchmark waits for it.

use std::time::Duration;

use crate::Outcome;
use crate::client::Client;

/// Waits until so many runs have ended and none is under way.
pub(crate) async fn quiet(client: &mut Client, runs: f64) -> Outcome {
    loop {
        let uri = client.uri("/metrics")?;
        let text = client.text(uri).await?;
        let text = String::from_utf8_lossy(&text);
        let ended = metric(&text, "landform_engine_runs_total");
        let going =
            metric(&text, "landform_engine_running") + metric(&text, "landform_engine_waiting");
        if ended >= runs && going == 0.0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The sum of all series of a metric.
fn metric(text: &str, name: &str) -> f64 {
    let lines = text.lines().filter(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(' ') || rest.starts_with('{'))
    });
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}
