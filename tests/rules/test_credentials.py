"""Credentials: what is surely a secret is taken out, and nothing else is."""

from __future__ import annotations

import os
import random
import time

import pytest

from cortex_actors.text.hazards import fingerprint, mask_secrets
from tests.rules.bait import lookalikes, planted


@pytest.fixture
def seed() -> int:
    """Return what this run's secrets are drawn with; every failure names it."""
    return int(os.environ.get("CORTEX_BAIT_SEED", random.randrange(1 << 32)))


class TestPlanted:
    def test_all(self, seed: int) -> None:
        """Each of sixty kinds of secrets is taken out of the line it stands in, whole."""
        bait = planted(random.Random(seed))
        assert len(bait) >= 60
        left = {
            name: line
            for name, (value, line) in bait.items()
            if any(part in mask_secrets(line).text for part in value.splitlines())
        }
        assert {} == left, f"repeat with CORTEX_BAIT_SEED={seed}"

    def test_page(self, seed: int) -> None:
        """A page full of them is redacted as its lines are, and keeps their number."""
        lines = [line for _, line in planted(random.Random(seed)).values()]
        page = "\n".join(lines)
        done = mask_secrets(page)
        assert page.count("\n") == done.text.count("\n")
        assert len(lines) == len(done.secrets), f"repeat with CORTEX_BAIT_SEED={seed}"
        assert "\n".join(mask_secrets(line).text for line in lines) == done.text
        assert () == mask_secrets(done.text).secrets

    def test_where(self) -> None:
        """A secret tells its kind and where it stood; its text is in no representation."""
        value = "ghp_" + "a1B2c3D4e5F6" * 3
        (secret,) = mask_secrets(f"é {value}!").secrets
        assert ("github-token", 2, 2 + len(value)) == (secret.kind, secret.start, secret.end)
        assert value == secret.value
        assert value not in repr(secret)

    def test_marker(self) -> None:
        """What is left says what was there, whichever key it was."""
        texts = {mask_secrets(f"key {p}{'x1Y2' * 9}").text for p in ("ghp_", "gho_")}
        assert {"key [secret: github-token]"} == texts

    def test_kind(self) -> None:
        """A key under a telling name is of its issuer's kind, with whatever goes on behind it."""
        value = "ghp_" + "a1B2c3D4e5F6" * 3
        for text in (value, f"{value}.", f"{value}$x"):
            assert (
                "the token is [secret: github-token]" == mask_secrets(f"the token is {text}").text
            )

    def test_open_key(self) -> None:
        """A private key that is never closed goes as far as its lines do."""
        line = "MIIEpAIBAAKCAQEA" * 4
        text = f"a\n-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\n\nRun make."
        assert "a\n[secret: private-key]\n\n\n\nRun make." == mask_secrets(text).text

    def test_longest_password(self) -> None:
        """A password that holds an at sign is taken out to its end."""
        assert "x://a:[secret: password]@h" == mask_secrets("x://a:q9@z8@h").text


class TestLookalikes:
    def test_none(self, seed: int) -> None:
        """Of two hundred checksums, identifiers and examples not one is touched."""
        lines = lookalikes(random.Random(seed))
        assert len(lines) >= 200
        found = [line for line in lines if mask_secrets(line).secrets]
        assert [] == found, f"repeat with CORTEX_BAIT_SEED={seed}"

    @pytest.mark.parametrize(
        "text",
        [
            "The warehouse password is WAREHOUSE_PASSWORD=hunter2-Zq81LmPx9",
            "The secret is API_TOKEN=S3cr3tPa55w0rdQx and nothing else",
        ],
    )
    def test_named_twice(self, text: str) -> None:
        """A value behind its own name is found, also where a sentence names it before."""
        value = text.partition("=")[2].split()[0]

        assert value not in mask_secrets(text).text

    @pytest.mark.parametrize("text", ["", "\n", "\udcff\x00", "://:@", "=" * 50, "Bearer "])
    def test_odd(self, text: str) -> None:
        """Whatever the text is, it comes back."""
        assert text == mask_secrets(text).text


