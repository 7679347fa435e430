/** Builds the page into one file, marked with the digest of what it was built from. */
import preact from "@preact/preset-vite";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";
import { digestOfSources } from "./digest.js";

const marked: Plugin = {
  name: "mark-with-digest-of-sources",
  transformIndexHtml: () => [
    { tag: "meta", attrs: { name: "sources-sha256", content: digestOfSources(import.meta.dirname) }, injectTo: "head" },
  ],
};

export default defineConfig({
  plugins: [preact(), marked, viteSingleFile({ removeViteModuleLoader: true })],
  build: { outDir: "../static", emptyOutDir: false, target: "es2022", reportCompressedSize: false },
});
