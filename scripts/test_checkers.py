#!/usr/bin/env python3
"""Each checker passes a good tree and names what is wrong in a bad one."""

import tempfile
import unittest
from pathlib import Path

import campaign
import check_citations
import check_doc_paths
import check_doc_width
import check_file_length
import check_layering
import check_portable
import check_recipes
import check_release
import check_site
import list_unsafe
import sbom


class Tree(unittest.TestCase):
    """A repository in a temporary folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path: str, text: str):
        """Writes one file of the tree."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def assert_problems(self, check, *wanted: str):
        """The check finds these problems, in this order, and no other."""
        found = check(self.root)
        self.assertEqual(len(found), len(wanted), found)
        for problem, part in zip(found, wanted):
            self.assertIn(part, problem)


class Site(Tree):
    PAGE = "<title>A</title><h1 id='top'>A</h1>{}"

    def test_a_good_site(self):
        self.write("index.html", self.PAGE.format("<a href='lessons/01.html#c'>1</a><a href='https://example.org'>out</a>"))
        self.write("lessons/01.html", self.PAGE.format("<p id='c' class=\"cell_output\">4</p><img src='../a.png'>"))
        self.write("a.png", "")
        self.assert_problems(check_site.check)

    def test_a_bad_site(self):
        self.write("index.html", "<a href='gone.html'>1</a><a href='#nowhere'>2</a>")
        self.write("lessons/01.html", self.PAGE.format("<script src='https://cdn.example.org/x.js'></script>"))
        self.write("a.css", "@font-face { src: url('//fonts.example.org/a.woff') }")
        self.assert_problems(
            check_site.check,
            "index.html: no title",
            "gone.html is not there",
            "#nowhere: no such place",
            "01.html: no outputs",
            "01.html: fetches https://cdn",
            "lessons/01.html: more than two clicks",
            "a.css: fetches //fonts",
        )

    def test_pages_that_are_far(self):
        for here, there in (("index", "b"), ("b", "c"), ("c", "d"), ("d", "index")):
            self.write(f"{here}.html", self.PAGE.format(f"<a href='{there}.html#top'>on</a>"))
        self.write("search.html", self.PAGE.format(""))
        self.assert_problems(check_site.check, "d.html: more than two clicks")


class FileLength(Tree):
    def test_limits(self):
        self.write("crates/a/src/lib.rs", "x\n" * 600)
        self.write("crates/machines/src/machine/ark.rs", "x\n" * 400)
        self.write("target/long.rs", "x\n" * 900)
        self.assert_problems(check_file_length.check)
        self.write("crates/a/src/lib.rs", "x\n" * 601)
        self.write("crates/machines/src/machine/ark.rs", "x\n" * 401)
        self.assert_problems(check_file_length.check, "lib.rs: 601 lines", "ark.rs: 401 lines")


class Layering(Tree):
    def crate(self, folder: str, name: str, *tables: str):
        self.write(f"crates/{folder}/Cargo.toml", "\n".join([f'[package]\nname = "{name}"', "[lints]\nworkspace = true", *tables]))

    def setUp(self):
        super().setUp()
        self.write("Cargo.toml", '[workspace.dependencies]\nserde = "1"\nlimbwise-math = { path = "crates/math" }\n')
        self.write(check_layering.REASONS, "- `serde`: reads and writes.")
        self.crate("math", "limbwise-math")
        self.crate("device", "limbwise-device", "[dependencies]\nlimbwise-math.workspace = true\nserde.workspace = true")
        self.crate("cpu", "limbwise-cpu")
        self.crate("runtime", "limbwise-runtime", "[dependencies]\nlimbwise-cpu.workspace = true")

    def test_good(self):
        self.crate("math", "limbwise-math", "[dev-dependencies]\nlimbwise-cpu.workspace = true")
        self.assert_problems(check_layering.check)

    def test_upward_dependencies(self):
        self.crate("math", "limbwise-math", "[target.'cfg(unix)'.dependencies]\nlimbwise-cpu.workspace = true")
        self.crate("cpu", "limbwise-cpu", "[dev-dependencies]\nlimbwise-runtime.workspace = true")
        self.assert_problems(check_layering.check, "[dev-dependencies] has 'runtime'", "has 'cpu'; wanted only taint")

    def test_unknown_crate_missing_lints_and_reason(self):
        self.crate("extra", "limbwise-extra")
        self.write("crates/math/Cargo.toml", '[package]\nname = "limbwise-math"')
        self.write("Cargo.toml", '[workspace.dependencies]\nserde = "1"\nlibc = "1"\n')
        self.assert_problems(check_layering.check, "'extra' is not in", "has no [lints]", "'libc' has no line")


