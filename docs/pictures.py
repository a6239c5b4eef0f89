"""Pictures, tables and reports of the site, made when it is built: each by a program that takes a second or less.

A drawing is SVG in the page itself; its text takes the color of the page, so that one drawing serves light and dark.
"""

import io
import re
import subprocess
import sys
import textwrap
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import matplotlib.pyplot as plt
import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

import limbwise as lw

plt.switch_backend("svg")

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "tests/golden/reproduce"
INK = "#010203"  # drawn in this color, shown in the page's
VERDICTS = {
    "equal at printed digits": "#009E73",
    "exact": "#009E73",
    "within 1 %": "#66C2A5",
    "within 10 %": "#56B4E9",
    "within 25 %": "#E69F00",
    "miss": "#D55E00",
    "off": "#D55E00",
    "calibrated": "#999999",
}
# A claim of a golden table: what is left of the numbers, paper, model, error, verdict, remark.
CLAIM = re.compile(r"^(\S+)\s+(\S.*?)\s+(\S+)\s+(\S+)\s+([+-]?[\d.]+) %\s+(" + "|".join(VERDICTS) + r")(?!\w)\s*(.*)$")
# A ring of degree 2^11, insecure and said so: reports are made in a second.
SMALL = """log_n = 11
levels = [[50], [40], [40], [40], [40], [40], [40], [40]]
special = [50, 50]
dnum = 4
log_scale = 40
[insecure]
reason = "a page of the documentation"
"""
LAYER = "linear --preset small.toml --strategy multi-hop:8 --plaintexts full --keys stored"
REPORTS = {
    "time.html": f"time --machine ark,f1-scaled --html time.html {LAYER}",
    "sweep.html": f"sweep --vary clusters=1..8 --vary hbm_gb_s=250..1000*2 --html sweep.html {LAYER}",
}


