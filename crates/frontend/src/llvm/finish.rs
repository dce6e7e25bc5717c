//! The last stage: threads and cells become a [`Program`]. A branch to a step that always fails
//! becomes an assertion; variables get the names of the source.

use std::collections::{BTreeMap, BTreeSet};

use palisade_program::{
    Assumption, Cfg, CfgBuilder, Count, Expr, Global, GlobalId, Init, Life, LocId, Local, Names,
    Orders, Origin, Place, Program, Role, Span, Step, Template, UNINITIALISED,
};

use super::engine::{Made, Places};
use super::thread::{FIRST_FLAG, ended, started};
use super::world::{Key, ObjectId, World};
use super::{Refusal, Thread};
use crate::c::without_skips;

pub(super) fn program(
    world: &mut World<'_>,
    places: &Places<'_>,
    threads: BTreeMap<usize, Thread>,
    orders: Orders,
    weak_loads: bool,
) -> Result<Program, Refusal> {
    let mut program = Program {
        orders,
        assumptions: vec![Assumption::Allocation],
        ..Program::default()
    };
    if !world.freed.is_empty() {
        program.assumptions.push(Assumption::FreshAddresses);
    }
    if weak_loads && orders == Orders::Mapped {
        program.assumptions.push(Assumption::LoadsInOrder);
    }
    let mut used = BTreeSet::new();
    let mut cfgs = Vec::new();
    for (id, thread) in threads {
        let cfg = graph(thread.edges, thread.locs, thread.exit);
        note_used(&cfg, &mut used);
        cfgs.push((id, cfg, thread.locals));
    }
    let mut numbers = BTreeMap::new();
    let mut names = Names::default();
    let mut taken = BTreeSet::new();
    let cells: Vec<((ObjectId, u64), u64, GlobalId)> = world
        .cells
        .iter()
        .filter(|(_, cell)| used.contains(&cell.id))
        .map(|(at, cell)| (*at, cell.size, cell.id))
        .collect();
    for ((object, offset), size, id) in cells {
        let name = unique(cell_name(world, places, object, offset), &mut taken);
        let value = world.initial_word(object, offset, size);
        let value =
            value.map_err(|words| (world.objects[object].span, words, super::engine::SMALLER))?;
        let value = value.unwrap_or(UNINITIALISED);
        numbers.insert(id, GlobalId::from(program.globals.len()));
        names
            .addresses
            .insert(World::address(object) + offset as i64, name.clone());
        let is_pointer = world.cells[&(object, offset)]
            .known(true)
            .and_then(|values| values.list())
            .is_some_and(|list| list.iter().any(|v| world.at(*v).is_some()));
        if is_pointer && size == 8 {
            names.pointers.insert(name.clone());
        }
        let span = static_span(world, places, object).unwrap_or(world.objects[object].span);
        program.globals.push(global(name, value, span));
    }
    for object in 0..world.objects.len() {
        let address = World::address(object);
        names
            .addresses
            .entry(address)
            .or_insert_with(|| object_name(world, places, object));
    }
    for (id, ..) in &cfgs {
        for (flag, what) in [(started(*id), "started"), (ended(*id), "ended")] {
            if used.contains(&flag) {
                let name = unique(format!("{}.{what}", thread_name(*id)), &mut taken);
                names.made_up.insert(name.clone());
                numbers.insert(flag, GlobalId::from(program.globals.len()));
                program.globals.push(global(name, 0, Span::default()));
            }
        }
    }
    for (id, mut cfg, locals) in cfgs {
        renumber(&mut cfg, &numbers);
        let span = if id == 0 {
            Span::default()
        } else {
            world.plans[id].span
        };
        let waits = id > 0 && used.contains(&started(id));
        program.templates.push(Template {
            name: thread_name(id),
            count: Count::Once,
            is_process: false,
            locals: (0..locals).map(local).collect(),
            cfg,
            labels: Vec::new(),
            life: Life {
                is_started: waits,
                ends_program: id == 0,
                waits_at_assume: false,
            },
            span,
        });
    }
    program.names = names;
    Ok(program)
}

/// An object that threads free, with a pointer to it in shared memory: that its address is not used
/// again may matter.
pub(super) fn kept_after_free(world: &World<'_>) -> Option<Span> {
    let kept = |object: &ObjectId| {
        world.cells.iter().any(|((holder, _), cell)| {
            let list = cell.known(true).and_then(|values| values.list());
            let points = |value: &i64| world.at(*value).is_some_and(|(to, _)| to == *object);
            holder != object && cell.written && list.is_some_and(|list| list.iter().any(points))
        })
    };
    let found = world.freed.iter().find(|object| kept(object))?;
    Some(world.objects[*found].span)
}

fn thread_name(id: usize) -> String {
    if id == 0 {
        "main".to_owned()
    } else {
        format!("thread{id}")
    }
}

fn global(name: String, value: i64, span: Span) -> Global {
    Global {
        name,
        len: None,
        init: vec![Init::Value(value)],
        domain: None,
        role: Role::Data,
        home: None,
        span,
    }
}

fn local(number: u32) -> Local {
    Local {
        name: format!("r{number}"),
        init: Init::Value(0),
        domain: None,
        role: Role::Data,
        origin: Origin::Temporary,
        span: Span::default(),
    }
}

