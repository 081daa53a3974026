#!/usr/bin/env python3
"""Tests the page of `kawara explain`: what-if, bundle and behaviour in a browser.

    tests/report/report.py --kawara build/tools/kawara --folder build/report [--only what_if|bundle|pages]

Exit code 77 where node, npm's packages or Chromium cannot be had, after what can be tested without them.
"""

import argparse
import filecmp
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = ROOT / "tools" / "report"
SKIPPED = 77
PARTS = ["report.js", "report.css", "report.sha256", "LICENSES.txt"]
GEMM = ["-p", "M=512,N=512,K=512", "--machine", "neoverse-v1"]


def chromium():
    """The browser's program; None where there is none."""
    return next((found for name in ("chromium", "chromium-headless-shell") if (found := shutil.which(name))), None)


def packages(folder):
    """A copy of tools/report with its packages, or why there are none."""
    if shutil.which("npm") is None:
        return "there is no npm"
    copy = folder / "bundle"
    kept = copy / "node_modules"
    stamp = kept / ".lock"
    if not stamp.is_file() or not filecmp.cmp(stamp, SOURCES / "package-lock.json", shallow=False):
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCES / name, copy)
        try:
            made = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=copy, timeout=120,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except subprocess.TimeoutExpired:
            return "npm's packages cannot be had: npm ci takes too long"
        if made.returncode != 0:
            return "npm's packages cannot be had: " + (made.stdout.strip().splitlines() or ["npm ci failed"])[-1]
        shutil.copy(SOURCES / "package-lock.json", stamp)
    return None


def check_bundle(folder):
    """Complaints where the bundle that is kept is not what its sources make."""
    copy = folder / "bundle"
    shutil.rmtree(copy / "src", ignore_errors=True)
    shutil.copytree(SOURCES / "src", copy / "src")
    shutil.copy(SOURCES / "build.mjs", copy)
    subprocess.run(["node", "build.mjs"], cwd=copy, check=True)
    return [f"tools/report/dist/{name} is not what `node build.mjs` makes" for name in PARTS
            if not filecmp.cmp(copy / "dist" / name, SOURCES / "dist" / name, shallow=False)]


def make_pages(kawara, folder):
    """Pages of a program, of a limit, of a comparison and of a model."""
    def explain(*words):
        subprocess.run([kawara, "explain", *words], check=True, stdout=subprocess.DEVNULL)
    gemm = str(ROOT / "examples" / "gemm.kw")
    explain(gemm, *GEMM, "-o", folder / "gemm.html")
    explain(gemm, *GEMM, "-o", folder / "again.html")
    explain(gemm, "-p", "M=512,N=512,K=512", "--machine", "h200", "-o", folder / "limit.html")
    explain(gemm, *GEMM, "--with", gemm, "--with-schedule", "source", "-o", folder / "both.html")
    subprocess.run([kawara, "zoo", "one-attention", "-o", folder / "net.onnx"], check=True, stdout=subprocess.DEVNULL)
    explain(folder / "net.onnx", "--machine", "neoverse-v1", "-o", folder / "model.html")
    explain(folder / "net.onnx", "--machine", "neoverse-v1", "-o", folder / "model_again.html")


def check_same_twice(folder):
    return [f"{a} has other bytes the second time" for a, b in (("gemm.html", "again.html"), ("model.html", "model_again.html"))
            if not filecmp.cmp(folder / a, folder / b, shallow=False)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kawara", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--only", choices=["what_if", "bundle", "pages"])
    options = parser.parse_args()
    kawara, folder = options.kawara.resolve(), options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [options.only] if options.only else ["what_if", "bundle", "pages"]
    if shutil.which("node") is None:
        print("skipped: there is no node")
        return SKIPPED
    complaints = []
    run = lambda *words: subprocess.run(["node", *words], env={**os.environ, "KAWARA": str(kawara)}).returncode
    if "what_if" in wanted and run(HERE / "what_if.mjs", folder) != 0:
        complaints.append("what_if.mjs failed")
    missing = packages(folder) if wanted != ["what_if"] else None
    if missing is None and "bundle" in wanted:
        complaints += check_bundle(folder)
    if "pages" in wanted:
        make_pages(kawara, folder)
        complaints += check_same_twice(folder)
        browser = chromium()
        if missing is None and browser is None:
            missing = "there is no Chromium"
        if missing is None and run(HERE / "pages.mjs", folder, browser) != 0:
            complaints.append("pages.mjs failed")
    for complaint in complaints:
        print(complaint)
    if complaints:
        return 1
    if missing is not None:
        print(f"skipped: {missing}")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
