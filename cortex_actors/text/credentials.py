"""Secrets in a text: what is surely one is taken out before anything keeps the text.

Rules look for the shape that an issuer gives its keys, for private keys, for passwords in addresses
and for values under a name that says what they are. Randomness alone decides nothing: checksums
and identifiers are random, too, and a text without them means something else.

The shapes of secrets: what issuers' keys look like, and behind which words a secret stands.

A new issuer is one line. `anchors` are what a text must hold, in lower case, before the pattern is
tried at all; a pattern is linear: what repeats is bounded, or one class of letters that nothing
after it shares.

Clearing a text of secrets before anything keeps it: refused, or masked where that is wanted.

How a store's description names the token that the store wants: two spellings, one meaning.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from cortex_actors.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


#: Letters before a value in which its name is looked for.
BEFORE = 60

#: Letters of the next 80 among which there must be a digit: words with hyphens are no key.
_DIGIT = r"(?=[\w-]{0,80}\d)"


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret and where it stands: the group `value` of the pattern."""

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    #: What ends right where the pattern begins; None: no letter or digit does. Asked afterwards:
    #: a pattern that begins with many words, or looks back, is searched ten times as slowly.
    before: re.Pattern[str] | None = None
    #: What the value is, right behind the pattern. Asked last: a value may hold whatever another
    #: secret's name and value are made of, so one under no name must not pass over them.
    value: re.Pattern[str] | None = None

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield each match with a `value` that stands behind the right thing."""
        for begun in self.pattern.finditer(text):
            if self._follows(text, begun.start()):
                found = begun if self.value is None else self.value.match(text, begun.end())
                if found is not None:
                    yield found

    def _follows(self, text: str, place: int) -> bool:
        """Tell whether a match that begins there stands behind the right thing."""
        if self.before is None:
            return place == 0 or not text[place - 1].isalnum()
        return self.before.search(text, max(0, place - BEFORE), place) is not None


def _key(kind: str, anchors: str, pattern: str) -> Shape:
    """Return the shape of a key that is told by its own beginning."""
    return Shape(kind, tuple(anchors.split()), re.compile(f"(?P<value>{pattern})"))


def _after(kind: str, anchors: str, pattern: str, *, before: str = "", value: str = "") -> Shape:
    """Return the shape of a value that is told by what stands around it."""
    ends = re.compile(rf"(?i:{before})\Z")
    follows = re.compile(value) if value else None
    return Shape(kind, tuple(anchors.split()), re.compile(pattern), ends, follows)


#: Private keys: to their end, or as far as the lines of one that is never closed go. A text that
#: only names the header has no key.
_PRIVATE_KEY = (
    r"(?P<value>-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"(?=[\s\S]{0,300}?[A-Za-z0-9+/=]{40})"
    r"(?:(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{0,40}-----"
    r"|(?:[\s>|]*+(?:[A-Za-z-]{4,20}: [^\n]{0,80}|(?:\\n)?[A-Za-z0-9+/=]{16,}+))*+))"
)

#: What stands for a whole UUID.
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

#: Keys that say by themselves what they are; the longer beginning stands before the shorter.
KEYS = (
    _after("private-key", "-----begin", _PRIVATE_KEY),
    _key("age-key", "age-secret-key-1", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    _key("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _key("alibaba-key", "ltai", r"LTAI[A-Za-z0-9]{20}(?![A-Za-z0-9])"),
    _key("anthropic-key", "sk-ant-", rf"sk-ant-{_DIGIT}[\w-]{{20,300}}"),
    _key(
        "atlassian-token", "atatt3 atctt3 atbb", r"(?:AT[AC]TT3[\w=-]{50,300}|ATBB[A-Za-z0-9]{32})"
    ),
    _key("aws-access-key", "akia asia", r"A(?:KI|SI)A[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _key("clojars-token", "clojars_", r"CLOJARS_[0-9a-f]{60}"),
    _key("contentful-token", "cfpat-", rf"CFPAT-{_DIGIT}[\w-]{{43}}"),
    _key("databricks-token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _key("digitalocean-token", "_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _key(
        "discord-token", ".", r"[MNO](?=[A-Za-z]{0,26}\d)[A-Za-z\d]{23,27}\.[\w-]{6}\.[\w-]{27,40}"
    ),
    _key("docker-token", "dckr_", rf"dckr_(?:pat|oat)_{_DIGIT}[\w-]{{27,36}}"),
    _key(
        "doppler-token",
        "dp.",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[\w-]{1,40}\.)?[A-Za-z0-9]{40,44}",
    ),
    _key("dynatrace-token", "dt0c01.", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _key("facebook-token", "eaa", r"EAA(?:CEdEose0cBA|[A-Z])[A-Za-z0-9]{60,300}"),
    _key("figma-token", "figd_", rf"figd_{_DIGIT}[\w-]{{38,60}}"),
    _key("fly-token", "fo1_ fm2_", rf"(?:fo1_{_DIGIT}[\w-]{{43}}|fm2_[A-Za-z0-9+/=]{{80,800}})"),
    _key("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _key("github-token", "github_pat_", r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{50,90}"),
    _key(
        "gitlab-token",
        "gl",
        rf"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|imt|oas|ffct)-{_DIGIT}[\w.-]{{20,300}}",
    ),
    _key("google-key", "aiza", r"AIza[\w-]{35}(?![\w-])"),
    _key("google-secret", "gocspx-", r"GOCSPX-[\w-]{28}"),
    _key("google-token", "ya29.", rf"ya29\.{_DIGIT}[\w-]{{30,500}}"),
    _key("google-token", "1//0", rf"1//0{_DIGIT}[\w-]{{40,120}}"),
    _key(
        "grafana-token",
        "glc_ glsa_",
        r"(?:glc_[A-Za-z0-9+/=]{32,400}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8})",
    ),
    _key("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{48,60}"),
    _key("heroku-token", "hrku-", rf"HRKU-(?:{_UUID}|AA[\w-]{{50,80}})"),
    _key("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{34,40}(?![A-Za-z0-9])"),
    _key("json-web-token", "eyj", r"eyJ[\w-]{10,3000}\.[\w-]{10,6000}(?:\.[\w-]{0,3000}){1,3}"),
    _key("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    _key("linear-key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{40,64}"),
    _key("mailchimp-key", "-us", r"[0-9a-f]{32}-us\d{1,2}(?!\w)"),
    _key("mapbox-token", "sk.eyj", r"sk\.eyJ[\w-]{20,300}\.[\w-]{20,60}"),
    _key("netlify-token", "nfp_", r"nfp_[A-Za-z0-9]{36,50}"),
    _key("newrelic-key", "nrak- nrjs- nrii- nraa-", r"NR(?:AK|JS|II|AA)-[A-Za-z0-9-]{19,32}"),
    _key(
        "notion-token", "ntn_ secret_", r"(?:ntn_[A-Za-z0-9]{40,60}|secret_[A-Za-z0-9]{43}(?!\w))"
    ),
    _key("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _key("nuget-key", "oy2", r"oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    _key("onepassword-token", "ops_eyj", r"ops_eyJ[A-Za-z0-9+/=]{100,3000}"),
    _key("openai-key", "sk-", rf"sk-(?:proj|svcacct|admin|None|or-v1|lf)-{_DIGIT}[\w-]{{30,300}}"),
    _key("openai-key", "sk-", r"sk-(?=[A-Za-z]{0,80}\d)[A-Za-z0-9]{20,120}(?![\w-])"),
    _key("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,60}"),
    _key("planetscale-secret", "pscale_", rf"pscale_(?:tkn|pw|oauth)_{_DIGIT}[\w.=-]{{32,64}}"),
    _key("postman-key", "pmak-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _key("pulumi-token", "pul-", r"pul-[0-9a-f]{40}(?![A-Za-z0-9])"),
    _key("pypi-token", "pypi-", r"pypi-Ag[A-Za-z0-9_-]{50,400}"),
    _key("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37,40}(?![A-Za-z0-9])"),
    _key("rubygems-key", "rubygems_", r"rubygems_[0-9a-f]{48}"),
    _key("sendgrid-key", "sg.", r"SG\.[\w-]{22}\.[\w-]{43}"),
    _key("brevo-key", "xkeysib-", r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _key("sentry-token", "sntry", r"sntry[su]_[A-Za-z0-9+/=_]{60,400}"),
    _key("shopify-token", "shp", r"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}"),
    _key(
        "slack-token",
        "xox xapp-",
        rf"(?:xox[abeoprs]|xoxe\.xox[bp]|xapp)-{_DIGIT}[A-Za-z0-9-]{{10,300}}",
    ),
    _key(
        "slack-webhook",
        "hooks.slack",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/T[\w/]{30,120}",
    ),
    _key(
        "discord-webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/\d{17,20}/[\w-]{60,80}",
    ),
    _key("sonar-token", "sq", r"sq[apu]_[0-9a-f]{40}"),
    _key("square-token", "sq0", r"sq0(?:atp-[\w-]{22}|csp-[\w-]{43})"),
    _key("stripe-key", "_live_ _test_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{10,247}"),
    _key("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,80}"),
    _key("supabase-key", "sbp_ sb_secret_", r"(?:sbp_[0-9a-f]{40}|sb_secret_[\w-]{31,60})"),
    _key("tailscale-key", "tskey-", r"tskey-[a-z]{2,10}-[A-Za-z0-9]{8,30}-[A-Za-z0-9]{20,60}"),
    _key("tavily-key", "tvly-", rf"tvly-{_DIGIT}[\w-]{{28,60}}"),
    _key("telegram-token", ":aa", r"\d{8,10}:AA[\w-]{33}(?![\w-])"),
    _key("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,70}"),
    _key("twilio-key", "sk", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    _key("vault-token", "hvs. hvb. hvr.", rf"hv[sbr]\.{_DIGIT}[\w-]{{24,300}}"),
    _key("xai-key", "xai-", r"xai-[A-Za-z0-9]{70,90}"),
    _after("azure-key", "accountkey=", r"AccountKey=(?P<value>[A-Za-z0-9+/]{86}==)"),
    _after("azure-signature", "sig=", r"[?&;]sig=(?P<value>[A-Za-z0-9%/+]{40,80}(?:%3D|=))"),
    _after("mailgun-key", "mailgun", r"(?i:mailgun)[^\n]{0,40}?(?P<value>key-[0-9a-f]{32})(?!\w)"),
    _after("heroku-key", "heroku", rf"(?i:heroku)[^\n]{{0,40}}?[=:\s\"'](?P<value>{_UUID})"),
    _after(
        "aws-secret-key",
        "aws",
        r"(?i:aws)[\w.]{0,20}?(?i:secret|private)[\w. -]{0,20}[\"']?\s{0,4}(?:=>|[=:])\s{0,4}[\"']?"
        r"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
)

#: Names that say their value is a secret; after the weak ones a checksum is just as likely.
_STRONG = (
    r"(?:passw(?:or)?d|passphrase|pwd|(?:(?<![a-z])|ssh)pass|api[ _-]?key"
    r"|(?:secret|access|private|signing|encryption|master|account)[ _-]?key"
    r"|(?:client|app|webhook|jwt|shared)[ _-]?secret"
    r"|(?:auth|access|refresh|bearer|api|bot|personal)[ _-]?token)"
)
_WEAK = r"(?:secret|token|credential)"
_NAMES = "pass pwd key secret token credential"

#: Signs of a value that are read to judge it, but for its first one: no name costs more than that.
LONGEST = 512

#: A name that has a value of its own is none: in "the password is DB_PASSWORD=..." the name would
#: be looked at, and what stands behind it passed over. Nor is what is left of a secret: its marker.
_NAME = r"(?![a-z-]{3,40}\]|\w{0,60}(?i:pass|pwd|secret|token|key|credential)\w{0,30}=[^=\s])"

#: What may follow the quote that ends a value. One inside is doubled, escaped or put between others
#: as YAML, JSON and shells have it, or followed by more of the value.
_ENDED = r"(?=[\s,;:.!?)\]}>|&`*\"'\\]|\Z)"
_INSIDE = (
    rf"(?:'\"'\"'|'\\''|(?P=quote){{2}}|(?!(?P=quote){_ENDED})(?:\\.|[^\n\\])){{1,{LONGEST + 1}}}+"
)

#: Without quotes a value goes on to the next blank, unless another pair of name and value, a tag or
#: an end of a list comes before.
_BARE = (
    r"[^\s=>~,;&|)\"'`](?:(?![,;](?:\s|\Z|[\"'{\[])|(?:[,;]|&(?:amp;)?)[\w.-]{1,40}[\"']?[=:]"
    rf"|[\"'][}}\])]*,|</[A-Za-z]|<br)\S){{0,{LONGEST}}}+"
)
_OPEN = r"(?:(?P<quote>\\{0,3}[\"'`])|[\"'`]{0,2})"
_TEXT = rf"(?P<value>(?(quote){_INSIDE}|{_BARE}))(?(quote)(?P=quote){_ENDED})"
_VALUE = _OPEN + _NAME + _TEXT

_GIVEN = r"(?:[:=]>|:=|[:=>]|is\s)\s{0,4}"
_QUOTED = r"[\"'`*\\]{0,4}\s{0,4}(?:is)?"

#: Values that are told by what stands before them; how random they look decides.
NAMED = (
    _after("password", _NAMES, _GIVEN, before=_STRONG + _QUOTED, value=_VALUE),
    _after("password", "--", rf"--[\w-]{{0,30}}(?i:{_STRONG}|{_WEAK})\s{{1,4}}", value=_VALUE),
    _after("bearer-token", "bearer", r"[Bb](?i:earer)\s{1,4}(?P<value>[\w.~+/=-]{16,2000})"),
)

#: The same, where a checksum is no secret.
UNSURE = (
    _after(
        "token", "secret token credential", _GIVEN, before="(?<!:)" + _WEAK + _QUOTED, value=_VALUE
    ),
)

#: Passwords in addresses and in commands, and names with passwords as HTTP takes them.
IN_ADDRESSES = (
    _after(
        "password",
        "://",
        r"://(?P<user>[^\s/:@'\"<>`]{0,100}):(?P<value>[^\s/'\"<>`]{2,200})@(?=[\w\[$<{-])",
    ),
    _after(
        "password",
        "curl",
        r"curl(?=\s)(?:[^\n]|\\\n){0,300}?\s(?:-[uU]|--(?:proxy-)?user)[\s=]{0,2}",
        value=rf"{_OPEN}(?P<user>[^\s:\"'`]{{1,100}}):{_TEXT}",
    ),
    _after(
        "password",
        "mysql mariadb",
        r"(?:mysql|mariadb)[\w-]{0,20}(?=\s)(?:[^\n]|\\\n){0,300}?\s-p(?=\S)",
        value=_VALUE,
    ),
    _after(
        "password",
        "sshpass",
        r"sshpass\s{1,4}-p\s{0,4}",
        value=_VALUE,
    ),
    _after(
        "basic-credentials",
        "basic",
        r"[Bb](?i:asic)\s{1,4}(?P<value>(?=[a-z]{0,400}[A-Z0-9=])[A-Za-z0-9+/=]{8,400})",
        before=r"authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?",
    ),
)


#: Hex digits of a fingerprint: enough to tell secrets apart, too few to guess one by trying.
FINGERPRINT_DIGITS = 16

#: Words that stand for a secret in an example; whoever writes only these, a few digits and signs
#: has none. Read without going back, the longest first, so that no text makes it slow.
_EXAMPLE_WORDS = (
    "placeholder password postgres example redacted passwd secret sample string dummy admin token "
    "value local mysql redis guest mongo rabbit hidden rails minio apikey access client server "
    "change user pass test root here your fake none null true false demo todo pwd key foo bar baz "
    "qux dev the api app env xyz abc xxx my me db id"
).split()
_EXAMPLE = re.compile(
    rf"(?>{'|'.join(sorted(_EXAMPLE_WORDS, key=len, reverse=True))}"
    r"|[\W_]|\d{1,4}(?!\d)|12345\d*)*+",
    re.IGNORECASE,
)

#: What says that a program or a reader fills the value in: variables, templates, masks, gaps. A
#: character that nobody sees is written in braces, too, and hides nothing by that.
_FILLED_IN = re.compile(
    r"\A[<{]|\A\[\w|\[secret: ?|<[^<>\s]*>|(?<!\\[ux])\{[^{}]*\}|\A\$[\w:]+\Z|\$[({]"
    r"|%\(|%\w{3,}%|\*{3}|\.{3}|\u2026|x{6}|your[_-]|placeholder|changeme|\[\^?(?:\w-\w|\\)",
    re.IGNORECASE,
)

#: How Amazon's documentation marks the keys that it shows.
_DOCUMENTED = re.compile(r"EXAMPLE(?:KEY)?\Z")

#: What a program works out, and addresses and colours: where it is not between quotes, it is none.
_CODE = re.compile(
    r"\(*[A-Za-z_.]+[(\[]|(?:[\w.]*+\([^()]*\)+)+\Z|[\w.]+[!=<>]=|[\w+.-]+://"
    r"|#(?:[0-9a-fA-F]{3,4}){1,2}\Z"
)

#: Names of variables in capitals, which stand for a password in a command or an address.
_VARIABLE = re.compile(r"[A-Z]{2,}(?:_[A-Z]+)+")

#: What closes a bracket or quote at the end of a value, with the marks of a sentence behind it.
_CLOSING = re.compile(r"([)\]}>\"'`|])[.,:;!?]*\Z")
_PAIRS = {")": "(", "]": "[", "}": "{", ">": "<"}

#: Signs before a value among which what is open there is looked for.
AROUND = 256

#: What is left of a value that is longer than its pattern.
_REST = re.compile(r"\S*")

#: Signs of a chosen password that names, versions and paths have not, and its fewest signs in all.
_SIGN, CHOSEN = re.compile(r"[^\w\s./:,'-]"), 6

#: One letter so often in a row that nobody has drawn it by chance.
_RUN = re.compile(r"(.)\1{7}")

#: Different letters a random value has at least.
FEWEST_LETTERS = 6

#: Changes between letters and digits in one piece of a random value, and such a piece's length.
CHANGES, PIECE = 3, 8
_CHANGE = re.compile(r"(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])")
_SEPARATOR = re.compile(r"[-_./:]")

#: Share of neighbours that differ in case, or where digits begin or end: half of them in a drawn
#: value, a third in names like `getUserToken`. Shorter values, or in one case, tell too little.
MIXED, LONG = 0.4, 16
_TURN = re.compile(r"(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[a-z\d])|(?<=\d)(?=[A-Za-z])")

#: What is random and no secret, whatever it is called: checksums that say so, and UUIDs.
_IDENTIFIER = re.compile(
    r"(?:sha\d{1,3}|md5|blake\w{1,3})[-:].*"
    r"|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}",
    re.IGNORECASE,
)
_HEX = re.compile(r"[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that stands in a text.

    Attributes:
        kind: whose key it is, in lower case with hyphens.
        start: where it begins in the text as it was, in code points.
        end: behind its last one.
        value: the secret itself; it is in no representation, and is for `fingerprint` alone.

    """

    kind: str
    start: int
    end: int
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and what they were."""

    text: str
    secrets: tuple[Secret, ...] = ()


def mask_secrets(text: str) -> Redacted:
    """Return a text with a marker such as `[secret: github-token]` for each of its secrets.

    It has as many lines as before. Linear in the text. A second time finds nothing more, and the
    same text always gives the same result, whatever its secrets are changed to.
    """
    found = [Secret(kind, start, end, text[start:end]) for start, end, kind in _apart(_found(text))]
    if not found:
        return Redacted(text)
    pieces, at = [], 0
    for each in found:
        # The lines of a key that spans several stay, so that what follows keeps its number.
        pieces += [text[at : each.start], f"[secret: {each.kind}]", "\n" * each.value.count("\n")]
        at = each.end
    return Redacted("".join([*pieces, text[at:]]), tuple(found))


def fingerprint(value: str, key: bytes) -> str:
    """Return what tells two secrets apart and gives neither away (HMAC-SHA-256, shortened)."""
    data = value.encode("utf-8", "surrogatepass")
    return hmac.new(key, data, hashlib.sha256).hexdigest()[:FINGERPRINT_DIGITS]


def _found(text: str) -> list[tuple[int, int, str]]:
    """Return beginning, end and kind of what the rules find, in the order of the rules."""
    lowered = text.lower()
    there = {anchor for anchor in _ANCHORS if anchor in lowered}
    found = []
    for shapes, admits in _RULES:
        for shape in shapes:
            if there.isdisjoint(shape.anchors):
                continue
            # Inside what this shape found already there is nothing more to take out, and to look
            # again from each name in it took 2.8 s for 64 KB of names in a row.
            reached = 0
            for match in shape.matches(text):
                start, end = match.start("value"), _end(match)
                if match.end("value") > reached and admits(match, text[start:end]):
                    rest = _REST.match(text, end) if end - start > LONGEST else None
                    reached = rest.end() if rest else end
                    found.append((start, reached, shape.kind))
    return found


def _end(match: re.Match[str]) -> int:
    """Return where a value ends: one without quotes, before what closes something around it."""
    start, end = match.span("value")
    if not _is_bare(match):
        return end
    before = match.string[max(0, start - AROUND) : start].rpartition("\n")[2]
    while (last := _CLOSING.search(match.string, start, end)) is not None:
        closing = last[1]
        opening = _PAIRS.get(closing, closing)
        inside = match.string[start : last.start()]
        if opening == closing:
            is_around = before.count(closing) % 2 > inside.count(closing) % 2
        else:
            is_around = before.count(opening) > before.count(closing)
            is_around = is_around and inside.count(opening) <= inside.count(closing)
        if not is_around:
            break
        end = last.start()
    return end


def _is_bare(match: re.Match[str]) -> bool:
    """Tell whether a value ends where the blanks begin, and not where its quote is closed."""
    return "quote" in match.re.groupindex and match["quote"] is None


def _apart(found: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return what was found as places that do not overlap, of several the one from first to last.

    No part of a secret is left, whichever rule found more of it. It is of the kind that the rule
    says which was asked first, of those that found it from its beginning.
    """
    kept: list[tuple[int, int, str]] = []
    for start, end, kind in sorted(found, key=lambda one: one[0]):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end, kind))
        elif end > kept[-1][1]:
            kept[-1] = (kept[-1][0], end, kept[-1][2])
    return kept


