"""The word pieces of a compiled model are read from its file, without what made the file."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tokenizers import Tokenizer

from cortex_actors.embedding import tokens
from cortex_actors.embedding.manifest import ONNX, TOKENIZER
from cortex_actors.embedding.tokens import compress, load_pieces
from cortex_actors.rules.ranking import rerank
from cortex_actors.rules.ranking.rerank import SCALE, WIDTH, WORDS_FROM, Pieces, Turn, TurnPlace

if TYPE_CHECKING:
    from pathlib import Path

#: Reads the pieces in a process of its own and prints which large libraries that took.
PROGRAM = """
import sys
from pathlib import Path
from cortex_actors.embedding.tokens import load_pieces

pieces = load_pieces(Path(sys.argv[1]))
heavy = {"torch", "transformers", "onnx", "onnxruntime"} & set(sys.modules)
print(pieces is not None, sorted(heavy))
"""


@pytest.fixture(scope="module")
def pieces(compiled_model: Path) -> Pieces:
    """Give the pieces of the shipped model."""
    found = load_pieces(compiled_model)
    assert found is not None
    return found


def near(pieces: Pieces, one: str, other: str) -> float:
    """Return the cosine of two words of one piece each."""
    (left,), (right,) = pieces.cut(one), pieces.cut(other)
    rows = pieces.vectors[[left, right]].astype(np.float64)
    return float(rows[0] @ rows[1] / SCALE**2)


class TestShipped:
    def test_size(self, pieces: Pieces) -> None:
        """The table is 64 bytes a piece, and every row is of length 1 as whole numbers have it."""
        lengths = np.linalg.norm(pieces.vectors[WORDS_FROM:].astype(np.float64), axis=1) / SCALE

        assert pieces.vectors.shape[1] == WIDTH
        assert pieces.vectors.dtype == np.dtype(np.int8)
        assert lengths == pytest.approx(1.0, abs=0.04)

    @pytest.mark.parametrize(
        ("word", "like", "other"),
        [("dog", "puppy", "bank"), ("doctor", "nurse", "guitar"), ("car", "truck", "poem")],
    )
    def test_meaning(self, pieces: Pieces, word: str, like: str, other: str) -> None:
        """Words that mean something alike are nearer than others."""
        assert near(pieces, word, like) > near(pieces, word, other) + 0.2

    def test_unknown(self, pieces: Pieces) -> None:
        """What the tokeniser has no piece for has none, so two such words are not alike."""
        assert not len(pieces.cut("\U00010384\U00010385"))

    def test_conversation(self, pieces: Pieces) -> None:
        """An answer that shares no word with its question is found by what its words mean."""
        said = (
            "Ann: Good morning! Did you sleep well?",
            "Ben: Not really, the puppy kept barking.",
            "Ann: The bus was late again.",
            "Ben: They repair the road.",
            "Ann: My sister plays the violin on Saturdays.",
            "Ben: I never learned to read notes.",
        )
        turns = [Turn(each, each.partition(":")[0], 0) for each in said]
        alone = [TurnPlace(number, (), (), 0.0) for number in range(len(said))]
        found = rerank.score(
            "which musical instrument does a relative practise",
            turns,
            candidates=alone,
            pieces=pieces,
        )

        assert int(np.argmax(found)) == 4

    def test_libraries(self, compiled_model: Path) -> None:
        """No library of those that made the model is loaded for it."""
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(compiled_model)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout.strip() == "True []"


class TestCutter:
    def test_plain_tokeniser(self, compiled_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A text has the pieces of its words, each cut by itself, however few are remembered."""
        path = compiled_model / TOKENIZER
        plain = Tokenizer.from_str(path.read_text("utf-8"))
        unknown = plain.token_to_id("[UNK]")
        monkeypatch.setattr(tokens, "_WORDS", 7)
        cut = tokens.make_cutter(path)
        some = ("Re-running", "the", "don't", "caf\xe9", "Gr\xf6\xdfe", "\u2019s", "x_1", "\t\0")
        chance = np.random.default_rng(1)
        for _ in range(200):
            text = " ".join(chance.choice(some, 6)) + str(chance.integers(90))
            words = re.findall(r"\w+", text.lower())
            found = [plain.encode(f" {each}", add_special_tokens=False).ids for each in words]
            assert {n for each in found for n in each} - {unknown} == set(cut(text).tolist())


class TestAbsent:
    def test_no_folder(self) -> None:
        """A model that is not compiled has no pieces."""
        assert load_pieces(None) is None

    def test_missing(self, tmp_path: Path) -> None:
        """Nor has one whose files are gone."""
        assert load_pieces(tmp_path) is None

    @pytest.mark.parametrize("length", [10, 1_000, 1_000_000])
    def test_damaged(self, compiled_model: Path, tmp_path: Path, length: int) -> None:
        """Nor one whose file ends too early; nothing fails for it."""
        (tmp_path / ONNX).write_bytes((compiled_model / ONNX).read_bytes()[:length])
        (tmp_path / TOKENIZER).write_bytes((compiled_model / TOKENIZER).read_bytes())

        assert load_pieces(tmp_path) is None

    def test_noise(self, compiled_model: Path, tmp_path: Path) -> None:
        """Nor one whose file is none."""
        noise = np.random.default_rng(1).integers(0, 256, 4_096, np.uint8)
        (tmp_path / ONNX).write_bytes(noise.tobytes())
        (tmp_path / TOKENIZER).write_bytes((compiled_model / TOKENIZER).read_bytes())

        assert load_pieces(tmp_path) is None


class TestCompress:
    def test_keeps_cosines(self) -> None:
        """Where so many components hold all there is, cosines stay as they were."""
        chance = np.random.default_rng(1)
        rows = chance.standard_normal((WORDS_FROM + 500, 32)).astype(np.float32)
        kept = compress(rows)[WORDS_FROM:].astype(np.float64) / SCALE
        plain = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        plain = plain[WORDS_FROM:] - plain[WORDS_FROM:].mean(axis=0)
        plain /= np.linalg.norm(plain, axis=1, keepdims=True)

        assert kept @ kept.T == pytest.approx(plain @ plain.T, abs=0.05)

    def test_zero(self) -> None:
        """Whole numbers around another zero make the same table."""
        rows = np.random.default_rng(1).integers(-100, 100, (WORDS_FROM + 300, 40))
        moved = (rows + 120).astype(np.uint8)

        assert np.abs(compress(rows.astype(np.int8)) - compress(moved, 120)).max() <= 1
