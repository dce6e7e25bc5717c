//! A *package* of cargo as a program: which crates it is made of, and how the compiler is called for each. Cargo
//! resolves the dependencies (`cargo metadata`); build scripts and macros are run and built by cargo as
//! ever (`cargo check`), and what they say is passed on. All other crates are compiled here, against our own
//! library. `loom` and `shuttle` are ours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cargo_metadata::{
    DependencyKind, Edition, Message, Metadata, MetadataCommand, Node, Package, PackageId, Target,
    TargetKind,
};

use super::compile::OURS;
use super::{Crate, Linked, Options};

/// Why a package cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// What is wrong.
    pub message: String,
    /// The remedy.
    pub help: String,
}

fn trouble(message: impl Into<String>, help: impl Into<String>) -> Trouble {
    Trouble {
        message: message.into(),
        help: help.into(),
    }
}

/// What a build script says: conditions, and variables of the environment.
type Script = (Vec<String>, Vec<(String, String)>);

/// What cargo has found out by building.
#[derive(Default)]
struct Built {
    /// What build scripts say.
    scripts: BTreeMap<PackageId, Script>,
    /// Libraries of macros.
    macros: BTreeMap<PackageId, PathBuf>,
}

/// The root file of the program in a package's folder, and how it is read: the test of `options`, wherever it
/// stands, or the package's `main`.
pub fn program(folder: &Path, options: &Options) -> Result<(PathBuf, Options), Trouble> {
    let manifest = folder.join("Cargo.toml");
    let mut command = MetadataCommand::new();
    command.manifest_path(&manifest);
    // What other systems need is not compiled here.
    if let Some(host) = host() {
        command.other_options(["--filter-platform".to_owned(), host]);
    }
    let metadata = command.exec();
    let metadata = metadata.map_err(|error| {
        let message = format!("{} is no package: {error}", folder.display());
        trouble(
            message,
            "name the folder of a package that `cargo test` builds",
        )
    })?;
    let root = metadata.root_package().ok_or_else(|| {
        let message = format!("{} has no package of its own", folder.display());
        trouble(
            message,
            "name the folder of one of the workspace's packages",
        )
    })?;
    let target = root_target(root, options.test.as_deref())?;
    let mut crates = Crates {
        metadata: &metadata,
        built: Built::default(),
        numbers: BTreeMap::new(),
        made: Vec::new(),
    };
    if crates.needs_cargo(&root.id) {
        crates.built = built(&manifest)?;
    }
    let is_own_library = target.kind.iter().any(is_library);
    let mut externs = crates.externs(&root.id, true)?;
    if !is_own_library
        && let Some(library) = root.targets.iter().find(|t| t.kind.iter().any(is_library))
    {
        let number = crates.number(&root.id)?;
        externs.push((library.name.replace('-', "_"), Linked::Crate(number)));
    }
    let mut own = crates.one(root, target);
    own.externs = externs;
    let file = own.file.clone();
    let options = Options {
        crates: crates.made,
        own: Some(own),
        ..options.clone()
    };
    Ok((file, options))
}

/// The system that the compiler compiles for.
fn host() -> Option<String> {
    let name = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(name).arg("-vV").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "))?;
    Some(line.trim().to_owned())
}

const fn is_library(kind: &TargetKind) -> bool {
    matches!(
        kind,
        TargetKind::Lib | TargetKind::RLib | TargetKind::DyLib | TargetKind::StaticLib
    )
}

/// Where the program starts: the target whose own file has the test, else the library, else `main`.
fn root_target<'p>(root: &'p Package, test: Option<&str>) -> Result<&'p Target, Trouble> {
    let of = |wanted: fn(&TargetKind) -> bool| {
        root.targets
            .iter()
            .filter(move |t| t.kind.iter().any(wanted))
    };
    let Some(test) = test else {
        let main = of(|kind| *kind == TargetKind::Bin).next();
        return main.ok_or_else(|| {
            trouble(
                format!("the package {} has no program", root.name),
                "name a test function: --test NAME",
            )
        });
    };
    let function = format!("fn {}(", test.rsplit("::").next().unwrap_or(test));
    let has = |target: &&Target| {
        std::fs::read_to_string(&target.src_path).is_ok_and(|text| text.contains(&function))
    };
    let integration = of(|kind| *kind == TargetKind::Test).find(has);
    let library = of(is_library).next();
    let found = integration
        .or(library)
        .or_else(|| of(|kind| *kind == TargetKind::Bin).find(has));
    found.ok_or_else(|| {
        trouble(
            format!("no test `{test}` in the package {}", root.name),
            "name a test function by its path, such as `tests::works`",
        )
    })
}