fn object_name(world: &World<'_>, places: &Places<'_>, object: ObjectId) -> String {
    if let Some((name, _)) = &world.objects[object].name {
        return name.clone();
    }
    match &world.objects[object].key {
        Key::Static(name) | Key::ThreadLocal(_, name) | Key::Function(name) => {
            let shown = format!("{:#}", rustc_demangle::demangle(name));
            // Without the path, but with the function that a static stands in.
            let plain = shown.rsplit("::").next().unwrap_or(&shown);
            plain.trim_matches(|c| c == '<' || c == '>').to_owned()
        }
        Key::Heap(thread, _) => {
            let line = (places.text.line)(world.objects[object].span);
            match thread {
                0 => format!("heap@{line}"),
                thread => format!("heap@{line}.{}", thread_name(*thread)),
            }
        }
        Key::Stack(..) => format!("local@{}", (places.text.line)(world.objects[object].span)),
    }
}

fn cell_name(world: &World<'_>, places: &Places<'_>, object: ObjectId, offset: u64) -> String {
    let name = object_name(world, places, object);
    let ty = match (&world.objects[object].name, &world.objects[object].key) {
        (Some((_, ty)), _) => *ty,
        (None, Key::Static(name)) => world.variable(name).and_then(|(module, variable)| {
            let ty = places.debug[module].static_type(variable.debug)?;
            Some((module, ty))
        }),
        (None, _) => None,
    };
    let part = match ty {
        Some((module, ty)) => {
            let part = places.debug[module].part_name(ty, offset);
            part.strip_prefix(".data")
                .map(str::to_owned)
                .unwrap_or(part)
        }
        None if offset == 0 => String::new(),
        None => format!("+{offset}"),
    };
    format!("{name}{part}")
}

/// Where a variable of the module is declared.
fn static_span(world: &World<'_>, places: &Places<'_>, object: ObjectId) -> Option<Span> {
    let Key::Static(name) = &world.objects[object].key else {
        return None;
    };
    let (module, variable) = world.variable(name)?;
    let place = places.debug[module].static_place(variable.debug)?;
    (places.text.spans)(&place.file, place.line, 0)
}

fn unique(name: String, taken: &mut BTreeSet<String>) -> String {
    let mut candidate = name.clone();
    let mut n = 2;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{name}#{n}");
        n += 1;
    }
    candidate
}

/// The graph of a thread. A branch whose other side always fails is an assertion.
fn graph(edges: Vec<Made>, locs: u32, exit: LocId) -> Cfg {
    let mut leaving: BTreeMap<LocId, Vec<usize>> = BTreeMap::new();
    for (i, edge) in edges.iter().enumerate() {
        leaving.entry(edge.from).or_default().push(i);
    }
    let mut steps: Vec<Option<(LocId, Step, LocId, Span)>> = edges
        .iter()
        .map(|e| Some((e.from, e.step.clone(), e.to, e.span)))
        .collect();
    for outgoing in leaving.values() {
        let [a, b] = outgoing.as_slice() else {
            continue;
        };
        for (yes, no) in [(*a, *b), (*b, *a)] {
            let (Step::Assume(cond), Step::Assume(other)) = (&edges[yes].step, &edges[no].step)
            else {
                continue;
            };
            if cond.clone().negate() != *other && *cond != other.clone().negate() {
                continue;
            }
            let Some([only]) = leaving.get(&edges[no].to).map(Vec::as_slice) else {
                continue;
            };
            if let Step::Assert {
                cond: Expr::Const(0),
                kind,
            } = &edges[*only].step
            {
                let step = Step::Assert {
                    cond: cond.clone(),
                    kind: kind.clone(),
                };
                steps[yes] = Some((edges[yes].from, step, edges[yes].to, edges[*only].span));
                steps[no] = None;
                break;
            }
        }
    }
    let mut builder = CfgBuilder::new();
    (0..locs).for_each(|_| {
        builder.loc();
    });
    for (from, step, to, span) in steps.into_iter().flatten() {
        builder.edge(from, step, to, span);
    }
    let (cfg, _) = builder.finish(LocId(0), exit);
    without_skips(&cfg)
}

fn places_of(step: &mut Step) -> Vec<&mut Place> {
    match step {
        Step::Load { src, .. } => vec![src],
        Step::Store { dst, .. } => vec![dst],
        Step::Atomic(atomic) => {
            let edges = atomic.body.edges.iter_mut();
            edges.flat_map(|edge| places_of(&mut edge.step)).collect()
        }
        Step::Skip | Step::Assume(_) | Step::Assign { .. } | Step::Havoc { .. } => Vec::new(),
        Step::Fence(_) | Step::Assert { .. } | Step::Put { .. } | Step::Get { .. } => Vec::new(),
        Step::RemoteAtomic(_) | Step::Flush(_) => Vec::new(),
    }
}

fn note_used(cfg: &Cfg, used: &mut BTreeSet<GlobalId>) {
    for edge in &cfg.edges {
        let mut step = edge.step.clone();
        used.extend(places_of(&mut step).into_iter().map(|place| place.var));
    }
}

fn renumber(cfg: &mut Cfg, numbers: &BTreeMap<GlobalId, GlobalId>) {
    for edge in &mut cfg.edges {
        for place in places_of(&mut edge.step) {
            debug_assert!(numbers.contains_key(&place.var) || place.var.0 < FIRST_FLAG);
            if let Some(new) = numbers.get(&place.var) {
                place.var = *new;
            }
        }
    }
}
