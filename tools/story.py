"""Stories: commands with the text they must print, in a `.kwt` file or in a lesson (`.md`).

The form is described in tests/README.md.
"""

import base64
import dataclasses
import difflib
import pathlib
import re

FILE = re.compile(r"--- (?P<name>[\w./-]+)(?: from (?P<origin>[\w./-]+)| in (?P<form>base64))?$")
FENCE = re.compile(r"```(?P<kind>[\w-]*)[ \t]*(?P<name>[\w./-]*)$")
REQUIRES = re.compile(r"(?:# |<!-- )requires: (?P<what>[\w-]+)")
MEASURED = "# measured"
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
# What differs from run to run or from machine to machine, and what stands for it in a measured story.
FIGURES = [(re.compile(pattern), shown) for pattern, shown in [
    (r"\d+ samples? of \d+ calls?", "<n> samples of <n> calls"),
    (rf"(^|(?:after|in|to|:|instead of) ){NUMBER} (?:ns|us|ms|s)\b", r"\1<time>"),
    (rf"^ *{NUMBER}% +{NUMBER}(?: +{NUMBER} +{NUMBER})? +", "<share> <time>  "),
    (rf"{NUMBER} [TGMk]?(?:FLOP|OP|B)/s", "<rate>"),
    (rf"{NUMBER} %", "<share>"),
    (rf"{NUMBER} [TGM]B are free", "<size> are free"),
    (r"\(LLVM [\d.]+, \w+\)", "(LLVM <version>, <machine>)"),
    (rf"kwx: {NUMBER} (?:[GM]B|bytes)", "kwx: <size>"),
    (rf"(difference|allowed|norm|explains) {NUMBER}", r"\1 <small>"),
    (rf'("(?:\w+_ms|g\w*ops|spread|\w+_gops|\w*gbytes_per_s|share|samples)": ){NUMBER}', r"\1<n>"),
    (r"tried \d+ candidates?", "tried <n> candidates"),
    (rf"{NUMBER} a second.*", "<n> a second, <refusals>"),
    (r"put \d+ of \d+ pairs", "put <n> of <n> pairs"),
    (rf"{NUMBER}x faster", "<ratio> faster"),
]]
SUMMARY = re.compile(rf"\b(min|max|mean) ({NUMBER})")


class Malformed(Exception):
    """The file is not a story; the text says where and why."""


@dataclasses.dataclass
class Step:
    """Commands and what they print together. `begin` and `end` delimit the lines of `expected`."""
    commands: list
    expected: list
    begin: int
    end: int
    has_rule: bool = True  # False where the `-----` is still to be written


@dataclasses.dataclass
class Story:
    lines: list
    inputs: dict = dataclasses.field(default_factory=dict)   # name -> text, or bytes
    origins: dict = dataclasses.field(default_factory=dict)  # name -> path in the repository
    steps: list = dataclasses.field(default_factory=list)
    requires: list = dataclasses.field(default_factory=list)

    def is_measured(self):
        """Its figures are compared by what they are, not by how large."""
        return MEASURED in self.lines

    def with_outputs(self, outputs):
        """Text of the story with the expected lines of each step replaced."""
        lines = list(self.lines)
        for step, output in reversed(list(zip(self.steps, outputs))):
            lines[step.begin:step.end] = output if step.has_rule else ["-----", *output]
        return "\n".join(lines) + "\n"


def without_blank_end(lines):
    kept = list(lines)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept


def add_input(story, header, body, number):
    if header["name"] in story.inputs or header["name"] in story.origins:
        raise Malformed(f"line {number}: input {header['name']} is given twice")
    if header["origin"]:
        story.origins[header["name"]] = header["origin"]
    elif header["form"]:
        story.inputs[header["name"]] = base64.b64decode("".join(body))
    else:
        story.inputs[header["name"]] = "".join(line + "\n" for line in without_blank_end(body))


def parse_kwt(text):
    """Inputs first, then steps: `$ ` lines, `-----`, expected lines up to the next `$ ` line."""
    story = Story(text.splitlines())
    lines, at, commands = story.lines, 0, []
    while at < len(lines):
        line = lines[at]
        header = FILE.match(line)
        if line.startswith("$ "):
            commands.append(line[2:])
            at += 1
        elif line == "-----":
            if not commands:
                raise Malformed(f"line {at + 1}: `-----` without a `$ kawara` line before it")
            begin = at = at + 1
            while at < len(lines) and not lines[at].startswith("$ "):
                at += 1
            expected = without_blank_end(lines[begin:at])
            story.steps.append(Step(commands, expected, begin, begin + len(expected)))
            commands = []
        elif header and not story.steps:
            begin = at = at + 1
            while at < len(lines) and not ends_input(lines[at]):
                at += 1
            add_input(story, header, lines[begin:at], begin)
        elif line.startswith("#") or not line.strip():
            required = REQUIRES.match(line)
            story.requires += [required["what"]] if required else []
            at += 1
        else:
            raise Malformed(f"line {at + 1}: expected `# comment`, `--- file`, `$ command` or `-----`")
    if commands:
        story.steps.append(Step(commands, [], len(lines), len(lines), has_rule=False))
    return story


def ends_input(line):
    return line.startswith("$ ") or line == "-----" or FILE.match(line) is not None


def parse_lesson(text):
    """Fenced blocks: ```kw NAME is an input, ```console holds steps; the rest is prose."""
    story = Story(text.splitlines())
    lines, at = story.lines, 0
    while at < len(lines):
        required = REQUIRES.match(lines[at])
        story.requires += [required["what"]] if required else []
        fence = FENCE.match(lines[at])
        at += 1
        if not fence:
            continue
        begin = at
        while at < len(lines) and lines[at] != "```":
            at += 1
        if at == len(lines):
            raise Malformed(f"line {begin}: this block is never closed")
        if fence["name"]:
            header = {"name": fence["name"], "origin": None, "form": None}
            add_input(story, header, lines[begin:at], begin)
        elif fence["kind"] == "console":
            add_console(story, begin, at)
        at += 1
    return story


def add_console(story, begin, end):
    starts = [k for k in range(begin, end) if story.lines[k].startswith("$ ")]
    for start, stop in zip(starts, [*starts[1:], end]):
        expected = without_blank_end(story.lines[start + 1:stop])
        step = Step([story.lines[start][2:]], expected, start + 1, start + 1 + len(expected))
        story.steps.append(step)


def parse(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return parse_lesson(text) if str(path).endswith(".md") else parse_kwt(text)


def without_figures(line):
    """Times, rates and sizes of this machine by name; sums that are rounded in another order elsewhere, with four digits."""
    for pattern, shown in FIGURES:
        line = pattern.sub(shown, line)
    return SUMMARY.sub(lambda match: f"{match[1]} {float(match[2]):.4g}", line)


def agrees(expected, actual):
    """Line by line; `...` alone on a line stands for any lines but an exit code, also none."""
    if "..." not in (line.strip() for line in expected):
        return expected == actual
    pattern = "".join("(?:(?!exit: ).*\n)*?" if line.strip() == "..." else re.escape(line) + "\n"
                      for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in actual)) is not None


def difference(name, expected, actual):
    return "\n".join(difflib.unified_diff(expected, actual, f"{name} (expected)",
                                          f"{name} (printed)", lineterm=""))
