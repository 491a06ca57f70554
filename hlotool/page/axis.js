// Figures in words, and the x axis: which steps a column of pixels shows. Nothing here knows a page.
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function bytes(value) {
  if (value === null || value === undefined) return "?";
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) { value /= 1024; unit += 1; }
  return `${unit ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
}
function count(value) {
  if (value === null || value === undefined) return "?";
  for (const [size, mark] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (Math.abs(value) >= size) return `${(value / size).toPrecision(3)} ${mark}`;
  }
  return String(value);
}
function seconds(value) {
  if (value === null || value === undefined) return "?";
  if (!value) return "0 s";
  for (const [size, mark] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]) {
    if (value >= size) return `${(value / size).toPrecision(3)} ${mark}`;
  }
  return `${(value / 1e-9).toPrecision(2)} ns`;
}
const percent = (part) => (part === null || part === undefined ? "?" : `${(100 * part).toFixed(1)} %`);
// What bounds a figure: a part of it is unknown, or counted though it might not run.
const bound = (isLower, isUpper) => (isLower && isUpper ? "about " : isLower ? "≥ " : isUpper ? "≤ " : "");
// Foreign text without marks of direction and control characters, which would change what stands beside it.
const plain = (text) => text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
const short = (text, most = 60) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const many = (number, one, more = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : more}`;

// The first place of rising numbers that holds at least `wanted`.
function lowerBound(numbers, wanted) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Steps lie between edges, from `edges[step]` to before `edges[step + 1]`; a step may take no time.
class Axis {
  constructor(edges) {
    this.edges = edges;
    this.count = edges.length - 1;
    this.first = edges[0];
    this.last = edges[this.count];
  }
  static ofSteps(count) {
    return new Axis(Float64Array.from({ length: count + 1 }, (_, step) => step));
  }
  // The last position is behind the last step: what leaves the program lives there, and takes no time.
  static ofTimes(begins) {
    return new Axis(Float64Array.from([...begins, begins[begins.length - 1]]));
  }
  // The step whose interval holds a place on the axis; of those that take no time there, the last.
  stepAt(place) {
    let low = 0, high = this.edges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.edges[middle] <= place) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, Math.min(this.count - 1, low - 1));
  }
  // The first and the last step that meet [from, until): those that take no time count where they stand.
  meet(from, until) {
    const at = lowerBound(this.edges, from);
    const first = this.edges[at] > from ? at - 1 : at;
    const last = (until >= this.last ? this.count : lowerBound(this.edges, until)) - 1;
    return [Math.max(0, Math.min(first, this.count - 1)), Math.max(0, Math.min(Math.max(first, last), this.count - 1))];
  }
  // Of each pixel column of a view the first and the last step in it.
  columns(from, until, width) {
    const found = { first: new Int32Array(width), last: new Int32Array(width) };
    for (let x = 0; x < width; x += 1) {
      const [first, last] = this.meet(from + ((until - from) * x) / width, from + ((until - from) * (x + 1)) / width);
      found.first[x] = first;
      found.last[x] = last;
    }
    return found;
  }
  // Which step a column stands for: the one at its middle if that is a pixel wide; of narrower ones the
  // one with the largest figure. With it, how many there are.
  choose(from, until, width, x, figureOf) {
    const pixel = (until - from) / width, left = from + pixel * x;
    const [first, last] = this.meet(left, left + pixel), middle = this.stepAt(left + pixel / 2);
    if (last === first) return { step: first, several: 1 };
    if (this.edges[middle + 1] - this.edges[middle] >= pixel * 0.999) return { step: middle, several: 1 };
    let best = first;
    for (let step = first + 1; step <= last; step += 1) if (figureOf(step) > figureOf(best)) best = step;
    return { step: best, several: last - first + 1 };
  }
}

// Round numbers between two, about so many; of bytes those of one binary unit.
function ticks(from, until, wanted, base = 1) {
  const rough = (until - from) / base / wanted;
  if (!(rough > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((each) => each * power >= rough * 0.999) * power * base;
  const found = [];
  for (let number = Math.ceil(from / step); number * step <= until; number += 1) found.push(number * step);
  return found;
}
const byteBase = (most) => 1024 ** Math.max(0, Math.min(UNITS.length - 1, Math.floor(Math.log(Math.max(most, 1)) / Math.log(1024))));
