// What the pages of batches must do.
import assert from "node:assert/strict";
import { violations } from "../axe.js";
import { LATE, clippedAt, faktory, gone, row, until } from "../helpers.js";

const job = (jobtype) => ({ jobtype, queue: "callbacks", args: [] });
const member = (client, bid, jid, more = {}) =>
  client.push(jid, "Member", "members", [jid], { custom: { bid }, ...more });

/** A batch with a member in each state, a parent and a child. */
async function family(test) {
  const client = await faktory(test, "worker-1");
  const make = (more) =>
    client.command("BATCH NEW", { complete: job("Report"), success: job("Done"), ...more });
  const parent = await make({ description: "the night" });
  const bid = await make({ description: "import of May", parent_bid: parent });
  const child = await make({ description: "a part", parent_bid: bid });
  for (const [jid, more] of [
    ["dies-0001", { retry: -1 }],
    ["lost-0001", { retry: 0 }],
    ["fails-001", {}],
  ]) {
    await member(client, bid, jid, more);
    await client.fail("members", "Timeout", "after 3 s");
  }
  await member(client, bid, "held-0001");
  await client.fetch("members");
  await member(client, bid, "later-001", { at: LATE });
  await member(client, bid, "ready-001");
  await member(client, bid, "ready-002");
  await client.push("other-001", "Other", "members");
  await client.push("other-002", "Other", "broken", [], { retry: -1 });
  await client.fail("broken", "KeyError", "no key");
  await client.command("BATCH COMMIT", parent);
  await client.command("BATCH COMMIT", bid);
  return { client, parent, bid, child };
}

/** The row of a batch: the causes of others may name it too. */
const batchRow = (page, name) =>
  page.locator("tbody tr", { has: page.locator("td.wide > a", { hasText: name }) });
const shown = (page, name) => page.locator("section", { hasText: name });
const api = (test, bid) => test.server.api(`batches/${bid}`);
const press = (page, name) => page.getByRole("button", { name }).click();
const agree = (page, name) => page.getByRole("dialog").getByRole("button", { name }).click();

