// What axe-core objects to.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Rules that axe-core leaves off by itself. */
const BESIDES = {
  "label-content-name-mismatch": { enabled: true },
  "target-size": { enabled: true },
};

export async function violations(page, rules) {
  await page.evaluate(AXE);
  const runOnly = rules ? { runOnly: { type: "rule", values: rules } } : { rules: BESIDES };
  const found = await page.evaluate(
    (more) => axe.run(document, { resultTypes: ["violations"], ...more }),
    runOnly,
  );
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`);
}

const SCREENS = {
  light: { colorScheme: "light", viewport: { width: 1280, height: 900 } },
  dark: { colorScheme: "dark", viewport: { width: 1280, height: 900 } },
  "390 px wide": { colorScheme: "light", viewport: { width: 390, height: 844 } },
  "320 px wide": { colorScheme: "dark", viewport: { width: 320, height: 640 } },
};

/**
 * A case for each kind of screen: nothing that axe-core objects to, and nothing wider than the
 * screen. `visit(page, server)` goes from page to page, and calls `look` on each.
 */
export const accessibleCases = (what, config, fill, visit) =>
  Object.entries(SCREENS).map(([screen, options]) => ({
    title: `axe-core finds nothing on pages of ${what}, ${screen}`,
    config,
    async run(test) {
      const { context, server } = test;
      await fill(test);
      const other = await context
        .browser()
        .newContext({ ...options, bypassCSP: true, reducedMotion: "reduce" });
      const page = await other.newPage();
      const found = [];
      const look = async (name) => {
        for (const each of await violations(page)) found.push(`${name}: ${each}`);
        const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
        if (isWide) found.push(`${name}: scrolls sideways`);
        if (!process.env.PICTURES) return;
        const path = `${process.env.PICTURES}/${what}-${name}-${screen}.png`.replaceAll(" ", "-");
        await page.screenshot({ path, fullPage: true });
      };
      await visit(page, server, look);
      await other.close();
      assert.deepEqual(found, []);
    },
  }));
