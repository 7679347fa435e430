/** The SHA-256 of everything that the page is built from; tests/explorer/test_page_build.py computes the same. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export function digestOfSources(/** @type {string} */ folder) {
  const digest = createHash("sha256");
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !path.startsWith("node_modules/"))
    .sort();
  for (const path of files) digest.update(path).update("\0").update(readFileSync(join(folder, path))).update("\0");
  return digest.digest("hex");
}
