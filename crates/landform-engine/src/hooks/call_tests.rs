//! Calls of real programs and a real socket.

use std::collections::BTreeMap;
use std::future::pending;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use super::*;

/// Everything that should come comes well within this time.
const SOON: Duration = Duration::from_secs(50);
/// A call that is given up may still take this long.
const GRACE: Duration = Duration::from_secs(5);
const LIMITS: Limits = Limits {
    timeout: SOON,
    grace: GRACE,
};

/// Says `ready` on a connection; on SIGTERM says `term` and ends, or ignores it.
const PROGRAM: &str = "
import os, signal, socket, sys
line = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
def term(*_):
    line.sendall(b'term\\n')
    os._exit(0)
signal.signal(signal.SIGTERM, term if sys.argv[2] == 'gentle' else signal.SIG_IGN)
line.sendall(b'ready\\n')
while True:
    signal.pause()
";

fn command(words: &[&str]) -> Hook {
    let command = words.iter().map(ToString::to_string).collect();
    let spec = HookSpec {
        url: None,
        command: Some(command),
        env: BTreeMap::from([("GIVEN".to_owned(), "1".to_owned())]),
        grace: GRACE,
    };
    Hook::new(&spec, Means::default()).unwrap()
}

fn shell(script: &str) -> Hook {
    command(&["sh", "-c", script])
}

fn url(url: &str) -> Hook {
    let spec = HookSpec {
        url: Some(url.to_owned()),
        command: None,
        env: BTreeMap::new(),
        grace: GRACE,
    };
    Hook::new(&spec, Means::default()).unwrap()
}

async fn call(hook: &Hook) -> Result<Bytes, CallError> {
    hook.call(Bytes::from("hello"), LIMITS, pending()).await
}

async fn fails(hook: &Hook) -> String {
    call(hook).await.unwrap_err().to_string()
}

#[tokio::test]
async fn c6_a_command_gets_only_the_environment_that_it_asks_for() {
    // Cargo has put many variables into the environment of this test.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let answer = call(&shell("cat > /dev/null; env")).await.unwrap();
    let text = String::from_utf8(answer.to_vec()).unwrap();
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| Some(line.split_once('=')?.0))
        .collect();
    // The shell adds the last three by itself.
    let known = [
        "PATH",
        "HOME",
        "LANG",
        "TZ",
        "GIVEN",
        "LANDFORM_CALL",
        "PWD",
        "SHLVL",
        "_",
    ];
    let others: Vec<_> = names.iter().filter(|name| !known.contains(name)).collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(
        names.contains(&"GIVEN") && names.contains(&"PATH"),
        "{names:?}"
    );
}

#[test]
fn exactly_one_hook_that_makes_sense() {
    let spec = |url: Option<&str>, command: Option<Vec<&str>>| HookSpec {
        url: url.map(str::to_owned),
        command: command.map(|words| words.into_iter().map(str::to_owned).collect()),
        env: BTreeMap::new(),
        grace: GRACE,
    };
    let table = [
        (spec(None, None), "exactly one of"),
        (spec(Some("http://a"), Some(vec!["b"])), "exactly one of"),
        (spec(Some("ftp://a"), None), "must be an http or https URL"),
        (spec(Some("a"), None), "must be an http or https URL"),
        (spec(Some("http:// a"), None), "hook.url: invalid"),
        (spec(None, Some(vec![])), "names no program"),
        (spec(None, Some(vec![""])), "names no program"),
    ];
    for (spec, expected) in table {
        let problem = Hook::new(&spec, Means::default()).map(|_| ()).unwrap_err();
        assert!(problem.contains(expected), "{spec:?}: {problem}");
    }
}

#[tokio::test]
async fn a_command_reads_stdin_and_answers_on_stdout() {
    assert_eq!(
        call(&shell("cat; echo ' world'")).await.unwrap(),
        "hello world\n"
    );
    assert_eq!(call(&shell("echo unread")).await.unwrap(), "unread\n");
}