export const cases = [
  {
    title: "without batches the page says how one is made",
    async run(test) {
      const { page } = test;
      await test.open("");
      await page.getByRole("link", { name: "Batches" }).click();
      await page.getByText("No batches yet.").waitFor();
      await page.getByText("BATCH NEW").waitFor();
    },
  },
  {
    title: "batches are listed, filtered by state, and lead to their pages",
    async run(test) {
      const { bid } = await family(test);
      const { page } = test;
      await test.open("batches");
      await batchRow(page, "import of May").waitFor();
      assert.deepEqual(await page.locator("tbody td.wide > a").allTextContents(), [
        "a part",
        "import of May",
        "the night",
      ]);
      await page.getByRole("navigation", { name: "States" }).getByText("Open").click();
      await gone(batchRow(page, "import of May"));
      await row(page, "a part").waitFor();
      await page.getByRole("navigation", { name: "States" }).getByText("Succeeded").click();
      await page.getByText("No batch is succeeded.").waitFor();
      await page.getByRole("navigation", { name: "States" }).getByText("All").click();
      await batchRow(page, "import of May").getByRole("link", { name: "import of May" }).click();
      await page.locator("h1", { hasText: "import of May" }).waitFor();
      assert.ok(page.url().endsWith(`batches/${bid}`));
    },
  },
  {
    title: "more batches than fit on a page are on the next one",
    async run(test) {
      const client = await faktory(test);
      for (let i = 0; i < 60; i += 1)
        await client.command("BATCH NEW", { success: job("Done"), description: `batch ${i}` });
      const { page } = test;
      await test.open("batches");
      await row(page, "batch 59").waitFor();
      await page.getByRole("link", { name: "Next page" }).click();
      await row(page, "batch 9").waitFor();
      assert.equal(await page.locator("tbody tr").count(), 10);
      await page.getByRole("link", { name: "First page" }).click();
      await row(page, "batch 59").waitFor();
    },
  },
  {
    title: "a batch shows what it waits for, its family, its callbacks and its open members",
    async run(test) {
      const { parent, bid, child } = await family(test);
      const { page } = test;
      await test.open(`batches/${bid}`);
      await row(page, "ready-001").waitFor();
      const blocks = shown(page, "Blocked by");
      await blocks.locator("li", { hasText: "4 members that have not run yet" }).waitFor();
      assert.deepEqual(await blocks.locator("li").allTextContents(), [
        "4 members that have not run yet",
        "1 child that still runs: a part",
        "2 members that have failed and can be retried",
        "1 member failed permanently: accept it so the batch can succeed",
      ]);
      const tree = page.locator(".family");
      await page.getByText("As a list").click();
      assert.deepEqual(await tree.getByRole("link").allTextContents(), ["the night", "a part"]);
      await row(page, "not due yet").first().waitFor();
      await page.getByRole("link", { name: "1 dead" }).waitFor();
      await page.getByRole("link", { name: "2 ready" }).click();
      await page.getByText(`Batch: ${bid}`).waitFor();
      await row(page, "ready-002").waitFor();
      assert.equal(await page.locator("tbody tr").count(), 2);
      await page.getByRole("link", { name: "Member" }).first().click();
      await page.getByRole("link", { name: bid }).click();
      await page.getByText("As a list").click();
      await tree.getByRole("link", { name: "a part" }).click();
      await shown(page, "Blocked by").getByText("has not committed it").waitFor();
      await page.locator(".facts").getByRole("link", { name: bid }).waitFor();
      assert.equal((await api(test, child)).ancestors[0].bid, parent);
    },
  },
  {
    title: "the tree of a batch goes down to the children of its children, and counts the rest",
    async run(test) {
      const client = await faktory(test);
      const make = (description, parent) =>
        client.command("BATCH NEW", { success: job("Done"), description, parent_bid: parent });
      const top = await make("top");
      let last = top;
      for (let level = 1; level <= 9; level += 1) last = await make(`level ${level}`, last);
      for (let i = 1; i <= 22; i += 1) await make(`part ${i}`, top);
      const { page } = test;
      await test.open(`batches/${top}`);
      const tree = page.locator(".family");
      await page.getByText("As a list").click();
      await tree.getByRole("link", { name: "level 8", exact: true }).waitFor();
      assert.deepEqual(
        (await tree.getByRole("link").allTextContents()).slice(0, 10),
        [1, 2, 3, 4, 5, 6, 7, 8].map((level) => `level ${level}`).concat("1 child", "part 1"),
      );
      const deepest = tree.locator("ul ul ul ul ul ul ul ul > li", { hasText: "level 8" });
      await deepest.getByRole("link", { name: "1 child of level 8" }).waitFor();
      await tree.getByRole("link", { name: "3 more of top" }).click();
      await row(page, "part 22").waitFor();
      assert.equal(await page.locator("tbody tr").count(), 23);
    },
  },
  {
    title: "a batch says why it has not succeeded, in the list and on its page",
    async run(test) {
      const client = await faktory(test, "worker-1");
      const make = (more) => client.command("BATCH NEW", { success: job("Done"), ...more });
      const top = await make({ description: "the night" });
      const part = await make({ description: "a part", parent_bid: top });
      await member(client, part, "ready-001");
      await member(client, part, "ready-002");
      for (const bid of [top, part]) await client.command("BATCH COMMIT", bid);
      const pause = { method: "POST", headers: { "Content-Type": "application/json" } };
      await fetch(`${test.server.base}api/v1/queues/members/pause`, pause);
      const { page } = test;
      await test.open("batches");
      const blocked = "2 Member jobs in members, which is paused.";
      await batchRow(page, "a part").getByText(`Blocked by ${blocked}`).waitFor();
      await batchRow(page, "the night")
        .getByText(`Blocked by child batch a part: blocked by ${blocked}`)
        .waitFor();
      const jobs = batchRow(page, "a part").locator(".parts li");
      assert.deepEqual(await jobs.allInnerTexts(), ["● 2 ready"]);
      await batchRow(page, "the night").locator(".cause a", { hasText: "a part" }).click();
      await page.locator("h1", { hasText: "a part" }).waitFor();
      await shown(page, "Blocked by").locator(".cause a", { hasText: "members" }).click();
      await page.locator("h1", { hasText: "members" }).waitFor();
    },
  },
  {
    title: "members that retry say when the first of them is due, with its zone",
    async run(test) {
      const client = await faktory(test, "worker-1");
      const bid = await client.command("BATCH NEW", { success: job("Done") });
      await member(client, bid, "fails-001");
      await client.fail("members", "Timeout", "after 3 s");
      await client.command("BATCH COMMIT", bid);
      const { page } = test;
      await test.open(`batches/${bid}`);
      await page
        .getByText(/Waiting for 1 retrying member, the next at \d\d:\d\d UTC\./)
        .waitFor();
    },
  },
  {
    title: "the graph of batches is walked by the keyboard, panned by the mouse, and folds",
    async run(test) {
      const client = await faktory(test);
      const make = (description, parent) =>
        client.command("BATCH NEW", { success: job("Done"), description, parent_bid: parent });
      const top = await make("top");
      const here = await make("here", top);
      for (let i = 1; i <= 30; i += 1) await make(`part ${i}`, here);
      const { page } = test;
      await page.setViewportSize({ width: 700, height: 700 });
      await test.open(`batches/${here}`);
      const area = page.locator(".graph");
      const focused = () =>
        page.evaluate(() => document.activeElement.querySelector("text")?.textContent);
      await area.locator(".node").first().waitFor();
      assert.equal(await area.locator(".node").count(), 10);
      await area.getByText("and 23 more").waitFor();
      await area.locator(".here").focus();
      await page.keyboard.press("ArrowRight");
      assert.match(await focused(), /^part [45]$/);
      await page.keyboard.press("ArrowUp");
      assert.match(await focused(), /^part [34]$/);
      await page.keyboard.press("ArrowLeft");
      assert.equal(await focused(), "here");
      await page.keyboard.press("ArrowLeft");
      assert.equal(await focused(), "top");
      const scrolled = () => area.evaluate((node) => node.scrollLeft);
      await area.evaluate((node) => node.scrollTo(0, 0));
      await area.scrollIntoViewIfNeeded();
      const { x, y, width } = await area.boundingBox();
      await page.mouse.move(x + width / 2, y + 200);
      await page.mouse.down();
      await page.mouse.move(x + width / 2 - 50, y + 200, { steps: 5 });
      await page.mouse.up();
      await until(async () => (await scrolled()) === 50, "it is panned");
      assert.ok(page.url().endsWith(`batches/${here}`));
      await area.locator(".node", { hasText: "top" }).focus();
      await page.keyboard.press("Enter");
      await page.locator("h1", { hasText: "top" }).waitFor();
      await page.locator(".graph").getByText("and 23 more").click();
      await row(page, "part 30").waitFor();
    },
  },
  {
    title: "a batch without members says so, and is shown apart from one whose members have ended",
    async run(test) {
      const client = await faktory(test, "worker-1");
      const bid = await client.command("BATCH NEW", { success: job("Done") });
      const { page } = test;
      await test.open(`batches/${bid}`);
      await page.getByText("The batch has no members yet.").waitFor();
      await client.command("BATCH COMMIT", bid);
      await page.getByText("The batch has no members.").waitFor();
      const other = await client.command("BATCH NEW", { success: job("Done") });
      await member(client, other, "ends-0001");
      await client.fetch("members");
      await client.command("ACK", { jid: "ends-0001" });
      await test.open(`batches/${other}`);
      await page.getByText("None: every member has ended.").waitFor();
    },
  },
  {
    title: "a long description is on the page of a batch once, and widens nothing",
    async run(test) {
      const client = await faktory(test);
      const description = `${"Many words about it. ".repeat(10)}${"y".repeat(120)}`;
      const more = { complete: job("Report"), success: { ...job("Done"), queue: "q".repeat(120) } };
      const bid = await client.command("BATCH NEW", { description, ...more });
      await client.command("BATCH NEW", { description, parent_bid: bid, ...more });
      const { page } = test;
      await test.open(`batches/${bid}`);
      await page.getByText("As a list").click();
      await page.locator(".family").waitFor();
      assert.equal((await page.locator("h1").innerText()).includes("y".repeat(120)), true);
      const own = page.locator(".family > li > :first-child");
      assert.equal(await own.innerText(), "this batch");
      assert.deepEqual(await clippedAt(page, [320, 390, 1024, 1100, 1280, 1440]), []);
    },
  },
  {
    title: "the columns of the callbacks stay where they are when a callback is pushed",
    async run(test) {
      const client = await faktory(test);
      const bid = await client.command("BATCH NEW", { complete: job("A"), success: job("B") });
      const { page } = test;
      await test.open(`batches/${bid}`);
      const places = () =>
        shown(page, "Callbacks")
          .locator("th")
          .evaluateAll((all) => all.map((each) => Math.round(each.getBoundingClientRect().x)));
      await row(page, "not due yet").first().waitFor();
      const before = await places();
      assert.equal(before.length, 4);
      await client.command("BATCH COMMIT", bid);
      await row(page, "pushed").getByText("Ready").waitFor();
      assert.deepEqual(await places(), before);
    },
  },
  {
    title: "the dead members of a batch are retried, and no other dead job",
    async run(test) {
      const { bid } = await family(test);
      const { page } = test;
      await test.open(`batches/${bid}`);
      await row(page, "dies-0001").waitFor();
      await press(page, "Retry dead…");
      await page.getByText("1 job will be enqueued.").waitFor();
      await agree(page, "Retry 1 job");
      await page.getByText("Done: 1 job retried.").waitFor();
      assert.equal((await api(test, bid)).members.dead, 0);
      assert.equal((await test.server.api("overview")).jobs.dead, 1);
      await page.getByRole("button", { name: "Retry dead…", disabled: true }).waitFor();
    },
  },
  {
    title: "the open members of a batch are discarded but for the running one, or not after all",
    async run(test) {
      const { bid } = await family(test);
      const { page } = test;
      await test.open(`batches/${bid}`);
      await row(page, "ready-001").waitFor();
      await press(page, "Discard open…");
      await page.getByText("5 jobs will be deleted permanently.").waitFor();
      await agree(page, "Cancel");
      assert.equal((await api(test, bid)).pending, 6);
      await press(page, "Discard open…");
      await agree(page, "Delete 5 jobs");
      await page.getByText("Done: 5 jobs deleted.").waitFor();
      await gone(row(page, "ready-001"));
      await row(page, "held-0001").waitFor();
      const { pending, lost } = await api(test, bid);
      assert.deepEqual([pending, lost], [1, 6]);
    },
  },
  {
    title: "with its lost members accepted a batch succeeds",
    async run(test) {
      const client = await faktory(test, "worker-1");
      const bid = await client.command("BATCH NEW", { success: job("Done") });
      await member(client, bid, "lost-0001", { retry: 0 });
      await client.fail("members", "Timeout", "after 3 s");
      await client.command("BATCH COMMIT", bid);
      const { page } = test;
      await test.open(`batches/${bid}`);
      await page.locator("h1 .badge", { hasText: "Failed" }).waitFor();
      await press(page, "Accept lost…");
      await page.getByText("It ended without success and will not run again.").waitFor();
      await agree(page, "Accept 1 member");
      await page.getByText("1 member accepted.").waitFor();
      await shown(page, "Blocked by").locator("li", { hasText: "its success callback" }).waitFor();
      const { jid } = await client.fetch("callbacks");
      await client.command("ACK", { jid });
      await page.locator("h1 .badge", { hasText: "Succeeded" }).waitFor();
      await page.getByText("Nothing: it is done.").waitFor();
    },
  },
  {
    title: "a dead callback is what its batch waits for, and leads to its job",
    async run(test) {
      const client = await faktory(test, "worker-1");
      const bid = await client.command("BATCH NEW", { success: { ...job("Done"), retry: -1 } });
      await client.command("BATCH COMMIT", bid);
      await client.fail("callbacks", "KeyError", "no key");
      const { page } = test;
      await test.open(`batches/${bid}`);
      await shown(page, "Blocked by").getByText("retry that job").waitFor();
      await shown(page, "Blocked by").locator("li a").click();
      await page.locator("h1", { hasText: "Done" }).waitFor();
      await page.getByText("success callback of").waitFor();
    },
  },
  {
    title: "a batch is deleted, and its jobs stay",
    async run(test) {
      const { bid } = await family(test);
      const { page } = test;
      await test.open(`batches/${bid}`);
      await row(page, "ready-001").waitFor();
      await press(page, "Delete…");
      await page.getByText("6 jobs will run as plain jobs").waitFor();
      await agree(page, "Delete the batch");
      await page.getByText(`Batch ${bid} was deleted.`).waitFor();
      await batchRow(page, "the night").waitFor();
      assert.equal(await batchRow(page, "import of May").count(), 0);
      assert.equal((await test.server.api("queues/members")).ready, 3);
      await test.open(`batches/${bid}`);
      await page.getByText("There is no such batch").waitFor();
    },
  },
  {
    title: "questions about one job, one child or one worker are in the singular",
    async run(test) {
      const client = await faktory(test, "worker-1");
      const bid = await client.command("BATCH NEW", { success: job("Done") });
      await client.command("BATCH NEW", { success: job("Done"), parent_bid: bid });
      await member(client, bid, "held-0001");
      await client.fetch("members");
      const { page } = test;
      await test.open(`batches/${bid}`);
      await press(page, "Delete…");
      await page
        .getByText("Its job will run as a plain job. Its child continues without it.")
        .waitFor();
      await agree(page, "Cancel");
      await test.open("workers");
      await press(page, "Stop all…");
      await page.getByRole("heading", { name: "Stop the only worker?" }).waitFor();
      await page.getByText("It shuts down.").waitFor();
      await agree(page, "Cancel");
      await client.push("held-0002", "Held", "members");
      await client.fetch("members");
      await test.open("jobs?state=reserved");
      await page.getByLabel("Select all jobs of this page").check();
      await press(page, "Kill 2");
      await page.getByText("The workers are not interrupted; their results will be").waitFor();
    },
  },
  {
    title: "a batch is found and opened by the keyboard",
    async run(test) {
      await family(test);
      const { page } = test;
      await test.open("");
      await page.locator(".tiles").waitFor();
      await page.keyboard.press("g");
      await page.keyboard.press("b");
      await batchRow(page, "import of May").waitFor();
      await page.keyboard.press("j");
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await page.locator("h1", { hasText: "import of May" }).waitFor();
    },
  },
  {
    title: "a read-only page of a batch has no actions",
    flags: ["--web-read-only"],
    async run(test) {
      const { bid } = await family(test);
      const { page } = test;
      await test.open(`batches/${bid}`);
      await row(page, "ready-001").waitFor();
      assert.equal(await page.getByRole("button", { name: "Delete…" }).count(), 0);
    },
  },
  {
    title: "axe-core finds nothing on the pages of batches, light, dark or narrow",
    async run(test) {
      const { bid, parent, child } = await family(test);
      await until(async () => (await api(test, bid)).pending === 6, "all members are there");
      const found = [];
      for (const [colorScheme, width] of [
        ["light", 1280],
        ["dark", 1280],
        ["light", 390],
        ["light", 320],
      ]) {
        const context = await test.context.browser().newContext({
          colorScheme,
          viewport: { width, height: 800 },
          bypassCSP: true,
          reducedMotion: "reduce",
        });
        const page = await context.newPage();
        for (const target of [
          "batches",
          "batches?state=succeeded",
          `batches?parent=${bid}`,
          `batches/${bid}`,
          `batches/${parent}`,
          `batches/${child}`,
        ]) {
          await page.goto(test.server.base + target);
          await page.locator("main:not([aria-busy=true]) > :not(.loading)").first().waitFor();
          const said = `${target} ${colorScheme} ${width}`;
          for (const each of await violations(page)) found.push(`${said}: ${each}`);
          const isWide = await page.evaluate(
            () => document.documentElement.scrollWidth > innerWidth,
          );
          if (isWide) found.push(`${said}: scrolls sideways`);
        }
        await context.close();
      }
      assert.deepEqual(found, []);
    },
  },
];
