"""Names that are written in Chinese: surname and given name, brand and what kind of company it is. They have no ends, so they are found anywhere."""

import re
from collections.abc import Mapping

from cowork_gym.envs.variation.names import Kind, Pairs

__all__ = ["chinese_pairs", "chinese_words", "is_chinese"]

_CHINESE = re.compile(r"[\u3400-\u9fff]")
_SURNAMES = ("欧阳", "司马", "诸葛", "上官", "司徒", "东方", "夏侯", "皇甫", "尉迟", "公孙", "慕容", "令狐", "南宫", "宇文", "长孙")
_TITLES = ("经理", "总监", "总", "主任", "先生", "女士", "老师", "主管", "医生", "教授", "律师", "部长", "会计", "师傅", "工程师", "组长", "店长")
_TRADES = "物流|科技|贸易|网络|传媒|信息|电子|商贸|软件|食品|医疗|教育|咨询|建设|机械|能源|服饰|家居|旅游|保险|供应链|制造|化工|药业|餐饮|文化"
_ENDING = re.compile(rf"(?:{_TRADES})*(?:(?:股份|集团|有限责任|有限)*公司|集团|银行|医院|学校|大学|商店|超市|工厂|厂|店)?\Z")


def is_chinese(name: str) -> bool:
    """Whether a name is written in Chinese."""
    return _CHINESE.search(name) is not None


def chinese_words(name: str, kind: Kind) -> Mapping[str, str]:
    """The parts of a name that vary, each with what Faker calls another one."""
    match kind:
        case Kind.PERSON:
            surname, given = _parts(name)
            return {surname: "last_name", given: "first_name"} if given else {surname: "first_name"}
        case Kind.COMPANY | Kind.PRODUCT:
            return {_brand(name): "company_prefix"}
        case Kind.CITY:
            return {name: "city_name"}
        case Kind.STREET:
            return {name: "street_name"}
    return {name: kind.value}


def chinese_pairs(name: str, kind: Kind, new: Mapping[str, str]) -> Pairs:
    """The ways to write a name: in full, and the brand alone, or the surname with a title.

    Args:
        name: The name.
        kind: What it is of.
        new: What takes the place of each part that varies.
    """
    if kind is Kind.PERSON:
        surname, given = _parts(name)
        yield name, new[surname] + (new[given] if given else "")
        if given:
            yield from ((surname + title, new[surname] + title) for title in _TITLES)
    elif kind in (Kind.COMPANY, Kind.PRODUCT):
        brand = _brand(name)
        yield name, new[brand] + name.removeprefix(brand)
        if len(brand) > 1:
            yield brand, new[brand]
    else:
        yield name, new[name]


def _parts(name: str) -> tuple[str, str]:
    end = 2 if name.startswith(_SURNAMES) else 1
    return name[:end], name[end:]


def _brand(name: str) -> str:
    found = _ENDING.search(name)
    return name[: found.start()] if found and found.start() else name
