//! Callers who pretend: paths that look like others, tokens and identities that are not theirs, bodies that are no JSON.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::{Attack, PLAIN, Seen};
use crate::hostile::Outcome;
use crate::hostile::stage::{CORE, Stage, TREASURE};
use crate::hostile::wire::Request;

pub(super) fn table() -> Vec<Attack> {
    vec![
        Attack {
            name: "bodies that are no JSON",
            sends: "text/plain and other types that browsers send without asking",
            run: other_types,
            answers: &[415],
            memory_mib: 64,
            ..PLAIN
        },
        Attack {
            name: "path tricks",
            sends: "dots, doubled slashes and escapes that lead to another namespace's Secret",
            run: path_tricks,
            answers: &[0, 200, 301, 307, 400, 401, 403, 404, 405, 414, 431],
            memory_mib: 64,
            ..PLAIN
        },
        Attack {
            name: "forged tokens",
            sends: "tokens without signature, with another payload, key or form",
            run: forged_tokens,
            answers: &[400, 401],
            memory_mib: 64,
            ..PLAIN
        },
        Attack {
            name: "impersonation",
            sends: "impersonation headers, without the right to",
            run: impersonation,
            answers: &[400, 403],
            memory_mib: 64,
            ..PLAIN
        },
    ]
}

fn other_types(stage: &Stage, seen: &mut Seen) -> Outcome {
    let body =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "plain"}}).to_string();
    let maps = format!("{CORE}/configmaps");
    for content_type in [
        "text/plain",
        "text/plain;charset=UTF-8",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=a",
        "text/html",
        "application/octet-stream",
        "a",
    ] {
        for (method, path) in [
            ("POST", maps.clone()),
            ("PATCH", format!("{maps}/kept")),
            ("PUT", format!("{maps}/kept")),
        ] {
            let headers = [("content-type", content_type)];
            let request = Request {
                method,
                path: &path,
                headers: &headers,
                body: body.as_bytes(),
            };
            seen.answer(&stage.tenant.send(&request));
        }
    }
    Ok(())
}

fn path_tricks(stage: &Stage, seen: &mut Seen) -> Outcome {
    let secret = "namespaces/default/secrets/treasure";
    let long = format!("/api/v1/{}", "a/".repeat(30_000));
    let paths = [
        format!("/api/v1/{secret}"),
        format!("//api/v1/{secret}"),
        format!("/api//v1/{secret}"),
        format!("/api/v1//{secret}"),
        format!("/api/v1/{secret}/"),
        format!("/api/v1/{secret}//"),
        format!("/api/v1/{secret}/status"),
        format!("/api/v1/{secret}%00"),
        format!("/api/v1/{secret}%2f"),
        format!("/api/v1/{secret}?"),
        format!("/api/v1/{secret}#a"),
        format!("/api/v1/{secret};a=b"),
        format!("/API/v1/{secret}"),
        format!("/%61pi/v1/{secret}"),
        format!("/./api/v1/{secret}"),
        format!("/healthz/../api/v1/{secret}"),
        format!("/livez/..%2f..%2fapi/v1/{secret}"),
        format!("/readyz;/../api/v1/{secret}"),
        format!("{CORE}/../default/secrets/treasure"),
        format!("{CORE}/..%2fdefault/secrets/treasure"),
        format!("{CORE}/%2e%2e/default/secrets/treasure"),
        format!("{CORE}/configmaps/../../default/secrets/treasure"),
        format!("{CORE}/secrets/..%2f..%2fdefault%2fsecrets%2ftreasure"),
        format!("{CORE}%2f..%2fdefault/secrets/treasure"),
        format!("{CORE}/..\\default\\secrets\\treasure"),
        format!("/api/v1/watch/{secret}"),
        "/api/v1/watch/namespaces/default/secrets".to_owned(),
        "/api/v1/secrets?limit=5".to_owned(),
        "/api/v1/namespaces/default/secrets?fieldSelector=metadata.name=treasure".to_owned(),
        "/api/v1/namespaces/default%20/secrets/treasure".to_owned(),
        "/api/v1/namespaces/default/secrets/treasure%20".to_owned(),
        format!("/api/v1/proxy/{secret}"),
        format!("/apis//v1/{secret}"),
        format!("/apis/core/v1/{secret}"),
        format!("http://127.0.0.1/api/v1/{secret}"),
        long,
    ];
    let mut leaks = Vec::new();
    for path in &paths {
        for who in [&stage.tenant, &stage.powerless, &stage.stranger] {
            let request = Request {
                method: "GET",
                path,
                headers: &[],
                body: b"",
            };
            let answer = who.send(&request);
            seen.answer(&answer);
            // Health is for everybody, and is all that a success may be.
            let health = ["/healthz", "/livez", "/readyz"]
                .iter()
                .any(|page| path.starts_with(page));
            let leaks_here = answer.is_ok_and(|answer| {
                answer.text().contains(TREASURE) || (answer.code == 200 && !health)
            });
            if leaks_here {
                leaks.push(path);
            }
        }
    }
    seen.check(
        format!(
            "no path leads to the Secret (of {}; {leaks:?})",
            paths.len()
        ),
        leaks.is_empty(),
    );
    Ok(())
}

