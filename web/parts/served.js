import { count } from "../format.js";
import { workerLink } from "../ui.js";

const NAMED_MAX = 5;

/** The workers that have asked for jobs of a queue within the last minute, and watchers. A worker
 * that runs a long job asks for nothing: it is known by its job. */
export function servedBy({ workers, watchers, is_served: isServed, reserved }) {
  const named = workers.slice(0, NAMED_MAX);
  const said = named.flatMap((each, i) => [i > 0 && ", ", workerLink(each)]);
  if (workers.length > NAMED_MAX) said.push(` and ${count(workers.length - NAMED_MAX)} more`);
  if (watchers > 0) said.push(said.length > 0 && ", ", `${count(watchers)} watching`);
  if (said.length > 0) return said;
  if (isServed) return "clients without a wid";
  return reserved > 0 ? `none asked within a minute, ${count(reserved)} running` : "none";
}

/** The names of a worker's queues in a row. The server sends the first 20. */
export function namesOf({ queues, queue_count: all }) {
  const more = all - queues.length;
  return queues.join(", ") + (more > 0 ? ` and ${count(more)} more` : "");
}
