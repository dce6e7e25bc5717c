//! Pointers against the system's compiler: random programs of one thread with pointers
//! to variables, members and elements, pointers to pointers, copies of structs and
//! functions that take addresses. What the compiled program prints is asserted in the
//! same program under the concrete machine; a twin with one wrong value is refuted.

use crate::c_support;

use std::fmt::Write;

use c_support::Rng;
use palisade_program::Model;

/// Types and functions that all programs share.
const COMMON: &str = "\
struct t { int a; int b[3]; struct t *n; char c; };
static void put(int *at, int v) { *at = v; }
static void swap(int *a, int *b) { int x = *a; *a = *b; *b = x; }
static int *pick(int c, int *a, int *b) { return c ? a : b; }
static void turn(int **at, int *to) { *at = to; }
static struct t same(struct t v) { v.c++; return v; }
static int sum(const struct t *v) { return v->a + v->b[0] + v->b[1] + v->b[2] + v->c; }
";

struct Random {
    rng: Rng,
    /// Of the variables' names: programs are compiled together.
    n: usize,
}

impl Random {
    /// An object that holds an `int`.
    fn object(&mut self) -> String {
        let (n, k) = (self.n, self.rng.below(4));
        let index = self.rng.below(3);
        match self.rng.below(9) {
            0 => format!("g{n}"),
            1 => format!("h{n}"),
            2 => "l".to_owned(),
            3 => format!("arr{n}[{k}]"),
            4 => "row[1]".to_owned(),
            5 => format!("t{n}.a"),
            6 => format!("u{n}.b[{index}]"),
            7 => "v.a".to_owned(),
            _ => format!("v.b[{index}]"),
        }
    }

    fn structure(&mut self) -> String {
        let n = self.n;
        let names = [format!("t{n}"), format!("u{n}"), "v".to_owned()];
        names[self.rng.below(3)].clone()
    }

    /// A place that is reached in some way.
    fn place(&mut self) -> String {
        let n = self.n;
        match self.rng.below(9) {
            0 => format!("*p{n}"),
            1 => "*r".to_owned(),
            2 => format!("**pp{n}"),
            3 => format!("q{n}->a"),
            4 => format!("q{n}->b[({}) & 1]", self.expr(1)),
            5 => format!("q{n}->n->a"),
            6 => "*w".to_owned(),
            7 => format!("arr{n}[({}) & 3]", self.expr(1)),
            _ => self.object(),
        }
    }

    fn expr(&mut self, depth: usize) -> String {
        let n = self.n;
        if depth == 0 {
            return match self.rng.below(3) {
                0 => self.rng.below(9).to_string(),
                _ => self.object(),
            };
        }
        let a = self.expr(depth - 1);
        match self.rng.below(9) {
            0 => format!("({a} {} {})", self.rng.pick(&["+", "-", "^"]), self.place()),
            1 => format!("({a} & {})", self.expr(depth - 1)),
            2 => format!("(p{n} == &{})", self.object()),
            3 => format!("(int)(w - arr{n})"),
            4 => format!("sum(q{n})"),
            5 => format!("(q{n} == q{n}->n ? {a} : 3)"),
            _ => self.place(),
        }
    }

    fn pointer(&mut self) -> String {
        let n = self.n;
        match self.rng.below(5) {
            0 => format!("p{n}"),
            1 => "r".to_owned(),
            2 => "w".to_owned(),
            3 => format!("pick({}, p{n}, &{})", self.expr(1), self.object()),
            _ => format!("&{}", self.object()),
        }
    }

    fn statement(&mut self, depth: usize) -> String {
        let n = self.n;
        let e = self.expr(2);
        match self.rng.below(18) {
            0 | 1 => format!("{} = {e};", self.place()),
            2 => format!(
                "{} {} {e};",
                self.place(),
                self.rng.pick(&["+=", "-=", "|="])
            ),
            3 => format!("p{n} = {};", self.pointer()),
            4 => format!("r = {e} ? {} : {};", self.pointer(), self.pointer()),
            5 => format!(
                "pp{n} = {};",
                self.rng
                    .pick(&["&p", "&r"])
                    .replace("&p", &format!("&p{n}"))
            ),
            6 => format!("*pp{n} = {};", self.pointer()),
            7 => format!("q{n} = &{};", self.structure()),
            8 => format!("q{n}->n = &{};", self.structure()),
            9 => format!("{} = *q{n};", self.structure()),
            10 => format!("*q{n} = {};", self.structure()),
            11 => format!("{} = same({});", self.structure(), self.structure()),
            12 => format!("put({}, {e});", self.pointer()),
            13 => format!("swap({}, {});", self.pointer(), self.pointer()),
            14 => format!("turn(pp{n}, &{});", self.object()),
            15 => format!("if (w < arr{n} + 3) {{ int x = {e}; *w++ = x; }} else w = arr{n};"),
            16 if depth > 0 => {
                let (a, b) = (self.statement(depth - 1), self.statement(depth - 1));
                format!("if ({e}) {{ {a} }} else {{ {b} }}")
            }
            17 if depth > 0 => {
                let a = self.statement(depth - 1);
                format!("for (int i = 0; i < 3; i++) {{ {a} }}")
            }
            _ => format!("q{n} = q{n}->n; q{n}->c += {e};"),
        }
    }

