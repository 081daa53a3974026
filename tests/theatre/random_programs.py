"""Random programs and caches, the same for the same seed."""

import random

TYPES = {"f32": 4, "f64": 8, "i8": 1}


def index(rng, loops, extent):
    """An index of an array that stays inside `extent`, and its text."""
    name, length = rng.choice(loops)
    kind = rng.randrange(5)
    if kind == 0:
        return f"{length - 1} - {name}"
    if kind == 1:
        return f"min({name} + {rng.randrange(3)}, {extent - 1})"
    if kind == 2:
        return f"{name} // {rng.choice([2, 3])}"
    return name


def program(seed):
    """The text of a program of one or two nests, sizes in it."""
    rng = random.Random(seed)
    lines, arrays = [], []
    for name in "ABCD"[: rng.randrange(2, 5)]:
        shape = [rng.choice([6, 8, 12, 16]) for _ in range(rng.choice([1, 2, 2, 3]))]
        arrays.append((name, shape))
        lines.append(f"inout {name}: {rng.choice(['f32', 'f32', 'f64', 'f64'])}[{', '.join(map(str, shape))}]")
    for nest in range(rng.randrange(1, 3)):
        loops = []
        for depth in range(rng.randrange(1, 4)):
            name, length = f"{'ijk'[depth]}{nest}", rng.choice([3, 4, 6])
            lo = rng.choice(["0", "0", "1", loops[-1][0] if loops and loops[-1][1] <= length else "0"])
            lines.append(f"{'    ' * depth}for {name} in range({lo}, {length}):")
            loops.append((name, length))
        for _ in range(rng.randrange(1, 3)):
            def element():
                name, shape = rng.choice(arrays)
                return f"{name}[{', '.join(index(rng, loops, extent) for extent in shape)}]"
            value = " + ".join(element() for _ in range(rng.randrange(1, 4)))
            if rng.randrange(4) == 0:
                value = f"{element()} if {loops[0][0]} < {rng.randrange(1, 4)} else {value}"
            name, shape = rng.choice(arrays)
            target = f"{name}[{', '.join(index(rng, loops, extent) for extent in shape)}]"
            lines.append(f"{'    ' * len(loops)}{target} {rng.choice(['=', '+='])} {value}")
    return "\n".join(lines) + "\n"


def caches(seed):
    """One to three caches, nearest first."""
    rng = random.Random(seed)
    made, line, lines = [], rng.choice([8, 16, 32, 64]), rng.choice([2, 4, 8])
    for k in range(rng.randrange(1, 4)):
        policy = rng.choice(["lru", "lru", "plru", "fifo"])
        ways = rng.choice([w for w in (1, 2, 3, 4, 8) if lines % w == 0 and not (policy == "plru" and w == 3)] + [lines])
        d = {"name": f"L{k + 1}", "bytes": lines * line, "line_bytes": line, "ways": ways, "policy": policy}
        d["allocates"], d["writes_back"] = rng.randrange(5) > 0, rng.randrange(5) > 0
        made.append(d)
        line *= rng.choice([1, 1, 2])
        lines *= rng.choice([2, 3, 4]) if policy != "plru" else 2
    for d in made:
        count = d["bytes"] // d["line_bytes"]
        if d["policy"] == "plru" and (d["ways"] & (d["ways"] - 1)):
            d["policy"] = "lru"
        assert count % d["ways"] == 0
    return made


def level_text(d):
    return f"{d['bytes']},{d['line_bytes']},{d['ways']},{d['policy']}" + ("" if d["writes_back"] else ",through") + ("" if d["allocates"] else ",around")
