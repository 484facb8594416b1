"""The entailment model's child as it is, but that it saves its model first: torch takes seconds.

The model is a BERT of two layers whose last layer always says the same, so that what it says is
known: it is sure of a contradiction, its third output.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from cortex_actors.judging import nli_child
from tests.embedding import tiny_models

#: What its outputs are called, and what they are before they become probabilities.
LABELS = {0: "entailment", 1: "neutral", 2: "contradiction"}
LOGITS = (0.0, 1.0, 6.0)


def save(folder: Path) -> None:
    """Save the model in a folder, over what looks like one."""
    from transformers import BertConfig, BertForSequenceClassification  # noqa: PLC0415

    torch = import_module("torch")
    config = BertConfig(
        vocab_size=tiny_models.WORDS,
        max_position_embeddings=tiny_models.WINDOW,
        id2label=LABELS,
        label2id={label: number for number, label in LABELS.items()},
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )
    model = BertForSequenceClassification(config)
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.copy_(torch.tensor(LOGITS))
    model.save_pretrained(folder)
    tiny_models.word_pieces().save_pretrained(folder)


if __name__ == "__main__":
    save(Path(sys.argv[-1]))
    nli_child.main(sys.argv[1:], niceness=0)
