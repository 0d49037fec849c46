// Runs before the first paint, so that a chosen theme does not flash.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("millrace.theme");
  } catch {
    // A browser that stores nothing follows the system.
  }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
