#!/usr/bin/env python3
"""Races default schedules for a GPU against PyTorch on the same machine.

    bench/gpu/race.py --kawara build/tools/kawara [--only gemm] [--texts FOLDER]

Every kernel is made by `kawara show --stage cuda`, compiled by nvcc and called through ctypes on
tensors of PyTorch. Inputs are fresh random numbers, outputs are filled with NaN before the call, and the
result is compared with PyTorch in double precision. Times are medians of event-timed batches, Kawara and
PyTorch in turns. --write FOLDER only makes the texts (no GPU is needed); --texts FOLDER uses them.
"""

import argparse
import concurrent.futures
import ctypes
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAMS = {
    "add_relu": "input A: T[M, N], B: T[M, N]\noutput C: T[M, N]\nC[i, j] = max(A[i, j] + B[i, j], 0)\n",
    "bias_gelu": "input X: T[M, N], b: T[N]\noutput Y: T[M, N]\nY[i, j] = gelu(X[i, j] + b[j])\n",
    "transpose": "input A: T[M, N]\noutput B: T[N, M]\nB[j, i] = A[i, j]\n",
    "sum_rows": "input X: T[M, N]\noutput s: f32[M]\ns[i] = sum(j, f32(X[i, j]))\n",
    "softmax": "input X: T[M, N]\noutput Y: T[M, N]\ntemp m: f32[M], s: f32[M]\nassume N >= 1\n"
               "m[i] = max(j, f32(X[i, j]))\ns[i] = sum(j, exp(X[i, j] - m[i]))\n"
               "Y[i, j] = exp(X[i, j] - m[i]) / s[i]\n",
    "layer_norm": "input X: T[M, N], g: T[N], b: T[N]\noutput Y: T[M, N]\n"
                  "temp mean: f32[M], var: f32[M]\nassume N >= 1\n"
                  "mean[i] = sum(j, f32(X[i, j])) / N\n"
                  "var[i] = sum(j, (X[i, j] - mean[i]) * (X[i, j] - mean[i])) / N\n"
                  "Y[i, j] = (X[i, j] - mean[i]) / sqrt(var[i] + 0.00001) * g[j] + b[j]\n",
    "rms_norm": "input X: T[M, N], g: T[N]\noutput Y: T[M, N]\ntemp square: f32[M]\nassume N >= 1\n"
                "square[i] = sum(j, X[i, j] * X[i, j]) / N\n"
                "Y[i, j] = X[i, j] / sqrt(square[i] + 0.00001) * g[j]\n",
    "add_layer_norm": "input X: T[M, N], R: T[M, N], g: T[N], b: T[N]\noutput Y: T[M, N]\n"
                      "temp H: T[M, N], mean: f32[M], var: f32[M]\nassume N >= 1\n"
                      "H[i, j] = X[i, j] + R[i, j]\n"
                      "mean[i] = sum(j, f32(H[i, j])) / N\n"
                      "var[i] = sum(j, (H[i, j] - mean[i]) * (H[i, j] - mean[i])) / N\n"
                      "Y[i, j] = (H[i, j] - mean[i]) / sqrt(var[i] + 0.00001) * g[j] + b[j]\n",
    "gemm": "input A: T[M, K], B: T[K, N]\noutput C: T[M, N]\ntemp acc: f32[M, N]\n"
            "acc[i, j] = sum(k, f32(A[i, k]) * f32(B[k, j]))\nC[i, j] = acc[i, j]\n",
    "gemm_relu": "input A: T[M, K], B: T[K, N]\noutput C: T[M, N]\ntemp acc: f32[M, N]\n"
                 "acc[i, j] = sum(k, f32(A[i, k]) * f32(B[k, j]))\nC[i, j] = max(acc[i, j], 0)\n",
    "gemm_nt": "input A: T[M, K], B: T[N, K]\noutput C: T[M, N]\ntemp acc: f32[M, N]\n"
               "acc[i, j] = sum(k, f32(A[i, k]) * f32(B[j, k]))\nC[i, j] = acc[i, j]\n",
    "gemm_tn": "input A: T[K, M], B: T[K, N]\noutput C: T[M, N]\ntemp acc: f32[M, N]\n"
               "acc[i, j] = sum(k, f32(A[k, i]) * f32(B[k, j]))\nC[i, j] = acc[i, j]\n",
    "gemm_tt": "input A: T[K, M], B: T[N, K]\noutput C: T[M, N]\ntemp acc: f32[M, N]\n"
               "acc[i, j] = sum(k, f32(A[k, i]) * f32(B[j, k]))\nC[i, j] = acc[i, j]\n",
    "gemm_bias_gelu": "input A: T[M, K], B: T[N, K], b: T[N]\noutput C: T[M, N]\n"
                      "temp acc: f32[M, N]\nacc[i, j] = sum(k, f32(A[i, k]) * f32(B[j, k]))\n"
                      "C[i, j] = gelu(acc[i, j] + b[j])\n",
    "gemm_residual": "input A: T[M, K], B: T[N, K], R: T[M, N]\noutput C: T[M, N]\n"
                     "temp acc: f32[M, N]\nacc[i, j] = sum(k, f32(A[i, k]) * f32(B[j, k]))\n"
                     "C[i, j] = acc[i, j] + R[i, j]\n",
    "gemm_f32out": "input A: T[M, K], B: T[K, N]\noutput C: f32[M, N]\n"
                   "C[i, j] = sum(k, f32(A[i, k]) * f32(B[k, j]))\n",
    "gemm_batched": "input A: T[32, M, K], B: T[32, K, N]\noutput C: T[32, M, N]\n"
                    "temp acc: f32[32, M, N]\n"
                    "acc[h, i, j] = sum(k, f32(A[h, i, k]) * f32(B[h, k, j]))\n"
                    "C[h, i, j] = acc[h, i, j]\n",
}
# The peer's products of f32 may take tf32 too, for these alone.
PROGRAMS["gemm_tf32"] = "numerics fast\n" + PROGRAMS["gemm"]
PROGRAMS["gemm_nt_tf32"] = "numerics fast\n" + PROGRAMS["gemm_nt"]
# Elements of one byte, results wider.
PROGRAMS["gemm_bytes"] = "numerics fast\n" + PROGRAMS["gemm"].replace("C: T", "C: bf16")
PROGRAMS["gemm_nt_bytes"] = "numerics fast\n" + PROGRAMS["gemm_nt"].replace("C: T", "C: bf16")
PROGRAMS["gemm_nt_i8"] = ("input A: i8[M, K], B: i8[N, K]\noutput C: i32[M, N]\n"
                          "C[i, j] = sum(k, i32(A[i, k]) * i32(B[j, k]))\n")
