"""What agents remember, as the demonstration shows it: one fact, a contradiction, a secret kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex_actors.cli.output import shortened, show_table

if TYPE_CHECKING:
    from cortex_actors.client.connection import Answer, Client

#: Who says what, in this order: a fact, the same in other words, the contrary, and another's.
SAID = (
    ("CLAUDE", "The staging database listens on port 5433."),
    ("CLAUDE", "On port 5433 the staging database listens."),
    ("CLAUDE", "The staging database does not listen on port 5433."),
    ("VAJRA", "Deploys are done by the night watch."),
)

#: What both are asked.
QUESTION = "Which port does the staging database listen on?"


def remembered(client: Client) -> Answer:
    """Have two agents remember and ask; return what became of each, and what each finds."""
    told = [
        {
            "agent": agent,
            "said": text,
            **client.call("remember", content=text, agent=agent, type="fact"),
        }
        for agent, text in SAID
    ]
    asked = {
        agent: client.call("search", query=QUESTION, limit=3, as_agent=agent)["hits"]
        for agent in dict.fromkeys(agent for agent, _ in SAID)
    }
    return {"told": told, "asked": asked, "round_trip": client.call("round_trip")}


def show_remembered(found: Answer) -> None:
    """Print what became of what was said, what each agent finds, and that nothing is left."""
    rows = [(each["agent"], shortened(each["said"]), _became(each)) for each in found["told"]]
    show_table("What agents remember", ("agent", "says", "becomes"), rows, empty="nothing")
    print(f"\n$ cortex search {QUESTION}\n")
    for agent, hits in found["asked"].items():
        texts = "; ".join(str(hit["text"]) for hit in hits)
        print(f"  {agent} finds: {texts or 'nothing: it may not read what others keep'}")
    trip = found["round_trip"]
    print(f"\n$ cortex doctor --round-trip\n\n  {trip['state']} in {trip['took_ms']:.0f} ms")


def _became(told: Answer) -> str:
    """Return what became of something that was said, in words."""
    against = [str(each["reason"]) for each in told["conflicts"]]
    what = {"existing": "known already", "merged": f"one with {len(told['merged'])} other"}
    shown = what.get(told["state"], "kept")
    return f"{shown}; contradicts: {against[0]}" if against else shown
