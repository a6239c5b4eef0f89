"""Builds the site from this folder: `make docs`. Nothing is fetched, neither here nor by its readers.

Notebooks are run against the installed package while the site is built, and a cell that fails fails the build. Pictures
and reports are made then too (`pictures.py`).
"""

import json
import sys
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import limbwise

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pictures

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
html_static_path = ["assets"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}


def _escaped(text: object) -> str:
    return str(text).replace("|", "\\|").replace("[", "\\[")


def _fields(fields: list[dict], source: str) -> list[str]:
    """A table of fields as lines of Markdown."""
    rows = [
        f"| `{f['path']}` | {_escaped(f['value'])} | {f.get('unit', '')} | {_escaped(f.get('source', ''))} |"
        for f in fields
    ]
    return [f"| field | value | unit | {source} |", "|---|--:|---|---|", *rows]


def _section(directive: SphinxDirective, title: str) -> nodes.section:
    """An empty section, to which links may lead."""
    section = nodes.section("", nodes.title(text=title), names=[nodes.fully_normalize_name(title)])
    directive.state.document.note_implicit_target(section, section)
    return section


class Machines(SphinxDirective):
    """The numbers of every machine that is built in, as the command tells them."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each, its tables folded."""
        found = []
        for machine in json.loads(pictures.command("machines list --json")):
            name = machine["name"]
            spec = json.loads(pictures.command(f"machines show {name} --json"))
            section = _section(self, name)
            section += self.parse_text_to_nodes(f"{_escaped(spec['about'])}.")
            for assumed, title in ((False, "published"), (True, "assumed")):
                fields = [field for field in spec["fields"] if field.get("assumed", False) == assumed]
                if fields:
                    table = "\n".join(_fields(fields, "why" if assumed else "source"))
                    section += pictures.folded(f"{len(fields)} {title} fields", self.parse_text_to_nodes(table))
            found.append(section)
        return found


class ErrorTables(SphinxDirective):
    """The golden reports of `limbwise reproduce`: claims of papers beside the models' results, folded."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each paper."""
        found = []
        for path in sorted(pictures.GOLDEN.glob("*.txt")):
            self.env.note_dependency(str(path))
            text = path.read_text()
            section = _section(self, f"Reproduced: {path.stem}")
            block = pictures.raw(f'<div class="wide"><pre>{escape(text)}</pre></div>')
            section += pictures.folded("The table", [block])
            found.append(section)
        return found


def _reports(app: Sphinx) -> None:
    """Make the reports that pages show, and hand them to the builder."""
    folder = Path(app.doctreedir) / "reports"
    pictures.make_reports(folder)
    app.config.html_extra_path += [str(folder / name) for name in pictures.REPORTS]


def setup(app: Sphinx) -> None:
    """Add the directives of this site."""
    app.add_directive("machines", Machines)
    app.add_directive("error-tables", ErrorTables)
    app.add_directive("picture", pictures.Picture)
    app.add_directive("limbwise", pictures.Command)
    app.add_directive("report", pictures.Report)
    app.connect("builder-inited", _reports)
