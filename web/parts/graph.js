// A tree as a graph: parents at the left, children at the right. It is panned by mouse, touch and
// wheel, and walked by the arrow keys. The same tree must be on the page as a list.
import { svg } from "../chart.js";
import { h } from "../dom.js";
import { go } from "../route.js";

const NODE = { wide: 210, high: 50 };
const GAP = { x: 44, y: 12 };
const EDGE = 8;
/** Units of a drawing in an em, so that it follows the font size of the browser. */
const UNITS = 14;
const NAME_MAX = 40;
/** A pointer that moved further pans, and does not click. */
const PAN_FROM = 4;

/** Places the node and all below it: leaves under each other, a parent beside its middle. */
function arrange(node, depth, rows, placed, parent = null) {
  const entry = { ...node, parent, x: EDGE + depth * (NODE.wide + GAP.x) };
  placed.push(entry);
  const below = node.children.map((each) => arrange(each, depth + 1, rows, placed, node.key));
  if (below.length === 0) {
    entry.y = EDGE + rows.count * (NODE.high + GAP.y);
    rows.count += 1;
  } else {
    entry.y = (below[0].y + below.at(-1).y) / 2;
  }
  return entry;
}

function edge(from, to) {
  const [x, y] = [from.x + NODE.wide, from.y + NODE.high / 2];
  const middle = x + GAP.x / 2;
  const end = to.y + NODE.high / 2;
  const curve = `C${middle} ${y} ${middle} ${end} ${to.x} ${end}`;
  return svg("path", { class: "edge", d: `M${x} ${y}${curve}` });
}

const cutName = (text) => (text.length > NAME_MAX ? `${text.slice(0, NAME_MAX - 1)}…` : text);

function box(node) {
  const { key, x, y, name, about, href, kind, isHere, bar, parent } = node;
  const inner = NODE.wide - 22;
  return svg(
    "a",
    {
      href,
      class: `node ${kind ?? ""}${isHere ? " here" : ""}`,
      "data-key": key,
      "data-x": x,
      "data-y": y,
      "data-parent": parent,
      "aria-label": about ? `${name}, ${about}` : name,
      "aria-current": isHere ? "true" : null,
      tabindex: isHere ? "0" : "-1",
    },
    svg(
      "rect",
      { class: "back", x, y, width: NODE.wide, height: NODE.high, rx: 6 },
      name.length > NAME_MAX && svg("title", {}, name),
    ),
    // An SVG inside clips what is too long.
    svg(
      "svg",
      { x: x + 12, y, width: inner, height: NODE.high },
      svg("text", { y: about ? 19 : 30 }, cutName(name)),
      about && svg("text", { class: "about", y: 35 }, about),
    ),
    bar?.({ x: x + 12, y: y + 41, width: inner, height: 4 }),
  );
}

/** The node to which an arrow key leads. */
function neighbour(all, from, key) {
  const here = { x: Number(from.dataset.x), y: Number(from.dataset.y) };
  const nearest = (some) => {
    const off = (node) => Math.abs(Number(node.dataset.y) - here.y);
    return some.sort((a, b) => off(a) - off(b))[0];
  };
  const inColumn = (sign) =>
    all.filter(({ dataset: { x, y } }) => Number(x) === here.x && sign * (y - here.y) > 0);
  switch (key) {
    case "ArrowLeft":
      return all.find(({ dataset }) => dataset.key === from.dataset.parent);
    case "ArrowRight":
      return nearest(all.filter(({ dataset }) => dataset.parent === from.dataset.key));
    case "ArrowUp":
      return nearest(inColumn(-1));
    case "ArrowDown":
      return nearest(inColumn(1));
    default:
      return null;
  }
}

function walk(event) {
  const from = event.target.closest(".node");
  if (!from || event.altKey || event.ctrlKey || event.metaKey) return;
  const all = [...event.currentTarget.querySelectorAll(".node")];
  const to = neighbour(all, from, event.key);
  if (event.key.startsWith("Arrow")) event.preventDefault();
  if (!to) return;
  all.forEach((node) => node.setAttribute("tabindex", node === to ? "0" : "-1"));
  to.focus({ preventScroll: true });
  to.scrollIntoView({ block: "nearest", inline: "nearest" });
}

/** Touch and wheel pan by themselves. */
function panByMouse(area) {
  let from = null;
  let hasPanned = false;
  area.addEventListener("pointerdown", ({ button, pointerType, clientX, clientY }) => {
    if (button !== 0 || pointerType !== "mouse") return;
    hasPanned = false;
    from = { x: clientX + area.scrollLeft, y: clientY + area.scrollTop, clientX, clientY };
  });
  area.addEventListener("pointermove", ({ buttons, pointerId, clientX, clientY }) => {
    if (from === null || buttons === 0) {
      from = null;
      return;
    }
    if (Math.hypot(clientX - from.clientX, clientY - from.clientY) > PAN_FROM) {
      hasPanned = true;
      area.setPointerCapture(pointerId);
    }
    if (hasPanned) area.scrollTo(from.x - clientX, from.y - clientY);
  });
  area.addEventListener("dragstart", (event) => event.preventDefault());
  area.addEventListener("click", (event) => {
    const anchor = event.target.closest(".node");
    const isPlain = !event.metaKey && !event.ctrlKey && !event.shiftKey;
    if (hasPanned) {
      event.preventDefault();
    } else if (anchor && isPlain) {
      event.preventDefault();
      go(anchor.href.baseVal);
    }
    hasPanned = false;
  });
}

/**
 * `root` is {key, name, about, href, kind, isHere, bar, children}: `bar(place)` draws at the foot
 * of the node, and one node `isHere`.
 */
export function graph(title, root) {
  const rows = { count: 0 };
  const placed = [];
  arrange(root, 0, rows, placed);
  const at = new Map(placed.map((each) => [each.key, each]));
  const wide = Math.max(...placed.map(({ x }) => x)) + NODE.wide + EDGE;
  const high = Math.max(...placed.map(({ y }) => y)) + NODE.high + EDGE;
  const drawing = svg(
    "svg",
    {
      viewBox: `0 0 ${wide} ${high}`,
      width: `${wide / UNITS}em`,
      height: `${high / UNITS}em`,
      role: "group",
      "aria-label": title,
    },
    placed.filter(({ parent }) => parent !== null).map((each) => edge(at.get(each.parent), each)),
    placed.map(box),
  );
  const area = h(
    "div",
    { class: "graph", tabindex: "0", role: "region", "aria-label": `${title}, as a graph` },
    drawing,
  );
  area.onkeydown = walk;
  panByMouse(area);
  // Once it is on the page, the node that the page is about is in sight.
  requestAnimationFrame(() => {
    if (!area.isConnected) return;
    const { x, y } = placed.find(({ isHere }) => isHere) ?? placed[0];
    const scale = drawing.getBoundingClientRect().width / wide;
    area.scrollTo(
      x * scale - (area.clientWidth - NODE.wide * scale) / 2,
      y * scale - (area.clientHeight - NODE.high * scale) / 2,
    );
  });
  return area;
}
