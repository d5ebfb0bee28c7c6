#!/usr/bin/env python3
"""TensorBoard itself reads the files of io::TensorBoard: records and their checksums, scalars, histograms, images,
texts, the graph of a model, hyperparameters; a file of a killed process, a file truncated within a record, and a file of a resumed run.

usage: tensor_board_test.py        (needs tensorboard; without it only compiles the program)
"""

import io
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tools"))
import common  # noqa: E402

try:
    from tensorboard.backend.event_processing import event_accumulator, event_file_loader
    from tensorboard.plugins.hparams import plugin_data_pb2
    from tensorboard.util import tensor_util
except ImportError as missing:
    event_accumulator = None
    why = f"needs tensorboard ({missing})"


def events_of(path):
    """All events of a file, through TensorBoard's accumulator."""
    kinds = ["GRAPH", "SCALARS", "HISTOGRAMS", "IMAGES", "TENSORS"]
    events = event_accumulator.EventAccumulator(str(path), size_guidance={getattr(event_accumulator, kind): 0 for kind in kinds})
    return events.Reload()


def whole_events(path):
    """The records up to the first wrong checksum, where the loader stops or raises."""
    return list(event_file_loader.LegacyEventFileLoader(str(path)).Load())


def check_scalars(events):
    points = [(point.step, point.value) for point in events.Scalars("loss/train")]
    assert [step for step, _ in points] == list(range(300)), points
    assert all(abs(value * (1 + step) - 1) < 1e-6 for step, value in points), points
    assert abs(events.Scalars("loss/train")[0].wall_time - time.time()) < 600
    assert events.Tags()["scalars"] == ["loss/train", "accuracy"], events.Tags()


def check_histograms(events):
    [first] = events.Histograms("weight")
    value = first.histogram_value
    assert first.step == 7
    assert (value.min, value.max, value.num, value.sum, value.sum_squares) == (-1, 1, 5, 1.5, 3.25), value
    assert list(value.bucket_limit) == [-0.5, 0, 0.5, 1] and list(value.bucket) == [1, 0, 1, 3], value
    assert list(events.Histograms("equal")[0].histogram_value.bucket) == [2]
    assert events.Histograms("none")[0].histogram_value.num == 0


def pixels_of(image):
    """(width, height), and the pixels if PIL is installed."""
    try:
        from PIL import Image
    except ImportError:
        return (image.width, image.height), None
    opened = Image.open(io.BytesIO(image.encoded_image_string))
    return opened.size, opened.tobytes()


def check_images(events):
    [grey], [colours] = events.Images("grey"), events.Images("colours")
    assert (grey.step, grey.width, grey.height, colours.step) == (3, 3, 2, 4)
    size, pixels = pixels_of(grey)
    assert size == (3, 2) and pixels in (None, bytes([0, 128, 255, 7, 8, 9])), pixels
    size, pixels = pixels_of(colours)
    assert size == (2, 1) and pixels in (None, bytes([255, 2, 3, 1, 255, 4])), pixels


def check_text(events):
    [text] = events.Tensors("note")
    assert text.step == 5
    assert tensor_util.make_ndarray(text.tensor_proto).tolist() == ["**bold** £".encode()]
    assert events.SummaryMetadata("note").plugin_data.plugin_name == "text"


def check_graph(events):
    nodes = {node.name: node for node in events.Graph().node}
    assert list(nodes) == ["input", "Sequential/0", "Sequential/1", "output"], list(nodes)
    linear = nodes["Sequential/0"]
    assert (linear.op, list(linear.input), linear.device) == ("Linear", ["input"], "cpu"), linear
    assert [dim.size for dim in linear.attr["_output_shapes"].list.shape[0].dim] == [4, 2], linear
    assert linear.attr["options"].s == b"3, 2", linear


def check_hyper_parameters(events):
    def session(name):
        content = events.SummaryMetadata("_hparams_/" + name).plugin_data
        assert content.plugin_name == "hparams"
        return plugin_data_pb2.HParamsPluginData.FromString(content.content)
    values = session("session_start_info").session_start_info.hparams
    assert values["lr"].number_value == 0.5 and values["nesterov"].bool_value is True and values["layers"].number_value == 3
    assert values["optimizer"].string_value == "Adam" and len(values) == 4
    experiment = session("experiment").experiment
    assert [info.name for info in experiment.hparam_infos] == ["lr", "nesterov", "optimizer", "layers"]
    assert [info.name.tag for info in experiment.metric_infos] == ["accuracy"]
    assert session("session_end_info").session_end_info.status == 1
    assert events.Scalars("accuracy")[0].value == 0.75


def check_killed(program, folder):
    """A process is killed while it writes; then the file is truncated at each byte of its last records."""
    with subprocess.Popen([program, folder, "on"], stdout=subprocess.PIPE, text=True) as process:
        path = pathlib.Path(process.stdout.readline().strip())
        while path.stat().st_size < 10_000:
            time.sleep(0.01)
        process.kill()
    steps = [point.step for point in events_of(path).Scalars("loss")]
    assert steps == list(range(len(steps))) and len(steps) > 100, steps
    content = path.read_bytes()[:1000]
    before = len(whole_events(path))
    for count in range(900, 1000):
        path.write_bytes(content[:count])
        now = len(whole_events(path))
        assert 0 < now < before
    path.write_bytes(content[:500] + bytes([content[500] ^ 1]) + content[501:])
    damaged = 0
    try:
        damaged = len(whole_events(path))
    except Exception as error:  # DataLossError, whose module differs between versions
        assert "crc" in str(error).lower() or "corrupt" in str(error).lower() or "loss" in type(error).__name__.lower(), error
    assert damaged < now, "a flipped bit was not found"


def check_going_on(program, folder):
    """A second file replaces the events of the first from its first step on."""
    subprocess.run([program, folder], check=True, stdout=subprocess.DEVNULL)
    time.sleep(1.1)  # files are read in the order of their names, which begin with the time in seconds
    subprocess.run([program, folder, "100"], check=True)
    points = [(point.step, point.value) for point in events_of(folder).Scalars("loss/train")]
    assert [step for step, _ in points] == list(range(105)), points
    assert [value for _, value in points[100:]] == [7] * 5, points


def check_all(report):
    compiler = common.find_compilers().get("gcc")
    if not compiler:
        return report.skip("TensorBoard", "g++ is not here")
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "events"
        rest = ["-O0", "-o", program, "-lz", "-pthread"] if event_accumulator else ["-fsyntax-only"]
        status, output = common.run([compiler, *common.CXX, *common.INCLUDES, "-Wall", "-Wextra", "-Wconversion", "-Wshadow",
                                     "-Werror", HERE / "events.cpp", *rest])
        report.add("events.cpp", output if status else None)
        if status:
            return None
        if not event_accumulator:
            return report.skip("TensorBoard", why)
        status, output = common.run([program, pathlib.Path(folder) / "runs"])
        report.add("the program", output if status else None)
        events = events_of(output.strip())
        cases = [check_scalars, check_histograms, check_images, check_text, check_graph, check_hyper_parameters]
        of_folder = [check_killed, check_going_on]
        for case in [*cases, *of_folder]:
            try:
                case(program, pathlib.Path(folder) / case.__name__) if case in of_folder else case(events)
                report.ok(case.__name__)
            except (AssertionError, KeyError, ValueError) as error:
                report.fail(case.__name__, f"{type(error).__name__}: {error}")
    return None


if __name__ == "__main__":
    common.main(check_all)