#[tokio::test]
async fn a_failed_command_is_explained() {
    let table = [
        (
            shell("echo one >&2; echo two >&2; exit 3"),
            "ended with exit status: 3",
        ),
        (shell("exit 1"), "ended with exit status: 1"),
        (shell("kill -9 $$"), "ended with signal: 9"),
        (
            command(&["/no/such/program"]),
            "can't be reached: can't be started: No such file",
        ),
        (
            shell("head -c 5000000 /dev/zero"),
            "answered more than 4 MiB",
        ),
    ];
    for (hook, expected) in table {
        let error = fails(&hook).await;
        assert!(error.starts_with(expected), "{hook}: {error}");
    }
    let chatty = shell("seq 1 100000 >&2; exit 1");
    let CallError::Refused { problem, words } = call(&chatty).await.unwrap_err() else {
        panic!("its words are kept");
    };
    assert_eq!(problem, "ended with exit status: 1");
    assert!(words.len() < 9_000, "{words}");
    // Whatever it printed, also when it took too long; with SIGTERM it ends, or is killed.
    let script = "seq 1 100000 >&2; echo err >&2; echo out";
    for (script, problem) in [
        (format!("{script}; exit 1"), "ended with exit status: 1"),
        (
            format!("{script}; exec sleep 100"),
            "has not answered after",
        ),
        (
            format!("trap '' TERM; {script}; while :; do sleep 100; done"),
            "has not answered after",
        ),
    ] {
        let CallError::Refused {
            problem: told,
            words,
        } = call(&shell(&script)).await.unwrap_err()
        else {
            panic!("its words are kept: {script}");
        };
        assert!(told.starts_with(problem), "{told}");
        assert!(words.ends_with("err\nout"), "{words}");
    }
    let told = shell(r#"echo hush >&2; echo '{"error": "no license"}'; exit 1"#);
    assert_eq!(fails(&told).await, "ended with exit status: 1: no license");
    assert_eq!(told.to_string(), "hook `sh`");
}

/// Starts a program in the background of a shell, and returns the connection on which it was ready.
async fn running(
    manner: &str,
    limits: Limits,
) -> (
    impl Future<Output = Result<Bytes, CallError>>,
    oneshot::Sender<()>,
    TcpListener,
) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    // The shell waits for the program: both are in the group, and the program is not our child.
    let script = "python3 -c \"$1\" \"$2\" \"$3\" & wait; wait";
    let hook = command(&["sh", "-c", script, "sh", PROGRAM, &port, manner]);
    let (cancel, cancelled) = oneshot::channel();
    let call = async move {
        let cancelled = async {
            let _ = cancelled.await;
        };
        hook.call(Bytes::new(), limits, cancelled).await
    };
    (call, cancel, listener)
}

async fn lines_of(listener: TcpListener) -> tokio::io::Lines<BufReader<TcpStream>> {
    let (connection, _) = listener.accept().await.unwrap();
    let mut lines = BufReader::new(connection).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ready"));
    lines
}

#[tokio::test]
async fn r9_cancelling_sends_sigterm_to_the_whole_group() {
    let (call, cancel, listener) = running("gentle", LIMITS).await;
    let watch = async {
        let mut lines = lines_of(listener).await;
        cancel.send(()).unwrap();
        let last = lines.next_line().await.unwrap();
        assert_eq!(last.as_deref(), Some("term"));
        assert_eq!(lines.next_line().await.unwrap(), None, "it has ended");
    };
    let (result, ()) = tokio::join!(call, watch);
    assert_eq!(result, Err(CallError::Cancelled));
}

