//! The server: one value that knows the store and the kinds, and answers requests.
//!
//! It is a tower `Service`, so that a socket, a test and an in-process client use it alike. Who the
//! caller is has been found out before (by the listener, from a token or a certificate) and stands in
//! the request's extensions; a request without an [`Identity`] gets 401.

use std::convert::Infallible;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http::{HeaderMap, Method, Request, Response};
use landform_api::writer::{Authors, MadeFor, Maker, OnBehalf, TakesOver, Together, WholeContent};
use landform_store::Store;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::audit::{AuditLog, Created, Draft, Outcome, Renamed};
use crate::body::Body;
use crate::environment::{Environment, SystemEnvironment};
use crate::error::{ApiError, Reason, Result};
use crate::heavy::{self, Work};
use crate::identity::Identity;
use crate::lanes::Lane;
use crate::metrics::Metrics;
use crate::object::rules::Claim;
use crate::rbac::{Ask, Follower};
use crate::registry::Registry;
use crate::request::path::{self, Target};
use crate::request::query::Query;
use crate::request::receive::receive;
use crate::respond;
use crate::room::StoreQuota;
use crate::shares::{Share, Shares, WATCHES_MAX};
use crate::tokens::{StaticToken, TokenKey, Tokens};

/// Which line of the audit log a request has.
const AUDIT_ID: http::HeaderName = http::HeaderName::from_static("audit-id");
/// How many requests of the server's own parts may be under way at once.
const OWN_IN_FLIGHT: usize = 4_000;

/// Limits and timings.
#[derive(Clone, Debug)]
pub struct Config {
    /// So many requests that only read may be under way at once.
    pub reads_in_flight: usize,
    /// So many requests that write may be under way at once.
    pub writes_in_flight: usize,
    /// A request that isn't a watch is given up after this time.
    pub request_timeout: Duration,
    /// A watch that names no timeout ends after this time up to twice this time.
    pub watch_timeout: Duration,
    /// Watches that ask for bookmarks get one this often.
    pub bookmark_interval: Duration,
    /// A delete without a policy waits so long for the object to be gone before it answers.
    pub delete_patience: Duration,
    /// Where clients reach the server, for discovery.
    pub address: String,
    /// The certificate that the server's own can be checked with; namespaces carry it.
    pub ca_certificate: Option<String>,
    /// Tokens that are not of service accounts.
    pub static_tokens: Vec<StaticToken>,
    /// Signs the tokens of service accounts. Without one they are signed by a key that nobody else has, and
    /// are worth nothing after a restart.
    pub token_key: Option<Arc<TokenKey>>,
    /// Where requests are written down; nowhere without one.
    pub audit: Option<AuditLog>,
    /// How much the store may keep in memory; any amount without one.
    pub store_quota: Option<StoreQuota>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            reads_in_flight: 800,
            writes_in_flight: 1200,
            request_timeout: Duration::from_secs(60),
            watch_timeout: Duration::from_secs(1800),
            bookmark_interval: Duration::from_secs(60),
            delete_patience: Duration::from_millis(500),
            address: "127.0.0.1:7443".into(),
            ca_certificate: None,
            static_tokens: Vec::new(),
            token_key: None,
            audit: None,
            store_quota: None,
        }
    }
}

