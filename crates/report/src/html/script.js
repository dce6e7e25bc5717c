"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");

// An element with a class, children and texts. Texts are never read as HTML.
function el(tag, cls, ...children) {
  const made = document.createElement(tag);
  if (cls) made.className = cls;
  for (const child of children) if (child !== null && child !== undefined) made.append(child);
  return made;
}
function section(title, ...children) {
  const made = el("section", "", el("h2", "", title), ...children);
  main.append(made);
  return made;
}

function heading() {
  const doc = data.document;
  const head = document.getElementById("head");
  head.append(el("h1", "", doc.input || "palisade " + doc.command));
  const line = el("div", "");
  if (doc.verdict) {
    line.append(el("span", "verdict " + doc.verdict, doc.verdict));
    if (doc.certified) line.append(" (certified)");
    if (doc.replayed) line.append(" (replayed)");
    if (doc.reason) line.append(": " + doc.reason);
  }
  head.append(line);
  const facts = ["palisade " + doc.command];
  if (doc.model) facts.push("model " + doc.model);
  if (doc.minimum) facts.push("minimum " + doc.minimum);
  const stats = doc.stats || {};
  if (stats.states) facts.push(stats.states + " states");
  if (stats.cpu_seconds) facts.push(stats.cpu_seconds.toFixed(2) + " CPU s");
  head.append(el("div", "faint", facts.join(", ")));
  const notes = (doc.notes || []).concat((doc.warnings || []).map((w) => w.message || String(w)));
  if (notes.length) head.append(el("ul", "notes", ...notes.map((note) => el("li", "", note))));
}

function patch() {
  const lines = data.patch.split("\n").map((line) => {
    const cls = line.startsWith("+") ? "plus" : line.startsWith("-") ? "minus" : "";
    return el("div", cls, line || " ");
  });
  section("Patch", el("pre", "panel", ...lines));
}

function proof() {
  if (data.places.length) {
    const rows = data.places.map((place) => {
      const code = data.source ? (data.source.lines[place.line - 1] || "").trim() : "";
      return el("tr", "", el("td", "", place.thread), el("td", "number", String(place.line)), el("td", "code", code),
        el("td", "code", ...place.facts.flatMap((fact, i) => (i ? [document.createElement("br"), fact] : [fact]))));
    });
    const head = el("tr", "", ...["thread", "line", "before", "what holds there"].map((title) => el("th", "", title)));
    section("What holds where", el("p", "faint",
      "Whenever a thread is before this line, whatever the others do. The invariant below says more: which values go together." +
      (data.places_note ? " " + data.places_note : "")),
      el("div", "scroll", el("table", "rows", head, ...rows)));
  }
  const lines = data.invariant.map((line) => el("div", "", line));
  const whole = el("details", "panel", el("summary", "", "The invariant, " + lines.length + " lines"), el("pre", "", ...lines));
  whole.open = lines.length <= 40;
  section("What was proved", el("p", "faint",
    "Every reachable state satisfies what follows; the separate checker has confirmed that no step leaves it."),
    whole);
}