ATTENTION = """numerics fast
output out: T[H, N, D]
temp scores: f32[H, N, N], weights: f32[H, N, N], P: T[H, N, N]
temp best: f32[H, N], total: f32[H, N], acc: f32[H, N, D]
for h in range(H):
    for i in range(N):
        for j in range(END):
            scores[h, i, j] = 0
            for d in range(D):
                scores[h, i, j] += f32(Q[h, i, d]) * f32(K[h, j, d])
        best[h, i] = -inf
        for j in range(END):
            best[h, i] max= scores[h, i, j]
        for j in range(END):
            weights[h, i, j] = exp((scores[h, i, j] - best[h, i]) * SCALE)
            P[h, i, j] = weights[h, i, j]
        total[h, i] = 0
        for j in range(END):
            total[h, i] += weights[h, i, j]
        for d in range(D):
            acc[h, i, d] = 0
            for j in range(END):
                acc[h, i, d] += f32(P[h, i, j]) * f32(V[h, j, d])
            out[h, i, d] = acc[h, i, d] / total[h, i]
"""
THREE = "input Q: T[H, N, D], K: T[H, N, D], V: T[H, N, D]\n"
PROGRAMS["attention"] = THREE + ATTENTION.replace("END", "N")
PROGRAMS["attention_causal"] = THREE + ATTENTION.replace("END", "i + 1")
# Four heads of queries share the keys and values of one.
PROGRAMS["attention_grouped"] = (
    "input Q: T[G, 4, N, D], K: T[G, N, D], V: T[G, N, D]\n"
    "output out: T[G, 4, N, D]\nnumerics fast\n"
    "temp scores: f32[G, 4, N, N], weights: f32[G, 4, N, N], P: T[G, 4, N, N]\n"
    "temp total: f32[G, 4, N], acc: f32[G, 4, N, D]\nassume N >= 1\n"
    "scores[g, r, i, j] = sum(d, f32(Q[g, r, i, d]) * f32(K[g, j, d]))\n"
    "weights[g, r, i, j] = exp((scores[g, r, i, j] - max(k, scores[g, r, i, k])) * SCALE)\n"
    "P[g, r, i, j] = weights[g, r, i, j]\ntotal[g, r, i] = sum(j, weights[g, r, i, j])\n"
    "acc[g, r, i, d] = sum(j, f32(P[g, r, i, j]) * f32(V[g, j, d]))\n"
    "out[g, r, i, d] = acc[g, r, i, d] / total[g, r, i]\n")
