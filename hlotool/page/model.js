// One program of the page: its columns, and who holds which byte when. Nothing here knows a page.
const PASSES = ["", "forward or update", "backward", "recomputed"];
const FLOW = new Set(["while", "conditional", "call", "async-start", "async-update", "async-done"]);
const REST = "the rest", UNKNOWN = "(unknown)", MOST_GROUPS = 9;
const foldNumbers = (text) => text.replace(/\d+/g, "*");

const COLUMNS = {
  computations: ["name", "caller", "runs", "is_run"], transfers: ["start"], outline: ["what", "parent"], allocations: ["number", "size_bytes", "type", "parameter"],
  values: ["instruction", "index", "allocation", "live_from", "live_until", "shape", "scope", "source", "frame", "number", "offset", "size_bytes"],
};
// Groups without a row have columns, too.
function fill(raw) {
  for (const [group, names] of Object.entries(COLUMNS)) if (raw[group]) for (const name of names) raw[group][name] ??= [];
  return raw;
}
// Columns as rows.
const listRows = (columns) => (Object.values(columns)[0] ?? []).map((_, place) => Object.fromEntries(Object.entries(columns).map(([key, column]) => [key, column[place]])));

// The level of each step, of a curve that tells where levels change.
function spread(curve, size) {
  const found = new Float64Array(size);
  curve.positions.forEach((position, place) => found.fill(curve.levels[place], position, curve.positions[place + 1] ?? size));
  return found;
}

