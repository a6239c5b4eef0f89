#!/usr/bin/env python3
"""Opens every page of the built site (`make docs`) in a headless browser, at desktop and phone width, in light and dark.

    scripts/browse_site.py [--pictures DIR] [SITE]          SITE: target/site by default

A page that is wider than its window, code that scrolls sideways on a desktop, an error of a script, a request that leaves the
site, a search that finds nothing, or a front page that is as light in the dark: each makes this end with 1. The browser and
Playwright are those of `browse_pages.py`; without a browser nothing is checked, and that is said. --pictures keeps a picture
of the pages named in SHOWN.
"""

import argparse
import functools
import http.server
import os
import shutil
import threading
from pathlib import Path

from browse_pages import BROWSERS, ROOT, again_with_playwright, check

SHOWN = ["index", "machines", "guide/plan", "guide/time", "guide/errors", "beside", "status", "cli", "glossary", "lessons/04-plan"]
WINDOWS = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
WIDE = """() => [...document.querySelectorAll('article pre')]
    .filter(pre => !pre.closest('.wide') && !pre.closest('details:not([open])') && pre.scrollWidth > pre.clientWidth + 1)
    .map(pre => pre.innerText.slice(0, 60))"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_):
        """Say nothing."""


class Server(http.server.ThreadingHTTPServer):
    """Says nothing when the browser leaves a page before all of it was sent."""

    def handle_error(self, *_):
        """Say nothing: what a reader misses is seen in the browser."""


def serve(site: Path) -> str:
    """The address of the site on this computer, while this program runs."""
    server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def watched(browser, address: str, scheme: str, window: str) -> tuple[object, list[str]]:
    """A page whose errors, and requests elsewhere, are kept."""
    page = browser.new_page(color_scheme=scheme, viewport=WINDOWS[window])
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(f"script: {error}"))
    page.on("request", lambda request: problems.append(request.url) if not request.url.startswith((address, "data:", "blob:")) else None)
    return page, problems


def read(page, address: str, name: str, window: str) -> list[str]:
    """What is wrong with one page at one width."""
    page.goto(f"{address}{name}.html", wait_until="load")
    found = []
    over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if over > 0:
        found.append(f"{name} at {window}: {over} pixels wider than the window")
    if window == "desktop":
        found += [f"{name} at {window}: code scrolls sideways: {text!r}" for text in page.evaluate(WIDE)]
    return found


def search(page, address: str) -> None:
    """A word of one page is found by the site's search."""
    page.goto(f"{address}search.html?q=bootstrapping")
    page.wait_for_selector("#search-results li", timeout=20_000)
    check(page.locator("#search-results li").count() > 3, "the search finds less than four pages on bootstrapping")


def main() -> None:
    """Read all pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("site", type=Path, nargs="?", default=ROOT / "target/site")
    arguments = parser.parse_args()
    browser_path = os.environ.get("LIMBWISE_BROWSER") or next((path for path in map(shutil.which, BROWSERS) if path), None)
    if not browser_path:
        print("SKIPPED: no browser (LIMBWISE_BROWSER, or one of " + ", ".join(BROWSERS) + "): the site is not opened")
        return
    again_with_playwright()
    from playwright.sync_api import sync_playwright

    site = arguments.site.resolve()
    names = [path.relative_to(site).with_suffix("").as_posix() for path in sorted(site.rglob("*.html"))]
    check(len(names) > 20, f"{site} has {len(names)} pages (run make docs)")
    address = serve(site)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        wrong, backs = [], set()
        for scheme in ("light", "dark"):
            for window in WINDOWS:
                page, problems = watched(browser, address, scheme, window)
                for name in names if scheme == "light" else SHOWN:
                    wrong += read(page, address, name, window)
                    if arguments.pictures and name in SHOWN:
                        file = f"{name.replace('/', '-')}-{window}-{scheme}.png"
                        page.screenshot(path=arguments.pictures / file, full_page=True)
                search(page, address)
                page.goto(f"{address}index.html")
                backs.add((scheme, page.evaluate("getComputedStyle(document.body).backgroundColor")))
                wrong += problems
                page.close()
        browser.close()
    check(len({color for _, color in backs}) == 2, f"backgrounds are {sorted(backs)}")
    check(not wrong, "\n".join(["the site:", *wrong]))
    print(f"{len(names)} pages were read at {' and '.join(WINDOWS)} width")


if __name__ == "__main__":
    main()