# The same in batches, rows in front of heads, as linear layers leave them.
PROGRAMS["attention_batched"] = (
    "input Q: T[B, N, G, 4, D], K: T[B, N, G, D], V: T[B, N, G, D]\n"
    "output out: T[B, N, G, 4, D]\nnumerics fast\n"
    "temp scores: f32[B, G, 4, N, N], weights: f32[B, G, 4, N, N], P: T[B, G, 4, N, N]\n"
    "temp total: f32[B, G, 4, N], acc: f32[B, G, 4, N, D]\nassume N >= 1\n"
    "scores[b, g, r, i, j] = sum(d, f32(Q[b, i, g, r, d]) * f32(K[b, j, g, d]))\n"
    "weights[b, g, r, i, j] = exp((scores[b, g, r, i, j] - max(k, scores[b, g, r, i, k])) * SCALE)\n"
    "P[b, g, r, i, j] = weights[b, g, r, i, j]\ntotal[b, g, r, i] = sum(j, weights[b, g, r, i, j])\n"
    "acc[b, g, r, i, d] = sum(j, f32(P[b, g, r, i, j]) * f32(V[b, j, g, d]))\n"
    "out[b, i, g, r, d] = acc[b, g, r, i, d] / total[b, g, r, i]\n")
TORCH = {
    "add_relu": "torch.relu(A + B)",
    "bias_gelu": "F.gelu(X + b)",
    "transpose": "A.t().contiguous()",
    "sum_rows": "X.sum(1, dtype=s.dtype)",
    "softmax": "torch.softmax(X, 1)",
    "layer_norm": "F.layer_norm(X, (X.shape[1],), g, b, 1e-5)",
    "rms_norm": "F.rms_norm(X, (X.shape[1],), g, 1e-5)",
    "add_layer_norm": "F.layer_norm(X + R, (X.shape[1],), g, b, 1e-5)",
    "gemm": "A @ B",
    "gemm_relu": "torch.relu(A @ B)",
    "gemm_nt": "A @ B.t()",
    "gemm_tn": "A.t() @ B",
    "gemm_tt": "A.t() @ B.t()",
    "gemm_bias_gelu": "F.gelu(F.linear(A, B, b))",
    "gemm_residual": "torch.addmm(R, A, B.t())",
    "gemm_f32out": "(A @ B).to(C.dtype)",
    "gemm_batched": "A @ B",
    "gemm_tf32": "A @ B",
    "gemm_nt_tf32": "A @ B.t()",
    "gemm_bytes": "scaled(A, B.t().contiguous().t())",
    "gemm_nt_bytes": "scaled(A, B.t())",
    "gemm_nt_i8": "whole(A, B.t())",
    "attention": "attend(Q, K, V, False)",
    "attention_causal": "attend(Q, K, V, True)",
    "attention_grouped": "attend(Q, K, V, False)",
    "attention_batched": "attend_batches(Q, K, V)",
}
CALLS_OF_GRAPH = 10
BYTES = {"f32": 4, "bf16": 2, "f16": 2, "f8e4m3": 1, "f8e5m2": 1}
ROWS = [(8192, 8192), (32768, 1024), (4096, 768), (1000, 1003)]
PRODUCTS = [(8192, 8192, 8192), (4096, 4096, 4096), (2048, 2048, 2048), (1024, 1024, 1024),
            (512, 512, 512), (4096, 3072, 768), (4096, 768, 3072), (8192, 14336, 4096),
            (8192, 4096, 4096), (4096, 768, 768), (1536, 1536, 1536), (3072, 768, 768),
            (1000, 1000, 776), (1000, 1001, 777)]
# Few rows: what a language model computes word by word, and in small batches.
SKINNY = [(1, 4096, 4096), (1, 14336, 4096), (1, 4096, 14336), (4, 4096, 4096), (16, 4096, 4096),
          (16, 4096, 14336), (64, 4096, 4096), (64, 14336, 4096), (128, 768, 768),
          (128, 3072, 768), (1, 1000, 2048), (3, 1001, 777)]
HEADS = [(64, 4096, 128), (32, 8192, 128), (16, 16384, 128), (256, 1024, 128), (512, 512, 128),
         (64, 1000, 128), (64, 4096, 64), (256, 1024, 64)]