// Calls as bars over time, one lane for each thread; steps as ticks on them.
function timeline() {
  const { threads, events } = data.timeline;
  const ns = "http://www.w3.org/2000/svg";
  const svgEl = (tag, attributes, text) => {
    const made = document.createElementNS(ns, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
    if (text) made.textContent = text;
    return made;
  };
  const bars = [];
  const open = [];
  events.forEach((event, i) => {
    if (event.kind === "call") {
      open[event.thread] = { thread: event.thread, from: i, to: events.length, text: event.text, result: null };
      bars.push(open[event.thread]);
    } else if (event.kind === "return" && open[event.thread]) {
      open[event.thread].to = i;
      open[event.thread].result = event.text;
      open[event.thread] = null;
    }
  });
  const words = (bar) => bar.text + (bar.result === null ? " ..." : bar.result ? " = " + bar.result : "");
  // Wide enough for the longest text over the shortest bar.
  const unit = Math.max(18, ...bars.map((bar) => (words(bar).length * 8 + 16) / Math.max(1, bar.to - bar.from)));
  const left = 24 + Math.max(...threads.map((name) => name.length)) * 8, lane = 64;
  const width = left + unit * (events.length + 1) + 20, height = 20 + lane * threads.length;
  let at = events.length - 1;
  const picture = el("div", "scroll panel");
  const list = el("ol", "steps code");
  const now = el("div", "now code");
  now.setAttribute("aria-live", "polite");
  const source = el("div", "source code panel");
  const button = (text, title, act) => {
    const made = el("button", "", text);
    made.type = "button";
    made.title = title;
    made.addEventListener("click", act);
    return made;
  };
  section("Time line", el("div", "bar",
    button("◀", "one step back (left arrow)", () => go(at - 1)),
    button("▶", "one step on (right arrow)", () => go(at + 1))), now, picture);
  section("Steps", el("div", "threads", el("div", "panel", list), source));
  function go(k) { at = Math.max(0, Math.min(k, events.length - 1)); show(); }
  function show() {
    const event = events[at];
    const svg = svgEl("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "time line" });
    threads.forEach((name, t) => {
      const y = 20 + t * lane + lane / 2;
      svg.append(svgEl("text", { x: 8, y: y + 4 }, name));
      svg.append(svgEl("line", { x1: left, x2: width - 10, y1: y, y2: y, style: "stroke: var(--line)" }));
    });
    const x = (i) => left + unit * (i + 0.5);
    for (const bar of bars) {
      const y = 20 + bar.thread * lane + lane / 2;
      const later = bar.from > at;
      const group = svgEl("g", { class: later ? "later" : "" });
      group.append(svgEl("rect", { x: x(bar.from), y: y - 7, width: Math.max(6, x(bar.to) - x(bar.from)), height: 14, rx: 4, class: "box call" }));
      group.append(svgEl("text", { x: x(bar.from), y: y - 13 }, words(bar)));
      svg.append(group);
    }
    events.forEach((one, i) => {
      const y = 20 + one.thread * lane + lane / 2;
      if (one.kind === "step") svg.append(svgEl("circle", { cx: x(i), cy: y, r: 3.5, class: i > at ? "later" : "", style: "fill: var(--ink)" }));
    });
    svg.append(svgEl("line", { x1: x(at), x2: x(at), y1: 4, y2: height - 4, style: "stroke: var(--co); stroke-width: 2" }));
    picture.replaceChildren(svg);
    picture.scrollLeft = x(at) - picture.clientWidth * 0.7;
    now.textContent = threads[event.thread] + ", line " + event.line + ": " + (event.kind === "return" ? "returns " : "") + event.text;
    list.replaceChildren(...events.map((one, i) => {
      const text = one.kind === "call" ? "calls " + one.text : one.kind === "return" ? "returns " + one.text : one.text;
      const item = el("li", i === at ? "here" : "", el("span", "who", threads[one.thread]), el("span", "what", one.line + ": " + text));
      item.tabIndex = 0;
      item.addEventListener("click", () => go(i));
      item.addEventListener("keydown", (e) => { if (e.key === "Enter") go(i); });
      return item;
    }));
    const here = list.querySelector(".here");
    if (here) list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2;
    const lines = data.source ? data.source.lines : [];
    const from = Math.max(0, event.line - 6), to = Math.min(lines.length, event.line + 5);
    source.replaceChildren(...lines.slice(from, to).map((text, k) =>
      el("div", from + k + 1 === event.line ? "at" : "", el("span", "number", String(from + k + 1)), text || " ")));
  }
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const keys = { ArrowRight: () => go(at + 1), ArrowLeft: () => go(at - 1), n: () => go(at + 1), p: () => go(at - 1),
      Home: () => go(0), End: () => go(events.length - 1) };
    if (keys[e.key]) { keys[e.key](); e.preventDefault(); }
  });
  show();
}

// What to do about `unknown`.
function next() {
  const { try: tries, stuck } = data.document.next;
  const made = section("What to try", el("ul", "code", ...(tries || []).map((one) => el("li", "", one))));
  if (stuck && stuck.length) made.append(el("p", "faint", "Stuck at this abstract run; the program may not have it:"),
    el("ol", "steps code panel", ...stuck.map((step) => el("li", "", el("span", "who", step.thread), el("span", "what", step.line + ": " + step.step)))));
}

function table(rows) {
  const keys = [];
  // The place stands with the file, the command behind it.
  const elsewhere = ["line", "column", "command"];
  for (const row of rows) for (const key of Object.keys(row)) {
    const shown = row[key] !== null && typeof row[key] !== "object" && !elsewhere.includes(key);
    if (shown && !keys.includes(key)) keys.push(key);
  }
  const count = (key) => {
    const words = rows.map((row) => row[key]).filter((word) => typeof word === "string");
    const counted = [...new Set(words)].map((word) => words.filter((w) => w === word).length + " " + word);
    return counted.join(", ");
  };
  const summary = count("status") || count("verdict");
  const cell = (row, key) => {
    const value = key === "file" && row.line ? row.file + ":" + row.line : row[key];
    const shown = typeof value === "number" && !Number.isInteger(value) ? value.toFixed(2) : value;
    const coloured = ["status", "verdict"].includes(key);
    const made = el("td", coloured ? String(value) : "", shown === null || shown === undefined ? "" : String(shown));
    if (key === "file" && row.command) made.title = row.command;
    return made;
  };
  const head = el("tr", "", ...keys.map((key) => el("th", "", key)));
  const body = rows.map((row) => el("tr", "", ...keys.map((key) => cell(row, key))));
  section("Results", el("p", "faint", rows.length + " in all" + (summary ? ": " + summary : "")), el("div", "scroll", el("table", "rows", head, ...body)));
}

