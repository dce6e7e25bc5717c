//! Inline assembler of x86 with operands: each instruction computes what the processor computes
//! (compiled and run, where this is one), and locks made of it are locks.

use crate::c_support;

use c_support::{literal, printed, verdict};
use palisade_program::Model;

/// Statements over `x` (memory), `y`, `z` (registers) of a type, and what they leave.
const OPERATIONS: &[&str] = &[
    r#"asm volatile("mov{S} %1, %0" : "=m"(x) : "r"(y) : "memory");"#,
    r#"asm volatile("mov{S} %1, %0" : "=r"(z) : "m"(x));"#,
    r#"asm volatile("mov{S} $7, %0" : "=m"(x));"#,
    r#"asm volatile("xchg{S} %0, %1" : "+m"(x), "+r"(y) : : "memory");"#,
    r#"asm volatile("lock; xchg{S} %0, %1" : "+q"(y), "+m"(x));"#,
    r#"asm volatile("lock xadd{S} %1, %0" : "+m"(x), "+q"(y) : : "cc");"#,
    r#"asm volatile("xadd{S} %1, %0" : "+m"(x), "+q"(y) : : "cc");"#,
    r#"asm volatile("cmpxchg{S} %3, %1; sete %2" : "+a"(z), "+m"(x), "=q"(f) : "q"(y));"#,
    r#"asm volatile("lock cmpxchg{S} %2, %1" : "+a"(z), "+m"(x) : "q"(y) : "memory", "cc");"#,
    r#"z = x; asm volatile("lock; cmpxchg{S} %3, %0" : "+m"(x), "=@ccz"(f), "+a"(z) : "q"(y));"#,
    r#"asm volatile("lock cmpxchg{S} %3, %0; setz %1" : "+m"(x), "=q"(f), "+a"(z) : "q"(y));"#,
    r#"asm volatile("lock add{S} %1, %0" : "+m"(x) : "ir"(y) : "cc");"#,
    r#"asm volatile("lock sub{S} %1, %0" : "+m"(x) : "r"(y));"#,
    r#"asm volatile("lock and{S} %1, %0" : "+m"(x) : "r"(y));"#,
    r#"asm volatile("or{S} %1, %0" : "+m"(x) : "r"(y));"#,
    r#"asm volatile("lock xor{S} %2, %0; sete %1" : "+m"(x), "=q"(f) : "r"(y));"#,
    r#"asm volatile("lock inc{S} %0; setnz %1" : "+m"(x), "=rm"(f));"#,
    r#"asm volatile("lock\n\tdec{S} %0\n\tsete %1" : "+m"(x), "=qm"(f) : : "memory");"#,
    r#"asm volatile("lock neg{S} %0" : "+m"(x));"#,
    r#"asm volatile("lock not{S} %0" : "+m"(x));"#,
    r#"asm volatile("cmp{S} %1, %0; jne 1f; mov{S} $3, %0; 1:" : "+m"(x) : "r"(y) : "cc");"#,
    r#"asm volatile("test{S} %[b], %[a]; jz out%=; inc{S} %[a]; out%=:" : [a] "+r"(z) : [b] "r"(y));"#,
    r#"asm volatile("cmp{S} %2, %1; setb %0" : "=q"(f) : "r"(y), "r"(z));"#,
    r#"asm volatile("cmp{S} %2, %1; setg %0" : "=q"(f) : "r"(y), "r"(z));"#,
    r#"asm volatile("xchg{S} %0, (%1)" : "+r"(z) : "r"(&x) : "memory");"#,
];

/// The same with bits, which bytes do not have.
const BITS: &[&str] = &[
    r#"asm volatile("lock bts{S} %2, %0; setc %1" : "+m"(x), "=q"(f) : "r"((T)5));"#,
    r#"asm volatile("lock btr{S} %2, %0; setc %1" : "+m"(x), "=q"(f) : "r"((T)0));"#,
    r#"asm volatile("btc{S} %2, %0; setnc %1" : "+m"(x), "=q"(f) : "r"((T)9));"#,
];

const TYPES: [(&str, &str); 8] = [
    ("b", "unsigned char"),
    ("b", "signed char"),
    ("w", "unsigned short"),
    ("w", "short"),
    ("l", "unsigned"),
    ("l", "int"),
    ("q", "unsigned long"),
    ("q", "long"),
];

