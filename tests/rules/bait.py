"""Secrets nobody has, drawn anew for each seed, and what looks like one and is none.

Only shapes stand here: a key written out would be found by whoever scans repositories. `<A36>` is
36 letters and digits; `U` are upper case, `H` hex, `S` what an address may hold, `B` base64, `D`
digits, `L` letters, and `M` letters and digits in turn.
"""

from __future__ import annotations

import base64
import re
import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_ALNUM = string.ascii_letters + string.digits
_KINDS = {
    "A": _ALNUM,
    "U": string.ascii_uppercase + string.digits,
    "H": "0123456789abcdef",
    "S": _ALNUM + "-_",
    "B": _ALNUM + "+/",
    "D": string.digits,
    "L": string.ascii_letters,
}
_PLACE = re.compile(r"<([AUHSBDLM])(\d+)>")

#: What issuers give out, by a name of its own each.
_KEYS = {
    "aws id": "AKIA<U16>",
    "aws session id": "ASIA<U16>",
    "github classic": "ghp_<A36>",
    "github oauth": "gho_<A36>",
    "github app": "ghs_<A36>",
    "github refresh": "ghr_<A76>",
    "github fine": "github_pat_<A22>_<A59>",
    "gitlab": "glpat-<S20>",
    "anthropic": "sk-ant-api03-<S95>",
    "openai old": "sk-<A20>T3BlbkFJ<A20>",
    "openai project": "sk-proj-<S74>",
    "openai service": "sk-svcacct-<S60>",
    "openrouter": "sk-or-v1-<H64>",
    "deepseek": "sk-<H32>",
    "slack bot": "xoxb-<D12>-<D13>-<A24>",
    "slack user": "xoxp-<D12>-<D12>-<H32>",
    "slack app": "xapp-1-A<U10>-<D13>-<H64>",
    "slack hook": "hooks.slack.com/services/T<U8>/B<U10>/<A24>",
    "google": "AIza<S35>",
    "google client": "GOCSPX-<S28>",
    "google access": "ya29.<S120>",
    "stripe": "sk_live_<A24>",
    "stripe test": "sk_test_<A99>",
    "stripe restricted": "rk_live_<A24>",
    "webhook": "whsec_<A32>",
    "jwt": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOi<A40>.<S43>",
    "rsa": "-----BEGIN RSA PRIVATE KEY-----\n<B64>\n<B64>\n<B64>\n-----END RSA PRIVATE KEY-----",
    "ec": "-----BEGIN EC PRIVATE KEY-----\n<B64>\n<B64>\n<B32>=\n-----END EC PRIVATE KEY-----",
    "pkcs8": "-----BEGIN PRIVATE KEY-----\n<B64>\n<B64>\n<B20>\n-----END PRIVATE KEY-----",
    "openssh": "-----BEGIN OPENSSH PRIVATE KEY-----\n<B70>\n-----END OPENSSH PRIVATE KEY-----",
    "npm": "npm_<A36>",
    "pypi": "pypi-AgEIcHlwaS5vcmc<S120>",
    "huggingface": "hf_<L34>",
    "sendgrid": "SG.<S22>.<S43>",
    "twilio": "SK<H32>",
    "digitalocean": "dop_v1_<H64>",
    "databricks": "dapi<H32>",
    "shopify": "shpat_<H32>",
    "telegram": "<D10>:AA<S33>",
    "discord": "MTA<A21>.<A6>.<S38>",
    "vault": "hvs.<A90>",
    "linear": "lin_api_<A40>",
    "notion": "ntn_<A46>",
    "sentry": "sntrys_<A90>",
    "grafana": "glsa_<A32>_<H8>",
    "doppler": "dp.pt.<A43>",
    "docker": "dckr_pat_<S27>",
    "groq": "gsk_<A52>",
    "replicate": "r8_<A37>",
    "age": "AGE-SECRET-KEY-1<U58>",
}

#: What is told by where it stands: a line, and what stands in it.
_NAMED = {
    "postgres": ("DATABASE_URL=postgres://app:{}@db.internal:5432/app", "<A16>"),
    "redis": ("connect to redis://:{}@cache:6379/0", "<A20>"),
    "https": ("git clone https://bot:{}@git.acme.dev/x.git", "<A18>%40"),
    "mongodb": ("`mongodb+srv://root:{}@cluster0.mongodb.net`", "a$<A14>!"),
    "bearer": ('curl -H "Authorization: Bearer {}" https://a.dev', "<S35><M8>"),
    "basic": ("Authorization: Basic {}", base64.b64encode(b"deploy:Xk29mPq7").decode()),
    "aws secret": ("aws_secret_access_key = {}", "<B39>k"),
    "password": ("DB_PASSWORD={}", "T7r0ub4dor9x<A8>"),
    "password with signs": ('DB_PASSWORD="{}"', "t7r0ub4d&<M8>"),
    "password in a sentence": ("The staging password is {}", "hunter2<M12>"),
    "token in a sentence": ("The API token is `{}`.", "<M20>"),
    "api key": ('"api_key": "{}"', "<M40>"),
    "client secret": ("- client_secret: '{}'", "<A24><M8>"),
    "option": ("deploy --api-token {} --now", "<M40>"),
    "azure": ("AccountKey={};Suffix=core", "<B86>=="),
    "token": ("Set token: `{}`", "Z<A31><M8>"),
}

