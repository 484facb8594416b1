"""Texts become numbers of tokens, in pieces that the model can read whole.

A text longer than a model reads, cut into windows that fit, and its vectors made one again.

Nothing is left out: the windows of a text follow one another without a gap, and every token of the
text is in exactly one of them. A window ends where a line, a sentence or at least a word ends, as
long as that costs no more than a quarter of it. Pure: the caller counts the tokens.

Windows do not overlap. Overlap was rejected: it makes the tokens of the seams count twice, and
costs as much more time as it repeats.

Which pieces are computed together: pure, by their length and a budget of tokens.

A batch is as wide as its longest piece, and the rest of every row is padding that costs as much as
text: twenty sections in the order in which they come were 2.1 times the tokens they have. So pieces
are sorted by length before they are put together, and what is put together is limited by tokens and
not by pieces: small enough to stay in a core's cache, large enough to be worth a call.

How many tokens a text has for its readers, counted before it is written into a file.

No agent's own tokeniser is on this machine, so the shipped embedding model's is used for all of
them: it cuts English and code into about as many pieces. Where there is none (the hashing provider,
an installation without the model), four characters are one token, and a character beyond ASCII is
one by itself.

Word pieces: those of a compiled model, and a small vector of each: what turns are compared by.

The vectors are the rows of the table that the model begins with, so they are made of its file
alone: 0.15 s on a thread and 64 bytes a piece (2 MB for MiniLM). Neither torch nor onnx is loaded
for it: of the file's fields (Protocol Buffers) only the few that hold the table are read.

Rows are scaled to length 1, their mean is taken away and the leading components are kept, which is
all that retrieval needs of them (`rules/ranking/rerank.py`).
"""

from __future__ import annotations

import logging
import os
import re
import threading
from array import array
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from cortex_actors.embedding.manifest import ONNX, TOKENIZER
from cortex_actors.embedding.models import PACKAGED, locate
from cortex_actors.embedding.provider import Vectors, scale_rows
from cortex_actors.errors import ModelMissing
from cortex_actors.rules.ranking.rerank import SCALE, WIDTH, WORDS_FROM, Pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer


#: Part of a window (one in so many) that may be given up for a better place to end.
SLACK = 4

#: What a sentence ends with; those of the second kind (Chinese and Japanese) need no space behind.
_ENDS, _WIDE_ENDS = frozenset(".!?:;…"), frozenset("\u3002\uff01\uff1f\uff1b")

#: How good a place to end is: inside a word, between words, after a sentence, after a line.
_INSIDE, _WORD, _SENTENCE, _LINE = range(4)


@dataclass(frozen=True, slots=True)
class Window:
    """Letters `start` to `end` of a text, and how many of its tokens lie there."""

    start: int
    end: int
    tokens: int


def cut_windows(text: str, offsets: Sequence[tuple[int, int]], room: int) -> list[Window]:
    """Cut a text into windows of at most `room` tokens; at least one, together the whole text.

    `offsets` are the letters of each token, in order, without the special tokens. Tokens that share
    a letter (a byte-level tokeniser cuts `é` in two) stay together.
    """
    found: list[Window] = []
    first = start = 0
    while len(offsets) - first > room:
        last = _end(text, offsets, first, room)
        found.append(Window(start, offsets[last][0], last - first))
        first, start = last, offsets[last][0]
    return [*found, Window(start, len(text), len(offsets) - first)]