class Citations(Tree):
    def setUp(self):
        super().setUp()
        self.write(check_citations.BIBLIOGRAPHY, "- **[HK20]** Han, Ki.\n- **[ARK]** Kim et al.\n")

    def test_good(self):
        self.write("a.rs", "//! Source: \\[HK20\\] §3.\n/// [Modulus], [`HK99`], `x[ABC]`.\nlet a = t[ARK]; // as [ARK]\n")
        self.write("b.md", "[Other] and [HELP](https://x) and `[NO10]`\n```\n[NO11]\n```\n")
        self.assert_problems(check_citations.check)

    def test_unknown_uncited_and_links(self):
        self.write("a.rs", "/// [HK20] and [NO10]: so.\n")
        self.write("b.toml", "x = 1  # [FAB] Table 2\n")
        problems = ["a.rs:1: [NO10] is not in", "a.rs:1: write \\[HK20\\]", "b.toml:1: [FAB]", "[ARK] is cited nowhere"]
        self.assert_problems(check_citations.check, *problems)

    def test_fix(self):
        self.write("a.rs", "/// [HK20], [Modulus], \\[ARK\\].\nfn f() {} // [HK20]\n")
        check_citations.fix(self.root)
        self.assertEqual((self.root / "a.rs").read_text(), "/// \\[HK20\\], [Modulus], \\[ARK\\].\nfn f() {} // [HK20]\n")
        self.assert_problems(check_citations.check)


class DocPaths(Tree):
    def test_paths(self):
        self.write("crates/a/src/lib.rs", "")
        self.write("docs/b.md", "[up](../README.md#x) [web](https://x/y) `crates/a/src/{lib}.rs` `crates/*/src`")
        self.write("README.md", "`crates/a/` `crates/<name>/x.rs` `cargo test`\n```\n`crates/gone`\n```\n")
        self.assert_problems(check_doc_paths.check)
        self.write("README.md", "`crates/a/src/{lib,mod}.rs` and [b](docs/c.md) `docs/*.txt`")
        self.assert_problems(check_doc_paths.check, "crates/a/src/mod.rs does not", "docs/*.txt", "docs/c.md does not")


class Portable(Tree):
    def setUp(self):
        super().setUp()
        for place in check_portable.KERNELS:
            self.write(place + "mod.rs" if place.endswith("/") else place, "use std::arch::x86_64::_mm_prefetch;\n")

    def test_good(self):
        self.write("crates/math/src/lib.rs", "// std::arch::x86_64 is for kernels\nfn monarch() {}\n")
        self.assert_problems(check_portable.check)

    def test_names_elsewhere_and_a_list_that_is_stale(self):
        self.write("crates/math/src/lib.rs", "fn a() {}\nuse core::arch::x86_64::_mulx_u64;\n")
        self.write("crates/cpu/src/pool.rs", '#[cfg(target_arch = "x86_64")]\nfn b() { is_x86_feature_detected!("fma"); }\n')
        self.write("crates/cpu/src/kernels/words.rs", "fn c() {}\n")
        self.assert_problems(
            check_portable.check,
            "pool.rs:1: target_arch outside",
            "pool.rs:2: is_x86_feature_detected! outside",
            "lib.rs:2: core::arch outside",
            "words.rs: names no architecture",
        )


class DocWidth(Tree):
    def test_good(self):
        self.write("README.md", f"{'p' * 200}\n```sh\n{'x' * 72}\n```\n```json\n{'j' * 90}\n```\n```{{limbwise}} {'a' * 90}\n```\n")
        self.write("docs/adr/1.md", f"```\n{'x' * 90}\n```\n")
        self.assert_problems(check_doc_width.check)

    def test_long_lines(self):
        self.write("docs/guide/a.md", f"```json\n{'j' * 90}\n```\n```sh\n{'x' * 73}\n```\n")
        self.write("docs/lessons/01.ipynb", f'{{"cells": [{{"cell_type": "code", "source": ["a\\n", "{"y" * 80}"]}}]}}')
        self.assert_problems(check_doc_width.check, "a.md:5: 73 characters", "01.ipynb:1: 80 characters")


