//! `landform-sim`: runs seeds and shows the first that fails. `cargo xtask sim` builds and calls it.
#![expect(clippy::print_stdout, reason = "a program for people at a terminal")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use landform_sim::report::Report;
use landform_sim::simulation::Failure;
use landform_sim::{Template, api_world, landscape, mixed, node, project};

/// A simulated process allocates like the real one, which has this allocator as well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs random scenarios on the simulated control plane.
#[derive(Parser)]
struct Arguments {
    /// How many seeds.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Only this seed, with its whole trace.
    #[arg(long)]
    seed: Option<u64>,
    /// Who lives in the simulated process.
    #[arg(long, value_enum, default_value_t = WorldName::Nodes)]
    world: WorldName,
    /// Go on after a failure, and count them.
    #[arg(long)]
    keep_going: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum WorldName {
    /// The engine with reconcilers of nodes that refer to each other.
    Nodes,
    /// Clients and watchers of the API server alone.
    Api,
    /// The controllers of installations, executions and deploy items.
    Landscape,
    /// The same with chains, diamonds and moving exports, whose values tell where they come from.
    Woven,
    /// Hooks, renames, edited definitions and uncoordinated writers.
    Mixed,
    /// A directory of files that people edit, and the objects that they stand for.
    Project,
}

impl WorldName {
    fn template(self) -> Result<Template, Failure> {
        match self {
            Self::Nodes => Template::new(&[node::definition()]),
            Self::Api => Template::new(&[]),
            Self::Landscape | Self::Woven => landscape::template(),
            Self::Mixed => mixed::template(),
            Self::Project => project::template(),
        }
    }

    fn run(self, template: &Template, seed: u64) -> Report {
        match self {
            Self::Nodes => node::run(template, seed),
            Self::Api => api_world::run(template, seed),
            Self::Landscape => landscape::run(template, seed),
            Self::Woven => landscape::run_woven(template, seed),
            Self::Mixed => mixed::run(template, seed),
            Self::Project => project::run(template, seed),
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let template = match arguments.world.template() {
        Ok(template) => template,
        Err(failure) => {
            println!("the simulation can't begin: {failure}");
            return ExitCode::FAILURE;
        }
    };
    if let Some(seed) = arguments.seed {
        let report = arguments.world.run(&template, seed);
        print!("{}", report.trace.text());
        return tell(&report, arguments.world);
    }
    let mut tally = Tally::new();
    for seed in arguments.from..arguments.from + arguments.seeds {
        let report = arguments.world.run(&template, seed);
        tally.count(&report);
        if let Err(failure) = &report.result {
            if arguments.keep_going {
                let line = failure.to_string();
                println!("seed {seed}: {}", line.lines().next().unwrap_or_default());
                continue;
            }
            print!("{}", report.trace.text());
            tally.tell();
            return tell(&report, arguments.world);
        }
    }
    tally.tell();
    if tally.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn tell(report: &Report, world: WorldName) -> ExitCode {
    match &report.result {
        Ok(()) => {
            println!("seed {} holds", report.seed);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            let seed = report.seed;
            println!("\nseed {seed} fails: {failure}");
            let world = world.to_possible_value();
            let world = world.as_ref().map_or("nodes", |world| world.get_name());
            println!("again with: cargo xtask sim --world {world} --seed {seed}");
            ExitCode::FAILURE
        }
    }
}

/// What all seeds have done together.
struct Tally {
    began: Instant,
    seeds: u32,
    failed: u32,
    simulated: Duration,
    writes: u64,
}

impl Tally {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            seeds: 0,
            failed: 0,
            simulated: Duration::ZERO,
            writes: 0,
        }
    }

    fn count(&mut self, report: &Report) {
        self.seeds += 1;
        self.failed += u32::from(report.result.is_err());
        self.simulated += report.elapsed;
        self.writes += report.writes;
    }

    fn tell(&self) {
        let seconds = self.began.elapsed().as_secs_f64();
        println!(
            "{} scenarios in {seconds:.1} s: {:.0} per second; {} failed; {:.0} simulated hours, {} writes",
            self.seeds,
            f64::from(self.seeds) / seconds,
            self.failed,
            self.simulated.as_secs_f64() / 3600.0,
            self.writes,
        );
    }
}
