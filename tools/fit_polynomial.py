#!/usr/bin/env python3
"""Finds the coefficients of src/scalar/expand and of program/operators/inverse: near-minimax fits with f32 coefficients.

    tools/fit_polynomial.py exp        prints one table; see FITS for the names
    tools/fit_polynomial.py            prints all (a few minutes)

A fit is P(x) / Q(x) with the smallest largest relative error on an interval, found by Lawson's method:
weighted least squares on Chebyshev points, the weights multiplied by the error until it is level.
Coefficients are rounded to f32 one by one, and the others fitted again, so that they make up for the
rounding. Needs the Python package mpmath.
"""
import struct
import sys

from mpmath import acosh, asin, asinh, atan, atanh, cos, erf, erfc, exp, log, log1p, lu_solve, matrix, mp, mpf, pi, sin, sinh, sqrt, tan

mp.dps = 40


def f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def value(coefficients, kind, x):
    return sum(c * x**power for (k, power), c in coefficients.items() if k == kind)


def normal_equations(rows, weights, size):
    left, right = matrix(size, size), matrix(size, 1)
    for (row, target), weight in zip(rows, weights):
        for j in range(size):
            right[j] += weight * row[j] * target
            for k in range(size):
                left[j, k] += weight * row[j] * row[k]
    return lu_solve(left, right)


def fit(f, weight, interval, unknown, fixed, rounds=30):
    """Coefficients {("n" or "d", power): value} and the largest weighted error."""
    low, high = interval
    count = 12 * (len(unknown) + len(fixed))
    xs = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    fs, ws = [f(x) for x in xs], [weight(x) for x in xs]
    lawson, divisors, best = [mpf(1) / count] * count, [mpf(1)] * count, None
    for _ in range(rounds):
        rows = []
        for x, y, w, d in zip(xs, fs, ws, divisors):
            scale = w / d
            row = [scale * x**p * (1 if kind == "n" else -y) for kind, p in unknown]
            rows.append((row, scale * (y * value(fixed, "d", x) - value(fixed, "n", x))))
        solution = normal_equations(rows, lawson, len(unknown))
        found = {**fixed, **{key: solution[i] for i, key in enumerate(unknown)}}
        divisors = [value(found, "d", x) for x in xs]
        errors = [abs(w * (value(found, "n", x) / d - y)) for x, y, w, d in zip(xs, fs, ws, divisors)]
        if best is None or max(errors) < best[0]:
            best = (max(errors), found)
        total = sum(l * e for l, e in zip(lawson, errors))
        lawson = [l * e / total for l, e in zip(lawson, errors)]
    return best


def fit_in_f32(name, f, weight, interval, numerator, denominator=0, fixed=None):
    """`numerator` and `denominator` are degrees; the lowest powers are rounded first."""
    fixed = {("d", 0): mpf(1), **(fixed or {})}
    keys = [(k, p) for p in range(max(numerator, denominator) + 1) for k in "dn"
            if p <= (numerator if k == "n" else denominator)]
    left = [key for key in keys if key not in fixed]
    error = 0
    while left:
        error, found = fit(f, weight, interval, left, fixed)
        fixed[left[0]] = f32(found[left[0]])
        left = left[1:]
    print(f"{name}: largest error 2^{float(log(error, 2)):.1f}")
    for key in keys:
        print(f"  {'numerator' if key[0] == 'n' else 'denominator'} x^{key[1]}: {float(fixed[key]).hex()}")


def fit_exp():
    half = log(2) / 2 * mpf("1.0002")
    f = lambda x: (exp(x) - 1 - x) / x**2 if abs(x) > mpf("1e-9") else mpf(1) / 2 + x / 6
    fit_in_f32("(exp(r) - 1 - r) / r^2", f, lambda x: x * x / exp(x), (-half, half), 4)


def fit_short_exp():
    """For results of either side of one to be equally many units off: those below have half the unit."""
    half = log(2) / 2 * mpf("1.0002")
    f = lambda x: (exp(x) - 1) / x if abs(x) > mpf("1e-12") else mpf(1)
    fit_in_f32("(exp(r) - 1) / r, short", f, lambda x: abs(x) * (2 if x < 0 else 1), (-half, half), 4)