/// Lets cargo build what only it can: build scripts and macros.
fn built(manifest: &Path) -> Result<Built, Trouble> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["check", "--tests", "--quiet", "--message-format=json"])
        .arg("--manifest-path")
        .arg(manifest)
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| trouble(format!("cargo cannot be started: {error}"), "install it"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let message = format!("cargo refuses the package\n{}", words.trim_end());
        return Err(trouble(message, "make it pass `cargo check --tests` first"));
    }
    let mut built = Built::default();
    for message in Message::parse_stream(&output.stdout[..]).flatten() {
        match message {
            Message::BuildScriptExecuted(script) => {
                let mut environment = script.env;
                environment.push(("OUT_DIR".to_owned(), script.out_dir.to_string()));
                built
                    .scripts
                    .insert(script.package_id, (script.cfgs, environment));
            }
            Message::CompilerArtifact(made)
                if made.target.kind.contains(&TargetKind::ProcMacro) =>
            {
                if let Some(file) = made.filenames.first() {
                    built
                        .macros
                        .insert(made.package_id, file.clone().into_std_path_buf());
                }
            }
            _ => {}
        }
    }
    Ok(built)
}

/// The crates so far.
struct Crates<'m> {
    metadata: &'m Metadata,
    built: Built,
    numbers: BTreeMap<PackageId, usize>,
    made: Vec<Crate>,
}

impl Crates<'_> {
    fn node(&self, id: &PackageId) -> Option<&Node> {
        let resolve = self.metadata.resolve.as_ref()?;
        resolve.nodes.iter().find(|node| node.id == *id)
    }

    /// The packages that one uses, with the names it has for them.
    fn uses(&self, id: &PackageId, with_tests: bool) -> Vec<(String, PackageId)> {
        let deps = self.node(id).map_or(&[][..], |node| &node.deps);
        let wanted = deps.iter().filter(|dep| {
            let is_ours = OURS.contains(&dep.name.as_str());
            let is_used = dep.dep_kinds.iter().any(|kind| match kind.kind {
                DependencyKind::Normal => true,
                DependencyKind::Development => with_tests,
                _ => false,
            });
            is_used && !is_ours
        });
        wanted
            .map(|dep| (dep.name.clone(), dep.pkg.clone()))
            .collect()
    }

    /// Whether something has a build script or is a library of macros.
    fn needs_cargo(&self, root: &PackageId) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![root.clone()];
        while let Some(id) = open.pop() {
            if !seen.insert(id.clone()) {
                continue;
            }
            let kinds = self.metadata[&id].targets.iter().flat_map(|t| &t.kind);
            if kinds
                .into_iter()
                .any(|k| matches!(k, TargetKind::CustomBuild | TargetKind::ProcMacro))
            {
                return true;
            }
            open.extend(self.uses(&id, id == *root).into_iter().map(|(_, id)| id));
        }
        false
    }

    /// What a package's crate sees; all of that is compiled before it.
    fn externs(
        &mut self,
        id: &PackageId,
        with_tests: bool,
    ) -> Result<Vec<(String, Linked)>, Trouble> {
        let mut externs = Vec::new();
        for (name, used) in self.uses(id, with_tests) {
            let linked = match self.built.macros.get(&used) {
                Some(library) => Linked::Macro(library.clone()),
                None => Linked::Crate(self.number(&used)?),
            };
            externs.push((name, linked));
        }
        Ok(externs)
    }

    /// The number of a package's library.
    fn number(&mut self, id: &PackageId) -> Result<usize, Trouble> {
        if let Some(number) = self.numbers.get(id) {
            return Ok(*number);
        }
        let package = &self.metadata[id];
        let library = package
            .targets
            .iter()
            .find(|t| t.kind.iter().any(is_library));
        let Some(library) = library else {
            let message = format!("the package {} has no library", package.name);
            return Err(trouble(message, "remove it from the dependencies"));
        };
        let externs = self.externs(id, false)?;
        let mut one = self.one(package, library);
        one.externs = externs;
        self.made.push(one);
        self.numbers.insert(id.clone(), self.made.len() - 1);
        Ok(self.made.len() - 1)
    }

    /// A crate, without what it sees.
    fn one(&self, package: &Package, target: &Target) -> Crate {
        let features = self.node(&package.id).map_or(&[][..], |n| &n.features);
        let features = features.iter().map(|name| format!("feature=\"{name}\""));
        let script = self.built.scripts.get(&package.id);
        let version = &package.version;
        let own = [
            ("CARGO_PKG_NAME", package.name.to_string()),
            ("CARGO_PKG_VERSION", version.to_string()),
            ("CARGO_PKG_VERSION_MAJOR", version.major.to_string()),
            ("CARGO_PKG_VERSION_MINOR", version.minor.to_string()),
            ("CARGO_PKG_VERSION_PATCH", version.patch.to_string()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let (cfgs, environment) = script.cloned().unwrap_or_default();
        Crate {
            name: target.name.replace('-', "_"),
            file: target.src_path.clone().into_std_path_buf(),
            edition: match target.edition {
                Edition::E2015 => "2015",
                Edition::E2018 => "2018",
                Edition::E2024 => "2024",
                _ => "2021",
            }
            .to_owned(),
            conditions: features.chain(cfgs).collect(),
            environment: own.into_iter().chain(environment).collect(),
            externs: Vec::new(),
        }
    }
}