    /// Declarations outside of the function, and its body.
    fn text(&mut self) -> (String, String) {
        let n = self.n;
        let outside = format!(
            "int g{n} = 1, h{n} = 2, arr{n}[4] = {{ 3, 4, 5, 6 }};
            struct t t{n} = {{ 1, {{ 2, 3 }}, &t{n} }}, u{n} = {{ .n = &t{n} }};\n"
        );
        let mut body = format!(
            "int l = 7, row[2] = {{ 8, 9 }}, *r = &l, *w = arr{n}, *p{n} = &g{n}, **pp{n};
            struct t v = {{ .c = 4, .n = &u{n} }}, *q{n} = &t{n}; pp{n} = &p{n};\n"
        );
        for _ in 0..8 {
            let statement = self.statement(2);
            body.push_str(&statement);
            body.push('\n');
        }
        (outside, body)
    }

    /// What is looked at in the end.
    fn asked(&self) -> Vec<String> {
        let n = self.n;
        let mut all = vec![
            format!("*p{n}"),
            "*r".to_owned(),
            format!("w - arr{n}"),
            format!("sum(q{n}->n)"),
            format!("p{n} == &g{n}"),
            format!("r == *pp{n}"),
            format!("q{n} == &u{n}"),
        ];
        for name in [
            format!("g{n}"),
            format!("h{n}"),
            "l".to_owned(),
            "row[1]".to_owned(),
        ] {
            all.push(name);
        }
        all.extend((0..4).map(|k| format!("arr{n}[{k}]")));
        for s in [format!("t{n}"), format!("u{n}"), "v".to_owned()] {
            all.push(format!("sum(&{s})"));
        }
        all
    }
}

#[test]
fn pointers_are_those_of_the_compiler() {
    let count = 40 * c_support::soak();
    let mut programs = Vec::new();
    let mut all = format!("#include <stdio.h>\n{COMMON}");
    let mut calls = String::new();
    for n in 0..count {
        let mut random = Random {
            rng: Rng::new(n),
            n,
        };
        let (outside, body) = random.text();
        let asked = random.asked();
        let _ = write!(all, "{outside}static void f{n}(void) {{\n{body}");
        for name in &asked {
            let _ = writeln!(all, "printf(\"%lld \", (long long)({name}));");
        }
        all.push_str("printf(\"\\n\"); }\n");
        let _ = write!(calls, "f{n}(); ");
        programs.push((asked, outside, body));
    }
    let _ = writeln!(all, "int main(void) {{ {calls}return 0; }}");
    let printed = c_support::printed(&all);
    assert_eq!(printed.len(), count);
    for (n, ((asked, outside, body), values)) in programs.iter().zip(&printed).enumerate() {
        let program = |wrong: Option<usize>| {
            let mut text = format!("{COMMON}{outside}int main(void) {{\n{body}");
            for (k, (name, value)) in asked.iter().zip(values).enumerate() {
                let value = value.wrapping_add(i64::from(wrong == Some(k)));
                let value = c_support::literal(value);
                let _ = writeln!(text, "check((long long)({name}) == {value});");
            }
            text.push_str("}\n");
            text
        };
        let text = program(None);
        assert_eq!(c_support::verdict(&text, Model::Sc), "holds", "{text}");
        let twin = program(Some(n % values.len()));
        let found = c_support::verdict(&twin, Model::Sc);
        assert_eq!(found, "violated: reach_error is called", "{twin}");
    }
}

/// A pool of threads that run tasks: what only threads run is no task, else each worker
/// would be a task of the others, without end.
#[test]
fn thread_functions_are_no_targets_of_pointers() {
    let text = "
int pthread_create(pthread_t *, const void *, void *(*)(void *), void *);
int pthread_join(pthread_t, void **);
int pthread_mutex_lock(pthread_mutex_t *);
int pthread_mutex_unlock(pthread_mutex_t *);
struct task { void *(*fn)(void *); void *arg; } queue[4];
int count, taken, a, b; pthread_mutex_t m;
void *add(void *p) { int *x = p; *x += 5; return 0; }
void *twice(void *p) { int *x = p; *x *= 2; return 0; }
void submit(void *(*fn)(void *), void *arg) { queue[count].fn = fn; queue[count++].arg = arg; }
void *worker(void *p) {
  for (;;) {
    struct task t = { 0, 0 };
    pthread_mutex_lock(&m); if (taken < count) t = queue[taken++]; pthread_mutex_unlock(&m);
    if (!t.fn) return 0;
    t.fn(t.arg);
  }
}
int main(void) {
  pthread_t t[2];
  submit(add, &a); submit(twice, &b); b = 3;
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  check(a == 5 && b == 6);
}
";
    assert_eq!(c_support::verdict(text, Model::Sc), "holds");
    let twin = text.replace("b == 6", "b == 3");
    let found = c_support::verdict(&twin, Model::Sc);
    assert_eq!(found, "violated: reach_error is called");
    // One that is stored as well is a target.
    let stored = text.replace("int count,", "void *(*keep)(void *) = worker; int count,");
    let stored = stored.replace("submit(add, &a);", "keep(0); submit(add, &a);");
    assert_eq!(c_support::verdict(&stored, Model::Sc), "holds");
}