/// Function `number`: a few operations on three numbers.
fn function(number: usize) -> String {
    let mut rng = c_support::Rng::new(number);
    let (suffix, ty) = TYPES[rng.below(TYPES.len())];
    let number_of = |rng: &mut c_support::Rng| {
        *[
            "0",
            "1",
            "2",
            "32",
            "-1",
            "127",
            "-128",
            "255",
            "513",
            "0x7fffffff",
        ]
        .get(rng.below(10))
        .expect("ten numbers")
    };
    let (x, y, z) = (
        number_of(&mut rng),
        number_of(&mut rng),
        number_of(&mut rng),
    );
    let mut body = String::new();
    for _ in 0..3 {
        let all = OPERATIONS.len() + if suffix == "b" { 0 } else { BITS.len() };
        let k = rng.below(all);
        let operation = OPERATIONS
            .get(k)
            .unwrap_or_else(|| &BITS[k - OPERATIONS.len()]);
        body += &operation
            .replace("{S}", suffix)
            .replace("(T)", &format!("({ty})"));
        body += "\n  ";
    }
    format!(
        "static {ty} x_{number};\nstatic long f{number}(void) {{\n  {ty} y = {y}, z = {z}; _Bool f = 0;\n  \
         x_{number} = {x};\n  {}\n  return (long)x_{number} * 7 + (long)y * 31 + (long)z * 101 + f;\n}}\n",
        body.replace("(x)", &format!("(x_{number})"))
            .replace("&x)", &format!("&x_{number})"))
            .replace("z = x;", &format!("z = x_{number};"))
    )
}

#[test]
fn instructions_compute_what_the_processor_computes() {
    if std::env::consts::ARCH != "x86_64" {
        return;
    }
    let count = 150 * c_support::soak();
    for first in (0..count).step_by(150) {
        let numbers = first..first + 150;
        let functions: String = numbers.clone().map(function).collect();
        let calls = numbers.clone().fold(String::new(), |all, n| {
            all + &format!("  printf(\"%ld\\n\", f{n}());\n")
        });
        let results = printed(&format!(
            "#include <stdio.h>\n{functions}int main(void) {{\n{calls}return 0; }}\n"
        ));
        for (number, result) in numbers.zip(results) {
            let ask = |value: i64| {
                let text = format!(
                    "{}int main(void) {{ check(f{number}() == {}); return 0; }}\n",
                    function(number),
                    literal(value)
                );
                (verdict(&text, Model::Tso), text)
            };
            let (found, text) = ask(result[0]);
            assert_eq!(found, "holds", "{text}");
            let (found, text) = ask(result[0].wrapping_add(1));
            assert!(found.starts_with("violated"), "{found}\n{text}");
        }
    }
}

/// A counter of two threads; `change` increments it.
fn counter(change: &str) -> String {
    format!(
        "int n; int pthread_create(pthread_t *, void *, void *(*)(void *), void *);
         int pthread_join(pthread_t, void **);
         void *t(void *a) {{ {change} return 0; }}
         int main(void) {{ pthread_t a, b; pthread_create(&a, 0, t, 0); pthread_create(&b, 0, t, 0);
           pthread_join(a, 0); pthread_join(b, 0); check(n == 2); return 0; }}"
    )
}

#[test]
fn lock_makes_the_difference() {
    let locked = counter(r#"asm volatile("lock; incl %0" : "+m"(n) : : "memory");"#);
    assert_eq!(verdict(&locked, Model::Tso), "holds");
    for plain in [
        r#"asm volatile("incl %0" : "+m"(n) : : "memory");"#,
        r#"int i = 1; asm volatile("xaddl %1, %0" : "+m"(n), "+r"(i) : : "memory");"#,
        r#"int o; char z; do { o = n; int w = o + 1;
           asm volatile("cmpxchgl %3, %0; sete %1" : "+m"(n), "=q"(z), "+a"(o) : "r"(w)); } while (!z);"#,
    ] {
        let plain = counter(plain);
        assert!(
            verdict(&plain, Model::Tso).starts_with("violated"),
            "{plain}"
        );
    }
}