def _is_key(_match: re.Match[str], value: str) -> bool:
    """Tell whether what has an issuer's shape is a key, and not the drawing of one."""
    is_drawn = _DOCUMENTED.search(value) or _RUN.search(value)
    return _is_given(value) and len(set(value)) >= FEWEST_LETTERS and not is_drawn


def _is_named(match: re.Match[str], value: str, *, sums: bool = True) -> bool:
    """Tell whether a value under a telling name is a secret; without `sums`, a hash is none.

    A phrase between quotes is one if any word of it is.
    """
    # The tests that cost least, and turn most away, come first.
    for word in (each.rstrip(".,:;!?") for each in value.split()):
        if _is_chosen(word) or (_is_random(word) and (sums or _HEX.fullmatch(word) is None)):
            is_code = _is_bare(match) and _CODE.match(value)
            is_plain = _EXAMPLE.fullmatch(word) or _IDENTIFIER.fullmatch(word)
            if not (is_code or is_plain) and _is_given(value) and _is_key(match, word):
                return True
    return False


def _is_chosen(value: str) -> bool:
    """Tell whether a value mixes what no word, number or name mixes, as passwords have to."""
    signs = set(_SIGN.findall(value))
    if len(value) < CHOSEN or not signs or not re.search(r"[^\W\d_]", value):
        return False
    has_cases = value not in (value.lower(), value.upper())
    return re.search(r"\d", value) is not None or (has_cases and len(signs) > 1)


