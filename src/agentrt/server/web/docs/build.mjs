/** Puts the page at /docs, and the library that it loads, where the server looks for them: nothing is compiled. */

import { cp, mkdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const library = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
const built = join(import.meta.dirname, "..", "dist", "docs");

await rm(built, { recursive: true, force: true });
await mkdir(built, { recursive: true });
for (const name of ["index.html", "page.js"]) await cp(join(import.meta.dirname, name), join(built, name));
for (const name of ["swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "swagger-ui.css", "LICENSE", "NOTICE"])
  await cp(join(library, name), join(built, name));
