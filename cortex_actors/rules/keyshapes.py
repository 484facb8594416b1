"""The shapes of secrets: what issuers' keys look like, and behind which words a secret stands.

A new issuer is one line. `anchors` are what a text must hold, in lower case, before the pattern is
tried at all; a pattern is linear: what repeats is bounded, or one class of letters that nothing
after it shares.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

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
