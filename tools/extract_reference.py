#!/usr/bin/env python3
"""Makes docs/reference/ from the cards in the directive headers, src/schedule/*.h.

    tools/extract_reference.py              writes the pages
    tools/extract_reference.py --check      complains about pages that are not what it would write
    tools/extract_reference.py --self-test  tries itself on examples

A card is the block of `///` lines above a directive's `propose`. It says what the directive does, with
an example in backquotes, what it `Needs`, when it is `Legal`, what it `Refuses`. Its page has the name
of the header. Pages of the folder that were written by hand are left alone.
"""

import pathlib
import re
import sys

import tree

CARD = re.compile(r"((?:^///.*\n)+)Proposed propose\(", re.MULTILINE)
SECTIONS = ("Needs", "Legal", "Refuses")
SECTION = re.compile(rf"({'|'.join(SECTIONS)})\s+(.*)")
CODE = re.compile(r"\b(K0[1-7][0-9]{2})\b")
PAGES = pathlib.PurePosixPath("docs/reference")
MADE = re.compile(r"^<!-- made .*by tools/extract_reference\.py -->$", re.MULTILINE)


def card_of(text):
    """Lines of the card in a header without their slashes, or None."""
    block = CARD.search(text)
    return [line[4:].rstrip() for line in block[1].splitlines()] if block else None


def paragraphs(lines):
    """Groups of lines between blank lines; each section begins a group of its own."""
    group = []
    for line in [*lines, ""]:
        if group and (not line.strip() or SECTION.match(line)):
            yield group
            group = []
        if line.strip():
            group.append(line)


def linked(text):
    return CODE.sub(r"[\1](../errors/\1.md)", text)


def page_text(header, lines):
    parts = [f"# {header.stem}", f"<!-- made from {header} by tools/extract_reference.py -->"]
    for group in paragraphs(lines):
        section = SECTION.match(group[0])
        if section:
            rest = " ".join([section[2], *(line.strip() for line in group[1:])])
            parts.append(f"**{section[1]}** {linked(rest)}")
        elif all(line.startswith("  ") for line in group):
            indent = min(len(line) - len(line.lstrip()) for line in group)
            parts.append("\n".join(["```", *(line[indent:] for line in group), "```"]))
        else:
            parts.append("\n".join(linked(line) for line in group))
    return "\n\n".join(parts) + "\n"


def summary_of(lines):
    """First sentence of a card; a colon that leads to an example counts as its end."""
    text = " ".join(line.strip() for line in next(paragraphs(lines)))
    return re.split(r"(?<=[.:])\s", text, maxsplit=1)[0].rstrip(".:")


def cards_of(root):
    """{header: lines of its card}"""
    headers = [name for name in tree.files(root, {"src"}, {".h"}) if name.parts[1] == "schedule"]
    cards = {header: card_of(tree.text_of(root, header)) for header in headers}
    return {header: lines for header, lines in cards.items() if lines}


def gaps(cards):
    """What the cards fail to say."""
    for header, lines in cards.items():
        said = {match[1] for line in lines if (match := SECTION.match(line))}
        missing = [section for section in SECTIONS if section not in said]
        if missing:
            yield f"{header}: the card has no line that begins with {', '.join(missing)}"


def reference(root):
    """{page: text} for the whole folder."""
    cards = cards_of(root)
    if not cards:
        return {}
    rows = [f"| [{header.stem}]({header.stem}.md) | {summary_of(lines)} |"
            for header, lines in cards.items()]
    index = ["# Directives", "<!-- made by tools/extract_reference.py -->",
             "Each page is the card of one directive: what it does, what it needs, when it is legal,\n"
             "what it refuses. The cards stand in the headers under `src/schedule/`.",
             "\n".join(["| directive | what it does |", "|---|---|", *rows]),
             *(["The commands: [command_line](command_line.md), [cache](cache.md)."]
               if (root / PAGES / "command_line.md").is_file() else [])]
    pages = {PAGES / f"{header.stem}.md": page_text(header, lines)
             for header, lines in cards.items()}
    return {PAGES / "README.md": "\n\n".join(index) + "\n", **pages}


def check(root):
    wanted = reference(root)
    found = {name for name in tree.files(root, {"docs"}, {".md"})
             if name.parent == PAGES and MADE.search(tree.text_of(root, name) or "")}
    complaints = list(gaps(cards_of(root)))
    complaints += [f"{name}: no card makes this page" for name in sorted(found - set(wanted))]
    for name, text in wanted.items():
        if name not in found:
            complaints.append(f"{name}: missing; run tools/extract_reference.py")
        elif tree.text_of(root, name) != text:
            complaints.append(f"{name}: not as its card says; run tools/extract_reference.py")
    return complaints


def write(root):
    for page in (root / PAGES).glob("*.md"):
        if MADE.search(page.read_text()):
            page.unlink()
    for name, text in reference(root).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


HEADER = {"src/schedule/loops/skew.h": """/// Not a card.
/// Refuses  to be one.
int x;

/// Shift a loop: `skew(i, by=t)`.
///
///   before   for i: S(i)
///
/// Needs    one band,
///          nothing more.
/// Legal    always.
/// Refuses  factor 0 (K0210).
Proposed propose(const Skew&);
"""}
PAGE = """# skew

<!-- made from src/schedule/loops/skew.h by tools/extract_reference.py -->

Shift a loop: `skew(i, by=t)`.

```
before   for i: S(i)
```

**Needs** one band, nothing more.

**Legal** always.

**Refuses** factor 0 ([K0210](../errors/K0210.md)).
"""
INDEX = """# Directives

<!-- made by tools/extract_reference.py -->

Each page is the card of one directive: what it does, what it needs, when it is legal,
what it refuses. The cards stand in the headers under `src/schedule/`.

| directive | what it does |
|---|---|
| [skew](skew.md) | Shift a loop |
"""
FRESH = {**HEADER, "docs/reference/skew.md": PAGE, "docs/reference/README.md": INDEX}
EXAMPLES = [
    (FRESH, []),
    (HEADER, ["docs/reference/skew.md: missing"]),
    ({**FRESH, "docs/reference/skew.md": PAGE + "more\n"}, ["skew.md: not as its card says"]),
    ({"src/schedule/loops/cut.h": "/// Cut a loop.\nProposed propose(const Cut&);\n"},
     ["src/schedule/loops/cut.h: the card has no line that begins with Needs, Legal, Refuses"]),
    ({**FRESH, "docs/reference/old.md": PAGE}, ["docs/reference/old.md: no card makes this page"]),
    ({**FRESH, "docs/reference/by_hand.md": "# by hand\n"}, []),
]

if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.argv[1:] = []
        sys.exit(tree.main(check, EXAMPLES))
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(tree.main(check, EXAMPLES))
    write(tree.ROOT)