class Release(Tree):
    def tree(self, version: str, cited: str, heading: str, command: str, compiler: str = "1.95"):
        self.write("Cargo.toml", f'[workspace.package]\nversion = "{version}"\nrust-version = "1.95"\n')
        self.write("Dockerfile", f"FROM rust:{compiler}-bookworm AS build\nENV RUSTUP_TOOLCHAIN=1.95.0\n")
        self.write("CITATION.cff", f"cff-version: 1.2.0\nversion: {cited}\n")
        self.write("CHANGELOG.md", f"## [Unreleased]\n\n## [{heading}] - 2026-01-02\n\n## [0.0.1] - 2025-01-02\n")
        self.write("Makefile", "test: test-rust\n\ttrue\n")
        toolchain = f'    env:\n      RUSTUP_TOOLCHAIN: "{compiler}"\n'
        self.write(".github/workflows/test.yml", f"{toolchain}      - run: {command}\n")

    def test_good(self):
        self.tree("0.2.0", "0.2.0", "0.2.0", "make test")
        self.assert_problems(check_release.check)

    def test_names_that_differ(self):
        self.tree("0.2.0", "0.1.0", "0.0.9", "make tests")
        self.assert_problems(check_release.check, "CITATION.cff: 0.1.0", "CHANGELOG.md: 0.0.9", "test.yml: make tests")

    def test_another_compiler(self):
        self.tree("0.2.0", "0.2.0", "0.2.0", "make test", compiler="1.94")
        self.assert_problems(check_release.check, "Dockerfile: compiler 1.94, 1.95, where", "test.yml: compiler 1.94, where")


class Recipes(Tree):
    STEPS = "First `src/no.rs`.\n\n1. `src/<name>.rs`: as `src/other.rs`.\n2. `src/{lib,all}.rs` and `notes/`: lines.\n"
    TOY = """
        recipe = "add-a-bead.md"
        name = "red"
        file = [{ path = "src/red.rs", text = "// red" }, { path = "notes/red.md", text = "red" }]
        edit = [
            { path = "src/lib.rs", after = "mod a;\\n", insert = "mod red;\\n" },
            { path = "src/all.rs", after = "mod z;\\n", insert = "mod red;\\n", before = true },
        ]
        """

    def setUp(self):
        super().setUp()
        self.write("docs/recipes/add-a-bead.md", self.STEPS)
        self.write("scripts/recipes/bead.toml", self.TOY)
        self.write("src/lib.rs", "mod a;\n")
        self.write("src/all.rs", "mod z;\n")

    def test_a_true_recipe(self):
        self.assert_problems(check_recipes.check)
        check_recipes.apply(self.root, check_recipes.read(self.root)["bead.toml"], 7)
        texts = [(self.root / "src" / name).read_text() for name in ("red.rs", "lib.rs", "all.rs")]
        self.assertEqual(texts, ["// red", "mod a;\nmod red;\n", "mod red;\nmod z;\n"])
        self.assertEqual((self.root / "src/red.rs").stat().st_mtime, 7)

    def test_a_recipe_that_lies(self):
        self.write("docs/recipes/add-a-bead.md", self.STEPS.replace("{lib,all}", "{lib,any}"))
        self.write("docs/recipes/add-a-peg.md", "## A peg\n\n1. `src/peg.rs`: new.\n")
        self.assert_problems(
            check_recipes.check,
            "touches src/all.rs, which add-a-bead.md does not name",
            "does not touch src/any.rs",
            "add-a-peg.md#A peg: no toy",
        )

    def test_anchors_that_moved(self):
        self.write("src/lib.rs", "mod a;\nmod a;\n")
        self.write("src/red.rs", "")
        self.assert_problems(check_recipes.check, "src/red.rs is there already", "src/lib.rs: 2 times 'mod a;'")


