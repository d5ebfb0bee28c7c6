#!/usr/bin/env python3
"""Writes ops.txt: inputs, results and gradients of operations as PyTorch computes them in float64.

usage: make_golden.py        (needs torch; the tests need only its output)
"""

import pathlib
import sys

import torch
import torch.nn.functional as F

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
numbers = {}


def keep(name, tensor):
    numbers[name] = tensor.detach()
    return tensor


def leaf(name, *shape):
    return keep(name, torch.randn(*shape)).clone().requires_grad_()


def differentiate(name, result, **inputs):
    """Keeps a result, a cotangent of it, and the gradients of the inputs."""
    keep(name, result)
    cotangent = keep(name + "_cotangent", torch.randn_like(result))
    gradients = torch.autograd.grad(result, list(inputs.values()), cotangent)
    for key, gradient in zip(inputs, gradients):
        keep(f"{name}_d{key}", gradient)


def reductions():
    x = leaf("reduce_x", 3, 4, 5)
    differentiate("sum_02", x.sum((0, 2)), x=x)
    differentiate("mean_1", x.mean(1, keepdim=True), x=x)
    differentiate("prod_2", x.prod(2), x=x)
    differentiate("var_12", x.var((1, 2)), x=x)
    differentiate("var_0_population", x.var(0, correction=0), x=x)
    differentiate("norm1_1", torch.linalg.vector_norm(x, 1, 1), x=x)
    differentiate("norm2_0", torch.linalg.vector_norm(x, 2, 0), x=x)
    differentiate("norm_inf_2", torch.linalg.vector_norm(x, float("inf"), 2), x=x)
    differentiate("cumsum_1", x.cumsum(1), x=x)
    differentiate("softmax_1", x.softmax(1), x=x)
    differentiate("log_softmax_0", x.log_softmax(0), x=x)
    differentiate("logsumexp_2", x.logsumexp(2), x=x)

    zeros = keep("zeros_x", torch.tensor([[1.0, 2, 3], [0, 2, 3], [0, 2, 0], [4, -0.5, 2]])).clone().requires_grad_()
    differentiate("prod_zeros", zeros.prod(1), x=zeros)
    ties = keep("ties_x", torch.tensor([[1.0, 3, 3, 2], [5, 5, 5, 0], [-1, -2, -3, -1]])).clone().requires_grad_()
    differentiate("amax_ties", ties.amax(1), x=ties)
    differentiate("amin_ties", ties.amin(0), x=ties)
    keep("argmax_ties", ties.argmax(1))
    keep("argmin_all", ties.argmin())


def cross_entropies():
    labels = keep("ce_labels", torch.tensor([2, 0, -100, 4, 1, 2]))
    weights = keep("ce_weights", torch.tensor([0.5, 1.5, 2.0, 0.25, 1.0]))
    for reduction in "mean", "sum", "none":
        for weighted in False, True:
            for smoothing in 0.0, 0.1:
                name = f"ce_{reduction}{'_weighted' if weighted else ''}{'_smooth' if smoothing else ''}"
                x = leaf(name + "_logits", 6, 5)
                loss = F.cross_entropy(x, labels, weights if weighted else None, reduction=reduction,
                                       label_smoothing=smoothing)
                differentiate(name, loss, x=x)
    x = leaf("ce_image_logits", 2, 3, 2, 2)
    y = keep("ce_image_labels", torch.tensor([[[0, 1], [2, 1]], [[1, 7], [0, 2]]]))
    differentiate("ce_image", F.cross_entropy(x, y, ignore_index=7, label_smoothing=0.2), x=x)


