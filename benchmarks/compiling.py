"""What compiling costs a model: each form of it against the float model, by the product's gates.

The forms: float ONNX, int8 with one scale for a whole matrix and with one for each channel (as
onnxruntime's quantiser makes them), and the product's, in which each row of activations has a scale
of its own. The texts: the calibration texts, and with `--data DIR` the statements in a folder of
Markdown files as well. Prints size, gates, and how far a text's vector moves with its batch.
Run it from the root: `python -m benchmarks.compiling [--data DIR] [--texts N]`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.statements import statements
from cortex_actors.embedding import calibration, torch_build
from cortex_actors.embedding.compiled import Runner
from cortex_actors.embedding.manifest import ONNX, TOKENIZER
from cortex_actors.embedding.models import locate
from cortex_actors.embedding.rowwise import quantise_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sentence_transformers import SentenceTransformer

    from cortex_actors.embedding.manifest import ModelForm
    from cortex_actors.embedding.provider import Vectors

#: Texts that are embedded alone, too, to see what their batch does to them.
ALONE = 100

#: Bytes of a megabyte, as people count them.
MB = 1_000_000


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--texts", type=int, default=2_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model, draft, forms = made(options.model, Path(folder))
        texts = calibration.cut(
            Path(folder) / TOKENIZER, calibration.load_texts(), max_tokens=draft.max_tokens
        )
        table("calibration texts", texts, model=model, draft=draft, forms=forms)
        if options.data:
            found = statements(options.data, options.texts)
            texts = calibration.cut(Path(folder) / TOKENIZER, found, max_tokens=draft.max_tokens)
            table("statements", texts, model=model, draft=draft, forms=forms)
    return 0


def made(name: str, folder: Path) -> tuple[SentenceTransformer, ModelForm, dict[str, Path]]:
    """Return the loaded float model, how it is fed, and the folders of its forms."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - seconds

    with torch_build.silence():
        eager = {"attn_implementation": "eager"}
        model = SentenceTransformer(str(locate(name).folder), device="cpu", model_kwargs=eager)
        draft = torch_build.draft_form(model)
        forms = {each: folder / each for each in ("fp32", "per matrix", "per channel", "by row")}
        torch_build.save_tokenizer(model, to=folder / TOKENIZER)
        for place in forms.values():
            place.mkdir()
            (place / TOKENIZER).symlink_to(folder / TOKENIZER)
        _timed("export", torch_build.export, model, draft, to=forms["fp32"] / ONNX)
        for form, per_channel in (("per matrix", False), ("per channel", True)):
            _timed(f"int8 {form}", _quantised, forms["fp32"], forms[form], per_channel=per_channel)
        _timed("by row", quantise_rows, forms["per channel"] / ONNX, forms["by row"] / ONNX)
    return model, draft, forms


def table(
    title: str,
    texts: Sequence[str],
    *,
    model: SentenceTransformer,
    draft: ModelForm,
    forms: dict[str, Path],
) -> None:
    """Print how near each form is over some texts."""
    before = time.perf_counter()
    floats = model.encode(list(texts), batch_size=8, normalize_embeddings=True)
    print(f"\n{len(texts)} {title}; the float model took {time.perf_counter() - before:.1f} s")
    print("form          MB   mean cosine  worst    Spearman  overlap  alone/batch  passes")
    for name, form in forms.items():
        rows = calibration.embed_texts(form, draft, texts)
        gates = calibration.measure(floats, rows)
        cells = (
            f"{name:12}",
            f"{(form / ONNX).stat().st_size / MB:5.1f}",
            f"{gates.mean_cosine:9.4f}",
            f"{calibration.compute_cosines(floats, rows).min():11.4f}",
            f"{gates.spearman:8.4f}",
            f"{gates.overlap:7.3f}",
            f"{_moved(form, draft, texts, rows):11.4f}",
            "no" if calibration.list_missed(gates) else "yes",
        )
        print("  ".join(cells))


def _moved(form: Path, draft: ModelForm, texts: Sequence[str], rows: Vectors) -> float:
    """Return the worst cosine of a text alone with the same text in its batch."""
    runner = Runner(form, draft)
    alone = np.concatenate([runner.embed_texts([text]) for text in texts[:ALONE]])
    return float(calibration.compute_cosines(alone, rows[:ALONE]).min())


def _quantised(source: Path, target: Path, *, per_channel: bool) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic  # noqa: PLC0415 - seconds

    quantize_dynamic(
        source / ONNX, target / ONNX, per_channel=per_channel, weight_type=QuantType.QInt8
    )


def _timed(what: str, work: Callable[..., object], *given: object, **named: object) -> None:
    """Do some work and print how long it took."""
    before = time.perf_counter()
    work(*given, **named)
    print(f"{what:18} {time.perf_counter() - before:6.1f} s")


if __name__ == "__main__":
    raise SystemExit(main())
