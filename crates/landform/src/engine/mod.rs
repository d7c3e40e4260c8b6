//! The engine: inside `landform serve`, and as `landform engine` against another API.

mod controllers;
mod listener;
mod view;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use landform_apiserver::{ApiServer, Identity, LocalService};
use landform_deployers::process::ApiAddress;
use landform_engine::Engine;
use landform_explain::Explain;
use landform_plan::Plans;
use landform_store::Store;
use tokio::signal::unix::{SignalKind, signal};

pub(crate) use controllers::{ControllerArgs, install_kinds};

use crate::logging::{self, LogFormat};
use crate::logs::LogsView;
use crate::processes::ProcessesView;
use crate::{AnyError, data_dir};

/// When the engine is told to stop, runs get this long to return.
const PATIENCE: Duration = Duration::from_secs(5);

/// Arguments of `landform engine`.
#[derive(Args)]
pub(crate) struct EngineArgs {
    /// How to reach the API [default: KUBECONFIG, or ~/.kube/config, or the cluster that this runs in].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Where metrics and the engine's view can be read; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7444")]
    listen: SocketAddr,
    /// Where deployers keep what belongs to them [default: landform under the user's data home].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    controllers: ControllerArgs,
    /// How log lines look.
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

/// The engine in the process of the API server: no socket between them.
pub(crate) fn start_in_process(
    server: &ApiServer,
    store: Arc<dyn Store>,
    data_dir: &Path,
    api: ApiAddress,
    args: ControllerArgs,
) -> Result<Started, AnyError> {
    let client = client_in_process(server);
    server.mount("plans", Arc::new(Plans::new(store, args.for_plans())));
    server.mount("logs", Arc::new(LogsView::new(client.clone(), data_dir)));
    let processes = ProcessesView::new(client.clone(), data_dir);
    server.mount("processes", Arc::new(processes));
    let (engine, operators) = controllers::start(
        Engine::builder(client.clone())
            .api_in_process()
            .writers_noted(),
        server.metrics_registry(),
        data_dir,
        api,
        args,
    )?;
    server.mount("engine", Arc::new(view::EngineView(engine.clone())));
    server.mount("catalogs", Arc::new(view::CatalogsView(operators)));
    let explain = Explain::mount(server, client, engine.clone());
    Ok(Started {
        engine,
        _explain: explain,
    })
}

/// The engine, and what explains it for as long as this is kept.
pub(crate) struct Started {
    pub(crate) engine: Engine,
    _explain: Arc<Explain>,
}

/// A client of the API server in this process.
pub(crate) fn client_in_process(server: &ApiServer) -> Client {
    let service = LocalService::new(server.clone(), Identity::internal());
    Client::new(service, "default")
}

pub(crate) fn run(args: EngineArgs) -> Result<ExitCode, AnyError> {
    logging::start(args.log_format);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(run_alone(args));
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

async fn run_alone(args: EngineArgs) -> Result<ExitCode, AnyError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let config = configure(args.kubeconfig, args.context).await?;
    let api = api_address(&config);
    let client = Client::try_from(config)?;
    let registry = prometheus::Registry::new();
    install_kinds(&client).await?;
    let data_dir = data_dir::resolve(args.data_dir)?;
    let (engine, _) = controllers::start(
        Engine::builder(client),
        registry.clone(),
        &data_dir,
        api,
        args.controllers,
    )?;
    let (address, listening) = listener::listen(args.listen, engine.clone(), registry).await?;
    println!("landform engine ready: http://{address}/engine http://{address}/metrics");
    tokio::select! {
        _ = terminate.recv() => tracing::info!("stopping: SIGTERM"),
        _ = interrupt.recv() => tracing::info!("stopping: Ctrl-C"),
    }
    engine.stop(PATIENCE).await;
    listening.abort();
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

async fn configure(
    file: Option<PathBuf>,
    context: Option<String>,
) -> Result<kube::Config, AnyError> {
    let options = KubeConfigOptions {
        context,
        ..KubeConfigOptions::default()
    };
    Ok(match file {
        Some(file) => {
            let kubeconfig = Kubeconfig::read_from(&file)
                .map_err(|error| format!("can't use the kubeconfig {}: {error}", file.display()))?;
            crate::client::usable(&kubeconfig)?;
            kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?
        }
        None if options.context.is_some() => {
            let kubeconfig = Kubeconfig::read()?;
            crate::client::usable(&kubeconfig)?;
            kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?
        }
        None => kube::Config::infer().await.map_err(|error| {
            format!("no API was named: {error}; name one with --kubeconfig FILE")
        })?,
    })
}

/// How processes with access of their own reach the API that the engine uses.
fn api_address(config: &kube::Config) -> ApiAddress {
    use base64::Engine as _;
    let roots = config.root_cert.as_deref().unwrap_or_default();
    let mut certificates = String::new();
    for root in roots {
        certificates.push_str("-----BEGIN CERTIFICATE-----\n");
        let text = base64::engine::general_purpose::STANDARD.encode(root);
        for (at, letter) in text.chars().enumerate() {
            if at > 0 && at % 64 == 0 {
                certificates.push('\n');
            }
            certificates.push(letter);
        }
        certificates.push_str("\n-----END CERTIFICATE-----\n");
    }
    ApiAddress {
        server: config.cluster_url.to_string(),
        ca_certificate: (!certificates.is_empty()).then_some(certificates),
    }
}
