// Builds elements, and turns one tree of them into another in place. All text is set as text.

/** h("td", {class: "n", onclick: f}, "text", child, [more]); null and false are left out. */
export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (
      name.startsWith("on") ||
      name === "checked" ||
      name === "value" ||
      name === "indeterminate"
    ) {
      node[name] = value;
      if (name === "value") node.setAttribute("value", value);
    } else {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  append(node, children);
  return node;
}

/** Shows characters that reverse the text after them by their code: they can disguise a name. */
export const named = (text) =>
  text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16)}`);

function append(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(node, child);
    else if (typeof child === "string") node.append(named(child));
    else if (child !== null && child !== undefined && child !== false) node.append(child);
  }
}

const key = (node) => (node.nodeType === 1 ? node.getAttribute("data-key") : null);

function isAlike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b);
}

const HANDLERS = ["onclick", "onchange", "oninput", "onsubmit", "onkeydown"];

function morphElement(from, to) {
  // A live element, such as a chart, updates itself.
  if (from.dataset.live && from.dataset.live === to.dataset.live) return;
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !(name === "open" && from.nodeName === "DETAILS")) {
      from.removeAttribute(name);
    }
  }
  for (const { name, value } of [...to.attributes]) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const name of HANDLERS) if (from[name] !== to[name]) from[name] = to[name];
  if (from.nodeName === "INPUT") {
    if (from.type === "checkbox") {
      from.checked = to.checked;
      from.indeterminate = to.indeterminate;
    } else if (document.activeElement !== from && from.value !== to.value) {
      from.value = to.value;
    }
    return;
  }
  if (from.nodeName === "SELECT" && document.activeElement === from) return;
  morphChildren(from, to);
  if (from.nodeName === "SELECT") from.value = to.value;
}

/** Makes the children of `from` those of `to`, keeping nodes, focus and scroll. */
export function morphChildren(from, to) {
  const keyed = new Map();
  for (const child of from.childNodes) if (key(child)) keyed.set(key(child), child);
  let place = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const known = key(wanted) ? keyed.get(key(wanted)) : null;
    let target = known && isAlike(known, wanted) ? known : null;
    if (!target && place && isAlike(place, wanted) && !key(place)) target = place;
    if (!target) {
      from.insertBefore(wanted, place);
      continue;
    }
    if (target === place) place = place.nextSibling;
    else from.insertBefore(target, place);
    if (target.nodeType === 1) morphElement(target, wanted);
    else if (target.nodeValue !== wanted.nodeValue) target.nodeValue = wanted.nodeValue;
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

/** Shows `nodes` in `container`. */
export function show(container, ...nodes) {
  const tree = document.createElement(container.nodeName);
  append(tree, nodes);
  morphChildren(container, tree);
}
