//! A control plane on a fork of the store: the real server, engine, reconcilers and collector, on a clock
//! that goes on by itself when nothing else can. Nothing of it reaches outside.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube::Client;
use landform_apiserver::environment::Environment;
use landform_apiserver::{ApiServer, Config, Identity, LocalService};
use landform_controllers::collector::Collector;
use landform_controllers::landscape::{self, Blueprints, Outdated, Overlay};
use landform_deployers::DeployItems;
use landform_engine::{Clock, Engine};
use landform_operators::Operators;
use landform_store::memory::MemoryStore;
use landform_store::{Revision, Store};
use time::OffsetDateTime;
use tokio::time::Instant;

use crate::PlanError;
use crate::apply::{self, Refused};
use crate::deployer::DryDeployer;
use crate::hooks::DryRegistry;
use crate::log::Log;
use crate::question::Question;
use crate::record::Record;
use crate::rights;

/// Where the reconcilers of a plan may read.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The directory below which blueprints are.
    pub blueprints: Option<PathBuf>,
    /// The directory below which catalogs are.
    pub catalogs: Option<PathBuf>,
    /// A plan is given up after this time; none is 50 seconds.
    pub patience: Option<Duration>,
}

/// Between two looks so much of the fork's time passes: everything that needs none has happened then.
const STEP: Duration = Duration::from_millis(100);
/// When nothing was written for so many looks, it is settled: longer than the first pause after an error,
/// and shorter than any timeout that somebody would set.
const QUIET_STEPS: u32 = 20;
/// What goes on for so many looks does not settle.
const MOST_STEPS: u32 = 3_000;
/// Bookmarks in a fork are for nobody.
const BOOKMARKS: Duration = Duration::from_secs(3600);

/// A control plane on a fork.
pub(crate) struct World {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) client: Client,
    server: ApiServer,
    pub(crate) engine: Engine,
    pub(crate) log: Log,
    pub(crate) record: Record,
    blueprints: Arc<Blueprints>,
    /// Where these are.
    root: Option<PathBuf>,
    outdated: Outdated,
    /// Deployers and operators work as long as somebody has them.
    _operators: Operators,
}

impl World {
    /// Starts everything on the present runtime, whose time must be paused.
    pub(crate) async fn start(store: MemoryStore, settings: &Settings) -> Result<Self, PlanError> {
        let store = Arc::new(store);
        let log = Log::new(store.clone());
        let items = DeployItems::new().otherwise(DryDeployer::new(log.clone()));
        Self::start_with(store, settings, log, items).await
    }

    /// The same with other deployers.
    pub(crate) async fn start_with(
        store: Arc<MemoryStore>,
        settings: &Settings,
        log: Log,
        items: DeployItems,
    ) -> Result<Self, PlanError> {
        let clock = PlanClock::new(store.revision());
        let config = Config {
            bookmark_interval: BOOKMARKS,
            ..Config::default()
        };
        let server = ApiServer::start_in(
            store.clone() as Arc<dyn Store>,
            config,
            Arc::new(clock.clone()),
        );
        let server = server
            .await
            .map_err(|error| PlanError::Start(error.to_string()))?;
        let record = Record::start(&store)?;
        tokio::spawn(server.clone().keep_house());
        let service = LocalService::new(server.clone(), Identity::internal());
        let client = Client::new(service, "default");
        tokio::spawn(Collector::new(client.clone(), &server.metrics_registry()).run());
        // What is under way goes on with what it was begun with; the change comes later.
        let blueprints = Arc::new(Blueprints::unseen(settings.blueprints.clone()));
        let (installations, executions) = landscape::reconcilers(blueprints.clone());
        let outdated = installations.outdated();
        let wake = items.wake();
        let of_hooks = log.clone();
        let builder = Engine::builder(client.clone())
            .writers_noted()
            .clock(Arc::new(clock))
            .hooks_by(|engine| Arc::new(DryRegistry::new(engine.clone(), of_hooks)))
            .reconciler(installations)
            .reconciler(executions)
            .reconciler(items);
        let operators = Operators::default();
        let engine = operators
            .register(builder, settings.catalogs.clone())
            .start()
            .map_err(|error| PlanError::Start(error.to_string()))?;
        operators.connect(&engine);
        wake.connect(&engine);
        Ok(Self {
            store,
            client,
            server,
            engine,
            log,
            record,
            blueprints,
            root: settings.blueprints.clone(),
            outdated,
            _operators: operators,
        })
    }

    /// Makes the change that is asked about, as this user would make it; returns what of it is refused.
    pub(crate) async fn change(&self, question: &Question, who: &Identity) -> Vec<Refused> {
        let service = LocalService::new(self.server.clone(), who.clone());
        let client = Client::new(service, "default");
        let (instead, wrong) = match self.instead(question, &client, who).await {
            Ok(instead) => (instead, None),
            Err(message) => (None, Some(Refused::of_blueprints(&message))),
        };
        self.blueprints.look(instead);
        let mut refused = apply::make(&client, question).await;
        refused.extend(wrong);
        self.outdated.ask(&self.engine);
        refused
    }

    /// The blueprints that the question brings, if it may bring them.
    async fn instead(
        &self,
        question: &Question,
        client: &Client,
        who: &Identity,
    ) -> Result<Option<(String, Overlay)>, String> {
        let Some(given) = &question.blueprints else {
            return Ok(None);
        };
        let instead = given.instead(self.root.as_deref())?;
        if !who.is_master() {
            rights::to_blueprints(&self.client, client, &instead.0).await?;
        }
        Ok(Some(instead))
    }

    /// Waits until nothing happens any more; says whether that came.
    ///
    /// The time of the runtime moves on only when no task can: after a pause everything that needs no time has
    /// happened. What waits for a later retry, or for ever, counts as settled.
    pub(crate) async fn settle(&self) -> bool {
        let mut quiet = 0;
        let mut seen = self.record.writes();
        for _ in 0..MOST_STEPS {
            tokio::time::sleep(STEP).await;
            let now = self.record.writes();
            quiet = if now == seen { quiet + 1 } else { 0 };
            seen = now;
            if quiet >= QUIET_STEPS {
                return true;
            }
        }
        false
    }
}

/// The fork's time and chance: it begins now, and does the same twice.
#[derive(Clone)]
struct PlanClock {
    began: OffsetDateTime,
    at: Instant,
    seed: u64,
    drawn: Arc<AtomicU64>,
}

impl PlanClock {
    fn new(revision: Revision) -> Self {
        Self {
            began: OffsetDateTime::now_utc(),
            at: Instant::now(),
            seed: revision.0,
            drawn: Arc::default(),
        }
    }

    fn next(&self) -> u64 {
        self.drawn.fetch_add(1, Ordering::Relaxed)
    }
}

impl Environment for PlanClock {
    fn now(&self) -> OffsetDateTime {
        self.began + self.at.elapsed()
    }

    /// No real uid is made like this one, so nothing in the fork is taken for something else.
    fn uid(&self) -> String {
        format!(
            "00000000-0000-0000-{:04x}-{:012x}",
            self.seed & 0xffff,
            self.next()
        )
    }

    fn random(&self) -> u64 {
        // SplitMix64: small numbers in a row become numbers all over.
        let mut mixed = self.next().wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Clock for PlanClock {
    fn now_ms(&self) -> u64 {
        let ms = self.now().unix_timestamp_nanos() / 1_000_000;
        u64::try_from(ms).unwrap_or_default()
    }
}