function wholeSource() {
  const lines = data.source.lines.map((text, i) =>
    el("div", "", el("span", "number", String(i + 1)), text || " "));
  section(data.source.name, el("div", "source code panel", ...lines));
}

// The run, step by step.
function run() {
  const run = data.run;
  const seen = run.steps.map((step, i) => (step.shown ? i : -1)).filter((i) => i >= 0);
  let all = false;
  let at = seen.length ? seen[seen.length - 1] : run.steps.length - 1;
  const order = () => (all ? run.steps.map((_, i) => i) : seen);
  const button = (text, title, act) => {
    const made = el("button", "", text);
    made.type = "button";
    made.title = title;
    made.addEventListener("click", act);
    return made;
  };
  const slider = el("input", "");
  slider.type = "range";
  slider.setAttribute("aria-label", "step");
  slider.addEventListener("input", () => go(Number(slider.value)));
  const place = el("span", "faint");
  const everything = el("input", "");
  everything.type = "checkbox";
  everything.addEventListener("change", () => { all = everything.checked; show(); });
  const label = el("label", "", everything, " all steps");
  const bar = el("div", "bar",
    button("|◀", "first step (Home)", () => go(0)),
    button("◀", "one step back (left arrow)", () => move(-1)),
    button("▶", "one step on (right arrow)", () => move(1)),
    button("▶|", "last step (End)", () => go(order().length - 1)),
    slider, place, label);
  const now = el("div", "now code");
  now.setAttribute("aria-live", "polite");
  const threads = el("div", "threads");
  const memory = el("div", "panel");
  const buffers = el("div", "panel");
  const list = el("ol", "steps code");
  const graph = el("div", "scroll panel");
  section("Run", bar, now, threads);
  const buffered = run.steps.some((step) => Object.keys(step.buffers).length > 0);
  const histories = el("div", "panel");
  const kept = data.document.model === "rc11";
  section("Memory", el("div", "threads", memory, ...(buffered ? [buffers] : []), ...(kept ? [histories] : [])));
  section("Steps", el("div", "panel", list));
  const legend = el("div", "legend faint", ...[["po", "program order"], ["rf", "reads from"],
    ["co", "coherence"], ["fr", "from-reads"]].map(([name, words]) => {
    const swatch = el("span", "swatch");
    swatch.style.borderColor = "var(--" + name + ")";
    return el("span", "", swatch, words);
  }));
  if (run.graph.nodes.length) section("Execution graph", legend, graph);
  if (run.ending) main.append(el("p", "", run.ending));

  function index() {
    const steps = order();
    let found = steps.findIndex((i) => i >= at);
    return found < 0 ? steps.length - 1 : found;
  }
  function go(k) {
    const steps = order();
    at = steps[Math.max(0, Math.min(k, steps.length - 1))];
    show();
  }
  function move(by) { go(index() + by); }

  // The writes of each cell so far, in coherence order: what a load may still find.
  function history() {
    const { nodes, edges } = run.graph;
    const next = new Map(edges.filter(([, , kind]) => kind === "co").map(([from, to]) => [from, to]));
    const first = nodes.map((_, i) => i).filter((i) => nodes[i].writes && nodes[i].thread === null);
    return first.map((start) => {
      const values = [];
      for (let i = start; i !== undefined; i = next.get(i)) if ((nodes[i].step ?? -1) <= at) values.push(nodes[i].value);
      return [nodes[start].cell, values.join(", ")];
    });
  }

  function threadPanel(t) {
    let last = null;
    for (let i = 0; i <= at; i++) {
      const step = run.steps[i];
      if (step.thread === t && !step.memory_system) last = step;
    }
    const acts = run.steps[at] && run.steps[at].thread === t;
    const where = last ? (last.function ? last.function + ", " : "") + (last.file ? last.file + ", " : "") + "line " + last.line : "not begun";
    const panel = el("div", "panel" + (acts ? " acts" : ""),
      el("h3", "", el("span", "", run.threads[t]), el("span", "faint", where)));
    if (last && data.source && !last.file) {
      const from = Math.max(0, last.line - 4), to = Math.min(data.source.lines.length, last.line + 3);
      const code = el("div", "source code");
      for (let n = from; n < to; n++) {
        code.append(el("div", n + 1 === last.line ? "at" : "", el("span", "number", String(n + 1)), data.source.lines[n] || " "));
      }
      panel.append(code);
      const locals = Object.entries(last.locals).map(([name, value]) => name + " = " + value).join(", ");
      if (locals) panel.append(el("div", "code faint", locals));
    }
    return panel;
  }

  function show() {
    const step = run.steps[at];
    const steps = order();
    slider.max = String(Math.max(0, steps.length - 1));
    slider.value = String(index());
    place.textContent = "step " + (index() + 1) + " of " + steps.length;
    now.textContent = step ? run.threads[step.thread] + (step.memory_system ? " (memory): " : ", line " + step.line + ": ") +
      (all ? step.text : step.event || step.text) : "";
    now.classList.toggle("failed", Boolean(step && step.failed));
    threads.replaceChildren(...run.threads.map((_, t) => threadPanel(t)));
    const before = at > 0 ? run.steps[at - 1].memory : run.initial;
    const rows = Object.entries(step ? step.memory : run.initial).map(([cell, value]) =>
      el("tr", before[cell] === value ? "" : "changed", el("td", "", cell), el("td", "", String(value))));
    memory.replaceChildren(el("h3", "", "memory"), el("table", "memory", ...rows));
    const held = Object.entries(step ? step.buffers : {}).map(([name, entries]) =>
      el("tr", "", el("td", "", name), el("td", "", entries.join("; "))));
    buffers.replaceChildren(el("h3", "", "buffers"), held.length ? el("table", "memory", ...held) : el("span", "faint", "empty"));
    histories.replaceChildren(el("h3", "", "histories"), el("table", "memory",
      ...history().map(([cell, values]) => el("tr", "", el("td", "", cell), el("td", "", values)))));
    list.replaceChildren(...steps.map((i, k) => {
      const one = run.steps[i];
      const item = el("li", i === at ? "here" : "", el("span", "who", run.threads[one.thread]),
        el("span", "what" + (one.failed ? " failed" : ""), (one.memory_system ? "~ " : one.line + ": ") + (all ? one.text : one.event || one.text)));
      item.tabIndex = 0;
      item.addEventListener("click", () => go(k));
      item.addEventListener("keydown", (e) => { if (e.key === "Enter") go(k); });
      return item;
    }));
    const here = list.querySelector(".here");
    if (here) list.scrollTop = here.offsetTop - list.offsetTop - list.clientHeight / 2;
    if (run.graph.nodes.length) graph.replaceChildren(drawing(at));
  }

  // Threads are columns, time goes down; initial values stand on top.
  function drawing(now) {
    const ns = "http://www.w3.org/2000/svg";
    const svgEl = (tag, attributes, text) => {
      const made = document.createElementNS(ns, tag);
      for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
      if (text) made.textContent = text;
      return made;
    };
    const nodes = run.graph.nodes;
    const longest = Math.max(...nodes.map((node) => node.label.length), 6);
    const wide = longest * 8 + 20, across = wide + 70, down = 52, high = 26;
    const places = [];
    const rows = [];
    let initial = 0;
    nodes.map((node, i) => [node, i]).sort((a, b) => (a[0].step ?? -1) - (b[0].step ?? -1)).forEach(([node, i]) => {
      if (node.thread === null) {
        places[i] = { x: 20 + initial++ * (wide + 16), y: 24 };
      } else {
        const same = rows.length && rows[rows.length - 1].step === node.step && rows[rows.length - 1].thread === node.thread;
        rows.push({ step: node.step, thread: node.thread });
        places[i] = { x: 20 + node.thread * across, y: 64 + down * rows.length - (same ? 12 : 0) };
      }
    });
    const width = Math.max(run.threads.length * across, initial * (wide + 16)) + 60;
    const height = 104 + down * (rows.length + 1);
    const svg = svgEl("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "execution graph" });
    const defs = svgEl("defs", {});
    for (const kind of ["po", "rf", "co", "fr"]) {
      const marker = svgEl("marker", { id: "arrow-" + kind, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
      marker.append(svgEl("path", { d: "M0 0 L8 4 L0 8 z", style: "fill: var(--" + kind + ")" }));
      defs.append(marker);
    }
    svg.append(defs);
    svg.append(svgEl("text", { x: 20, y: 16 }, "initial values"));
    run.threads.forEach((name, t) => svg.append(svgEl("text", { x: 20 + t * across, y: 104, "font-weight": "bold" }, name)));
    for (const [from, to, kind] of run.graph.edges) {
      const a = places[from], b = places[to];
      const later = (nodes[from].step ?? -1) > now || (nodes[to].step ?? -1) > now;
      let path;
      if (Math.abs(a.x - b.x) < 2) {
        const side = kind === "po" ? 0 : kind === "co" ? wide / 2 + 14 : wide / 2 + 26;
        const x = a.x + wide / 2;
        const forward = b.y > a.y;
        path = side === 0 ? `M${x} ${a.y + high} L${x} ${b.y - 1}`
          : `M${x + wide / 2} ${a.y + high / 2} C${x + side + 12} ${a.y + high / 2} ${x + side + 12} ${b.y + high / 2} ${x + wide / 2 + 1} ${b.y + high / 2}`;
        if (side === 0 && !forward) path = `M${x} ${a.y} L${x} ${b.y + high + 1}`;
      } else if (Math.abs(a.x - b.x) < wide + 4 || nodes[from].thread === null || nodes[to].thread === null) {
        // One stands above the other: from below it, to the top of the other.
        const down = b.y > a.y;
        const shift = kind === "co" ? -wide / 5 : kind === "rf" ? wide / 5 : wide / 3;
        const x1 = a.x + wide / 2 + shift, x2 = b.x + wide / 2 + shift;
        const y1 = down ? a.y + high : a.y, y2 = down ? b.y - 1 : b.y + high + 1;
        path = `M${x1} ${y1} C${x1} ${(y1 + y2) / 2} ${x2} ${(y1 + y2) / 2} ${x2} ${y2}`;
      } else {
        const right = b.x > a.x;
        const x1 = a.x + (right ? wide : 0), x2 = b.x + (right ? -1 : wide + 1);
        path = `M${x1} ${a.y + high / 2} C${(x1 + x2) / 2} ${a.y + high / 2} ${(x1 + x2) / 2} ${b.y + high / 2} ${x2} ${b.y + high / 2}`;
      }
      svg.append(svgEl("path", { d: path, fill: "none", "stroke-width": 1.5, "marker-end": `url(#arrow-${kind})`,
        style: "stroke: var(--" + kind + ")", class: later ? "later" : "" }));
    }
    nodes.forEach((node, i) => {
      const { x, y } = places[i];
      const later = (node.step ?? -1) > now;
      const group = svgEl("g", { class: later ? "later" : "" });
      group.append(svgEl("rect", { x, y, width: wide, height: high, rx: 5, class: "box" + (node.step === now ? " here" : "") }));
      group.append(svgEl("text", { x: x + wide / 2, y: y + 17, "text-anchor": "middle" }, node.label));
      svg.append(group);
    });
    return svg;
  }

  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target instanceof HTMLInputElement && e.target.type === "range") return;
    const keys = { ArrowRight: () => move(1), ArrowLeft: () => move(-1), n: () => move(1), p: () => move(-1),
      Home: () => go(0), End: () => go(order().length - 1) };
    if (keys[e.key]) { keys[e.key](); e.preventDefault(); }
  });
  show();
}

heading();
if (data.document.next) next();
if (data.run) run();
if (data.timeline && data.timeline.events.length) timeline();
if (data.patch) patch();
if (data.invariant.length || data.places.length) proof();
if (data.text) section("In words", el("pre", "panel", data.text));
const runs = (data.document.runs || []).map(({ input, model, verdict, certified, reason }) =>
  ({ file: input, model, verdict, certified: certified ? "certified" : "", reason }));
const rows = data.document.tests || data.document.rows || runs;
if (rows && rows.length) table(rows);
const isHeap = ["shape", "linearize"].includes(data.document.command);
if (data.drawings.length) main.append(el("p", "faint", isHeap
  ? "Boxes are objects, hexagons threads. A double line stands for several objects, a dashed outline for one that may be absent; dotted arrows and = 1/2 are unknown."
  : "Thick arrows are steps of the run. Orange: stores; green: loads; purple: atomic steps; blue: fences; red: assertions; yellow: labels."));
for (const drawing of data.drawings) {
  // Drawings are made by palisade itself, never taken from the input.
  const holder = el("div", "panel drawing scroll");
  holder.innerHTML = drawing.svg;
  section(drawing.title, holder);
}
if (data.source && !data.document.tests) wholeSource();
