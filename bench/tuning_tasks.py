"""Programs and sizes that bench/tuning.py tunes, by set."""

import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent

SOFTMAX = """param N, D
input x: f32[N, D]
output y: f32[N, D]
temp m: f32[N], s: f32[N]
m[i] = max(j, x[i, j])
s[i] = sum(j, exp(x[i, j] - m[i]))
y[i, j] = exp(x[i, j] - m[i]) / s[i]
"""
ROWSUM = """param N, D
input x: f32[N, D]
output y: f32[N]
y[i] = sum(j, x[i, j] * x[i, j])
"""
COLUMN_SUM = """param N, D
input x: f32[N, D]
output y: f32[D]
y[j] = sum(i, x[i, j])
"""
GEMV = """param M, K
input A: f32[M, K], x: f32[K]
output y: f32[M]
y[i] = sum(k, A[i, k] * x[k])
"""
TRANSPOSED = """param M, N, K
input A: f32[K, M], B: f32[N, K]
output C: f32[M, N]
C[i, j] = sum(k, A[k, i] * B[j, k])
"""
BATCHED = """param B, M, N, K
input A: f32[B, M, K], W: f32[B, K, N]
output C: f32[B, M, N]
C[b, i, j] = sum(k, A[b, i, k] * W[b, k, j])
"""
LAYERNORM = """param N, D
input x: f32[N, D], g: f32[D]
output y: f32[N, D]
temp m: f32[N], v: f32[N]
m[i] = sum(j, x[i, j]) / D
v[i] = sum(j, (x[i, j] - m[i]) * (x[i, j] - m[i])) / D
y[i, j] = (x[i, j] - m[i]) / sqrt(v[i] + 0.00001) * g[j]
"""

GEMM, CONV = "examples/gemm.kw", "examples/conv2d.kw"
JACOBI, TWO_MM = "examples/polybench/jacobi-2d.kw", "examples/polybench/2mm.kw"

# Prime sizes, skinny ones, tiny ones.
ODD = [
    ("gemm 97x101x103", GEMM, "M=97,N=101,K=103"),
    ("gemm 127x31x513", GEMM, "M=127,N=31,K=513"),
    ("gemm 7x509x503", GEMM, "M=7,N=509,K=503"),
    ("gemm 512x3x512", GEMM, "M=512,N=3,K=512"),
    ("gemm 31x31x31", GEMM, "M=31,N=31,K=31"),
    ("gemm 5x7x11", GEMM, "M=5,N=7,K=11"),
    ("gemm+relu 67x59x61", "examples/gemm_relu.kw", "M=67,N=59,K=61"),
    ("transposed gemm 61x67x71", TRANSPOSED, "M=61,N=67,K=71"),
    ("batched gemm 13 of 17x19x23", BATCHED, "B=13,M=17,N=19,K=23"),
    ("gemv 491x499", GEMV, "M=491,K=499"),
    ("gemv 3x4999", GEMV, "M=3,K=4999"),
    ("row sums 61x997", ROWSUM, "N=61,D=997"),
    ("column sums 997x61", COLUMN_SUM, "N=997,D=61"),
    ("softmax 64x200", SOFTMAX, "N=64,D=200"),
    ("softmax 1009x7", SOFTMAX, "N=1009,D=7"),
    ("layer norm 37x311", LAYERNORM, "N=37,D=311"),
    ("conv 13x17, 3 to 11 channels", CONV, "L=1,C=3,H=13,W=17,K=11,R=3,S=3"),
    ("conv 7x7, 37 to 41 channels", CONV, "L=1,C=37,H=7,W=7,K=41,R=3,S=3"),
    ("attention 53x29", "examples/attention.kw", "N=53,D=29"),
    ("jacobi-2d 89, 41 steps", JACOBI, "N=89,TSTEPS=41"),
]

NAMED = [
    ("GEMM 512", GEMM, "M=512,N=512,K=512"),
    ("conv 56x56, 64 to 64", CONV, "L=1,C=64,H=56,W=56,K=64,R=3,S=3"),
    ("softmax 512x1024", SOFTMAX, "N=512,D=1024"),
    ("attention 256x64", "examples/attention.kw", "N=256,D=64"),
    ("2mm 180x190x210x220", TWO_MM, "NI=180,NJ=190,NK=210,NL=220"),
    ("jacobi-2d 250, 100 steps", JACOBI, "N=250,TSTEPS=100"),
]

# For comparing strategies: small, so that a candidate takes little time.
COMPARED = [
    ("gemm 31x31x31", GEMM, "M=31,N=31,K=31"),
    ("gemm 512x3x512", GEMM, "M=512,N=3,K=512"),
    ("transposed gemm 61x67x71", TRANSPOSED, "M=61,N=67,K=71"),
    ("gemv 491x499", GEMV, "M=491,K=499"),
    ("column sums 997x61", COLUMN_SUM, "N=997,D=61"),
    ("softmax 1009x7", SOFTMAX, "N=1009,D=7"),
    ("layer norm 37x311", LAYERNORM, "N=37,D=311"),
    ("conv 13x17, 3 to 11 channels", CONV, "L=1,C=3,H=13,W=17,K=11,R=3,S=3"),
    ("jacobi-2d 89, 41 steps", JACOBI, "N=89,TSTEPS=41"),
    ("atax 116x124", "examples/polybench/atax.kw", "M=116,N=124"),
]


def polybench(size_set):
    sizes = json.loads((ROOT / "examples/polybench/sizes.json").read_text(encoding="utf-8"))
    return [(f"{kernel} {size_set}", f"examples/polybench/{kernel}.kw",
             ",".join(f"{name}={value}" for name, value in sets[size_set].items()))
            for kernel, sets in sorted(sizes.items())]


def tasks_of(set_name, size_set):
    if set_name == "polybench":
        return polybench(size_set)
    return {"odd": ODD, "named": NAMED, "compared": COMPARED}[set_name]