class Model {
  constructor(raw, label = "") {
    const told = raw.instructions;
    this.raw = fill(raw);
    this.label = label;
    this.words = raw.words.map(plain);
    this.steps = raw.steps;
    this.size = told.name.length;
    this.names = told.name.map(plain);
    for (const key of ["opcode", "shape", "computation", "attributes", "scope", "source", "frame"]) this[key] = Int32Array.from(told[key] ?? told.name, (word) => (typeof word === "number" ? word : -1));
    for (const key of ["flops", "traffic_bytes", "seconds", "measured"]) this[key] = Float64Array.from(told[key] ?? told.name, (figure) => Math.max(figure, 0) || 0);
    this.bounds = Uint8Array.from(told.bounds ?? told.name, (each) => (each > 0 ? each : 0));
    this.limit = Uint8Array.from(told.limit ?? told.name, (each) => (each > 0 ? each : 0)); // 1: arithmetic, 2: memory
    this.pass = Uint8Array.from(told.pass ?? told.name, (each) => (each > 0 ? each : 0));
    this.places = new Map(this.names.map((name, place) => [name, place]));
    this.operandEnds = new Uint32Array(this.size + 1);
    told.operand_counts.forEach((length, place) => { this.operandEnds[place + 1] = this.operandEnds[place] + length; });
    this.operandList = Uint32Array.from(told.operands);
    this.spaces = raw.spaces.map((space) => new Space(space, this));
    this.runsOf = new Map(raw.computations.name.map((word, place) => [word, place]));
    this.transfers = listRows(raw.transfers);
    this.frames = listRows(raw.frames);
    this.placements = listRows(raw.placements);
    this.texts = listRows(raw.texts ?? {});
    this.ways = (raw.ways ?? []).map((way) => ({ name: way.name, levels: spread(way, this.steps + 1) }));
    this.isTransfer = new Set(this.transfers.flatMap((each) => [each.start, each.end]));
    this.stepAxis = Axis.ofSteps(this.steps + 1);
    this.timeAxis = raw.times ? Axis.ofTimes(raw.times.begins) : null;
  }
  word(place) { return place < 0 ? "" : this.words[place]; }
  operands(one) { return [...this.operandList.subarray(this.operandEnds[one], this.operandEnds[one + 1])]; }
  users(one) {
    if (!this.userLists) {
      this.userLists = new Map();
      for (let user = 0; user < this.size; user += 1) {
        for (const given of new Set(this.operands(user))) {
          if (!this.userLists.has(given)) this.userLists.set(given, []);
          this.userLists.get(given).push(user);
        }
      }
    }
    return this.userLists.get(one) ?? [];
  }
  // The instructions inside what an instruction calls, such as those of a fusion.
  inside(one) {
    const { name, caller } = this.raw.computations;
    const called = new Set(name.filter((_, place) => caller[place] === one));
    const found = [];
    if (called.size) for (let each = 0; each < this.size; each += 1) if (called.has(this.computation[each])) found.push(each);
    return found;
  }
  // Computations and the instructions that call the next, from the entry.
  way(one) {
    const found = [];
    let place = this.runsOf.get(this.computation[one]);
    while (place !== undefined && found.length < 128) {
      found.unshift(this.word(this.raw.computations.name[place]));
      const caller = this.raw.computations.caller[place];
      if (caller < 0) break;
      found.unshift(this.names[caller]);
      place = this.runsOf.get(this.computation[caller]);
    }
    return found;
  }
  // The frames of a call stack, innermost first.
  stack(frame) {
    const found = [];
    for (let each = frame; each >= 0 && !found.includes(each); each = this.frames[each].caller) found.push(each);
    return found.map((each) => this.frames[each]);
  }
  // Lines of what an instruction is, as the text has it without metadata.
  definition(one) {
    if (this.opcode[one] < 0) return [this.names[one]];
    const [literal, ...attributes] = this.word(this.attributes[one]).split("\n");
    const inside = this.operands(one).map((each) => this.names[each]).join(", ") || literal;
    return [`${this.names[one]} = ${this.word(this.shape[one])} ${this.word(this.opcode[one])}(${inside})`, ...attributes.filter(Boolean)];
  }
  // How a value is called, `fusion.3{1}`.
  valueName(space, value) { return this.names[space.instruction[value]] + this.word(space.index[value]); }
  // What some steps come to. Loops have their figures in what they run, and are left out.
  add(steps) {
    const found = { flops: 0, traffic_bytes: 0, seconds: 0, bounds: 0, sent_bytes: 0, exposed_bytes: 0, isOpen: false }, mine = new Set(steps);
    for (const step of mine) {
      found.seconds += this.seconds[step]; // of a loop none, as what it runs has its own
      if (FLOW.has(this.word(this.opcode[step]))) continue;
      found.flops += this.flops[step];
      found.traffic_bytes += this.traffic_bytes[step];
      found.bounds |= this.bounds[step];
    }
    for (const each of this.transfers) {
      if (!mine.has(each.start)) continue;
      found.sent_bytes += each.sent_bytes;
      found.exposed_bytes += each.exposed_bytes ?? 0;
      found.isOpen ||= Boolean(each.is_bound) || each.exposed_bytes === null;
    }
    return found;
  }
  sum(from, until) { return this.add(Array.from({ length: Math.max(0, Math.min(until, this.steps - 1) - from + 1) }, (_, place) => from + place)); }
  // Stretches of steps in a row whose scopes agree down to a level: [from, until, word]. What has no
  // scope goes with what is before it; what all scopes share is left out.
  scopeRuns(level) {
    this.split ??= new Map();
    const parts = (word) => {
      if (!this.split.has(word)) this.split.set(word, this.word(word).split("/"));
      return this.split.get(word);
    };
    const met = new Set(this.scope.subarray(0, this.steps));
    met.delete(-1);
    const all = [...met].map(parts);
    let shared = 0;
    while (all.length > 1 && all.every((each) => each.length > shared + 1 && each[shared] === all[0][shared])) shared += 1;
    const found = [];
    const heads = new Map([...met].map((word) => [word, parts(word).length > shared + level ? parts(word).slice(0, shared + level + 1).join("/") : ""]));
    let last = null;
    for (let step = 0; step < this.steps; step += 1) {
      const head = this.scope[step] < 0 ? last?.[2] : heads.get(this.scope[step]);
      if (last && head === last[2]) last[1] = step;
      else if (head !== undefined) { last = [step, step, head]; found.push(last); }
    }
    return found.filter((each) => each[2]);
  }
}

