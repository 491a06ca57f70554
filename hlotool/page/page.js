// The page: its tables, the one selection, what the address says of it, and the start of all charts.
const get = (id) => document.getElementById(id);
const css = (name) => (document.documentElement.dataset.print !== undefined ? { "--ink": "#1a1a1f", "--quiet": "#5c5f66", "--line": "#d9dbe0", "--paper": "#ffffff", "--raised": "#f5f6f8", "--accent": "#0b5cad" }[name] : getComputedStyle(document.documentElement).getPropertyValue(name).trim());

async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

const page = {
  models: [], lanes: [], chosen: null, side: "", icicle: null, roof: null,
  model(side) { return this.models.find((each) => each.label === side) ?? this.models[0]; },
  lanesOf(model) { return this.lanes.find((each) => each.model === model); },
  sayTransfer, sayValue,
  // The space that is looked at, and the step of which bytes are told: a chosen one, else the peak.
  instant(model) {
    const space = this.lanesOf(model)?.space ?? null, place = this.chosen?.kind === "instruction" && model.label === this.side ? model.places.get(this.chosen.name) : undefined;
    return { space, step: place !== undefined && place < model.steps && this.isAtChosen ? place : space?.raw.peak ?? 0 };
  },
  // What of a program is selected: steps, values by space, a range, a scope.
  marked(model) {
    const { chosen } = this, found = { steps: [], values: new Map(), range: null, scope: "" };
    if (!chosen || model.label !== this.side) return found;
    if (this.known?.chosen === chosen) return this.known.found;
    const within = (word) => { const text = model.word(word); return text === chosen.name || text.startsWith(`${chosen.name}/`); };
    const belongs = chosen.kind === "scope" ? within : (word) => model.word(word) === chosen.name;
    if (chosen.kind === "range") found.range = [Math.min(chosen.from, model.steps), Math.min(chosen.until, model.steps)];
    if (chosen.kind === "instruction") {
      const place = model.places.get(chosen.name);
      if (place < model.steps) found.steps = [place];
      for (const space of model.spaces) found.values.set(space, Array.from(space.instruction, (each, value) => (each === place ? value : -1)).filter((value) => value >= 0));
    }
    if (chosen.kind === "value") {
      const [space, value] = findValue(model, chosen.name, chosen.space) ?? [];
      if (space) { found.values.set(space, [value]); if (space.instruction[value] < model.steps) found.steps = [space.instruction[value]]; }
    }
    if (chosen.kind === "scope" || chosen.kind === "source") {
      const answers = new Map(), has = (word) => { if (!answers.has(word)) answers.set(word, word >= 0 && belongs(word)); return answers.get(word); };
      for (let step = 0; step < model.steps; step += 1) if (has(model[chosen.kind][step])) found.steps.push(step);
      for (const space of model.spaces) found.values.set(space, Array.from(space[chosen.kind], (word, value) => (has(word) ? value : -1)).filter((value) => value >= 0));
      if (chosen.kind === "scope") found.scope = chosen.name;
    }
    this.known = { chosen, found };
    return found;
  },
  select(chosen, model, isNew = true) {
    this.chosen = chosen;
    this.side = model?.label ?? "";
    this.known = null;
    if (isNew) this.write(true);
    this.showPanel();
    for (const each of this.lanes) each.drawMarks();
    this.icicle?.draw();
    this.markRows();
  },
  markRows() {
    const model = this.model(this.side), found = this.chosen ? this.marked(model) : null;
    const names = new Set(found ? [...found.steps.map((step) => model.names[step]), ...[...found.values].flatMap(([space, list]) => list.map((value) => model.names[space.instruction[value]]))] : []);
    if (this.chosen?.kind === "instruction") names.add(this.chosen.name);
    for (const link of document.querySelectorAll("main a.name")) {
      const isMarked = link.dataset.side === this.side && (names.has(link.dataset.name) || (link.dataset.kind === "scope" && link.dataset.name === this.chosen?.name));
      (link.closest("tr") ?? link).classList.toggle("marked", isMarked);
    }
  },
  showPanel() {
    const panel = get("panel"), { chosen } = this, wasOpen = !panel.hidden;
    panel.hidden = !chosen;
    document.body.classList.toggle("panelled", Boolean(chosen));
    if (chosen) {
      const model = this.model(this.side), found = this.marked(model);
      const body = { instruction: () => describeInstruction(model, chosen.name), value: () => describeValue(model, chosen.name, chosen.space), range: () => describeRange(model, ...found.range, this.lanesOf(model)?.space), scope: () => describeGroup(model, found.steps, found.values), source: () => [...quoteText(model, chosen.name), ...describeGroup(model, found.steps, found.values)] }[chosen.kind]();
      const title = chosen.kind === "range" ? `steps ${found.range.map((each) => each.toLocaleString("en")).join(" to ")}` : chosen.name;
      get("panel-body").replaceChildren(make("p", chosen.kind + (model.label ? ` of ${model.label}` : ""), { class: "kind" }), make("h2", title), ...body);
      panel.scrollTop = 0;
    }
    if (wasOpen !== !panel.hidden) this.resize();
  },
  resize() {
    for (const each of this.lanes) { each.layOut(); each.draw(); }
    this.icicle?.draw();
    if (this.roof?.points.length) this.roof.draw();
  },
  viewed() { this.write(false); },
  // The address says what is looked at, so that it can be mailed, and Back goes back.
  write(isNew) {
    if (this.isReading) return;
    const said = new URLSearchParams(), [first] = this.lanes, { chosen } = this;
    if (chosen) said.set("sel", [chosen.kind, ...(chosen.kind === "range" ? [`${chosen.from}-${chosen.until}`] : chosen.kind === "value" ? [chosen.space, chosen.name] : [chosen.name])].join(":"));
    if (chosen && this.side) said.set("side", this.side);
    if (first?.isTimed) said.set("x", "time");
    this.lanes.forEach((each, place) => { if (each.view) said.set(place ? `v${place}` : "v", each.view.map((number) => Number(number.toPrecision(9))).join("~")); });
    if (first?.space && first.space !== first.model.spaces[0]) said.set("space", first.space.raw.number);
    if (first && first.by !== "type") said.set("group", first.by);
    if (this.icicle && this.icicle.measure !== "bytes") said.set("measure", this.icicle.measure);
    if (this.icicle && this.icicle.by !== "scope") said.set("by", this.icicle.by);
    if (this.icicle?.root) said.set("in", this.icicle.root);
    const hash = `#${said}`;
    if (hash === (location.hash || "#")) return;
    if (isNew) { this.wrote = hash; location.hash = hash; } else history.replaceState(null, "", hash);
  },
  read() {
    const said = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : ""), [first] = this.lanes;
    this.isReading = true;
    const isTimed = said.get("x") === "time", by = said.get("group") ?? "type";
    this.lanes.forEach((each, place) => {
      each.isTimed = isTimed && Boolean(each.model.timeAxis);
      const view = said.get(place ? `v${place}` : "v")?.split("~").map(Number);
      each.view = view?.length === 2 && view.every(Number.isFinite) && view[0] < view[1] ? view : null;
      each.space = each.model.spaces.find((one) => one.raw.number === Number(said.get("space"))) ?? each.model.spaces[0] ?? null;
      each.by = ["type", "scope", "dtype"].includes(by) ? by : "type";
      each.build();
    });
    if (this.icicle) Object.assign(this.icicle, { measure: MEASURES[said.get("measure")] ? said.get("measure") : "bytes", by: ["stack", "source", "parameter"].includes(said.get("by")) ? said.get("by") : "scope", root: said.get("in") ?? "" });
    for (const [id, value] of [["x-axis", isTimed ? "time" : "step"], ["grouping", first?.by], ["space", String(first?.space?.raw.number ?? "")], ["measure", this.icicle?.measure], ["tree", this.icicle?.by]]) if (get(id) && value !== undefined) get(id).value = value;
    const [kind, ...rest] = (said.get("sel") ?? "").split(":"), name = rest.join(":");
    const range = /^(\d+)-(\d+)$/.exec(name);
    const chosen = kind === "range" && range ? { kind, from: Number(range[1]), until: Number(range[2]) } : kind === "value" ? { kind, space: Number(rest[0]), name: rest.slice(1).join(":") } : ["instruction", "scope", "source"].includes(kind) ? { kind, name } : null;
    this.select(chosen, this.model(said.get("side") ?? ""), false);
    this.resize();
    this.isReading = false;
  },
};

