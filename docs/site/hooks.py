"""What mkdocs runs: pages that are generated, and a look at what was built."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import api
import rest

ROOT = Path(__file__).parent.parent.parent
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=[\"']?(https?:)?//"
    r"|<link\b(?=[^>]*rel=[\"']?(?:stylesheet|preload|preconnect|icon|modulepreload|manifest))[^>]*href=[\"']?(https?:)?//"
    r"|@import\s+[\"']?(?:url\([\"']?)?(https?:)?//|url\([\"']?(https?:)?//",
    re.IGNORECASE,
)
"""What a browser loads from another host as soon as it sees it."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of the Python reference where the navigation names the first of them."""
    _fill(config.nav)
    return config


def _fill(nav: Any) -> None:
    """In each part of the navigation."""
    for part in nav:
        for title, inside in [*part.items()] if isinstance(part, dict) else []:
            if inside == "reference/index.md":
                part[title] = [*api.pages()]
            elif isinstance(inside, list):
                _fill(inside)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made of code, and those that are kept beside the documentation."""
    from agentrt.server.endpoints import ENDPOINTS
    from agentrt.server.openapi import document

    made = {
        "index.md": _moved("README.md"),
        "contributing.md": _moved("CONTRIBUTING.md"),
        "changelog.md": _moved("CHANGELOG.md"),
        "rest-reference.md": rest.page(document(ENDPOINTS)),
        **api.pages(),
    }
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def _moved(name: str) -> str:
    """A page of the root of the repository, with links as they are in the site."""
    text = (ROOT / name).read_text()
    text = re.sub(r"\]\(docs/", "](", text)
    return re.sub(r"\]\((CONTRIBUTING|CHANGELOG)\.md", lambda found: f"]({found[1].lower()}.md", text)


def on_post_build(config: MkDocsConfig, **given: Any) -> None:
    """Refuse a site that would load anything from another host."""
    found = [
        f"{path.relative_to(config.site_dir)}: {match[0]}"
        for path in Path(config.site_dir).rglob("*")
        if path.suffix in (".html", ".css", ".svg")
        for match in LOADED.finditer(path.read_text())
    ]
    if found:
        raise PluginError("the site loads what other hosts have:\n" + "\n".join(found[:20]))
