//! The points-to analysis against its second account: programs that are lowered over the objects which it
//! allows, and over all objects, have the same verdicts and the same final states. Random programs of two threads
//! move pointers through variables, members, arrays, integers, functions and copies of memory.
//!
//! `PALISADE_SOAK=n` runs n programs, from `PALISADE_FIRST` on.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use palisade_frontend::c::{self, Options};
use palisade_program::{Model, Program, Source, Unknown, Verdict};

/// Random numbers (xorshift).
struct Rng(u64);

impl Rng {
    const fn new(seed: usize) -> Self {
        Self((seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    const fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.below(all.len())]
    }
}

const HEAD: &str = "extern void reach_error(void);
typedef unsigned long pthread_t; typedef unsigned long uintptr_t; typedef unsigned long size_t;
void *malloc(size_t); void *memcpy(void *, const void *, size_t);
struct node { int v; struct node *next; struct node *prev; } a, b, d[2];
struct node *p, *q, *t[2]; struct node **pp = &p; int x, y, *ip = &x; uintptr_t u;
static struct node *same(struct node *n) { return n; }
static struct node *after(struct node *n) { return n->next; }
struct node *(*f)(struct node *) = same;
static void set(struct node **to, struct node *n) { *to = n; }
";

struct Random(Rng);

impl Random {
    /// A pointer to a node.
    fn node(&mut self) -> String {
        let inner = match self.0.below(4) {
            0 => return self.0.pick(&["&a", "&b", "&d[1]", "d", "l"]).to_owned(),
            _ => self.0.pick(&["p", "q", "t[0]", "t[x & 1]", "(*pp)", "l"]),
        };
        match self.0.below(9) {
            0 => format!("{inner}->next"),
            1 => format!("f({inner})"),
            2 => format!("same({inner})"),
            3 => "((struct node *)(u & ~1ul))".to_owned(),
            4 => format!("({inner} ? {inner} : &a)"),
            5 => "&d[y & 1]".to_owned(),
            6 => format!("({{ struct node *p = {inner}; p; }})"),
            _ => inner.to_owned(),
        }
    }

    fn statement(&mut self) -> String {
        let n = self.node();
        let to = self.0.pick(&[
            "p",
            "q",
            "t[1]",
            "*pp",
            "l",
            "a.next",
            "b.prev",
            "d[0].next",
        ]);
        match self.0.below(14) {
            0 => format!(
                "pp = {};",
                self.0.pick(&["&p", "&q", "t", "&a.next", "&b.prev"])
            ),
            1 => format!("u = (uintptr_t){n} | 1;"),
            2 => format!("ip = {};", self.0.pick(&["&x", "&y", "&a.v", "&d[1].v"])),
            3 => "*ip = *ip + 1;".to_owned(),
            4 => format!("if ({n}) ({n})->v = {};", self.0.below(3)),
            5 => format!("if ({n}) y = ({n})->v;"),
            6 => format!("f = {};", self.0.pick(&["same", "after"])),
            7 => format!(
                "set({}, {n});",
                self.0.pick(&["&p", "&q", "&l", "pp", "t + 1"])
            ),
            8 => format!(
                "memcpy(&{}, &{}, sizeof(struct node));",
                self.0.pick(&["a", "d[0]"]),
                self.0.pick(&["b", "d[1]"])
            ),
            9 => format!(
                "{} = {};",
                self.0.pick(&["a", "d[1]"]),
                self.0.pick(&["b", "d[0]", "(struct node){2, &a, p}"])
            ),
            10 => format!("__atomic_store_n(&p, {n}, 5);"),
            11 => {
                "{ struct node *e = 0; __atomic_compare_exchange_n(&q, &e, &b, 0, 5, 5); l = e; }"
                    .to_owned()
            }
            12 => format!("l = __atomic_exchange_n(&t[0], {n}, 5);"),
            _ => format!("{to} = {n};"),
        }
    }

