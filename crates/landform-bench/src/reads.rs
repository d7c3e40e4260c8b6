//! Reads: single objects, and a long list.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, HeaderValue};
use http::{Method, StatusCode, Uri};

use crate::Outcome;
use crate::client::{Client, name, take};
use crate::load::{Load, Numbers, Operation, Until, drive, median};
use crate::server::Server;
use crate::writes::CONNECTIONS;

/// Reads are measured with so many readers.
const READERS: usize = 64;
/// A list is read so often; the middle one counts.
const LISTS: usize = 9;

/// A long list, read whole.
pub(crate) struct Lists {
    pub(crate) objects: u64,
    pub(crate) plain_ms: f64,
    pub(crate) gzip_ms: f64,
    pub(crate) bytes: usize,
}

struct Get {
    client: Client,
    uris: std::sync::Arc<Vec<Uri>>,
}

impl Operation for Get {
    async fn run(&mut self, number: u64) -> Outcome {
        let at = usize::try_from(number).unwrap_or(0) % self.uris.len();
        self.client.read(self.uris[at].clone()).await.map(drop)
    }
}

/// Reads single objects of a namespace that has at least this many.
pub(crate) async fn gets(
    server: &Server,
    namespace: &str,
    objects: u64,
    time: Duration,
) -> Outcome<Load> {
    let clients = server.access.clients(CONNECTIONS).await?;
    let client = clients.first().ok_or("no connection")?;
    let uris = (0..objects.min(1000))
        .map(|number| {
            client.uri(&format!(
                "/api/v1/namespaces/{namespace}/configmaps/{}",
                name(number)
            ))
        })
        .collect::<Outcome<Vec<_>>>()?;
    let uris = std::sync::Arc::new(uris);
    drive(
        server.id(),
        READERS,
        Until::Time(time),
        &Numbers::default(),
        |task| Get {
            client: clients[task % clients.len()].clone(),
            uris: uris.clone(),
        },
    )
    .await
}

/// Reads the list of a namespace with so many objects, plain and compressed.
pub(crate) async fn lists(server: &Server, namespace: &str, objects: u64) -> Outcome<Lists> {
    let mut client = server.client().await?;
    let uri = client.uri(&format!("/api/v1/namespaces/{namespace}/configmaps"))?;
    let (mut plain, mut gzip, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..LISTS {
        let started = Instant::now();
        bytes = client.read(uri.clone()).await?;
        plain.push(started.elapsed().as_secs_f64() * 1e3);
    }
    let compressed = [(ACCEPT_ENCODING, HeaderValue::from_static("gzip"))];
    for _ in 0..LISTS.div_ceil(3) {
        let started = Instant::now();
        let answer = client
            .send(Method::GET, uri.clone(), &compressed, Bytes::new())
            .await?;
        take(answer, StatusCode::OK).await?;
        gzip.push(started.elapsed().as_secs_f64() * 1e3);
    }
    Ok(Lists {
        objects,
        plain_ms: median(plain),
        gzip_ms: median(gzip),
        bytes,
    })
}
