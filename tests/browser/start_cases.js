// The name of a server, and how every page tells that it is in trouble.
import assert from "node:assert/strict";
import { violations } from "./axe.js";
import { fill, row, until } from "./helpers.js";

const icon = (page) => page.locator("link[rel=icon]").getAttribute("href");

export const cases = [
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
      assert.match(await icon(page), /icon\.svg$/);
      await server.kill();
      await until(async () => (await page.title()).startsWith("▲ "), "that it is away");
    },
  },
];
