"""Files that are text: HTML, LaTeX, notebooks, and any other text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from .charsets import text_of
from .document import Unreadable
from .markup import flat, html, markdown_of, table, tidy, title_of
from .selecting import Texts, sections

MOST_HTML = 2_000_000
"""Maximum characters of a page that are parsed."""

LONGEST_OUTPUT = 5_000
"""Maximum characters of one output of a cell; the rest is cut."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}


def page(data: bytes) -> Texts:
    """Return a page of HTML, split at its headings. No script runs, and nothing is loaded."""
    source = text_of(data, markup=True)
    tree = html(source[:MOST_HTML])
    title = title_of(tree)
    notes = (f"only its first {MOST_HTML:,} characters were read",) if len(source) > MOST_HTML else ()
    return Texts("HTML", "section", sections(markdown_of(tree)), title, notes)


def plain(data: bytes) -> Texts:
    """Return any text, split at headings of Markdown. Raises `Unreadable` if it is binary."""
    text = text_of(data)
    if "\0" in text[:8192]:
        raise Unreadable(
            "cannot be read: supported are PDF, docx, pptx, xlsx, xls, ods, odt, odp, EPUB, HTML, CSV,"
            " notebooks, LaTeX, e-mail, zip, images and texts"
        )
    return Texts("text", "section", sections(text))


def notebook(data: bytes) -> Texts:
    """Return the cells of a Jupyter notebook (nbformat 4), with the text of their outputs. Raises `Unreadable`."""
    try:
        found = json.loads(data)
        cells = found["cells"]
        language = str(found.get("metadata", {}).get("language_info", {}).get("name", "python"))
        parts = tuple(("", "\n\n".join(_cell(each, language))) for each in cells)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unreadable("is damaged or cut off: it is not a notebook in JSON") from error
    return Texts("notebook", "cell", parts or (("", ""),))


def _cell(found: dict[str, Any], language: str) -> Iterator[str]:
    source = "".join(found.get("source", ""))
    if found.get("cell_type") != "code":
        yield source
        return
    yield f"```{language}\n{source}\n```"
    for output in found.get("outputs", ()):
        data = output.get("data", {})
        said = "".join(output.get("text") or data.get("text/plain") or "")
        if output.get("output_type") == "error":
            said = "\n".join(output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"])
        if "text/html" in data and "<table" in "".join(data["text/html"]):
            yield markdown_of(html("".join(data["text/html"])))
        elif said.strip():
            said = _ESCAPES.sub("", said).rstrip()
            cut = f"\n[… {len(said) - LONGEST_OUTPUT:,} more characters]" if len(said) > LONGEST_OUTPUT else ""
            yield f"Output:\n```\n{said[:LONGEST_OUTPUT]}{cut}\n```"
        for kind in data:
            if kind.startswith("image/"):
                yield f"[image: {kind}]"


def latex(data: bytes) -> Texts:
    """Return LaTeX as text with headings and tables. No macro of the file is expanded, and no other file is read."""
    from pylatexenc.latex2text import EnvironmentTextSpec, LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

    known = get_default_latex_context_db()
    macros = [MacroTextSpec(name, simplify_repl=_heading(level)) for name, level in _LEVELS.items()]
    macros += [
        MacroTextSpec("maketitle", ""),
        MacroTextSpec("includegraphics", simplify_repl="[image]"),
        MacroTextSpec("caption", "Caption: %s"),
    ]
    tables = [EnvironmentTextSpec(name, simplify_repl=_tabular) for name in ("tabular", "tabular*", "longtable")]
    known.add_context_category("markdown", prepend=True, macros=macros, environments=tables)
    source = text_of(data)
    body = source.partition(r"\begin{document}")[2].partition(r"\end{document}")[0] or source
    said = LatexNodes2Text(latex_context=known, math_mode="verbatim", keep_comments=False).latex_to_text(
        body, tolerant_parsing=True
    )
    title = re.search(r"\\title\{([^{}]*)\}", source)
    return Texts("LaTeX", "section", sections(tidy(said)), flat(title[1]) if title else "")


def _heading(level: int) -> Any:
    def drawn(node: Any, l2tobj: Any) -> str:
        argument = node.nodeargd.argnlist[-1] if node.nodeargd and node.nodeargd.argnlist else None
        said = flat(l2tobj.nodelist_to_text([argument])) if argument is not None else ""
        return f"\n\n{'#' * level} {said}\n\n"

    return drawn


def _tabular(node: Any, l2tobj: Any) -> str:
    """Return a LaTeX table as Markdown. Rows end with two backslashes, cells with an ampersand."""
    source = "".join(each.latex_verbatim() for each in node.nodelist if each is not None)
    source = re.sub(
        r"\\(?:hline|toprule|midrule|bottomrule|endhead|centering)\b|\\c(?:line|midrule)\{[^}]*\}", "", source
    )
    rows = [
        [flat(l2tobj.__class__(math_mode="verbatim").latex_to_text(each, tolerant_parsing=True)) for each in cells]
        for cells in (re.split(r"(?<!\\)&", row) for row in re.split(r"\\\\(?:\[[^\]]*\])?", source))
        if "".join(cells).strip()
    ]
    return f"\n\n{table(rows)}\n\n"
