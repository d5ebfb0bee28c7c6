"""The exchange of arrays between locus, NumPy and, where it is installed, PyTorch. Run by a Python that has locus."""

import ctypes
import gc
import importlib.util
import sys
import weakref

import cases_of
import numpy as np

import locus

case, main = cases_of.registry()
NAME = b"dltensor"  # of a capsule, which keeps the pointer to it


def address(tensor):
    """The address of the first element, by a way that is not under test."""
    return np.from_dlpack(tensor).__array_interface__["data"][0]


@case
def shares_memory_with_numpy():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    t = locus.asarray(x)
    assert address(t) == x.__array_interface__["data"][0]
    x[1, 2] = 50
    assert t[1, 2].item() == 50
    t.numpy()[0, 0] = -1
    assert x[0, 0] == -1


@case
def keeps_views_as_views():
    x = np.arange(24, dtype=np.int64).reshape(4, 6)
    for view in (x[:, 1], x[::2, 1::2], x.T, x[1:, 2:]):
        t = locus.asarray(view)
        assert address(t) == view.__array_interface__["data"][0]
        assert t.strides == tuple(s // 8 for s in view.strides)
        np.testing.assert_array_equal(t.numpy(), view)


@case
def copies_reversed_and_repeated_views():
    x = np.arange(6, dtype=np.float64)
    for view in (x[::-1], np.broadcast_to(x, (3, 6)), np.lib.stride_tricks.sliding_window_view(x, 3)):
        t = locus.asarray(view)
        assert address(t) != view.__array_interface__["data"][0]
        np.testing.assert_array_equal(t.numpy(), view)


@case
def takes_every_element_type():
    for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                 "uint64", "bool"):
        x = np.array([0, 1, 1], dtype=name)
        t = locus.asarray(x)
        assert t.dtype == name, t.dtype
        assert t.numpy().dtype == x.dtype
        np.testing.assert_array_equal(t.numpy(), x)
    cases_of.raises(TypeError, "complex64", lambda: locus.asarray(np.zeros(2, dtype=np.complex64)))


@case
def takes_scalars_and_empty_arrays():
    for shape in ((), (0,), (3, 0), (1, 1, 1)):
        x = np.ones(shape, dtype=np.float32)
        t = locus.asarray(x)
        assert t.shape == shape and t.ndim == len(shape) and t.size == x.size
        assert t.numpy().shape == shape
    assert locus.asarray(np.float32(3)).item() == 3
    cases_of.raises(ValueError, "9", lambda: locus.asarray(np.zeros((1,) * 9)))


@case
def read_only_memory_stays_read_only():
    x = np.arange(4, dtype=np.float32)
    x.flags.writeable = False
    t = locus.asarray(x)
    assert t.read_only and address(t) == x.__array_interface__["data"][0]
    assert not np.from_dlpack(t).flags.writeable
    assert t[1:].read_only and not t.clone().read_only
    assert locus.variable(x.astype(np.float64)).read_only is False and locus.variable(t)[None].detach().read_only
    assert not (t + 1).read_only
    if hasattr(locus, "split"):
        assert all(part.read_only for part in locus.split(x, 2)) and locus.tile(x, 1).read_only == (
            address(locus.tile(x, 1)) == address(t))
    cases_of.raises(BufferError, "read-only", lambda: t.__dlpack__())
    assert locus.cumsum(x, 0).numpy().tolist() == [0, 1, 3, 6]


@case
def memory_outlives_the_array_that_brought_it():
    x = np.arange(1000, dtype=np.float64)
    expected, alive = x.copy(), weakref.ref(x)
    t = locus.asarray(x)
    del x
    gc.collect()
    assert alive() is not None
    np.testing.assert_array_equal(t.numpy(), expected)
    del t
    gc.collect()
    assert alive() is None  # the deleter ran

    made = locus.asarray(expected).clone()
    array = made.numpy()
    part = made[10:20]
    del made
    gc.collect()
    np.testing.assert_array_equal(array, expected)
    np.testing.assert_array_equal(part.numpy(), expected[10:20])


