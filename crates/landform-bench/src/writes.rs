//! Durable writes: creates through HTTPS, and etcd's puts beside them.

use bytes::Bytes;
use http::Uri;

use crate::Outcome;
use crate::client::{Client, Template, name};
use crate::etcd::{Connection, Etcd};
use crate::load::{Load, Numbers, Operation, Until, drive, median_load};
use crate::server::Server;

/// Both are driven over so many connections.
pub(crate) const CONNECTIONS: usize = 4;

/// What was measured with so many writers.
pub(crate) struct Writes {
    pub(crate) writers: usize,
    pub(crate) landform: Load,
    pub(crate) etcd: Load,
}

/// Creates `ConfigMap`s of 1 KiB.
#[derive(Clone)]
pub(crate) struct Create {
    client: Client,
    uri: Uri,
    template: Template,
}

impl Create {
    pub(crate) fn in_namespace(client: &Client, namespace: &str) -> Outcome<Self> {
        Ok(Self {
            uri: client.uri(&format!("/api/v1/namespaces/{namespace}/configmaps"))?,
            client: client.clone(),
            template: Template::new(),
        })
    }
}

impl Operation for Create {
    async fn run(&mut self, number: u64) -> Outcome {
        let body = self.template.object(number);
        self.client.create(self.uri.clone(), body).await
    }
}

#[derive(Clone)]
struct Put {
    connection: Connection,
    value: Bytes,
}

impl Operation for Put {
    async fn run(&mut self, number: u64) -> Outcome {
        let key = format!("/registry/configmaps/bench/{}", name(number));
        self.connection.put(key.as_bytes(), &self.value).await
    }
}

/// Creates so many objects, as fast as it goes.
pub(crate) async fn fill(server: &Server, namespace: &str, count: u64) -> Outcome<Load> {
    let clients = server.access.clients(CONNECTIONS).await?;
    let creates = clients
        .iter()
        .map(|client| Create::in_namespace(client, namespace))
        .collect::<Outcome<Vec<_>>>()?;
    drive(
        server.id(),
        128,
        Until::Count(count),
        &Numbers::default(),
        |task| creates[task % creates.len()].clone(),
    )
    .await
}

/// Measures both in turn, several times, and takes the middle of each.
pub(crate) async fn measure(
    server: &Server,
    etcd: &Etcd,
    writers: usize,
    until: Until,
    rounds: usize,
    numbers: &Numbers,
) -> Outcome<Writes> {
    let clients = server.access.clients(CONNECTIONS).await?;
    let creates = clients
        .iter()
        .map(|client| Create::in_namespace(client, "bench"))
        .collect::<Outcome<Vec<_>>>()?;
    let value = Template::new().object(0);
    let puts: Vec<_> = etcd
        .connections(CONNECTIONS)
        .await?
        .into_iter()
        .map(|connection| Put {
            connection,
            value: value.clone(),
        })
        .collect();
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let create = |task: usize| creates[task % creates.len()].clone();
        ours.push(drive(server.id(), writers, until, numbers, create).await?);
        let put = |task: usize| puts[task % puts.len()].clone();
        theirs.push(drive(etcd.id(), writers, until, numbers, put).await?);
    }
    Ok(Writes {
        writers,
        landform: median_load(ours).ok_or("nothing was measured")?,
        etcd: median_load(theirs).ok_or("nothing was measured")?,
    })
}
