#!/usr/bin/env python3
"""The pages of docs/papers and of accuracy: that they are complete, and that what they show is what the records give.

    papers_test.py WEFT SIMULATOR    which it has (ON) or not

Every table and figure of a paper has a heading, links lead somewhere, tables between <!-- table: NAME --> and
<!-- end --> are made anew from docs/data by the function of paper_tables.py or accuracy_tables.py with that name, and
pictures by the commands that the pages show or by accuracy_plots.py. WEFT_UPDATE_GOLDEN=1 writes tables and pictures in
place of comparing them.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import accuracy_plots
import accuracy_tables
import paper_tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "papers"
ACCURACY = ROOT / "docs" / "measurements" / "accuracy.md"
UPDATE = "WEFT_UPDATE_GOLDEN" in os.environ


def numbered(kind, last):
    return [f"{kind} {number}" for number in range(1, last + 1)]


# What each paper has.
SHOWN = {"sparsert": numbered("Table", 3) + numbered("Figure", 8),
         "shfl_bw": numbered("Table", 1) + numbered("Figure", 6) + ["Section 3.2"],
         "stuning_dl": numbered("Table", 7) + numbered("Figure", 14),
         "hb_ell": numbered("Figure", 5)}

failures = []


def check(right, message):
    if not right:
        failures.append(message)
        print("FAILED:", message)


def filled(page, text):
    """The page with its tables made anew."""
    def made(region):
        name = region.group(1)
        made_by = [vars(module)[f"{page.stem}_{name}"] for module in (paper_tables, accuracy_tables)
                   if f"{page.stem}_{name}" in vars(module)]
        check(len(made_by) == 1, f"{page.name}: {len(made_by)} functions are called {page.stem}_{name}")
        table = made_by[0] if made_by else None
        return f"<!-- table: {name} -->\n{table()}<!-- end -->" if table else region.group(0)
    return re.sub(r"<!-- table: (\w+) -->\n.*?<!-- end -->", made, text, flags=re.DOTALL)


def check_tables(page):
    text = page.read_text()
    new = filled(page, text)
    if UPDATE:
        page.write_text(new)
    for there, given in zip(text.split("\n"), new.split("\n")):
        if there != given:
            check(UPDATE, f"{page.name}: a table is not what the records give:\n  page:    {there}\n  records: {given}")
            break
    check(UPDATE or len(text) == len(new), f"{page.name}: a table is longer or shorter than the records give")


def check_headings(page):
    headings = re.findall(r"^## (.*)$", page.read_text(), flags=re.MULTILINE)
    for shown in SHOWN[page.stem]:
        named = any(re.search(rf"\b{shown}[a-z]?\b", heading) for heading in headings)
        check(named, f"{page.name}: nothing of {shown}")


def check_links(page):
    for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
        check(link.startswith("http") or (page.parent / link).exists(), f"{page.name}: {link} is not there")


def check_pictures(weft, page):
    """Runs the commands of the page that draw."""
    drawn = set(accuracy_plots.PICTURES)
    for line in re.findall(r"^weft plot .*$", page.read_text(), flags=re.MULTILINE):
        words = shlex.split(line)
        picture = ROOT / words[words.index("-o") + 1]
        drawn.add(picture.name)
        with tempfile.TemporaryDirectory(prefix="weft_papers_") as folder:
            made = pathlib.Path(folder) / picture.name
            words[0], words[words.index("-o") + 1] = weft, str(made)
            ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
            check(ended.returncode == 0, f"{page.name}: {line}\n{ended.stderr}")
            if ended.returncode != 0:
                continue
            if UPDATE:
                picture.write_bytes(made.read_bytes())
            check(picture.exists() and picture.read_bytes() == made.read_bytes(),
                  f"{picture.name} is not what this draws: {line}")
    for picture in re.findall(r"\]\((\w+\.svg)\)", page.read_text()):
        check(picture in drawn, f"{page.name}: no command of the page draws {picture}")


def check_made(path, text):
    if UPDATE:
        path.write_text(text)
    check(path.exists() and path.read_text() == text, f"{path.name} is not what the records say that it is made of")


def main(weft, simulator):
    paper_tables.WEFT, paper_tables.SIMULATOR = weft, simulator == "ON"
    check_made(ROOT / "docs" / "data" / "h200_vendor_tiles.jsonl", paper_tables.nearest_tiles())
    for name, picture in accuracy_plots.PICTURES.items():
        check_made(PAGES / name, picture())
    pages = sorted(PAGES.glob("*.md"))
    check(len(pages) > 0, "docs/papers has no page")
    for page in pages:
        check(page.stem in SHOWN, f"{page.name}: of which paper?")
        check_headings(page)
        check_tables(page)
        check_pictures(weft, page)
        check_links(page)
    check_tables(ACCURACY)
    check_links(ACCURACY)
    print(f"{len(pages)} pages, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1]), sys.argv[2]) if len(sys.argv) == 3 else __doc__)
