//! HTTP/2: many requests on few connections, and frames that cost the sender little.

use std::time::Duration;

use serde_json::json;

use super::connections::fill;
use super::{Attack, PLAIN, Seen};
use crate::hostile::Outcome;
use crate::hostile::frames::{Frames, Head};
use crate::hostile::stage::{CORE, Stage};
use crate::hostile::wire::Access;

/// How long an attack that only waits goes on.
const HOLD: Duration = Duration::from_secs(3);
/// A window that never closes here.
const WIDE: u32 = 0x7fff_ffff;

pub(super) fn table() -> Vec<Attack> {
    vec![
        Attack {
            name: "rapid resets",
            sends: "HTTP/2: 200,000 requests that are taken back at once, on 8 connections at a time",
            run: rapid_resets,
            answers: &[0],
            ..PLAIN
        },
        Attack {
            name: "streams whose bodies never end",
            sends: "HTTP/2: 16,000 requests on 8 connections that send ten bytes of a body and wait",
            run: endless_streams,
            answers: &[0],
            ..PLAIN
        },
        Attack {
            name: "heads that never end",
            sends: "HTTP/2: 8 heads that grow by CONTINUATION frames, 160 MB in all, without credentials",
            run: endless_heads,
            answers: &[0],
            memory_mib: 64,
            ..PLAIN
        },
        Attack {
            name: "windows that never open",
            sends: "HTTP/2: 1,600 lists of 54 MB on 8 connections that take no byte of a body",
            prepare: fill,
            run: closed_windows,
            answers: &[0],
            ..PLAIN
        },
        Attack {
            name: "answers that are never read",
            sends: "HTTP/2: 2,800 reads of one object of 1 MB on 14 connections that take no byte of a body",
            prepare: |stage| {
                let object =
                    json!({"metadata": {"name": "one"}, "data": {"a": "x".repeat(1_040_000)}});
                stage.made(&format!("{CORE}/configmaps"), &object).map(drop)
            },
            run: unread_answers,
            answers: &[0],
            memory_mib: 320,
            ..PLAIN
        },
        Attack {
            name: "minted accounts",
            sends: "HTTP/2: 960 reads of one object of 1 MB by 8 accounts that the tenant made, which take no byte of a body",
            prepare: |stage| {
                let object =
                    json!({"metadata": {"name": "one"}, "data": {"a": "x".repeat(1_040_000)}});
                stage.made(&format!("{CORE}/configmaps"), &object).map(drop)
            },
            run: minted_accounts,
            answers: &[0],
            memory_mib: 320,
            ..PLAIN
        },
        Attack {
            name: "pings and settings",
            sends: "HTTP/2: 800,000 frames that want an answer, which is never read, without credentials",
            run: pings,
            answers: &[0],
            memory_mib: 64,
            ..PLAIN
        },
        Attack {
            name: "frames that carry nothing",
            sends: "HTTP/2: 16,000,000 priorities and windows, which want no answer, without credentials",
            run: empty_frames,
            answers: &[0],
            memory_mib: 64,
            ..PLAIN
        },
    ]
}

/// Sends rounds of frames on connections, each of which is opened again when the server has had enough of it.
fn flood(
    who: &Access,
    seen: &mut Seen,
    window: u32,
    rounds: usize,
    mut round: impl FnMut(&mut Frames),
) {
    let mut open: Option<Frames> = None;
    for _ in 0..rounds {
        let frames = match open.take() {
            Some(frames) => Ok(frames),
            None => Frames::open(who, window),
        };
        let sent = frames.and_then(|mut frames| {
            round(&mut frames);
            frames.send().map(|()| frames)
        });
        match sent {
            Ok(frames) => open = Some(frames),
            Err(error) => seen.answer(&Err(error)),
        }
    }
    // The server may be behind with what was sent.
    std::thread::sleep(HOLD);
}

/// A connection that asks for something and takes no byte of the answers.
fn asked(who: &Access, seen: &mut Seen, ask: impl FnOnce(&mut Frames)) -> Option<Frames> {
    let begun = Frames::open(who, 0).and_then(|mut frames| {
        ask(&mut frames);
        frames.send().map(|()| frames)
    });
    match begun {
        Ok(frames) => Some(frames),
        Err(error) => {
            seen.answer(&Err(error));
            None
        }
    }
}

/// Whether the frames are those of HTTP/2 at all.
fn understood(stage: &Stage, seen: &mut Seen) {
    let understood = Frames::is_understood(&stage.stranger);
    seen.check(
        "a plain request by frames is answered".to_owned(),
        understood,
    );
}

fn rapid_resets(stage: &Stage, seen: &mut Seen) -> Outcome {
    understood(stage, seen);
    let rounds = stage.count(250, 25);
    let path = format!("{CORE}/configmaps");
    seen.together(8, |thread, seen| {
        let who = [&stage.tenant, &stage.powerless, &stage.stranger][thread % 3];
        flood(who, seen, WIDE, rounds, |frames| {
            for _ in 0..100 {
                frames.request("GET", &path, Head::Whole);
                frames.reset();
            }
        });
    });
    Ok(())
}

