#!/usr/bin/env python3
"""launches.py KAWARA FOLDER: what a run of each model of a folder starts on a GPU, which need not be there.

Counts with `kawara fusion`: launches, those that only move elements and their bytes, functions that run between them, memory between launches.
Prints a table in Markdown; --save keeps the figures as JSON, --before compares with such a file.

    bench/gpu/launches.py build/tools/kawara NETS --save after.json --before before.json
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess


def counted(kawara, path, target, floats):
    command = [kawara, "fusion", str(path), "--type", floats, "--target", target, "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        figures = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return {"error": "no figures"}
    if not figures.get("ok") or "launches" not in figures:
        return {"error": figures.get("errors", [{}])[0].get("headline", "no tape")}
    return figures["launches"]


def shown(before, after, key, scale=1, form="{:.0f}"):
    now = form.format(after[key] * scale)
    return now if before is None or "error" in before else f"{form.format(before[key] * scale)} → {now}"


def table(figures, before):
    yield "| net | launches | only move | MB moved | functions | MB read and written | MB between launches |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, own in sorted(figures.items()):
        old = before.get(name) if before else None
        if "error" in own:
            yield f"| {name} | {own['error']} | | | | | |"
            continue
        yield "| " + " | ".join([
            name, shown(old, own, "steps"), shown(old, own, "movements"),
            shown(old, own, "moved_bytes", 1e-6, "{:.1f}"), shown(old, own, "calls"),
            shown(old, own, "bytes", 1e-6), shown(old, own, "block_bytes", 1e-6, "{:.1f}")]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kawara")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--type", default="bf16")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--save", type=pathlib.Path)
    parser.add_argument("--before", type=pathlib.Path)
    options = parser.parse_args()
    paths = sorted(options.folder.glob("*.onnx"))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda path: counted(options.kawara, path, options.target, options.type), paths)
        figures = {path.stem: result for path, result in zip(paths, results)}
    if options.save:
        options.save.write_text(json.dumps(figures, indent=1) + "\n")
    before = json.loads(options.before.read_text()) if options.before else None
    print("\n".join(table(figures, before)))


if __name__ == "__main__":
    main()
