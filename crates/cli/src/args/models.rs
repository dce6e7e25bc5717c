//! *Lists of models*: `--model tso`, `--model sc,tso`, `--model all`, in any case.

use std::fmt;
use std::str::FromStr;

use palisade_program::Model;

/// The models that are asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Models {
    /// Those that the program has a meaning under; RC11 only if it is named, since
    /// plain accesses race there.
    All,
    /// These, at least one.
    Named(Vec<Model>),
}

impl Models {
    /// This one only.
    pub(crate) fn one(model: Model) -> Self {
        Self::Named(vec![model])
    }

    /// The model of a single run.
    pub(crate) fn only(&self) -> Model {
        match self {
            Self::All => Model::Sc,
            Self::Named(models) => models.first().copied().unwrap_or_default(),
        }
    }

    /// The models of a program with or without processes.
    pub(crate) fn of(&self, has_processes: bool) -> Vec<Model> {
        match self {
            Self::All if has_processes => vec![Model::Sc, Model::Rma],
            Self::All => vec![Model::Sc, Model::Tso, Model::Pso],
            Self::Named(models) => models.clone(),
        }
    }
}

impl fmt::Display for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Named(models) => {
                let names: Vec<String> = models.iter().map(ToString::to_string).collect();
                f.write_str(&names.join(","))
            }
        }
    }
}

impl FromStr for Models {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.to_lowercase();
        if names == "all" {
            return Ok(Self::All);
        }
        let mut models = Vec::new();
        for name in names.split(',').map(str::trim) {
            let found = Model::ALL.into_iter().find(|m| m.to_string() == name);
            let all: Vec<String> = Model::ALL.iter().map(ToString::to_string).collect();
            let model = found.ok_or_else(|| {
                format!("`{name}` is no memory model; they are {}", all.join(", "))
            })?;
            if !models.contains(&model) {
                models.push(model);
            }
        }
        Ok(Self::Named(models))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_in_any_case() {
        let named = |text: &str| text.parse::<Models>();
        assert_eq!(named("TSO"), Ok(Models::one(Model::Tso)));
        let both = Models::Named(vec![Model::Sc, Model::Pso]);
        assert_eq!(named("sc, PSO,sc"), Ok(both.clone()));
        assert_eq!(both.to_string().parse(), Ok(both));
        assert_eq!(named("All"), Ok(Models::All));
        assert_eq!(Models::All.of(true), [Model::Sc, Model::Rma]);
        assert!(named("x86").is_err_and(|e| e.contains("tso")));
        assert!(named("").is_err());
    }
}
