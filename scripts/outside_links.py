"""A hook of mkdocs: links from pages to files outside ``docs`` lead to the repository."""

from __future__ import annotations

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>(?:\.\./)+[^)#\s]+)(?P<anchor>#[^)]*)?\)")
_log = logging.getLogger("mkdocs.hooks.outside_links")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace relative links that leave ``docs``; without an address of the repository, by their text.

    A link to a file that does not exist is a warning, which ``--strict`` turns into an error.
    """
    docs = Path(config["docs_dir"])
    root = docs.parent
    here = posixpath.dirname(page.file.src_uri)

    def outside(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", here, link["target"]))
        if path.startswith("docs/"):
            return link[0]
        if not (root / path).exists():
            _log.warning("%s links to %s, which does not exist", page.file.src_uri, path)
        if not config["repo_url"]:
            return link["text"]
        return f"[{link['text']}]({config['repo_url'].rstrip('/')}/blob/main/{path}{link['anchor'] or ''})"

    return _LINK.sub(outside, markdown)