#[tokio::test]
async fn r9_who_ignores_sigterm_is_killed() {
    // Real processes take real time to end.
    let limits = Limits {
        grace: Duration::from_millis(50),
        ..LIMITS
    };
    let (call, cancel, listener) = running("stubborn", limits).await;
    let watch = async {
        let mut lines = lines_of(listener).await;
        cancel.send(()).unwrap();
        // A connection that ends without a word: the program was killed.
        assert!(!matches!(lines.next_line().await, Ok(Some(_))));
    };
    let (result, ()) = tokio::join!(call, watch);
    assert_eq!(result, Err(CallError::Cancelled));
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended() {
    let limits = Limits {
        timeout: Duration::from_secs(4),
        ..LIMITS
    };
    let (call, _cancel, listener) = running("gentle", limits).await;
    let watch = async {
        let mut lines = lines_of(listener).await;
        while let Ok(Some(_)) = lines.next_line().await {}
    };
    let (result, ()) = tokio::join!(call, watch);
    assert_eq!(result.unwrap_err().to_string(), "has not answered after 4s");
}

#[tokio::test]
async fn r9_a_dropped_call_leaves_no_process_behind() {
    let (call, _cancel, listener) = running("stubborn", LIMITS).await;
    let mut lines = {
        let mut call = Box::pin(call);
        tokio::select! {
            result = &mut call => panic!("{result:?}"),
            lines = lines_of(listener) => lines,
        }
    };
    assert!(!matches!(lines.next_line().await, Ok(Some(_))));
}

/// Reads one request, and returns its body with the connection.
async fn request(listener: &TcpListener) -> (String, TcpStream) {
    let (mut connection, _) = listener.accept().await.unwrap();
    let mut text = String::new();
    while !text.ends_with("hello") {
        let mut part = [0; 4096];
        let count = connection.read(&mut part).await.unwrap();
        assert_ne!(count, 0, "{text}");
        text.push_str(std::str::from_utf8(&part[..count]).unwrap());
    }
    (text, connection)
}

async fn served(answer: &str) -> Result<Bytes, CallError> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hook = url(&format!(
        "http://{}/reconcile",
        listener.local_addr().unwrap()
    ));
    let serve = async {
        let (text, mut connection) = request(&listener).await;
        assert!(text.starts_with("POST /reconcile HTTP/1.1\r\n"), "{text}");
        assert!(
            text.contains("content-type: application/json\r\n"),
            "{text}"
        );
        // Who answers too much is hung up on.
        let _ = connection.write_all(answer.as_bytes()).await;
    };
    tokio::join!(call(&hook), serve).0
}

#[tokio::test]
async fn a_url_is_posted_to() {
    let answer = served("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await;
    assert_eq!(answer.unwrap(), "{}");
}

#[tokio::test]
async fn a_failed_request_is_explained() {
    let long = format!(
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}",
        "x".repeat(5_000_000)
    );
    let table = [
        (
            "HTTP/1.1 500 X\r\ncontent-length: 5\r\n\r\nno db",
            "answered 500 Internal Server Error",
        ),
        (
            "HTTP/1.1 500 X\r\ncontent-length: 20\r\n\r\n{\"error\": \"no luck\"}",
            "answered 500 Internal Server Error: no luck",
        ),
        (
            "HTTP/1.1 302 X\r\nlocation: /\r\ncontent-length: 0\r\n\r\n",
            "answered 302 Found",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{",
            "broke its answer off",
        ),
        ("", "gave no answer"),
        ("garbage\r\n\r\n", "gave no answer"),
        (&long, "answered more than 4 MiB"),
    ];
    for (answer, expected) in table {
        let error = served(answer).await.unwrap_err();
        assert!(
            matches!(error, CallError::Failed(_) | CallError::Refused { .. }),
            "{error:?}"
        );
        assert!(!error.to_string().contains("no db"), "{error}");
        assert!(
            error.to_string().starts_with(expected),
            "{expected}: {error}"
        );
    }
}

#[tokio::test]
async fn who_is_not_there_can_not_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = call(&url(&format!("http://{address}/"))).await.unwrap_err();
    assert!(matches!(&error, CallError::Unreachable(_)), "{error:?}");
    assert!(error.to_string().contains("Connection refused"), "{error}");
}

