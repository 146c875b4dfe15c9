"""How a program looks as bytes, which the tool must keep: line ends, indentation, encoding."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dress:
    """A way to write a text down; `remark` stands in a comment on the first line."""

    newline: str = "\n"
    indent: str = "    "
    encoding: str = "utf-8"
    bom: bool = False
    remark: str = ""

    def put_on(self, text: str) -> str:
        """Return a plain text in this dress, line ends and encoding excepted."""
        if self.indent != "    ":
            text = re.sub(r"^(?: {4})+", lambda m: self.indent * (len(m[0]) // 4), text, flags=re.MULTILINE)
        return f"# {self.remark}\n{text}" if self.remark else text

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text in this dress."""
        data = text.replace("\n", self.newline).encode(self.encoding)
        return b"\xef\xbb\xbf" + data if self.bom else data

    def decode(self, data: bytes) -> str:
        """Return the text of bytes, its line ends plain.

        Raises:
            ValueError: if they are not dressed in this way any more.
        """
        if self.bom and not data.startswith(b"\xef\xbb\xbf"):
            raise ValueError("the byte order mark is lost")
        text = data.removeprefix(b"\xef\xbb\xbf").decode(self.encoding)
        ends = set(re.findall(r"\r\n|\r|\n", text))
        if ends - {self.newline}:
            raise ValueError(f"line ends {sorted(ends)}, not {self.newline!r} alone")
        return text.replace(self.newline, "\n")


PLAIN = Dress()
WARDROBE = (
    PLAIN,
    Dress(newline="\r\n"),
    Dress(indent="\t"),
    PLAIN,
    Dress(encoding="latin-1", remark="-*- coding: latin-1 -*-\n#\n# \xe9\xfc\xdf"),
    Dress(bom=True, indent="  "),
    Dress(newline="\r\n", bom=True, remark="\u4e2d \u00e9"),
)
"""Ways that take turns."""