def command(arguments: str, folder: Path | None = None) -> str:
    """What the command `limbwise`, as installed beside this interpreter, prints; without progress."""
    program = Path(sys.executable).with_name("limbwise")
    done = subprocess.run([program, *arguments.split()], capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode:
        raise RuntimeError(f"limbwise {arguments} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def make_reports(folder: Path) -> None:
    """Writes the HTML reports that pages show; the parameters they name stay beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "small.toml").write_text(SMALL)
    for arguments in REPORTS.values():
        command(arguments, folder)


def raw(html: str) -> nodes.raw:
    """HTML as it stands."""
    return nodes.raw("", html, format="html")


def drawing(figure: Any, label: str) -> str:
    """A figure as SVG whose text has the page's color, with no name that a second drawing could have."""
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r'(<g) id="[A-Za-z.]+(?:_\d+)+"', r"\1", svg)
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    return f'<figure class="drawing plot"><div role="img" aria-label="{escape(label)}">{svg}</div></figure>'


def settings(name: str) -> dict[str, Any]:
    """How drawings look; names of parts are derived from the drawing's own."""
    ink = ["text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"]
    return {"svg.fonttype": "none", "svg.hashsalt": name, "font.family": "sans-serif"} | dict.fromkeys(ink, INK)


def timing() -> lw.Timing:
    """A square, a sum over 2^15 slots and a product at N = 2^16, on the model of ARK."""
    recording = lw.record(lambda x: (x * x).sum() * x, lw.like(1 << 15), preset="n16-l24-s40")
    return lw.time(recording, "ark")


def timeline() -> str:
    """When each unit of ARK works."""
    return drawing(timing().plot_timeline().figure, "A row for each unit of ARK, with a bar for each task over time")


def roofline() -> str:
    """The same program against what memory and units allow, at two bandwidths."""
    found = timing()
    slower = lw.time(found.recording, "ark", hbm_gb_s=250)
    return drawing(found.plot_roofline([slower]).figure, "Multiplications a second against multiplications a byte")


def traffic() -> str:
    """What the same program moves, by memory and role."""
    return drawing(timing().plot_traffic().figure, "A bar for each memory, split by the role of the data")


def claims() -> dict[str, list[tuple[str, ...]]]:
    """For each paper the rows of its golden table: id, claim, paper, model, error, verdict, remark."""
    return {
        path.stem: [match.groups() for line in path.read_text().splitlines() if (match := CLAIM.match(line))]
        for path in sorted(GOLDEN.glob("*.txt"))
    }


def used(papers: dict[str, list[tuple[str, ...]]]) -> list[str]:
    """The verdicts that the tables have, best first."""
    found = {row[5] for rows in papers.values() for row in rows}
    return [verdict for verdict in VERDICTS if verdict in found]


def errors() -> str:
    """A dot for each claim of each paper, by how far the model is from it."""
    papers = claims()
    figure, panels = plt.subplots(len(papers), 1, figsize=(8, 5.5), sharex=True, layout="constrained")
    for axes, (paper, rows) in zip(panels, papers.items(), strict=True):
        heights: dict[int, int] = {}
        for *_, error, verdict, _ in sorted(rows, key=lambda row: list(VERDICTS).index(row[5])):
            place = round(float(np.clip(float(error), -52, 52)) / 2)
            heights[place] = heights.get(place, 0) + 1
            axes.plot(place * 2, heights[place], "o", color=VERDICTS[verdict], markersize=5)
        axes.set_ylim(0, max(heights.values(), default=1) + 1.5)
        axes.set_yticks([])
        axes.set_ylabel(paper)
        axes.axvline(0, color=INK, linewidth=0.5)
        axes.spines[["top", "right", "left"]].set_visible(False)
    panels[-1].set_xticks(range(-50, 51, 10), ["≤ −50", *map(str, range(-40, 41, 10)), "≥ 50"])
    panels[-1].set_xlabel("model against paper, %")
    for verdict in used(papers):
        panels[0].plot([], [], "o", color=VERDICTS[verdict], label=verdict)
    panels[0].legend(ncols=6, frameon=False, fontsize="small", loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return drawing(figure, "For each paper a dot for each claim, placed by the error of the model in per cent")


def verdicts() -> str:
    """How many claims of each paper have which verdict."""
    papers = claims()
    head = "".join(f"<th>{verdict}</th>" for verdict in used(papers))
    body = ""
    for paper, rows in papers.items():
        counts = [sum(row[5] == verdict for row in rows) for verdict in used(papers)]
        body += f"<tr><th>{paper}</th><td>{len(rows)}</td>" + "".join(f"<td>{n}</td>" for n in counts) + "</tr>"
    return f'<table class="docutils"><thead><tr><th>paper</th><th>claims with a number</th>{head}</tr></thead><tbody>{body}</tbody></table>'


def plan() -> str:
    """The plan of the front page's program, as a notebook shows it."""
    found = lw.plan(lambda x, w: lw.sigmoid(x @ w, interval=4, error=0.02), [lw.like((4, 20)), lw.like(20)])
    keys = "".join(
        f"<tr><td>{escape(str(key['name']))}</td><td>{key['level']}</td><td>{key['bytes'] / 1e6:.2f} MB</td></tr>"
        for key in found.to_records()
    )
    return (
        f'<div class="plan">{found._repr_html_().replace("<table>", "<table class=docutils>", 1)}'
        f'<table class="docutils"><tr><th>key</th><th>level</th><th>bytes</th></tr>{keys}</table></div>'
    )


PICTURES = {f.__name__: f for f in (timeline, roofline, traffic, errors, verdicts, plan)}


class Picture(SphinxDirective):
    """A picture by its name: one of `PICTURES`, or an SVG file of `docs/assets`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the HTML of it."""
        name = self.arguments[0]
        self.env.note_dependency(__file__)
        if name in PICTURES:
            with plt.rc_context(settings(name)):
                html = PICTURES[name]()
            plt.close("all")
            return [raw(html)]
        path = HERE / "assets" / f"{name}.svg"
        self.env.note_dependency(str(path))
        return [raw(f'<figure class="drawing">{path.read_text()}</figure>')]


class Command(SphinxDirective):
    """The output of a command of `limbwise` as the site was built, with the command above it."""

    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"after": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return a block of text: all of the output, or what stands from the line that is the option `after`."""
        self.env.note_dependency(__file__)
        printed = command(self.arguments[0], Path(self.env.app.doctreedir) / "reports")
        if start := self.options.get("after"):
            printed = "…\n" + printed[printed.index(f"\n{start}\n") + 1 :]
        words = textwrap.wrap(f"$ limbwise {self.arguments[0]}", 70, break_on_hyphens=False, subsequent_indent="    ")
        text = " \\\n".join(words) + f"\n{printed}"
        return [nodes.literal_block(text, text, language="text", classes=["command"])]


class Report(SphinxDirective):
    """An HTML report in a frame, with a link to it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the frame."""
        name = self.arguments[0]
        here = "../" * self.env.docname.count("/")
        words = escape(f"limbwise {REPORTS[name]}")
        return [
            raw(f'<iframe class="report" loading="lazy" title="{words}" src="{here}{name}"></iframe>'),
            raw(f'<p><a href="{here}{name}">Open it alone</a>: <code>{words}</code></p>'),
        ]


def folded(summary: str, inside: list[nodes.Node]) -> list[nodes.Node]:
    """What is shown when a reader asks for it."""
    return [raw(f"<details><summary>{escape(summary)}</summary>"), *inside, raw("</details>")]
