//! Logs: to stderr, as text or JSON. stdout is for answers.

use std::io::IsTerminal as _;
use std::path::Path;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use crate::AnyError;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For machines, one object a line.
    Json,
}

/// What the client library logs below these levels quotes objects, and with them values that are secret: at `warn` it
/// logs whole bodies that it can't read. No setting switches that on.
const CLIENT: [&str; 2] = ["kube_client=info", "kube_client::client=error"];

/// Starts logging into a file, for commands that show something else on the terminal.
pub(crate) fn start_in_file(file: &Path) -> Result<(), AnyError> {
    let log = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .map_err(|error| format!("can't write the log {}: {error}", file.display()))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter())
        .with_ansi(false)
        .with_target(false)
        .with_writer(std::sync::Mutex::new(log))
        .init();
    Ok(())
}

/// Starts logging. `RUST_LOG` says what is logged; without it, `info` and above.
pub(crate) fn start(format: LogFormat) {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter())
        // Colours are for a terminal; in a file they are noise.
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => builder.with_target(false).init(),
        LogFormat::Json => builder.json().init(),
    }
}

fn filter() -> EnvFilter {
    quiet(EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info")))
}

/// The filter without what quotes objects.
fn quiet(filter: EnvFilter) -> EnvFilter {
    CLIENT
        .iter()
        .filter_map(|directive| directive.parse().ok())
        .fold(filter, EnvFilter::add_directive)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_setting_lets_the_client_library_log_bodies() {
        for setting in [
            "info",
            "trace",
            "kube_client=trace",
            "kube_client::client=trace",
            "kube_client::client=warn,kube=trace",
        ] {
            let lines = Lines::default();
            let writer = lines.clone();
            let subscriber = tracing_subscriber::fmt()
                .with_env_filter(quiet(EnvFilter::new(setting)))
                .with_writer(move || writer.clone())
                .finish();
            tracing::subscriber::with_default(subscriber, || {
                tracing::warn!(target: "kube_client::client", "{{\"data\":\"canary\"}}, error");
                tracing::debug!(target: "kube_client::client", "canary");
                tracing::debug!(target: "kube_client", "canary");
                tracing::trace!(target: "kube_client::api", "canary");
                tracing::error!(target: "kube_client::client", "failed");
                tracing::info!("landform's own");
            });
            let text = String::from_utf8(lines.0.lock().clone()).unwrap();
            assert!(!text.contains("canary"), "{setting}: {text}");
            assert!(text.contains("failed"), "{setting}: {text}");
        }
    }
}