#: What a text says, and which part of it is the secret; every sign of that has to go.
_CHOSEN = [
    ("passwd={}", "Xy9$kLm#2pQ"),
    ("DB_PASS: {}", "aB3&dE6(hI9"),
    ("secret: {}", 'p@ss"w0rd9!x'),
    ("password: {}", "Tr0ub4dor&3horse"),
    ("The staging password is {}", "Xy9$kLm#2pQ."),
    ("(`DB_PASS={}`).", "Xy9$kLm#2pQ"),
    ('{{"password":"{}","port":1}}', r"p@ss\"w0rd9!x"),
    ('{{"text": "{{\\"password\\":\\"{}\\"}}", "port": 1}}', "Xy9$kLm#2pQ"),
    ('{{"note": "the password: {}", "port": 1}}', "Xy9$kLm#2pQ"),
    ("password: '{}'", "it''s9$Xkq"),
    ("PGPASSWORD='{}' psql", "p@ss'\"'\"'w0rd9X"),
    ("PGPASSWORD={} psql -h db", "hT6&x9!q"),
    ('MYSQL_PWD="{}"', "a;b|c&d9(Z"),
    ('export DB_PASS="{}"', "Xy9$ kLm#2pQ"),
    ("<password>{}</password>", "Xy9$kLm#2pQ"),
    ("Server=db;Password={};Database=x", "Xy9$kLm#2pQ"),
    ("deploy --password '{}' --now", "Xy9$kLm#2pQ"),
    ("deploy --password={}, then wait", "Xy9$kLm#2pQ"),
    ("mysql -u root -p{} shop", "S3cr&t!"),
    ("sshpass -p {} ssh host", "Xy9kLm"),
    ("curl -u user:{}", "pw"),
    ("curl -sS https://a.dev \\\n  --user 'bot:{}' -H a", "Zx8(k Q"),
    ("git clone https://user:{}@a.dev/x", "pw"),
    ("password: {}", "Xy9$k\\u{200b}Lm#2pQ"),
    ("password: {}", "ghp_" + "a1B2c3D4e5F6" * 3 + "$x9"),
    ("password: {}", "aB3$dE6%" * 200),
]

#: What is filled in by others, worked out by a program, shown in documentation, or prose.
_PLAIN = """
password: must have twelve characters
password: at-least-12-chars!
password: "at least 12 characters, e.g. one of a-z!"
the secret: keep it simple
password: <your-password>
password=${DB_PASS}
password=$PASSWORD
password: changeme123!
password: xxxx-9!xxxx
password: ...
password = os.environ["DB_PASS2"]
token = b64encode(userpass).decode()
password: z.string().min(8)
password={this.state.pw2}
secret: !Ref DbSecret1
token: #a1b2c3
First pass: decided_mask==0 holds.
arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestSecret-a1b2c3
curl -u user:password https://a.dev
curl -u "$USER:$PASS" https://a.dev
curl -u SID:AUTH_TOKEN https://a.dev
https://x:GITHUB_TOKEN@github.com/a/b
mysql -u root -p shop
AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
""".strip().splitlines()


class TestChosen:
    @pytest.mark.parametrize(("line", "value"), _CHOSEN)
    def test_whole(self, line: str, value: str) -> None:
        """A password that a person chose is taken out whole, and what stands around it stays."""
        left = mask_secrets(line.format(value)).text
        before, after = line.format("\0").split("\0")
        assert left.startswith(f"{before}[secret: ")
        assert left.endswith(f"]{after}")
        assert 1 == len(mask_secrets(line.format(value)).secrets)

    @pytest.mark.parametrize("text", _PLAIN)
    def test_none(self, text: str) -> None:
        """What stands for a password, asks for one or shows a documented key stays."""
        assert text == mask_secrets(text).text

    def test_several(self) -> None:
        """Of several secrets in one text each is taken out, and a second time finds nothing."""
        lines = [line.format(value) for line, value in _CHOSEN]
        for text in ("\n".join(lines), " and ".join(lines)):
            done = mask_secrets(text)
            assert [] == [value for _, value in _CHOSEN[:4] if value in done.text]
            assert done.text == mask_secrets(done.text).text


class TestCost:
    @pytest.mark.parametrize(
        "piece",
        [
            "-----BEGIN RSA PRIVATE KEY-----\n",
            "a://b:c",
            "password=",
            "eyJaaaaaaaaaaaa.",
            "sk-a-",
            "passwordtoken: ",
            "bearer basic ",
            "changeme",
            "password=" + "change" * 30 + "!",
            "xoxb-",
            "password:",
            'password:"',
            "secret:x'",
            "curl -u a:",
        ],
    )
    def test_linear(self, piece: str) -> None:
        """A text made to be slow takes as long as its length says."""

        def took(count: int) -> float:
            text = piece * count
            times = []
            for _ in range(3):
                began = time.process_time()
                mask_secrets(text)
                times.append(time.process_time() - began)
            return min(times)

        few, many = took(5_000 // len(piece)), took(40_000 // len(piece))
        assert many < 30 * few + 0.05


class TestFingerprint:
    def test_tells_apart(self) -> None:
        """Equal secrets have equal fingerprints under one key, others and other keys do not."""
        key = b"home"
        assert fingerprint("a", key) == fingerprint("a", key)
        assert 3 == len({fingerprint("a", key), fingerprint("b", key), fingerprint("a", b"x")})
