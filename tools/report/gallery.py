#!/usr/bin/env python3
"""Makes docs/gallery: pages that play schedules, and a still of each, from the texts in tools/report/gallery.json.

    tools/report/gallery.py --kawara build/tools/kawara           writes the pages and, where there is a node, the stills
    tools/report/gallery.py --kawara build/tools/kawara --check   fails where a committed file is another one

A page is one file: the modules of tools/report/src/theatre, the data that `kawara explain --json` gives under "theatre", and nothing from a network.
"""

import argparse
import base64
import hashlib
import html
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MODULES = HERE / "src" / "theatre"
GALLERY = ROOT / "docs" / "gallery"
MACHINE = "neoverse-v1"

IMPORT = re.compile(r"^import (\* as \w+|\{[^}]*\}) from '\./(\w+)\.js';\n", re.MULTILINE)
PASSED_ON = re.compile(r"^export (\{[^}]*\}) from '\./(\w+)\.js';\n", re.MULTILINE)
NAMED = re.compile(r"^export (?:async )?(?:function|class|const) (\w+)", re.MULTILINE)
LIST = re.compile(r"^export \{([^}]*)\};\n", re.MULTILINE)


def in_order(name, done):
    """The module and what it imports, each after what it needs."""
    if name in done:
        return
    text = (MODULES / f"{name}.js").read_text()
    for pattern in (IMPORT, PASSED_ON):
        for _, other in pattern.findall(text):
            in_order(other, done)
    done[name] = text


def bundle(entry):
    """All modules as one script: each a function that returns what it exports."""
    done = {}
    in_order(entry, done)
    parts = []
    for name, text in done.items():
        exported = NAMED.findall(text)
        for names in LIST.findall(text):
            exported += [n.strip() for n in names.split(",") if n.strip()]
        passed_on = ""
        for names, other in PASSED_ON.findall(text):
            passed_on += f"const {names} = module_{other};\n"
            exported += [n.strip() for n in names.strip("{}").split(",") if n.strip()]
        text = PASSED_ON.sub("", LIST.sub("", text))
        text = IMPORT.sub(lambda m: f"const {m[1].removeprefix('* as ')} = module_{m[2]};\n", text)
        text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
        parts.append(f"const module_{name} = (() => {{\n{passed_on}{text}return {{ {', '.join(exported)} }};\n}})();\n")
    return "".join(parts)