def products():
    def product(name, left, right):
        a, b = leaf(name + "_a", *left), leaf(name + "_b", *right)
        differentiate(name, a @ b, a=a, b=b)

    product("matmul_2_2", (3, 4), (4, 5))
    product("matmul_1_1", (4,), (4,))
    product("matmul_2_1", (3, 4), (4,))
    product("matmul_1_2", (4,), (4, 5))
    product("matmul_3_2", (2, 3, 4), (4, 5))
    product("matmul_2_3", (3, 4), (2, 4, 5))
    product("matmul_3_1", (2, 3, 4), (4,))
    product("matmul_1_3", (4,), (2, 4, 5))
    product("matmul_4_3", (2, 1, 3, 4), (6, 4, 2))

    for name, activation in [("identity", lambda z: z), ("relu", F.relu), ("tanh", torch.tanh), ("sigmoid", torch.sigmoid),
                             ("gelu", F.gelu)]:
        x, w, b = leaf(f"linear_{name}_x", 2, 3, 4), leaf(f"linear_{name}_w", 5, 4), leaf(f"linear_{name}_b", 5)
        differentiate(f"linear_{name}", activation(F.linear(x, w, b)), x=x, w=w, b=b)


def lookups():
    x = leaf("index_x", 4, 3, 5)
    list_ = keep("index_list", torch.tensor([3, 0, 3, 1, 3]))
    differentiate("index_select_0", x.index_select(0, list_), x=x)
    last = keep("index_last", torch.tensor([2, 2, 4]))
    differentiate("index_select_2", x.index_select(2, last), x=x)
    index = keep("gather_index", torch.randint(0, 3, (4, 2, 4)))
    differentiate("gather_1", x.gather(1, index), x=x)
    table = leaf("embedding_table", 6, 3)
    words = keep("embedding_words", torch.tensor([[5, 0, 5], [2, 2, 5]]))
    differentiate("embedding", F.embedding(words, table), x=table)
    a, b, c = leaf("join_a", 2, 3), leaf("join_b", 2, 1), leaf("join_c", 2, 3)
    differentiate("concat", torch.cat((a, b, c), 1), a=a, b=b, c=c)
    differentiate("stack", torch.stack((a, c), 1), a=a, c=c)


def orders():
    x = leaf("sort_x", 3, 5, 4)
    differentiate("sort_1", x.sort(1).values, x=x)
    differentiate("sort_0_descending", x.sort(0, descending=True).values, x=x)
    differentiate("topk_2", x.topk(2).values, x=x)
    differentiate("topk_1_smallest", x.topk(3, 1, largest=False).values, x=x)
    keep("argsort_1", x.argsort(1))
    keep("topk_2_indices", x.topk(2).indices)


def normalizations():
    x, w, b = leaf("norm_x", 3, 2, 4, 5), leaf("norm_w", 5), leaf("norm_b", 5)
    differentiate("layer_norm", F.layer_norm(x, (5,), w, b), x=x, w=w, b=b)
    differentiate("layer_norm_plain", F.layer_norm(x, (5,), eps=0.5), x=x)
    differentiate("rms_norm", F.rms_norm(x, (5,), w), x=x, w=w)
    differentiate("rms_norm_plain", F.rms_norm(x, (5,), eps=0.5), x=x)
    w, b = leaf("norm_w_45", 4, 5), leaf("norm_b_45", 4, 5)
    differentiate("layer_norm_45", F.layer_norm(x, (4, 5), w, b, 1e-3), x=x, w=w, b=b)
    differentiate("rms_norm_45", F.rms_norm(x, (4, 5), w), x=x, w=w)


def write(path, digits=12):
    """One line per tensor: its name, its extents, a colon, its elements."""
    lines = [f"# written by {pathlib.Path(sys.argv[0]).name} with PyTorch {torch.__version__.split('+')[0]}"]
    for name, tensor in numbers.items():
        extents = "".join(f" {n}" for n in tensor.shape)
        lines.append(f"{name}{extents} :" + "".join(f" {float(v):.{digits}g}" for v in tensor.flatten()))
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    for make in reductions, cross_entropies, products, lookups, orders, normalizations:
        make()
    write(pathlib.Path(__file__).with_name("ops.txt"))