fn forged_tokens(stage: &Stage, seen: &mut Seen) -> Outcome {
    let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let parts: Vec<&str> = stage.token.split('.').collect();
    let [head, payload, signature] = parts[..] else {
        return Err("the server's tokens have another form".to_owned());
    };
    let claims = URL_SAFE_NO_PAD
        .decode(payload)
        .map_err(|error| error.to_string())?;
    let mut claims: Value = serde_json::from_slice(&claims).map_err(|error| error.to_string())?;
    claims["sub"] = json!("system:serviceaccount:kube-system:default");
    let other = encoded(&claims);
    let none = encoded(&json!({"alg": "none", "typ": "JWT"}));
    let symmetric = encoded(&json!({"alg": "HS256", "typ": "JWT"}));
    let mut flipped = signature.to_owned();
    let first = flipped.remove(0);
    flipped.insert(0, if first == 'A' { 'B' } else { 'A' });
    let tokens = [
        format!("{head}.{other}.{signature}"),
        format!("{none}.{other}."),
        format!("{none}.{payload}."),
        format!("{symmetric}.{other}.{signature}"),
        format!("{head}.{payload}.{flipped}"),
        format!("{head}.{payload}."),
        format!("{head}.{payload}"),
        format!("{head}.{payload}.{signature}.{signature}"),
        format!("{head}.{payload}.{signature}\u{e9}"),
        "a.b.c".to_owned(),
        "..".to_owned(),
        "admin".to_owned(),
        "a".repeat(10_000),
    ];
    for token in &tokens {
        let forger = stage.stranger.with_token(token);
        seen.answer(&forger.get("/api/v1/namespaces"));
        seen.answer(&forger.json("POST", &format!("{CORE}/configmaps"), b"{}"));
    }
    Ok(())
}

fn impersonation(stage: &Stage, seen: &mut Seen) -> Outcome {
    let headers: [&[(&str, &str)]; 8] = [
        &[("impersonate-user", "admin")],
        &[
            ("impersonate-user", "system:admin"),
            ("impersonate-group", "system:masters"),
        ],
        &[("impersonate-group", "system:masters")],
        &[(
            "impersonate-user",
            "system:serviceaccount:kube-system:default",
        )],
        &[("impersonate-user", "a"), ("impersonate-uid", "b")],
        &[("impersonate-user", "a"), ("impersonate-extra-scopes", "b")],
        &[
            ("Impersonate-User", ""),
            ("impersonate-group", "system:masters"),
        ],
        &[("impersonate-user", "a"), ("impersonate-user", "admin")],
    ];
    for who in [&stage.tenant, &stage.powerless] {
        for headers in headers {
            for path in [
                "/api/v1/namespaces/default/secrets/treasure",
                "/api/v1/namespaces",
            ] {
                let request = Request {
                    method: "GET",
                    path,
                    headers,
                    body: b"",
                };
                seen.answer(&who.send(&request));
            }
        }
    }
    Ok(())
}