def _is_random(value: str) -> bool:
    """Tell whether a value was drawn by chance, and not written by a person.

    Words, paths and names of variables are not: in none of their pieces do letters and digits
    change often.
    """
    pieces = [each for each in _SEPARATOR.split(value) if len(each) >= PIECE]
    if any(len(_CHANGE.findall(each)) >= CHANGES for each in pieces):
        return True
    is_long = len(value) >= LONG and value not in (value.lower(), value.upper())
    return is_long and len(_TURN.findall(value)) >= MIXED * len(value)


def _is_no_checksum(match: re.Match[str], value: str) -> bool:
    """Tell whether a value is a secret and more than a number in hex."""
    return _is_named(match, value, sums=False)


def _is_password(match: re.Match[str], value: str) -> bool:
    """Tell whether what stands where a password stands is one somebody chose."""
    user = match.groupdict().get("user")
    is_name = _VARIABLE.fullmatch(value) is not None
    return value != user and not is_name and _is_given(value) and not _EXAMPLE.fullmatch(value)


def _is_given(value: str) -> bool:
    """Tell whether a value is there, and not to be filled in."""
    return _FILLED_IN.search(value) is None


#: Which shapes there are, and what a match of theirs has to be.
_RULES: tuple[tuple[tuple[Shape, ...], Callable[[re.Match[str], str], bool]], ...] = (
    (KEYS, _is_key),
    (NAMED, _is_named),
    (UNSURE, _is_no_checksum),
    (IN_ADDRESSES, _is_password),
)