@case
def capsules_are_used_once_or_freed():
    for versioned in (None, (1, 0)):
        x = np.zeros(4)
        t, alive = locus.asarray(x), weakref.ref(x)
        t.__dlpack__(max_version=versioned)  # nobody takes it
        del x, t
        gc.collect()
        assert alive() is None
    t = locus.asarray(np.zeros(4)).clone()
    capsule = t.__dlpack__(max_version=(1, 0))

    class Once:
        def __dlpack__(self, **options):
            return capsule

        def __dlpack_device__(self):
            return (1, 0)

    once = Once()
    assert locus.from_dlpack(once).size == t.size
    cases_of.raises(TypeError, "used before", lambda: locus.from_dlpack(once))
    cases_of.raises(BufferError, "another device", lambda: t.__dlpack__(dl_device=(2, 0)))


@case
def libraries_before_dlpack_1_are_understood():
    x = np.arange(3, dtype=np.float32)

    class Old:
        def __dlpack__(self):
            return x.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    assert address(locus.asarray(Old())) == x.__array_interface__["data"][0]


@case
def errors_of_a_library_are_passed_on():
    class Broken:
        def __dlpack__(self, **options):
            raise RuntimeError("no memory here")

        def __dlpack_device__(self):
            return (1, 0)

    class NoCapsule(Broken):
        def __dlpack__(self, **options):
            return 7

    class NoPlace(Broken):
        def __dlpack_device__(self):
            return "here"

    cases_of.raises(TypeError, "__dlpack_device__ returned str", lambda: locus.asarray(NoPlace()))
    cases_of.raises(RuntimeError, "no memory here", lambda: locus.asarray(Broken()))
    cases_of.raises(TypeError, "expected a capsule", lambda: locus.asarray(NoCapsule()))


@case
def a_shape_that_is_missing_is_refused():
    class Struct(ctypes.Structure):  # DLManagedTensor: int32 of one dimension, without a shape
        _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                    ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                    ("shape", ctypes.c_void_p), ("strides", ctypes.POINTER(ctypes.c_int64)),
                    ("byte_offset", ctypes.c_uint64), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]

    struct = Struct(device=(1, 0), ndim=1, bits=32, lanes=1, strides=(ctypes.c_int64 * 1)(1))
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi))

    class NoShape:
        def __dlpack__(self):
            return new(ctypes.addressof(struct), NAME, None)

        def __dlpack_device__(self):
            return (1, 0)

    cases_of.raises(ValueError, "null pointer to the shape", lambda: locus.asarray(NoShape()))


class Elsewhere:
    """An array on a device; its memory must not be asked for where operands do not fit."""

    def __init__(self, kind, ordinal=0):
        self.place = (kind, ordinal)

    def __dlpack__(self, **options):
        raise AssertionError("the memory was asked for")

    def __dlpack_device__(self):
        return self.place


@case
def operands_in_two_places_are_a_type_error():
    x, elsewhere = np.ones(3, dtype=np.float32), Elsewhere(2)
    cases_of.raises(TypeError, "a * b: left operand is on Cpu, right operand is on Cuda; move one with",
                    lambda: locus.multiply(x, elsewhere))
    cases_of.raises(TypeError, "a * b: left operand is on Cuda, right operand is on Cpu; move one with",
                    lambda: locus.multiply(elsewhere, x))
    cases_of.raises(TypeError, "a * b: left operand is on Cuda, right operand is on Cuda{1}",
                    lambda: locus.multiply(elsewhere, Elsewhere(2, 1)))
    cases_of.raises(TypeError, "lerp(a, b, weight): one tensor is on Cpu, another on Cuda",
                    lambda: locus.lerp(x, x, elsewhere))
    cases_of.raises(RuntimeError, "call the function of locus.cuda", lambda: locus.multiply(elsewhere, elsewhere))
    cases_of.raises(TypeError, "metal", lambda: locus.multiply(Elsewhere(8), Elsewhere(8)))


