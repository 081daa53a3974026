"""Sizes of operands: three of each case, any from a seed."""

import math
import pathlib
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "sweep")]
import shapes

# Elements of the largest operand of what moves or maps; operations of what multiplies.
ELEMENTS = {"small": 2**12, "middle": 2**17, "large": 2**22}
OPERATIONS = {"small": 1e6, "middle": 3e7, "large": 6e8}


class Sizes:
    """Draws shapes of about a class's size."""

    def __init__(self, rng, size):
        self.rng, self.elements, self.operations = rng, ELEMENTS[size], OPERATIONS[size]

    def choice(self, some):
        return self.rng.choice(some)

    def between(self, low, high):
        return shapes.size(self.rng, low, high)

    def shape(self, rank=None, least=2):
        """So many dimensions (2 to 4 where none is said), whose product is about the class's elements: from half to twice as many."""
        rank = rank or self.rng.randint(2, 4)
        while True:
            cuts = sorted(self.rng.uniform(0, 1) for _ in range(rank - 1))
            shares = [b - a for a, b in zip([0, *cuts], [*cuts, 1])]
            found = [self.between(max(least, int(self.elements**s / 1.2)), max(least, int(self.elements**s * 1.2))) for s in shares]
            if self.elements / 2 <= math.prod(found) <= self.elements * 2:
                return found

    def row(self, rank=2):
        """The same with rows of 16 to 4096 elements."""
        while True:
            found = self.shape(rank)
            if 16 <= found[-1] <= 4096:
                return found

    def image(self, channels=None):
        """[images, channels, height, width] with 7 to 512 pixels a side."""
        while True:
            side = self.between(7, min(512, int((self.elements / 3) ** 0.5)))
            other = side if self.rng.random() < 0.5 else self.between(max(7, side // 2), min(512, side * 2))
            depth = channels or max(1, round(self.elements / side / other))
            if depth <= 1024 and self.elements / 2 <= depth * side * other <= self.elements * 2:
                return [1, depth, side, other]
