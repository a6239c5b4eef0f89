"""Builds the site from this folder: `make docs`. Nothing is fetched, neither here nor by who reads it.

Notebooks are run against the installed package while the site is built, and a cell that fails fails the build.
"""

import json
import subprocess
import sys
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import limbwise

ROOT = Path(__file__).resolve().parent.parent

project = "Limbwise"
copyright = "the authors of Limbwise, Apache-2.0"  # noqa: A001 - Sphinx's name
version = release = limbwise.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["schemas"]
suppress_warnings = ["myst.header", "toc.not_included"]  # pages written for the repository begin and end as they like
nitpicky = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600  # of one cell: a slow computer is no failure
nb_ipywidgets_js = {}  # their scripts would come from elsewhere

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"

html_theme = "furo"
html_title = f"Limbwise {release}"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}


def _command(*arguments: str) -> str:
    """What the command `limbwise`, as installed beside this interpreter, prints."""
    program = Path(sys.executable).with_name("limbwise")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def _escaped(text: object) -> str:
    return str(text).replace("|", "\\|").replace("[", "\\[")


def _machine(name: str) -> list[str]:
    spec = json.loads(_command("machines", "show", name, "--json"))
    lines = [f"## {name}", "", f"{_escaped(spec['about'])}.", ""]
    for assumed, title in ((False, "Published"), (True, "Assumed")):
        rows = [field for field in spec["fields"] if field.get("assumed", False) == assumed]
        if rows:
            source = "why" if assumed else "source"
            lines += [f"**{title}**", "", f"| field | value | unit | {source} |", "|---|--:|---|---|"]
            lines += [
                f"| `{f['path']}` | {_escaped(f['value'])} | {f.get('unit', '')} | {_escaped(f.get('source', ''))} |"
                for f in rows
            ]
            lines.append("")
    return lines


class Machines(SphinxDirective):
    """The numbers of every machine that is built in, as the command tells them."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each."""
        names = [m["name"] for m in json.loads(_command("machines", "list", "--json"))]
        lines = [line for name in names for line in _machine(name)]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


class ErrorTables(SphinxDirective):
    """The golden reports of `limbwise reproduce`: what papers say beside what models give."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each paper."""
        found = sorted((ROOT / "tests/golden/reproduce").glob("*.txt"))
        lines: list[str] = []
        for path in found:
            self.env.note_dependency(str(path))
            lines += [f"## Reproduced: {path.stem}", "", "```text", *path.read_text().splitlines(), "```", ""]
        return self.parse_text_to_nodes(StringList(lines, source="golden"), allow_section_headings=True)


def setup(app: Sphinx) -> None:
    """Add the directives of this site."""
    app.add_directive("machines", Machines)
    app.add_directive("error-tables", ErrorTables)
