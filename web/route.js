// Addresses: the page of a path, and how to go there. The address includes everything that a page
// shows, filters too, so it can be bookmarked and shared.

const BASE = new URL(document.baseURI).pathname;

/** The path below our base, without slash in front: "jobs/12". */
export const path = () => location.pathname.slice(BASE.length);

export const params = () =>
  Object.fromEntries([...new URLSearchParams(location.search)].filter(([, value]) => value));

export function link(to, query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") search.set(name, value);
  }
  const text = search.toString();
  return BASE + to + (text ? `?${text}` : "");
}

let follow = () => {};
export function onChange(call) {
  follow = call;
  history.scrollRestoration = "manual";
  addEventListener("pagehide", keepPlace);
  addEventListener("popstate", () => call(true));
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest?.("a[href]");
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey;
    if (!anchor || !isPlain || event.defaultPrevented || anchor.target || anchor.download) return;
    if (anchor.origin !== location.origin || !anchor.pathname.startsWith(BASE)) return;
    const to = anchor.pathname.slice(BASE.length);
    if (anchor.hash || /^(api|metrics|stats|health|help)\b/.test(to)) return;
    event.preventDefault();
    go(anchor.href);
  });
}

/** Stores the scroll position of the page with its entry in the browser's history. */
const keepPlace = () => history.replaceState(scrollY, "");

export function go(href) {
  keepPlace();
  history.pushState(null, "", href);
  follow(false);
}

/** The same page with another filter: no new entry in the browser's history. */
export function replace(href) {
  history.replaceState(null, "", href);
  follow(false);
}
