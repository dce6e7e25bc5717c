//! Any number of threads: known programs, certificates with faults, and random
//! templates against the machine with two and three copies.

use palisade_certify::{Certificate, check};
use palisade_program::{Count, Model, Program, Source, Unknown, Verdict};
use palisade_verify::{Options, Report, Threads, refusal, verify, with_threads};

fn parse(text: &str) -> Program {
    match palisade_frontend::pal::parse(Source::new("many.pal", text)) {
        Ok(parsed) => parsed.program,
        Err(errors) => panic!("{errors:?}\n{text}"),
    }
}

fn under(text: &str, model: Model) -> Report {
    let options = Options {
        model,
        ..Options::default()
    };
    verify(&parse(text), &options)
}

#[track_caller]
fn holds(text: &str, model: Model) -> Certificate {
    let report = under(text, model);
    assert_eq!(report.verdict, Verdict::Holds, "{text}");
    assert!(report.certified, "{text}");
    report.certificate.expect("a proof has a certificate")
}

#[track_caller]
fn violated(text: &str, model: Model) {
    let report = under(text, model);
    let found = matches!(report.verdict, Verdict::Violated(_));
    assert!(found, "{:?}\n{text}", report.verdict);
    assert!(report.witness.is_some(), "{text}");
}

/// The same program without one of its parts.
#[track_caller]
fn without(text: &str, part: &str) -> String {
    assert!(text.contains(part), "{part}");
    text.replacen(part, "", 1)
}

const TAS: &str = "shared lock = 0;
thread t[*] {
    while (1) {
        atomic { assume(lock == 0); lock = 1; }
        cs: skip;
        lock = 0;
    }
}
never t#1@cs && t#2@cs;
";

const INCREMENT: &str = "shared x = 0;
shared lock = 0;
thread t[*] {
    local r = 0;
    atomic { assume(lock == 0); lock = 1; }
    r = x;
    x = r + 1;
    assert(x == r + 1);
    atomic { lock = 0; }
}
";

const TICKET: &str = "shared next = 0;
shared serving = 0;
thread t[*] {
    local my = 0;
    while (1) {
        atomic { my = next; next = next + 1; }
        atomic { assume(serving == my); }
        cs: skip;
        atomic { serving = serving + 1; }
    }
}
never t#1@cs && t#2@cs;
";

const OWNER: &str = "shared owner = -1;
thread t[*] {
    while (1) {
        atomic { assume(owner == -1); owner = self; }
        cs: skip;
        atomic { assert(owner == self); owner = -1; }
    }
}
never t#1@cs && t#2@cs;
";

/// Two templates: a flag of the writers, seen by readers.
const TWO_TEMPLATES: &str = "shared writing = 0;
shared readers = 0;
thread w[*] {
    atomic { assume(writing == 0 && readers == 0); writing = 1; }
    ws: skip;
    atomic { writing = 0; }
}
thread r[*] {
    atomic { assume(writing == 0); readers = readers + 1; }
    rs: skip;
    atomic { readers = readers - 1; }
}
never w#1@ws && w#2@ws;
";

/// Every program of `examples/many` has the verdicts that it announces.
#[test]
fn examples() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/many");
    let files = std::fs::read_dir(folder).expect("the examples are there");
    let mut count = 0;
    for file in files {
        let file = file.expect("readable").path();
        let text = std::fs::read_to_string(&file).expect("an example can be read");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("// expect: "));
        let line = line.unwrap_or_else(|| panic!("{} announces nothing", file.display()));
        for word in line.split_whitespace() {
            let (model, verdict) = word.split_once('=').expect("model=verdict");
            let model = [Model::Sc, Model::Tso, Model::Pso]
                .into_iter()
                .find(|m| m.to_string() == model)
                .expect("a model");
            match verdict {
                "holds" => drop(holds(&text, model)),
                "violated" => violated(&text, model),
                other => panic!("what is `{other}`?"),
            }
            count += 1;
        }
    }
    assert!(count >= 30, "{count} verdicts");
}

#[test]
fn locks_for_any_number_of_threads() {
    holds(TAS, Model::Sc);
    violated(&without(TAS, "assume(lock == 0); "), Model::Sc);
    holds(INCREMENT, Model::Sc);
    violated(&without(INCREMENT, "assume(lock == 0); "), Model::Sc);
    holds(TWO_TEMPLATES, Model::Sc);
    violated(&without(TWO_TEMPLATES, "writing == 0 && "), Model::Sc);
}

#[test]
fn relations_between_threads() {
    holds(TICKET, Model::Sc);
    violated(&without(TICKET, "assume(serving == my); "), Model::Sc);
}

#[test]
fn thread_numbers() {
    holds(OWNER, Model::Sc);
    violated(&without(OWNER, "assume(owner == -1); "), Model::Sc);
}

/// The programs of [Donaldson et al., CAV 2011, section 1.1]: mixed predicates are needed, and must be
/// updated in passive threads.
#[test]
fn mixed_predicates() {
    let p = "shared s = 0; thread t[*] { local l = 1;
        atomic { assert(s != l); } atomic { s = s + 1; } }";
    violated(p, Model::Sc);
    let p1 = "shared s = 0; shared t = 1; thread p[*] { local l = 0;
        atomic { assert((t != 0) == (s == l)); }
        atomic { assume(t != 0); } atomic { l = l + 1; t = 0; } }";
    violated(p1, Model::Sc);
    let p2 = "shared r = 0; shared s = 0; thread t[*] { local l = 0;
        atomic { r = r + 1; }
        local v = r;
        if (v == 1) { while (1) { atomic { s = s + 1; l = l + 1; } atomic { assert(s == l); } } } }";
    holds(p2, Model::Sc);
}

