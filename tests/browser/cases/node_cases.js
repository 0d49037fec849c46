// The nodes of a shared log on the overview. The server of a case shares none, so the case answers.
import assert from "node:assert/strict";
import { violations } from "../axe.js";
import { row } from "../helpers.js";

const HOUR_MS = 3600000;
const LONG = "a-node-with-a-name-that-somebody-has-made-far-too-long-for-any-phone.example.com";

const node = (name, more) => ({
  node: name,
  role: "standby",
  version: "0.1.0",
  addresses: { beanstalk: `${name}:11300`, web: `${name}:7420` },
  applied: 1200,
  lag_messages: 2,
  lag_seconds: 0.21,
  heard_seconds: 0.4,
  is_silent: false,
  has_namesake: false,
  problem: null,
  ...more,
});

const takeover = (epoch, hours, more) => ({
  at: new Date(Date.now() - hours * HOUR_MS).toISOString(),
  epoch,
  from: "n1",
  to: "n2",
  cause: "lease_over",
  gap_seconds: 1.31,
  ...more,
});

const cluster = () => ({
  leader: "n2",
  epoch: 9,
  lease: { seconds: 1, left_seconds: 0.93 },
  engine: {
    kind: "nats",
    url: "nats://n1:4222,n2:4222,n3:4222/jobs",
    is_reachable: true,
    problem: null,
    last_append_seconds: 0.0021,
    in_flight: 3,
    refused: 0,
    unknown: 0,
    cache_bytes: 5 << 20,
  },
  nodes: [
    node("n2", { role: "leader", lag_messages: 0, lag_seconds: null, heard_seconds: 0 }),
    node("n1"),
    node("n3", { lag_messages: 48211, lag_seconds: 12.5 }),
    node("n4", { problem: "no servers available" }),
    node("n5", { has_namesake: true }),
    node(LONG, { is_silent: true, heard_seconds: 71 }),
  ],
  takeovers: [
    takeover(9, 0.1),
    takeover(8, 2, { from: "n2", to: "n1", cause: "handed_over", gap_seconds: 0.02 }),
    ...Array.from({ length: 17 }, (_, i) => takeover(7 - i, 3 + i)),
    takeover(1, 30, { from: null, to: "n1", cause: "first", gap_seconds: null }),
  ],
});

const share = (page, shown) =>
  page.route("**/api/v1/cluster", (route) => route.fulfill({ json: { cluster: shown } }));

/** Nothing that axe-core objects to, and nothing wider than the screen. */
function accessible(title, options) {
  return {
    title: `axe-core finds nothing among nodes, ${title}`,
    async run({ context, server }) {
      const other = await context
        .browser()
        .newContext({ ...options, bypassCSP: true, reducedMotion: "reduce" });
      const page = await other.newPage();
      await share(page, cluster());
      await page.goto(server.base);
      await row(page, "n3").waitFor();
      const found = await violations(page);
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      if (process.env.PICTURES) {
        const path = `${process.env.PICTURES}/nodes-${title.replaceAll(" ", "-")}.png`;
        await page.screenshot({ path, fullPage: true });
      }
      await other.close();
      assert.deepEqual(found, []);
      assert.ok(!isWide, "scrolls sideways");
    },
  };
}

export const cases = [
  accessible("light", { colorScheme: "light", viewport: { width: 1280, height: 900 } }),
  accessible("dark", { colorScheme: "dark", viewport: { width: 1280, height: 900 } }),
  accessible("390 px wide", { colorScheme: "light", viewport: { width: 390, height: 844 } }),
  accessible("320 px wide", { colorScheme: "dark", viewport: { width: 320, height: 640 } }),
  {
    title: "the overview shows no nodes where the log is not shared",
    async run({ page, open }) {
      await open("");
      await page.getByRole("heading", { name: "Attention" }).waitFor();
      assert.equal(await page.getByRole("heading", { name: "Nodes" }).count(), 0);
    },
  },
  {
    title: "the overview shows nodes with role, lag, lease and version",
    async run({ page, open }) {
      await share(page, cluster());
      await open("");
      await page.getByRole("heading", { name: "Nodes" }).waitFor();
      await page.getByText("5 nodes, epoch 9").waitFor();
      for (const [name, ...texts] of [
        ["n2", "leads", "930 ms of 1.0 s", "n2:7420", "0.1.0"],
        ["n1", "follows", "2 messages, 210 ms"],
        ["n3", "behind", "48,211 messages, 13 s"],
        ["n4", "cannot reach the log"],
        ["n5", "name used twice"],
        [LONG, "silent for 71 s"],
      ]) {
        const shown = await row(page, name).first().innerText();
        for (const text of texts) assert.ok(shown.includes(text), `${text} in: ${shown}`);
      }
      await page.getByText("2.1 ms, 3 in flight").waitFor();
    },
  },
  {
    title: "the overview shows the last takeovers, and why they were",
    async run({ page, open }) {
      await share(page, cluster());
      await open("");
      const list = page.getByRole("region", { name: "Last takeovers" }).getByRole("listitem");
      await list.first().waitFor();
      const texts = await list.allInnerTexts();
      assert.equal(texts.length, 20);
      const [last, before] = texts;
      assert.match(
        last,
        /n2 took over from n1: the lease ran out, at most 1.3 s without a leader\./,
      );
      assert.match(before, /n1 took over from n2: handed over, at most 20 ms without a leader\./);
      assert.match(texts.at(-1), /n1 took the lead: first leader of this log\./);
    },
  },
  {
    title: "the overview says why the engine cannot be reached",
    async run({ page, open }) {
      const shown = cluster();
      shown.engine = { ...shown.engine, is_reachable: false, problem: "no answer from n1:4222" };
      await share(page, shown);
      await open("");
      await page.locator(".bad", { hasText: "no answer from n1:4222" }).waitFor();
    },
  },
];