// Tables: numbers sort as numbers, the largest first; names as people count.
for (const part of document.querySelectorAll("details.table")) {
  const body = part.querySelector("tbody"), heads = [...part.querySelectorAll("th")], natural = new Intl.Collator("en", { numeric: true });
  // Where a window is too narrow for columns, each cell says whose it is: page.css shows it there.
  const narrow = window.matchMedia("(max-width: 700px)");
  const nameCells = () => { if (narrow.matches) for (const row of body.rows) [...row.cells].forEach((cell, column) => { cell.dataset.head = heads[column].textContent; }); };
  narrow.addEventListener("change", nameCells);
  nameCells();
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const isNumber = head.classList.contains("number"), before = head.getAttribute("aria-sort");
    const isRising = before ? before === "descending" : !isNumber;
    heads.forEach((each) => each.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", isRising ? "ascending" : "descending");
    const value = (row) => { const cell = row.cells[column]; return isNumber ? (cell.dataset.v === undefined ? -Infinity : Number(cell.dataset.v)) : cell.textContent; };
    const rows = [...body.rows].map((row) => [value(row), row]);
    rows.sort(([a], [b]) => (isNumber ? a - b : natural.compare(a, b)) * (isRising ? 1 : -1));
    body.append(...rows.map(([, row]) => row));
  }));
  part.querySelector("input")?.addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of body.rows) { const text = row.textContent.toLowerCase(); row.hidden = !words.every((word) => text.includes(word)); }
  });
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("a.name");
  if (link) {
    event.preventDefault();
    page.select({ kind: link.dataset.kind ?? "instruction", name: plain(link.dataset.name ?? ""), space: Number(link.dataset.space ?? 0) }, page.model(link.dataset.side));
    return;
  }
  const anchor = event.target.closest("nav a[href^='#']");
  if (anchor) { // the fragment says what is selected; a part of the page is only gone to
    event.preventDefault();
    const part = get(anchor.getAttribute("href").slice(1));
    if (part.matches("details")) part.open = true;
    part.scrollIntoView();
  }
  if (event.target.closest("[data-act='zoom']")) {
    const model = page.model(page.side), lanes = page.lanesOf(model), { edges } = lanes.axis, [from, until] = page.marked(model).range;
    lanes.show(edges[from], Math.max(edges[until + 1] - edges[from], (lanes.axis.last - lanes.axis.first) / 1e7));
  }
});