#[test]
fn store_buffers_are_local_to_their_threads() {
    for model in [Model::Tso, Model::Pso] {
        holds(TAS, model);
    }
    // Unlocking by a plain store lets what was written before it arrive later.
    let plain = "shared lock = 0; shared x = 0;
thread t[*] {
    local r = 0;
    atomic { assume(lock == 0); lock = 1; }
    x = 1;
    x = 0;
    lock = 0;
    atomic { assume(lock == 0); lock = 1; }
    r = x;
    assert(r == 0);
    lock = 0;
}
";
    holds(plain, Model::Tso);
    violated(plain, Model::Pso);
}

#[test]
fn what_has_no_meaning_for_any_number() {
    let ordered = "shared x = 0; thread t[*] { if (self > 1) { x = 1; } assert(x == 0); }";
    let why = refusal(&parse(ordered));
    assert!(
        matches!(why, Some(palisade_verify::Gap::Unsupported(..))),
        "{why:?}"
    );
    let at_end = "shared x = 0; thread t[*] { x = 0; } finally (x == 0);";
    let verdict = under(at_end, Model::Sc).verdict;
    assert!(
        matches!(verdict, Verdict::Unknown(Unknown::Unsupported(..))),
        "{verdict:?}"
    );
}

#[test]
fn numbers_of_copies_can_be_changed() {
    let three = "shared x = 0; thread t[3] { atomic { x = x + 1; } } never x > 3;";
    let program = parse(three);
    let four = with_threads(&program, Threads::Exactly(4)).expect("nothing depends on it");
    assert_eq!(four.templates[0].count, Count::Fixed(4));
    assert!(matches!(
        verify(&four, &Options::default()).verdict,
        Verdict::Violated(_)
    ));
    assert_eq!(
        verify(&program, &Options::default()).verdict,
        Verdict::Holds
    );
    let array = "shared a[3] = 0; thread t[3] { a[self] = 1; }";
    assert!(with_threads(&parse(array), Threads::Exactly(4)).is_err());
    assert!(with_threads(&parse(array), Threads::Any).is_err());
    assert!(with_threads(&parse(array), Threads::Exactly(2)).is_ok());
}

/// A proof for every number is one for many: certified as such.
#[test]
fn many_copies_by_any_number() {
    let many = TAS.replace("[*]", "[40]");
    let certificate = holds(&many, Model::Sc);
    assert_eq!(certificate.kind, palisade_certify::Kind::Views);
    let text = palisade_certify::print(&parse(&many), &certificate);
    let read = palisade_certify::parse(&parse(&many), &text).expect("it is well formed");
    assert_eq!(read, certificate);
}

/// A run of a few of many copies, replayed with all of them.
#[test]
fn many_copies_with_a_bug() {
    let many = without(TAS, "assume(lock == 0); ").replace("[*]", "[40]");
    let report = under(&many, Model::Sc);
    let Verdict::Violated(violation) = report.verdict else {
        panic!("{:?}", report.verdict);
    };
    assert_eq!(violation.trace.threads.len(), 40);
}

#[track_caller]
fn refused(program: &Program, certificate: &Certificate, why: &str) {
    let options = palisade_certify::Options::default();
    assert!(
        check(program, certificate, &options).is_err(),
        "accepted: {why}"
    );
}

/// Every entry of these certificates is needed, and so is every literal but few.
#[test]
fn certificates_with_faults() {
    for text in [TAS, INCREMENT, TICKET, OWNER] {
        let program = parse(text);
        let certificate = holds(text, Model::Sc);
        for entry in 0..certificate.entries.len() {
            let mut fewer = certificate.clone();
            fewer.entries.remove(entry);
            refused(&program, &fewer, "an entry is missing");
        }
        let mut smaller = certificate.clone();
        smaller.threads -= 1;
        refused(&program, &smaller, "another number of copies");
    }
    let certificate = holds(TICKET, Model::Sc);
    let program = parse(TICKET);
    let mut weaker = certificate.clone();
    for entry in &mut weaker.entries {
        for cube in &mut entry.cubes {
            cube.0.clear();
        }
    }
    refused(&program, &weaker, "nothing is known of the data");
    let other = parse(&without(TICKET, "assume(serving == my); "));
    refused(&other, &certificate, "another program");
}

/// An invariant of two copies alone is none of three: what the third does counts.
#[test]
fn interference_is_checked() {
    // Two copies can never have counted to three.
    let text = "shared x = 0; thread t[*] { atomic { x = x + 1; } done: skip; } never x > 2;";
    violated(text, Model::Sc);
    let two = Options {
        threads: Some(2),
        ..Options::default()
    };
    let report = verify(&parse(text), &two);
    let mut certificate = report.certificate.expect("two copies are proved");
    refused(
        &parse(text),
        &certificate_of_views(&mut certificate),
        "the third copy counts too",
    );
}

fn certificate_of_views(certificate: &mut Certificate) -> Certificate {
    certificate.kind = palisade_certify::Kind::Views;
    certificate.clone()
}