def fit_log():
    f = lambda g: (log1p(g) - g + g * g / 2) / g**3 if abs(g) > mpf("1e-6") else mpf(1) / 3 - g / 4
    ends = (sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1)
    fit_in_f32("(log(1 + g) - g + g^2/2) / g^3", f, lambda g: g**3 / log1p(g) if g else mpf(0), ends, 7)


def fit_erf():
    first = mpf("1.125")  # the denominator's; the slope then makes up for what is left at zero
    slope = f32(2 / sqrt(pi) - 1 / first)
    ratio = lambda s: erf(sqrt(s)) / sqrt(s) if s else 2 / sqrt(pi)
    print(f"slope: {float(slope).hex()}")
    fit_in_f32("erf(z) / z - slope, in z^2", lambda s: ratio(s) - slope, lambda s: 1 / ratio(s),
               (mpf(0), mpf("3.93") ** 2), 5, 5, {("d", 0): first, ("n", 0): mpf(1)})


def fit_tail():
    shift = mpf("1.5")
    middle = mpf(0x1554) / 2**14  # 0x1.554p-2, about the middle of 1 / (z + shift)

    def f(u):
        z = 1 / (u + middle) - shift
        return erfc(z / sqrt(mpf(2))) * exp(z * z / 2) * (z + shift) - 1

    fit_in_f32("2 Phi(-z) * exp(z^2/2) * (z + 1.5) - 1, in 1 / (z + 1.5) - 0x1.554p-2", f, lambda u: 1 / (1 + f(u)),
               (1 / (mpf("14.5") + shift) - middle, 1 / shift - middle), 11)


def fit_erf_parts():
    """Near zero, and the exponent of 1 - erf beyond."""
    near = mpf("0.927734375")
    ratio = lambda s: erf(sqrt(s)) / sqrt(s) if s else 2 / sqrt(pi)
    fit_in_f32("erf(x) / x - 1, in x^2", lambda s: ratio(s) - 1, lambda s: 1 / ratio(s), (mpf(0), near**2), 5)
    fit_in_f32("-log(1 - erf(t)) / t - 1", lambda t: -log(erfc(t)) / t - 1, lambda t: erfc(t) * t / erf(t), (near, mpf(4)), 6)


def fit_cubic(name, f, end, degree, first):
    """(f(x) - x) / x^3 in x^2, so that x + x^3 P(x^2) is near f(x); `first` is its value at 0."""
    part = lambda s: (f(sqrt(s)) - sqrt(s)) / sqrt(s) ** 3 if s > mpf("1e-12") else mpf(first)
    fit_in_f32(f"({name}(x) - x) / x^3, in x^2", part, lambda s: s ** mpf("1.5") / f(sqrt(s)) if s else mpf(0), (mpf(0), mpf(end) ** 2), degree)


def fit_sin():
    fit_cubic("sin", sin, pi / 4, 2, mpf(-1) / 6)
    part = lambda s: (cos(sqrt(s)) - 1 + s / 2) / s**2 if s > mpf("1e-9") else mpf(1) / 24
    fit_in_f32("(cos(r) - 1 + r^2/2) / r^4, in r^2", part, lambda s: s * s / cos(sqrt(s)), (mpf(0), (pi / 4) ** 2), 2)


def fit_inverse():
    fit_cubic("asin", asin, mpf("0.5"), 4, mpf(1) / 6)
    fit_cubic("atan", atan, tan(pi / 8), 4, mpf(-1) / 3)
    fit_cubic("sinh", sinh, mpf(1), 2, mpf(1) / 6)
    fit_cubic("asinh", asinh, mpf("0.5"), 5, mpf(-1) / 6)
    fit_cubic("atanh", atanh, mpf("0.5"), 5, mpf(1) / 3)
    ratio = lambda z: acosh(1 + z) / sqrt(z) if z else sqrt(mpf(2))
    fit_in_f32("acosh(1 + z) / sqrt(z)", ratio, lambda z: 1 / ratio(z), (mpf(0), mpf("0.5")), 4)


FITS = {"sin": fit_sin, "inverse": fit_inverse, "erf_parts": fit_erf_parts, "exp": fit_exp, "short_exp": fit_short_exp, "log": fit_log, "erf": fit_erf, "tail": fit_tail}

if __name__ == "__main__":
    for which in sys.argv[1:] or FITS:
        FITS[which]()