/// A spin lock by `xchg`, released by a store; then one that does not test what it got.
#[test]
fn spin_locks() {
    let lock = |test: &str| {
        let body = format!(
            "char r = 1; do {{ r = 1; asm volatile(\"lock; xchgb %0, %1\" : \"+q\"(r), \"+m\"(l)); }} while ({test});
             n = n + 1; asm volatile(\"movb $0, %0\" : \"=m\"(l) : : \"memory\");"
        );
        format!("char l;\n{}", counter(&body))
    };
    for model in [Model::Sc, Model::Tso] {
        assert_eq!(verdict(&lock("r"), model), "holds");
        assert!(verdict(&lock("0"), model).starts_with("violated"));
    }
}

/// Store buffering by `mov`: a fence or a locked instruction between forbids it.
#[test]
fn store_buffering() {
    let program = |between: &str| {
        format!(
            "int x, y, r, s; int pthread_create(pthread_t *, void *, void *(*)(void *), void *);
             int pthread_join(pthread_t, void **);
             void *t(void *a) {{ asm volatile(\"movl $1, %0\" : \"=m\"(x)); {between}
               asm volatile(\"movl %1, %0\" : \"=r\"(r) : \"m\"(y)); return 0; }}
             int main(void) {{ pthread_t a; pthread_create(&a, 0, t, 0);
               asm volatile(\"movl $1, %0\" : \"=m\"(y)); {between}
               asm volatile(\"movl %1, %0\" : \"=r\"(s) : \"m\"(x));
               pthread_join(a, 0); check(r || s); return 0; }}"
        )
    };
    assert!(verdict(&program(""), Model::Tso).starts_with("violated"));
    assert_eq!(verdict(&program(""), Model::Sc), "holds");
    for between in [
        r#"asm volatile("mfence" ::: "memory");"#,
        r#"asm volatile("lock; addl $0,0(%%rsp)" ::: "memory");"#,
        r#"int i = 0; asm volatile("xchgl %0, %1" : "+r"(i), "+m"(x)); x = 1; asm volatile("lock orl $0, %0" : "+m"(x));"#,
    ] {
        assert_eq!(verdict(&program(between), Model::Tso), "holds", "{between}");
    }
}

/// A pair of words is swapped at once; what is only compared is not written.
#[test]
fn pairs_of_words() {
    let text = |more: &str| {
        format!(
            "unsigned long p[2] = {{ 1, 2 }};
             int main(void) {{ unsigned long a = 1, d = 2, b = 5, c = 6; char z;
             asm volatile(\"lock; cmpxchg16b %0; setz %3\" : \"+m\"(*p), \"+a\"(a), \"+d\"(d), \"=q\"(z)
               : \"b\"(b), \"c\"(c) : \"memory\", \"cc\");
             {more} return 0; }}"
        )
    };
    let right = "check(z == 1 && p[0] == 5 && p[1] == 6 && a == 1 && d == 2);";
    assert_eq!(verdict(&text(right), Model::Tso), "holds");
    assert!(verdict(&text("check(p[1] == 2);"), Model::Tso).starts_with("violated"));
}

/// Parts of integers: loads and locked instructions reach them, stores to shared memory do not.
#[test]
fn parts_of_integers() {
    let text = |body: &str| {
        format!(
            "unsigned long u = 0x1122334455667788ul;\nint main(void) {{ unsigned *h = (unsigned *)(void *)&u; {body} return 0; }}"
        )
    };
    assert_eq!(
        verdict(
            &text("check(h[0] == 0x55667788u && h[1] == 0x11223344u);"),
            Model::Tso
        ),
        "holds"
    );
    assert!(verdict(&text("check(h[1] == 0x55667788u);"), Model::Tso).starts_with("violated"));
    let add = r#"asm volatile("lock incl %0" : "+m"(h[1])); check(u == 0x1122334555667788ul);"#;
    assert_eq!(verdict(&text(add), Model::Tso), "holds");
    let store = text("h[1] = 3; check(h[1] == 3 && u == 0x355667788ul);");
    assert_eq!(verdict(&store, Model::Tso), "holds");
    let store = text("h[1] = 3; check(u == 3);");
    assert!(verdict(&store, Model::Tso).starts_with("violated"));
}

/// What is not known is refused where it is reached, and only there.
#[test]
fn unknown_instructions() {
    let text = |call: &str| {
        format!(
            "int x; static void f(void) {{ asm(\"bswap %0\" : \"+r\"(x)); }} int main(void) {{ {call} return 0; }}"
        )
    };
    assert_eq!(verdict(&text(""), Model::Tso), "holds");
    let words = verdict(&text("f();"), Model::Tso);
    assert!(
        words.contains("the instruction `bswap %0` in assembler"),
        "{words}"
    );
}
