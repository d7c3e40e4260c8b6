//! The terminal while a page is shown on it: another screen, keys as they are pressed, all undone at the end.

use std::io::Read as _;

use rustix::termios::{self, LocalModes, OptionalActions, Termios};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{Receiver, channel};

use crate::{AnyError, say_raw};

/// A terminal with a page on it.
pub(super) struct Screen {
    before: Termios,
    keys: Receiver<u8>,
    interrupt: Signal,
    terminate: Signal,
}

impl Screen {
    pub(super) fn open() -> Result<Self, AnyError> {
        let before = termios::tcgetattr(std::io::stdin())?;
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        let mut now = before.clone();
        now.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        termios::tcsetattr(std::io::stdin(), OptionalActions::Now, &now)?;
        let (sender, keys) = channel(16);
        std::thread::spawn(move || {
            let mut key = [0];
            while std::io::stdin().read_exact(&mut key).is_ok() {
                let [key] = key;
                if sender.blocking_send(key).is_err() {
                    break;
                }
            }
        });
        say_raw("\x1b[?1049h\x1b[?25l")?;
        Ok(Self {
            before,
            keys,
            interrupt,
            terminate,
        })
    }

    /// Resolves when somebody wants to go.
    pub(super) async fn quit(&mut self) {
        loop {
            tokio::select! {
                _ = self.interrupt.recv() => return,
                _ = self.terminate.recv() => return,
                key = self.keys.recv() => if matches!(key, None | Some(b'q' | b'Q' | 27)) {
                    return;
                },
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = say_raw("\x1b[?25h\x1b[?1049l");
        let _ = termios::tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}
