import DOMPurify from "dompurify";
import { Marked } from "marked";
import { useLayoutEffect, useRef } from "preact/hooks";
import { clean } from "../model/words";

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

/** Text as a safe tree: Markdown's own elements, no style, no script, and nothing that is loaded. */
export function render(text: string): DocumentFragment {
  return DOMPurify.sanitize(marked.parse(clean(text), { async: false }), {
    ALLOWED_TAGS: ALLOWED,
    ALLOWED_ATTR: ["href", "src", "alt", "title", "align", "start", "type", "checked", "colspan", "rowspan"],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|data:image\/(?:png|jpeg|gif|webp);)/i,
    ALLOW_DATA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
}

export function Markdown({ text }: { text: string }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const tree = render(text);
    for (const wide of tree.querySelectorAll("pre, table")) {
      wide.setAttribute("tabindex", "0"); // so that it can be scrolled without a mouse
      wide.setAttribute("role", wide.tagName === "PRE" ? "group" : "table");
    }
    place.current?.replaceChildren(tree);
  }, [text]);
  return <div class="markdown" ref={place} />;
}
