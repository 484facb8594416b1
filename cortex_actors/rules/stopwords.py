"""English words that hold a sentence together and say nothing of what it is about.

They are dropped from questions, never from texts: a phrase in quotes still finds them. The list
was chosen by grammar (articles, pronouns, auxiliaries, conjunctions, prepositions, what is left
of a contraction when its apostrophe is gone), not by looking at any questions. Negations of
preference ("never", "always", "without") are not in it, because rules are made of them.
"""

from __future__ import annotations

#: Lower case, as a question's words are compared with it.
STOP_WORDS = frozenset(
    """
    a an the
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    this that these those who whom whose which what when where why how
    am is are was were be been being do does did doing done have has had having
    can could may might must shall should will would
    and but or nor so if then than because as while until though although
    of at by for with about against between into through during before after above below
    to from up down in out on off over under again further once
    here there all any both each few more most other some such no not only own same too very just
    s t d m o y ll re ve don isn aren wasn weren doesn didn hasn haven hadn won wouldn couldn
    shouldn mustn mightn needn ain
    """.split()
)
