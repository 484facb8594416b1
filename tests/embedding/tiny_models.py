"""Small models with random weights, saved as sentence-transformers saves them; imports torch."""

from __future__ import annotations

import json
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cortex_actors.embedding import calibration

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

#: Numbers of a token's vector, and tokens of a text, in these models.
WIDTH, WINDOW = 32, 48

#: Entries of their vocabularies.
WORDS = 500


def bert(folder: Path) -> None:
    """Save a BERT whose vector is its first token's, through a dense layer, and not scaled."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from transformers import BertConfig, BertModel  # noqa: PLC0415

    config = BertConfig(vocab_size=WORDS, max_position_embeddings=WINDOW, **_sizes())
    first = _transformer(folder, BertModel(config), word_pieces())
    dense = _modules().Dense(WIDTH, 24)
    SentenceTransformer(modules=[first, _modules().Pooling(WIDTH, "cls"), dense]).save(str(folder))


def roberta(folder: Path) -> None:
    """Save a RoBERTa: bytes, no token types, positions counted from behind the padding's id."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from transformers import RobertaConfig, RobertaModel  # noqa: PLC0415

    config = RobertaConfig(
        vocab_size=WORDS, max_position_embeddings=WINDOW + 2, pad_token_id=1, **_sizes()
    )
    first = _transformer(folder, RobertaModel(config), _byte_pairs())
    SentenceTransformer(
        modules=[first, _modules().Pooling(WIDTH, "mean"), _modules().Normalize()]
    ).save(str(folder))


def mpnet(folder: Path) -> None:
    """Save an MPNet, whose positions are relative as well, with the largest number of each kind."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from transformers import MPNetConfig, MPNetModel  # noqa: PLC0415

    config = MPNetConfig(
        vocab_size=WORDS, max_position_embeddings=WINDOW + 2, pad_token_id=1, **_sizes()
    )
    first = _transformer(folder, MPNetModel(config), _byte_pairs())
    modules = [first, _modules().Pooling(WIDTH, "max"), _modules().Normalize()]
    SentenceTransformer(modules=modules).save(str(folder))


def recurrent(folder: Path) -> None:
    """Save a model with a module that has no compiled form."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415
    from transformers import BertConfig, BertModel  # noqa: PLC0415

    config = BertConfig(vocab_size=WORDS, max_position_embeddings=WINDOW, **_sizes())
    first = _transformer(folder, BertModel(config), word_pieces())
    SentenceTransformer(
        modules=[first, _modules().LSTM(WIDTH, 16), _modules().Pooling(WIDTH, "mean")]
    ).save(str(folder))


#: Name -> how it is saved.
MODELS: Mapping[str, Callable[[Path], None]] = {
    "bert": bert,
    "roberta": roberta,
    "mpnet": mpnet,
    "recurrent": recurrent,
}


def _modules() -> Any:
    """Return sentence-transformers' modules under the name they have had since its beginning."""
    return import_module("sentence_transformers.models")


def _sizes() -> dict[str, Any]:
    return {
        "hidden_size": WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }


def _transformer(folder: Path, model: Any, tokenizer: Any) -> Any:
    """Return sentence-transformers' module of a transformers model, saved on the way."""
    place = folder.with_name(f"{folder.name}-transformer")
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    (place / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": WINDOW}))
    return _modules().Transformer(str(place), max_seq_length=WINDOW)


def word_pieces() -> Any:
    """Return a tokeniser of word pieces, as BERT has one."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers  # noqa: PLC0415

    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=WORDS,
        limit_alphabet=WORDS // 2,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
        show_progress=False,
    )
    made.train_from_iterator(calibration.load_texts(), trainer)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return _fast(
        made, pad="[PAD]", unk="[UNK]", inputs=["input_ids", "token_type_ids", "attention_mask"]
    )


def _byte_pairs() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers  # noqa: PLC0415

    made = Tokenizer(models.BPE(unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.train_from_iterator(
        calibration.load_texts(),
        trainers.BpeTrainer(
            vocab_size=WORDS,
            special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return _fast(made, pad="<pad>", unk="<unk>", inputs=["input_ids", "attention_mask"])


def _fast(tokenizer: Any, *, pad: str, unk: str, inputs: list[str]) -> Any:
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=pad,
        unk_token=unk,
        model_input_names=inputs,
        model_max_length=WINDOW,
    )