def split_text(text: str, limit: int, count: Callable[[str], int]) -> list[str]:
    """Cut a text into pieces for which `count` says at most `limit`; together they are the text.

    For a tokeniser that tells no offsets, or is only estimated. A piece of a single letter is left
    as it is, whatever it counts.
    """
    pieces: list[str] = []
    begin = 0
    while (length := _fitting(text, begin, limit, count)) < len(text) - begin:
        ends = range(begin + length, begin + max(0, length - length // SLACK - 1), -1)
        end = max(ends, key=lambda place: _rank(text, place))  # the last one of the best
        pieces.append(text[begin:end])
        begin = end
    return [*pieces, text[begin:]]


def pool_rows(
    rows: NDArray[np.floating], owners: Sequence[int], weights: Sequence[int], *, texts: int
) -> Vectors:
    """Return a vector for each text: the mean of its windows' vectors by their tokens.

    `owners` names each row's text. Rows are scaled to length 1 before, because some models only
    give such rows and all are to be pooled alike; the result is scaled again. The row of a text
    with a single window is that row scaled, to the bit, whatever is beside it.
    """
    scaled = scale_rows(rows)
    owner = np.asarray(owners, dtype=np.intp)
    out = np.zeros((texts, scaled.shape[1]), dtype=np.float32)
    out[owner] = scaled
    counts = np.bincount(owner, minlength=texts)
    for text in np.flatnonzero(counts > 1):
        mine = np.flatnonzero(owner == text)
        weight = np.maximum(1, np.asarray(weights)[mine]).astype(np.float64)
        mean = (scaled[mine] * weight[:, None]).sum(axis=0, keepdims=True) / weight.sum()
        out[text] = scale_rows(mean)[0]
    return out


def _fitting(text: str, begin: int, limit: int, count: Callable[[str], int]) -> int:
    """Return how many letters from `begin` on fit, at least one unless none are left."""
    left = len(text) - begin
    low, high = min(1, left), min(left, max(1, limit))
    while high < left and count(text[begin : begin + high]) <= limit:
        low, high = high, min(left, high * 2)
    if count(text[begin : begin + high]) <= limit:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        fits = count(text[begin : begin + middle]) <= limit
        low, high = (middle, high) if fits else (low, middle)
    return low


def _end(text: str, offsets: Sequence[tuple[int, int]], first: int, room: int) -> int:
    """Return the number of the token before which the window from `first` on ends."""
    last = first + room
    begin = max(first + 1, last - room // SLACK)
    best, rank = 0, -1
    for token in range(last, first, -1):
        if offsets[token][0] < offsets[token - 1][1]:
            continue  # two tokens of one letter
        here = _rank(text, offsets[token][0])
        if here > rank:
            best, rank = token, here
        if rank == _LINE or (token <= begin and best):
            break
    return best or last


def _rank(text: str, place: int) -> int:
    """Return how good a place it is for a window to end."""
    if place >= len(text):
        return _LINE
    left = place
    while left and text[left - 1].isspace():
        left -= 1
    right = place
    while right < len(text) and text[right].isspace():
        right += 1
    gap, before = text[left:right], text[left - 1 : left]
    if "\n" in gap or "\r" in gap:
        return _LINE
    if before in _WIDE_ENDS or (gap and before in _ENDS):
        return _SENTENCE
    return _WORD if gap else _INSIDE


#: Keeps the tokeniser from starting a thread for each core, without a name and uncounted; it
#: needs a fiftieth of the model's time, and is called from threads that exist.
_QUIET = {"TOKENIZERS_PARALLELISM": "false"}


@dataclass(frozen=True, slots=True)
class TokenPiece:
    """A text, or a window of one: what the model is given, special tokens included."""

    #: The number of the text in the request.
    owner: int
    ids: Sequence[int]
    #: Tokens of the text itself.
    weight: int
    #: The letters themselves, for a model that wants letters.
    text: str


class WordPieces:
    """A `tokenizer.json`, without transformers around it; called from any thread.

    It neither cuts nor fills, whatever the file says: a text that is too long becomes several
    pieces. Special tokens are added by the file's own post-processor. While it works it holds
    up no other thread.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        """Take a tokeniser over, and the tokens of a window, special ones included."""
        os.environ.update(_QUIET)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self.max_tokens = max_tokens
        self._special = tokenizer.num_special_tokens_to_add(is_pair=False)
        self._room = max(1, max_tokens - self._special)

    @classmethod
    def load(cls, path: Path, max_tokens: int) -> WordPieces:
        """Read the file; raises `OSError` or `ValueError` when it is no tokeniser."""
        from tokenizers import Tokenizer  # noqa: PLC0415 - with the model, not with the daemon

        content = path.read_text(encoding="utf-8")
        try:
            return cls(Tokenizer.from_str(content), max_tokens)
        except Exception as error:  # the library raises bare Exception
            raise ValueError(f"{path} is not a tokeniser: {error}") from error

    def count(self, text: str) -> int:
        """Return the tokens of a text, special ones included."""
        return len(self._encoded([text])[0])

    def cut_texts(self, texts: Sequence[str]) -> list[TokenPiece]:
        """Return what the model reads of each text, in order: one piece, or a window after another.

        Raises `ValueError` when a text cannot be read as tokens.
        """
        found: list[TokenPiece] = []
        for owner, (text, whole) in enumerate(zip(texts, self._encoded(texts), strict=True)):
            if len(whole) <= self.max_tokens:
                found.append(self._piece(owner, text, whole))
            else:
                found.extend(self._windows(owner, text, whole, self._room))
        return found

    def _windows(self, owner: int, text: str, whole: Encoding, room: int) -> Iterator[TokenPiece]:
        """Yield the windows of a long text.

        A part of a text may have a token more than it had within the text (a tokeniser that marks
        the start of a text): it is cut again, with less room.
        """
        marks = zip(whole.offsets, whole.special_tokens_mask, strict=True)
        offsets = [place for place, special in marks if not special]
        parts = [text[each.start : each.end] for each in cut_windows(text, offsets, room)]
        for part, encoded in zip(parts, self._encoded(parts), strict=True):
            if len(encoded) <= self.max_tokens or len(part) <= 1 or room <= 1:
                yield self._piece(owner, part, encoded)
            else:
                yield from self._windows(owner, part, encoded, room - 1)

    def _piece(self, owner: int, text: str, encoded: Encoding) -> TokenPiece:
        """Return a piece; the model is never given more than it reads, whatever happens."""
        ids = encoded.ids[: self.max_tokens]
        return TokenPiece(owner, ids, max(1, len(ids) - self._special), text)

    def _encoded(self, texts: Sequence[str]) -> list[Encoding]:
        try:
            # A batch, also of one: only that lets other threads run meanwhile.
            return self._tokenizer.encode_batch(list(texts))
        except Exception as error:  # as above
            raise ValueError(f"the tokeniser cannot read a text: {error}") from error


def make_batches(lengths: Sequence[int], *, budget: int, threads: int) -> list[list[int]]:
    """Return the numbers of the pieces in batches of at most `budget` tokens, padding included.

    A piece that is longer than that is alone. The longest come first, so that no thread begins with
    a long one when the others are done; and what fills only some rounds of the threads is cut into
    equal shares, so that none of them idles in the last.
    """
    tokens = sum(lengths)
    rounds = -(-tokens // (budget * threads))
    # The tokens of a batch with which every thread gets as many batches.
    share = min(budget, -(-tokens // max(1, rounds * threads)))
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    batches: list[list[int]] = []
    width = 0
    for number in order:
        if batches and (len(batches[-1]) + 1) * width <= share:
            batches[-1].append(number)
        else:
            batches.append([number])
            width = lengths[number]
    return batches


#: Characters of English that are one token, as OpenAI's documentation has it.
CHARACTERS = 4

log = logging.getLogger("cortex.resolver")


class Counter:
    """Counts tokens, from any thread; the tokeniser is read when it is first needed."""

    def __init__(self, provider: str) -> None:
        """Count as suits a home whose vectors come from that provider."""
        self._lock = threading.Lock()
        self._tokens: WordPieces | None = None
        self._is_read = provider == "hashing"
        self._special = 0

    def __call__(self, text: str) -> int:
        """Return the tokens of a text; marks that a model wants around it do not count."""
        with self._lock:
            if not self._is_read:
                self._is_read = True
                self._read()
        if self._tokens is None:
            return estimate_tokens(text)
        try:
            return self._tokens.count(text) - self._special
        except ValueError:  # half a surrogate pair, which no tokeniser takes
            return estimate_tokens(text)

    def _read(self) -> None:
        """Read the shipped tokeniser, if there is one."""
        try:
            shipped = locate(next(iter(PACKAGED))).folder / TOKENIZER
            self._tokens = WordPieces.load(shipped, 0)
            self._special = self._tokens.count("")
        except (ImportError, OSError, ValueError, ModelMissing) as error:
            log.warning("tokens are estimated, %d characters each: %s", CHARACTERS, error)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has, where no tokeniser tells."""
    plain = sum(each.isascii() for each in text)
    return -(-plain // CHARACTERS) + len(text) - plain


#: The table's name in BERT, RoBERTa, MPNet and DistilBERT, and what int8 adds to it.
_TABLE: Final = "word_embeddings.weight"
_QUANTISED, _ZERO = "_quantized", "_zero_point"

#: Fields of ONNX's messages: a model's graph, the graph's tensors, and of a tensor its dimensions
#: (the last one is meant), kind, whole numbers, name and bytes.
_GRAPH, _TENSOR, _WIDTH, _KIND, _INTS, _NAME, _RAW = 7, 5, 1, 2, 5, 8, 9

#: ONNX's number of a kind -> numpy's name.
_KINDS: Final = {1: "<f4", 2: "u1", 3: "i1"}

#: Rows that are floats at once: 6 MB at 384 numbers, whatever the table's size.
_BLOCK: Final = 4_096

#: Words (19 MB) and texts (some 10 MB) whose pieces are remembered.
_WORDS, _TEXTS = 100_000, 10_000

_LETTERS = re.compile(r"\w+")

#: Of the bytes of ASCII those that are in words, as small letters; a blank for all others.
_PLAIN: Final = bytes(
    ord((_LETTERS.match(chr(n)) and chr(n).lower()) or " ") for n in range(128)
).ljust(256)

#: What BERT's tokeniser is made of.
_BERT: Final = {"WordPiece", "BertPreTokenizer", "BertNormalizer"}

#: How the number of a piece is kept: in 64 bits.
_ID: Final = "q"


def load_pieces(folder: Path | None) -> Pieces | None:
    """Return the pieces of the compiled model in a folder (blocks: it reads the model's file).

    None where there is no such model, or none with a table that is understood.
    """
    if folder is None:
        return None
    try:
        return Pieces(_vectors(folder / ONNX), make_cutter(folder / TOKENIZER))
    except (ImportError, OSError, ValueError, LookupError) as error:
        log.warning("turns of conversations are not compared by pieces: %s", error)
        return None


def compress(rows: NDArray[Any], zero: int = 0) -> NDArray[np.int8]:
    """Return `WIDTH` bytes for each row of a table; `zero` is what 0 is in it."""

    def blocks() -> Iterator[tuple[int, NDArray[np.float32]]]:
        for begin in range(0, len(rows), _BLOCK):
            yield begin, scale_rows(rows[begin : begin + _BLOCK].astype(np.float64) - zero)

    width, count = rows.shape[1], max(len(rows) - WORDS_FROM, 1)
    total, products = np.zeros(width), np.zeros((width, width))
    for begin, some in blocks():
        words = some[max(WORDS_FROM - begin, 0) :]
        total += words.sum(axis=0)
        products += words.T @ words
    mean = total / count
    _, axes = np.linalg.eigh(products - count * np.outer(mean, mean))
    made = [
        scale_rows(scale_rows(some - mean) @ axes[:, : -WIDTH - 1 : -1]) for _, some in blocks()
    ]
    return np.rint(SCALE * np.concatenate(made)).astype(np.int8)


def make_cutter(path: Path) -> Callable[[str], NDArray[np.int64]]:
    """Return what gives the pieces of a text's words by a tokeniser's file, without marks.

    What the tokeniser does not know has none. Raises `OSError`, `ValueError`, `ImportError`.
    """
    from tokenizers import Tokenizer  # noqa: PLC0415 - with the model, not with the daemon

    tokenizer = Tokenizer.from_str(path.read_text("utf-8"))
    tokenizer.no_padding()
    model = tokenizer.model  # each time it is asked for, another object is made
    kinds = map(type, (model, tokenizer.pre_tokenizer, tokenizer.normalizer))
    unknown = tokenizer.token_to_id(getattr(model, "unk_token", None) or "[UNK]")
    # What is done before BERT's own model leaves a word of letters and digits as it is.
    is_bert = {each.__name__ for each in kinds} == _BERT

    class Known(dict[bytes, bytes]):
        """Words with their pieces. Bytes are put together in a tenth of the time of numbers."""

        def __missing__(self, word: bytes) -> bytes:
            if is_bert and word.isalnum():  # a fifth of the time; no byte of another letter is one
                cut = [each.id for each in model.tokenize(word.decode())]
            else:
                # Behind a blank, because some tokenisers mark where a word begins.
                cut = tokenizer.encode(f" {word.decode()}", add_special_tokens=False).ids
            # An array is made in half of the time of numpy's.
            found = array(_ID, [each for each in cut if each != unknown])
            if len(self) >= _WORDS:
                self.clear()
            return self.setdefault(word, found.tobytes())

    known = Known()

    @lru_cache(maxsize=_TEXTS)
    def cut(text: str) -> NDArray[np.int64]:
        return np.frombuffer(b"".join(map(known.__getitem__, _words(text))), _ID)

    return cut


def _words(text: str) -> list[bytes]:
    """Return the words of a text in small letters; of ASCII in a quarter of the time of others."""
    if text.isascii():
        return text.encode().translate(_PLAIN).split()
    return [each.encode() for each in _LETTERS.findall(text.lower())]


def _vectors(path: Path) -> NDArray[np.int8]:
    """Return the table of a model's file; raises `OSError`, `ValueError`, `LookupError`."""
    graph = dict(_fields(np.memmap(path, np.uint8, "r").data))[_GRAPH]
    found: dict[str, dict[int, Any]] = {}
    for tensor in (dict(_fields(each)) for number, each in _fields(graph) if number == _TENSOR):
        _, is_table, kind = bytes(tensor[_NAME]).decode().partition(_TABLE)
        if is_table:
            found[kind] = tensor
    table = found.get(_QUANTISED) or found[""]
    rows = np.frombuffer(table[_RAW], _KINDS[table[_KIND]]).reshape(-1, table[_WIDTH])
    return compress(rows, _varint(found.get(_ZERO, {}).get(_INTS, b"\0"), 0)[0])


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message, which are numbers and runs of bytes; raises `ValueError`."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        value, at = _varint(data, at)
        if key & 7 == 0:
            yield key >> 3, value
        elif key & 7 == 2 and at + value <= len(data):  # noqa: PLR2004 - Protocol Buffers' number
            yield key >> 3, data[at : at + value]
            at += value
        else:
            raise ValueError("the model's file has a field that cannot be read")


def _varint(data: memoryview | bytes, at: int) -> tuple[int, int]:
    """Return the number that begins there, seven bits a byte and lowest first, and its end."""
    value = shift = 0
    while (byte := data[at]) & 0x80:
        value |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
    return value | byte << shift, at + 1
