// The stacked lanes of one program: one canvas, one x axis, one zoom. A lane draws itself between two
// heights, and says what lies at a step and a height.
const TYPES = { parameter: "#0072b2", temp: "#e69f00", output: "#009e73", constant: "#cc79a7", "thread-local": "#8a6fc9" };
const GROUP_COLORS = ["#56b4e9", "#b2df8a", "#8a6fc9", "#f0e442", "#5ab4ac", "#cc79a7", "#a6761d", "#7fc97f", "#bc80bd", "#80b1d3", "#fdb462", "#b3de69"];
const REST_COLOR = "#999999", EXPOSED = "#d55e00", HIDDEN = "#f2c4a0", LIMIT = "#e5484d";
const CLASSES = {
  compute: ["#3b6fd4", "limited by arithmetic"], memory: ["#7fb2e5", "limited by memory"], move: ["#b9bec7", "moves bytes only"],
  transfer: [EXPOSED, "transfer"], flow: ["#8d8d8d", "loop, branch or call"],
};
const WAY_COLORS = ["#8d8d8d", "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"]; // as it is, then each option
const PASS_COLORS = ["", "#cfe8d5", "#d9cdea", "#f7e3b0"];
const TITLE = 18, ROW = 17, GAP = 8;

// A name has one colour on every page: its own, unless a larger group of this page has it.
function pickColors(names) {
  const taken = new Set();
  return new Map(names.map((name) => {
    if (name === REST) return [name, REST_COLOR];
    if (TYPES[name]) return [name, TYPES[name]];
    let place = 0;
    for (const letter of name) place = (place * 31 + letter.codePointAt(0)) % 997;
    let tries = 0;
    while (taken.has((place + tries) % GROUP_COLORS.length) && tries < GROUP_COLORS.length) tries += 1;
    taken.add((place + tries) % GROUP_COLORS.length);
    return [name, GROUP_COLORS[(place + tries) % GROUP_COLORS.length]];
  }));
}

class Lanes {
  // `place` is the element to draw in, `page` is told what is pointed at and chosen; `most` is a scale
  // of bytes that two programs share.
  constructor(model, place, page, { only = null, most = 0 } = {}) {
    Object.assign(this, { model, place, page, only, most });
    this.view = null;
    this.space = model.spaces[0] ?? null;
    this.by = "type";
    this.isTimed = false;
    this.canvas = make("canvas", null, { tabindex: 0, role: "application", "aria-label": `Lanes over the program ${model.label}: arrow keys move the step, plus and minus zoom, Enter opens it` });
    this.over = make("canvas", null, { class: "over", "aria-hidden": "true" });
    this.strip = make("canvas", null, { class: "strip", "aria-label": "Overview of the whole program: drag to choose what the lanes show", role: "img" });
    this.tip = make("div", null, { class: "tip", hidden: "" });
    this.said = make("p", null, { class: "hint said", "aria-live": "polite" });
    const stack = make("div", null, { class: "stack" });
    stack.append(this.canvas, this.over, this.tip);
    place.append(this.strip, stack, this.said);
    this.work = this.classifyWork();
    this.measured = { ...this.work, figure: model.measured, most: model.measured.subarray(0, model.steps).reduce((most, each) => Math.max(most, each), 0), write: seconds };
    this.build();
    this.listen();
  }
  get axis() { return this.isTimed && this.model.timeAxis ? this.model.timeAxis : this.model.stepAxis; }
  get range() { return this.view ?? [this.axis.first, this.axis.last]; }
  get plotWidth() { return this.width - this.left; }
  x(place) { const [from, until] = this.range; return this.left + ((place - from) / (until - from)) * this.plotWidth; }

  // The class of each step's work, and the figure that its bar has: seconds, else bytes of traffic.
  classifyWork() {
    const { model } = this, figure = Float64Array.from(model.raw.times ? model.seconds : model.traffic_bytes);
    const names = Object.keys(CLASSES), of = new Int8Array(model.steps).fill(-1);
    for (let step = 0; step < model.steps; step += 1) {
      const opcode = model.word(model.opcode[step]), flops = model.flops[step], moved = model.traffic_bytes[step];
      const name = model.isTransfer.has(step) ? "transfer" : FLOW.has(opcode) ? "flow"
        : flops ? (model.limit[step] === 2 ? "memory" : "compute") : moved ? "move" : "";
      of[step] = names.indexOf(name);
      if (name === "flow") figure[step] = 0; // what it runs has its figures
    }
    let most = 0;
    for (let step = 0; step < model.steps; step += 1) most = Math.max(most, figure[step]);
    return { of, names, figure, most, write: model.raw.times ? (model.raw.times.is_timed ? seconds : (each) => percent(each / model.timeAxis.last)) : bytes };
  }

