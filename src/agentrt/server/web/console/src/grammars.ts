/** Highlights code in the languages that are met most. Loaded once there is code to be seen. */

import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import makefile from "highlight.js/lib/languages/makefile";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import { type Line, linesOf } from "./model/code";
import "./styles/code.css";

const lowlight = createLowlight({
  ...{ bash, c, cpp, csharp, css, diff, dockerfile, go, ini, java, javascript, json, makefile },
  ...{ markdown, php, python, ruby, rust, shell, sql, typescript, xml, yaml },
});

/** Code as coloured lines; null for a language that is not among these. */
export function highlight(language: string, code: string): Line[] | null {
  return lowlight.registered(language) ? linesOf(lowlight.highlight(language, code)) : null;
}
