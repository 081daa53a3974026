"""explained_model_test.py KAWARA: `kawara explain` and `kawara trace` of a model as other programs see them: the trace's form, spans that nest,
the same bytes twice, figures that add up; and files that are whole or not there, whenever Ctrl-C comes."""

import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

MACHINE = ["--machine", "textbook-45nm"]


class Checks:
    def __init__(self, kawara, folder):
        self.kawara, self.folder, self.complaints = kawara, pathlib.Path(folder), []
        self.run("zoo", "one-attention", "--seq", "64", "-o", "a.onnx")

    def run(self, *words):
        done = subprocess.run([self.kawara, *words], cwd=self.folder, capture_output=True, text=True, timeout=300)
        self.expect(done.returncode == 0, f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def expect(self, holds, what):
        if not holds:
            self.complaints.append(what)

    def trace(self, *more):
        self.run("trace", "a.onnx", "-o", "t.json", *MACHINE, *more)
        text = (self.folder / "t.json").read_text()
        made = json.loads(text)
        self.expect(set(made) == {"displayTimeUnit", "traceEvents"}, "keys of a trace")
        open_spans, last, counters, steps = [], {}, 0, 0.0
        for event in made["traceEvents"]:
            self.expect(event["ph"] in "XCM", f"a kind of event: {event}")
            self.expect({"name", "ph", "pid", "args"} <= set(event), f"keys of {event}")
            if event["ph"] == "C":
                counters += event["name"] == "live bytes" and event["args"]["B"] >= 0
            if event["ph"] != "X":
                continue
            begin, end = event["ts"], event["ts"] + event["dur"]
            self.expect(event["dur"] >= 0 and begin >= last.get(event["tid"], 0) - 1e-6, f"times of {event}")
            last[event["tid"]] = begin
            while open_spans and open_spans[-1] <= begin + 1e-6:
                open_spans.pop()
            self.expect(not open_spans or end <= open_spans[-1] + 1e-6, f"{event} leaves the span around it")
            open_spans.append(end)
            steps += event["dur"] if event["name"] != "call" else 0
        call = next(e for e in made["traceEvents"] if e["name"] == "call")
        self.expect(counters > 2, "live bytes")
        self.expect(steps <= call["dur"] * (1 + 1e-9), "steps are longer than the call")
        return text, call["dur"]

    def traces(self):
        first = self.trace()[0]
        self.expect(first == self.trace()[0], "the same trace twice")
        self.expect("measured" not in first and "measured" in self.trace("--measure")[0], "labels of a trace")

    def report(self):
        text = self.run("explain", "a.onnx", "--json", *MACHINE)
        self.expect(text == self.run("explain", "a.onnx", "--json", *MACHINE), "the same report twice")
        made = json.loads(text)
        edges, fusion, kernels = made["graph"]["edges"], made["fusion"], {k["id"]: k for k in made["kernels"]}
        self.expect(any(e["fused"] for e in edges) and any(not e["fused"] for e in edges), "edges of both kinds")
        for edge in edges:
            self.expect(edge["reason"] and edge["verdict"] in ("legal", "illegal", "undecided", "not asked"), f"{edge}")
            self.expect(edge["verdict"] != "legal" or edge["directive"], f"legal without a directive: {edge}")
            self.expect(edge["verdict"] == "legal" or edge["witness"], f"no reason: {edge}")
        saved = sum(e["saves"]["bytes"] for e in edges if e["fused"])
        self.expect(saved == fusion["saved"]["bytes"], "bytes saved add up")
        self.expect(fusion["after"]["bytes"] < fusion["before"]["bytes"], "fusion saves bytes")
        steps = [s for s in made["steps"] if s["kernel"]]
        for kernel in kernels.values():
            self.expect(kernel["times"] == sum(s["kernel"] == kernel["id"] for s in steps), f"calls of {kernel['id']}")
            self.expect(kernel["repeat"] >= 1, f"repeat of {kernel['id']}")
        arena = made["arena"]["tensors"]
        for a in arena:
            self.expect(a["offset"] + a["bytes"] <= made["arena"]["bytes"], f"{a} is outside")
            for b in arena:
                at_once = a["first_step"] <= b["last_step"] and b["first_step"] <= a["last_step"]
                meet = a["offset"] < b["offset"] + b["bytes"] and b["offset"] < a["offset"] + a["bytes"]
                self.expect(a is b or not (at_once and meet), f"{a} and {b} meet")
        self.expect(len(self.run("explain", "a.onnx", *MACHINE).splitlines()) <= 40, "forty lines")

    def interrupted(self):
        chance = random.Random(7)
        for k in range(12):
            started = subprocess.Popen([self.kawara, "explain", "a.onnx", "-o", "r.html", *MACHINE], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0, 1.5))
            started.send_signal(signal.SIGINT)
            started.wait(timeout=60)
            page = self.folder / "r.html"
            self.expect(not (self.folder / "r.html.part").exists(), "a part of a page is left")
            if page.exists():
                self.expect(page.read_text().rstrip().endswith("</html>"), "half a page")
                page.unlink()


def main():
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(str(pathlib.Path(sys.argv[1]).resolve()), folder)
        checks.traces()
        checks.report()
        checks.interrupted()
        print("\n".join(checks.complaints) or "explain and trace of a model: fine")
        return 1 if checks.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
