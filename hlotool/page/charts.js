// Charts beside the lanes: the icicle, what is sent by axis, operations under the roof, and the outline.
const MEASURES = { bytes: ["bytes", bytes], traffic_bytes: ["memory traffic", bytes], seconds: ["estimated time", seconds], flops: ["flops", count], sent_bytes: ["bytes sent", bytes], exposed_bytes: ["exposed bytes", bytes] };

class Icicle {
  constructor(model, canvas, page) {
    Object.assign(this, { model, canvas, page, measure: "bytes", by: "scope", words: "", root: "" });
    canvas.addEventListener("pointermove", (event) => {
      const box = this.at(event);
      get("tree-tip").textContent = box ? this.say(box[0]) : " ";
    });
    canvas.addEventListener("click", (event) => {
      const box = this.at(event);
      if (!box) return;
      const [node] = box;
      if (node.reference) this.page.select(node.reference, model);
      else if (this.by === "scope" && node.path) this.page.select({ kind: "scope", name: node.path }, model);
      else if (this.by === "source" || this.by === "stack") { // the last part is a line, with its function
        const [source] = node.path.split("/").at(-1).split(" ");
        if (source.includes(":")) this.page.select({ kind: "source", name: source }, model);
      }
      if (node.children.length) this.open(node.path === this.root ? "" : node.path);
    });
  }
  open(path) { this.root = path; this.draw(); this.page.viewed(); }
  say(node) { return `${node.path || "all"}: ${MEASURES[this.measure][1](node.value)}, ${percent(node.value / this.tree.value)}`; }
  // `of` has the words of a value or an instruction: the space, or the model.
  parts(of, one, name) {
    const source = this.model.word(of.source[one]) || UNKNOWN;
    if (this.by === "source") return [source.split(":")[0], source, name];
    if (this.by === "stack") {
      const frames = this.model.stack(of.frame[one]).map((each) => this.model.word(each.what).replaceAll("/", "∕")).reverse();
      return [...(frames.length ? frames : [source]), name];
    }
    return [...(this.model.word(of.scope[one]) || UNKNOWN).split("/"), name];
  }
  *rows() {
    const { model } = this, { space, step } = this.page.instant(model);
    if (this.measure === "bytes") {
      for (const [value, held] of space ? space.holders(step) : []) {
        const name = model.valueName(space, value), home = space.allocation[value], parameter = model.word(space.raw.allocations.parameter[home]);
        const parts = this.by === "parameter" ? [parameter || `no parameter: ${model.word(space.raw.allocations.type[home])}`, name] : this.parts(space, value, name);
        yield [parts, held, { kind: "value", name, space: space.raw.number }];
      }
      return;
    }
    if (this.measure === "sent_bytes" || this.measure === "exposed_bytes") {
      for (const each of model.transfers) yield [this.parts(model, each.start, model.names[each.start]), each[this.measure] ?? 0, { kind: "instruction", name: model.names[each.start] }];
      return;
    }
    for (let one = 0; one < model.size; one += 1) {
      if (model[this.measure][one] && (this.measure === "seconds" || !FLOW.has(model.word(model.opcode[one])))) yield [this.parts(model, one, model.names[one]), model[this.measure][one], { kind: "instruction", name: model.names[one] }];
    }
  }
  draw() {
    const { canvas } = this, width = Math.max(200, canvas.parentElement.clientWidth), row = 22, ratio = window.devicePixelRatio || 1;
    const key = [this.measure, this.by, this.page.instant(this.model).step, this.page.instant(this.model).space?.raw.number].join();
    if (this.key !== key) { this.tree = growTree(this.rows()); this.key = key; }
    const node = (this.root && findNode(this.tree, this.root)) || this.tree;
    this.boxes = this.tree.value ? layTree(node, 1.5 / width) : [];
    const levels = this.boxes.reduce((most, [, level]) => Math.max(most, level + 1), 1), height = levels * row + 2;
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d"), words = this.words.toLowerCase();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    let fork = this.tree;
    while (fork.children.length === 1) [fork] = fork.children; // where all share a path, what is below it has the colours
    const depth = fork.path ? fork.path.split("/").length : 0, keyOf = (each) => foldNumbers(each.path.split("/").slice(0, depth + 1).join("/"));
    const names = pickColors([...new Set(this.boxes.filter(([, level]) => level).map(([each]) => keyOf(each)))]);
    for (const [each, level, from, until] of this.boxes) {
      const left = from * width, wide = (until - from) * width, isFound = words && each.path.toLowerCase().includes(words);
      pen.globalAlpha = words && !isFound ? 0.25 : 1;
      pen.fillStyle = !level ? css("--raised") : isFound ? "#f0e442" : names.get(keyOf(each));
      pen.fillRect(left, level * row, wide, row - 1);
      pen.strokeStyle = css("--paper");
      pen.strokeRect(left + 0.5, level * row + 0.5, Math.max(0, wide - 1), row - 2);
      const letters = Math.floor((wide - 8) / 6.5);
      if (letters > 2) {
        pen.fillStyle = level ? "#101114" : css("--ink");
        const text = `${each.name} ${MEASURES[this.measure][1](each.value)}`;
        pen.fillText(short(text.length <= letters ? text : this.by === "stack" ? each.name.split("/").at(-1) : each.name, letters), left + 4, level * row + row / 2);
      }
    }
    pen.globalAlpha = 1;
    get("tree-hint").textContent = this.tree.value ? `${this.say(node)}${this.root ? "; click its box to go back" : ""}` : "Nothing to show by this measure.";
  }
  at(event) {
    const box = this.canvas.getBoundingClientRect(), x = (event.clientX - box.left) / box.width, level = Math.floor((event.clientY - box.top) / 22);
    return (this.boxes ?? []).find(([, each, from, until]) => each === level && from <= x && x < until) ?? null;
  }
}

