import DOMPurify from "dompurify";
import { Marked } from "marked";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Line } from "../model/code";
import { clean } from "../model/words";
import { whenSeen } from "../state/colours";
import { copy } from "../state/ui";

const PLAIN_TAG = /^<\/?(?:b|i|br|kbd|sub|sup|details|summary)\s*\/?>\s*$/i;

/** Markdown's own elements only: HTML in it is shown as it was written, but for a few tags without attributes. */
const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: { html: ({ text }) => (PLAIN_TAG.test(text) ? text : escaped(text)) },
});

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

const LANGUAGE = /^language-([\w+#.-]{1,30})$/;

const ALLOWED = [
  ..."p br hr h1 h2 h3 h4 h5 h6 strong b em i del s code pre blockquote ul ol li a img".split(" "),
  ..."table thead tbody tr th td input sup sub kbd details summary".split(" "),
];

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
  if (node.tagName === "IMG" && !/^data:image\//.test(node.getAttribute("src") ?? "")) {
    // an image from elsewhere would tell its server what is read here, so it is named and not loaded
    const link = document.createElement("a");
    link.textContent = `image: ${node.getAttribute("alt") || node.getAttribute("src") || "?"}`;
    node.replaceWith(link);
  }
  if (node.tagName === "INPUT") {
    node.setAttribute("disabled", "");
    node.setAttribute("aria-label", "task");
  }
});

// what names the language of a block of code is the only class that there may be
DOMPurify.addHook("uponSanitizeAttribute", (node, attribute) => {
  if (attribute.attrName === "class") attribute.keepAttr = node.tagName === "CODE" && LANGUAGE.test(attribute.attrValue);
});

/** Text as a safe tree: Markdown's own elements, no style, no script, and nothing that is loaded. */
export function render(text: string): DocumentFragment {
  return DOMPurify.sanitize(marked.parse(clean(text), { async: false }), {
    ALLOWED_TAGS: ALLOWED,
    ALLOWED_ATTR: ["href", "src", "alt", "title", "align", "start", "type", "checked", "colspan", "rowspan", "class"],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/(?:png|jpeg|gif|webp);)/i,
    ALLOW_DATA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
}

/** Markdown. While it is `growing`, code is not coloured. */
export function Markdown({ text, growing = false }: { text: string; growing?: boolean }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const tree = render(text);
    for (const wide of tree.querySelectorAll("pre, table")) {
      wide.setAttribute("tabindex", "0"); // so that it can be scrolled without a mouse
      wide.setAttribute("role", wide.tagName === "PRE" ? "group" : "table");
    }
    const blocks = growing ? [] : [...tree.querySelectorAll("pre")];
    for (const block of blocks) framed(block);
    place.current?.replaceChildren(tree);
    const undone = blocks.map(coloured);
    return () => {
      for (const undo of undone) undo?.();
    };
  }, [text, growing]);
  return <div class="markdown" ref={place} />;
}

/** A block of code below a bar with its language and a button that copies it. */
function framed(block: HTMLPreElement): void {
  const frame = made("div", "code-block", "");
  const bar = made("div", "code-bar", "");
  const button = made("button", "", "Copy");
  button.type = "button";
  button.setAttribute("aria-label", "Copy the code");
  button.addEventListener("click", () => void copy(block.textContent ?? ""));
  bar.append(made("span", "", LANGUAGE.exec(block.querySelector("code")?.className ?? "")?.[1] ?? ""), button);
  block.replaceWith(frame);
  frame.append(bar, block);
}

function made<K extends keyof HTMLElementTagNameMap>(tag: K, look: string, text: string): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (look !== "") element.className = look;
  element.textContent = text;
  return element;
}

/** Colour a block of code once it is in view; what comes back calls that off. */
function coloured(block: HTMLPreElement): (() => void) | undefined {
  const code = block.querySelector("code");
  const language = LANGUAGE.exec(code?.className ?? "")?.[1]?.toLowerCase();
  if (code === null || language === undefined) return undefined;
  return whenSeen(block, language, code.textContent ?? "", (lines) => {
    if (lines !== null) code.replaceChildren(...lines.flatMap(nodesOf));
  });
}

function nodesOf(line: Line, at: number): Node[] {
  const runs = line.map(({ text, look }) => (look === "" ? document.createTextNode(text) : made("span", look, text)));
  return at > 0 ? [document.createTextNode("\n"), ...runs] : runs;
}
