"""What in an agent's message asks the user something: questions and requests to tell, without offers of further help."""

import re

from cowork_gym.envs.dialogue.spelling import simplify
from cowork_gym.graders.matchers.folding import fold

__all__ = ["READ", "is_vague", "question_in"]

READ = 20_000
"""Characters of a message, counted from its end, that the user reads."""

_SENTENCE_END = re.compile(r"(?<=\?)(?![A-Za-z0-9=&%/?])|(?<=[.!;])\s|(?<=[。!;])")
_LISTED = re.compile(r"\s*(?:[-*•·+–]|\(?[0-9a-z]{1,2}[.)])\s")
_AUXILIARY = r"(?:is|are|do|does|did|should|shall|would|can|could|will|must)"
_ASKS = re.compile(
    r"\?(?![a-z0-9=&%/])"
    r"|\b(?:please|kindly|pls)(?: \w{1,12}){0,2} (?:tell|confirm|provide|share|specify|clarify|advise|state|name|indicate|choose|reply|answer)\b"
    r"|\b(?:let me know|tell me|give me|can you|could you|would you|will you|may i ask|could i ask|please advise)\b"
    r"|\bi(?:'d|'ll| would| will| still| also| first){0,2} (?:need|require|like to know|want to know|wonder)\b"
    r"|\b(?:wait|waiting|awaiting|looking forward)(?: \w{1,8}){0,2} your (?:reply|answer|confirmation|response|decision)\b"
    rf"|^(?:what|when|where|who|whose|why|how|(?:which|what|how) \w{{1,20}}) {_AUXILIARY}\b(?!.*:$)"
    r"|请问|(?:请|麻烦|烦请|劳烦|劳驾)(?:您|你|帮我|先|再|尽快){0,3}(?:告诉|告知|提供|确认|说明|补充|指明|明确|回复|回答|选择|给出|指定)"
    r"|能否|可否|能不能|可不可以|是不是|想(?:知道|了解|确认|请教|问)|需要(?:您|你)的?(?:确认|提供|告诉|告知|补充|说明|回复)"
    r"|等(?:待|候)?(?:您|你)的?(?:回复|确认|答复)|(?:吗|呢|多少|什么|谁|几[点号天个位]|哪[个些天位里家种款一])\W*$"
)
_MORE = r"(?:any|some)thing (?:else|more|further)"
_COURTESY = re.compile(
    rf"\b{_MORE}\W*$|\b{_MORE} (?:that )?(?:(?:i|we) (?:can|could|may)\b|you need\b)|\b(?:any|some)thing (?:i|we) can (?:help|do|assist)"
    r"|\bhow (?:else )?(?:can|may) i (?:help|assist)|\b(?:further|more|other) (?:help|assistance)\b|\bany (?:other |further )?questions\W*$"
    r"|\b(?:do|if|should) you have (?:any|further|more|other)\b.{0,30}\b(?:question|concern|request|change)s?\b"
    r"|\b(?:let me know|tell me) (?:if|should|in case|whenever) .{0,40}\b(?:anything|any|further|else|other|additional|more)\b"
    r"|还(?:有|需要)(?:什么|别的|其他|其它)[^?]{0,4}(?:需要|可以|能)我?[^?]{0,4}(?:帮|协助|做|处理)|还(?:有|需要)(?:什么|别的|其他)[事的]?[吗么呢]?\W*$"
    r"|(?:如|若|有)[^?,]{0,6}(?:其他|其它|任何|别的|更多|进一步)[^?]{0,12}(?:告诉|告知|联系|提出|说|吩咐)|[如若]有?(?:问题|疑问|变动)"
    r"|随时(?:告诉|告知|联系|找)"
)
_VAGUE = re.compile(
    r"\b(?:any|some|more|further|additional|other|extra|missing)(?: \w{1,14}){0,2} (?:details?|info|information|context|specifics|clarifications?"
    r"|guidance|background|instructions?|requirements?|preferences?|constraints?|input|facts)\b|\b(?:any|some|every)thing\b|\ball you know\b"
    r"|\bwhat else\b|\btell me (?:more|all)\b|\b(?:more about|elaborate|clarify)\b|\bwhat should i know\b|\bwhat do you (?:want|mean|know)\b"
    r"|更多|补充|一切|详细|(?:还有|其他|其它|具体|所有|全部|任何)[^?]{0,4}(?:信息|细节|详情|情况|要求|说明|资料|内容|背景)|还有什么|什么意思|怎么回事"
)


def question_in(text: str) -> str:
    """The sentences of a message that ask, simplified, one a line; empty when it asks nothing.

    What is listed below a line that asks belongs to the question. An offer of further help asks nothing.
    """
    asked, listing = list[str](), False
    for line in fold(text[-READ:]).splitlines():
        item = _LISTED.match(line)
        sentences = [simple for sentence in _SENTENCE_END.split(line[item.end():] if item else line) if (simple := simplify(sentence))]
        found = [sentence for sentence in sentences if _ASKS.search(sentence) and not _COURTESY.search(sentence)]
        if not found and listing and item:
            found = sentences
        asked += found
        listing = bool(found) or (listing and not sentences)
    return "\n".join(asked)


def is_vague(question: str) -> bool:
    """Whether a question asks for anything there may be, rather than for something."""
    return _VAGUE.search(question) is not None