fn endless_streams(stage: &Stage, seen: &mut Seen) -> Outcome {
    understood(stage, seen);
    let (connections, each) = (8, stage.count(2_000, 300));
    let path = format!("{CORE}/configmaps");
    let mut open = Vec::new();
    for number in 0..connections {
        let who = [&stage.tenant, &stage.powerless][number % 2];
        let begun = Frames::open(who, WIDE).and_then(|mut frames| {
            for _ in 0..each {
                frames.request("POST", &path, Head::WithBody);
                frames.body(br#"{"a":"bcd""#);
                frames.send()?;
            }
            Ok(frames)
        });
        match begun {
            Ok(frames) => open.push(frames),
            Err(error) => seen.answer(&Err(error)),
        }
    }
    std::thread::sleep(HOLD);
    Ok(())
}

fn endless_heads(stage: &Stage, seen: &mut Seen) -> Outcome {
    understood(stage, seen);
    let rounds = stage.count(1_250, 250);
    let value = "v".repeat(16_000);
    seen.together(8, |_, seen| {
        let begun = Frames::open(&stage.stranger, WIDE).and_then(|mut frames| {
            frames.request("GET", "/api", Head::Open);
            for number in 0..rounds {
                frames.more_head(&format!("a{number}"), &value);
                frames.send()?;
            }
            Ok(frames)
        });
        match begun {
            Ok(mut frames) => {
                let refused = frames.is_refused();
                let sentence = "a head without an end is refused".to_owned();
                seen.check(sentence, refused);
            }
            Err(error) => seen.answer(&Err(error)),
        }
    });
    Ok(())
}

fn closed_windows(stage: &Stage, seen: &mut Seen) -> Outcome {
    understood(stage, seen);
    let (connections, each) = (8, stage.count(200, 40));
    let path = format!("{CORE}/configmaps");
    let mut open = Vec::new();
    for number in 0..connections {
        open.extend(asked(&stage.tenant, seen, |frames| {
            for stream in 0..each {
                let path = match (number + stream) % 3 {
                    0 => path.clone(),
                    1 => format!("{path}?watch=true"),
                    _ => format!("{path}?limit=100"),
                };
                frames.request("GET", &path, Head::Whole);
            }
        }));
    }
    std::thread::sleep(HOLD);
    Ok(())
}

fn unread_answers(stage: &Stage, seen: &mut Seen) -> Outcome {
    understood(stage, seen);
    let path = format!("{CORE}/configmaps/one");
    let mut open = Vec::new();
    for _ in 0..stage.count(14, 4) {
        open.extend(asked(&stage.tenant, seen, |frames| {
            for _ in 0..200 {
                frames.request("GET", &path, Head::Whole);
            }
        }));
    }
    std::thread::sleep(HOLD);
    Ok(())
}

/// Accounts are cheap: all that a tenant makes have one share together.
fn minted_accounts(stage: &Stage, seen: &mut Seen) -> Outcome {
    understood(stage, seen);
    let path = format!("{CORE}/configmaps/one");
    let mut open = Vec::new();
    for number in 0..8 {
        let who = stage.minted(&format!("minted-{number}"))?;
        open.extend(asked(&who, seen, |frames| {
            for _ in 0..120 {
                frames.request("GET", &path, Head::Whole);
            }
        }));
    }
    std::thread::sleep(HOLD);
    // Nothing is left for the bystander where each of them has a share.
    let answer = stage.bystander.get(&path);
    let code = answer.map_or(0, |answer| answer.code);
    let sentence = format!("another user gets an answer of 1 MB meanwhile ({code})");
    seen.check(sentence, code == 200);
    Ok(())
}

fn pings(stage: &Stage, seen: &mut Seen) -> Outcome {
    understood(stage, seen);
    let rounds = stage.count(100, 20);
    seen.together(8, |thread, seen| {
        flood(&stage.stranger, seen, WIDE, rounds, |frames| {
            for _ in 0..1_000 {
                if thread % 2 == 0 {
                    frames.ping();
                } else {
                    frames.settings();
                }
            }
        });
    });
    Ok(())
}

/// Nothing slows the sender down: none of these frames is answered.
fn empty_frames(stage: &Stage, seen: &mut Seen) -> Outcome {
    understood(stage, seen);
    let rounds = stage.count(200, 40);
    seen.together(8, |thread, seen| {
        flood(&stage.stranger, seen, WIDE, rounds, |frames| {
            for _ in 0..10_000 {
                if thread % 2 == 0 {
                    frames.priority();
                } else {
                    frames.window();
                }
            }
        });
    });
    let cut = seen.codes.get(&0).copied().unwrap_or_default();
    let sentence = format!("connections with too many such frames are closed ({cut})");
    seen.check(sentence, cut >= 8);
    Ok(())
}
