"""Words by what they do to a statement: those that tell nothing by themselves, and those that make another statement of it."""

from cowork_gym.mock_services.kit.stem import stem

__all__ = ["CHINESE", "CHINESE_TURNING", "COUNTING", "EVERYDAY", "TURNING"]


def _stems(words: str) -> frozenset[str]:
    return frozenset(map(stem, words.split()))


TURNING = _stems("""
    absolutely affirmative agree agreed all always certainly confirm confirmed correct definitely exactly indeed ok okay only precisely right sure
    true yeah yep yes above after before below beyond down earlier later least less more most off over since than till under until up within
    deny except false hardly incorrect instead neither never no nobody none nor not nothing nowhere unless untrue without wrong
""")
"""Stems of words that affirm, deny or bound what stands beside them."""
COUNTING = _stems("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty
    forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half double once twice first last second third fourth fifth sixth
    seventh eighth ninth tenth today tomorrow yesterday tonight noon midnight morning afternoon evening week weekend month quarter year hour minute
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december
""")
"""Stems of words that stand for numbers and dates; May is not among them."""
EVERYDAY = _stems("""
    a about actually again ahead along already also am an and another anyway anything appreciate apologies apology are around as ask asked asking at
    away back be because been being best both bring brings but by can case check clarify come comes coming concerning could date detail details did
    do does doing done each either else end ensure even expect fact far few figure find fine follow following for forward from further get getting
    give given glad go goes going good got great had happy hand handle has have having he hello help her here hey hi him his hope how however i if in
    information into is it its itself just keep kind kindly know leave let like little look looking made make makes making many matter may me mean
    means mention mentioned might mind mine much must my myself name namely need needed needs next note noted now number of on or other our out part
    people person place please point possible problem provide put question quick really regarding regards remember said same say saying says see send
    sent set shall she should simply so some someone something soon sorry specifically start still such take takes tell thank thanks that the their
    them then there these they thing things think this those though through time to together told too try update us use used using very via wait want
    wanted was way we well were what whatever when where which while who whom whose why will wish with word work working would you your yours yourself
""")
"""Stems of words that tell nothing."""
CHINESE = frozenset(
    "的了是我你您他她它们这那请谢麻烦就先再也还会要能在和跟给把对为被从到向让及或而但如果因所于等个些点儿呢吗吧啊呀哦嗯哈啦嘛说过问答告诉知道"
    "想需用做办理看来去出中里时候具体情况容方面边刚才之另其实主要关于按照根据直接尽快赶紧稍微有什么怎样哪谁事意思名字叫作信息补充提帮忙该应当"
    "已经曾正将便即使得着与并且然终最抱歉记住注意好"
)
"""Chinese letters that tell nothing."""
CHINESE_TURNING = frozenset("不没别勿非无未否莫前后内外超早晚只仅")
"""Chinese letters that deny or bound what stands beside them."""