// Names in sentences and tables: a word that can only be one, as `fusion.3`, or all of a cell that names
// what its row is about; of two programs the new one's first, but for what stands before an arrow.
function linkNames(part, side = "") {
  const models = [...page.models].reverse(), named = page.models.find((each) => each.label === side && page.models.length > 1);
  for (const node of [...part.childNodes].filter((each) => each.nodeType === Node.TEXT_NODE)) {
    const text = plain(node.textContent), [whole, ...known] = named ? [named, ...models] : models;
    const place = (name) => name.replace(/\{[\d,]*\}$/, "");
    if (part.tagName === "TD" && whole?.places.has(place(text))) { node.replaceWith(linkTo(whole, "instruction", place(text), text)); continue; }
    const arrow = text.indexOf("→");
    let at = 0;
    const pieces = text.split(/([^\s,;:()]*[.\d][^\s,;:()]*)/).map((word) => {
      const name = place(word.replace(/\.$/, "")), isOld = at < arrow && page.models.length > 1;
      at += word.length;
      const model = /[.\d]/.test(name) ? (isOld ? page.models : [whole, ...known]).find((each) => each?.places.has(name)) : undefined;
      return model ? [linkTo(model, "instruction", name, word.replace(/\.$/, "")), word.slice(word.replace(/\.$/, "").length)] : [word];
    });
    node.replaceWith(...pieces.flat());
  }
}

