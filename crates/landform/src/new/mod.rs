//! `landform new`: a beginning that works at once, to be changed from there.

mod words;

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use crate::scaffold::{Place, Scaffold};
use crate::{AnyError, exit, say};
use words::Words;

const EXAMPLES: &str = "Examples:
  landform new project shop              a directory with settings, a blueprint and its installation
  landform new blueprint api             in a project's directory: one more product
  landform new reconciler recipe         a kind of your own, reconciled by a program in Python
  landform new deployer file             deploy items of your own type, deployed by a program in Python
  landform new operator notes            an operator in Python, with the catalog that it comes from

What is made outside of a project's directory becomes a project of its own. Then: landform up DIR";

/// Arguments of `landform new`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct NewArgs {
    /// What is to be made.
    #[arg(value_enum)]
    what: What,
    /// What it is called: lower case letters, digits and `-`.
    name: String,
    /// Write into this directory [default: one that is called like it, below the present one].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// A directory that Landform keeps as objects, with a first product in it.
    Project,
    /// A blueprint and an installation of it.
    Blueprint,
    /// A kind, a Reconciler and a hook in Python.
    Reconciler,
    /// A deployer of a type of your own, in Python.
    Deployer,
    /// A kind, an operator in Python, and the catalog that it comes from.
    Operator,
}

/// A file that is made: where, from which text, and how many directories it lies below its own one.
type Template = (&'static str, &'static str);

const SETTINGS: Template = ("landform.yaml", include_str!("templates/landform.yaml"));

const PRODUCT: &[Template] = &[
    (
        "@NAME@.yaml",
        include_str!("templates/blueprint/installation.yaml"),
    ),
    (
        "blueprint/blueprint.yaml",
        include_str!("templates/blueprint/blueprint.yaml"),
    ),
    (
        "blueprint/deploy.yaml",
        include_str!("templates/blueprint/deploy.yaml"),
    ),
    (
        "blueprint/program.sh",
        include_str!("templates/blueprint/program.sh"),
    ),
];

const RECONCILER: &[Template] = &[
    (
        "definition.yaml",
        include_str!("templates/reconciler/definition.yaml"),
    ),
    (
        "reconciler.yaml",
        include_str!("templates/reconciler/reconciler.yaml"),
    ),
    (
        "hook/blueprint.yaml",
        include_str!("templates/reconciler/blueprint.yaml"),
    ),
    ("hook/hook.py", include_str!("templates/reconciler/hook.py")),
    (
        "first.yaml",
        include_str!("templates/reconciler/first.yaml"),
    ),
];

const API: &str = include_str!("templates/api.py");

const DEPLOYER: &[Template] = &[
    (
        "deployer.yaml",
        include_str!("templates/deployer/deployer.yaml"),
    ),
    (
        "deployer/blueprint.yaml",
        include_str!("templates/deployer/blueprint.yaml"),
    ),
    (
        "deployer/deployer.py",
        include_str!("templates/deployer/deployer.py"),
    ),
    ("deployer/api.py", API),
    ("first.yaml", include_str!("templates/deployer/first.yaml")),
    (
        "item/blueprint.yaml",
        include_str!("templates/deployer/item.yaml"),
    ),
];

const PROGRAM: &str = include_str!("templates/operator/operator.py");

const OPERATOR: &[Template] = &[
    (
        "apptype.yaml",
        include_str!("templates/operator/apptype.yaml"),
    ),
    (
        "catalog.yaml",
        include_str!("templates/operator/catalog.yaml"),
    ),
    ("first.yaml", include_str!("templates/operator/first.yaml")),
];

impl What {
    fn templates(self) -> &'static [Template] {
        match self {
            Self::Project | Self::Blueprint => PRODUCT,
            Self::Reconciler => RECONCILER,
            Self::Deployer => DEPLOYER,
            Self::Operator => OPERATOR,
        }
    }

    /// What its files need to run.
    fn needs_python(self) -> bool {
        match self {
            Self::Project | Self::Blueprint => false,
            Self::Reconciler | Self::Deployer | Self::Operator => true,
        }
    }
}

