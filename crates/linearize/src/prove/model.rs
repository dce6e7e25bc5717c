//! The *model* as text: declarations, consistency rules, actions ([`super::action`]) and
//! control flow of the TVP program, and its initial structure.

use std::fmt::Write;

use super::action::actions;
use super::facts::{Colour, Fact, colours, facts};
use super::fragment::{Effect, Fragment, Location, Sequence};
use super::given::{further, hand, over};
use super::soft::{Chosen, Invariant, found};
use super::walk::walk;
use super::{Apart, Level, Options, Soft, Text};

/// The text of a model; `acyclic` says whether it complains of links that may close a cycle.
pub fn text(
    fragment: &Fragment<'_>,
    options: &Options<'_>,
    apart: Apart,
    level: Level,
    acyclic: bool,
) -> Text {
    let (facts, chosen) = chosen(fragment, options.soft, level);
    text_with(fragment, options, (apart, level, acyclic), &facts, &chosen)
}

/// The same with these facts and soft invariants.
pub fn text_with(
    fragment: &Fragment<'_>,
    options: &Options<'_>,
    (apart, level, acyclic): (Apart, Level, bool),
    facts: &[Fact],
    chosen: &Chosen,
) -> Text {
    let soft = &chosen.invariants;
    let mut writer = Writer {
        fragment,
        level,
        keep: match apart {
            Apart::Nothing | Apart::Names => "nonabs",
            Apart::Facts => "abs",
        },
        named: options.threads.is_some(),
        many: options.threads.is_none(),
        acyclic,
        out: String::new(),
        initial: Vec::new(),
    };
    writer.core(options);
    writer.nodes();
    writer.threads(facts);
    writer.soft(soft);
    writer.rules(facts);
    writer.out.push_str("%%\n");
    let actions = actions(fragment, level, acyclic);
    writer.out.push_str(&actions.text);
    writer.out.push_str("%%\n");
    for (from, action, to) in &actions.edges {
        writer.line(&format!("{from} {action}() {to}"));
    }
    Text {
        structures: writer.structure(options),
        program: writer.out,
        soft: soft.len(),
        defined: chosen.defined,
        locations: fragment.locations.len() + 1,
    }
}

/// The facts of a model and its soft invariants.
pub fn chosen(fragment: &Fragment<'_>, soft: Soft, level: Level) -> (Vec<Fact>, Chosen) {
    let mut facts = facts(fragment, level);
    let hand = match soft {
        Soft::None => Vec::new(),
        Soft::Hand | Soft::Found | Soft::Over | Soft::All => hand(fragment, level),
    };
    facts.extend(further(&facts, &hand));
    let mut chosen = match soft {
        Soft::None | Soft::Hand => Chosen::default(),
        Soft::Found => found(fragment, level, &facts, &walk(fragment, &facts)),
        Soft::Over => over(fragment, &facts, &walk(fragment, &facts), true),
        Soft::All => over(fragment, &facts, &walk(fragment, &facts), false),
    };
    chosen.defined += hand.iter().map(Invariant::places).sum::<usize>();
    for invariant in hand {
        if !chosen.invariants.contains(&invariant) {
            chosen.invariants.push(invariant);
        }
    }
    (facts, chosen)
}

