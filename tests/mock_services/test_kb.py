import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from office import ask, office, refusal, world_of

from cowork_gym.mock_services.kb import KB, Article


def article(article_id, title, content="nothing of note", **fields):
    return {"article_id": article_id, "title": title, "content": content, **fields}


def shelf(*articles):
    return world_of(KB, articles=[*articles])


def found(world, query, **arguments):
    return [one["article_id"] for one in ask(world, "kb_search", query=query, **arguments)["articles"]]


def test_a_hit_shows_what_an_article_is_about():
    answer = ask(office(), "kb_search", query="rotation")
    assert answer == {"total": 1, "articles": [{
        "article_id": "K-1", "title": "API key rotation", "category": "Security", "tags": ["api", "keys"], "last_updated": "2026-01-15", "views": 7,
        "snippet": "Revoke, then issue a key.",
    }]}


LIBRARY = [
    article("zurich", "Büro in Zürich", "Die Straße heißt Bahnhofstraße."),
    article("decomposed", "Cafe\u0301 am See", "naïve résumé"),
    article("ssl", "SSL证书续期指南", "部署SSL证书后重启服务器。HTTP/2 端口 443。"),
    article("japanese", "東京オフィス", "受付は二階です"),
    article("korean", "비밀번호 재설정", "새 비밀번호"),
    article("cant", "When users can't log in", "Check e-mail, then the a-b test. AND gates, NOT gates, NEAR misses. 🔥 drill on C: drive."),
    article("emoji", "🔥 outage", "evacuate"),
]


@pytest.mark.parametrize(("query", "first"), [
    ("zurich", "zurich"), ("ZÜRICH", "zurich"), ("Zu\u0308rich", "zurich"), ("buro", "zurich"), ("cafe", "decomposed"), ("café", "decomposed"),
    ("RESUME", "decomposed"), ("证书", "ssl"), ("续期", "ssl"), ("ssl", "ssl"), ("SSL证书", "ssl"), ("证书续期流程", "ssl"), ("重启", "ssl"),
    ("443", "ssl"), ("東京", "japanese"), ("オフィス", "japanese"), ("비밀번호", "korean"), ("can't", "cant"), ("a-b AND", "cant"),
    ("e-mail", "cant"), ("NOT", "cant"), ("NEAR(", "cant"), ("log* in^", "cant"), ("title: gates", "cant"), ("(gates", "cant"),
    ('"gates', "cant"), ("🔥 outage", "emoji"), ("+gates", "cant"),
])
def test_what_a_query_finds_first(query, first):
    assert found(shelf(*LIBRARY), query)[:1] == [first]


@pytest.mark.parametrize(("query", "snippet"), [
    ("rotate", "Keys are rotated twice."), ("ROTATING keys", "Keys are rotated twice."), ("twice key", "Keys are rotated twice."), ("rot", None),
    ("rota", None), ("rotates-keys", None), ("key rotate", "Keys are rotated twice."), ("keys-are", "Keys are rotated twice."),
])
def test_english_words_match_in_any_form(query, snippet):
    content = "Nothing but padding. " * 20 + "Keys are rotated twice. " + "Nothing but padding. " * 20
    answer = ask(shelf(article("a", "Policy", content), article("b", "Coffee")), "kb_search", query=query)["articles"]
    assert [one["article_id"] for one in answer] == (["a"] if snippet else [])
    assert all(snippet in one["snippet"] for one in answer)


@pytest.mark.parametrize("query", ["certificate", "证", "书证", "zur", "ate AND", "xyz\u00b2", "NEAR/3"])
def test_what_is_found_by_one_character_or_none(query):
    expected = {"证": ["ssl"], "ate AND": ["cant"], "NEAR/3": []}.get(query, [])
    assert found(shelf(*LIBRARY), query) == expected


@pytest.mark.parametrize("query", ["", " ", "\n\t", '"', "*", "🔥", "()", "''", "-", "^:"])
def test_a_query_without_a_word_is_refused(query):
    outcome = refusal(office(), "kb_search", query=query)
    assert outcome.status == 422


def test_a_query_is_bounded():
    assert found(office(), "key " * 125)
    assert refusal(office(), "kb_search", query="k" * 501).status == 422
    assert refusal(office(), "kb_search", query="key", max_results=0).status == 422


