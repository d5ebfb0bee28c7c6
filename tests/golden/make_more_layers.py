#!/usr/bin/env python3
"""Writes more_layers.txt: layers beyond the usual ones, with gradients, as PyTorch computes them in float64.

usage: make_more_layers.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch
import torch.nn.functional as F

import make_golden
from make_golden import differentiate, keep, leaf

torch.set_default_dtype(torch.float64)


def quarters(name, *shape):
    """Numbers with ties."""
    return keep(name, torch.round(torch.randn(*shape) * 4) / 4).clone().requires_grad_()


def transposed_convolutions():
    x, w, b = leaf("ct1_x", 2, 4, 5), leaf("ct1_w", 4, 3, 3), leaf("ct1_b", 6)
    options = dict(stride=3, padding=1, output_padding=2, groups=2, dilation=2)
    differentiate("ct1", F.conv_transpose1d(x, w, b, **options), x=x, w=w, b=b)
    x, w, b = leaf("ct3_x", 1, 4, 2, 3, 2), leaf("ct3_w", 4, 2, 2, 3, 2), leaf("ct3_b", 4)
    options = dict(stride=(1, 2, 2), padding=(0, 1, 1), output_padding=(0, 1, 0), groups=2, dilation=(2, 1, 1))
    differentiate("ct3", F.conv_transpose3d(x, w, b, **options), x=x, w=w, b=b)


def largest_elements():
    line, image, volume = quarters("mp_line", 2, 2, 9), quarters("mp_image", 1, 2, 6, 7), quarters("mp_volume", 2, 1, 4, 5, 4)

    def both(name, pair, x):
        values, indices = pair
        keep(name + "_indices", indices)
        differentiate(name, values, x=x)
        return values.detach(), indices

    both("mp1", F.max_pool1d_with_indices(line, 3, 2, 1, dilation=2, ceil_mode=True), line)
    pooled = both("mp2", F.max_pool2d_with_indices(image, (3, 2), (2, 1), (1, 0)), image)
    both("mp3", F.max_pool3d_with_indices(volume, 2, (1, 2, 1), (0, 1, 1), dilation=(1, 2, 1)), volume)
    both("amp1", F.adaptive_max_pool1d_with_indices(line, 4), line)
    both("amp2", F.adaptive_max_pool2d_with_indices(image, (4, 3)), image)
    both("amp3", F.adaptive_max_pool3d_with_indices(volume, (3, 2, 3)), volume)
    values, indices = F.max_pool2d_with_indices(image.detach(), 2)
    x = keep("mu2_x", values).clone().requires_grad_()
    differentiate("mu2", F.max_unpool2d(x, indices, 2, output_size=(6, 7)), x=x)
    keep("mu2_indices", indices)


def means():
    image, volume = make_golden.numbers["mp_image"].clone().requires_grad_(), leaf("ap_volume", 2, 1, 4, 5, 4)
    line = make_golden.numbers["mp_line"].clone().requires_grad_()
    differentiate("ap3", F.avg_pool3d(volume, (2, 3, 2), 2, 1, ceil_mode=True), x=volume)
    differentiate("ap3_excluded", F.avg_pool3d(volume, 2, (1, 2, 2), 1, count_include_pad=False), x=volume)
    differentiate("ap3_divisor", F.avg_pool3d(volume, 2, divisor_override=3), x=volume)
    differentiate("aap1", F.adaptive_avg_pool1d(line, 4), x=line)
    differentiate("aap3", F.adaptive_avg_pool3d(volume, (3, 2, 3)), x=volume)
    positive = keep("lp_x", torch.rand(1, 2, 6, 7) + 0.1).clone().requires_grad_()
    differentiate("lp2", F.lp_pool2d(positive, 3.5, (2, 3), stride=2, ceil_mode=True), x=positive)
    differentiate("lp1", F.lp_pool1d(line, 2, 3), x=line)


def activations():
    x = leaf("act_x", 3, 2, 4)
    differentiate("logsigmoid", F.logsigmoid(x), x=x)
    differentiate("tanhshrink", F.tanhshrink(x), x=x)
    differentiate("softmin", F.softmin(x, 1), x=x)
    differentiate("channel_shuffle", F.channel_shuffle(x.permute(1, 2, 0), 2), x=x)


REDUCTIONS = "mean", "sum", "none"


def losses():
    x, y = leaf("ls_x", 4, 3), leaf("ls_y", 4, 3)
    counts = keep("ls_counts", torch.tensor([[0.0, 1, 2], [3, 0, 5], [1, 1, 7], [2, 4, 0]]))
    positive = keep("ls_positive", torch.rand(4, 3) * 0.9 + 0.05).clone().requires_grad_()
    variance = keep("ls_variance", torch.tensor([[0.5], [2.0], [1e-9], [1.0]])).clone().requires_grad_()
    signs = keep("ls_signs", torch.tensor([[1.0, -1, 1], [-1, 1, -1], [-1, -1, 1], [1, 1, -1]]))
    sets = keep("ls_sets", torch.tensor([[1.0, 0, 1], [0, 0, 1], [0.25, 1, 0], [1, 1, 1]]))
    labels = keep("ls_labels", torch.tensor([2, 0, 1, 2]))
    weights = keep("ls_weights", torch.tensor([0.5, 2.0, 1.5]))
    lists = keep("ls_lists", torch.tensor([[2, 0, -1], [1, -1, 0], [-1, 1, 2], [0, 1, 2]]))
    for r in REDUCTIONS:
        differentiate(f"poisson_loss_{r}", F.poisson_nll_loss(x, counts, reduction=r), x=x)
        differentiate(f"poisson_loss_of_rates_{r}", F.poisson_nll_loss(positive, counts, log_input=False, full=True, reduction=r),
                      x=positive)
        differentiate(f"gaussian_{r}", F.gaussian_nll_loss(x, y, variance, full=True, eps=1e-3, reduction=r),
                      x=x, y=y, v=variance)
        differentiate(f"bce_probability_{r}", F.binary_cross_entropy(positive, sets, reduction=r), x=positive)
        differentiate(f"bce_weighted_{r}", F.binary_cross_entropy(positive, sets, weights, reduction=r), x=positive)
        differentiate(f"soft_margin_{r}", F.soft_margin_loss(x, signs, reduction=r), x=x)
        differentiate(f"ranking_{r}", F.margin_ranking_loss(x, y, signs, margin=0.3, reduction=r), x=x, y=y)
        differentiate(f"multi_margin_{r}", F.multi_margin_loss(x, labels, reduction=r), x=x)
        differentiate(f"multi_margin_2_{r}",
                      F.multi_margin_loss(x, labels, p=2, margin=0.5, weight=weights, reduction=r), x=x)
        differentiate(f"multilabel_margin_{r}", F.multilabel_margin_loss(x, lists, reduction=r), x=x)
        differentiate(f"multilabel_soft_{r}", F.multilabel_soft_margin_loss(x, sets, reduction=r), x=x)

    def apart(a, b):
        return 1 - F.cosine_similarity(a, b)

    z = leaf("ls_z", 4, 3)
    loss = F.triplet_margin_with_distance_loss(x, y, z, distance_function=apart, margin=0.5, swap=True)
    differentiate("triplet_distance", loss, x=x, y=y, z=z)


def similarities():
    a, b = leaf("sim_a", 4, 1, 3), leaf("sim_b", 2, 3)
    differentiate("cosine_similarity", F.cosine_similarity(a, b, dim=-1), a=a, b=b)
    differentiate("pairwise_distance", F.pairwise_distance(a[:2, 0], b, 3, 1e-3, True), a=a, b=b)
    differentiate("pdist", F.pdist(a[:, 0]), a=a)
    differentiate("normalize", F.normalize(a, 3.0, dim=2), a=a)
    x = leaf("lrn_x", 2, 5, 2, 3)
    differentiate("lrn", F.local_response_norm(x, 4, alpha=0.7, beta=0.6, k=1.5), x=x)
    differentiate("lrn_line", F.local_response_norm(x[:, :, 0], 3), x=x)
    first, second = leaf("bi_x", 3, 2), leaf("bi_y", 3, 4)
    weight, bias = leaf("bi_weight", 5, 2, 4), leaf("bi_bias", 5)
    differentiate("bilinear_layer", F.bilinear(first, second, weight, bias), x=first, y=second, weight=weight, bias=bias)


def bags():
    table = quarters("bag_table", 6, 3)
    lists = keep("bag_lists", torch.tensor([[1, 4, 4, 0], [5, 0, 2, 1], [0, 0, 0, 0]]))
    line = keep("bag_line", torch.tensor([3, 1, 1, 5, 0, 2, 4]))
    offsets = keep("bag_offsets", torch.tensor([0, 3, 3, 5]))
    weights = leaf("bag_weights", 7)
    for mode in "sum", "mean", "max":
        differentiate(f"bag_{mode}", F.embedding_bag(lists, table, mode=mode), table=table)
        differentiate(f"bag_{mode}_padded", F.embedding_bag(lists, table, mode=mode, padding_idx=0), table=table)
        differentiate(f"bag_{mode}_offsets", F.embedding_bag(line, table, offsets, mode=mode), table=table)
    weighted = F.embedding_bag(line, table, offsets, mode="sum", per_sample_weights=weights, padding_idx=1)
    differentiate("bag_weighted", weighted, table=table, weights=weights)


def adaptive_softmax():
    layer = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 9, [2, 5], div_value=2.0, head_bias=True)
    for name, parameter in layer.named_parameters():
        keep("als_" + name, parameter)
    x = leaf("als_x", 6, 8)
    labels = keep("als_labels", torch.tensor([8, 0, 3, 1, 4, 8]))
    output, loss = layer(x, labels)
    keep("als_output", output)
    differentiate("als_loss", loss, x=x, head=layer.head.weight, tail=layer.tail[1][0].weight)
    keep("als_log_prob", layer.log_prob(x))


def grids():
    image, volume = leaf("gs_image", 2, 2, 4, 3), leaf("gs_volume", 1, 2, 3, 2, 4)
    points = keep("gs_points", torch.randn(2, 3, 2, 2) * 1.2).clone().requires_grad_()
    deep = keep("gs_deep", torch.randn(1, 2, 2, 3, 3)).clone().requires_grad_()
    for padding in "zeros", "border", "reflection":
        for align in False, True:
            for mode in "bilinear", "nearest", "bicubic":
                y = F.grid_sample(image, points, mode, padding, align)
                differentiate(f"gs_{mode}_{padding}_{align:d}", y, x=image, grid=points)
        for mode in "bilinear", "nearest":
            y = F.grid_sample(volume, deep, mode, padding, padding == "border")
            differentiate(f"gs3_{mode}_{padding}", y, x=volume, grid=deep)
    flat, spatial = leaf("ag_flat", 2, 2, 3), leaf("ag_spatial", 1, 3, 4)
    for align in False, True:
        differentiate(f"ag2_{align:d}", F.affine_grid(flat, (2, 5, 3, 4), align), theta=flat)
        differentiate(f"ag3_{align:d}", F.affine_grid(spatial, (1, 5, 2, 3, 1), align), theta=spatial)


def parametrizations():
    from torch.nn.utils import parametrizations as P
    x, image = leaf("pz_x", 3, 4), leaf("pz_image", 1, 2, 4, 4)
    for name, layer, given in (("linear", torch.nn.Linear(4, 5), x), ("up", torch.nn.ConvTranspose2d(2, 3, 2), image)):
        for kind, made in ("weight", P.weight_norm), ("spectral", P.spectral_norm):
            layer_of = made(type(layer)(4, 5) if name == "linear" else type(layer)(2, 3, 2))
            for key, value in layer_of.state_dict().items():
                keep(f"pz_{kind}_{name}.{key}", value.clone())
            y = layer_of(given)
            inputs = {"x": given} | {key: value for key, value in layer_of.named_parameters()}
            differentiate(f"pz_{kind}_{name}", y, **inputs)
            if kind == "spectral":
                keep(f"pz_{name}_u", layer_of.parametrizations.weight[0]._u.clone())
            keep(f"pz_{kind}_{name}_inference", layer_of.eval()(given))
    every = P.weight_norm(torch.nn.Linear(4, 5), dim=None)
    keep("pz_whole", every.parametrizations.weight.original0)
    keep("pz_whole_weight", every.weight)


def norms():
    volume, line = leaf("nm_volume", 2, 3, 2, 2, 3), leaf("nm_line", 2, 3, 5)
    layer = torch.nn.BatchNorm3d(3)
    differentiate("bn3", layer(volume), x=volume)
    keep("bn3_running_var", layer.running_var)
    layer = torch.nn.InstanceNorm1d(3, affine=True, track_running_stats=True)
    differentiate("in1", layer(line), x=line)
    keep("in1_running_mean", layer.running_mean)
    differentiate("in3", torch.nn.InstanceNorm3d(3)(volume), x=volume)


def transformers():
    """Names and shapes of parameters only, and sums of gradients: the numbers would be many."""
    options = dict(dim_feedforward=6, dropout=0.0, batch_first=True)
    source, target = leaf("tf_source", 2, 3, 4), leaf("tf_target", 2, 2, 4)
    for name, more in (("post", dict()), ("pre", dict(norm_first=True, activation="gelu", bias=False))):
        model = torch.nn.Transformer(4, 2, 1, 2, **options, **more)
        for i, (key, parameter) in enumerate(model.named_parameters()):
            with torch.no_grad():
                parameter.copy_(torch.sin(torch.arange(parameter.numel()) * 1.7 + i).reshape(parameter.shape) * 0.5)
        mask = torch.nn.Transformer.generate_square_subsequent_mask(2)
        y = model(source, target, tgt_mask=mask)
        differentiate(f"tf_{name}", y, source=source, target=target, first=next(model.parameters()))


PARTS = (transposed_convolutions, largest_elements, means, activations, losses, similarities, bags, adaptive_softmax,
         grids, parametrizations, norms, transformers)
# The newest part comes last, so that earlier random numbers stay the same.
torch.manual_seed(41)
for part in PARTS:
    part()
make_golden.write(pathlib.Path(__file__).with_name("more_layers.txt"))
