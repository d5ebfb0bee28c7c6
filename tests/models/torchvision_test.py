#!/usr/bin/env python3
"""ResNets beside torchvision's: Locus loads weights that PyTorch saved and makes a training step; PyTorch loads the
result with strict=True. Compares logits, gradients, running statistics, counters and the new weights.

usage: torchvision_test.py        (needs torch, torchvision and safetensors; without them it only compiles the program)
"""

import copy
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import common  # noqa: E402

try:
    import torch
    import torch.nn.functional as F
    from safetensors.torch import load_file, save_file
    from torchvision.models import resnet
except ImportError as missing:
    torch = None
    why = f"needs torch, torchvision and safetensors ({missing})"

# Model, stem for small images, extent of a batch of four.
CASES = [("resnet18", False, 96), ("resnet18", True, 32), ("resnet34", False, 96), ("resnet50", False, 96)]
# Tolerances relative to the root mean square. A rounding error that flips the sign of a ReLU input changes gradients:
# in float, gradients of few images are compared with the error of PyTorch's own float. The logits of an evaluation are
# continuous in rounding errors.
ALLOWED = {"logits": 1e-4, "gradients": 1e-4, "state": 1e-4, "evaluation": 1e-4}
ALLOWED_OF_DOUBLE = 1e-10


def model_of(name, small):
    model = getattr(resnet, name)(num_classes=10 if small else 1000)
    if small:
        model.conv1 = torch.nn.Conv2d(3, 64, 3, padding=1, bias=False)
        torch.nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
        model.maxpool = torch.nn.Identity()
    return model


def step(model, images, labels):
    """The computation of one_step.cpp, and the state after it."""
    results = {"logits": model.eval()(images).detach()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    logits = model.train()(images)
    F.cross_entropy(logits, labels).backward()
    results["logits in training"] = logits.detach()
    results |= {"gradient " + name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    optimizer.step()
    results["logits after the step"] = model.eval()(images).detach()
    return results, model.state_dict()


def errors(given, expected):
    """The largest error of each kind: of logits and the state, relative to the root mean square of a tensor if above 1;
    of gradients, the norm of the difference relative to the norm."""
    largest = dict.fromkeys(ALLOWED, 0.0)
    for name, tensor in expected.items():
        kind = {"logits": "evaluation", "gradient": "gradients"}.get(name.partition(" ")[0], "state")
        kind = "logits" if name.startswith("logits ") else kind
        difference, size = given[name].double() - tensor, tensor.double().square().mean().sqrt().item()
        if kind == "gradients":
            error = difference.square().mean().sqrt().item() / size
        else:
            error = difference.abs().max().item() / max(1, size)
        largest[kind] = max(largest[kind], error)
    return largest


def of_locus(program, name, small, dtype, model, images, labels, env):
    """Locus's results, the state that it saved, and the error or None."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        save_file(copy.deepcopy(model).to(dtype).state_dict(), folder / "weights.safetensors")
        save_file({"images": images.to(dtype), "labels": labels}, folder / "batch.safetensors")
        element = "double" if dtype == torch.float64 else "float"
        status, output = common.run([program, name, folder, element, *(["small"] if small else [])], env=env)
        if status or output:
            return {}, {}, output or f"status {status}"
        return load_file(folder / "results.safetensors"), load_file(folder / "trained.safetensors"), None


def compare(report, program, name, small, extent):
    title = name + (", small images" if small else "")
    torch.manual_seed(27)
    model = model_of(name, small)
    images, labels = torch.randn(4, 3, extent, extent), torch.randint(0, model.fc.out_features, (4,))
    expected, state = step(copy.deepcopy(model).double(), images.double(), labels)
    own, own_state = step(copy.deepcopy(model), images, labels)
    of_torch = errors(own | own_state, expected | state)
    forms = [("double", torch.float64, {}), ("float, exact", torch.float32, {"LOCUS_WINOGRAD": "0"}), ("float", torch.float32, {})]
    for form, dtype, env in forms:
        results, trained, problem = of_locus(program, name, small, dtype, model, images, labels, env)
        if problem:
            report.fail(f"{title}, {form}", problem)
            continue
        loaded = model_of(name, small).to(dtype)
        loaded.load_state_dict(trained, strict=True)
        again = (loaded.eval()(images.to(dtype)) - results["logits after the step"]).abs().max().item()
        report.add(f"{title}, {form}: what PyTorch loaded gives the same logits", None if again < 1e-4 else f"off by {again:.2g}")
        report.add(f"{title}, {form}: counters", None if all(n == 1 for key, n in trained.items() if key.endswith("tracked")) else "not 1")
        off = errors(results | trained, expected | state)
        print(f"{title + ', ' + form:38}" + "".join(f"  {kind} {error:.1e}" for kind, error in off.items()), flush=True)
        for kind, error in off.items():
            allowed = ALLOWED_OF_DOUBLE if form == "double" else max(ALLOWED[kind], 2 * of_torch[kind])
            if form != "float" or kind == "evaluation":  # Winograd's errors are larger, and flip more signs
                report.add(f"{title}, {form}: {kind}", None if error < allowed else f"off by {error:.2g}, allowed {allowed:.2g}")
    print(f"{title + ', PyTorch in float':38}" + "".join(f"  {kind} {error:.1e}" for kind, error in of_torch.items()), flush=True)


def check_all(report):
    compiler = common.find_compilers().get("gcc")
    if not compiler:
        return report.skip("torchvision", "g++ is not here")
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "one_step"
        rest = ["-O2", "-o", program, "-lz", "-pthread"] if torch else ["-fsyntax-only"]
        status, output = common.run([compiler, *common.CXX, *common.INCLUDES, "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
                                     "-Werror", HERE / "one_step.cpp", *rest])
        report.add("one_step.cpp", output if status else None)
        if status:
            return None
        if not torch:
            return report.skip("torchvision", why)
        for case in CASES:
            compare(report, program, *case)
    return None


if __name__ == "__main__":
    common.main(check_all)
