//! Connections and requests that want a place and do nothing with it.

use std::io::Read as _;
use std::time::Duration;

use serde_json::json;

use super::{Attack, PLAIN, Seen};
use crate::hostile::Outcome;
use crate::hostile::stage::{CORE, Stage};
use crate::hostile::wire::Request;

/// How long an attack that only waits goes on.
const HOLD: Duration = Duration::from_secs(3);

pub(super) fn table() -> Vec<Attack> {
    vec![
        Attack {
            name: "made-up paths",
            sends: "20,000 requests without credentials, each to another path",
            run: made_up_paths,
            answers: &[400, 401, 403, 404, 429],
            memory_mib: 64,
            ..PLAIN
        },
        Attack {
            name: "idle connections",
            sends: "900 TLS connections without a request; a server of ours may open 512 files",
            run: idle_connections,
            answers: &[0],
            files: Some(512),
            ..PLAIN
        },
        Attack {
            name: "bodies that never end",
            sends: "800 requests that send ten bytes of a body and wait",
            run: endless_bodies,
            answers: &[0, 400, 408, 429],
            ..PLAIN
        },
        Attack {
            name: "bodies that almost end",
            sends: "250 requests that send 2.9 MB of a body but its last bytes, and wait",
            run: almost_whole_bodies,
            answers: &[0, 400, 408, 429],
            ..PLAIN
        },
        Attack {
            name: "unread watches",
            sends: "70 watches of 54 MB that are never read",
            prepare: fill,
            run: unread_watches,
            answers: &[0, 200, 429],
            ..PLAIN
        },
        Attack {
            name: "oversized bodies",
            sends: "bodies of 4 MB and 16 MB on HTTP/1.1",
            run: oversized_bodies,
            answers: &[403, 413, 429],
            ..PLAIN
        },
        Attack {
            name: "no TLS, no HTTP",
            sends: "plain HTTP, half a handshake, garbage before and after the handshake",
            run: garbage,
            answers: &[0, 400, 405, 431],
            ..PLAIN
        },
    ]
}

fn made_up_paths(stage: &Stage, seen: &mut Seen) -> Outcome {
    let size = || -> Outcome<usize> {
        let metrics = stage
            .admin
            .get("/metrics")
            .map_err(|error| error.to_string())?;
        Ok(metrics.body.len())
    };
    let before = size()?;
    let (threads, each) = (4, stage.count(5_000, 500));
    seen.together(threads, |thread, seen| {
        let mut connection = None;
        for number in 0..each {
            let path = match number % 3 {
                0 => format!("/apis/g{thread}-{number}.example.com/v1/things"),
                1 => format!("/api/v1/namespaces/n{thread}-{number}/things{number}/name"),
                _ => format!("/{thread}/{number}?watch=true&a{number}=b"),
            };
            let method = ["GET", "POST", "PATCH", "M"][number % 4];
            let request = Request {
                method,
                path: &path,
                headers: &[("user-agent", &path)],
                body: b"",
            };
            let mut open = match connection.take() {
                Some(open) => open,
                None => match stage.stranger.connect() {
                    Ok(open) => open,
                    Err(error) => return seen.answer(&Err(error)),
                },
            };
            let answer = open.send(&request);
            seen.answer(&answer);
            connection = answer.is_ok().then_some(open);
        }
    });
    let after = size()?;
    seen.check(
        format!("/metrics grows by at most 100,000 bytes ({before} → {after})"),
        after < before + 100_000,
    );
    Ok(())
}

fn idle_connections(stage: &Stage, seen: &mut Seen) -> Outcome {
    let mut open = Vec::new();
    let (mut refused, count) = (0, stage.count(900, 500));
    for number in 0..count {
        // Every third doesn't even begin the handshake.
        let connected = if number % 3 == 0 {
            stage.stranger.socket().map(|socket| (Some(socket), None))
        } else {
            stage
                .stranger
                .connect()
                .map(|connection| (None, Some(connection)))
        };
        match connected {
            Ok(connection) => open.push(connection),
            Err(_) => refused += 1,
        }
    }
    std::thread::sleep(HOLD);
    if stage.is_ours() {
        seen.check(
            format!("{} of {count} got in, {refused} were refused", open.len()),
            true,
        );
    } else {
        seen.left_out.push("the limit of open files");
    }
    Ok(())
}

fn endless_bodies(stage: &Stage, seen: &mut Seen) -> Outcome {
    let whos = [&stage.tenant, &stage.powerless];
    held_bodies(
        stage.count(800, 200),
        &whos,
        100_000,
        br#"{"a":"bcd""#,
        seen,
    )
}