// Bars of what is sent by axes and kind: what is exposed is strong.
function drawAxes(model, place) {
  const sums = new Map();
  for (const each of model.transfers) {
    const key = `${model.word(each.axes)}: ${model.word(each.kind)}`, sum = sums.get(key) ?? { sent: 0, exposed: 0, unknown: 0, isOpen: false };
    sum.sent += each.sent_bytes;
    if (each.exposed_bytes === null) sum.unknown += each.sent_bytes;
    else sum.exposed += each.exposed_bytes;
    sum.isOpen ||= Boolean(each.is_bound);
    sums.set(key, sum);
  }
  const most = Math.max(1, ...[...sums.values()].map((each) => each.sent));
  const table = make("table", null, { class: "bars" });
  for (const [key, sum] of [...sums].sort((a, b) => b[1].sent - a[1].sent)) {
    const row = make("tr"), bar = make("td", null, { class: "bar" });
    for (const [size, name] of [[sum.sent - sum.exposed - sum.unknown, "hidden"], [sum.unknown, "unknown"], [sum.exposed, "exposed"]]) {
      const part = make("span", null, { class: name });
      part.style.width = `${(100 * size) / most}%`;
      bar.append(part);
    }
    row.append(make("th", key, { scope: "row" }), make("td", `${sum.isOpen ? "≥ " : ""}${bytes(sum.sent)}`, { class: "number" }), make("td", sum.unknown ? "exposed: ?" : `${percent(sum.sent ? sum.exposed / sum.sent : 0)} exposed`, { class: "number" }), bar);
    table.append(row);
  }
  place.replaceChildren(table);
  place.parentElement.hidden = !sums.size;
}

