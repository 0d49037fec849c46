// What cases have in common.
import assert from "node:assert/strict";
import { Beanstalk, Faktory } from "./clients.js";

export async function faktory({ server, clients }, wid) {
  const client = await Faktory.open(server.faktory, wid);
  clients.push(client);
  return client;
}

export function beanstalk({ server, clients }) {
  const client = new Beanstalk(server.beanstalk);
  clients.push(client);
  return client;
}

export const LATE = "2099-01-01T00:00:00Z";
export const row = (page, text) => page.locator("tbody tr", { hasText: text });
/** Opens the fields of the filters in place of the line, or closes them. */
export const turnFields = (page) => page.locator(".fields summary").click();
/** Searches as by the field at the top. */
export async function find(page, text) {
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Search" }).getByRole("combobox").fill(text);
  await page.keyboard.press("Enter");
}
export const gone = (locator) => locator.waitFor({ state: "detached" });
export const counts = async ({ server }) => (await server.api("overview")).jobs;

/** Tables, cells of tables, or the page itself, whose content is wider than they are. */
export const clipped = (page) =>
  page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll(".scroll, .scroll td")]
      .filter((node) => node.scrollWidth > node.clientWidth + 1)
      .map((node) => `${node.ariaLabel ?? node.innerText}: ${node.scrollWidth}`),
  );

/** What is clipped on a page at these widths. */
export async function clippedAt(page, widths) {
  const found = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    for (const each of await clipped(page)) found.push(`${width} px: ${each}`);
  }
  return found;
}

/** Waits until the server says so: for ten seconds, or `tries` times 50 ms. */
export async function until(check, what, tries = 200) {
  for (let i = 0; i < tries; i += 1) {
    if (await check()) return;
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
  assert.fail(`never: ${what}`);
}

/** Jobs in every state, over both protocols. */
export async function fill(test) {
  const client = await faktory(test, "worker-1");
  await client.push("mail-0001", "SendMail", "mail", [1, { to: "you" }]);
  await client.push("later-001", "Later", "mail", [], { at: LATE });
  await client.push("fails-001", "Fails", "broken", ["x"]);
  await client.fail("broken", "Timeout", "after 3 s");
  await client.push("dies-0001", "Dies", "broken", ["y"], { retry: -1 });
  await client.fail("broken", "KeyError", "no key");
  await client.push("held-0001", "Held", "held");
  await client.fetch("held");
  const tube = beanstalk(test);
  await tube.put("thumbs", '{"path": "/img/1.jpg"}');
  await tube.put("thumbs", Buffer.from([0xff, 0, 1, 2]));
  await tube.put("reports", "later", 3600);
  return { client, tube };
}