pub(crate) fn run(args: NewArgs) -> Result<ExitCode, AnyError> {
    let words = Words::of(&args.name)?;
    let directory = args.dir.unwrap_or_else(|| PathBuf::from(&args.name));
    let place = Place::of(&directory)?;
    if args.what == What::Project && place.known {
        return Err(format!(
            "{} is in the project {}: a project can't be part of another one; choose a directory outside, or make a blueprint: `landform new blueprint {}`",
            directory.display(),
            place.project.display(),
            args.name
        )
        .into());
    }
    let scaffold = scaffold(args.what, &words, &place, free_port(&args.name));
    scaffold.write(&directory, &place.project)?;
    say(&next(args.what, &directory, &place))?;
    Ok(exit::OK)
}

fn scaffold(what: What, words: &Words, place: &Place, port: u16) -> Scaffold {
    let mut scaffold = Scaffold::default();
    let settings = (!place.known).then_some(&SETTINGS);
    for (path, text) in settings.into_iter().chain(what.templates()) {
        let depth = path.matches('/').count();
        // Programs inside of a document, where they are indented.
        let text = text
            .replace("@API@\n", &indented(API))
            .replace("@OPERATOR@\n", &indented(PROGRAM))
            .replace("@SCHEMAS@", &place.schemas(depth))
            .replace("@PATH@", &place.named(""))
            .replace("@PORT@", &port.to_string());
        scaffold.add(words.put_into(path), words.put_into(&text));
    }
    scaffold
}

fn indented(program: &str) -> String {
    let lines = program.lines();
    let lines = lines.map(|line| match line {
        "" => "\n".to_owned(),
        line => format!("                {line}\n"),
    });
    lines.collect()
}

fn next(what: What, directory: &Path, place: &Place) -> String {
    let python = if what.needs_python() {
        " (it needs python3 on PATH)"
    } else {
        ""
    };
    if place.known {
        return format!(
            "It is part of the project {}: `landform up` there brings it up with the rest{python}.\n",
            place.project.display()
        );
    }
    format!("Next: landform up {}{python}\n", directory.display())
}

/// A port for a program of this name: always the same one, unless another program has it.
fn free_port(name: &str) -> u16 {
    const FIRST: u16 = 17_000;
    const COUNT: u16 = 1_000;
    let sum = name.bytes().fold(0_u16, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u16::from(byte))
    });
    let ports = (0..COUNT).map(|step| FIRST + sum.wrapping_add(step) % COUNT);
    let mut ports = ports.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok());
    ports.next().unwrap_or(FIRST)
}

#[cfg(test)]
mod tests {
    use landform_blueprint::{Blueprint, FileLimits, Files};

    use super::*;

    const ALL: [What; 5] = [
        What::Project,
        What::Blueprint,
        What::Reconciler,
        What::Deployer,
        What::Operator,
    ];

    #[test]
    fn every_scaffold_is_complete_and_its_yaml_and_blueprints_can_be_read() {
        for (what, known) in ALL
            .into_iter()
            .flat_map(|what| [(what, false), (what, true)])
        {
            let home = tempfile::tempdir().unwrap();
            if known {
                std::fs::write(home.path().join("landform.yaml"), "").unwrap();
            }
            let directory = home.path().join("products/shopping-list");
            let place = Place::of(&directory).unwrap();
            let words = Words::of("shopping-list").unwrap();
            let made = scaffold(what, &words, &place, 17_001);
            made.write(&directory, &place.project).unwrap();
            for (path, text) in &made.files {
                assert!(!text.contains('@'), "{what:?} {path}:\n{text}");
                let named = text.lines().find_map(|line| line.split_once("$schema="));
                if let Some((_, schema)) = named {
                    let schema = directory.join(path).parent().unwrap().join(schema);
                    assert!(schema.exists(), "{what:?} {path}: {}", schema.display());
                }
                if path.ends_with("/blueprint.yaml") {
                    let blueprint = directory.join(path).parent().unwrap().to_owned();
                    let files = Files::from_path(&blueprint, &FileLimits::default());
                    let read = Blueprint::from_files(files.unwrap());
                    assert_eq!(read.unwrap().warnings, [], "{what:?} {path}");
                } else if path.ends_with(".yaml") && !path.ends_with("deploy.yaml") {
                    let read = landform_yaml::parse_many(text, &landform_yaml::Budget::FILE);
                    assert!(!read.unwrap().is_empty(), "{what:?} {path}");
                }
                // What an installation names is there.
                for named in text.split("blueprint: {path: ").skip(1) {
                    let named = named.split('}').next().unwrap();
                    let file = place.project.join(named).join("blueprint.yaml");
                    assert!(file.is_file(), "{what:?} {path}: {named}");
                }
            }
        }
    }
}