  // Which lanes there are, from top to bottom.
  build() {
    const { model } = this;
    this.lanes = [];
    const add = (lane) => { if (!this.only || this.only.includes(lane.kind)) this.lanes.push(lane); };
    const rows = this.listProgram();
    if (rows.length) add({ kind: "program", title: "Program: loops, scopes, passes", height: rows.length * ROW, rows });
    if (this.work.most) add({ kind: "work", title: `Work: ${model.raw.times ? "estimated time" : "memory traffic"} of each step`, height: 52, legend: this.listClasses() });
    if (this.measured.most) add({ kind: "work", work: this.measured, title: "Measured: mean time of each step per run", height: 52, legend: [] });
    for (const [axes, found] of this.listTransfers()) add({ kind: "axis", title: `Sent over ${axes}`, height: found.length * 14 + 2, rows: found, legend: [[EXPOSED, "exposed"], [HIDDEN, "hidden by work"], ...(found.flat().some((each) => each.exposed_share === null) ? [["", "hatched: nobody knows"]] : [])] });
    for (const space of model.spaces) {
      if (!space.most && space !== model.spaces[0]) continue;
      const stack = space.stack(this.by), colors = this.page.colorsOf?.(this.by) ?? pickColors(stack.names);
      add({ kind: "memory", space, stack, colors, title: `Memory of ${space.raw.name}, by ${{ type: "allocation type", scope: "scope", dtype: "element type" }[this.by]}`, height: space === model.spaces[0] ? 150 : 84, legend: [...stack.names.map((name) => [colors.get(name), short(name, 32)]), ...this.sayMost(space).map((text) => ["", text])] });
    }
    if (model.ways.length > 1) {
      const named = model.ways.map((way, place) => [WAY_COLORS[place % WAY_COLORS.length], place ? `${place}: ${way.name}` : way.name]);
      add({ kind: "ways", title: "Each way to fit: reserved, with temporaries in use", height: 150, legend: [...named, ["", `limit ${bytes(model.spaces[0]?.raw.limit_bytes)} ╌`]] });
    }
    if (this.space && !model.raw.is_estimate && this.space.size) {
      add({ kind: "addresses", space: this.space, title: `Addresses of ${this.space.raw.name}: where each value lies`, height: 230 });
    }
    this.layOut();
  }
  sayMost(space) {
    const limit = space.raw.limit_bytes, top = this.topOf({ space }), where = (value) => (value > top ? " (above)" : "");
    return [`peak ${bytes(space.most)} ▼`, this.model.raw.is_estimate ? "an estimate" : `allocated ${bytes(space.allocated)} ┈${where(space.allocated)}`, limit ? `limit ${bytes(limit)} ╌${where(limit)}` : ""].filter(Boolean);
  }
  listClasses() {
    const met = new Set(this.work.of);
    return this.work.names.map((name, place) => [CLASSES[name][0], this.sayClass(name), place]).filter(([, , place]) => met.has(place));
  }
  // Where no chip is known, nothing says what limits work.
  sayClass(name) { return name === "compute" && !this.model.raw.chip?.is_rated ? "computes" : CLASSES[name][1]; }
  listProgram() {
    const { model } = this, told = model.raw.outline, rows = [];
    told.what.forEach((what, place) => {
      if (told.from[place] < 0 || told.until[place] < told.from[place]) return;
      let level = 0;
      for (let above = told.parent[place]; above >= 0; above = told.parent[above]) level += told.from[above] >= 0 ? 1 : 0;
      if (level > 2) return;
      (rows[level] ??= []).push({ from: told.from[place], until: told.until[place], text: model.word(what), color: "#c9ced8", rounds: told.kind[place] >= 0 && model.word(told.kind[place]) === "repeat" ? told.count[place] : 0, select: told.first[place] >= 0 ? { kind: "instruction", name: model.names[told.first[place]] } : null });
    });
    const found = rows.filter(Boolean).map((row) => row.sort((a, b) => a.from - b.from));
    for (let level = 0; level < 3; level += 1) {
      const runs = model.scopeRuns(level);
      if (runs.length && (level === 0 || runs.some(([, , path]) => path.split("/").length > (found.at(-1)?.[0]?.text.split("/").length ?? 0)))) {
        found.push(runs.map(([from, until, path]) => ({ from, until, text: path, color: "#e3d9c3", select: { kind: "scope", name: path } })));
      }
    }
    const passes = [];
    for (let step = 0; step < model.steps; step += 1) {
      const pass = model.pass[step] || passes.at(-1)?.pass || 0;
      if (passes.at(-1)?.pass === pass) passes.at(-1).until = step;
      else passes.push({ from: step, until: step, pass, text: PASSES[pass], color: PASS_COLORS[pass], select: null });
    }
    if (passes.some((each) => each.pass > 1)) found.push(passes.filter((each) => each.pass));
    return found;
  }
  // Transfers by the axes they run along, in as many rows as are under way at once, at most six.
  listTransfers() {
    const found = new Map();
    for (const each of this.model.transfers) {
      if (each.start >= this.model.steps) continue;
      const axes = this.model.word(each.axes), rows = found.get(axes) ?? found.set(axes, []).get(axes);
      const until = each.end < this.model.steps ? Math.max(each.start, each.end) : each.start;
      const row = rows.find((one) => one.at(-1).until < each.start) ?? (rows.length < 6 ? rows[rows.push([]) - 1] : rows[5]);
      row.push({ ...each, from: each.start, until });
    }
    return found;
  }
  layOut() {
    this.width = Math.max(240, this.place.clientWidth);
    this.left = this.width < 560 ? 54 : 64;
    let top = 0;
    for (const lane of this.lanes) {
      lane.titleTop = top;
      lane.top = top + TITLE * this.titleRows(lane);
      top = lane.top + lane.height + GAP;
    }
    this.height = top + 22;
    const ratio = window.devicePixelRatio || 1;
    for (const [canvas, height] of [[this.canvas, this.height], [this.over, this.height], [this.strip, 46]]) {
      canvas.width = this.width * ratio;
      canvas.height = height * ratio;
      canvas.style.width = `${this.width}px`;
      canvas.style.height = `${height}px`;
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
  }
  titleRows(lane) {
    const pen = this.canvas.getContext("2d");
    let rows = 1;
    pen.font = "600 12px system-ui, sans-serif";
    let x = 16 + pen.measureText(lane.title).width;
    pen.font = "12px system-ui, sans-serif";
    for (const [color, text] of lane.legend ?? []) {
      const width = pen.measureText(text).width + (color ? 26 : 12);
      if (x + width > this.width && x > 12) { x = 2; rows += 1; }
      x += width;
    }
    return rows;
  }

  draw() {
    const start = performance.now(), pen = this.canvas.getContext("2d"), [from, until] = this.range;
    Object.assign(this, { ink: css("--ink"), quiet: css("--quiet"), line: css("--line"), paper: css("--paper") });
    pen.clearRect(0, 0, this.width, this.height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const pixels = Math.round(this.plotWidth);
    this.columns = this.axis.columns(from, until, pixels);
    for (const lane of this.lanes) {
      this.writeTitle(pen, lane);
      pen.save();
      pen.beginPath();
      pen.rect(this.left, lane.top - 1, this.plotWidth, lane.height + 2);
      pen.clip();
      this[`draw_${lane.kind}`](pen, lane);
      pen.restore();
      pen.strokeStyle = this.line;
      pen.strokeRect(this.left + 0.5, lane.top - 0.5, this.plotWidth - 1, lane.height + 1);
      this[`label_${lane.kind}`]?.(pen, lane);
    }
    this.drawTicks(pen);
    this.drawStrip();
    this.drawMarks();
    this.drawnIn = performance.now() - start;
  }
  writeTitle(pen, lane) {
    let x = 2, y = lane.titleTop + TITLE / 2;
    pen.fillStyle = this.ink;
    pen.font = "600 12px system-ui, sans-serif";
    pen.fillText(lane.title, x, y);
    x += pen.measureText(lane.title).width + 14;
    pen.font = "12px system-ui, sans-serif";
    for (const [color, text] of lane.legend ?? []) {
      const mark = color ? 14 : 0, width = pen.measureText(text).width + mark + 12;
      if (x + width > this.width && x > 12) { x = 2; y += TITLE; }
      if (color) {
        pen.fillStyle = color;
        pen.fillRect(x, y - 5, 10, 10);
        pen.strokeStyle = this.quiet;
        pen.strokeRect(x + 0.5, y - 4.5, 9, 9);
      }
      pen.fillStyle = this.quiet;
      pen.fillText(text, x + mark, y);
      x += width;
    }
  }
  // Left and width of a stretch of steps: at least a pixel, as steps may take no time.
  span(from, until) {
    const { edges } = this.axis, left = this.x(edges[from]);
    return [left, Math.max(1, this.x(edges[until + 1]) - left)];
  }
  isSeen([left, width]) { return left + width >= this.left && left <= this.width; }
  box(pen, row, rowTop, height) {
    const [left, width] = this.span(row.from, row.until);
    if (!this.isSeen([left, width])) return;
    pen.fillStyle = row.color;
    pen.fillRect(left, rowTop, width, height);
    if (width < 3) return;
    pen.strokeStyle = "#0005";
    if (row.rounds && width / row.rounds > 3) for (let round = 1; round < row.rounds; round += 1) pen.strokeRect(left + (width * round) / row.rounds, rowTop, 0.01, height);
    pen.strokeRect(left + 0.5, rowTop + 0.5, width - 1, height - 1);
    const begin = Math.max(left, this.left), room = Math.min(left + width, this.width) - begin - 8;
    const letters = Math.floor(room / 6.4);
    if (letters < 3) return;
    pen.fillStyle = "#16181d";
    const parts = row.text.split("/"), text = row.text.length <= letters ? row.text : parts.at(-1);
    pen.fillText(short(text, letters), begin + 4, rowTop + height / 2 + 0.5);
  }
  draw_program(pen, lane) {
    lane.rows.forEach((row, level) => { for (const each of this.visible(row)) this.box(pen, each, lane.top + level * ROW, ROW - 2); });
  }
  // Boxes in order that the view meets; of those that end in the same pixel the first is enough.
  *visible(row) {
    const first = this.columns.first[0], last = this.columns.last[this.columns.last.length - 1];
    let drawn = -1;
    for (const each of row) {
      if (each.until < first) continue;
      if (each.from > last) break;
      const end = Math.floor(this.x(this.axis.edges[each.until + 1]));
      if (end === drawn) continue;
      drawn = end;
      yield each;
    }
  }
  draw_work(pen, lane) {
    const { of, names, figure, most } = lane.work ?? this.work;
    const colors = names.map((name) => CLASSES[name][0]);
    for (let x = 0; x < this.columns.first.length; x += 1) {
      let best = -1;
      for (let step = this.columns.first[x]; step <= this.columns.last[x] && step < this.model.steps; step += 1) {
        if ((of[step] >= 0 || (lane.work && figure[step])) && (best < 0 || figure[step] > figure[best])) best = step;
      }
      if (best < 0) continue;
      const height = Math.max(3, (lane.height * figure[best]) / most);
      pen.fillStyle = colors[of[best]] ?? REST_COLOR;
      pen.fillRect(this.left + x, lane.top + lane.height - height, 1, height);
    }
  }
  label_work(pen, lane) { const work = lane.work ?? this.work; this.label(pen, lane, work.write(work.most), lane.top + 7); }
  draw_axis(pen, lane) {
    lane.rows.forEach((row, level) => {
      for (const each of row) {
        const [left, width] = this.span(each.from, each.until);
        if (!this.isSeen([left, width])) continue;
        const top = lane.top + 1 + level * 14;
        pen.fillStyle = HIDDEN;
        pen.fillRect(left, top, width, 12);
        if (each.exposed_share === null) { // nobody knows: hatched
          pen.strokeStyle = EXPOSED;
          for (let x = left; x < left + width; x += 5) { pen.beginPath(); pen.moveTo(x, top + 12); pen.lineTo(Math.min(x + 4, left + width), top); pen.stroke(); }
        } else {
          const strong = each.exposed_share ? Math.max(1, width * each.exposed_share) : 0;
          pen.fillStyle = EXPOSED;
          pen.fillRect(left + width - strong, top, strong, 12);
        }
      }
    });
  }
  draw_memory(pen, lane) {
    const { space } = lane, { columns } = this, most = this.topOf(lane);
    const stack = lane.stack.levels, colors = lane.stack.names.map((name) => lane.colors.get(name));
    const y = (value) => lane.top + lane.height - (value / most) * lane.height;
    for (let x = 0; x < columns.first.length; x += 1) {
      let best = columns.first[x];
      for (let step = best + 1; step <= columns.last[x]; step += 1) if (space.used[step] > space.used[best]) best = step;
      let sum = 0;
      for (let group = 0; group < stack.length; group += 1) {
        const size = stack[group][best];
        if (!size) continue;
        pen.fillStyle = colors[group];
        const low = y(sum), high = y(sum += size);
        pen.fillRect(this.left + x, high, 1, low - high + 0.3);
      }
    }
    const limit = space.raw.limit_bytes;
    if (limit && limit <= most) this.rule(pen, y(limit), LIMIT, [7, 4]);
    if (!this.model.raw.is_estimate && space.allocated <= most) this.rule(pen, y(space.allocated), this.ink, [2, 3]);
    const peak = space.raw.peak;
    if (peak !== null) {
      const [left, width] = this.span(peak, peak);
      pen.fillStyle = this.ink;
      pen.beginPath();
      pen.moveTo(left + width / 2 - 5, lane.top); pen.lineTo(left + width / 2 + 5, lane.top); pen.lineTo(left + width / 2, lane.top + 8);
      pen.fill();
    }
  }
  rule(pen, y, color, dash) {
    for (const [stroke, width, gaps] of [[this.paper, 3.5, []], [color, 1.5, dash]]) { // on paper, to be seen on any colour
      pen.strokeStyle = stroke;
      pen.lineWidth = width;
      pen.setLineDash(gaps);
      pen.beginPath();
      pen.moveTo(this.left, y);
      pen.lineTo(this.width, y);
      pen.stroke();
    }
    pen.setLineDash([]);
    pen.lineWidth = 1;
  }
  // A line for each way to fit: of a pixel column its most, so that no peak is lost.
  draw_ways(pen, lane) {
    const { columns } = this, most = this.topOfWays(), y = (value) => lane.top + lane.height - (value / most) * lane.height;
    this.model.ways.forEach(({ levels }, place) => {
      pen.fillStyle = WAY_COLORS[place % WAY_COLORS.length];
      let before = null;
      for (let x = 0; x < columns.first.length; x += 1) {
        let best = 0;
        for (let step = columns.first[x]; step <= columns.last[x]; step += 1) best = Math.max(best, levels[step]);
        const high = y(best), low = before ?? high;
        pen.fillRect(this.left + x, Math.min(high, low) - 1, 1, Math.abs(high - low) + 2);
        before = high;
      }
    });
    const limit = this.model.spaces[0]?.raw.limit_bytes;
    if (limit) this.rule(pen, y(limit), LIMIT, [7, 4]);
  }
  topOfWays() { return Math.max(this.model.spaces[0]?.raw.limit_bytes ?? 0, ...this.model.ways.map(({ levels }) => levels.reduce((most, each) => Math.max(most, each), 0))) * 1.04; }
  label_ways(pen, lane) { this.labelBytes(pen, lane, this.topOfWays()); }
  labelBytes(pen, lane, top) {
    for (const value of ticks(0, top, lane.height > 100 ? 5 : 2, byteBase(top))) this.label(pen, lane, bytes(value), lane.top + lane.height - (value / top) * lane.height);
  }
  // What a lane of memory goes to: the limit and what is allocated too, unless they would press it flat.
  topOf(lane) {
    const most = Math.max(lane.space.most, lane.space === this.model.spaces[0] ? this.most : 0, 1);
    const marks = [lane.space.raw.limit_bytes, this.model.raw.is_estimate ? 0 : lane.space.allocated].filter((each) => each && each < 2.5 * most);
    return Math.max(most, ...marks) * 1.04;
  }
  label_memory(pen, lane) { this.labelBytes(pen, lane, this.topOf(lane)); }
  label(pen, lane, text, y) {
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = this.quiet;
    pen.textAlign = "right";
    pen.fillText(text.replace(".0 ", " "), this.left - 4, Math.max(lane.top + 6, Math.min(lane.top + lane.height - 5, y)));
    pen.textAlign = "left";
  }
  draw_addresses(pen, lane) {
    const { space } = lane, scale = lane.height / space.allocated, { edges } = this.axis;
    const first = this.columns.first[0], last = this.columns.last[this.columns.last.length - 1];
    const [from, until] = this.range, perUnit = this.plotWidth / (until - from);
    const types = space.raw.allocations.type.map((word) => TYPES[this.model.word(word)] ?? REST_COLOR);
    pen.fillStyle = css("--raised");
    pen.fillRect(this.left, lane.top, this.plotWidth, lane.height);
    const isOutlined = space.size < 3000;
    space.byAllocation.forEach((values, home) => {
      pen.fillStyle = types[home];
      pen.strokeStyle = "#0007";
      for (const value of values) {
        if (space.live_until[value] < first || space.live_from[value] > last) continue;
        const left = this.left + (edges[space.live_from[value]] - from) * perUnit, width = Math.max(1, (edges[space.live_until[value] + 1] - edges[space.live_from[value]]) * perUnit);
        const high = lane.top + lane.height - (space.bases[home] + space.offset[value] + space.size_bytes[value]) * scale, tall = Math.max(0.5, space.size_bytes[value] * scale);
        pen.fillRect(left, high, width, tall);
        if (isOutlined && tall > 2.5 && width > 2.5) pen.strokeRect(left + 0.5, high + 0.5, width - 1, tall - 1);
      }
    });
  }
  label_addresses(pen, lane) {
    for (const value of ticks(0, lane.space.allocated, 5, byteBase(lane.space.allocated))) this.label(pen, lane, bytes(value), lane.top + lane.height - (value / lane.space.allocated) * lane.height);
  }
  drawTicks(pen) {
    const [from, until] = this.range, y = this.height - 11;
    pen.fillStyle = this.quiet;
    pen.font = "11px system-ui, sans-serif";
    const isTime = this.axis !== this.model.stepAxis, total = this.axis.last;
    const base = !isTime ? 1 : this.model.raw.times.is_timed ? 1e-9 : total / 100;
    const write = !isTime ? (each) => Math.round(each).toLocaleString("en") : this.model.raw.times.is_timed ? (each) => seconds(Number(each.toPrecision(6))) : (each) => percent(each / total);
    const marks = ticks(from, until, Math.max(2, this.plotWidth / 130), base);
    for (const each of marks) {
      if (!isTime && each % 1) continue;
      const x = this.x(each);
      pen.fillRect(x, y - 11, 1, 4);
      pen.textAlign = x > this.width - 40 ? "right" : "center";
      pen.fillText(write(each), x, y);
    }
    pen.textAlign = "left";
    pen.fillText(isTime ? "time" : "step", 2, y);
  }
  drawStrip() {
    const pen = this.strip.getContext("2d"), height = 46;
    pen.clearRect(0, 0, this.width, height);
    const whole = this.axis.columns(this.axis.first, this.axis.last, Math.round(this.plotWidth));
    const figure = this.model.spaces[0]?.used ?? this.work.figure, most = this.model.spaces[0]?.most ?? this.work.most;
    pen.fillStyle = this.quiet;
    for (let x = 0; x < whole.first.length; x += 1) {
      let best = 0;
      for (let step = whole.first[x]; step <= whole.last[x]; step += 1) best = Math.max(best, figure[step] ?? 0);
      const tall = (best / (most || 1)) * (height - 8);
      pen.fillRect(this.left + x, height - 3 - tall, 1, tall);
    }
    const [from, until] = this.range, scale = this.plotWidth / (this.axis.last - this.axis.first);
    const left = this.left + (from - this.axis.first) * scale, right = this.left + (until - this.axis.first) * scale;
    pen.fillStyle = css("--accent");
    pen.globalAlpha = 0.16;
    pen.fillRect(left, 0, right - left, height);
    pen.globalAlpha = 1;
    pen.strokeStyle = css("--accent");
    pen.lineWidth = 2;
    pen.strokeRect(left + 1, 1, Math.max(2, right - left - 2), height - 2);
    pen.lineWidth = 1;
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    pen.fillStyle = this.quiet;
    pen.fillText("all", 2, height / 2);
  }
  // What is selected, and where the pointer is, above the lanes.
  drawMarks() {
    if (!this.columns) return;
    const pen = this.over.getContext("2d"), accent = css("--accent");
    pen.clearRect(0, 0, this.width, this.height);
    pen.save();
    pen.beginPath();
    pen.rect(this.left, 0, this.plotWidth, this.height);
    pen.clip();
    const chosen = this.page.marked(this.model);
    pen.strokeStyle = pen.fillStyle = accent;
    pen.lineWidth = 2;
    if (chosen.range) {
      const [left, width] = this.span(...chosen.range);
      pen.globalAlpha = 0.14;
      pen.fillRect(left, 0, width, this.height);
      pen.globalAlpha = 1;
      pen.strokeRect(left, 1, width, this.height - 2);
    }
    for (const lane of this.lanes) {
      if (lane.kind !== "program" && chosen.steps.length) { // a tick above each lane where a chosen step runs
        for (const step of chosen.steps) {
          const [left, width] = this.span(step, step);
          if (this.isSeen([left, width])) pen.fillRect(left, lane.top - 3, Math.max(2, width), 4);
        }
      }
      if (lane.kind === "memory" || lane.kind === "addresses") {
        for (const value of chosen.values.get(lane.space) ?? []) {
          const [left, width] = this.span(lane.space.live_from[value], lane.space.live_until[value]);
          if (!this.isSeen([left, width])) continue;
          if (lane.kind === "memory") pen.strokeRect(left, lane.top + lane.height - 3, width, 1);
          else {
            const scale = lane.height / lane.space.allocated, base = lane.space.bases[lane.space.allocation[value]] + lane.space.offset[value];
            pen.strokeRect(left, lane.top + lane.height - (base + lane.space.size_bytes[value]) * scale, width, Math.max(1, lane.space.size_bytes[value] * scale));
          }
        }
      }
      if (lane.kind === "program") {
        lane.rows.forEach((row, level) => { for (const each of this.visible(row)) if (each.select && each.select.kind === "scope" && each.select.name === chosen.scope) pen.strokeRect(...this.at(this.span(each.from, each.until), lane.top + level * ROW, ROW - 2)); });
      }
    }
    if (this.cursor !== null && this.cursor !== undefined) {
      const [left, width] = this.span(this.cursor, this.cursor);
      pen.globalAlpha = 0.6;
      pen.fillRect(left + Math.min(width, 4) / 2 - 0.5, 0, 1, this.height);
      pen.globalAlpha = 1;
    }
    if (this.drag) {
      pen.globalAlpha = 0.2;
      pen.fillRect(Math.min(this.drag.from, this.drag.to), 0, Math.abs(this.drag.to - this.drag.from), this.height);
    }
    pen.restore();
  }
  at([left, width], top, height) { return [left, top, width, height]; }

  // What lies under a place of the canvas: the step, and what the lane has there.
  hit(x, y) {
    const lane = this.lanes.find((each) => y >= each.titleTop && y < each.top + each.height + GAP / 2) ?? this.lanes.at(-1);
    if (!lane || x < this.left) return null;
    const [from, until] = this.range, figure = lane.kind === "work" ? (lane.work ?? this.work).figure : lane.space?.used ?? this.model.spaces[0]?.used ?? this.work.figure;
    const found = this.axis.choose(from, until, Math.round(this.plotWidth), Math.floor(x - this.left), (step) => figure[step] ?? 0);
    return { lane, ...found, ...this.look(lane, found.step, y) };
  }
  // What a lane says of a step: lines of words, and what a click selects.
  look(lane, step, y) {
    const { model } = this, self = { kind: "instruction", name: model.names[step] };
    if (lane.kind === "program") {
      const row = lane.rows[Math.floor((y - lane.top) / ROW)] ?? [];
      const box = row.find((each) => each.from <= step && step <= each.until);
      return box ? { lines: [box.text, many(box.until - box.from + 1, "step")], select: box.select ?? { kind: "range", from: box.from, until: box.until } } : { lines: [], select: self };
    }
    if (lane.work) return { lines: [step < model.steps && model.measured[step] ? `measured ${seconds(model.measured[step])}, estimated ${model.raw.times?.is_timed ? seconds(model.seconds[step]) : "?"}` : "nothing was measured"], select: self };
    if (lane.kind === "work") {
      const { of, names, figure, write } = this.work;
      const [low, high] = [model.bounds[step], Boolean(model.bounds[step] & 4)];
      return { lines: step >= model.steps || of[step] < 0 ? ["no work"] : [`${this.sayClass(names[of[step]])}, ${bound(low & 3, high)}${write(figure[step])}`, `${bound(low & 1, high)}${count(model.flops[step])} flops, ${bound(low & 2, high)}${bytes(model.traffic_bytes[step])} of traffic`], select: self };
    }
    if (lane.kind === "axis") {
      const row = lane.rows[Math.min(lane.rows.length - 1, Math.max(0, Math.floor((y - lane.top - 1) / 14)))];
      const each = row.find((one) => one.from <= step && step <= one.until);
      return each ? { lines: this.page.sayTransfer(model, each), select: { kind: "instruction", name: model.names[each.start] } } : { lines: ["nothing is sent"], select: self };
    }
    if (lane.kind === "ways") return { lines: model.ways.map((way, place) => `${bytes(way.levels[step])} ${place ? `with ${place}: ` : ""}${way.name}`), select: self };
    if (lane.kind === "memory") {
      const held = lane.space.holders(step).slice(0, 5).map(([value, size]) => `${bytes(size)} ${short(model.valueName(lane.space, value), 44)}`);
      return { lines: [`${bytes(lane.space.used[step])} in use`, ...held], select: self };
    }
    const byte = ((lane.top + lane.height - y) / lane.height) * lane.space.allocated, value = lane.space.valueAt(step, byte);
    return value < 0 ? { lines: [`nothing at ${bytes(Math.max(0, byte))}`], select: self, value } : { lines: this.page.sayValue(lane.space, value), select: { kind: "value", name: model.valueName(lane.space, value), space: lane.space.raw.number }, value };
  }
  sayStep(step, several = 1) {
    const { model } = this;
    if (step >= model.steps) return "the end: what leaves the program";
    const edges = model.timeAxis?.edges, isFree = edges && this.axis === model.timeAxis && edges[step + 1] === edges[step];
    return `step ${step.toLocaleString("en")}${several > 1 ? `, 1 of ${several} steps here` : ""}${isFree ? ", takes no time" : ""}: ${short(model.names[step], 52)}`;
  }

  point(x, y, isSaid = false) {
    const found = this.hit(x, y);
    this.cursor = found ? found.step : null;
    this.tip.hidden = !found;
    if (found) {
      this.tip.replaceChildren(...[this.sayStep(found.step, found.several), ...found.lines].map((text, place) => make("div", text, place ? {} : { class: "head" })));
      const wide = this.tip.offsetWidth, tall = this.tip.offsetHeight;
      this.tip.style.left = `${Math.max(0, x + 14 + wide > this.width ? x - wide - 14 : x + 14)}px`;
      this.tip.style.top = `${Math.max(0, Math.min(this.height - tall, y + 14))}px`;
      if (isSaid) this.said.textContent = [this.sayStep(found.step), ...found.lines.slice(0, 2)].join("; ");
    }
    this.drawMarks();
    return found;
  }
  zoom(factor, middle) {
    const [from, until] = this.range, { axis } = this;
    const least = axis === this.model.stepAxis ? Math.min(4, axis.last - axis.first) : (axis.last - axis.first) / 1e7;
    const width = Math.max(least, Math.min(axis.last - axis.first, (until - from) * factor));
    this.show(middle - ((middle - from) / (until - from)) * width, width);
  }
  show(from, width) {
    const { axis } = this, start = Math.max(axis.first, Math.min(axis.last - width, from));
    this.view = width >= axis.last - axis.first ? null : [start, start + width];
    this.page.viewed(this);
    this.redraw();
  }
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }
  placeAt(x) { const [from, until] = this.range; return from + ((x - this.left) / this.plotWidth) * (until - from); }
  listen() {
    const { over, strip, canvas } = this;
    const at = (event, element) => { const box = element.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    over.addEventListener("pointermove", (event) => {
      const [x, y] = at(event, over);
      if (this.drag) { this.drag.to = x; this.drawMarks(); } else this.point(x, y);
    });
    over.addEventListener("pointerleave", () => { this.tip.hidden = true; this.cursor = null; this.drawMarks(); });
    over.addEventListener("pointerdown", (event) => {
      const [x, y] = at(event, over);
      canvas.focus({ preventScroll: true });
      if (x >= this.left) { this.drag = { from: x, to: x, y }; if (event.pointerType !== "touch") over.setPointerCapture(event.pointerId); }
    });
    over.addEventListener("pointercancel", () => { this.drag = null; });
    over.addEventListener("pointerup", (event) => {
      const { drag } = this;
      this.drag = null;
      if (!drag) return;
      const [x, y] = at(event, over);
      if (Math.abs(x - drag.from) > 4) {
        const [from, until] = [Math.min(x, drag.from), Math.max(x, drag.from)].map((each) => this.axis.stepAt(this.placeAt(Math.max(this.left, each))));
        this.page.select({ kind: "range", from, until }, this.model);
      } else {
        const found = this.hit(x, y);
        if (found?.select) this.page.select(found.select.kind === "instruction" && found.step >= this.model.steps && found.select.name === undefined ? { kind: "range", from: found.step, until: found.step } : found.select, this.model);
      }
    });
    over.addEventListener("dblclick", () => this.show(this.axis.first, this.axis.last - this.axis.first));
    const wheel = (event) => {
      const [x] = at(event, over), [from, until] = this.range;
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 180), this.placeAt(x));
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.show(from + (((event.deltaX || event.deltaY) / this.plotWidth) * (until - from)), until - from);
      else return;
      event.preventDefault();
    };
    over.addEventListener("wheel", wheel, { passive: false });
    const brush = (event) => {
      const [x] = at(event, strip), { axis } = this, scale = (axis.last - axis.first) / this.plotWidth;
      const place = axis.first + (x - this.left) * scale;
      const [from, until] = [Math.min(place, this.brushed), Math.max(place, this.brushed)];
      if (until - from > 3 * scale) this.show(from, until - from);
      else if (event.type === "pointerup") { const width = this.range[1] - this.range[0]; this.show(place - width / 2, width); }
    };
    strip.addEventListener("pointerdown", (event) => {
      const [x] = at(event, strip);
      this.brushed = this.axis.first + ((x - this.left) * (this.axis.last - this.axis.first)) / this.plotWidth;
      strip.setPointerCapture(event.pointerId);
      this.isBrushed = true;
    });
    strip.addEventListener("pointermove", (event) => { if (this.isBrushed) brush(event); });
    strip.addEventListener("pointerup", (event) => { brush(event); this.isBrushed = false; });
    canvas.addEventListener("keydown", (event) => this.press(event));
  }
  press(event) {
    const [from, until] = this.range, { axis } = this;
    const step = this.cursor ?? axis.stepAt((from + until) / 2), y = this.keyY ?? this.lanes.find((each) => each.kind === "memory")?.top ?? 0;
    const move = (to) => {
      const next = Math.max(0, Math.min(axis.count - 1, to)), x = this.x(axis.edges[next]) + 0.5;
      if (x < this.left || x > this.width) this.show(axis.edges[next] - (until - from) / 2, until - from);
      this.cursor = next;
      const lane = this.lanes.find((each) => y >= each.titleTop && y < each.top + each.height + GAP) ?? this.lanes[0];
      this.said.textContent = [this.sayStep(next), ...this.look(lane, next, lane.top + 1).lines.slice(0, 2)].join("; ");
      this.drawMarks();
    };
    const lane = (by) => {
      const now = this.lanes.findIndex((each) => y >= each.titleTop && y < each.top + each.height + GAP);
      this.keyY = this.lanes[Math.max(0, Math.min(this.lanes.length - 1, now + by))].top;
      this.said.textContent = this.lanes[Math.max(0, Math.min(this.lanes.length - 1, now + by))].title;
    };
    const acts = {
      ArrowLeft: () => move(step - 1), ArrowRight: () => move(step + 1), ArrowUp: () => lane(-1), ArrowDown: () => lane(1),
      Home: () => move(0), End: () => move(axis.count - 1), "+": () => this.zoom(0.6, (axis.edges[step] + axis.edges[step + 1]) / 2), "-": () => this.zoom(1 / 0.6, (axis.edges[step] + axis.edges[step + 1]) / 2),
      0: () => this.show(axis.first, axis.last - axis.first), Enter: () => { if (step < this.model.steps) this.page.select({ kind: "instruction", name: this.model.names[step] }, this.model); },
    };
    if (!acts[event.key] || event.ctrlKey || event.metaKey) return;
    acts[event.key]();
    event.preventDefault();
  }
}
