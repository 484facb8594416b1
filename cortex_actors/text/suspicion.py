"""Why a text is never spread to other projects before a person has said that it may be.

Quarantine keeps back what looks like an attack (`injection`). This is asked once more where a text
would become a principle, speak in every project, and be read by every agent, and it is told more
easily: it holds for whatever is dangerous when it is wrong (credentials that are moved, programs
that are fed from a pipe, addresses that are obeyed, markup, code that breaks its reader). A false
alarm costs one look; a rule that forbids such things passes. What a person approved for use in one
project has to be approved for all of them as well.

Whether a text is what tools and templates write into every instruction file.

"This file provides guidance to Claude Code (claude.ai/code) when working with code in this
repository." stands in every fifth one: it is true wherever it stands and says nothing. Kept like
any other text, but its evidence weighs little, or it would be what most projects agree on.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from cortex_actors.text.credentials import mask_secrets
from cortex_actors.text.hazards import LOOKED_AT, hidden, suspicion

#: Texts of which the answer is remembered: each run asks about the same ones (some MB).
_REMEMBERED = 8_192

#: Letters of the sentence before a match in which a word that forbids it is looked for.
_BEFORE = 90

#: What forbids the words behind it.
_WARNS = re.compile(
    r"\b(?:never|not|don'?t|mustn'?t|shouldn'?t|can'?t|cannot|won'?t|avoid|without|no|nor"
    r"|instead of|rather than|forbid\w*|prohibit\w*|disallow\w*|prevent\w*|reject\w*|block\w*)\b"
    r"(?P<between>[^.!?;:]*)\Z"
)

#: What turns a word that forbids into its opposite, or begins another thought.
_TURNS = re.compile(
    r"\b(?:forget\w*|fail\w*|hesitat\w*|neglect\w*|omit\w*|worry|mind|wait|ask\w*|tell\w*|mention"
    r"|but|then|just|simply|always|also|please|must|now|first|unless|until|except|problem|need"
    r"|required|only|matter|longer|stop\w*|skip\w*|miss\w*)\b"
)

_OUT = (
    r"(?:send|post|upload|transmit|forward|e-?mail|paste|share|copy|copies|export|attach|print"
    r"|echo|show|reveal|display|dump|log|collect|gather|harvest|encode|exfiltrate|publish|commit"
    r"|push|embed|append|output|leak|report|cat|read|grep|find|write|include|submit|curl|steal"
    r"|put|place|add|hard-?cod|stor|expos)(?:e|s|es|d|ed|ing)?"
)
_PRIVATE_WORDS = (
    r"(?:passwords?|passphrases?|credentials?|api[ _-]?keys?|(?:access|auth|api|session|bearer"
    r"|refresh|github|npm|secret|user'?s)[ _-]?(?:tokens?|keys?)|secrets?\b(?! manager)"
    r"|private keys?|ssh keys?|cookies?|\.env\b(?!\.(?:example|sample|template))"
    r"|env(?:ironment)? variables?|id_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|keychain|\.netrc|wallets?"
    r"|seed phrases?|/etc/(?:passwd|shadow)|\.aws\b|\.ssh\b|\.npmrc|\.git-credentials)"
)
#: Letters of other scripts that look like those of this one, between which they have no place.
_ALIKE = "[\u0400-\u04ff\u03b1\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5]"
_URL = r"(?:https?|ftp|wss?)://(?!(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?:[:/\s`]|\Z))"
_ACT = (
    r"(?:fetch|download|run|execute|install|curl|wget|send|post|upload|visit|open|load|follow"
    r"|clone|obey|apply|submit|report|call|import|pipe|eval|get|add|include|append|paste|forward)"
)


class _Warning(NamedTuple):
    """One thing to be wary of, and what a person is told of it."""

    told: str
    pattern: re.Pattern[str]
    #: Whether a word before it that forbids it makes it a rule like any other.
    may_be_forbidden: bool = True


#: The first that is met is told. Patterns are bounded everywhere, so that their cost is linear.
_SIGNS = (
    _Warning(
        "it has letters that cannot be seen",
        re.compile(r"\\u\{[0-9a-f]{4,6}\}|\\x\{[0-9a-f]{2}\}"),
        may_be_forbidden=False,
    ),
    _Warning(
        "it has letters that look like others",
        re.compile(rf"[a-z]{_ALIKE}|{_ALIKE}[a-z]"),
        may_be_forbidden=False,
    ),
    _Warning(
        "it keeps the person out who would say no",
        re.compile(
            r"\b(?:never|not|don'?t)\s+(?:ever\s+)?(?:ask|confirm|wait|prompt|tell|inform|show|mention)"
            r"\w*\b[^.!?\n]{0,30}?\b(?:users?|humans?|owners?|permission|approval|confirmation|consent)\b"
        ),
        may_be_forbidden=False,
    ),
    _Warning(
        "it does without the person who would say no",
        re.compile(
            r"\bwithout\s+(?:\w+\s+){0,2}(?:asking|permission|approval|confirm(?:ation|ing)|consent"
            r"|reviews?|reading)\b|\b(?:answer|say|reply)\s+yes\b|\bsecret\s+from\b"
            r"|\bauto-?(?:accept|approv|confirm)\w*|\bapprove\s+(?:every|all|any)\b"
        ),
    ),
    _Warning(
        "it moves credentials",
        re.compile(rf"\b{_OUT}\b[^.!?\n]{{0,60}}?{_PRIVATE_WORDS}"),
    ),
    _Warning(
        "it feeds a program from a pipe, or runs what a command says",
        re.compile(
            r"\|\s*(?:sudo\s+)?(?:env\s+)?(?:/\S{0,40}/)?(?:(?:ba|z|da|k|fi|pw)?sh|python[\d.]*"
            r"|perl|ruby|node|php|iex|eval|xargs)\b|\beval\s*[\"'(]?\s*(?:\$\(|`)"
            r"|\bbase64\s+-{1,2}d|/dev/tcp/|\b(?:ba|z|da)?sh\s+(?:-c|<\()|\bnc(?:at)?\s[^\n]{0,40}-e"
        ),
    ),
    _Warning(
        "it destroys what is there",
        re.compile(
            r"\brm\s+-[a-z]{0,6}[rf]|\bmkfs\b|\bdd\s+if=|:\(\)\s*\{|\bchmod\s+(?:-r\s+)?[0-7]?777"
            r"|\bdrop\s+(?:table|database|schema)\b|\btruncate\s+table\b|\bshred\s+-|>\s*/dev/sd"
        ),
    ),
    _Warning(
        "it takes a safeguard away",
        re.compile(
            r"\b(?:disabl|turn(?:ing)? off|bypass|weaken|switch off|circumvent|remov|skip|ignor)\w*"
            r"\b[^.!?\n]{0,40}?\b(?:auth\w*|tls|ssl|certificates?|signatures?|sandbox\w*|csrf|cors"
            r"|firewalls?|2fa|mfa|security|permissions?|audit\w*|access checks?|antivirus"
            r"|safeguards?|guard ?rails?)\b"
            r"|--no-verify\b|--insecure\b|\bverify\s*=\s*false|stricthostkeychecking[ =]no"
            r"|reject_unauthorized\W{1,4}0|\bhookspath\b|\bregistry\b[^\n]{0,20}https?:"
            r"|\btrust\s+(?:all|any)\b|\bpush\b[^.!?\n]{0,40}?(?:--force\b(?!-)|\s-f\b)"
            r"|--dangerously-\w|\b(?:back ?door|reverse shell|keylogger|rootkit)s?\b"
        ),
    ),
    _Warning(
        "it asks to do something with an address on the web",
        re.compile(
            rf"\b{_ACT}(?:s|es|ed|ing)?\b[^\n]{{0,120}}?{_URL}|{_URL}[^\n]{{0,120}}?\b{_ACT}\b"
        ),
    ),
    _Warning(
        "it is markup that a page or a program would run",
        re.compile(
            r"</?(?:script|iframe|object|embed|style|link|meta|base|form|svg|math|template|noscript"
            r"|xml|details|marquee)\b|<[a-z][\w-]{0,20}\s[^>\n]{0,80}?(?:\bon\w{2,20}|\bsrc|\bhref"
            r"|\bstyle|srcdoc)\s*=|<!--|-->|<!\[cdata|<!doctype|<\?\w|\bjavascript\s*:"
            r"|\bdata:text/html|\{\{[^}\n]{1,80}\}\}|<%"
        ),
        may_be_forbidden=False,
    ),
    _Warning(
        "it opens or closes a block of the file it would be written into",
        re.compile(
            r"```|~~~|^\s{0,3}#{1,6}\s|^\s{0,3}(?:---|===)|cortex:(?:begin|end)|^\[[^\]]+\]:"
        ),
        may_be_forbidden=False,
    ),
    _Warning(
        "it imports a file from outside the project",
        re.compile(
            r"@(?:~|/(?:etc|home|users|root|proc|var|private|tmp|mnt|opt)\b|\.\./|\\\\|[a-z]:)"
        ),
        may_be_forbidden=False,
    ),
    _Warning(
        "it breaks what reads it",
        re.compile(
            r"'\s*(?:or|and)\s+'?\d+'?\s*=\s*'?\d|'\s*;\s*--|\bunion\s+(?:all\s+)?select\b"
            r"|&\w{1,20}\s*\[|\*\w{1,20}\s*,\s*\*\w|!!python/|\((?:[^()\n]{1,20}[+*])\)[+*{]"
            r"|\bnear\s*\(|__proto__|\$\{jndi:|%00|\\x00|\.\./\.\./"
        ),
        may_be_forbidden=False,
    ),
)


@lru_cache(maxsize=_REMEMBERED)
def wary(text: str) -> str | None:
    """Return why a person has to approve a text before it may become a principle; None if not.

    Letters that only look different count as what they look like. Cost is linear in the text.
    """
    if hidden(text):
        return _SIGNS[0].told
    if mask_secrets(text).secrets:
        return "it holds what looks like a secret"
    if (why := suspicion(text)) is not None:
        return why
    plain = unicodedata.normalize("NFKC", text[:LOOKED_AT]).lower().replace("\u2019", "'")
    lines = [" ".join(line.split()) for line in plain.splitlines()]
    read = [*lines, " ".join(lines)] if len(lines) > 1 else lines
    return next((sign.told for sign in _SIGNS for line in read if _warns(sign, line)), None)


def _warns(sign: _Warning, line: str) -> bool:
    """Tell whether a line has the sign and does not forbid what it names."""
    return any(
        not (sign.may_be_forbidden and _is_forbidden(line, match.start()))
        for match in sign.pattern.finditer(line)
    )


def _is_forbidden(line: str, at: int) -> bool:
    """Tell whether the words before a place forbid what stands there, and nothing turns that."""
    found = _WARNS.search(line, max(0, at - _BEFORE), at)
    return found is not None and _TURNS.search(found["between"]) is None


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
