#!/usr/bin/env python3
"""Exported models pass onnx.checker with its inference of shapes, and give in onnxruntime the outputs of Locus, for
batches and lengths other than the example's; so do the files when models::Onnx runs them. Names, metadata and dynamic
extents are those of the options.

usage: onnx_export_test.py PROGRAM
PROGRAM is the test program of tests/models/onnx_test.cpp. Without onnx, onnxruntime or protozero the test is skipped.
"""

import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tools"), str(HERE)]
import common  # noqa: E402
import onnx_nodes_test  # noqa: E402
import onnx_packages  # noqa: E402

try:
    import numpy
    import onnx
    import onnxruntime
    from onnx import numpy_helper
except ImportError:
    pass  # until the program is started again, with the packages

# Others: 1e-5. Positions of samples are rounded to float, times the slope between pixels.
TOLERANCES = {"halves": 5e-3, "quantiles": 1e-6, "sampled": 3e-5}


def check_model(path, name):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    [given] = session.get_inputs()
    cases = sorted(path.parent.glob(f"{name}.*.input.npy"))
    assert len(cases) == 3, cases
    for case in cases:
        expected = numpy.load(str(case).replace(".input.", ".output."))
        [found] = session.run(None, {given.name: numpy.load(case)})
        assert found.shape == expected.shape, f"{case.name}: shape {found.shape}; expected {expected.shape}"
        assert found.dtype == expected.dtype, f"{case.name}: {found.dtype}; expected {expected.dtype}"
        allowed = TOLERANCES.get(name, 1e-5)
        difference = numpy.max(numpy.abs(found.astype(numpy.float64) - expected) / (1 + numpy.abs(expected)))
        assert difference <= allowed, f"{case.name}: differs by {difference}; expected at most {allowed}"
    return model


def written_cases(path, folder):
    """Folders for models::Onnx, of the model and each of its inputs and outputs."""
    model = onnx.load(path)
    folders = []
    for given in sorted(path.parent.glob(f"{path.stem}.*.input.npy")):
        values = [("in:" + model.graph.input[0].name, numpy.load(given)),
                  ("out:" + model.graph.output[0].name, numpy.load(str(given).replace(".input.", ".output.")))]
        data = [numpy_helper.from_array(array, name) for name, array in values]
        tolerance = TOLERANCES.get(path.stem, 1e-5)
        folders.append(onnx_nodes_test.write_case(folder / given.name.removesuffix(".input.npy"), model, data, tolerance, tolerance))
    return folders


def shape_of(value):
    return [extent.dim_param or extent.dim_value for extent in value.type.tensor_type.shape.dim]


def check_resnet(model):
    [images], [scores] = model.graph.input, model.graph.output
    assert (images.name, shape_of(images)) == ("images", ["batch", 3, 16, 16]), images
    assert (scores.name, shape_of(scores)) == ("scores", ["batch", 7]), scores
    names = {tensor.name for tensor in model.graph.initializer}
    assert {"conv1.weight", "bn1.running_mean", "layer4.1.bn2.running_var", "fc.bias"} <= names, names
    assert [(entry.key, entry.value) for entry in model.metadata_props] == [("classes", "7")], model.metadata_props
    assert "Dropout" not in {node.op_type for node in model.graph.node}


def check_gpt2(model):
    [tokens], [logits] = model.graph.input, model.graph.output
    assert shape_of(tokens) == ["batch", "length"] and shape_of(logits) == ["batch", "length", 31], (tokens, logits)
    weights = [tensor.name for tensor in model.graph.initializer if tensor.name.startswith("transformer.")]
    assert weights.count("transformer.wte.weight") == 1 and "transformer.h.1.attn.c_attn.weight" in weights, weights


FURTHER = {"resnet18": check_resnet, "gpt2": check_gpt2}
MODELS = {"angles", "arranged", "gpt2", "halves", "lenet5", "mixed", "mlp", "ordered", "places", "positions", "quantiles",
          "resnet18", "signals", "vision", "words"}


def check_all(report):
    compiler = common.find_compilers().get("gcc")
    if not compiler or not pathlib.Path("/usr/include/protozero").is_dir():
        return report.skip("exported models", "needs g++ and protozero, apt-get install libprotozero-dev")
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "onnx_exports"
        status, output = common.run([compiler, *common.CXX, *common.INCLUDES, "-O0", "-pthread", "-Wall", "-Wextra",
                                     "-Wconversion", "-Wshadow", "-Werror", HERE / "onnx_exports.cpp", "-o", program, "-lz"])
        if status == 0:
            status, output = common.run([program, folder])
        report.add("onnx_exports.cpp", output if status else None)
        paths = sorted(pathlib.Path(folder).glob("*.onnx"))
        for path in paths:
            try:
                FURTHER.get(path.stem, lambda _: None)(check_model(path, path.stem))
                report.ok(path.stem)
            except Exception as problem:  # of onnx and onnxruntime, whose classes are many
                report.fail(path.stem, f"{type(problem).__name__}: {problem}")
        cases = [case for path in paths for case in written_cases(path, pathlib.Path(folder) / "cases")]
        for name, problem in onnx_nodes_test.run_cases(sys.argv[1], cases).items() if sys.argv[1:] else ():
            report.add(f"{name} in Locus", problem)
        absent = MODELS - {path.stem for path in paths}
        report.add("all models", f"not written: {sorted(absent)}" if absent else None)
    return None


if __name__ == "__main__":
    why = onnx_packages.restart_with_packages(common.ROOT)
    common.main(check_all if why is None else lambda report: report.skip("exported models", why))
