// The side panel: what there is to know about what is selected; every name in it opens.
const MOST_LISTED = 24;

function make(tag, text, attributes = {}) {
  const node = document.createElement(tag);
  if (text !== undefined && text !== null) node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}
// A name that opens: kinds are instruction, value, scope, source.
function linkTo(model, kind, name, text = name, more = {}) {
  if (!name) return make("span", "");
  if (kind === "instruction" && !model.places.has(name)) return make("span", text, { class: "mono" });
  return make("a", text, { class: "name mono", href: "#", "data-kind": kind, "data-name": name, "data-side": model.label, ...more });
}
function paragraph(title, ...parts) {
  const node = make("p");
  if (title) node.append(make("strong", `${title}: `));
  node.append(...parts);
  return node;
}
// A list of links of which the first are shown, and the others on demand.
function listLinks(title, links) {
  const part = make("section");
  part.append(make("h3", `${title} (${links.length.toLocaleString("en")})`));
  const write = (some) => { const list = make("ul"); for (const each of some) { const item = make("li"); item.append(...[each].flat()); list.append(item); } return list; };
  part.append(write(links.slice(0, MOST_LISTED)));
  if (links.length > MOST_LISTED) {
    const more = make("button", `Show all ${links.length.toLocaleString("en")}`, { type: "button" });
    more.addEventListener("click", () => more.replaceWith(write(links.slice(MOST_LISTED))));
    part.append(more);
  }
  return part;
}
function sayTransfer(model, each) {
  const sent = each.is_bound ? "≥ " : "";
  const lines = [`${model.word(each.kind)} over ${model.word(each.axes)}, ${model.word(each.dtype)}`, `sends ${sent}${bytes(each.sent_bytes)} per step of the program`];
  lines.push(each.exposed_share === null ? "nobody knows how much is hidden" : `${percent(each.exposed_share)} exposed${each.exposed_seconds === null ? "" : `, ${seconds(each.exposed_seconds)}`}`);
  return each.cause < 0 ? lines : [...lines, `cause: ${model.word(each.cause)}`];
}
function sayValue(space, value) {
  const { model } = space, type = model.word(space.raw.allocations.type[space.allocation[value]]);
  const where = model.raw.is_estimate ? "" : `, allocation ${space.raw.allocations.number[space.allocation[value]]} from byte ${space.offset[value].toLocaleString("en")}`;
  return [
    model.valueName(space, value),
    `${bytes(space.size_bytes[value])}, ${type}${where}`,
    `live ${space.live_from[value].toLocaleString("en")} to ${space.live_until[value].toLocaleString("en")}`,
    [model.word(space.scope[value]), model.word(space.source[value])].filter(Boolean).join(", "),
  ].filter(Boolean);
}
const findValue = (model, name, number) => {
  const space = model.spaces.find((each) => each.raw.number === Number(number));
  for (let value = 0; space && value < space.size; value += 1) if (model.valueName(space, value) === name) return [space, value];
  return null;
};
function linkValue(space, value, text = "") {
  return [linkTo(space.model, "value", space.model.valueName(space, value), undefined, { "data-space": space.raw.number }), ` ${text || bytes(space.size_bytes[value])}`];
}

