#!/usr/bin/env python3
"""Opens the pages that limbwise writes and serves in a headless browser, and reads them.

    scripts/browse_pages.py [--pictures DIR] PROGRAM          PROGRAM: the binary limbwise

Makes pages of a timing on two machines and of a sweep, has a server show jobs with hostile texts, opens each in light and in
dark without a network, and checks what a reader sees: drawings with an area, tables with rows, colors that differ, a timeline that tells what is below the pointer
and zooms. An error of the page's script, or any request, is a defect and makes this end with 1. The browser is
LIMBWISE_BROWSER, or a Chromium on the path; without one, nothing is checked, and that is said. Playwright is installed
from PyPI into a virtual environment in the target folder, once. --pictures keeps a picture of each page.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Iterator
from pathlib import Path

from common import client_module

ROOT = Path(__file__).resolve().parent.parent
PLAYWRIGHT = "playwright==1.65.2"
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]

PARAMETERS = """log_n = 11
levels = [[50], [40], [40], [40], [40], [40], [40], [40]]
special = [50, 50]
dnum = 4
log_scale = 40
[insecure]
reason = "a test of pages"
"""
LAYER = ["linear", "--preset", "tiny.toml", "--strategy", "multi-hop:8", "--plaintexts", "full", "--keys", "stored"]
SERVED = ["linear", "--op", "matvec", "--rows", "4", "--cols", "4", "--preset", "tiny.toml"]
# What a file of a client may say.
HOSTILE = "<img src=http://127.0.0.1:1/x onerror=alert(1)><script>alert(2)</script>"
PAGES = {
    "time.html": ["time", "--machine", "ark,f1-scaled", "--html", "time.html", *LAYER],
    "sweep.html": ["sweep", "--vary", "clusters=1..8", "--vary", "hbm_gb_s=250..1000*2", "--html", "sweep.html", *LAYER],
}


def again_with_playwright() -> None:
    """Goes on in the Python that has Playwright."""
    place = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / PLAYWRIGHT.replace("==", "-")
    python = place / "bin" / "python"
    if Path(sys.prefix).resolve() == place.resolve():
        return
    if not (place / "ready").exists():
        shutil.rmtree(place, ignore_errors=True)
        venv.create(place, with_pip=True)
        subprocess.run([place / "bin" / "pip", "install", "-q", PLAYWRIGHT], check=True)
        (place / "ready").touch()
    sys.exit(subprocess.run([python, *sys.argv]).returncode)


def check(wanted: bool, what: str) -> None:
    """Ends with 1 where a page is not as it should be."""
    if not wanted:
        sys.exit(f"browse_pages: {what}")


@contextlib.contextmanager
def served(program: Path, place: Path) -> Iterator[str]:
    """A server with a job that is done, one that is refused, and an upload under way."""
    start = [program, "serve", place / "state", "--bind", "127.0.0.1:0", "--threads", "1"]
    process = subprocess.Popen(start, stderr=subprocess.PIPE, text=True)
    try:
        lines = iter(process.stderr.readline, "")
        url = next(found[1] for line in lines if (found := re.search(r"listening on (http://\S+)", line)))
        threading.Thread(target=process.stderr.read, daemon=True).start()
        for words in (["keygen", *SERVED, "--client", "mine", "--server", "theirs"], ["encrypt", "--client", "mine", "--out", "in"]):
            subprocess.run([program, *words], cwd=place, check=True, capture_output=True)
        module = client_module()
        with module.Server(url) as server:
            program_, keys = server.upload(place / "theirs/program.json"), server.upload(place / "theirs/evaluation.keys")
            input_ = server.upload(place / "in/input-000.ct")
            server.evaluate(program_, [keys], [input_])
            (place / "hostile.json").write_text(json.dumps({"format": HOSTILE}))
            job = server.submit(server.upload(place / "hostile.json"), [keys], [input_])
            with contextlib.suppress(module.Refused):
                server.wait(job["id"])
            server.ask("POST", "/v1/uploads", {"bytes": 10, "sha256": "0" * 64})
        yield url + "/"
    finally:
        process.kill()
        process.wait()


def look(browser, path: str, scheme: str, picture: Path | None, shown: list[str]) -> tuple[str, str]:
    """Opens a page, reads it, and returns its background and the text of its first heading."""
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1200, "height": 900})
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(f"script: {error}"))
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("request", lambda request: problems.append(request.url) if request.url != path else None)
    page.goto(path)
    headings = page.locator("h2").all_inner_texts()
    check(len(headings) >= 2, f"{path} has the headings {headings}")
    for text in shown:
        check(page.get_by_text(text).count() > 0, f"{path} does not show {text}")
    for drawing in page.locator("figure > svg").all():
        box = drawing.bounding_box()
        check(box is not None and box["width"] > 300 and box["height"] > 20, f"a drawing of {path} has the box {box}")
    for table in page.locator("table").all():
        check(table.locator("tbody tr").count() > 0, f"{path} has an empty table")
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    check(wide <= 0, f"{path} is {wide} pixels wider than the window")
    ink, back = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor"))
    check(ink != back, f"{path} writes {ink} on {back}")
    if picture:
        page.screenshot(path=picture, full_page=True)
    timeline = page.locator("svg[data-id]").first
    if timeline.count():
        point_at(page, timeline, path)
    check(not problems, f"{path}: {problems}")
    title = page.locator("h1").inner_text()
    page.close()
    return back, title


def point_at(page, timeline, name: str) -> None:
    """The pointer tells what is below it; a drag zooms in, a double click out."""
    timeline.scroll_into_view_if_needed()
    box = timeline.bounding_box()
    middle, left = box["y"] + box["height"] / 2, box["x"] + box["width"] * 0.3
    page.mouse.move(left, middle)
    tip = page.locator(".tip").first
    text = tip.inner_text()
    check(tip.is_visible() and "nttu" in text and "%" in text, f"the pointer on {name} tells {text!r}")
    inner = timeline.locator("svg")
    before = inner.get_attribute("viewBox")
    page.mouse.down()
    page.mouse.move(left + 200, middle)
    page.mouse.up()
    check(inner.get_attribute("viewBox") != before, f"a drag on {name} does not zoom")
    page.mouse.dblclick(left, middle)
    check(inner.get_attribute("viewBox") == before, f"a double click on {name} does not show all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("program", type=Path)
    arguments = parser.parse_args()
    named = os.environ.get("LIMBWISE_BROWSER")
    found = named or next((path for path in map(shutil.which, BROWSERS) if path), None)
    if not found:
        print("SKIPPED: no browser (LIMBWISE_BROWSER, or one of " + ", ".join(BROWSERS) + "): pages are not opened")
        return
    again_with_playwright()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        place = Path(folder)
        (place / "tiny.toml").write_text(PARAMETERS)
        for words in PAGES.values():
            subprocess.run([arguments.program.resolve(), *words], cwd=place, check=True, capture_output=True)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        with served(arguments.program.resolve(), place) as url:
            pages = {name: (place / name).as_uri() for name in PAGES} | {"jobs.html": url}
            for name, address in pages.items():
                backs = set()
                for scheme in ("light", "dark"):
                    picture = arguments.pictures and arguments.pictures / f"{Path(name).stem}-{scheme}.png"
                    backs.add(look(browser, address, scheme, picture, [HOSTILE] if address == url else [])[0])
                check(len(backs) == 2, f"{name} is as light in the dark")
        print(f"{len(pages)} pages were read in light and dark by {browser.version}")
        browser.close()


if __name__ == "__main__":
    main()
