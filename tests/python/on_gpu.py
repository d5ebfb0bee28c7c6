"""Tensors on a GPU: locus.cuda beside locus. Run by a Python whose locus has both; the GPUs may be simulated, but two."""

import sys

import cases_of
import numpy as np

import locus
import locus.cuda as lc

case, main = cases_of.registry()
HOST = np.arange(6, dtype=np.float32).reshape(2, 3)


class Exporter:
    """An array of another library: only what DLPack asks for, and a note of the streams."""

    def __init__(self, tensor, kind=2):
        self.tensor, self.kind, self.streams = tensor, kind, []

    def __dlpack__(self, stream=None, max_version=None):
        self.streams.append(stream)
        return self.tensor.__dlpack__(stream=stream, max_version=max_version)

    def __dlpack_device__(self):
        return self.kind, self.tensor.__dlpack_device__()[1]


def on_host(tensor):
    return tensor.to("cpu").numpy()


@case
def moves_there_and_back():
    x = locus.asarray(HOST).to("cuda")
    assert type(x) is lc.Tensor and type(x.to("cpu")) is locus.Tensor
    assert x.device == "cuda:0" and x.__dlpack_device__() == (2, 0) and x.to("cuda") is x and x.to("cuda:0") is x
    np.testing.assert_array_equal(on_host(x), HOST)
    other = x.to("cuda:1")
    assert other.device == "cuda:1" and other.to("cuda").device == "cuda:0"
    np.testing.assert_array_equal(on_host(other[1:, ::2]), HOST[1:, ::2])
    assert locus.asarray(HOST).to("cuda:1").device == "cuda:1"
    assert repr(x).endswith("Tensor<float32, cuda:0> (2, 3)") and "3. 4. 5." in repr(x)
    assert x[1, 2].item() == 5 and float(x[0, 1]) == 1
    cases_of.raises(locus.ArgumentError, 'expected "cpu", "cuda" or "cuda:1"', lambda: x.to("gpu"))
    cases_of.raises(locus.CudaUnavailable, "cuda:9 does not exist", lambda: x.to("cuda:9"))


@case
def computes_there():
    for place in ("cuda", "cuda:1"):
        x = locus.asarray(HOST).to(place)
        np.testing.assert_array_equal(on_host(lc.cumsum(x, 1)), HOST.cumsum(1))
        np.testing.assert_array_equal(on_host(x.T.cumsum(axis=0, reverse=True)), HOST.T[::-1].cumsum(0)[::-1])
        np.testing.assert_allclose(on_host(lc.softmax(x, 1)).sum(1), 1, rtol=1e-6)
        w = lc.variable(x)
        lc.cumsum(w, 0).backward(x)
        np.testing.assert_array_equal(on_host(w.grad), HOST[::-1].cumsum(0)[::-1])


@case
def shares_memory_by_dlpack():
    x = locus.asarray(HOST).to("cuda:1")
    given = Exporter(x)
    for y in (lc.from_dlpack(given), lc.asarray(given)):
        assert y.device == "cuda:1" and y.shape == (2, 3)
        np.testing.assert_array_equal(on_host(y), HOST)
    assert given.streams == [1, 1]  # CUDA's legacy stream, which from_dlpack waits for
    np.testing.assert_array_equal(on_host(lc.cumsum(Exporter(x), 1)), HOST.cumsum(1))
    assert lc.asarray([[1.0, 2.0]]).device == "cuda:0" and lc.asarray(HOST, dtype="int32").dtype == "int32"
    cases_of.raises(BufferError, "another device", lambda: x.__dlpack__(dl_device=(1, 0)))


@case
def places_do_not_mix():
    h, x = locus.asarray(HOST), locus.asarray(HOST).to("cuda")
    for host in (h, HOST):
        cases_of.raises(TypeError, "the tensor is on Cpu; expected Cuda; locus.cuda.asarray copies it", lambda: lc.cumsum(host, 0))
    cases_of.raises(locus.CudaUnavailable, "call the function of locus.cuda", lambda: locus.cumsum(x, 0))
    for call in (x.numpy, lambda: np.asarray(x)):
        cases_of.raises(TypeError, 'arrays of NumPy are on Cpu; say .to("cpu") first', call)
    words = 'a + b: left operand is on Cuda, right operand is on Cpu; move one with .to("cpu") or .to("cuda")'
    for call in (lambda: x + h, lambda: lc.add(x, HOST)):
        cases_of.raises(TypeError, words, call)
    cases_of.raises(TypeError, "left operand is on Cuda, right operand is on Cuda{1}", lambda: x + x.to("cuda:1"))
    np.testing.assert_array_equal(on_host(2 * x.to("cuda:1") + 1), 2 * HOST + 1)
    managed = Exporter(x, kind=13)
    np.testing.assert_array_equal(on_host(x + managed), 2 * HOST)
    for wrong in (lambda: lc.Tensor.to(h, "cpu"), lambda: lc.Tensor.numpy(h), lambda: locus.Tensor.to(x, "cpu")):
        cases_of.raises(TypeError, "incompatible function arguments", wrong)


if __name__ == "__main__":
    sys.exit(main())