VARIANTS = [(4096, 4096, 4096), (2048, 2048, 2048), (1000, 1000, 776)]  # transposed, with more at the end


def cases():
    for elem in ("f32", "bf16", "f16", "f8e4m3", "f8e5m2", "i8"):
        for kind in PROGRAMS:
            is_product = kind.startswith("gemm")
            if (BYTES.get(elem, 0) == 1) != kind.endswith("bytes") or (elem == "i8") != kind.endswith("i8"):
                continue
            if kind.startswith("attention"):
                if elem == "bf16":
                    yield from attentions(kind, elem)
                continue
            if elem == "f16" and kind != "gemm" or elem != "f32" and kind.endswith("tf32"):
                continue
            if elem == "f32" and kind.startswith("gemm_") and not re.search("nt|tf32", kind):
                continue
            shapes = PRODUCTS if kind == "gemm" else VARIANTS if is_product else ROWS
            if kind in ("gemm", "gemm_nt"):
                shapes = shapes + SKINNY
            if kind.endswith("bytes") or elem == "i8":
                shapes = PRODUCTS[:4] + [(4096, 3072, 768)]
            if kind == "gemm_batched":
                shapes = [(1024, 1024, 128), (512, 128, 512), (200, 136, 72)]
            for sizes in shapes:
                names = ("M", "N", "K")[:len(sizes)]
                yield {"kind": kind, "elem": elem, "sizes": dict(zip(names, sizes)),
                       "name": f"{kind}_{elem}_" + "_".join(map(str, sizes))}


def attentions(kind, elem):
    if kind == "attention_batched":
        every = [{"B": 16, "N": 1024, "G": 4, "D": 128}]
    elif kind == "attention_grouped":
        every = [{"G": 16, "N": 4096, "D": 128}]
    else:
        every = [dict(zip("HND", sizes)) for sizes in HEADS]
    for sizes in every:
        yield {"kind": kind, "elem": elem, "sizes": sizes, "name": f"{kind}_{elem}_" + "_".join(map(str, sizes.values()))}


def tensors_of(case):
    """[(name, element type, shape, is output)] in the order of the program's arguments."""
    found = []
    for line in program_of(case).splitlines():
        role, _, rest = line.partition(" ")
        if role not in ("input", "output"):
            continue
        for item in rest.replace("], ", "]\n").splitlines():
            name, _, kind = item.partition(": ")
            elem, _, shape = kind.rstrip("]").partition("[")
            extents = [int(s) if s.isdigit() else case["sizes"][s] for s in shape.split(", ")]
            found.append((name, elem, extents, role == "output"))
    return found


def program_of(case):
    params = ", ".join(case["sizes"])
    text = f"param {params}\n" + PROGRAMS[case["kind"]]
    if "D" in case["sizes"]:
        text = text.replace("SCALE", repr(case["sizes"]["D"]**-0.5))
    return text.replace(": T[", f": {case['elem']}[")


def text_of(case, kawara, folder, schedule):
    program = folder / f"{case['name']}.kw"
    program.write_text(program_of(case))
    sizes = ",".join(f"{name}={value}" for name, value in case["sizes"].items())
    made = subprocess.run([kawara, "show", str(program), "-p", sizes, "-s", schedule, "--target",
                           "cuda:sm_90a", "--stage", "cuda"], capture_output=True, text=True)
    if made.returncode:
        raise RuntimeError(f"{case['name']}: {made.stderr}")
    (folder / f"{case['name']}.cu").write_text(made.stdout)


def compiled(case, folder):
    library = folder / f"{case['name']}.so"
    made = subprocess.run(["nvcc", "-O3", "-std=c++17", "-gencode=arch=compute_90a,code=sm_90a",
                           "-shared", "-Xcompiler", "-fPIC", "-o", str(library),
                           str(folder / f"{case['name']}.cu")], capture_output=True, text=True)
    return library if made.returncode == 0 else made.stderr