// A memory space: its values in columns, what is in use at each step, and who holds it.
class Space {
  constructor(raw, model) {
    this.raw = fill(raw);
    this.model = model;
    for (const key of ["instruction", "index", "allocation", "live_from", "live_until", "shape", "scope", "source", "frame", "number"]) this[key] = Int32Array.from(raw.values[key]);
    for (const key of ["offset", "size_bytes"]) this[key] = Float64Array.from(raw.values[key]);
    this.size = this.instruction.length;
    this.used = spread(raw, model.steps + 1);
    // Allocations stand one upon the other, as the assignment numbers them.
    this.bases = new Float64Array(raw.allocations.number.length + 1);
    raw.allocations.size_bytes.forEach((size, place) => { this.bases[place + 1] = this.bases[place] + size; });
    this.allocated = this.bases[this.bases.length - 1];
    this.most = this.used.reduce((most, each) => Math.max(most, each), 0);
    this.byAllocation = Array.from(raw.allocations.number, () => []);
    for (let value = 0; value < this.size; value += 1) this.byAllocation[this.allocation[value]].push(value);
  }
  isLive(value, step) { return this.live_from[value] <= step && step <= this.live_until[value]; }
  // Smaller for who takes bytes that several share: the last to begin, then the smaller number.
  rank(a, b) { return this.live_from[b] - this.live_from[a] || this.number[a] - this.number[b]; }
  // The value that has a byte at a step, -1 for a hole; bytes count through all allocations.
  valueAt(step, byte) {
    const home = lowerBound(this.bases, byte + 0.5) - 1;
    if (home < 0 || home >= this.byAllocation.length) return -1;
    const offset = byte - this.bases[home];
    let best = -1;
    for (const value of this.byAllocation[home]) {
      if (this.isLive(value, step) && this.offset[value] <= offset && offset < this.offset[value] + this.size_bytes[value] && (best < 0 || this.rank(value, best) < 0)) best = value;
    }
    return best;
  }
  // Who holds the space at a step, [value, bytes], largest first: each byte belongs to one value.
  holders(step) {
    const found = [];
    for (const values of this.byAllocation) {
      const live = values.filter((value) => this.isLive(value, step)).sort((a, b) => this.rank(a, b));
      if (live.length === 1) { found.push([live[0], this.size_bytes[live[0]]]); continue; }
      const borders = [...new Set(live.flatMap((value) => [this.offset[value], this.offset[value] + this.size_bytes[value]]))].sort((a, b) => a - b);
      const next = Int32Array.from({ length: borders.length + 1 }, (_, cell) => cell); // the next cell that nobody has
      const free = (cell) => {
        let root = cell;
        while (next[root] !== root) root = next[root];
        while (next[cell] !== root) [next[cell], cell] = [root, next[cell]];
        return root;
      };
      for (const value of live) {
        let held = 0;
        const end = lowerBound(borders, this.offset[value] + this.size_bytes[value]);
        for (let cell = free(lowerBound(borders, this.offset[value])); cell < end; cell = free(cell)) {
          held += borders[cell + 1] - borders[cell];
          next[cell] = cell + 1;
        }
        if (held) found.push([value, held]);
      }
    }
    return found.sort((a, b) => b[1] - a[1] || this.number[a[0]] - this.number[b[0]]);
  }
  // Where who holds a byte changes: [step, value, bytes], to add up over the steps. Each border of an
  // allocation's values makes a cell, which has a stack of those that live in it.
  *changes() {
    for (const values of this.byAllocation) {
      if (values.length === 1) {
        yield [this.live_from[values[0]], values[0], this.size_bytes[values[0]]];
        yield [this.live_until[values[0]] + 1, values[0], -this.size_bytes[values[0]]];
        continue;
      }
      const borders = Float64Array.from(new Set(values.flatMap((value) => [this.offset[value], this.offset[value] + this.size_bytes[value]]))).sort();
      const stacks = Array.from(borders, () => []), owners = new Int32Array(borders.length).fill(-1);
      const begins = [...values].sort((a, b) => -this.rank(a, b));
      const ends = [...values].sort((a, b) => this.live_until[a] - this.live_until[b]);
      const cells = (value) => [lowerBound(borders, this.offset[value]), lowerBound(borders, this.offset[value] + this.size_bytes[value])];
      let begun = 0, ended = 0;
      while (ended < ends.length) {
        const isEnd = begun >= begins.length || this.live_until[ends[ended]] + 1 <= this.live_from[begins[begun]];
        const value = isEnd ? ends[ended++] : begins[begun++];
        const step = isEnd ? this.live_until[value] + 1 : this.live_from[value];
        const [first, end] = cells(value);
        for (let cell = first; cell < end; cell += 1) {
          const stack = stacks[cell], width = borders[cell + 1] - borders[cell];
          if (isEnd) {
            if (owners[cell] !== value) continue;
            while (stack.length && this.live_until[stack[stack.length - 1]] < step) stack.pop();
          } else stack.push(value);
          const owner = stack.length ? stack[stack.length - 1] : -1;
          if (owners[cell] >= 0) yield [step, owners[cell], -width];
          if (owner >= 0) yield [step, owner, width];
          owners[cell] = owner;
        }
      }
    }
  }
  groupOf(value, by) {
    if (by === "dtype") return /^\w+/.exec(this.model.word(this.shape[value]))?.[0] ?? "tuple";
    if (by === "scope") return foldNumbers(this.model.word(this.scope[value])) || UNKNOWN;
    return this.model.word(this.raw.allocations.type[this.allocation[value]]);
  }
  // What groups hold at each step, those that hold most first, the others together.
  stack(by) {
    this.stacks ??= new Map();
    if (this.stacks.has(by)) return this.stacks.get(by);
    const numbers = new Map(), groups = new Int32Array(this.size), names = [], known = new Map();
    for (let value = 0; value < this.size; value += 1) {
      const key = by === "scope" ? this.scope[value] : by === "dtype" ? this.shape[value] : this.raw.allocations.type[this.allocation[value]];
      if (!known.has(key)) known.set(key, this.groupOf(value, by));
      const name = known.get(key);
      if (!numbers.has(name)) { numbers.set(name, names.length); names.push(name); }
      groups[value] = numbers.get(name);
    }
    const length = this.model.steps + 2, byStep = Array.from({ length }, () => null);
    for (const [step, value, change] of this.changes()) {
      const at = Math.min(step, length - 1);
      (byStep[at] ??= new Map()).set(groups[value], (byStep[at].get(groups[value]) ?? 0) + change);
    }
    const now = new Float64Array(names.length), most = new Float64Array(names.length);
    for (const changes of byStep) for (const [group, change] of changes ?? []) most[group] = Math.max(most[group], now[group] += change);
    const ranked = names.map((_, group) => group).sort((a, b) => most[b] - most[a]);
    const kept = ranked.slice(0, MOST_GROUPS), row = new Int32Array(names.length).fill(kept.length);
    kept.forEach((group, place) => { row[group] = place; });
    const rows = [...kept.map((group) => names[group]), ...(ranked.length > kept.length ? [REST] : [])];
    const levels = rows.map(() => new Float64Array(this.model.steps + 1)), sums = new Float64Array(rows.length);
    for (let step = 0; step <= this.model.steps; step += 1) {
      for (const [group, change] of byStep[step] ?? []) sums[row[group]] += change;
      for (let place = 0; place < rows.length; place += 1) levels[place][step] = sums[place];
    }
    const found = { names: rows, levels };
    this.stacks.set(by, found);
    return found;
  }
  // The values that lie in bytes of one at any time.
  sharing(value) {
    const low = this.offset[value], high = low + this.size_bytes[value];
    return this.byAllocation[this.allocation[value]].filter((other) => other !== value && this.offset[other] < high && low < this.offset[other] + this.size_bytes[other]);
  }
  // What a stretch of steps makes and frees.
  sum(from, until) {
    const found = { made: 0, freed: 0, most: 0 };
    for (let value = 0; value < this.size; value += 1) {
      if (from <= this.live_from[value] && this.live_from[value] <= until) found.made += this.size_bytes[value];
      if (from <= this.live_until[value] && this.live_until[value] < until) found.freed += this.size_bytes[value];
    }
    for (let step = from; step <= until; step += 1) found.most = Math.max(found.most, this.used[step]);
    return found;
  }
}