class Unsafe(Tree):
    """`unsafe` has a reason, in the places that may have it."""

    def test_each_use_has_its_reason(self):
        """A reason above, also above attributes; names of lints and types of pointers are no uses."""
        self.write(
            "crates/cpu/src/a.rs",
            "// SAFETY: the token proves it\n#[expect(unsafe_code, reason = \"x\")]\nlet a = unsafe { f() };\n"
            'type F = unsafe extern "C" fn(u32);\n/// # Safety\nunsafe fn g() {}\n',
        )
        self.assertEqual(list_unsafe.check(self.root), [])
        self.assertEqual(len(list_unsafe.uses(self.root)), 2)

    def test_what_is_wrong_is_named(self):
        """No reason, the reason of the statement before, and a crate that may have none."""
        self.write("crates/cuda/src/a.rs", "// SAFETY: here\nlet a = unsafe { f() };\nlet b = unsafe { g() };\n")
        self.write("crates/apps/src/a.rs", "// SAFETY: no\nunsafe { f() }\n")
        problems = list_unsafe.check(self.root)
        self.assertEqual(len(problems), 2)
        self.assertIn("crates/apps/src/a.rs:2", problems[0])
        self.assertIn("crates/cuda/src/a.rs:3", problems[1])


class Supply(unittest.TestCase):
    """Licences, sources and checksums of dependencies."""

    RULES = {"licenses": {"allow": ["MIT", "Apache-2.0", "Unicode-3.0"]}}

    def package(self, **changed) -> dict:
        """A crate of the registry, with changes."""
        return {"name": "a", "version": "1.0.0", "license": "MIT", "source": sbom.REGISTRY, "repository": None} | changed

    def test_licences(self):
        """Alternatives of conjunctions, in both forms of an alternative."""
        allowed = {"MIT", "Apache-2.0", "Unicode-3.0"}
        for good in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"]:
            self.assertTrue(sbom.is_allowed(good, allowed), good)
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND GPL-3.0", ""]:
            self.assertFalse(sbom.is_allowed(bad, allowed), bad)

    def test_what_is_wrong_is_named(self):
        """A licence, a source, a checksum; versions that are several are told."""
        sums = {("a", "1.0.0"): "00"}
        self.assertEqual(sbom.check([self.package()], sums, self.RULES), ([], []))
        wrong, doubles = sbom.check(
            [self.package(license=None), self.package(source="git+https://x"), self.package(version="2.0.0")], sums, self.RULES
        )
        self.assertEqual(len(wrong), 3)
        self.assertEqual(doubles, ["a: 1.0.0, 2.0.0"])


class Faults(Tree):
    """What `campaign.py` says of a verb after a fault."""

    def judged(self, status: int, text: str = "", killed: bool = False) -> str | None:
        """The verdict on a verb that was to write two files."""
        verb = campaign.Verb("eval", [], ["out"], right={"out/a.ct": b"right", "out/b.ct": b"other"})
        setting = campaign.Setting.__new__(campaign.Setting)
        setting.folder = self.root
        return setting.judge(verb, campaign.Ended(status, text, 0.0, 0), killed)

    def test_verdicts(self):
        """Nothing there and a text is an answer; silence, signals, panics and half a file are not."""
        self.assertIsNone(self.judged(1, "error: no room"))
        self.assertIsNone(self.judged(-9, killed=True))
        self.assertIsNone(self.judged(-6, "memory allocation of 5 bytes failed"))
        self.assertIn("without a text", self.judged(2))
        self.assertIn("signal 11", self.judged(-11))
        self.assertIn("panicked", self.judged(1, "thread 'main' panicked at x"))
        self.assertIn("is not", self.judged(0))
        self.write("out/a.ct", "rig")
        self.assertIn("not whole", self.judged(1, "error: no room"))
        self.write("out/a.ct", "right")
        self.assertIsNone(self.judged(1, "error: no room"))
        self.write("out/.b.ct.1.tmp", "oth")
        self.assertIsNone(self.judged(-9, killed=True))
        self.write("out/b.ct", "other")
        (self.root / "out/.b.ct.1.tmp").unlink()
        self.assertIsNone(self.judged(0))


if __name__ == "__main__":
    unittest.main()
