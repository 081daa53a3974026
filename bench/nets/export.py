#!/usr/bin/env python3
"""Exports nets of torchvision and transformers as ONNX files, several at once.

    bench/nets/export.py -o FOLDER [--only vit,swin] [--batch 1] [--jobs 12] [--seconds 200] [--repeat-weights]

Needs PyTorch with torchvision, transformers and onnxscript. Every net is exported by torch.onnx with dynamo, as its users do. Beside NAME.onnx
lie NAME.in0.npy … and NAME.out.npy, the inputs and PyTorch's result in f32. --repeat-weights writes each weight as repetitions of its
first 1,021 elements, in the net and in the file: the file then compresses to almost nothing. Prints what was exported and why others were not.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]
import zoo

PERIOD = 1021


def file_name(net):
    return net.replace("/", "-")


def repeat_weights(module):
    import torch

    with torch.no_grad():
        for value in [*module.parameters(), *module.buffers()]:
            flat = value.data.reshape(-1)
            if value.is_floating_point() and flat.numel() > PERIOD:
                value.data.copy_(flat[:PERIOD].repeat(flat.numel() // PERIOD + 1)[:flat.numel()].reshape(value.shape))


def export(net, batch, folder, repeats):
    """Writes the files of one net."""
    import numpy
    import torch

    torch.set_num_threads(1)
    module, inputs = zoo.make(net, batch)
    if repeats:
        repeat_weights(module)
    path = folder / f"{file_name(net)}.onnx"
    with torch.no_grad():
        torch.onnx.export(module, inputs, str(path), dynamo=True, external_data=False, verbose=False)
        result = module(*inputs)
    for at, value in enumerate(inputs):
        numpy.save(folder / f"{file_name(net)}.in{at}.npy", value.numpy())
    numpy.save(folder / f"{file_name(net)}.out.npy", result.numpy())


def run_one(net, options):
    begin = time.time()
    command = [sys.executable, __file__, "-o", options.output, "--one", net, "--batch", str(options.batch)]
    if options.repeat_weights:
        command.append("--repeat-weights")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.seconds, env=os.environ | {"OMP_NUM_THREADS": "1"})
    except subprocess.TimeoutExpired:
        return net, f"not done after {options.seconds} s", time.time() - begin
    last = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return net, None if done.returncode == 0 else last[:200], time.time() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, help="folder for the files")
    parser.add_argument("--only", default="", help="nets whose name contains one of these words")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=200, help="for one net")
    parser.add_argument("--repeat-weights", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    if options.one:
        export(options.one, options.batch, folder, options.repeat_weights)
        return 0
    words = [word for word in options.only.split(",") if word]
    nets = [net for net in zoo.names() if not words or any(word in net for word in words)]
    if not nets:
        print(f"no net has one of these words in its name: {options.only}", file=sys.stderr)
        return 2
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for net, why, seconds in pool.map(lambda net: run_one(net, options), nets):
            failed += why is not None
            print(f"{net}: {why or 'exported'} ({seconds:.0f} s)", flush=True)
    print(f"{len(nets) - failed} of {len(nets)} exported")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
