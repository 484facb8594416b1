"""`remember`: say something that is to be kept; what is known already becomes one with it."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from cortex_actors.cli.output import HomeOption, JsonOption, examples, shortened, show_json
from cortex_actors.client.connection import Client
from cortex_actors.errors import BadInput
from cortex_actors.process.logfile import visible

#: Bytes that are kept of one text; of what is piped in two more are read, one of which may be the
#: end of its last line.
_KEPT = 65_536

#: Seconds for which an answer is waited for: a language model may be asked.
TIMEOUT = 120.0

#: Letters of a reason that are shown.
_WHY = 160


TextArgument = Annotated[
    str, typer.Argument(metavar="TEXT", help="What to keep; - reads it from stdin.")
]
LayerOption = Annotated[
    str | None, typer.Option(help="sensory (default), working, long_term or cortex.")
]
RealmOption = Annotated[
    str | None, typer.Option(help="private (default), village or bridge: who may read it.")
]
AgentOption = Annotated[str | None, typer.Option(help="Who remembers it (default: memory.agent).")]
TagOption = Annotated[list[str] | None, typer.Option(help="A tag; may be repeated.")]
TypeOption = Annotated[
    str,
    typer.Option(
        "--type", help="observation, fact, dialogue, question, cultural or agent_profile."
    ),
]
RoleOption = Annotated[str, typer.Option(help="Who spoke, in a conversation.")]
ThreadOption = Annotated[str, typer.Option(help="The conversation it belongs to.")]
AboutOption = Annotated[
    list[str] | None,
    typer.Option(help="An agent it is about; on a bridge, one who may read it. Repeatable."),
]
ReplyOption = Annotated[
    list[str] | None, typer.Option("--reply-to", help="A memory that it answers. Repeatable.")
]
AbstractOption = Annotated[
    str | None, typer.Option(help="One sentence for lists (default: its first).")
]
FromOption = Annotated[
    str | None, typer.Option("--from", help="When what it tells began: 2026-11-01, 2d ...")
]
UntilOption = Annotated[str | None, typer.Option("--until", help="When that ended.")]
SupersedesOption = Annotated[
    list[str] | None, typer.Option(help="A memory that holds no more. Repeatable.")
]
PreferOption = Annotated[
    str | None, typer.Option(help="Whose words a merge keeps: a (these), b (known) or equal.")
]
RedactOption = Annotated[
    bool, typer.Option("--redact", help="Mask secrets instead of refusing the text.")
]
MergeOption = Annotated[
    bool, typer.Option("--merge/--no-merge", help="Let it become one with what is known.")
]
KeyOption = Annotated[
    str | None, typer.Option("--key", help="Saying it again under this key is saying it once.")
]

#: Options -> what the daemon calls them.
_NAMES = {
    "layer": "layer",
    "realm": "realm",
    "agent": "agent",
    "tag": "tags",
    "kind": "type",
    "role": "role",
    "thread": "thread",
    "about": "related_agents",
    "reply": "responding_to",
    "abstract": "abstract",
    "said_from": "said_from",
    "said_until": "said_until",
    "supersedes": "supersedes",
    "prefer": "prefer",
    "redact": "redact",
    "merge": "merge",
    "key": "idempotency_key",
}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "remember",
        epilog=examples(
            'cortex remember "Redis listens on port 6379 by default"',
            "cortex remember - < notes.txt",
            'cortex remember "Deploys wait for CI" --tag deploy --layer working',
            'cortex remember "VAJRA owns the parser" --realm bridge --about VAJRA',
            'cortex remember "The API listens on 9090" --supersedes mem_01J...',
        ),
    )(remember)


def remember(
    text: TextArgument,
    *,
    layer: LayerOption = None,
    realm: RealmOption = None,
    agent: AgentOption = None,
    tag: TagOption = None,
    kind: TypeOption = "observation",
    role: RoleOption = "",
    thread: ThreadOption = "",
    about: AboutOption = None,
    reply: ReplyOption = None,
    abstract: AbstractOption = None,
    said_from: FromOption = None,
    said_until: UntilOption = None,
    supersedes: SupersedesOption = None,
    prefer: PreferOption = None,
    redact: RedactOption = False,
    merge: MergeOption = True,
    key: KeyOption = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Remember something; it is on the disk when this returns.

    What your agent remembers already in other words becomes one memory with it. What contradicts it
    is named, and both are kept until you decide.
    """
    given = {name: value for name, value in locals().items() if name in _NAMES}
    asked = {_NAMES[name]: value for name, value in given.items() if value is not None}
    asked["content"] = _read() if text == "-" else text
    found = Client(home, timeout=TIMEOUT).call("remember", **asked)
    if as_json:
        show_json(found)
    else:
        _show(found)


def _show(found: dict[str, Any]) -> None:
    """Print what became of it."""
    name = found["id"]
    print(visible(found["message"]))
    if found["superseded"]:
        print(f"  replaced {', '.join(f'#{each}' for each in found['superseded'])}")
    if found["merged"]:
        whole = ", ".join(f"#{each}" for each in found["merged"])
        print(f"  became one with {whole}; take it apart with: cortex memory split {name}")
    if found["pending"]:
        print("  not compared with what is known yet: that is done as soon as it has a vector")
    for each in found["conflicts"]:
        print(f"  cannot hold beside #{each['id']}: {shortened(each['reason'], _WHY)}")
    if found["conflicts"]:
        print("  both are kept; decide with: cortex memory conflicts")


def _read() -> str:
    """Return what is piped in; raises `BadInput` for bytes that are no text, and for too many."""
    data = sys.stdin.buffer.read(_KEPT + 2)
    if len(data) > _KEPT + 1:
        # There may be more: what was read must not be kept as if it were all of it.
        message = (
            f"what was piped in has more than {_KEPT:,} bytes, and at most so many are kept in one "
            "piece; say it in parts, or have it read as a document: cortex knowledge ingest"
        )
        raise BadInput(message)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = f"what was piped in is no UTF-8 text at byte {error.start + 1}; convert it first"
        raise BadInput(message) from None
