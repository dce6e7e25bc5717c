//! Proofs *state by state*: programs with few states and arithmetic for which predicates
//! would be many. The proof is a certificate of all states; one that lacks a state is refused.

use crate::c_support;

use palisade_frontend::c::Options;
use palisade_program::{Model, Program, Verdict};
use palisade_verify::Report;

const MODELS: [Model; 3] = [Model::Sc, Model::Tso, Model::Pso];

/// Threads with arguments add them up under a lock.
const ARGUMENTS: &str = "
int pthread_create(pthread_t *, const void *, void *(*)(void *), void *);
int pthread_join(pthread_t, void **);
int pthread_mutex_lock(pthread_mutex_t *);
int pthread_mutex_unlock(pthread_mutex_t *);
struct arg { int id; int n; };
int total; pthread_mutex_t m;
void *worker(void *p) {
  struct arg *a = p;
  for (int i = 0; i < a->n; i++) {
    pthread_mutex_lock(&m); total = total * 3 + a->id - 2 * total; pthread_mutex_unlock(&m);
  }
  return 0;
}
int main(void) {
  pthread_t t[2]; struct arg a[2];
  for (int i = 0; i < 2; i++) {
    a[i].id = i + 1; a[i].n = 3; pthread_create(&t[i], 0, worker, &a[i]);
  }
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  check(total == 9);
}";

/// Both threads store what they compute and load after it: buffers are in the states.
const CROSSED: &str = "
int pthread_create(pthread_t *, const void *, void *(*)(void *), void *);
unsigned x, y;
void *left(void *p) {
  for (unsigned i = 1; i < 3; i++) { x = i * 40503u % 257u; check(y % 103u == 0 || y % 103u == 51); }
  return 0;
}
void *right(void *p) {
  for (unsigned i = 1; i < 3; i++) { y = i * 40503u % 257u; check(x % 103u == 0 || x % 103u == 51); }
  return 0;
}
int main(void) { pthread_t a, b; pthread_create(&a, 0, left, 0); pthread_create(&b, 0, right, 0); }";

fn report(text: &str, model: Model) -> (Program, Report) {
    let program = c_support::read(text, &Options::default()).expect("is read");
    let options = palisade_verify::Options {
        model,
        // States are listed; by default the check finds them by itself.
        promote: palisade_verify::Promote::All,
        falsify: false,
        ..palisade_verify::Options::default()
    };
    let report = palisade_verify::verify(&program, &options);
    (program, report)
}

/// The text of the certificate is read and checked; without one of its states it is refused.
fn certificate_counts(program: &Program, report: &Report) {
    let certificate = report.certificate.as_ref().expect("a proof has one");
    assert!(certificate.atoms.is_empty(), "no predicates");
    let text = palisade_certify::print(program, certificate);
    let mut read = palisade_certify::parse(program, &text).expect("is read again");
    let options = palisade_certify::Options::default();
    assert!(palisade_certify::check(program, &read, &options).is_ok());
    for lacks in [0, read.entries.len() / 2, read.entries.len() - 1] {
        let entry = read.entries.remove(lacks);
        assert!(palisade_certify::check(program, &read, &options).is_err());
        read.entries.insert(lacks, entry);
    }
}

#[test]
fn few_states_need_no_predicates() {
    let weak = &[Model::Tso, Model::Pso];
    for (text, models) in [(ARGUMENTS, &MODELS[..]), (CROSSED, weak)] {
        for &model in models {
            let (program, report) = report(text, model);
            assert_eq!(report.verdict, Verdict::Holds, "{model} {text}");
            assert!(report.certified && report.stats.state_by_state);
            certificate_counts(&program, &report);
        }
    }
}

#[test]
fn wrong_twins_are_violated() {
    let twins = [
        (ARGUMENTS, "total == 9", "total == 8"),
        (ARGUMENTS, "pthread_mutex_lock(&m);", ""),
        (CROSSED, "40503u", "40504u"),
    ];
    for (text, right, wrong) in twins {
        assert!(text.contains(right));
        let (_, report) = report(&text.replace(right, wrong), Model::Pso);
        assert!(
            matches!(report.verdict, Verdict::Violated(_)),
            "{wrong}: {:?}",
            report.verdict
        );
    }
}

/// Of a number that only decides a branch nothing counts but whether it is 0.
#[test]
fn any_number_as_a_condition_is_two_cases() {
    let text = "
int __VERIFIER_nondet_int(void); unsigned __VERIFIER_nondet_uint(void);
int main(void) {
  int g = 0, n = 0;
  while (n < 3 && !__VERIFIER_nondet_int()) n++;
  if (__VERIFIER_nondet_uint()) g = 1; else g = 2;
  check(g == 1 || g == 2);
}";
    assert_eq!(c_support::verdict(text, Model::Sc), "holds");
    for wrong in ["g != 1", "g != 2", "n != 0", "n != 2", "n != 3"] {
        let twin = text.replace("g == 1 || g == 2", wrong);
        let found = c_support::verdict(&twin, Model::Sc);
        assert_eq!(found, "violated: reach_error is called", "{wrong}");
    }
    let own = text.replace("(void);", "(void) { return 0; }");
    assert_eq!(
        c_support::verdict(&own.replace("g == 1", "g == 3"), Model::Sc),
        "holds"
    );
    let (program, report) = report(&ARGUMENTS.replace("a->n; i++", "a->n && any(); i++").replace(
        "struct arg {",
        "int __VERIFIER_nondet_int(void); int any(void) { if (__VERIFIER_nondet_int()) return 1; return 0; }
         struct arg {",
    ).replace("total == 9", "total <= 9"), Model::Tso);
    assert_eq!(report.verdict, Verdict::Holds);
    certificate_counts(&program, &report);
}

/// Fences, too, are found where only a proof state by state comes to an end.
#[test]
fn fences_of_programs_with_few_states() {
    let text = "
#include <pthread.h>
#include <assert.h>
int flag[2], sum;
struct arg { int id; int n; };
void *worker(void *p) {
  struct arg *a = p;
  for (int i = 0; i < a->n; i++) {
    flag[a->id] = 1;
    if (!flag[1 - a->id]) { int s = sum; sum = s * 3 + a->n - 2 * s; assert(sum == s + a->n); }
    flag[a->id] = 0;
  }
  return 0;
}
int main(void) {
  pthread_t t[2]; struct arg a[2];
  for (int i = 0; i < 2; i++) { a[i].id = i; a[i].n = 2; pthread_create(&t[i], 0, worker, &a[i]); }
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
}
";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("args.c");
    std::fs::write(&file, text).expect("written");
    let mut palisade = std::process::Command::new(env!("CARGO_BIN_EXE_palisade"));
    let output = palisade.arg("fence").arg(&file).args(["--model", "tso"]);
    let output = output.output().expect("runs");
    let words = String::from_utf8_lossy(&output.stdout);
    assert!(
        words.starts_with("holds with 1 fence (certified)"),
        "{words}"
    );
}