// The palette: `/` opens it over names, scopes and source lines, or what a condition of `--where` holds for.
function listFound(words) {
  const found = [];
  for (const model of page.models) {
    const met = new Set();
    const add = (kind, name) => { const key = `${kind}:${name}`; if (found.length < 60 && name && !met.has(key) && words.every((word) => name.toLowerCase().includes(word))) { met.add(key); found.push([model, kind, name]); } };
    for (const kind of ["scope", "source"]) for (const word of new Set(model[kind])) add(kind, model.word(word));
    for (const name of model.names) { if (found.length >= 60) break; add("instruction", name); }
  }
  return found;
}
// What a condition holds for, and how much that is; or why it is none.
function listHeld(text) {
  const found = [], refused = [];
  const ask = (fields, list) => { try { const test = parseWhere(text, fields); for (const [make, get] of list()) if (test(get)) found.push(make); } catch (error) { if (!(error instanceof Refused)) throw error; refused.push(error.message); } };
  for (const model of page.models) {
    ask(INSTRUCTION_FIELDS, () => listRunning(model).map((one) => [[model, "instruction", model.names[one]], readInstruction(model, one)]));
    ask(VALUE_FIELDS, () => model.spaces.flatMap((space) => Array.from(space.instruction, (_, value) => [[model, "value", model.valueName(space, value), space], readValue(space, value)])));
  }
  return { found, refused: refused.length === 2 * page.models.length ? refused : [] };
}
function startPalette() {
  const palette = get("palette"), input = palette.querySelector("input"), list = palette.querySelector("ul"), said = palette.querySelector("p");
  const open = () => { palette.showModal(); input.value = ""; input.dispatchEvent(new Event("input")); input.focus(); };
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isCondition = /[=<>~]|\s(?:in|contains)\s/.test(input.value), { found, refused } = isCondition ? listHeld(input.value) : { found: words.length ? listFound(words) : [], refused: [] };
    list.replaceChildren(...found.slice(0, 60).map(([model, kind, name, space]) => { const item = make("li"); item.append(linkTo(model, kind, name, name, space ? { "data-space": space.raw.number } : {}), ` ${kind}${model.label ? `, ${model.label}` : ""}`); return item; }));
    said.textContent = refused.length ? [...new Set(refused)].join("; ") : isCondition ? `holds for ${found.length.toLocaleString("en")}${found.length > 60 ? ", of which 60 are listed" : ""}` : "";
  });
  palette.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); (event.target.closest("a") ?? list.querySelector("a"))?.click(); } });
  palette.addEventListener("click", (event) => { if (event.target.closest("a") || event.target === palette) palette.close(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.closest("input, select, textarea")) { event.preventDefault(); open(); }
    if (event.key === "Escape" && !palette.open && page.chosen) page.select(null);
  });
  get("find").addEventListener("click", open);
}