// Operations by flops for each byte and by traffic, both on logarithmic scales.
class Roof {
  constructor(model, canvas, page) {
    Object.assign(this, { model, canvas });
    this.points = [];
    const most = model.traffic_bytes.reduce((best, each) => Math.max(best, each), 0);
    for (let one = 0; one < model.size; one += 1) {
      if (model.flops[one] && model.traffic_bytes[one] * 1e6 >= most && !FLOW.has(model.word(model.opcode[one]))) this.points.push([model.flops[one] / model.traffic_bytes[one], model.traffic_bytes[one], one]);
    }
    canvas.addEventListener("pointermove", (event) => { const one = this.near(event); get("roof-tip").textContent = one === null ? " " : `${model.names[one]}: ${bytes(model.traffic_bytes[one])} of traffic, ${count(model.flops[one])} flops ${model.word(model.scope[one])}`; });
    canvas.addEventListener("click", (event) => { const one = this.near(event); if (one !== null) page.select({ kind: "instruction", name: model.names[one] }, model); });
  }
  draw() {
    const { canvas, points, model } = this, width = Math.max(200, canvas.parentElement.clientWidth), height = 324, top = 18, foot = 40, ratio = window.devicePixelRatio || 1, left = 68;
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d"), chip = model.raw.chip;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const xs = points.map(([each]) => each).concat(chip?.is_rated ? [model.raw.ridge] : []), ys = points.map(([, each]) => each);
    const range = (list) => { const low = Math.log10(list.reduce((a, b) => Math.min(a, b))), high = Math.log10(list.reduce((a, b) => Math.max(a, b))); const spare = Math.max(0, 2 - (high - low)) / 2; return [low - 0.1 - spare, high + 0.15 + spare]; };
    const [x0, x1] = range(xs), [y0, y1] = range(ys);
    this.x = (value) => left + ((Math.log10(value) - x0) / (x1 - x0)) * (width - left - 4);
    this.y = (value) => height - foot - ((Math.log10(value) - y0) / (y1 - y0)) * (height - foot - top);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = css("--quiet");
    pen.strokeStyle = css("--line");
    const apart = Math.ceil((42 * (x1 - x0)) / (width - left)); // so that no label runs into the next
    for (let power = Math.ceil(x0); power <= x1; power += 1) { const x = this.x(10 ** power); pen.strokeRect(x, top, 0.01, height - foot - top); if (power % apart === 0) pen.fillText(power < -3 ? `1e${power}` : count(10 ** power), x + 2, height - foot + 14); }
    for (let power = Math.ceil((y0 * Math.log2(10)) / 5) * 5; power <= y1 * Math.log2(10); power += 5) { const y = this.y(2 ** power); pen.strokeRect(left, y, width - left, 0.01); pen.fillText(bytes(2 ** power), 2, y + 4); }
    pen.fillText("traffic", 2, 10);
    pen.textAlign = "right";
    pen.fillText("flops for each byte", width - 4, height - 6);
    pen.textAlign = "left";
    pen.globalAlpha = 0.8;
    for (const [x, y, one] of points) {
      pen.fillStyle = CLASSES[model.limit[one] === 2 ? "memory" : "compute"][0];
      pen.beginPath();
      pen.arc(this.x(x), this.y(y), 4, 0, 7);
      pen.fill();
    }
    pen.globalAlpha = 1;
    if (chip?.is_rated) { pen.setLineDash([6, 4]); pen.strokeStyle = css("--ink"); pen.strokeRect(this.x(model.raw.ridge), top, 0.01, height - foot - top); pen.setLineDash([]); }
  }
  near(event) {
    const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    let best = null, least = 12 ** 2;
    for (const [across, up, one] of this.points) {
      const far = (this.x(across) - x) ** 2 + (this.y(up) - y) ** 2;
      if (far < least) { least = far; best = one; }
    }
    return best;
  }
}

// The program as it runs: a tree that folds.
function drawOutline(model, place) {
  const told = model.raw.outline, lists = new Map([[-1, make("ul")]]), holding = new Set(told.parent);
  told.what.forEach((what, number) => {
    const item = make("li"), figures = [], low = told.bounds[number], high = Boolean(low & 4), about = told.is_open[number] ? "about " : "";
    if (told.share[number] !== null) figures.push(`${about}${percent(told.share[number])} of work`);
    if (told.flops[number]) figures.push(`${bound(low & 1, high)}${count(told.flops[number])} flops`);
    if (told.traffic_bytes[number]) figures.push(`${bound(low & 2, high)}${bytes(told.traffic_bytes[number])}`);
    if (told.sent_bytes[number] !== null) figures.push(`sends ${about}${bytes(told.sent_bytes[number])}`);
    if (told.exposed_share[number] !== null) figures.push(`${percent(told.exposed_share[number])} exposed`);
    const text = model.word(what) + (told.count[number] > 1 && !model.word(what).includes("×") ? ` ×${told.count[number]}` : "");
    const said = make("span", `  ${figures.join(", ")}`, { class: "figures" }), links = make("span", null, { class: "figures" });
    const label = told.first[number] >= 0 && !holding.has(number) ? linkTo(model, "instruction", model.names[told.first[number]], text) : make("span", text);
    if (told.scope[number] >= 0) links.append("  ", linkTo(model, "scope", model.word(told.scope[number]), short(model.word(told.scope[number]))));
    if (model.word(told.kind[number]) === "collective") label.classList.add("collective");
    if (holding.has(number)) { // what folds holds no links itself
      const folded = make("details"), head = make("summary"), inner = make("ul"), first = make("li");
      folded.open = told.depth[number] < 1;
      head.append(label, said);
      if (told.first[number] >= 0) first.append(linkTo(model, "instruction", model.names[told.first[number]]));
      first.append(links);
      inner.append(first);
      folded.append(head, inner);
      item.append(folded);
      lists.set(number, inner);
    } else item.append(label, said, links);
    lists.get(told.parent[number]).append(item);
  });
  place.replaceChildren(lists.get(-1));
}
