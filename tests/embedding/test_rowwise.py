from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cortex_actors.embedding.rowwise import quantise_rows

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

pytestmark = pytest.mark.slow


@pytest.fixture
def weights() -> NDArray[np.float32]:
    """Give a layer's weights."""
    return np.random.default_rng(4).normal(size=(8, 5)).astype(np.float32)


@pytest.fixture
def layer(tmp_path: Path, weights: NDArray[np.float32]) -> Path:
    """Give a graph of one product, in floats."""
    from onnx import TensorProto, helper, numpy_helper, save  # noqa: PLC0415

    def value(name: str, width: int) -> Any:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, None, width])

    product = helper.make_node("MatMul", ["x", "w"], ["y"], name="product")
    graph = helper.make_graph(
        [product], "g", [value("x", 8)], [value("y", 5)], [numpy_helper.from_array(weights, "w")]
    )
    opset = [helper.make_opsetid("", 17)]
    save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "float.onnx")
    return tmp_path / "float.onnx"


@pytest.fixture
def quantised(layer: Path, tmp_path: Path) -> Path:
    """Give it as `quantize_dynamic` makes it."""
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415

    quantize_dynamic(layer, tmp_path / "tensor.onnx", per_channel=True, weight_type=QuantType.QInt8)
    return tmp_path / "tensor.onnx"


def run(path: Path, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return what a graph makes of a batch."""
    import onnxruntime  # noqa: PLC0415

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    rows: NDArray[np.float32] = session.run(None, {"x": x})[0]
    return rows


class TestRows:
    def test_alone(self, quantised: Path, tmp_path: Path, weights: NDArray[np.float32]) -> None:
        """A row has the same product to the bit, however large its neighbours are."""
        quantise_rows(quantised, tmp_path / "row.onnx")
        x = np.random.default_rng(5).normal(size=(1, 6, 8)).astype(np.float32)
        x[0, 3] *= 1_000.0
        x[0, 4] = 0.0
        together, alone = run(tmp_path / "row.onnx", x), run(tmp_path / "row.onnx", x[:, :1])

        assert (alone[0, 0] == together[0, 0]).all()
        assert np.abs(together[0, 0] - x[0, 0] @ weights).max() < 0.1
        assert np.abs(run(quantised, x)[0, 0] - x[0, 0] @ weights).max() > 1.0
        assert not together[0, 4].any()

    def test_other_graph(self, layer: Path, tmp_path: Path) -> None:
        """A graph that quantises nothing is refused, and nothing is written."""
        with pytest.raises(ValueError, match="quantises no activations"):
            quantise_rows(layer, tmp_path / "row.onnx")

        assert not (tmp_path / "row.onnx").exists()
