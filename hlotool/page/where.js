// The expression language of `--where`, as far as a page can evaluate it as hlotool does: what differs
// anywhere is refused. A comparison with null is false; `not` makes it true. Nothing here knows a page.
class Refused extends Error {}
const DECIMALS = { B: 0, kB: 3, KB: 3, MB: 6, GB: 9, TB: 12, PB: 15, s: 0, ms: -3, us: -6, "µs": -6, "μs": -6, ns: -9 };
const BINARIES = { KiB: 1, MiB: 2, GiB: 3, TiB: 4, PiB: 5 };
const LARGEST = 1e300, DEEPEST = 16;
const isTime = (suffix) => suffix.endsWith("s");
const WHERE_TOKEN = /\s*(?:(?<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:\s*(?<suffix>[kKMGTP]?B(?!\w)|[KMGTP]iB(?!\w)|[muµμn]?s(?!\w)|%))?|(?<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<word>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)|(?<mark>==|!=|<=|>=|!~|[<>~+\-*\/()[\],])|(?<end>$))/suy;
const COMPARE = { "==": (a, b) => a === b, "!=": (a, b) => a !== b, "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b };
const CALCULATE = { "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b };
// What both languages of patterns read alike: no look-around, no counts, no classes by name but \d and \w.
const PLAIN_PATTERN = /^(?:[^\\([{}\]?*+|)]|\\[.*+?()[\]{}|^$\/\\dw]|\((?:\?:)?|[)*+?|]|\[\^?[\w\-. ,\/]+\])*$/u;

function readPattern(text) {
  if (!PLAIN_PATTERN.test(text) || /\(\?(?!:)/.test(text)) throw new Refused("a page does not read this pattern; ask hlotool --where");
  try { return new RegExp(text, "u"); } catch { throw new Refused("this is not a regular expression"); }
}
function listTokens(text) {
  const found = [];
  WHERE_TOKEN.lastIndex = 0;
  for (;;) {
    const match = WHERE_TOKEN.exec(text);
    if (!match) throw new Refused(`this is not understood: ${text.slice(found.at(-1)?.end ?? 0).trim().slice(0, 20)}`);
    const [kind, written] = Object.entries(match.groups).find(([, each]) => each !== undefined);
    found.push({ kind, written, suffix: match.groups.suffix ?? "", end: WHERE_TOKEN.lastIndex });
    if (kind === "end") return found;
  }
}
// 1.1GB is 1,100,000,000, which 1.1 * 1e9 is not.
function toBase(digits, suffix) {
  const plainDigits = digits.replaceAll("_", "");
  return BINARIES[suffix] ? Number(plainDigits) * 1024 ** BINARIES[suffix] : Number(`${Number(plainDigits)}`.includes("e") ? Number(plainDigits) * 10 ** (DECIMALS[suffix] ?? 0) : `${Number(plainDigits)}e${DECIMALS[suffix] ?? 0}`);
}

// Reads a condition on rows; `fields` has of each name "text", "bytes", "seconds" or "number". Returned is
// a test of a function that gives a row's value by name. Parts are { kind, unit, suffix, read }.
function parseWhere(text, fields) {
  const tokens = listTokens(text);
  let at = 0, depth = 0;
  const see = (...written) => tokens[at].kind !== "text" && tokens[at].kind !== "number" && written.includes(tokens[at].written);
  const take = (...written) => (see(...written) ? tokens[at++].written : null);
  const expect = (written) => { if (!take(written)) throw new Refused(`expected ${written}, found ${tokens[at].written || "the end"}`); };
  const deeper = (act) => { if ((depth += 1) > DEEPEST) throw new Refused("this is nested too deep"); const found = act(); depth -= 1; return found; };
  const need = (part, kind, words) => { if (part.kind !== kind) throw new Refused(`${words}, found ${part.kind === "flag" ? "a condition" : part.kind === "null" ? "null" : `a ${part.kind}`}`); return part; };
  // A size stands against a field of bytes, a time against one of seconds, and nothing else.
  const fit = (literal, other) => {
    if (!literal.suffix) return;
    const unit = literal.suffix === "%" ? "percent" : isTime(literal.suffix) ? "seconds" : "bytes";
    if (other.unit !== unit) throw new Refused(`${literal.suffix} needs a field of ${unit}`);
  };
  function literal() {
    const token = tokens[at];
    if (token.kind === "number") {
      at += 1;
      const value = toBase(token.written, token.suffix);
      if (!(value <= LARGEST)) throw new Refused("this number is too large");
      return { kind: "number", suffix: token.suffix, value, read: () => value };
    }
    if (token.kind === "text") {
      at += 1;
      const [quote] = token.written, value = token.written.slice(1, -1).replace(quote === '"' ? /\\([\\"])/g : /\\([\\'])/g, "$1");
      return { kind: "text", value, read: () => value };
    }
    const word = take("true", "false", "null");
    if (!word) return null;
    const value = word === "null" ? null : word === "true";
    return { kind: word === "null" ? "null" : "flag", value, isNull: word === "null", read: () => value };
  }
  function factor() {
    if (take("-")) {
      const part = deeper(() => need(factor(), "number", "- needs numbers"));
      return { kind: "number", unit: part.unit, suffix: part.suffix, read: (get) => { const value = part.read(get); return value === null ? null : -value; } };
    }
    if (take("(")) {
      const part = deeper(disjunction);
      expect(")");
      return part;
    }
    const found = literal();
    if (found) return found;
    const { kind, written } = tokens[at];
    if (kind !== "word" || ["and", "or", "not", "in", "contains"].includes(written)) throw new Refused(`expected a value, found ${written || "the end"}`);
    if (!Object.hasOwn(fields, written)) throw new Refused(`there is no field ${written}; text needs quotes`);
    at += 1;
    return { kind: fields[written] === "text" ? "text" : "number", unit: fields[written], read: (get) => get(written) };
  }
  function chain(operand, marks) {
    let left = operand();
    while (see(...marks)) {
      const mark = take(...marks), first = need(left, "number", `${mark} needs numbers`), right = need(operand(), "number", `${mark} needs numbers`);
      if (first.suffix || right.suffix) throw new Refused("a page does not calculate with sizes and times; write bytes or seconds");
      const calculate = CALCULATE[mark];
      left = { kind: "number", read: (get) => {
        const a = first.read(get), b = right.read(get);
        const value = a === null || b === null || (mark === "/" && b === 0) ? null : calculate(a, b);
        return value !== null && Math.abs(value) <= LARGEST ? value : null;
      } };
    }
    return left;
  }
  const sum = () => chain(() => chain(factor, ["*", "/"]), ["+", "-"]);
  const flag = (read) => ({ kind: "flag", read });
  const search = (part, isFound, isWanted) => flag((get) => { const value = part.read(get); return value !== null && isFound(value) === isWanted; });
  function quoted(what) {
    const found = literal();
    if (found?.kind !== "text") throw new Refused(`${what} needs text in quotes`);
    return found.value;
  }
  function listing(left) {
    const close = take("[") ? "]" : take("(") ? ")" : null, values = new Set();
    if (!close) throw new Refused("in needs a list, as in [1, 2]");
    if (close === ")" || !see(close)) do {
      const isNegative = take("-"), item = literal();
      if (!item || (isNegative && item.kind !== "number")) throw new Refused("a list has numbers or texts");
      if (!item.isNull) { need(item, left.kind, `a list of ${left.kind}s`); fit(item, left); }
      values.add(isNegative ? -item.value : item.value);
    } while (take(","));
    expect(close);
    return values;
  }
  function comparison() {
    const left = sum(), isNegated = see("not") && ["in", "contains"].includes(tokens[at + 1].written) ? Boolean(take("not")) : false;
    if (take("contains")) { const wanted = quoted("contains"); return search(need(left, "text", "contains searches in text"), (value) => value.includes(wanted), !isNegated); }
    if (take("in")) {
      const values = listing(left), hasNull = values.has(null);
      return flag((get) => { const value = left.read(get); return (value !== null || hasNull) && values.has(value) === !isNegated; });
    }
    const match = take("~", "!~");
    if (match) { const pattern = readPattern(quoted(match)); return search(need(left, "text", `${match} searches in text`), (value) => pattern.test(value), match === "~"); }
    const mark = take(...Object.keys(COMPARE));
    if (!mark) return left;
    const right = sum(), compare = COMPARE[mark];
    if (!mark.endsWith("=") || mark === "<=" || mark === ">=") for (const side of [left, right]) need(side, "number", `${mark} compares numbers`);
    else if (left.kind !== "null") { if (right.kind !== "null") need(right, left.kind, `${mark} compares a ${left.kind}`); }
    fit(left, right);
    fit(right, left);
    if (left.isNull || right.isNull) return flag((get) => (left.read(get) === null && right.read(get) === null) === (mark === "=="));
    return flag((get) => { const a = left.read(get), b = right.read(get); return a !== null && b !== null && compare(a, b); });
  }
  function negation() {
    if (!take("not")) return comparison();
    const part = deeper(() => need(negation(), "flag", "not needs a condition"));
    return flag((get) => part.read(get) !== true);
  }
  function join(operand, word, decide) {
    const parts = [operand()];
    while (take(word)) parts.push(operand());
    if (parts.length === 1) return parts[0];
    for (const each of parts) need(each, "flag", `${word} needs conditions`);
    return flag((get) => decide(parts, get));
  }
  function disjunction() {
    return join(() => join(negation, "and", (parts, get) => parts.every((each) => each.read(get) === true)), "or", (parts, get) => parts.some((each) => each.read(get) === true));
  }
  const found = need(disjunction(), "flag", "a condition is wanted, such as size_bytes > 1MiB");
  if (tokens[at].kind !== "end") throw new Refused(`expected an operator, found ${tokens[at].written}`);
  return (get) => found.read(get) === true;
}

// What may be asked of an instruction, as `show` has it, and of a value, as `buffers` has it.
const INSTRUCTION_FIELDS = { name: "text", opcode: "text", computation: "text", scope: "text", source_line: "number", executions: "number", flops_per_step: "number", traffic_bytes_per_step: "bytes" };
const VALUE_FIELDS = { value: "text", instruction: "text", opcode: "text", shape: "text", source: "text", allocation_type: "text", size_bytes: "bytes", space: "number", allocation: "number", offset: "number", live_from: "number", live_until: "number" };
// Instructions that run by themselves: those inside fusions and reducers have no figures of their own.
const listRunning = (model) => model.names.map((_, one) => one).filter((one) => model.raw.computations.is_run[model.runsOf.get(model.computation[one])]);
function readInstruction(model, one) {
  const word = (place) => (place < 0 ? null : model.words[place]);
  return (name) => {
    switch (name) {
      case "name": return model.names[one];
      case "source_line": { const line = /:(\d+)$/.exec(model.word(model.source[one])); return line && Number(line[1]); }
      case "executions": return model.raw.computations.runs[model.runsOf.get(model.computation[one])];
      case "flops_per_step": return model.flops[one];
      case "traffic_bytes_per_step": return model.traffic_bytes[one];
      default: return word(model[name][one]);
    }
  };
}
function readValue(space, value) {
  const { model } = space, word = (place) => (place < 0 ? null : model.words[place]);
  return (name) => {
    switch (name) {
      case "value": return model.valueName(space, value);
      case "instruction": return model.names[space.instruction[value]];
      case "opcode": return word(model.opcode[space.instruction[value]]);
      case "allocation_type": return word(space.raw.allocations.type[space.allocation[value]]);
      case "allocation": return model.raw.is_estimate ? null : space.raw.allocations.number[space.allocation[value]];
      case "offset": return model.raw.is_estimate ? null : space.offset[value];
      case "space": return space.raw.number;
      case "shape": case "source": return word(space[name][value]);
      default: return space[name][value];
    }
  };
}
