"""options_test.py KAWARA DOCS: walks docs/reference/options.md. Every option of every command stands in the table; what it calls refused is
refused with K0439, what it says works has an effect, or is at least read: a wrong value is an error."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMMANDS = "run bench show check deps diff emit estimate cache explain trace tune fusion compile".split()
KINDS = ["program", "gpu program", "model", "gpu model", "compiled"]


# --- a model: y = relu(x + x), x: f32[n, 4]; the wire format in a few lines


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value % 128 + 128)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field, value):
    return varint(field * 8) + varint(value)


def message(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field * 8 + 2) + varint(len(content)) + content


def value(name):
    dims = message(1, message(2, "n")) + message(1, number(1, 4))
    return message(1, name) + message(2, message(1, number(1, 1) + message(2, dims)))


def node(op, inputs, output):
    return b"".join(message(1, i) for i in inputs) + message(2, output) + message(3, op) + message(4, op)


def model():
    graph = (message(1, node("Add", ["x", "x"], "s")) + message(1, node("Relu", ["s"], "y"))
             + message(2, "small") + message(11, value("x")) + message(12, value("y")))
    return number(1, 8) + message(7, graph) + message(8, message(1, "") + number(2, 17))


PROGRAM = "param N\ninput x: f32[N]\noutput y: f32[N]\nfor i in range(N):\n    y[i] = x[i] * 2\n"

# What an option is given where it is refused; flags have nothing.
VALUES = {"--param": "n=4", "--shape": "x=3x4", "--schedule": "auto", "--numerics": "fast", "--winograd": "2",
          "--target": "cpu", "--print-after": "poly", "--db": "t.db", "--input": "x=x.npy", "--output": "y=y.npy",
          "--output-dir": "out", "--type": "bf16", "--attention": "parts", "--layout": "written", "--svg": "t.svg",
          "--against": "ort", "--peers": ".", "--also": "n=5", "--stage": "cuda", "--onnx": "o.onnx", "--with": "auto",
          "--header": "t.h", "--function": "f", "--budget": "1trials", "--strategy": "random", "--seed": "2",
           "--workers": "1", "--learner": "trees", "--model": "m.txt", "--recorded": "r.db", "--level": "1K", "--tlb": "64", "--policy": "fifo", "--place": "x", "--machine": "a100",
           "--with-schedule": "auto", "--with-machine": "a100"}

# A wrong value, and the message that shows that somebody read it.
WRONG = {"--print": ("nobody", "K0435"), "--param": ("zzz=4", "K0430|K0569"), "--shape": ("zzz=1", "K0520"),
         "--schedule": ("nonsense(i)", "K0230"), "--numerics": ("none", "K0433"), "--winograd": ("7", "K0258"), "--target": ("cpu:none", "K03"),
         "--print-after": ("none", "print-after"), "--input": ("x=missing.npy", "K0420"), "--type": ("f7", "type"),
         "--attention": ("none", "attention"), "--layout": ("none", "layout"), "--stage": ("none", "K0438"),
         "--also": ("zzz=4", "K0569"), "--with": ("nonsense(i)", "K0230"), "--budget": ("none", "K0604"),
         "--strategy": ("none", "K0605"), "--learner": ("none", "learner"), "--against": ("none", "against"),
         "--seed": ("none", "seed"), "--workers": ("none", "workers"), "--function": ("1f", "C function"),
          "--db": ("t.kw", "K0601"), "--peers": ("nowhere", "K0540"), "--level": ("none", "K0458"), "--tlb": ("none", "K0458"),
          "--policy": ("none", "policy"), "--place": ("none", "K0459"), "--machine": ("none", "K0472"),
          "--with-schedule": ("nonsense(i)", "K0230"), "--with-machine": ("none", "K0472")}

# A file that the option writes.
WRITES = {"--output-dir": ("out", "out/output_0.npy"), "--svg": ("t.svg", "t.svg"), "--onnx": ("o.onnx", "o.onnx"),
          "--header": ("t.h", "t.h")}

# What is on standard output or error with it and not without.
SHOWS = {"--json": '"ok": true', "--verify": "verify: ", "--time-passes": "total", "--check": "check:", "--time": "time:",
         "--programs": "input X0", "--dot": "digraph", "--replay": "loads", "--naive": "for (", "--spelled-out": "(i, ",
         "--kernel": "the kernel", "--curve": "of any size", "--energy": "energy: ",
         "--kernels": "Before fusion", "--measure": "when it ran"}


class Walk:
    def __init__(self, kawara, folder):
        self.kawara, self.folder = kawara, pathlib.Path(folder)
        (self.folder / "t.kw").write_text(PROGRAM)
        (self.folder / "t.onnx").write_bytes(model())
        assert self.run(["compile", "t.onnx", "-p", "n=3"])[0] == 0
        self.unprobed = []

    def run(self, words, **environment):
        done = subprocess.run([self.kawara, *words], cwd=self.folder, capture_output=True, text=True, timeout=300,
                              env={**os.environ, **environment})
        return done.returncode, done.stdout + done.stderr

    def base(self, command, kind, option):
        """The command on a file of that kind, with all that it needs but the option."""
        file = {"program": "t.kw", "model": "t.onnx", "compiled": "t.kwx"}[kind.split()[-1]]
        words = [command, file]
        if kind.startswith("gpu") and option != "--target":
            words += ["--target", "cuda:sm_90a"]
        if kind.startswith("gpu") and command == "show":
            words += ["--stage", "cuda"] if option != "--stage" else []
        if command == "show" and kind == "model" and option != "--stage":
            words += ["--stage", "graph"]
        if command == "diff" and option != "--with":
            words += ["--with", "auto"]
        if option in ("--with-schedule", "--with-machine"):
            words += ["--with", file]
        if option == "--peers":
            words += ["--against", "ort"]
        if option == "--naive":
            words += ["-s", "unroll(i)", "-p", "N=4"]
        return words

    def sizes(self, command, kind, option):
        if option == "--param" or kind == "compiled" or command in ("check", "deps", "diff", "emit"):
            return []
        if kind == "program":
            return [] if command == "show" else ["-p", "N=8"]
        return [] if command == "show" or option == "--shape" else ["-p", "n=3"]

    def refused(self, command, option, kind):
        words = self.base(command, kind, option) + [option] + ([VALUES[option]] if option in VALUES else [])
        if option == "--target" and kind.startswith("gpu"):
            words[-1] = "cuda:sm_90a"
        code, text = self.run(words)
        is_refused = "K0439" in text or "--target" in words and "has no option `--target`" in text
        return [] if code == 1 and is_refused else [f"not refused for a {kind}: {' '.join(words)}\n{text}"]

    def works(self, command, option, kind):
        words = self.base(command, kind, option) + self.sizes(command, kind, option)
        if option == "--output" and command in ("run", "emit", "compile", "explain", "trace"):
            name = "made.kwx" if command == "compile" else "made"
            return self.writes(words, option, "y=made.npy" if command == "run" else name,
                               "made.npy" if command == "run" else name)
        if option == "--open":  # no browser may come up
            code, text = self.run(words + [option], PATH="")
            return [] if code == 1 and "K0474" in text else [f"{' '.join(words)} {option} asks for no browser:\n{text}"]
        if (command, option) == ("explain", "--with"):
            code, text = self.run(words + [option, "missing.kw"])
            return [] if code == 1 and "K0420" in text else [f"nobody read {' '.join(words)} {option} missing.kw:\n{text}"]
        if option in WRITES:
            return self.writes(words, option, *WRITES[option])
        if option in WRONG and not (command == "tune" and option == "--db"):
            given, said = WRONG[option]
            code, text = self.run(words + [option, given])
            return [] if code == 1 and re.search(said, text) else [f"nobody read {' '.join(words)} {option} {given}:\n{text}"]
        if (command, option) == ("explain", "--replay"):  # only of what takes long: golden/tool/explain.kwt
            return []
        if option in SHOWS and command != "tune":
            code, text = self.run(words + [option])
            without = self.run(words)[1]
            return [] if code == 0 and SHOWS[option] in text and (SHOWS[option] not in without or command == "bench") else [
                f"{' '.join(words)} {option} does not show {SHOWS[option]!r}:\n{text}"]
        self.unprobed.append(f"{command} {option} ({kind})")
        return []

    def writes(self, words, option, given, path):
        code, text = self.run(words + [option, given])
        there = (self.folder / path).exists()
        return [] if code == 0 and there else [f"{' '.join(words)} {option} {given} does not write {path}:\n{text}"]


def table(docs):
    rows = []
    for line in (docs / "reference" / "options.md").read_text().splitlines():
        elements = [element.strip().strip("`") for element in line.strip("|").split("|")]
        if line.startswith("| `") and len(elements) == 7:
            rows.append((elements[0], elements[1], dict(zip(KINDS, elements[2:]))))
    return rows


def main():
    kawara, docs = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
    rows, complaints = table(docs), []
    for command in COMMANDS:
        text = subprocess.run([kawara, command, "--help"], capture_output=True, text=True, check=True).stdout
        offered = set(re.findall(r"^  (?:-[a-z],)?(--[a-z-]+)", text, re.M)) - {"--help"}
        listed = {option for name, option, _ in rows if name == command}
        complaints += [f"{command} {option} is not in the table" for option in sorted(offered - listed)]
        complaints += [f"{command} {option} is in the table and is no option" for option in sorted(listed - offered)]
    with tempfile.TemporaryDirectory() as folder:
        walk = Walk(kawara, folder)
        for command, option, kinds in rows:
            for kind, word in kinds.items():
                if word in ("no", "–"):
                    complaints += walk.refused(command, option, kind)
                elif word == "yes" and not kind.startswith("gpu"):
                    complaints += walk.works(command, option, kind)
    print("\n".join(complaints))
    print(f"{len(rows)} options, {len(complaints)} complaints; only refused, not probed: {', '.join(walk.unprobed)}")
    return 1 if complaints or len(rows) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
