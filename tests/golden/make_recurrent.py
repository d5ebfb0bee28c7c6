#!/usr/bin/env python3
"""Writes recurrent.txt: recurrent layers and their cells as PyTorch computes them in float64, with all gradients.

usage: make_recurrent.py        (needs torch; the tests need only its output)
"""

import pathlib

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import make_golden
from make_golden import keep, leaf

LENGTHS = [2, 4, 3]


def module_of(name, module):
    """The module with numbers that are kept as NAME_PARAMETER."""
    with torch.no_grad():
        for parameter, tensor in module.named_parameters():
            tensor.copy_(keep(f"{name}_{parameter}", 0.5 * torch.randn_like(tensor)))
    return module


def differentiate(name, results, inputs):
    """Keeps results, a cotangent of each, and the gradients of the inputs of all cotangents together."""
    cotangents = []
    for part, result in results.items():
        keep(f"{name}_{part}", result)
        cotangents.append(keep(f"{name}_{part}_cotangent", torch.randn_like(result)))
    gradients = torch.autograd.grad(list(results.values()), list(inputs.values()), cotangents)
    for part, gradient in zip(inputs, gradients):
        keep(f"{name}_d{part}", gradient)


def states_of(name, module, initial, *shape):
    """The initial states by name: none, h0, or h0 and c0."""
    if not initial:
        return {}
    states = {"h0": leaf(name + "_h0", *shape, getattr(module, "proj_size", 0) or module.hidden_size)}
    if isinstance(module, (nn.LSTM, nn.LSTMCell)):
        states["c0"] = leaf(name + "_c0", *shape, module.hidden_size)
    return states


def argument_of(states):
    return tuple(states.values()) if len(states) == 2 else states.get("h0")


def parts_of(state):
    return dict(zip("hc", state if isinstance(state, tuple) else (state,)))


def layer(name, module, initial=True, packed=False):
    module_of(name, module)
    x = leaf(name + "_x", *((3, 4) if module.batch_first else (4, 3)), 2)
    states = states_of(name, module, initial, module.num_layers * (2 if module.bidirectional else 1), 3)
    given = pack_padded_sequence(x, LENGTHS, module.batch_first, enforce_sorted=False) if packed else x
    y, state = module(given, argument_of(states))
    if packed:
        y, _ = pad_packed_sequence(y, module.batch_first, padding_value=0.5)
    differentiate(name, {"y": y, **parts_of(state)}, {"x": x, **states, **dict(module.named_parameters())})


def cell(name, module, initial=True):
    module_of(name, module)
    x = leaf(name + "_x", 3, 2)
    states = states_of(name, module, initial, 3)
    state = module(x, argument_of(states))
    differentiate(name, parts_of(state), {"x": x, **states, **dict(module.named_parameters())})


def unbatched(name, module):
    module_of(name, module)
    x = leaf(name + "_x", 4, 2)
    y, state = module(x)
    differentiate(name, {"y": y, **parts_of(state)}, {"x": x, **dict(module.named_parameters())})


def main():
    make_golden.numbers.clear()
    torch.manual_seed(11)
    layer("lstm", nn.LSTM(2, 3))
    layer("lstm_deep", nn.LSTM(2, 3, 2, batch_first=True, bidirectional=True, proj_size=2))
    layer("lstm_bare", nn.LSTM(2, 3, bias=False), initial=False)
    layer("lstm_packed", nn.LSTM(2, 3, 2, bidirectional=True), packed=True)
    layer("lstm_projected_packed", nn.LSTM(2, 3, batch_first=True, bidirectional=True, proj_size=1), initial=False, packed=True)
    layer("gru", nn.GRU(2, 3))
    layer("gru_deep", nn.GRU(2, 3, 2, batch_first=True, bidirectional=True))
    layer("gru_bare", nn.GRU(2, 3, bias=False), initial=False)
    layer("gru_packed", nn.GRU(2, 3, bidirectional=True), packed=True)
    layer("rnn", nn.RNN(2, 3, 2, bidirectional=True))
    layer("rnn_relu", nn.RNN(2, 3, nonlinearity="relu", bias=False, batch_first=True), initial=False)
    unbatched("lstm_unbatched", nn.LSTM(2, 3, bidirectional=True))
    cell("lstm_cell", nn.LSTMCell(2, 3))
    cell("gru_cell", nn.GRUCell(2, 3))
    cell("gru_cell_bare", nn.GRUCell(2, 3, bias=False), initial=False)
    cell("rnn_cell", nn.RNNCell(2, 3))
    cell("rnn_cell_relu", nn.RNNCell(2, 3, nonlinearity="relu"))
    make_golden.write(pathlib.Path(__file__).with_name("recurrent.txt"))


if __name__ == "__main__":
    main()
