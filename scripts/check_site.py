#!/usr/bin/env python3
"""The built site (`make docs`) opens: every page has a title, every link inside it a target, nothing comes from elsewhere.

Usage: check_site.py [FOLDER], target/site by default. Lessons have outputs: their cells were run. Every page is two clicks from
the first one at most.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Where a browser would fetch something to show the page; links that a reader follows may lead anywhere.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
UNLINKED = ("search", "genindex", "py-modindex")  # opened by the theme's search field, or by nobody
CSS = re.compile(r"""(?:@import\s+|url\()\s*['"]?((?:https?:)?//[^'")\s]+)""")


class Page(HTMLParser):
    """What a page names."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.title = ""
        self._in_title = False
        self.outputs = text.count('class="cell_output')
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {key: value or "" for key, value in attrs}
        self.anchors.update(named[key] for key in ("id", "name") if key in named)
        self._in_title = self._in_title or tag == "title"
        if tag == "a" and "href" in named:
            self.links.append(named["href"])
        if tag in FETCHED and FETCHED[tag] in named and named.get("rel") != "canonical":
            self.fetched.append(named[FETCHED[tag]])

    def handle_endtag(self, tag: str) -> None:
        self._in_title = self._in_title and tag != "title"

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data


def far(first: Path, pages: dict[Path, Page]) -> list[Path]:
    """The pages that two clicks do not reach from the first."""
    reached = {first}
    for _ in range(2):
        targets = [(path, urlsplit(link)) for path in reached if path in pages for link in pages[path].links + pages[path].fetched]
        reached |= {(path.parent / unquote(to.path)).resolve() for path, to in targets if to.path and not to.scheme and not to.netloc}
    return [path for path in pages if path not in reached and path.stem not in UNLINKED]


def check(site: Path) -> list[str]:
    """One message for each thing that is wrong."""
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    problems = [] if site / "index.html" in pages else [f"{site}: no index.html (run make docs)"]
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        if not page.title.strip():
            problems.append(f"{name}: no title")
        if name.startswith("lessons/") and not page.outputs:
            problems.append(f"{name}: no outputs: its cells were not run")
        for target in page.links + page.fetched:
            parts = urlsplit(target)
            if parts.scheme == "data" or (target not in page.fetched and (parts.scheme or parts.netloc)):
                continue
            if parts.scheme or parts.netloc:
                problems.append(f"{name}: fetches {target}")
                continue
            there = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            anchor = unquote(parts.fragment)
            if not there.exists():
                problems.append(f"{name}: {target} is not there")
            elif anchor and there in pages and anchor not in pages[there].anchors:
                problems.append(f"{name}: {target}: no such place in that page")
    problems += [f"{path.relative_to(site)}: more than two clicks from index.html" for path in far(site / "index.html", pages)]
    for path in site.rglob("*.css"):
        problems += [f"{path.relative_to(site)}: fetches {url}" for url in CSS.findall(path.read_text())]
    return problems


def main() -> int:
    """Print what is wrong and return the exit code."""
    site = Path(sys.argv[1] if len(sys.argv) > 1 else "target/site").resolve()
    problems = check(site)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"check_site: {f'{len(problems)} problems' if problems else 'every page opens, every link has a target'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