struct Writer<'a> {
    fragment: &'a Fragment<'a>,
    level: Level,
    /// Whether thread predicates are abstraction predicates.
    keep: &'static str,
    /// Whether threads have names.
    named: bool,
    /// Whether there are any number of threads.
    many: bool,
    /// Whether links that may close a cycle are complained of.
    acyclic: bool,
    out: String,
    /// Unary predicates that hold of every idle thread.
    initial: Vec<String>,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn locations(&self) -> Vec<String> {
        let names = self.fragment.locations.iter().map(|l| l.name.clone());
        ["idle".to_owned()].into_iter().chain(names).collect()
    }

    /// Pointers to single nodes: shared pointers and the sequence's ends.
    fn singles(&self) -> Vec<String> {
        let shared = self.fragment.pointers.iter().map(|(_, name)| name.clone());
        let ghosts: &[&str] = match self.fragment.sequence {
            Sequence::Stack => &["s.top"],
            Sequence::Queue => &["s.pos", "s.last"],
            Sequence::Nothing => &[],
        };
        shared
            .chain(ghosts.iter().map(|g| (*g).to_owned()))
            .collect()
    }

    fn locals(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .fragment
            .variables
            .iter()
            .map(|v| v.name.clone())
            .collect();
        if self.takes() {
            all.push("res".to_owned());
        }
        all
    }

    fn takes(&self) -> bool {
        self.fragment
            .methods
            .iter()
            .any(|m| m.effect == Effect::Take)
    }

    fn has_sequence(&self) -> bool {
        self.fragment.sequence != Sequence::Nothing
    }

    fn links(&self) -> Vec<String> {
        let mut all = vec![self.fragment.link.1.clone()];
        if self.has_sequence() {
            all.push("s.next".to_owned());
        }
        all
    }

    // ---- declarations

    fn core(&mut self, options: &Options<'_>) {
        let locations = self.locations().join(", ");
        self.line(&format!("%s Lines {{{locations}}}"));
        self.line("%p is_thread(v)\n%p is_node(v)\n%p run(v) unique nonabs {}");
        for thread in 0..options.threads.unwrap_or(0) {
            self.line(&format!("%p id[t{thread}](v) unique"));
        }
        for single in self
            .singles()
            .into_iter()
            .chain(self.fragment.init_variables())
        {
            self.line(&format!("%p {single}(v) unique pointer"));
        }
        if self.has_sequence() {
            self.line("%p com(v)\n%p val(v)");
        }
        if self.fragment.sequence == Sequence::Queue {
            self.line("%p dq(v)");
        }
        if self.level >= Level::History {
            for (_, pointer) in &self.fragment.pointers {
                let _ = writeln!(self.out, "%p was[{pointer}](v)");
            }
        }
        let keep = self.keep;
        self.line(&format!("%p at[idle](v) {keep}"));
        for location in &self.fragment.locations {
            // A thread that nobody may interrupt stays apart from the others, so that it is it that
            // goes on; there is only one.
            let keep = if location.busy { "unique" } else { keep };
            let _ = writeln!(self.out, "%p at[{}](v) {keep}", location.name);
        }
        for link in self.links() {
            // What would close a cycle is complained of, so there is none before that.
            let cycles = self.acyclic && link == self.fragment.link.1;
            let open = if cycles {
                " antireflexive antisymmetric"
            } else {
                ""
            };
            self.line(&format!("%p {link}(v, w) function{open}"));
        }
        for local in self.locals() {
            self.line(&format!("%p {local}(t, v) function"));
        }
        for (_, lock) in &self.fragment.locks {
            // Taken only when nobody has it: at most one holder.
            let _ = writeln!(self.out, "%p hold[{lock}](t) unique {keep}");
            let _ = writeln!(self.out, "%i held[{lock}]() = E(t) hold[{lock}](t)");
        }
        if self.has_sequence() {
            self.line(&format!("%p done(t) {keep}"));
        }
        if self.takes() {
            self.line(&format!("%p rempty(t) {keep}\n%p noted(t) {keep}"));
        }
    }

    fn nodes(&mut self) {
        let link = self.fragment.link.1.clone();
        for single in self.singles() {
            self.line(&format!("%i has[{single}]() = E(v) {single}(v)"));
        }
        self.line(&format!("%i has[{link}](v) = E(w) {link}(v,w)"));
        if self.has_sequence() {
            self.line(&format!(
                "%i agree(v) = is_node(v) & A(w) ({link}(v,w) <-> s.next(v,w))"
            ));
            self.line(&format!(
                "%i nextcom(v) = is_node(v) & A(w) ({link}(v,w) -> com(w))"
            ));
        }
        if self.fragment.has_front() {
            self.line("%i s.front(v) = E(u) s.pos(u) & s.next(u,v)");
        }
        for method in &self.fragment.methods {
            if let Some(mine) = method.mine {
                let n = &self.fragment.variables[mine].name;
                let _ = writeln!(
                    self.out,
                    "%i dup[{n}](v) = E(t1,t2) t1 != t2 & {n}(t1,v) & {n}(t2,v)"
                );
            }
        }
        if self.level == Level::Reach {
            self.line(&format!("%i tc(v,w) = {link}*(v,w) reflexive transitive"));
            for (_, pointer) in &self.fragment.pointers {
                let _ = writeln!(self.out, "%i r[{pointer}](v) = E(w) {pointer}(w) & tc(w,v)");
            }
        }
    }

    fn threads(&mut self, facts: &[Fact]) {
        for fact in facts {
            if let Some(definition) = fact.definition(self.fragment) {
                let name = fact.name(self.fragment);
                // What is said of the nodes that locals point to is mostly known of these nodes.
                let of_node = matches!(fact, Fact::On(..));
                let keep = if self.named && of_node {
                    "nonabs"
                } else {
                    self.keep
                };
                self.line(&format!("%i {name}(t) = {definition} {keep}"));
            }
        }
    }

    fn soft(&mut self, soft: &[Invariant]) {
        for (number, invariant) in soft.iter().enumerate() {
            let name = invariant.name(self.fragment, number);
            let definition = invariant.definition(self.fragment);
            // They are not drawn: there are too many.
            self.line(&format!("%i {name}(t) = {definition} nonabs {{}}"));
            for rule in invariant.rules(self.fragment, number) {
                self.line(&format!("%r {rule}"));
            }
            self.initial.push(name);
        }
    }

    // ---- rules

    fn rules(&mut self, facts: &[Fact]) {
        self.line("%r is_thread(v) ==> !is_node(v)\n%r run(v) ==> is_thread(v)");
        let mut unary = self.singles();
        unary.extend(self.fragment.init_variables());
        if self.has_sequence() {
            unary.extend(["com".to_owned(), "val".to_owned()]);
        }
        for colour in colours(self.fragment, self.level) {
            if matches!(colour, Colour::Left | Colour::Was(_)) {
                unary.push(colour.name(self.fragment));
            }
        }
        for single in unary {
            self.line(&format!("%r {single}(v) ==> is_node(v)"));
        }
        for link in self.links() {
            self.line(&format!(
                "%r {link}(v, w) ==> is_node(v)\n%r {link}(v, w) ==> is_node(w)"
            ));
        }
        for local in self.locals() {
            self.line(&format!(
                "%r {local}(v, w) ==> is_thread(v)\n%r {local}(v, w) ==> is_node(w)"
            ));
        }
        for fact in facts {
            let of_thread = !matches!(fact, Fact::Shared(_));
            if of_thread && fact.definition(self.fragment).is_none() {
                let name = fact.name(self.fragment);
                self.line(&format!("%r {name}(t) ==> is_thread(t)"));
            }
            for rule in fact.rules(self.fragment, self.level) {
                self.line(&format!("%r {rule}"));
            }
        }
        if self.level >= Level::History {
            for (_, pointer) in &self.fragment.pointers {
                let _ = writeln!(self.out, "%r {pointer}(v) ==> was[{pointer}](v)");
            }
        }
        self.dead();
        let link = self.fragment.link.1.clone();
        if self.has_sequence() {
            self.line(&format!("%r agree(v) & {link}(v,w) ==> s.next(v,w)"));
            self.line(&format!("%r agree(v) & s.next(v,w) ==> {link}(v,w)"));
            self.line(&format!("%r nextcom(v) & {link}(v,w) ==> com(w)"));
        }
        if self.fragment.has_front() {
            self.line("%r s.pos(u) & s.next(u,v) ==> s.front(v)");
            self.line("%r s.pos(u) & s.front(v) ==> s.next(u,v)");
            self.line("%r s.front(v) & s.front(w) ==> v == w");
        }
        if self.level == Level::Reach {
            // Consequences of the definition of reachability along a function.
            self.line(&format!("%r {link}(v, w) ==> tc(v, w)"));
            self.line("%r E(u) tc(u, v) & tc(u, w) & !tc(v, w) ==> tc(w, v)");
        }
        self.line("foreach (l in Lines) {\n  %r at[l](v) ==> is_thread(v)");
        self.line("  foreach (m in Lines - {l}) { %r at[l](v) ==> !at[m](v) }\n}");
        self.line("%r is_thread(v) & !|/{ at[l](v) : l in Lines } ==> 0");
        // Nobody else may go on while a thread is there.
        let busy = self.fragment.locations.iter().filter(|l| l.busy);
        let busy: Vec<&str> = busy.map(|l| l.name.as_str()).collect();
        for l in busy {
            let _ = writeln!(
                self.out,
                "%r at[{l}](t) ==> run(t)\n%r !run(t) ==> !at[{l}](t)"
            );
        }
        if self.many {
            // A run of one thread is a run of two, of which one never makes a call.
            self.line("%r is_thread(v) & !(E(w) is_thread(w) & v != w) ==> 0");
        }
    }

    /// Locals are null where they do not matter; nothing is known of a call between calls.
    fn dead(&mut self) {
        let mut lines = Vec::new();
        for (v, variable) in self.fragment.variables.iter().enumerate() {
            let x = &variable.name;
            let elsewhere = self
                .fragment
                .locations
                .iter()
                .filter(|l| !l.live.contains(&v));
            for l in elsewhere.map(|l| l.name.as_str()).chain(["idle"]) {
                lines.push(format!(
                    "%r at[{l}](t) ==> !{x}(t,v)\n%r at[{l}](t) ==> !has[{x}](t)"
                ));
            }
        }
        // The same the other way round, for a thread that may be at several places.
        let elsewhere = |live: &dyn Fn(&Location) -> bool| -> String {
            let live = self.fragment.locations.iter().filter(|l| live(l));
            let each: Vec<String> = live.map(|l| format!(" & !at[{}](t)", l.name)).collect();
            each.concat()
        };
        for (v, variable) in self.fragment.variables.iter().enumerate() {
            let elsewhere = elsewhere(&|l| l.live.contains(&v));
            lines.push(format!("%r has[{}](t){elsewhere} ==> 0", variable.name));
        }
        if self.takes() {
            let takes = |l: &Location| self.fragment.methods[l.method].effect == Effect::Take;
            let elsewhere = elsewhere(&takes);
            for flag in ["rempty", "noted"] {
                lines.push(format!("%r {flag}(t){elsewhere} ==> 0"));
            }
        }
        if self.has_sequence() {
            lines.push("%r at[idle](t) ==> !done(t)".to_owned());
        }
        // A return with a lock is complained of.
        for (_, lock) in &self.fragment.locks {
            lines.push(format!("%r at[idle](t) ==> !hold[{lock}](t)"));
        }
        if self.takes() {
            let takes = |m: usize| self.fragment.methods[m].effect == Effect::Take;
            let others = self.fragment.locations.iter().filter(|l| !takes(l.method));
            for l in others.map(|l| l.name.as_str()).chain(["idle"]) {
                for flag in ["rempty", "noted"] {
                    lines.push(format!("%r at[{l}](t) ==> !{flag}(t)"));
                }
                lines.push(format!("%r at[{l}](t) ==> !res(t,v)"));
            }
        }
        for line in lines {
            self.line(&line);
        }
    }

    // ---- the initial structure

    fn structure(&self, options: &Options<'_>) -> String {
        let threads: Vec<String> = match options.threads {
            None => vec!["threads".to_owned()],
            Some(n) => (0..n).map(|t| format!("t{t}")).collect(),
        };
        let all = threads.join(", ");
        let mut out = format!("%n = {{{all}}}\n%p = {{\n");
        if options.threads.is_none() {
            out.push_str("  sm = {threads:1/2}\n");
        }
        for (t, name) in threads
            .iter()
            .enumerate()
            .filter(|_| options.threads.is_some())
        {
            let _ = writeln!(out, "  id[t{t}] = {{{name}}}");
        }
        let half: Vec<String> = threads.iter().map(|t| format!("{t}:1/2")).collect();
        let _ = writeln!(
            out,
            "  is_thread = {{{all}}}\n  run = {{{}}}\n  at[idle] = {{{all}}}",
            half.join(", ")
        );
        if self.level == Level::Reach {
            let own: Vec<String> = threads
                .iter()
                .map(|t| match options.threads {
                    None => format!("{t}->{t}:1/2"),
                    Some(_) => format!("{t}->{t}"),
                })
                .collect();
            let _ = writeln!(out, "  tc = {{{}}}", own.join(", "));
        }
        for name in &self.initial {
            let _ = writeln!(out, "  {name} = {{{all}}}");
        }
        out.push_str("}\n");
        out
    }
}