@case
def computes_16_bits_in_float32():
    x = np.array([[1, 2048, 1, 1], [3, 4, 0.1, -7]], dtype=np.float16)
    sums = locus.cumsum(x, 1)
    assert sums.dtype == "float16" and sums[0].numpy().tolist() == [1, 2048, 2050, 2052]  # float16 has no 2049
    np.testing.assert_array_equal(sums.numpy(), np.cumsum(x.astype(np.float32), 1).astype(np.float16))
    brain = locus.asarray(x.astype(np.float32)).astype("bfloat16")
    values, indices = locus.cummax(brain, 1)
    assert values.dtype == "bfloat16" and indices.dtype == "int64" and (brain + 1).dtype == "bfloat16"
    assert values.astype("float32").numpy()[0].tolist() == [1, 2048, 2048, 2048]
    x.flags.writeable = False
    assert locus.multiply(x, 0.5).dtype == "float16" and not locus.multiply(x, 1).read_only
    cases_of.raises(TypeError, "float16 and bfloat16", lambda: locus.add(x, brain))
    cases_of.raises(TypeError, "float16 and float32", lambda: locus.add(x, x.astype(np.float32)))


@case
def records_16_bits():
    for name in ("float16", "bfloat16"):
        x = locus.variable(locus.asarray(np.array([1.5, -2, 300], dtype=np.float32)).astype(name))
        y = locus.multiply(x, x).astype("float32")
        assert y.requires_grad and locus.cumsum(x, 0).dtype == name
        y.backward(np.ones(3, dtype=np.float32))
        assert x.grad.dtype == name and x.grad.astype("float64").numpy().tolist() == [3, -4, 600]
        cases_of.raises(ValueError, "detach", lambda x=x: x.astype("int32"))
    cases_of.raises(TypeError, "int32; expected float32, float64, float16 or bfloat16",
                    lambda: locus.variable(np.ones(2, dtype=np.int32)))


@case
def mistakes_are_python_exceptions_that_teach():
    x = np.ones((2, 3), dtype=np.float32)
    cases_of.raises(ValueError, "(2, 3)", lambda: locus.add(x, np.ones(4, dtype=np.float32)))
    cases_of.raises(locus.ShapeError, "(2, 3)", lambda: locus.add(x, np.ones(4, dtype=np.float32)))
    cases_of.raises(IndexError, "2 dimensions", lambda: locus.cumsum(x, 2))
    cases_of.raises(TypeError, "float32 and float64", lambda: locus.add(x, x.astype(np.float64)))
    cases_of.raises(TypeError, "list; expected a tensor", lambda: locus.cumsum([1, 2], 0))
    cases_of.raises(TypeError, "int8; expected float32, float64, int32, int64, float16 or bfloat16; convert it with .astype",
                    lambda: locus.cumsum(x.astype(np.int8), 0))
    cases_of.raises(ValueError, "does not fit int32", lambda: locus.add(np.ones(2, dtype=np.int32), 1 << 40))
    cases_of.raises(ValueError, "beside a tensor of int32", lambda: locus.add(np.ones(2, dtype=np.int32), 0.5))
    cases_of.raises(OverflowError, "", lambda: locus.add(x, 1 << 70))
    cases_of.raises(OverflowError, "", lambda: locus.asarray(x)[1 << 70])
    cases_of.raises(ValueError, "dtype is", lambda: locus.asarray(x).astype("complex64"))
    assert issubclass(locus.ShapeError, locus.Error)


