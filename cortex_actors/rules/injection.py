"""Whether a text reads as if it were meant to take an agent over.

Knowledge that flows between projects is a path for poison: one poisoned file would speak in all of
them. No list of phrases stops a determined author; this one sees that the usual ones wait for a
person. A false alarm costs a look, so it asks for the shape of an attack (an order to disregard
orders, a download that is run, a credential that is sent somewhere), never for a word alone, and
lets rules that forbid such things pass.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

#: Letters of a text that are looked at: a longer statement is no rule anybody wrote.
LOOKED_AT = 20_000

#: Letters before a match in which a word that forbids it is looked for.
_BEFORE = 90

#: What turns an order into its opposite: "never send tokens to ...", "do not run `curl | sh`".
_FORBIDS = re.compile(
    r"\b(?:never|not|don'?t|doesn'?t|cannot|can'?t|mustn'?t|shouldn'?t|won'?t|avoid|without|no"
    r"|forbid\w*|prohibit\w*|prevent\w*|block\w*|reject\w*|refuse\w*|detect\w*|disallow\w*)\b[^.!?\n]*\Z"
)

_ORDERS = (
    r"(?:instructions?|directions?|prompts?|rules|guidelines|guidance|messages?|orders|constraints"
    r"|restrictions|safeguards|context|conversation|policies|directives|programming|training)"
)
_EARLIER = (
    r"(?:previous|prior|earlier|above|preceding|foregoing|existing|former|initial|original|other"
    r"|your|system|developer|safety|built-in|default|security)"
)
_PRIVATE = (
    r"(?:passwords?|passphrases?|credentials?|api[ _-]?keys?|(?:access|auth|api|session|bearer"
    r"|refresh|github|secret)[ _-]?(?:tokens?|keys?)|secrets?|private keys?|ssh keys?|cookies?"
    r"|env(?:ironment)? variables?|\.env\b|id_(?:rsa|ed25519|ecdsa)\b(?!\.pub)|keychain|\.netrc"
    r"|wallets?|seed phrases?|/etc/(?:passwd|shadow)|\.aws/|\.ssh/)"
)
_ADDRESS = r"(?:https?://|ftp://|wss?://|\b[\w.-]+@[\w-]+\.[a-z]{2,}|webhook\b|pastebin|\bdns\b)"
_SHELL = r"(?:sudo\s+(?:-\w+\s+)?)?(?:/\S*/)?(?:env\s+)?(?:ba|z|da|k|fi|pwsh|power)?sh(?:ell)?\b"
_INTERPRETER = (
    rf"(?:{_SHELL}|(?:sudo\s+)?(?:python[\d.]*|perl|ruby|node|php|iex)\b(?!\s+(?:-[mce]|[\w/]+\.)))"
)
_PRIVATE_FILE = (
    r"(?:~|\$home|/home/\w+|/roo[t]|/users/\w+|%userprofile%)[/\\]"
    r"(?:\.ssh/(?!config\b|known_hosts\b|\w+\.pub\b)\w*|\.aws/credentials|\.netrc|\.git-credentials"
    r"|\.kube/config|\.npmrc|\.pypirc|\.gnupg|\.docker/config\.json|\.bash_history|\.zsh_history)"
)


@dataclass(frozen=True, slots=True)
class _Sign:
    """One shape of an attack, and what a person is told of it."""

    told: str
    #: What a line must hold, one of them, before the pattern is tried at all.
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    #: Whether a word before it that forbids it makes it a rule like any other.
    may_be_forbidden: bool = True


def _sign(told: str, anchors: str, *patterns: str, may_be_forbidden: bool = True) -> _Sign:
    """Return a sign; its patterns are for lower-case text of one line."""
    pattern = re.compile("|".join(patterns))
    return _Sign(told, tuple(anchors.split()), pattern, may_be_forbidden)


#: The first that is met is told. Patterns are bounded everywhere, so that their cost is linear.
SIGNS = (
    _sign(
        "it asks to disregard other instructions",
        "ignore disregard forget overrid bypass discard overrul neglect supersede"
        " replace precedence",
        rf"\b(?:ignore|disregard|forget|override|bypass|discard|overrule|neglect)\b[^.!?]{{0,30}}?"
        rf"\b(?:all|any|every|everything|{_EARLIER})\b[^.!?]{{0,30}}?\b{_ORDERS}\b",
        r"\b(?:ignore|disregard|forget) (?:everything|all|anything)"
        r" (?:that (?:was|has been|is|you)|you(?:'ve| have| were)?|above|before|said|else)\b",
        r"\b(?:ignore|disregard|forget) (?:every|each|any) (?:single )?(?:rule|guideline|order"
        r"|constraint|policy|safeguard) (?:above|before)\b",
        r"\b(?:ignore|disregard) (?:the |your )?(?:user|human|developer|operator)\b(?!['-]| \w)",
        r"\b(?:these|this|the following|my) (?:instructions?|rules?|file|message)"
        r" (?:overrides?|supersedes?|replaces?|takes? precedence over)"
        r" (?:all|any|every|your|the (?:system|developer|user))\b"
        rf"[^.!?]{{0,30}}?\b(?:{_ORDERS}|user|requests?)\b",
    ),
    _sign(
        "it gives the agent another role",
        "you pretend enter switch activate enable",
        r"\b(?:you are (?:now|no longer)|from now on,? you (?:are|will be|act as)"
        r"|pretend (?:to be|that you)|enter|switch to|activate|enable)\b[^.!?]{0,40}?"
        r"\b(?:dan|jailbr\w+|unrestricted|unfiltered|developer mode|god mode|no restrictions"
        r"|without (?:any )?restrictions|bound by|evil|root user|an ai without)\b",
        may_be_forbidden=False,
    ),
    _sign(
        "it poses as a message of the system",
        "< [ system",
        r"<\|?(?:im_start|im_end|system|endoftext|assistant)\|>|\[/?inst\]|<</?sys>>",
        r"</?(?:system|system-reminder|system_prompt|assistant|instructions)>",
        r"^\W{0,6}(?:new )?system (?:message|prompt|override|instruction)s?\W{0,3}:",
        r"\[(?:system|admin|developer)[^\]]{0,20}\]\s*:",
        may_be_forbidden=False,
    ),
    _sign(
        "it asks for the prompt of the system",
        "prompt instruction message",
        r"\b(?:reveal|print|show|repeat|output|leak|disclose|send|post|dump|tell)\b[^.!?]{0,30}?"
        r"\b(?:your|the|full|entire) (?:[\w-]+ ){0,2}?(?:system|hidden|initial|developer)"
        r" (?:prompt|instructions?|message)\b",
    ),
    _sign(
        "it asks to keep something from the user",
        "user human developer operator owner any",
        r"\b(?:do not|don'?t|never) (?:\w+ )?(?:tell|inform|notify|alert|mention|reveal|show|warn)"
        r"[^.!?]{0,30}?\b(?:the )?(?:user|human|developer|operator|owner|anyone|anybody)\b"
        r"(?:[^.!?]{0,20}?\b(?:this|these|about|that you|what you)\b|\W*$)",
        r"\b(?:without (?:telling|asking|informing|notifying|alerting|the knowledge of)"
        r"|behind the back of) (?:the )?(?:user|human|developer|operator|owner|anyone)\b"
        rf"[^.!?]{{0,80}}?\b(?:{_PRIVATE}|{_ADDRESS}|delete|send|upload)",
        may_be_forbidden=False,
    ),
    _sign(
        "it asks for something to be done in secret",
        "secretly silently covertly quietly",
        r"\b(?:secretly|silently|covertly|quietly)\b[^.!?]{0,40}?\b(?:send|upload|post|copy|run"
        r"|execute|install|exfiltrate|forward|add|insert|collect)\b[^.!?]{0,60}?"
        rf"(?:{_PRIVATE}|{_ADDRESS}|data|backdoor|command)",
    ),
    _sign(
        "it pipes what it downloads, or decodes, into a program",
        "| $( ` <( iex -e /dev/tcp",
        rf"\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod)\b[^|\n]{{0,300}}"
        rf"\|\s*(?:tee [^|\n]{{0,60}}\|\s*)?{_INTERPRETER}",
        rf"\bbase64\s+(?:-d|-{{1,2}}decode)\b[^|\n]{{0,200}}\|\s*{_INTERPRETER}",
        rf"\b(?:eval|source|{_SHELL}(?:\s+-c)?)\s*[\"']?\s*(?:\$\(|`|<\()\s*(?:curl|wget|base64)\b",
        r"\biex\b[^\n]{0,20}\b(?:iwr|irm|downloadstring|new-object)\b",
        r"\bpowershell\b[^\n]{0,60}\s-e(?:nc|ncodedcommand)?\s+[a-z0-9+/=]{20}",
        r"/dev/tcp/[\w.]+/\d|\bnc(?:at)?\b[^\n]{0,40}\s-e\s",
    ),
    _sign(
        "it asks for credentials to be given away",
        "send upload post exfiltrat forward transmit mail leak submit paste report steal harvest"
        " curl | wget",
        rf"\b(?:send|upload|post|exfiltrate|forward|transmit|e-?mail|leak|submit|paste|report)\b"
        rf"[^.!?\n]{{0,80}}?{_PRIVATE}[^!?\n]{{0,80}}?\b(?:to|at|via|into)\b[^!?\n]{{0,40}}?"
        rf"(?:{_ADDRESS}|\b(?:me|us|attacker|server|endpoint|channel|url)\b)",
        rf"\b(?:exfiltrate|steal|harvest)\b[^.!?\n]{{0,60}}?(?:{_PRIVATE}|data)",
        r"\bcurl\b[^\n]{0,200}?(?:-d|--data\S*|-f|-t|--form|--upload-file)\s*[\"']?[^\n]{0,60}?"
        rf"(?:@{_PRIVATE_FILE}|\$\((?:cat|env|printenv)\b|@\.env\b)",
        r"\b(?:cat\b[^|\n]{0,80}\.env\b|printenv|env|base64)\b[^|\n]{0,80}"
        r"\|\s*(?:curl|nc|wget)\b",
    ),
    _sign(
        "it asks for private files of the user",
        "~ $home /home/ /roo /users/ %userprofile% /etc/",
        r"\b(?:read|cat|open|print|include|copy|show|load|output|type|less|head|tail|base64|zip"
        rf"|tar|attach|import)\b[^.!?\n]{{0,40}}?{_PRIVATE_FILE}",
        rf"@{_PRIVATE_FILE}|@/etc/(?:passwd|shadow)\b",
        r"\b(?:cat|read|print|include|output)\b[^.!?\n]{0,30}?/etc/shadow\b",
    ),
    _sign(
        "it asks to do what an address on the web says",
        "http:// https://",
        r"\b(?:follow|obey|execute|apply|carry out|do what)\b[^.!?\n]{0,60}?"
        r"\b(?:instructions?|commands?|steps|orders|script|rules)\b[^.!?\n]{0,40}?"
        r"\b(?:at|from|on|in|of|returned by)\b\W{0,3}https?://",
        r"\b(?:fetch|download|retrieve|get|load|open|visit|curl|wget)\b[^!?\n]{0,40}?https?://"
        r"[^\n]{0,120}?\b(?:and|then)\b[^.!?\n]{0,30}?"
        r"\b(?:run|execute|follow|obey|eval|source|do (?:what|as))\b",
    ),
    _sign(
        "it sends what the agent knows to an address on the web",
        "http:// https://",
        r"!\[[^\]\n]{0,100}\]\(\s*https?://[^)\n]{0,200}?[?&][^)\n]{0,80}?(?:\{|\$|<|%7b|\[)",
        r"\b(?:append|add|include|encode|put)\b[^!?\n]{0,60}?\b(?:conversation|history|context"
        rf"|prompt|{_PRIVATE})\b[^!?\n]{{0,60}}?\b(?:to|in|into|as)\b[^!?\n]{{0,30}}?https?://",
        r"\b(?:send|post|upload|forward|transmit|exfiltrate)\b[^.!?\n]{0,60}?"
        r"\b(?:conversation|chat|source code|codebase|repository|file contents?"
        r"|user'?s? (?:data|files))\b[^!?\n]{0,60}?\bto\b[^!?\n]{0,20}?https?://",
    ),
    _sign(
        "it tries to end the section that is written for agents",
        "cortex claude-mem-context",
        r"<!--\s*/?cortex:|</?(?:claude-mem-context|cortex-\w+)>",
        may_be_forbidden=False,
    ),
    _sign(
        "it asks to destroy what is not the project's",
        "rm :() mkfs dd",
        r"\brm\s+(?:-[a-z-]+\s+){1,3}[\"']?(?:/|~|\$home|/\*|~/\*)[\"']?(?:\s|$|[`;&|])",
        r":\(\)\s*\{\s*:\|:&\s*\};:|\bmkfs\.\w+\s+/dev/|\bdd\s+[^\n]{0,40}of=/dev/(?:sd|nvme|hd)",
    ),
)


def suspicion(text: str) -> str | None:
    """Return what makes a text look like an attack, as a person reads it; None for any other.

    Letters that only look different (full width, ligatures) count as what they look like. Cost is
    linear in the text.
    """
    plain = unicodedata.normalize("NFKC", text[:LOOKED_AT]).lower().replace("\u2019", "'")
    plain = plain.replace("...", "\u2026")
    lines = [" ".join(line.split()) for line in plain.splitlines()]
    # Once line by line, where commands stand, and once as a reader takes it in.
    read = [*lines, " ".join(lines)] if len(lines) > 1 else lines
    return next((sign.told for sign in SIGNS for line in read if _shows(sign, line)), None)


def _shows(sign: _Sign, line: str) -> bool:
    """Tell whether a line has the shape and does not forbid what it names."""
    return any(anchor in line for anchor in sign.anchors) and any(
        not (sign.may_be_forbidden and _FORBIDS.search(line, max(0, at - _BEFORE), at))
        for at in (match.start() for match in sign.pattern.finditer(line))
    )
