"""A token policy that plays a script: what it samples is random ids, what they say is the script's next line, or a summary, good or bad."""

import random

from word_format import END, WordFormat

from cowork_gym.core.messages import InvalidAction, ToolCall, final, message
from cowork_gym.harness.engines.engine import ContextFull, Drawn
from cowork_gym.harness.policies.blanks import fill
from cowork_gym.harness.policies.token_policy import TokenPolicy


class LoggedEngine:
    """Draws random ids and keeps what it saw and drew."""

    def __init__(self, seed, context=None):
        self.name, self.context, self.version = "logged", context, "3"
        self.log = []
        self._chance = random.Random(seed)

    def generate(self, prompt, sampling, *, stop, seed):
        if self.context is not None and len(prompt) + 2 > self.context:
            raise ContextFull
        chance = self._chance
        ids = (*(chance.randrange(200) for _ in range(chance.randrange(1, 6))), END)
        drawn = Drawn(ids, tuple(-chance.random() for _ in ids), "stop", self.version)
        self.log.append((tuple(prompt), drawn))
        return drawn


class ScriptedTokens(TokenPolicy):
    """Follows a script line by line in `act`; in `write` it gives a text, or, by chance, what is none."""

    def __init__(self, engine, actions, seed, spoil=0.3):
        self._line, self._said = 0, [*actions]
        self._chance, self._spoil, self._writing, self._results = random.Random(seed), spoil, False, {}
        super().__init__(engine, WordFormat(lambda ids, tools: self._says()))

    def act(self, history):
        self._writing = False
        self._read(history)
        return super().act(history)

    def write(self, history):
        self._writing = True
        self._read(history)
        return super().write(history)

    def _read(self, history):
        self._results = {one.tool_call_id: one for one in history if one.role == "tool"} | self._results  # pruned ones come later

    def _says(self):
        if self._writing:
            if self._chance.random() < self._spoil:
                bad = (final(" "), message("x", ToolCall("crm_list_customers", {})), InvalidAction("garbled", "<tool"), final("long " * 4000))
                return self._chance.choice(bad)
            return final(f"Summary {self._chance.random()}")
        self._line += 1
        line = self._said[self._line - 1] if self._line <= len(self._said) else final("")
        return fill(line, [*self._results.values()])
