// A tree of paths with bytes, seconds or flops, laid out as boxes below boxes. Nothing here knows a page.

// Adds figures up along paths: [parts, figure, reference]. Levels with one child and nothing of their own are one.
function growTree(rows) {
  const root = { name: "all", path: "", value: 0, own: 0, children: new Map(), reference: null };
  for (const [parts, value, reference] of rows) {
    if (!(value > 0)) continue;
    let node = root;
    node.value += value;
    parts.forEach((name, level) => {
      if (!node.children.has(name)) node.children.set(name, { name, path: parts.slice(0, level + 1).join("/"), value: 0, own: 0, children: new Map(), reference: null });
      node = node.children.get(name);
      node.value += value;
    });
    node.own += value;
    node.reference = reference ?? node.reference;
  }
  return fold(root, true);
}
function fold(node, isRoot = false) {
  const children = [...node.children.values()].map((each) => fold(each));
  if (!isRoot && children.length === 1 && !node.own) return { ...children[0], name: `${node.name}/${children[0].name}` };
  children.sort((a, b) => b.value - a.value);
  return { ...node, children };
}
// Boxes of a tree, [node, level, from, until] between 0 and 1; below `least` they are one, so that boxes add up.
function layTree(node, least = 0, most = 12) {
  const found = [];
  const lay = (one, level, from, until) => {
    found.push([one, level, from, until]);
    if (level + 1 >= most) return;
    let at = from, smaller = 0;
    for (const child of one.children) {
      const width = ((until - from) * child.value) / one.value;
      if (width < least) { smaller += child.value; continue; }
      lay(child, level + 1, at, at + width);
      at += width;
    }
    const width = ((until - from) * smaller) / one.value;
    if (smaller) found.push([{ name: "(smaller ones)", path: one.path, value: smaller, own: smaller, children: [], reference: null }, level + 1, at, at + width]);
  };
  lay(node, 0, 0, 1);
  return found;
}
function findNode(node, path) {
  if (node.path === path) return node;
  return node.children.map((each) => (path === each.path || path.startsWith(`${each.path}/`) || each.path.startsWith(`${path}/`) ? findNode(each, path) ?? (each.path.startsWith(`${path}/`) ? each : null) : null)).find(Boolean) ?? null;
}
