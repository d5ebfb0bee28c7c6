#!/usr/bin/env python3
"""Writes losses.txt: losses that make_training.py does not cover, as PyTorch computes them in float64.

usage: make_losses.py        (needs torch; the tests need only its output)
"""

import pathlib
import warnings

import torch
import torch.nn.functional as F

import make_golden
from make_golden import differentiate, keep, leaf

REDUCTIONS = "mean", "sum", "none"


def elementwise():
    x, y = leaf("l_x", 4, 3), leaf("l_y", 4, 3)
    shares = keep("l_shares", torch.tensor([[0.5, 0.5, 0], [0.2, 0, 0.8], [0.1, 0.6, 0.3], [1, 0, 0]]))
    signs = keep("l_signs", torch.tensor([[1.0, -1, 1], [-1, 1, -1], [-1, -1, 1], [0, 1, 0]]))
    for reduction in REDUCTIONS:
        differentiate(f"smooth_l1_{reduction}", F.smooth_l1_loss(x, y, reduction=reduction, beta=0.7), x=x, y=y)
        differentiate(f"hinge_{reduction}", F.hinge_embedding_loss(x, signs, 0.4, reduction=reduction), x=x)
    differentiate("smooth_l1_0", F.smooth_l1_loss(x, y, beta=0), x=x, y=y)
    for reduction in (*REDUCTIONS, "batchmean"):
        differentiate(f"kl_{reduction}", F.kl_div(x, shares, reduction=reduction), x=x)
        differentiate(f"kl_log_{reduction}", F.kl_div(x, y, reduction=reduction, log_target=True), x=x, y=y)
    positive = keep("l_positive", torch.rand(4, 3)).clone().requires_grad_()
    differentiate("kl_target", F.kl_div(x, positive, reduction="sum"), x=x, y=positive)


def vectors():
    a, b, c = leaf("v_a", 5, 4), leaf("v_b", 5, 4), leaf("v_c", 5, 4)
    target = keep("v_target", torch.tensor([1.0, -1, -1, 1, 0]))
    for reduction in REDUCTIONS:
        differentiate(f"cosine_{reduction}", F.cosine_embedding_loss(a, b, target, 0.1, reduction=reduction), a=a, b=b)
        differentiate(f"triplet_{reduction}", F.triplet_margin_loss(a, b, c, reduction=reduction), a=a, b=b, c=c)
    differentiate("cosine_one", F.cosine_embedding_loss(a[0], b[0], target[0]), a=a, b=b)
    for name, options in (("1", {"p": 1, "margin": 0.5}), ("3_swap", {"p": 3, "swap": True, "eps": 1e-2}),
                          ("inf", {"p": float("inf")}), ("one", {"swap": True})):
        operands = (a[0], b[0], c[0]) if name == "one" else (a, b, c)
        differentiate(f"triplet_{name}", F.triplet_margin_loss(*operands, **options), a=a, b=b, c=c)


def likelihoods():
    x = leaf("nll_x", 6, 5)
    labels = keep("nll_labels", torch.tensor([2, 0, -100, 4, 1, 2]))
    weights = keep("nll_weights", torch.tensor([0.5, 1.5, 2.0, 0.25, 1.0]))
    for reduction in REDUCTIONS:
        differentiate(f"nll_{reduction}", F.nll_loss(x, labels, reduction=reduction), x=x)
        differentiate(f"nll_{reduction}_weighted", F.nll_loss(x, labels, weights, reduction=reduction), x=x)
    differentiate("nll_one", F.nll_loss(x[0], labels[0]), x=x)
    image = leaf("nll_image", 2, 3, 2, 2)
    of_image = keep("nll_image_labels", torch.tensor([[[0, 1], [2, 1]], [[1, 7], [0, 2]]]))
    differentiate("nll_image_mean", F.nll_loss(image, of_image, ignore_index=7), x=image)
    differentiate("nll_image_none", F.nll_loss(image, of_image, ignore_index=7, reduction="none"), x=image)


def sequences():
    """CTC loss on logits (time, batch, classes): with repeated labels, no labels, and sequences too short for their
    labels."""
    x = leaf("ctc_x", 7, 5, 4)
    labels = keep("ctc_labels", torch.tensor([[1, 2, 2], [3, 1, 3], [1, 1, 1], [1, 2, 3], [2, 2, 2]]))
    times = keep("ctc_times", torch.tensor([7, 5, 4, 3, 4]))
    counts = keep("ctc_counts", torch.tensor([3, 2, 0, 3, 3]))
    for reduction in REDUCTIONS:
        fit = x[:, :4].log_softmax(2), labels[:4], times[:4], counts[:4]
        differentiate(f"ctc_{reduction}", F.ctc_loss(*fit, reduction=reduction), x=x)
        all_of_it = x.log_softmax(2), labels, times, counts
        differentiate(f"ctc_zero_{reduction}", F.ctc_loss(*all_of_it, reduction=reduction, zero_infinity=True), x=x)
    differentiate("ctc_blank", F.ctc_loss(x[:, :2].log_softmax(2), torch.tensor([[0, 2], [1, 1]]), times[:2], counts[1:3],
                                          blank=3), x=x)


def positive_weights():
    """Logits large enough for either branch of the formula, targets between 0 and 1."""
    x = keep("pos_x", torch.randn(4, 3) * 4).clone().requires_grad_()
    y = keep("pos_y", torch.tensor([[1.0, 0, 1], [0, 1, 0], [0.25, 0.5, 1], [1, 0, 0.75]])).clone().requires_grad_()
    weights = keep("pos_weights", torch.tensor([9.0, 0.5, 2]))
    each = keep("pos_each", torch.rand(4, 3) * 3)
    loss = F.binary_cross_entropy_with_logits
    for reduction in REDUCTIONS:
        differentiate(f"pos_{reduction}", loss(x, y, pos_weight=weights, reduction=reduction), x=x, y=y)
    differentiate("pos_each_mean", loss(x, y, pos_weight=each), x=x)
    differentiate("pos_one_mean", loss(x, y, pos_weight=torch.tensor(5.0)), x=x)


def linear_cross_entropies():
    x, w, b = leaf("lce_x", 2, 3, 4), leaf("lce_w", 5, 4), leaf("lce_b", 5)
    targets = keep("lce_targets", torch.tensor([[3, 0, -100], [4, 4, 1]]))
    weights = keep("lce_weights", torch.tensor([0.5, 1.5, 2.0, 0.25, 1.0]))
    for reduction in REDUCTIONS:
        for ending, smoothing in ("", 0.0), ("_smooth", 0.2):
            options = {"reduction": reduction, "label_smoothing": smoothing}
            rows, labels = x.flatten(0, 1), targets.flatten()
            loss = F.linear_cross_entropy(rows, w, labels, **options)
            differentiate(f"lce_{reduction}{ending}", loss.reshape(2, 3) if reduction == "none" else loss, x=x, w=w)
            loss = F.linear_cross_entropy(rows, w, labels, linear_bias=b, weight=weights, **options)
            differentiate(f"lce_{reduction}_weighted{ending}", loss.reshape(2, 3) if reduction == "none" else loss,
                          x=x, w=w, b=b)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.manual_seed(27)
    make_golden.numbers.clear()
    for make in elementwise, vectors, likelihoods, sequences, positive_weights, linear_cross_entropies:
        make()
    make_golden.write(pathlib.Path(__file__).with_name("losses.txt"))