/// The API server. Cheap to clone.
#[derive(Clone)]
pub struct ApiServer {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) registry: Registry,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) config: Config,
    pub(crate) metrics: Metrics,
    pub(crate) openapi: crate::discovery::OpenApiCache,
    pub(crate) discovery: crate::discovery::DiscoveryCache,
    pub(crate) recent_lines: crate::verbs::RecentLines,
    pub(crate) views: crate::view::Views,
    pub(crate) rules: Follower,
    pub(crate) tokens: Tokens,
    /// Writes of definitions happen one after the other: each changes the set of kinds.
    pub(crate) definitions: Mutex<()>,
    pub(crate) uids: crate::uids::Uids,
    /// Whose turn it is to write a key that many write.
    pub(crate) turns: crate::verbs::Turns,
    /// A rename that has lost to other writes several times is the only one.
    pub(crate) renames: tokio::sync::RwLock<()>,
    /// Owners that writes under way are about to add.
    pub(crate) announced_owners: crate::verbs::Announced,
    pub(crate) watches: Shares,
    /// Bytes of large bodies.
    pub(crate) bodies: Shares,
    /// Bytes of answers that have not been read.
    pub(crate) answers: Shares,
    pub(crate) quotas: crate::quotas::Quotas,
    reads: Lane,
    writes: Lane,
    /// For the server's own parts, so that no client can stop them.
    own: Lane,
    /// For requests on large values, besides their place in another lane.
    pub(crate) heavy: Lane,
    /// For watches, while an object is decoded that is large.
    pub(crate) heavy_watches: Lane,
    /// Places for changes of large objects: each holds two of them decoded.
    pub(crate) large_changes: tokio::sync::Semaphore,
    /// Wakes those who wait in their order; a `watch` channel would shuffle them, and no simulation of
    /// the server could be repeated.
    stopping: CancellationToken,
}

/// What a write says of the content that it leaves (C6).
fn claim(method: &Method, target: &Target, whole: bool) -> Claim {
    match target {
        _ if whole => Claim::Whole,
        // Who replaces an object sends all of its content. A patch names some of its fields, and its writer need not even know
        // the others.
        Target::Objects(path) if *method == Method::PUT && path.subresource.is_none() => {
            Claim::Vouched
        }
        _ => Claim::Part,
    }
}

/// A request, taken apart.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// What a large body takes of what there is for such bodies.
    pub(crate) _body_share: Share,
    pub(crate) identity: Identity,
    /// Who is noted on what this request writes (C6).
    pub(crate) authors: Authors,
    /// How much of the content that it leaves is that writer's.
    pub(crate) claim: Claim,
    /// For which object the caller creates others, if that is to be noted.
    pub(crate) maker: Option<Maker>,
    /// For which object the caller takes over what it changes, if that is to be noted.
    pub(crate) taker: Option<Maker>,
}

