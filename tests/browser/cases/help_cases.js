// The manual in the server, and how the pages lead to it.
import assert from "node:assert/strict";
import { accessibleCases } from "../axe.js";
import { find } from "../helpers.js";

const MANUAL = ["", "quick-start", "concepts/life-of-a-job", "operations/options", "api"];

export const cases = [
  ...accessibleCases(
    "the manual",
    "",
    async () => {},
    async (page, { base }, look) => {
      for (const each of MANUAL) {
        await page.goto(`${base}help/${each}`);
        await look(each || "contents");
      }
    },
  ),
  {
    title: "the heading of a page leads to what the manual says of it, and back",
    async run({ page, open, server }) {
      await open("queues");
      await page.getByRole("link", { name: "Help on this page" }).click();
      await page.getByRole("heading", { name: "Charts" }).waitFor();
      assert.equal(page.url(), `${server.base}help/operations/monitoring#charts`);
      await page.getByRole("link", { name: "Millrace" }).click();
      await page.getByRole("navigation", { name: "Pages" }).waitFor();
    },
  },
  {
    title: "help is in the list of keys, and in the search",
    async run({ page, open }) {
      await open("jobs");
      await page.keyboard.press("?");
      await page.getByRole("dialog").getByRole("link", { name: "Help" }).click();
      await page.getByRole("heading", { name: "Documentation" }).waitFor();
      await page.goBack();
      await page.getByRole("navigation", { name: "Pages" }).waitFor();
      await find(page, "Help");
      await page.getByRole("heading", { name: "Documentation" }).waitFor();
    },
  },
];