#: Where people leave keys.
_LINES = (
    "{}",
    "- Use the key `{}` for staging.",
    "export KEY={}",
    'key: "{}",',
    "The bot's token is {}.",
    "| prod | {} | rotates |",
    "https://example.org/hook?key={}&x=1",
    "({})",
)

#: What is random and no secret.
_RANDOM = (
    "Fixed in commit <H40>.",
    "pin actions/checkout@<H40>",
    "sha256:<H64>",
    "image: app@sha256:<H64>",
    "token: <H40> is the hash of the tree",
    "secret: sha256-<A43>=",
    '"integrity": "sha512-<B86>=="',
    "project id <H8>-<H4>-<H4>-<H4>-<H12>",
    "api_key: <H8>-<H4>-<H4>-<H4>-<H12>",
    "The run <U26> failed.",
    "cache-key-<H32>",
    'etag W/"<H32>"',
    "https://example.org/a/<A22>?v=<H16>",
    "dist/assets/index-<A8>.js",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI<A43> me@host",
    "data:image/png;base64,<B120>",
    "pk_live_<A24>",
)


def planted(chance: random.Random) -> dict[str, tuple[str, str]]:
    """Return secrets by name: each with a line of a file that holds it."""
    told = {}
    for name, shape in _KEYS.items():
        value = _drawn(shape, chance)
        told[name] = (value, chance.choice(_LINES).format(value))
    for name, (line, shape) in _NAMED.items():
        value = _drawn(shape, chance)
        told[name] = (value, line.format(value))
    return told


def lookalikes(chance: random.Random) -> list[str]:
    """Return lines that hold something random, or speak of secrets, and hold none."""
    return [_drawn(shape, chance) for shape in _RANDOM for _ in range(10)] + list(_SPOKEN)


def _drawn(shape: str, chance: random.Random) -> str:
    """Return a shape with its places filled."""

    def filled(place: re.Match[str]) -> str:
        count = int(place[2])
        if place[1] == "M":
            pairs = (chance.choice("abcdef") + chance.choice("2345") for _ in range(count // 2))
            return "".join(pairs)
        letters = "".join(chance.choices(_KINDS[place[1]], k=count))
        # Whoever issues keys draws again when there is no digit.
        return letters if place[1] == "L" else letters[:-1] + chance.choice(string.digits)

    return _PLACE.sub(filled, shape)


_SPOKEN = tuple(
    """
API_KEY=${{ secrets.API_KEY }}
password: string
The access token is refreshed every 3600s.
The API key is read from `process.env.API_KEY2`.
export ANTHROPIC_API_KEY=sk-ant-your-key-here
OPENAI_API_KEY=sk-...
GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
postgres://postgres:postgres@localhost:5432/app
postgresql://user:password@localhost/db
redis://localhost:6379/0
https://user@example.org/x.git
git@github.com:acme/app.git
mysql://${DB_USER}:${DB_PASSWORD}@db/app
mongodb://<user>:<password>@host/db
Authorization: Bearer <token>
Authorization: Bearer $GITHUB_TOKEN
Authorization: Bearer YOUR_ACCESS_TOKEN
Use Bearer token-authentication for v2 endpoints.
secret_key_base: Rails.application.credentials.secret_key_base
api_key = os.environ["OPENAI_API_KEY"]
password = settings.oauth2.password_field
token = await get_access_token_v2(client)
`max_tokens: 4096` and `tokenizer: o200k_base`
Never commit secrets, tokens or passwords.
The header `-----BEGIN RSA PRIVATE KEY-----` marks a key: never commit one.
task-sk-loading-circle-fade-in-dots-animated
.sk-folding-cube-container-wrapper { color: red }
secret: my-app-oauth2-proxy-v2-tls
access_token: src/auth2/tokens/v1/access.py
POSTGRES_PASSWORD=postgres
password: changeme123
--token TOKEN --password PASSWORD
xoxb-your-bot-token
hf_transfer_is_enabled_by_default_here
eyJ is how every such token begins
SECRET_KEY="dev-secret-key-123"
password: "********"
npm_config_registry=https://registry.npmjs.org
""".strip().splitlines()
)