    fn program(&mut self) -> String {
        let mut text = HEAD.to_owned();
        for name in ["first", "second"] {
            let made = match self.0.below(3) {
                0 => "struct node *l = malloc(sizeof(struct node)); *l = (struct node){1, 0, 0};",
                1 => "struct node *l = arg;",
                _ => "struct node *l = 0;",
            };
            let _ = writeln!(text, "static void *{name}(void *arg) {{ {made}");
            for _ in 0..2 + self.0.below(4) {
                let _ = writeln!(text, "  {}", self.statement());
            }
            text.push_str("  return l; }\n");
        }
        let (n, m) = (self.0.pick(&["&a", "d + 1", "0"]), self.statement());
        let _ = writeln!(
            text,
            "int main(void) {{ pthread_t h; void *r = 0; struct node *l = 0; {m} pthread_create(&h, 0, second, {n}); first(&b); pthread_join(h, &r); q = r; if (q && q->v == 2) reach_error(); }}"
        );
        text
    }
}

/// The program, with and without points-to analysis.
fn both(path: &Path, text: &str) -> [Program; 2] {
    [false, true].map(|all_targets| {
        let options = Options {
            all_targets,
            ..Options::default()
        };
        let source = Source::new(path.display().to_string(), text);
        match c::parse(path, &source, &options) {
            Ok(parsed) => parsed.program,
            Err(diagnostics) => panic!("{diagnostics}\n{text}"),
        }
    })
}

/// A verdict in words, and the final states of the variables.
type Behaviour = (String, BTreeSet<Vec<(String, i64)>>);

/// `None` if there are too many states.
fn behaviour(program: &Program, model: Model, states: u64) -> Option<Behaviour> {
    let options = palisade_machine::Options {
        workers: 1,
        max_states: Some(states),
        collect_finals: true,
        ..palisade_machine::Options::new(model)
    };
    let result = palisade_machine::explore(program, &options).expect("is explored");
    let verdict = match &result.verdict {
        Verdict::Holds => "holds".to_owned(),
        // Which one is found first depends on the order of the search.
        Verdict::Violated(_) => "violated".to_owned(),
        Verdict::Unknown(Unknown::Bound(_)) => return None,
        Verdict::Unknown(why) => why.to_string(),
    };
    // Where a violation or a bound ends the search it depends on the order what was seen.
    let is_whole = result.verdict == Verdict::Holds;
    // A smaller program may need no flag that says whether a thread was started.
    let names = program.globals.iter().flat_map(|g| {
        let cells = (0..g.len.unwrap_or(1)).map(move |k| format!("{}[{k}]", g.name));
        cells.collect::<Vec<_>>()
    });
    let names: Vec<String> = names.collect();
    let finals = result.finals.iter().filter(|_| is_whole).map(|f| {
        let cells = names.iter().cloned().zip(f.cells.iter().copied());
        cells
            .filter(|(name, _)| !name.contains(".started"))
            .collect()
    });
    Some((verdict, finals.collect()))
}

fn number(name: &str, otherwise: usize) -> usize {
    let text = std::env::var(name).ok();
    text.and_then(|s| s.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn random_programs_behave_the_same() {
    let (first, count) = (number("PALISADE_FIRST", 0), number("PALISADE_SOAK", 60));
    let (mut whole, mut smaller) = (0, 0);
    for n in first..first + count {
        let text = Random(Rng::new(n)).program();
        let programs = both(Path::new("test.i"), &text);
        for model in [Model::Sc, Model::Tso] {
            let [few, all] = [0, 1].map(|k| behaviour(&programs[k], model, 20_000));
            let (Some(few), Some(all)) = (few, all) else {
                continue;
            };
            assert_eq!(few, all, "program {n} under {model}\n{text}");
            whole += usize::from(few.0 == "holds");
        }
        let size = |p: &Program| p.templates.iter().map(|t| t.cfg.edges.len()).sum::<usize>();
        smaller += usize::from(size(&programs[0]) < size(&programs[1]));
    }
    println!(
        "{whole} of {} held, {smaller} programs are smaller",
        2 * count
    );
    // The comparison would say little if nearly all runs failed.
    assert!(whole * 8 >= count, "{whole} of {count}");
}

#[test]
fn examples_behave_the_same() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/c");
    let files = std::fs::read_dir(folder).expect("the examples are there");
    let mut files: Vec<PathBuf> = files.map(|f| f.expect("readable").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "c"));
    files.sort();
    assert!(files.len() >= 40);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("readable");
        let [few, all] = both(&file, &text);
        let [few, all] = [few, all].map(|p| behaviour(&p, Model::Tso, 10_000));
        if few.is_some() && all.is_some() {
            assert_eq!(few, all, "{}", file.display());
        }
    }
}
