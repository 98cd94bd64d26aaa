import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const server = process.env.AGENTRT_URL ?? "http://127.0.0.1:8000";

export default defineConfig({
  base: "./",
  // its sources, and not what was built of them
  resolve: { alias: { "@agentrt/client": fileURLToPath(new URL("../client/src/index.ts", import.meta.url)) } },
  build: { outDir: "../dist", emptyOutDir: true, target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, license: { fileName: "licenses.md" } },
  server: { proxy: { "^/(alive|conversations|events|keys|search|server_info|tickets|tools)": { target: server, ws: true } } },
});
