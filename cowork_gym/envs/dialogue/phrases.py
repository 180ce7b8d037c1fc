"""What users say when they have nothing to tell: by language and manner. A dialogue may bring its own texts."""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from cowork_gym.envs.dialogue.everyday import CHINESE, EVERYDAY
from cowork_gym.envs.dialogue.spelling import CJK
from cowork_gym.mock_services.kit.stem import stem

__all__ = ["Language", "Manner", "Phrases", "language_of", "phrases"]

_HAN = re.compile(rf"[{CJK}]")
_WORD = re.compile(r"[A-Za-z]+")


class Language(StrEnum):
    """A language that there are phrases for."""

    ENGLISH = "en"
    CHINESE = "zh"


class Manner(StrEnum):
    """How a persona talks."""

    BRIEF = "brief"
    FORMAL = "formal"
    FRIENDLY = "friendly"
    IMPATIENT = "impatient"


class Phrases(NamedTuple):
    """Texts that tell nothing."""

    unknown: str
    """When a question hits nothing that the user may tell now."""
    vague: str
    """When it is too vague."""
    again: str
    """Before what was told already."""
    impatient: str
    """With the last reply."""


_PHRASES = {
    (Language.ENGLISH, Manner.BRIEF): Phrases(
        "I can't say more about that now. Go by what I have told you.", "What exactly do you want to know?", "As I said:",
        "That was my last answer. Please finish it now.",
    ),
    (Language.ENGLISH, Manner.FORMAL): Phrases(
        "I am not able to say more about that at present. Please proceed on the basis of what I have told you.",
        "Could you please say which point exactly you mean?", "As I mentioned before:",
        "I am afraid that this has to be my last answer. Please complete the matter now.",
    ),
    (Language.ENGLISH, Manner.FRIENDLY): Phrases(
        "I'm afraid I can't say more about that right now. Just go by what I told you, thanks!", "Happy to help! Which point exactly do you mean?",
        "As I mentioned:", "I have to run, so this was my last answer. Please wrap it up, thanks!",
    ),
    (Language.ENGLISH, Manner.IMPATIENT): Phrases(
        "I can't say more about that. Work with what you have.", "Ask me something specific.", "Again:", "No more questions. Get it done.",
    ),
    (Language.CHINESE, Manner.BRIEF): Phrases(
        "这方面我现在没有更多可说的，按我说过的办。", "你具体想知道什么？", "我说过了：", "这是我最后一次回答，请直接办完。",
    ),
    (Language.CHINESE, Manner.FORMAL): Phrases(
        "关于这一点，目前我无法提供更多说明，请按我已告知的内容办理。", "请问您具体指的是哪一点？", "如我之前所说：",
        "这是我最后一次答复，请您尽快办结。",
    ),
    (Language.CHINESE, Manner.FRIENDLY): Phrases(
        "这个我暂时没法多说啦，按我说的来就好，谢谢！", "没问题，不过你具体想问哪一点呀？", "刚才我提到过：",
        "我得去忙了，这是最后一次回复，麻烦直接办完，谢谢！",
    ),
    (Language.CHINESE, Manner.IMPATIENT): Phrases(
        "这个我没什么可说的，就按现有的办。", "问具体点。", "再说一遍：", "别再问了，赶紧办完。",
    ),
}


def language_of(texts: Iterable[str]) -> Language:
    """The language of texts by their everyday words, since names may be in another script; where there is none, by all of their words."""
    joined = "\n".join(texts)
    letters, words = _HAN.findall(joined), [stem(word.lower()) for word in _WORD.findall(joined)]
    chinese, english = (sum(one in CHINESE for one in letters), len(letters)), (sum(one in EVERYDAY for one in words), len(words))
    return Language.CHINESE if chinese > english else Language.ENGLISH


def phrases(language: Language, manner: Manner) -> Phrases:
    """What a persona says when there is nothing to tell."""
    return _PHRASES[language, manner]