fn almost_whole_bodies(stage: &Stage, seen: &mut Seen) -> Outcome {
    let length = 2_900_000;
    let part = format!("{{\"a\": \"{}", "b".repeat(length - 20));
    let count = stage.count(250, 150);
    held_bodies(count, &[&stage.tenant], length, part.as_bytes(), seen)
}

/// Begins requests whose bodies are announced longer than what is sent, and holds them.
fn held_bodies(
    count: usize,
    whos: &[&crate::hostile::wire::Access],
    announced: usize,
    part: &[u8],
    seen: &mut Seen,
) -> Outcome {
    let path = format!("{CORE}/configmaps");
    let one = format!("{path}/kept");
    let mut open = Vec::new();
    for number in 0..count {
        let (method, path) = [("GET", &path), ("POST", &path), ("PATCH", &one)][number % 3];
        let request = Request {
            method,
            path,
            headers: &[("content-type", "application/json")],
            body: b"",
        };
        let begun = whos[number % whos.len()].connect().and_then(|mut open| {
            open.begin(&request, announced, part)?;
            Ok(open)
        });
        match begun {
            Ok(connection) => open.push(connection),
            Err(error) => seen.answer(&Err(error)),
        }
    }
    std::thread::sleep(HOLD);
    Ok(())
}

/// Puts many config maps there.
pub(super) fn fill(stage: &Stage) -> Outcome {
    let value = "v".repeat(270_000);
    let mut seen = Seen::default();
    let each = stage.count(50, 12);
    seen.together(4, |thread, seen| {
        for number in 0..each {
            let name = format!("large-{thread}-{number}");
            let object = json!({"metadata": {"name": name}, "data": {"a": value}});
            if let Err(error) = stage.made(&format!("{CORE}/configmaps"), &object) {
                seen.check(error, false);
            }
        }
    });
    seen.checks.pop().map_or(Ok(()), |(error, _)| Err(error))
}

fn unread_watches(stage: &Stage, seen: &mut Seen) -> Outcome {
    let path = format!("{CORE}/configmaps?watch=true");
    let mut open = Vec::new();
    for number in 0..stage.count(70, 20) {
        let path = match number % 2 {
            0 => path.clone(),
            _ => format!(
                "{path}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
            ),
        };
        let request = Request {
            method: "GET",
            path: &path,
            headers: &[],
            body: b"",
        };
        let begun = stage.tenant.connect().and_then(|mut connection| {
            connection.begin(&request, 0, b"")?;
            Ok(connection)
        });
        match begun {
            Ok(connection) => open.push(connection),
            Err(error) => seen.answer(&Err(error)),
        }
    }
    std::thread::sleep(HOLD);
    Ok(())
}

fn oversized_bodies(stage: &Stage, seen: &mut Seen) -> Outcome {
    for megabytes in [4, 16] {
        let value = "v".repeat(megabytes * 1_000_000);
        let body = json!({"metadata": {"name": "a"}, "data": {"a": value}}).to_string();
        seen.together(stage.count(8, 2), |number, seen| {
            let who = [&stage.tenant, &stage.powerless][number % 2];
            seen.answer(&who.json("POST", &format!("{CORE}/configmaps"), body.as_bytes()));
        });
    }
    Ok(())
}

fn garbage(stage: &Stage, seen: &mut Seen) -> Outcome {
    use std::io::Write as _;
    let plain: [&[u8]; 4] = [
        b"GET /api HTTP/1.1\r\nhost: a\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &[0xff; 4_096],
    ];
    for bytes in plain {
        let mut socket = stage.stranger.socket().map_err(|error| error.to_string())?;
        let written = socket.write_all(bytes);
        // Half of a handshake is waited for, for a while: not here.
        socket
            .set_read_timeout(Some(Duration::from_secs(1)))
            .map_err(|error| error.to_string())?;
        let mut answer = [0; 16];
        let _ = written.and_then(|()| socket.read(&mut answer));
    }
    let long = format!("GET /{} HTTP/1.1\r\nhost: a\r\n\r\n", "a".repeat(1_000_000));
    let headers = format!(
        "GET / HTTP/1.1\r\nhost: a\r\n{}\r\n",
        "a: b\r\n".repeat(50_000)
    );
    let inside: [&[u8]; 7] = [
        b"GET /api HTTP/9.9\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"GET  /  HTTP/1.1\r\n\r\n",
        b"POST /api HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
        b"POST /api HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        long.as_bytes(),
        headers.as_bytes(),
    ];
    for bytes in inside {
        let mut connection = stage
            .stranger
            .connect()
            .map_err(|error| error.to_string())?;
        let sent = connection.raw(bytes);
        let answer = sent.and_then(|()| connection.read_answer());
        seen.answer(&answer);
    }
    Ok(())
}
