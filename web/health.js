// Whether the server is in trouble. The title and the icon of every page tell it.
import { get } from "./api.js";
import { path } from "./route.js";

const LOOK_MS = 10000;
/** A page in the background has only its title and its icon to be seen. */
const HIDDEN_MS = 60000;

const icon = document.querySelector("link[rel=icon]");
/** The address that the page names, so that it is loaded once. */
export const ICON = icon.href;

let isTrouble = false;
let timer = 0;
let isOff = () => false;

export const isInTrouble = () => isTrouble;

/** A change fires "health" on the document. */
function set(next) {
  if (next === isTrouble) return;
  isTrouble = next;
  icon.href = next ? new URL("assets/trouble.svg", document.baseURI).href : ICON;
  document.dispatchEvent(new Event("health"));
}

export const noteHealth = ({ level }) => set(level === "trouble");

const later = () => {
  clearTimeout(timer);
  timer = setTimeout(look, document.hidden ? HIDDEN_MS : LOOK_MS);
};

async function look() {
  try {
    if (!isOff()) noteHealth((await get("overview")).health);
  } catch ({ status }) {
    // A server that asks for a password now is in no trouble that we know of.
    if (status === 0) set(true);
  }
  later();
}

/** Looks from now on, unless `isPaused()`. */
export function watchHealth(isPaused) {
  isOff = isPaused;
  document.addEventListener("visibilitychange", () => (document.hidden ? later() : look()));
  if (path() === "") later(); // the overview reads the same
  else look();
}