#[tokio::test]
async fn https_is_spoken_to_https_urls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hook = url(&format!("https://{}/", listener.local_addr().unwrap()));
    let serve = async {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut first = [0; 3];
        connection.read_exact(&mut first).await.unwrap();
        first
    };
    let (error, first) = tokio::join!(call(&hook), serve);
    // A handshake of TLS begins like this; nobody goes on with it here.
    assert_eq!(first[..2], [0x16, 0x03]);
    assert!(matches!(error, Err(CallError::Unreachable(_))), "{error:?}");
}

/// What becomes of a call that is cancelled while a server works on it: its result, what the server sees then, and
/// whether the grace period was used up. The server answers after this time, or never.
async fn cancelled_call(
    limits: Limits,
    answer_after: Option<Duration>,
) -> (Result<Bytes, CallError>, std::io::Result<usize>, Duration) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hook = url(&format!("http://{}/", listener.local_addr().unwrap()));
    let (cancel, cancelled) = oneshot::channel::<()>();
    let serve = async {
        let (_, mut connection) = request(&listener).await;
        tokio::time::pause();
        cancel.send(()).unwrap();
        if let Some(time) = answer_after {
            tokio::time::sleep(time).await;
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            connection.write_all(answer).await.unwrap();
        }
        (connection.read(&mut [0; 16]).await, connection)
    };
    let call = async {
        let cancelled = async {
            let _ = cancelled.await;
        };
        let begun = tokio::time::Instant::now();
        let result = hook.call(Bytes::from("hello"), limits, cancelled).await;
        // Whoever still has the connection keeps it: an answered one stays open.
        drop(hook);
        (result, begun.elapsed())
    };
    let ((result, took), (closed, _)) = tokio::join!(call, serve);
    tokio::time::resume();
    (result, closed, took)
}

#[tokio::test]
async fn r9b_a_cancelled_request_is_waited_for_until_it_is_answered() {
    let (result, _, took) = cancelled_call(LIMITS, Some(Duration::from_secs(3))).await;
    assert_eq!(result, Err(CallError::Cancelled), "the answer is not used");
    assert!(took >= Duration::from_secs(3), "{took:?}");
    assert!(took < GRACE, "{took:?}");
}

#[tokio::test]
async fn r9b_a_cancelled_request_is_closed_after_its_grace_period() {
    for grace in [Duration::ZERO, GRACE, Duration::from_secs(30)] {
        let limits = Limits { grace, ..LIMITS };
        let (result, closed, took) = cancelled_call(limits, None).await;
        assert_eq!(result, Err(CallError::Cancelled));
        assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
        assert!(took >= grace, "{took:?}");
        assert!(took < grace + Duration::from_secs(1), "{took:?}");
    }
}

#[tokio::test]
async fn r9b_a_request_that_was_not_sent_is_not_waited_for() {
    // A connection that is never accepted beyond the backlog: nothing listens behind this address.
    let hook = url("http://192.0.2.1:9/");
    let call = hook.call(Bytes::from("hello"), LIMITS, async {});
    let result = tokio::time::timeout(Duration::from_secs(2), call).await;
    assert_eq!(result, Ok(Err(CallError::Cancelled)));
}

#[tokio::test]
async fn a_url_that_takes_too_long_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let hook = url(&format!("http://{}/", listener.local_addr().unwrap()));
    let serve = async {
        let (_, mut connection) = request(&listener).await;
        tokio::time::pause();
        connection.read(&mut [0; 16]).await
    };
    let (result, closed) = tokio::join!(call(&hook), serve);
    assert_eq!(
        result.unwrap_err().to_string(),
        "has not answered after 50s"
    );
    assert!(matches!(closed, Ok(0) | Err(_)), "{closed:?}");
}
