#!/usr/bin/env python3
"""Races whole nets on a GPU against PyTorch on the same machine.

    bench/gpu/models.py --kawara build/tools/kawara [--only resnet50] [--compile]

Nets come from `kawara zoo` and run by `kawara bench --target cuda --type bf16`, checked against Kawara's results on
the processor (`kawara run --check`). PyTorch's nets are written out here with the same shapes and random weights,
in bf16; they run eagerly and, with --compile, through torch.compile. PyTorch's calls are replays of a CUDA graph, as
Kawara's are; both are timed with events, inputs on the device. Prints one line per net and a JSON list.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile
import time


def conv(torch, cin, cout, size, stride=1):
    return torch.nn.Conv2d(cin, cout, size, stride, size // 2)


def resnet50(torch, batch):
    """Batch normalisation is folded into the convolutions, as Kawara folds it."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, cin, mid, stride):
            super().__init__()
            self.a = conv(torch, cin, mid, 1)
            self.b = conv(torch, mid, mid, 3, stride)
            self.c = conv(torch, mid, 4 * mid, 1)
            self.short = conv(torch, cin, 4 * mid, 1, stride) if stride > 1 or cin != 4 * mid else None

        def forward(self, x):
            y = torch.relu(self.b(torch.relu(self.a(x))))
            return torch.relu(self.c(y) + (self.short(x) if self.short is not None else x))

    layers = [conv(torch, 3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    cin = 64
    for mid, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for n in range(count):
            layers.append(Block(cin, mid, stride if n == 0 else 1))
            cin = 4 * mid
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)]
    net = nn.Sequential(*layers).to(memory_format=torch.channels_last)
    image = torch.randn(batch, 3, 224, 224).to(memory_format=torch.channels_last)
    return net, [image]


def transformer(torch, batch, tokens, words, is_causal):
    nn = torch.nn
    functional = torch.nn.functional
    width, heads = 768, 12

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
            self.out, self.wide = nn.Linear(width, width), nn.Linear(width, 4 * width)
            self.narrow = nn.Linear(4 * width, width)
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

        def attend(self, x):
            q, k, v = (f(x).view(batch, tokens, heads, -1).transpose(1, 2) for f in self.qkv)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
            return self.out(y.transpose(1, 2).reshape(batch, tokens, width))

        def forward(self, x):
            if is_causal:
                x = x + self.attend(self.norms[0](x))
                return x + self.narrow(functional.gelu(self.wide(self.norms[1](x))))
            x = self.norms[0](x + self.attend(x))
            return self.norms[1](x + self.narrow(functional.gelu(self.wide(x))))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(tokens, width)
            self.layers = nn.ModuleList(Layer() for _ in range(12))
            self.norm = nn.LayerNorm(width)
            self.register_buffer("order", torch.arange(tokens))

        def forward(self, ids):
            x = self.words(ids) + self.places(self.order)
            if not is_causal:
                x = self.norm(x)
            for layer in self.layers:
                x = layer(x)
            return self.norm(x) @ self.words.weight.t() if is_causal else x

    return Net(), [torch.randint(0, words, (batch, tokens))]


def net_of(torch, name, batch):
    if name == "resnet50":
        return resnet50(torch, batch)
    is_causal = name.startswith("gpt2")
    return transformer(torch, batch, 128, 50257 if is_causal else 30522, is_causal)


def replayed(torch, call):
    """A CUDA graph of the call."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def median_ms(torch, call, seconds=0.5):
    for _ in range(5):
        call()
    samples, spent = [], 0.0
    while spent < seconds or len(samples) < 11:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(10):
            call()
        end.record()
        end.synchronize()
        samples.append(begin.elapsed_time(end) / 10)
        spent += begin.elapsed_time(end) / 1e3
    return sorted(samples)[len(samples) // 2]


def race_torch(torch, name, batch, mode):
    net, inputs = net_of(torch, name, batch)
    net = net.eval().cuda().to(torch.bfloat16)
    inputs = [x.cuda().to(torch.bfloat16) if x.is_floating_point() else x.cuda() for x in inputs]
    out = {}
    with torch.no_grad():
        out["eager_ms"] = median_ms(torch, replayed(torch, lambda: net(*inputs)))
        if mode:
            begin = time.time()
            # Graphs are made here, for both sides in the same way.
            mode = "max-autotune-no-cudagraphs" if mode == "max-autotune" else mode
            fast = torch.compile(net, mode=mode, dynamic=False)
            fast(*inputs)
            torch.cuda.synchronize()
            out["compile_s"] = time.time() - begin
            out["compiled_ms"] = median_ms(torch, replayed(torch, lambda: fast(*inputs)))
    return out


def race_kawara(kawara, name, batch, folder, elem="bf16"):
    path = folder / f"{name}-{batch}.onnx"
    subprocess.run([kawara, "zoo", name, "--batch", str(batch), "-o", str(path)], check=True,
                   stdout=subprocess.DEVNULL)
    done = subprocess.run([kawara, "run", str(path), "--target", "cuda", "--type", elem,
                           "--check", "--time", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        return {"error": (done.stdout + done.stderr).strip()}
    return json.loads(done.stdout)


def line_of(name, batch, ours, theirs):
    if "error" in ours:
        return f"{name} batch {batch}: {ours['error']}"
    text = f"{name} batch {batch}: {ours['device_ms']:.3f} ms, off by {ours['check']['norm']:.1e}"
    for what, key in (("eager", "eager_ms"), ("torch.compile", "compiled_ms")):
        if key in theirs:
            text += f"; {what} {theirs[key]:.3f} ms ({theirs[key] / ours['device_ms']:.2f}x)"
    if "compile_s" in theirs:
        text += (f" after {theirs['compile_s']:.1f} s; here {ours['compile_ms'] / 1e3:.1f} s "
                 f"({ours['from_cache']} kernels kept), first result after "
                 f"{ours['first_result_ms'] / 1e3:.1f} s")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kawara", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--batches", default="1")
    parser.add_argument("--type", default="bf16")
    parser.add_argument("--compile", nargs="?", const="max-autotune", metavar="MODE",
                        help="race torch.compile, too, in this mode (max-autotune)")
    parser.add_argument("--write", help="file for the JSON list")
    options = parser.parse_args()
    import torch

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("resnet50", "bert-base", "gpt2-prefill"):
            if options.only not in name:
                continue
            for batch in map(int, options.batches.split(",")):
                ours = race_kawara(options.kawara, name, batch, pathlib.Path(folder), options.type)
                theirs = race_torch(torch, name, batch, options.compile)
                rows.append({"net": name, "batch": batch, "kawara": ours, "torch": theirs})
                print(line_of(name, batch, ours, theirs), flush=True)
    if options.write:
        pathlib.Path(options.write).write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