impl Call {
    /// A header's text.
    pub(crate) fn header(&self, name: http::header::HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

impl ApiServer {
    /// A server on a store, with the kinds that the store's definitions make.
    pub async fn start(store: Arc<dyn Store>, config: Config) -> Result<Self> {
        Self::start_in(store, config, Arc::new(SystemEnvironment)).await
    }

    /// As [`ApiServer::start`], with its own time and randomness.
    pub async fn start_in(
        store: Arc<dyn Store>,
        config: Config,
        environment: Arc<dyn Environment>,
    ) -> Result<Self> {
        let server = Self {
            shared: Arc::new(Shared {
                store,
                registry: Registry::builtin(),
                environment,
                watches: Shares::of_watches(),
                bodies: Shares::of_bodies(),
                answers: Shares::of_answers(),
                quotas: crate::quotas::Quotas::default(),
                reads: Lane::new(config.reads_in_flight),
                writes: Lane::new(config.writes_in_flight),
                own: Lane::new(OWN_IN_FLIGHT),
                heavy: Lane::with_queue(heavy::places(), heavy::WAITING_MAX),
                heavy_watches: Lane::with_queue(heavy::places(), WATCHES_MAX),
                large_changes: tokio::sync::Semaphore::new(heavy::places()),
                config,
                metrics: Metrics::new(),
                openapi: crate::discovery::OpenApiCache::default(),
                discovery: crate::discovery::DiscoveryCache::default(),
                recent_lines: crate::verbs::RecentLines::default(),
                views: crate::view::Views::default(),
                rules: Follower::default(),
                tokens: Tokens::default(),
                definitions: Mutex::new(()),
                uids: crate::uids::Uids::default(),
                turns: crate::verbs::Turns::default(),
                renames: tokio::sync::RwLock::default(),
                announced_owners: crate::verbs::Announced::default(),
                stopping: CancellationToken::new(),
            }),
        };
        if let Some(audit) = &server.shared.config.audit {
            audit.register(&server.shared.metrics.registry());
        }
        server.load_definitions().await?;
        server.ensure_namespaces().await?;
        server.ensure_rules().await?;
        server.mount_uids();
        server.mount_custom_kinds();
        Ok(server)
    }

    /// The server that a view holds weakly.
    pub(crate) fn of(shared: &std::sync::Weak<Shared>) -> Result<Self> {
        let shared = shared.upgrade();
        let server = shared.map(|shared| Self { shared });
        server.ok_or_else(|| ApiError::internal("the server has ended"))
    }

    /// Ends all watches, so that clients reconnect elsewhere or later. New ones are refused.
    pub fn stop(&self) {
        self.shared.stopping.cancel();
    }

    /// Where the other parts of the process register their metrics: `/metrics` shows them all.
    #[must_use]
    pub fn metrics_registry(&self) -> prometheus::Registry {
        self.shared.metrics.registry()
    }

    /// Resolves when [`ApiServer::stop`] is called.
    pub(crate) fn stopped(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        self.shared.stopping.clone().cancelled_owned()
    }

    /// Answers one request.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body + Send,
        B::Data: Send,
        B::Error: std::fmt::Display,
    {
        let started = std::time::Instant::now();
        let target = path::parse(request.uri().path());
        let method = request.method().clone();
        let labels = self.shared.metrics.labels(
            &self.shared.registry.kinds(),
            &method,
            &target,
            request.uri().query(),
        );
        let mut draft = Draft::begin(self.shared.config.audit.as_ref(), &request);
        // A bug in one request must not take others on the same connection with it.
        let answer = AssertUnwindSafe(self.route(request, target, draft.as_mut()))
            .catch_unwind()
            .await;
        let answer = answer.unwrap_or_else(|panic| Err(crashed(&*panic)));
        let (mut response, error) = match answer {
            Ok(response) => (response, None),
            Err(error) => (respond::error(&error), Some(error)),
        };
        let created = response.extensions_mut().remove::<Created>();
        let renamed = response.extensions_mut().remove::<Renamed>();
        if let Some(draft) = draft {
            let outcome = Outcome {
                status: response.status(),
                error: error.as_ref(),
                created,
                renamed,
                view: self.viewed(&method, draft.path()),
            };
            if let Some(id) = draft.finish(&outcome).and_then(|id| id.parse().ok()) {
                response.headers_mut().insert(AUDIT_ID, id);
            }
        }
        self.shared
            .metrics
            .finished(&labels, response.status(), started.elapsed());
        response
    }

    async fn route<B>(
        &self,
        request: Request<B>,
        target: Target,
        draft: Option<&mut Draft>,
    ) -> Result<Response<Body>>
    where
        B: http_body::Body + Send,
        B::Data: Send,
        B::Error: std::fmt::Display,
    {
        if target == Target::Health {
            let query = Query::parse(request.uri().query())?;
            return self.health(request.uri().path(), &query);
        }
        let (mut parts, body) = request.into_parts();
        let identity = parts
            .extensions
            .remove::<Identity>()
            .ok_or_else(unauthorized)?;
        let query = Query::parse(parts.uri.query())?;
        let is_watch = match &target {
            Target::Objects(path) => {
                parts.method == Method::GET && (path.legacy_watch || query.flag("watch")?)
            }
            _ => false,
        };
        let lane = if identity.is_internal() {
            &self.shared.own
        } else if matches!(parts.method, Method::GET | Method::HEAD) {
            &self.shared.reads
        } else {
            &self.shared.writes
        };
        let sender = identity.clone();
        // Only the server's own parts write on behalf of others.
        let on_behalf = parts.extensions.remove::<OnBehalf>();
        let on_behalf = on_behalf.filter(|_| identity.is_internal());
        let made_for = parts.extensions.remove::<MadeFor>();
        let made_for = made_for.filter(|_| identity.is_internal());
        let together = parts.extensions.remove::<Together>();
        let together = together.filter(|_| identity.is_internal());
        let whole = parts.extensions.remove::<WholeContent>().is_some();
        let claim = claim(&parts.method, &target, whole && identity.is_internal());
        let mut identity = self.acting(identity, &parts.headers).await?;
        if let Some(Together(others)) = together {
            identity.together = others.iter().map(Identity::of_writer).collect();
        }
        let authors = match on_behalf {
            Some(OnBehalf(authors)) if identity.is_internal() => authors,
            _ => Authors {
                writer: identity.writer(),
                namer: None,
            },
        };
        let maker = made_for.map(|MadeFor(uid)| Maker {
            uid,
            writer: identity.writer(),
        });
        let takes_over = parts.extensions.remove::<TakesOver>().is_some();
        let taker = maker.clone().filter(|_| takes_over);
        if let Some(draft) = draft {
            draft.acts_as(&identity);
        }
        let view = self.view(parts.uri.path());
        let mut limited = None;
        if !identity.is_master() {
            let path = parts.uri.path();
            let mut viewed = self.viewed(&parts.method, path);
            let ask = Ask::of(
                &parts.method,
                &target,
                path,
                &query,
                is_watch,
                viewed.as_ref(),
            );
            self.authorize(&identity, &ask).await?;
            if let Some(viewed) = viewed
                .as_mut()
                .filter(|viewed| !viewed.namespace.is_empty())
            {
                viewed.namespace.clear();
                let ask = Ask::of(&parts.method, &target, path, &query, false, Some(viewed));
                let refused = self.authorize(&identity, &ask).await.is_err();
                limited = refused.then(|| identity.clone());
            }
        }
        let mut body_share = self.shared.bodies.of(&identity);
        let patience = self.shared.config.request_timeout;
        let body = receive(body, patience, &mut body_share).await?;
        // A watch holds its place only while it starts.
        let counted = sender.counted_as();
        let _place = lane.enter(&counted).await?;
        let reader = identity.clone();
        let call = Call {
            method: parts.method,
            query,
            headers: parts.headers,
            body,
            _body_share: body_share,
            identity,
            authors,
            claim,
            maker,
            taker,
        };
        if is_watch && self.shared.stopping.is_cancelled() {
            return Err(
                ApiError::new(Reason::ServiceUnavailable, "the server is shutting down")
                    .retry_after(1),
            );
        }
        let work = async {
            match view {
                Some((view, _, rest)) => {
                    let rest = rest.to_owned();
                    let work = Work::View(view, rest, limited);
                    self.carry_out(call, work, &counted).await
                }
                None => {
                    let work = Work::Request(target, is_watch);
                    self.carry_out(call, work, &counted).await
                }
            }
        };
        match tokio::time::timeout(self.shared.config.request_timeout, work).await {
            Ok(answer) => crate::answers::count(&self.shared.answers, &reader, answer?),
            Err(_) => Err(ApiError::new(
                Reason::Timeout,
                format!(
                    "the request did not finish within {} s; it may still take effect",
                    self.shared.config.request_timeout.as_secs()
                ),
            )),
        }
    }

    pub(crate) async fn dispatch(
        &self,
        call: &Call,
        target: Target,
        is_watch: bool,
    ) -> Result<Response<Body>> {
        if let Target::Objects(path) = target {
            return self.objects(call, path, is_watch).await;
        }
        if !matches!(call.method, Method::GET | Method::HEAD) {
            return Err(ApiError::new(
                Reason::MethodNotAllowed,
                format!(
                    "{} is not possible here: this path can only be read",
                    call.method
                ),
            ));
        }
        match target {
            Target::Metrics => Ok(respond::metrics(
                self.shared
                    .metrics
                    .text(&*self.shared.store, self.shared.config.store_quota),
            )),
            _ => self.discover(call, &target),
        }
    }
}

/// What is left of a request that panicked.
fn crashed(panic: &(dyn std::any::Any + Send)) -> ApiError {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text
        .or(panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(
        panic = text,
        "a request crashed: this is a bug, please report it"
    );
    ApiError::internal("the request crashed: this is a bug in the server; its log says more")
}

fn unauthorized() -> ApiError {
    ApiError::new(
        Reason::Unauthorized,
        "Unauthorized: send a bearer token or a client certificate that this server knows: the token of a service account that exists, and that has not expired, or credentials that an administrator gave you",
    )
}

impl<B> tower::Service<Request<B>> for ApiServer
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: std::fmt::Display,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.answer(request).await) })
    }
}