async function start() {
  const data = await unpack(get("data").textContent);
  page.models = data.sides.map((raw, place) => raw && new Model(raw, data.labels[place])).filter(Boolean);
  const drawn = page.models.filter((each) => each.steps), isPair = data.labels.length > 1;
  const most = Math.max(0, ...drawn.map((each) => each.spaces[0]?.most ?? 0));
  if (isPair) page.colorsOf = (by) => pickColors([...new Set(drawn.flatMap((each) => each.spaces[0]?.stack(by).names ?? []))]);
  for (const part of document.querySelectorAll("[data-needs]")) part.hidden = !{ lanes: drawn.length, tree: !isPair && drawn.length, work: !isPair && page.models[0]?.raw.outline.what.length }[part.dataset.needs];
  get("problem").textContent = page.models.map((each) => each.raw.problem).filter(Boolean).join(" ");
  get("problem").hidden = !get("problem").textContent;
  for (const model of drawn) {
    const place = make("div", null, { class: "lanes" });
    if (model.label) get("lanes").append(make("h3", model.label));
    get("lanes").append(place);
    page.lanes.push(new Lanes(model, place, page, { only: isPair ? ["program", "work", "axis", "memory"] : null, most: isPair ? most : 0 }));
  }
  const [model] = drawn;
  if (model) {
    get("x-axis").disabled = !model.timeAxis;
    const spaces = [...new Map(drawn.flatMap((each) => each.spaces.map((space) => [space.raw.number, space.raw.name])))];
    for (const [number, name] of spaces) get("space").append(make("option", name, { value: number }));
    get("space").parentElement.hidden = spaces.length < 2;
    get("grouping").parentElement.hidden = !spaces.length;
    if (!isPair) page.icicle = new Icicle(model, get("tree-chart"), page);
  }
  page.read();
  performance.mark("charts");
  document.documentElement.dataset.charts = "drawn";
  const on = (id, act) => get(id)?.addEventListener("change", (event) => { act(event.target.value); page.resize(); page.write(false); });
  on("x-axis", (value) => page.lanes.forEach((each) => { each.isTimed = value === "time" && Boolean(each.model.timeAxis); each.view = null; }));
  on("grouping", (value) => page.lanes.forEach((each) => { each.by = value; each.build(); }));
  on("space", (value) => page.lanes.forEach((each) => { each.space = each.model.spaces.find((one) => one.raw.number === Number(value)) ?? each.space; each.build(); }));
  on("measure", (value) => { page.icicle.measure = value; page.icicle.root = ""; });
  on("tree", (value) => { page.icicle.by = value; page.icicle.root = ""; });
  get("tree-words")?.addEventListener("input", (event) => { page.icicle.words = event.target.value; page.icicle.draw(); });
  addEventListener("hashchange", () => { if (page.wrote === location.hash) page.wrote = null; else page.read(); });
  addEventListener("resize", () => page.resize());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.resize());
  addEventListener("beforeprint", () => { document.documentElement.dataset.print = ""; page.resize(); });
  addEventListener("afterprint", () => { delete document.documentElement.dataset.print; page.resize(); });
  get("close").addEventListener("click", () => page.select(null));
  startPalette();
  setTimeout(() => {
    for (const link of document.querySelectorAll("#verdict a.name")) if (!page.models[0]?.places.has(plain(link.dataset.name))) link.replaceWith(...link.childNodes);
    for (const cell of document.querySelectorAll("td.key")) linkNames(cell, cell.parentElement.dataset.side ?? "");
    for (const sentence of document.querySelectorAll("#verdict p")) {
      const own = sentence.querySelector("a.name");
      linkNames(sentence);
      if (own && [...sentence.querySelectorAll("a.name")].some((each) => each !== own && each.dataset.name === own.dataset.name)) own.remove(); // its sentence names it
    }
    if (!isPair && page.models[0]) {
      drawOutline(page.models[0], get("steps"));
      drawAxes(page.models[0], get("axes"));
      page.roof = new Roof(page.models[0], get("roof-chart"), page);
      get("roof").hidden = !page.roof.points.length;
      const { chip } = page.models[0].raw;
      get("roof-hint").textContent = `${chip?.is_rated ? `Right of the line (${page.models[0].raw.ridge.toFixed(0)} flops for each byte) ${chip.name} computes bfloat16 all the time; left of it, it waits for memory. Dark dots are limited by arithmetic, by the type they compute in. ` : "No chip known here stands for this backend, so there is no line. "}What moves less than a millionth of the largest is left out.`;
      if (page.roof.points.length) page.roof.draw();
    }
    page.markRows();
    document.documentElement.dataset.ready = "";
  }, 0);
}
window.hlotool = page;
start();
