"""Whether a text is what tools and templates write into every instruction file.

"This file provides guidance to Claude Code (claude.ai/code) when working with code in this
repository." stands in every fifth one: it is true wherever it stands and says nothing. Kept like
any other text, but its evidence weighs little, or it would be what most projects agree on.
"""

from __future__ import annotations

import re

#: Letters of the longest text that is looked at: templates are short, and a long text has
#: something of its own to say.
LONGEST = 400

#: Decoration that is no part of the words: quotes, emphasis, list and heading marks.
_DECORATION = re.compile(r"(?:^[\s>#*+-]+)|[*_`\"\u201c\u201d]")
_SPACES = re.compile(r"\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")

#: Who is spoken to, what the text is about itself, and where.
_FILE = (
    r"(?:this (?:file|document|guide|page)|(?:claude|agents|gemini)\.md"
    r"|\.(?:cursor|windsurf)rules|the (?:following|below)(?: file| document)?)"
)
_READERS = (
    r"(?:claude(?: code)?|codex(?: cli)?|copilot|github copilot|cursor|gemini(?: cli)?|windsurf"
    r"|(?:ai|llm|coding|automated|other|all|your)?[ -]?(?:ai|llm|coding|code|software)?[ -]?"
    r"(?:agents?|assistants?|tools?|contributors?|developers?|models?))"
)
_ADVICE = (
    r"(?:guidance|guidelines?|instructions?|rules|context|information|conventions|best practices"
    r"|documentation|an? overview|onboarding)"
)
_WORK = (
    r"(?:(?:when|while|for|on how to|how to) )?(?:working|work|contributing|operating|operate"
    r"|collaborating|interacting|developing|coding)\b"
)
#: ", a ..." goes on to say what the project is.
_REST = r"(?:(?!, an? )[^;:]){0,140}"

#: Sentences that say nothing of a project, in lower case and without decoration.
_EMPTY = tuple(
    re.compile(pattern)
    for pattern in (
        (
            rf"{_FILE} (?:provides?|contains?|gives?|offers?|holds?|describes?|defines?|documents?"
            rf"|outlines?|includes?|serves as|is)\b[^.;:]{{0,60}}\b{_ADVICE}\b[^.;:]{{0,60}}"
            rf"\b(?:{_READERS}|{_WORK}){_REST}"
        ),
        (
            rf"{_FILE} (?:governs?|configures?|defines?|describes?|explains?|summari[sz]es) how"
            rf"[^.;:]{{0,30}}\b(?:{_READERS}|{_WORK}){_REST}"
        ),
        (
            rf"(?:shared |project |repository |general |development )?{_ADVICE} for"
            rf"[^.;:]{{0,40}}\b{_READERS}\b[^;:]{{0,140}}\b{_WORK}{_REST}"
        ),
        (
            r"(?:see|read|refer to|consult|follow|check|use)\b[^.;:]{0,50}"
            r"\b(?:agents|claude|gemini)\.md"
            r"(?:,? (?:for|in)\b[^.;:]{0,80}"
            r"\b(?:guidance|guidelines|instructions|rules|conventions|details|information)"
            r"[^.;:]{0,60})?"
        ),
        r"(?:claude|agents|gemini)\.md is a (?:symlink|link|pointer|symbolic link)[^;:]{0,60}",
        (
            rf"(?:please )?(?:keep|update) {_FILE}[^;:]{{0,20}}\b(?:up[ -]to[ -]date|updated"
            r"|current|as (?:the|your))[^;:]{0,80}"
        ),
        rf"{_FILE} (?:should|must) be (?:kept|updated)[^;:]{{0,100}}",
        r"(?:leave|keep) the (?:start|begin)[^.;:]{0,10} (?:and|&) end comments[^;:]{0,60}",
        rf"{_FILE} (?:is|was) (?:auto-?|automatically )?(?:generated|managed)[^;:]{{0,80}}",
    )
)


def is_boilerplate(text: str) -> bool:
    """Tell whether every sentence of a text says only that, and for whom, the file is there.

    A sentence that goes on to say something (after a colon, a semicolon) is none.
    """
    if len(text) > LONGEST:
        return False
    plain = _SPACES.sub(" ", _DECORATION.sub("", text)).strip().lower()
    sentences = [each.rstrip(".! ") for each in _SENTENCE.split(plain)]
    return bool(plain) and all(
        any(pattern.fullmatch(sentence) for pattern in _EMPTY) for sentence in sentences
    )
