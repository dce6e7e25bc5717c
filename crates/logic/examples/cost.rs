//! What a check costs: cube queries as predicate abstraction asks them, over
//! random difference predicates and statements. Prints microseconds a query and
//! who answered.
//!
//!     cargo run --release --example cost -- [predicates] [statements] [queries] [no-memo] [no-differences]

use palisade_logic::stats::Source;
use palisade_logic::{
    Answer, Assignment, Cluster, Formula, Int, Lit, Options, Overflow, Prover, Purpose,
    Substitution, Term, Var,
};
use std::time::Instant;

const VARS: u64 = 10;

/// A small generator of pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn var(&mut self) -> Term {
        Term::var(Var(self.below(VARS) as u32))
    }

    fn predicate(&mut self) -> Result<Formula, Overflow> {
        let (a, b) = (self.var(), self.var());
        let c = Int::from(self.below(3)) - 1;
        match self.below(4) {
            0 => Formula::lt(&a, &b.plus_constant(c)?),
            1 => Formula::eq(&a, &b.plus_constant(c)?),
            2 => Formula::le(&a, &Term::wide_constant(c)?),
            _ => Formula::eq(&a, &Term::wide_constant(c)?),
        }
    }
}

fn main() -> Result<(), Overflow> {
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|a| a.parse().ok())
        .collect();
    let argument = |i: usize, default: usize| arguments.get(i).copied().unwrap_or(default);
    let (predicates, statements, queries) = (argument(0, 40), argument(1, 8), argument(2, 20_000));
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let flag = |name: &str| !std::env::args().any(|a| a == name);
    let (memo, differences) = (flag("no-memo"), flag("no-differences"));
    let mut prover = Prover::new(Options {
        memo,
        differences,
        ..Options::default()
    });
    let mut formulas = Vec::new();
    while formulas.len() < predicates {
        let formula = random.predicate()?;
        if !matches!(formula, Formula::True | Formula::False) && !formulas.contains(&formula) {
            formulas.push(formula);
        }
    }
    let lits: Vec<Lit> = formulas.iter().map(|f| prover.literal(f)).collect();
    let after: Vec<Vec<Lit>> = (0..statements)
        .map(|_| {
            let value = random.var().plus_constant(Int::from(random.below(2)))?;
            let step = Substitution::single(Var(random.below(VARS) as u32), value);
            formulas
                .iter()
                .map(|f| Ok(prover.literal(&f.substitute(&step)?)))
                .collect()
        })
        .collect::<Result<_, Overflow>>()?;
    let mut counts = [0_usize; 3];
    let started = Instant::now();
    for _ in 0..queries {
        let at: Assignment = (0..VARS as u32)
            .map(|v| (Var(v), Int::from(random.below(4))))
            .collect();
        let mut query = Vec::new();
        for (formula, lit) in formulas.iter().zip(&lits) {
            if random.below(10) < 3 {
                query.push(if formula.eval(&at)? { *lit } else { !*lit });
            }
        }
        let statement = random.below(statements as u64) as usize;
        let target = after[statement][random.below(predicates as u64) as usize];
        query.push(if random.below(2) == 0 {
            target
        } else {
            !target
        });
        match prover.check(Cluster(statement as u32), &query, Purpose::Abstract) {
            Answer::Sat => counts[0] += 1,
            Answer::Unsat(_) => counts[1] += 1,
            Answer::Unknown(_) => counts[2] += 1,
        }
    }
    let spent = started.elapsed();
    println!(
        "sat {} unsat {} unknown {}",
        counts[0], counts[1], counts[2]
    );
    println!(
        "{:.1} us a query",
        spent.as_secs_f64() * 1e6 / queries as f64
    );
    for source in Source::ALL {
        println!(
            "{:>12} {}",
            source.name(),
            prover.stats().answers(Purpose::Abstract, source)
        );
    }
    let solver = prover.stats().time(Purpose::Abstract);
    println!("{:>12} {:.3} s in the solver", "", solver.as_secs_f64());
    Ok(())
}