@case
def tensors_have_operators_and_subscripts():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    t = locus.asarray(x)
    np.testing.assert_array_equal((2 * t + 1).numpy(), 2 * x + 1)
    np.testing.assert_array_equal((x - t / 2).numpy(), x - x / 2)  # NumPy leaves the operator to the tensor
    np.testing.assert_array_equal((-t % 5).numpy(), -x % 5)
    if hasattr(locus, "greater_equal"):
        np.testing.assert_array_equal((t >= 3).numpy(), x >= 3)
    for subscript in (1, -1, (0, 2), (slice(None), 1), (..., 0), (None, 2), slice(0, 3, 2), (slice(1, 2), slice(1, -1))):
        np.testing.assert_array_equal(t[subscript].numpy(), x[subscript])
    cases_of.raises(IndexError, "subscripts", lambda: t[0, 0, 0])
    cases_of.raises(IndexError, "subscripts", lambda: t[..., 0, 0, 0])
    cases_of.raises(IndexError, "ellipses", lambda: t[..., ...])
    cases_of.raises(TypeError, "integers, slices", lambda: t[x > 3])
    assert len(t) == 3 and float(t[1, 1]) == 5 and "Tensor<float32, cpu> (3, 4)" in repr(t)
    np.testing.assert_array_equal(np.asarray(t.transpose()), x.T)
    np.testing.assert_array_equal(np.asarray(t, dtype=np.int64), x.astype(np.int64))
    cases_of.raises(ValueError, "copy", lambda: np.array(t, dtype=np.int64, copy=False))
    for one in (t.T, t[0].T, locus.asarray(x.reshape(1, 3, 4)).T):
        np.testing.assert_array_equal(one.numpy(), np.asarray(one.T).T)
    assert t.T.shape == (4, 3) and address(t.T) == address(t)
    np.testing.assert_array_equal(t.cumsum(1).numpy(), x.cumsum(1))
    np.testing.assert_array_equal(t.cumsum(axis=0, reverse=True).numpy(), x[::-1].cumsum(0)[::-1])
    assert float(t.sum()) == x.sum() and t.mean(axis=0, keepdim=True).shape == (1, 4)
    np.testing.assert_allclose(t.std(0, correction=0).numpy(), x.std(0), rtol=1e-6)
    for function in (np.sum, np.mean, np.max, np.min, np.prod, np.std, np.var):  # which call the methods
        np.testing.assert_allclose(np.asarray(function(t, axis=0)), function(x, axis=0), rtol=1e-6)
    cases_of.raises(ValueError, "out is given; expected None", lambda: np.mean(t, out=x))
    for function in (np.argmax, np.cumsum, np.sort):
        np.testing.assert_array_equal(np.asarray(function(t, axis=1)), function(x, axis=1))
    cases_of.raises(TypeError, "ufunc", lambda: np.sin(t))
    assert t.astype("int32").dtype == t.astype(np.int32).dtype == t.astype(np.dtype("i4")).dtype == "int32"


@case
def places_are_named():
    t = locus.asarray(np.ones(2))
    assert t.to("cpu") is t and t.device == "cpu"
    cases_of.raises(ValueError, 'expected "cpu", "cuda" or "cuda:1"', lambda: t.to("gpu"))
    cases_of.raises(TypeError, "incompatible function arguments", lambda: locus.Tensor.to(5, "cpu"))
    cases_of.raises(TypeError, "incompatible function arguments", lambda: locus.Tensor.numpy(np.ones(2)))
    if importlib.util.find_spec("locus._cuda") is None:
        cases_of.raises(locus.CudaUnavailable, "built for Cpu alone; build it with pip wheel", lambda: t.to("cuda"))
        cases_of.raises(ImportError, "built for Cpu alone; build it with pip wheel",
                        lambda: importlib.import_module("locus.cuda"))


@case
def gradients_are_recorded():
    x = locus.variable(np.array([1, -2, 3], dtype=np.float64))
    y = locus.cumsum(x * x, 0)
    y.backward(np.array([1, 10, 100], dtype=np.float64))
    np.testing.assert_array_equal(x.grad.numpy(), [2 * 111, -4 * 110, 6 * 100])
    cotangent = np.ones(3)
    for _ in range(2):  # the cotangent's memory is another library's
        (x + 0 * x).backward(cotangent)
    np.testing.assert_array_equal(cotangent, 1)
    x.zero_grad()
    assert x.grad is None
    cases_of.raises(BufferError, "detach", lambda: (x * 2).numpy())
    cases_of.raises(BufferError, "detach", lambda: np.from_dlpack(x * 2, copy=True))
    cases_of.raises(ValueError, "detach", lambda: (x * 2).clone())
    cases_of.raises(locus.GraphError, "backward", lambda: y.backward(np.ones(3)))  # the first pass freed the graph


@case
def other_threads_run_while_locus_computes():
    import threading
    import time

    x = np.random.default_rng(1).standard_normal((2000, 2000))
    counted, done, interval = [0], threading.Event(), sys.getswitchinterval()
    sys.setswitchinterval(100)  # the other thread runs only where this one releases the GIL

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    began = counted[0]
    start = time.perf_counter()
    while time.perf_counter() - start < 0.3:
        locus.cumsum(x, 0)
    ended = counted[0]
    sys.setswitchinterval(interval)
    done.set()
    thread.join()
    assert ended > began


if __name__ == "__main__":
    sys.exit(main())