def test_a_title_outweighs_the_text():
    long = "filler " * 500
    repeated, tagged = article("a", "Other", "certificate " * 50), article("b", "Other", "certificate", tags=["certificate"])
    titled = article("c", "The certificate", long)
    assert found(shelf(repeated, titled), "certificate") == ["c", "a"]
    assert found(shelf(article("a", "Other", "certificate"), tagged, titled), "certificate") == ["c", "b", "a"]


@pytest.mark.parametrize("noise", [1, 2, 5, 30])
def test_rare_words_outweigh_a_common_one(noise):
    common = [article(f"a{at:02}", "Password password", "password " * 20) for at in range(noise)]
    world = shelf(*common, article("rare", "Reset", "the quorum of the ledger and its password"))
    assert found(world, "password quorum ledger", max_results=200) == ["rare", *(one["article_id"] for one in common)]
    without = shelf(*common, article("rare", "Reset", "the quorum of the ledger"), article("rare-2", "Reset", "ledger quorum"))
    assert {*found(without, "password quorum ledger")[:2]} == {"rare", "rare-2"}


def test_more_of_the_words_is_better():
    world = shelf(article("one", "SSL renewal"), article("two", "SSL certificate renewal"), article("three", "Renewal of contracts"))
    assert found(world, "renew SSL certificate") == ["two", "one", "three"]


def test_equal_matches_are_ordered_by_id_whatever_the_history():
    forward, backward = shelf(article("a", "x"), article("b", "x")), shelf(article("b", "x"), article("a", "x"))
    assert found(forward, "x") == found(backward, "x") == ["a", "b"]


def test_category_and_limit():
    world = office()
    assert found(world, "key") == ["K-1", "K-3"]
    assert found(world, "key", category="OFFICE") == ["K-3"]
    assert found(world, "key", category="Off") == []
    assert found(world, "key", max_results=1) == ["K-1"]


def test_a_snippet_shows_the_place_of_the_words():
    text = "Intro. " + "padding words go here " * 40 + "To renew the Zürich certificate run certbot. " + "more padding follows " * 40
    [hit] = ask(shelf(article("a", "Manual", text)), "kb_search", query="zurich certificate")["articles"]
    assert "Zürich certificate run certbot" in hit["snippet"]
    assert hit["snippet"].startswith("…") and hit["snippet"].endswith("…") and len(hit["snippet"]) <= 162
    [hit] = ask(shelf(article("a", "Manual", text)), "kb_search", query="manual")["articles"]
    assert hit["snippet"].startswith("Intro. padding")


def test_reading_counts_no_view():
    world = office()
    assert ask(world, "kb_get_article", article_id="K-1") == ask(world, "kb_get_article", article_id="K-1")
    assert world.diff() == ()


def test_an_update_replaces_text_day_and_index():
    world = office()
    assert ask(world, "kb_update_article", article_id="K-1", content="Ask the vault. 保险库") == {"status": "updated", "article_id": "K-1"}
    read = ask(world, "kb_get_article", article_id="K-1")
    assert (read["content"], read["last_updated"], read["title"], read["views"]) == ("Ask the vault. 保险库", "2026-03-10", "API key rotation", 7)
    assert found(world, "revoke") == [] and found(world, "vault") == found(world, "保险") == ["K-1"]
    assert world.ledger[0].audit == "updates"
    assert world.ledger[0].record == {"article_id": "K-1", "content": "Ask the vault. 保险库", "timestamp": "2026-03-10T09:00:01Z"}
    [change] = world.diff()
    assert change.fields() == {"content", "last_updated"} and Article.stamps == {"last_updated"}


@settings(max_examples=150)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40))
def test_no_query_is_a_fault(query):
    outcome = office().call("kb_search", {"query": query})
    assert outcome.status in {200, 422}


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["ssl", "证书", "key", "Zürich", "o'hara", "x-y"]), min_size=1, max_size=3, unique=True), st.data())
def test_an_article_is_found_by_any_of_its_words(words, data):
    world = shelf(article("a", "Some title", " ".join(words)), article("b", "Other"))
    assert found(world, data.draw(st.sampled_from(words))) == ["a"]