function describeInstruction(model, name) {
  const one = model.places.get(name);
  if (one === undefined) return [make("p", "Nothing on this page has that name.")];
  const low = model.bounds[one], high = Boolean(low & 4), place = model.runsOf.get(model.computation[one]);
  const parts = [make("pre", model.definition(one).join("\n    "))];
  const way = model.way(one);
  if (way.length) parts.push(paragraph("in", ...way.flatMap((each, at) => [at ? " > " : "", at % 2 ? linkTo(model, "instruction", each) : make("span", each, { class: "mono" })])));
  parts.push(...describePlace(model, model.scope[one], model.source[one], model.frame[one], PASSES[model.pass[one]]), ...describePlacement(model, one));
  if (one < model.steps) parts.push(paragraph("step", one.toLocaleString("en")));
  if (place !== undefined && model.raw.computations.is_run[place]) {
    const runs = model.raw.computations.runs[place];
    parts.push(paragraph("per step of the program", `runs ${runs === null ? "an unknown number of times" : many(runs, "time")}: ${bound(low & 1, high)}${count(model.flops[one])} flops, ${bound(low & 2, high)}${bytes(model.traffic_bytes[one])} of memory traffic${model.raw.times?.is_timed && model.seconds[one] ? `, estimated ${bound(low & 3, high)}${seconds(model.seconds[one])}` : ""}`));
  }
  if (model.measured[one]) parts.push(paragraph("measured", `${seconds(model.measured[one])} per step of the program`));
  for (const each of model.transfers) if (each.start === one || each.end === one) parts.push(paragraph("transfer", sayTransfer(model, each).join("; ")));
  for (const [at, words] of model.raw.findings) if (at === one) parts.push(paragraph("finding", model.word(words)));
  const values = model.spaces.flatMap((space) => Array.from(space.instruction, (at, value) => (at === one ? linkValue(space, value, `${bytes(space.size_bytes[value])} in ${space.raw.name}, live ${space.live_from[value]} to ${space.live_until[value]}`) : null)).filter(Boolean));
  if (values.length) parts.push(listLinks("Values it makes", values));
  const near = (list) => list.map((each) => [linkTo(model, "instruction", model.names[each]), ` ${short(model.word(model.shape[each]), 40)}`]);
  parts.push(listLinks("Operands", near(model.operands(one))), listLinks("Users", near(model.users(one))));
  const inside = model.inside(one);
  if (inside.length) parts.push(listLinks("Inside", near(inside)));
  return parts;
}
function describePlace(model, scope, source, frame, pass = "") {
  const parts = [], stack = model.stack(frame);
  if (scope >= 0) parts.push(paragraph("scope", linkTo(model, "scope", model.word(scope)), pass ? `, ${pass}` : ""));
  if (source >= 0) parts.push(paragraph("source", linkTo(model, "source", model.word(source))), ...quoteText(model, model.word(source)));
  if (stack.length > 1) parts.push(listLinks("Call stack", stack.map((each) => linkTo(model, "source", model.word(each.what).split(" ")[0], model.word(each.what)))));
  return parts;
}
// The text around a line, of each file that it may be in; there is none without `--source`.
function quoteText(model, source) {
  const [file, line] = source.split(":"), found = [];
  for (const each of model.texts) {
    const lines = each.text.split("\n"), place = Number(line) - each.first_line;
    if (each.name !== file || !(place >= 0 && place < lines.length)) continue;
    const near = make("pre", null, { "aria-label": `${each.path}, around line ${line}` });
    lines.slice(Math.max(0, place - 5), place + 6).forEach((text, at) => { const number = Math.max(0, place - 5) + at + each.first_line; near.append(make(number === Number(line) ? "mark" : "span", `${number}  ${plain(text)}\n`)); });
    found.push(make("p", each.path, { class: "kind" }), near);
  }
  return found;
}
// Where an argument or a result lies on the devices.
function describePlacement(model, one) {
  return model.placements.filter((each) => each.instruction === one).map((each) => paragraph(model.word(model.opcode[one]) === "parameter" ? "argument" : "result", each.global_shape < 0 ? "unknown global shape" : `global shape ${model.word(each.global_shape)}`, `, sharding ${model.word(each.spec) || "?"}`, each.copies > 1 ? `, ${each.copies.toLocaleString("en")} copies` : ""));
}
function describeValue(model, name, number) {
  const found = findValue(model, name, number);
  if (!found) return [make("p", "Nothing on this page has that name.")];
  const [space, value] = found, at = (step) => (step >= model.steps ? "the end" : linkTo(model, "instruction", model.names[step]));
  const producer = space.instruction[value], users = model.users(producer).filter((each) => each < model.steps).sort((a, b) => b - a);
  const until = space.live_until[value];
  const parts = sayValue(space, value).slice(1).map((text) => make("p", text));
  parts.push(paragraph("made by", linkTo(model, "instruction", model.names[producer]), ` ${short(model.word(model.shape[producer]), 60)}`));
  parts.push(paragraph("lives until", at(until), until >= model.steps ? ": it leaves the program, or lives throughout" : users[0] === until ? ": its last user" : ": what runs when it is free"));
  const held = space.holders(space.raw.peak ?? 0).find(([each]) => each === value);
  parts.push(paragraph("at the peak", held ? `it holds ${bytes(held[1])}` : "it holds nothing"));
  parts.push(...describePlacement(model, producer), ...describePlace(model, space.scope[value], space.source[value], space.frame[value]));
  if (users.length) parts.push(listLinks("Users, the last first", users.map((each) => [linkTo(model, "instruction", model.names[each]), ` step ${each.toLocaleString("en")}`])));
  if (!model.raw.is_estimate) {
    const sharing = space.sharing(value).sort((a, b) => space.live_from[a] - space.live_from[b]);
    parts.push(listLinks("In the same bytes at some time", sharing.map((each) => linkValue(space, each, `${bytes(space.size_bytes[each])}, live ${space.live_from[each]} to ${space.live_until[each]}`))));
  }
  return parts;
}
// What some steps come to, in words.
function saySums(model, sums) {
  const low = sums.bounds, high = Boolean(low & 4);
  const said = [`${bound(low & 1, high)}${count(sums.flops)} flops`, `${bound(low & 2, high)}${bytes(sums.traffic_bytes)} of memory traffic`];
  if (model.raw.times?.is_timed) said.push(`estimated ${bound(low & 3, high)}${seconds(sums.seconds)}`);
  said.push(`sends ${sums.isOpen ? "≥ " : ""}${bytes(sums.sent_bytes)}, ${sums.isOpen ? "≥ " : ""}${bytes(sums.exposed_bytes)} exposed`);
  return said.map((text) => make("p", text));
}
function describeRange(model, from, until, space) {
  const sums = model.sum(from, until), parts = [make("p", many(until - from + 1, "step"))];
  if (space) {
    const memory = space.sum(from, until);
    parts.push(paragraph(`in ${space.raw.name}`, `made ${bytes(memory.made)}, freed ${bytes(memory.freed)}, at most ${bytes(memory.most)} in use`));
  }
  parts.push(...saySums(model, sums));
  const zoom = make("button", "Zoom to it", { type: "button", "data-act": "zoom" });
  parts.push(zoom);
  if (space) {
    const made = Array.from(space.live_from, (step, value) => value).filter((value) => from <= space.live_from[value] && space.live_from[value] <= until).sort((a, b) => space.size_bytes[b] - space.size_bytes[a]);
    parts.push(listLinks("Values made here, the largest first", made.map((value) => linkValue(space, value))));
  }
  parts.push(listLinks("Steps", Array.from({ length: Math.min(until, model.steps - 1) - from + 1 }, (_, place) => [linkTo(model, "instruction", model.names[from + place]), ` ${short(model.word(model.shape[from + place]), 40)}`])));
  return parts;
}
// What stands in a scope, or comes from a source line.
function describeGroup(model, steps, values) {
  const parts = [make("p", many(steps.length, "step")), ...saySums(model, model.add(steps))];
  for (const [space, list] of values) {
    const held = new Map(space.holders(space.raw.peak ?? 0)), most = list.reduce((sum, value) => sum + (held.get(value) ?? 0), 0);
    parts.push(paragraph(`at the peak of ${space.raw.name}`, bytes(most)));
    parts.push(listLinks(`Values in ${space.raw.name}`, [...list].sort((a, b) => space.size_bytes[b] - space.size_bytes[a]).map((value) => linkValue(space, value))));
  }
  parts.push(listLinks("Steps", steps.map((step) => [linkTo(model, "instruction", model.names[step]), ` ${short(model.word(model.shape[step]), 40)}`])));
  return parts;
}