#: Words, one of which stands wherever a shape matches: asked for once, whatever shapes share them.
_ANCHORS = frozenset(anchor for shapes, _ in _RULES for one in shapes for anchor in one.anchors)


def cleared(text: str, *, what: str, redact: bool | None = False) -> str:
    """Return a text that holds no secret: as it was, or masked where `redact` is set.

    Raises `Refused` otherwise, which names the kind and the place of each secret and never the
    secret itself; `what` says whose text it is. None for `redact`: nobody can ask for it there.
    """
    found = mask_secrets(text)
    if not found.secrets or redact:
        return found.text
    places = "; ".join(_place(text, each) for each in found.secrets)
    or_masked = "" if redact is None else ", or have it masked with --redact (redact=true)"
    raise Refused(f"refused to keep {what}: it holds {places}; take it out{or_masked}")


def _place(text: str, secret: Secret) -> str:
    """Return which kind of secret stands where, counted from 1."""
    before = text[: secret.start]
    line, column = before.count("\n") + 1, secret.start - (before.rfind("\n") + 1) + 1
    return f"a secret ({secret.kind}) in line {line} at character {column}"


#: Where a token comes from, in the order in which they win.
TOKEN_KEYS: Final = ("token", "token_keyring", "token_env")

#: What the other spelling begins with.
BEARER: Final = "bearer_"


def plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a description that says `token...` for every `bearer_token...`.

    Where both are given and `token...` says something, that one holds. Everything else is kept as
    it is, in its order.
    """
    found: dict[str, Any] = {}
    for key, value in entry.items():
        name = _plain(key)
        # A spelling that says nothing leaves the word to the other one.
        if name == key and not value and f"{BEARER}{key}" in entry:
            continue
        if name == key or not entry.get(name):
            found[name] = value
    return found


def _plain(key: str) -> str:
    """Return the name under which a key is understood."""
    name = key.removeprefix(BEARER)
    return name if name in TOKEN_KEYS else key