def theatre_of(kawara, piece):
    """What `kawara explain --json` says under "theatre" of a piece's text."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{piece['name']}.kw"
        path.write_text("\n".join(piece["text"]) + "\n")
        command = [kawara, "explain", str(path), "--json", "--machine", MACHINE, "-s", piece.get("schedule", "source")]
        if piece.get("sizes"):
            command += ["-p", piece["sizes"]]
        made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(f"{piece['name']}: {made.stderr or made.stdout}")
    data = json.loads(made.stdout).get("theatre")
    if data is None:
        sys.exit(f"{piece['name']}: {json.loads(made.stdout)['missing']}")
    return data


def kept(data, piece):
    """Of the schedules those that the piece names, and the refused ones with what repairs them."""
    # Whole bytes: the last digit of a logarithm is not the same everywhere.
    data["least"] = [[size, int(least)] for size, least in data["least"]]
    wanted = piece.get("keep")
    if wanted:
        keep = re.compile(wanted)
        data["schedules"] = [s for k, s in enumerate(data["schedules"]) if k == 0 or keep.search(s["directives"])]
    for which in ("a", "b"):
        named = piece["options"].get(which)
        if named is not None and named not in [s["directives"] for s in data["schedules"]]:
            sys.exit(f"{piece['name']}: there is no schedule `{named}` among {[s['directives'] for s in data['schedules']]}")
    return data


def as_json(value):
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


def tables(kawara):
    """Bytes per FLOP of a product of 100 x 100, reads of both factors alone, by words held: as `kawara cache` counts them."""
    words = [1, 256, 1024, 4096, 12000]
    head = ["param N", "input A: f32[N, N], B: f32[N, N]", "temp sum: f32", "output C: f32[1]", "sum = 0"]
    nests = {
        "as written": (["i", "j", "k"], "sum += A[i, k] * B[k, j]"),
        "tiles of ten": (["i_0", "j_0", "k_0", "i", "j", "k"], "sum += A[10*i_0 + i, 10*k_0 + k] * B[10*k_0 + k, 10*j_0 + j]"),
    }
    rows = []
    for name, (loops, statement) in nests.items():
        extents = ["N"] * 3 if len(loops) == 3 else ["N // 10"] * 3 + ["10"] * 3
        lines = [f"{' ' * 4 * d}for {loop} in range({extent}):" for d, (loop, extent) in enumerate(zip(loops, extents))]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "product.kw"
            path.write_text("\n".join([*head, *lines, " " * 4 * len(loops) + statement, "C[0] = sum"]) + "\n")
            counts = []
            for count in words:
                made = subprocess.run([kawara, "cache", str(path), "-p", "N=100", "--level", f"{4 * count},4", "--json"], capture_output=True, text=True, check=True)
                counted = json.loads(made.stdout)
                # The one element of C that is written is not a read of a factor.
                misses = sum(a["compulsory"] + a["capacity"] + a["conflict"] for a in counted["levels"][0]["arrays"] if a["name"] != "C")
                counts.append(f"{misses * 4 / counted['flops']:.2f}")
        rows.append((name, counts))
    line = "".join(f'<th scope="col">{w:,} words</th>' for w in words)
    body = "".join(f'<tr><th scope="row">{name}</th>{"".join(f"<td>{c}</td>" for c in counts)}</tr>' for name, counts in rows)
    return f'<table class="counts"><caption>bytes per FLOP at 100 x 100, by what the cache holds</caption><thead><tr><th scope="col">order</th>{line}</tr></thead><tbody>{body}</tbody></table>\n'


STYLE = """
:root{color-scheme:light dark}body{margin:0;font:16px/1.5 system-ui,sans-serif;background:#fff;color:#1c1c1c}
main{max-width:76rem;margin:auto;padding:1rem 1.5rem}h1{font-size:1.5rem;margin:.5rem 0}a{color:#00598c}
p.lead{max-width:52rem}table.counts{border-collapse:collapse;margin:.5rem 0 1rem}.counts td,.counts th{padding:.15rem .9rem;text-align:right}.counts caption{text-align:left}
pre{background:#f3f3f1;padding:.6rem 1rem;overflow-x:auto;font-size:13px}
@media(prefers-color-scheme:dark){body{background:#161616;color:#ececec}pre{background:#202022}a{color:#7cc4ff}}
"""


def page(piece, data, script, table):
    start = "module_mount.mount(document.getElementById('theatre'), DATA, OPTIONS);\n"
    code = f"'use strict';\nconst DATA = {as_json(data)};\nconst OPTIONS = {as_json({**piece['options'], 'heading': 2})};\n{script}{start}"
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data: blob:"
    paragraphs = "".join(f'<p class="lead">{html.escape(text)}</p>\n' for text in piece["words"])
    return (f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{html.escape(piece["title"])}</title>\n<style>{STYLE}</style>\n'
            f"</head>\n<body>\n<main>\n<h1>{html.escape(piece['title'])}</h1>\n{paragraphs}{table}"
            f"<pre><code>{html.escape(chr(10).join(piece['text']))}</code></pre>\n"
            f'<div id="theatre"></div>\n</main>\n<script>{code}</script>\n</body>\n</html>\n')


def still(piece, data, node):
    """The SVG of the piece at its moment."""
    program = (f"import {{ still }} from {json.dumps((MODULES / 'still.js').as_uri())};\n"
               "let text = '';\nfor await (const part of process.stdin) text += part;\n"
               "const { data, options } = JSON.parse(text);\nprocess.stdout.write(still(data, options));\n")
    options = {**piece["options"], **piece.get("still", {})}
    made = subprocess.run([node, "--input-type=module", "-e", program], input=json.dumps({"data": data, "options": options}), capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(f"{piece['name']}: {made.stderr}")
    return made.stdout


def made_files(kawara, node):
    """{name: text} of all pages and stills."""
    script = bundle("mount")
    files = {}
    for piece in json.loads((HERE / "gallery.json").read_text()):
        data = kept(theatre_of(kawara, piece), piece)
        files[f"{piece['name']}.html"] = page(piece, data, script, tables(kawara) if piece.get("table") else "")
        if node:
            files[f"{piece['name']}.svg"] = still(piece, data, node)
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kawara", required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    files = made_files(options.kawara, shutil.which("node"))
    GALLERY.mkdir(parents=True, exist_ok=True)
    wrong = []
    for name, text in files.items():
        path = GALLERY / name
        if not options.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong.append(name)
    if wrong:
        print(f"docs/gallery is out of date: {', '.join(wrong)}; run tools/report/gallery.py --kawara {options.kawara}")
        return 1
    print(f"{len(files)} files, {sum(len(t) for t in files.values()) // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