class Race:
    def __init__(self, case, library, uses_graphs, compiles=False):
        import torch
        self.torch, self.case, self.uses_graphs = torch, case, uses_graphs
        types = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i8": torch.int8,
                 "f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2, "i32": torch.int32}
        self.given = {}
        for name, elem, shape, is_output in tensors_of(case):
            if elem in ("i8", "i32"):
                fresh = torch.randint(-128, 128, shape, device="cuda")
            elif is_output:
                fresh = torch.full(shape, math.nan, device="cuda")
            else:
                fresh = torch.randn(shape, device="cuda")
            self.given[name] = fresh.to(types[elem])
            if is_output:
                self.result = name
        functions = ctypes.CDLL(str(library))
        function = getattr(functions, case["name"])
        arguments = [ctypes.c_longlong(v) for v in case["sizes"].values()]
        if hasattr(functions, case["name"] + "_in"):
            room = getattr(functions, case["name"] + "_workspace")
            room.restype = ctypes.c_size_t
            self.workspace = torch.empty(room(*arguments), dtype=torch.uint8, device="cuda")
            function = getattr(functions, case["name"] + "_in")
        arguments += [ctypes.c_void_p(t.data_ptr()) for t in self.given.values()]
        if hasattr(self, "workspace"):
            arguments.append(ctypes.c_void_p(self.workspace.data_ptr()))
        self.kawara = lambda: function(*arguments,
                                       ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        torch.backends.cuda.matmul.allow_tf32 = case["kind"].endswith("tf32")
        code = compile(TORCH[case["kind"]], case["name"], "eval")
        self.one = torch.ones((), device="cuda")
        # cuBLAS multiplies f8e5m2 with f8e4m3 at most.
        theirs = {name: t.float().to(torch.float8_e4m3fn) if t.dtype == torch.float8_e5m2 else t
                  for name, t in self.given.items()}
        names = {"torch": torch, "F": torch.nn.functional, "attend": self.attend,
                 "scaled": self.scaled, "whole": self.whole, **theirs}
        self.peer = lambda: eval(code, names)
        self.code = code
        if compiles:
            torch._dynamo.reset()  # after eight functions it would leave the ninth as it is
            inputs = [name for name, _, _, is_output in tensors_of(case) if not is_output]
            own = {key: names[key] for key in ("torch", "F", "attend", self.result)}
            text = f"lambda {', '.join(inputs)}: {TORCH[case['kind']]}"
            fast = torch.compile(eval(text, own), mode="max-autotune-no-cudagraphs", dynamic=False)
            self.peer = lambda: fast(*(self.given[name] for name in inputs))

    def error(self):
        torch = self.torch
        status = self.kawara()
        torch.cuda.synchronize()
        wide = {name: t.float().double() for name, t in self.given.items()}
        wanted = eval(self.code, {"torch": torch, "F": torch.nn.functional, "attend": self.attend,
                                  "scaled": self.scaled, "whole": self.whole, **wide})
        got = self.given[self.result].double()
        distance = ((got - wanted).norm() / wanted.norm()).item()
        return distance if status == 0 else math.inf

    def scaled(self, a, b):
        """cuBLAS's product of 8-bit floats, with its faster sums."""
        if a.dtype == self.torch.float64:
            return a @ b
        return self.torch._scaled_mm(a, b, self.one, self.one, out_dtype=self.torch.bfloat16,
                                     use_fast_accum=True)

    def whole(self, a, b):
        return a @ b if a.dtype == self.torch.float64 else self.torch._int_mm(a, b)

    def attend_batches(self, q, k, v):
        """Rows in front of heads; PyTorch is given views of the same memory."""
        q, k, v = q.permute(0, 2, 3, 1, 4), k.transpose(1, 2), v.transpose(1, 2)
        if q.dtype == self.torch.float64:
            return self.torch.stack([self.attend(*one, False) for one in zip(q, k, v)]).permute(0, 3, 1, 2, 4)
        from torch.nn.attention import SDPBackend, sdpa_kernel
        with sdpa_kernel([SDPBackend.CUDNN_ATTENTION]):
            whole = self.torch.nn.functional.scaled_dot_product_attention(q.flatten(1, 2), k, v, enable_gqa=True)
        return whole.transpose(1, 2).reshape(q.permute(0, 3, 1, 2, 4).shape)

    def attend(self, q, k, v, is_causal):
        """cuDNN's kernel; in double precision, written out head by head."""
        torch = self.torch
        if q.dtype != torch.float64:
            from torch.nn.attention import SDPBackend, sdpa_kernel
            with sdpa_kernel([SDPBackend.CUDNN_ATTENTION]):
                if q.dim() == 3:
                    q, k, v = (t[None] for t in (q, k, v))
                    return torch.nn.functional.scaled_dot_product_attention(
                        q, k, v, is_causal=is_causal)[0]
                groups, each, positions, size = q.shape
                return torch.nn.functional.scaled_dot_product_attention(
                    q.reshape(1, groups * each, positions, size), k[None], v[None],
                    enable_gqa=True).reshape(q.shape)
        flat = q.reshape(-1, *q.shape[-2:])
        each = flat.shape[0] // k.shape[0]
        heads = []
        for h in range(flat.shape[0]):
            scores = flat[h] @ k[h // each].t() * flat.shape[-1]**-0.5
            if is_causal:
                scores.masked_fill_(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
            heads.append(torch.softmax(scores, 1) @ v[h // each])
        return torch.stack(heads).reshape(q.shape)

    def seconds(self, work, batch):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(batch):
            work()
        end.record()
        self.torch.cuda.synchronize()
        return begin.elapsed_time(end) / batch

    def replayed(self, work):
        """Ten calls as one graph: no time between launches is the host's."""
        side = self.torch.cuda.Stream()
        with self.torch.cuda.stream(side):
            for _ in range(3):
                work()
        self.torch.cuda.synchronize()
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            for _ in range(CALLS_OF_GRAPH):
                work()
        return graph.replay

    def times(self):
        works = [self.kawara, self.peer]
        calls = 1
        if self.uses_graphs:
            works = [self.replayed(work) for work in works]
            calls = CALLS_OF_GRAPH
        batches = []
        for work in works:
            self.seconds(work, 3)
            batches.append(max(3, min(200, int(20 / max(self.seconds(work, 1), 1e-3)))))
        rounds = [[self.seconds(w, b) / calls for w, b in zip(works, batches)] for _ in range(7)]
        return [sorted(column)[3] for column in zip(*rounds)]

    def line(self):
        distance = self.error()
        limit = 1e-5 if self.case["elem"] == "f32" else 1e-2
        if self.case["kind"].endswith("tf32"):
            limit = 1e-3
        own, peer = self.times()
        sizes = self.case["sizes"]
        if "D" in sizes:
            heads = math.prod(sizes.values()) // sizes["N"] * (4 if "G" in sizes else 1)
            work = 4 * heads * sizes["N"]**2 / (2 if "causal" in self.case["kind"] else 1)
            rate = f"{work / own * 1e-9:8.1f} TFLOP/s"
        elif "K" in sizes:
            batch = 32 if self.case["kind"] == "gemm_batched" else 1
            rate = f"{2 * batch * math.prod(sizes.values()) / own * 1e-9:8.1f} TFLOP/s"
        else:
            moved = sum(math.prod(shape) * BYTES[elem] for _, elem, shape, _ in
                        tensors_of(self.case))
            rate = f"{moved / own * 1e-9:8.2f} TB/s"
        is_right = distance < limit
        return is_right, peer / own, (f"{self.case['name']:34s} {'right' if is_right else 'WRONG'} "
                                      f"{distance:.1e} {own:9.4f} ms {rate}  {peer / own:6.2f}x")


def make_texts(chosen, kawara, folder, schedule="auto"):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda case: text_of(case, kawara, folder, schedule), chosen))


def races(chosen, folder, uses_graphs, compiles=False):
    """(case, is right, ratio or None, line) for each, from texts in the folder."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        libraries = list(pool.map(lambda case: compiled(case, folder), chosen))
    for case, library in zip(chosen, libraries):
        if isinstance(library, str):
            yield case, False, None, f"{case['name']}: nvcc says\n{library[:2000]}"
            continue
        yield case, *Race(case, library, uses_graphs, compiles).line()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kawara", default="build/tools/kawara")
    parser.add_argument("--only", default="", help="cases whose name has this regular expression")
    parser.add_argument("--write", help="only make the texts, in this folder")
    parser.add_argument("--texts", help="texts made before")
    parser.add_argument("--schedule", default="auto", help="directives for all cases")
    parser.add_argument("--graphs", action="store_true",
                        help="time replays of CUDA graphs, so that launching costs neither side")
    parser.add_argument("--compile", action="store_true",
                        help="the peer is what torch.compile (max-autotune) makes of the program")
    options = parser.parse_args()
    chosen = [case for case in cases() if re.search(options.only, case["name"])]
    folder = pathlib.Path(options.write or options.texts or tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    if not options.texts:
        make_texts(chosen, options.kawara, folder, options.schedule)
        (folder / "cases.json").write_text(json.dumps([case["name"] for case in chosen]))
    if options.write:
        return 0
    ratios, wrong = [], 0
    for _, is_right, ratio, line in races(chosen, folder, options.graphs, options.compile):
        wrong += not is_right
        ratios += [ratio] if ratio else []
        print(line, flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} races, geometric mean {mean:.2f}x PyTorch, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
