// A new server, its name, and how every page tells that it is in trouble.
import assert from "node:assert/strict";
import { accessibleCases, violations } from "../axe.js";
import { beanstalk, faktory, fill, gone, row, until } from "../helpers.js";

const steps = (page) => page.locator(".steps li");
const reached = async (page) =>
  (await steps(page).allTextContents()).map((text) => text.endsWith(": yes"));
const icon = (page) => page.locator("link[rel=icon]").getAttribute("href");

export const cases = [
  ...accessibleCases(
    "a new server",
    "",
    async () => {},
    async (page, { base }, look) => {
      await page.goto(base);
      await page.getByRole("heading", { name: "First steps" }).waitFor();
      for (const language of ["Python", "JavaScript", "Go", "Ruby"]) {
        await page.getByRole("button", { name: language }).click();
        await page.getByRole("region", { name: `Program in ${language}` }).waitFor();
        await look(language);
      }
    },
  ),
  {
    title: "a new server shows where to connect, and ticks off what has happened",
    async run(test) {
      const { page, server } = test;
      await test.open("");
      await page.getByRole("heading", { name: "First steps" }).waitFor();
      await page.getByText(`tcp://127.0.0.1:${server.faktory}`, { exact: true }).waitFor();
      await page.getByText(`127.0.0.1:${server.beanstalk}`, { exact: true }).waitFor();
      assert.deepEqual(await reached(page), [false, false, false, false]);
      await page.getByRole("button", { name: "Push a test job" }).click();
      await page.getByText("Job 1 was pushed to the queue default.").waitFor();
      await until(async () => (await reached(page))[1], "a job has arrived");
      const worker = await faktory(test, "worker-1");
      await until(async () => (await reached(page))[2], "a worker is connected");
      const job = await worker.fetch("default");
      assert.deepEqual([job.jobtype, job.args], ["Greet", ["world"]]);
      await worker.command("ACK", { jid: job.jid });
      await page.getByRole("heading", { name: "All parts work together" }).waitFor();
      assert.deepEqual(await reached(page), [true, true, true, true]);
      await page.getByRole("button", { name: "Close" }).click();
      await gone(steps(page).first());
      await page.reload();
      await page.locator(".tiles").waitFor();
      assert.equal(await steps(page).count(), 0);
    },
  },
  {
    title: "a new server has a program for each of four libraries, with its own address",
    async run(test) {
      const { page, server } = test;
      await test.open("");
      for (const [language, library, port] of [
        ["Python", "pyfaktory", server.faktory],
        ["JavaScript", "faktory-worker", server.faktory],
        ["Go", "faktory_worker_go", server.faktory],
        ["Ruby", "beaneater", server.beanstalk],
      ]) {
        await page.getByRole("button", { name: language }).click();
        const program = page.getByRole("region", { name: `Program in ${language}` });
        await program.getByText(`127.0.0.1:${port}`).waitFor();
        await program.getByText(library).waitFor();
      }
      await beanstalk(test).put("mail", "a job of another kind");
      await until(async () => (await reached(page))[1], "a job has arrived");
    },
  },
  {
    title: "a new server that is read-only offers no test job",
    flags: ["--web-read-only"],
    async run({ page, open }) {
      await open("");
      await page.getByRole("heading", { name: "First steps" }).waitFor();
      assert.equal(await page.getByRole("button", { name: "Push" }).count(), 0);
    },
  },
  {
    title: "a server that has jobs shows no first steps",
    async run(test) {
      await fill(test);
      await test.open("");
      await test.page.locator(".tiles").waitFor();
      assert.equal(await steps(test.page).count(), 0);
    },
  },
  {
    title: "the name of a server is in its color in the bar and in dialogs, and in the title",
    flags: ["--name=prod-eu"],
    async run(test) {
      await fill(test);
      const { page, server, context } = test;
      const border = (what) =>
        page.locator(what).evaluate((node) => getComputedStyle(node).borderTopColor);
      await test.open("queues");
      await row(page, "mail").waitFor();
      await page.locator("#top").getByText("prod-eu", { exact: true }).waitFor();
      assert.match(await page.title(), /Queues · prod-eu · Millrace$/);
      await page.getByLabel("More actions for mail").click();
      await page.getByRole("button", { name: "Clear mail" }).click();
      await page.getByRole("dialog", { name: "prod-eu Clear mail?" }).waitFor();
      for (const what of ["#top", "dialog"]) assert.equal(await border(what), "rgb(179, 38, 30)");
      await page.keyboard.press("Escape");
      for (const width of [320, 390, 1024, 1100, 1190, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        const isCut = (nav) => nav.scrollWidth > nav.clientWidth;
        assert.equal(await page.locator("#top nav").evaluate(isCut), false, `at ${width}`);
      }
      await page.setViewportSize({ width: 1280, height: 900 });
      await server.kill();
      server.flags = ["--name=été:orange"];
      await server.start();
      await page.locator("#top").getByText("été", { exact: true }).waitFor();
      for (const colorScheme of ["light", "dark"]) {
        const screen = { colorScheme, viewport: { width: 390, height: 844 } };
        const other = await context.browser().newContext({ bypassCSP: true, ...screen });
        const narrow = await other.newPage();
        await narrow.goto(`${server.base}queues`);
        await narrow.getByLabel("More actions for mail").click();
        await narrow.getByRole("button", { name: "Clear mail" }).click();
        assert.deepEqual(await violations(narrow), []);
        assert.ok(await narrow.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
        await other.close();
      }
      await server.kill();
      server.flags = [];
      await server.start();
      const isPlain = async () => /Queues · Millrace$/.test(await page.title());
      await until(isPlain, "no name in the title");
      assert.equal(await page.locator("#top .server-name").count(), 0);
    },
  },
  {
    title: "the title and the icon of any page tell of trouble",
    async run(test) {
      const { page, server } = test;
      let level = "trouble";
      await page.route("**/api/v1/overview", async (route) => {
        try {
          const response = await route.fetch({ headers: { accept: "application/json" } });
          const json = await response.json();
          await route.fulfill({ response, json: { ...json, health: { level, text: "Bad." } } });
        } catch {
          await route.abort(); // the server is away
        }
      });
      await test.open("queues");
      await until(async () => (await page.title()) === "▲ Queues · Millrace", "it in the title");
      assert.match(await icon(page), /trouble\.svg$/);
      assert.equal((await fetch(`${server.base}assets/trouble.svg`)).status, 200);
      level = "notice";
      await page.getByRole("link", { name: "Millrace, overview" }).click();
      await until(async () => (await page.title()) === "Overview · Millrace", "the end of it");
      assert.match(await icon(page), /icon\.svg\b/);
      await server.kill();
      await until(async () => (await page.title()).startsWith("▲ "), "that it is away");
    },
  },
];
