"""What must hold of any run that was recorded, held against the log of the engine that played it."""

from collections.abc import Iterator, Sequence

from token_script import END, Asked

from cowork_gym.core.episode import Episode
from cowork_gym.core.lineage import contradiction_of_runs
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.core.record import seal
from cowork_gym.core.trajectory import ROOT, Generation, Prefix, Run, Segment


def visible_prompts(segment: Segment) -> Iterator[tuple[Generation, tuple[Message, ...]]]:
    """Each generation with all that was visible to it."""
    seen: tuple[Message, ...] = ()
    for one in segment.generations:
        yield one, (*seen, *one.given)
        if one.kept:
            seen = (*seen, *one.given, one.said)


def check_tokens(run: Run, log: Sequence[Asked]) -> None:
    """Every sampled token stands in one generation, and every generation was asked with exactly what the record says."""
    assert len(run.generations) == len(log)
    drawn = [id for asked in log for id in asked.drawn.ids]
    assert [id for one in run.generations for id in one.tokens.ids] == drawn
    assert len(own := [id for id in drawn if id != END]) == len(set(own))
    for segment in run.segments:
        before: tuple[int, ...] = ()
        for one in segment.generations:
            asked, tokens = log[one.index], one.tokens
            assert (*before, *tokens.context) == asked.prompt
            assert (tokens.ids, tokens.logprobs, one.finish, one.version) == asked.drawn
            assert len(tokens.ids) == len(tokens.logprobs) == len(tokens.mask) > 0
            assert set(tokens.mask) == {one.kept}
            if one.kept:
                before = (*asked.prompt, *asked.drawn.ids)
        assert segment.ids == before
        assert segment.audit == ""


def check_prompts(run: Run, prompts: Sequence[Sequence[Message]]) -> None:
    """The messages of the record are those that the policy was given."""
    for segment in run.segments:
        for one, visible in visible_prompts(segment):
            assert visible == tuple(prompts[one.index])


def check_histories(run: Run) -> None:
    """Every prompt is a valid history: each call is followed by its result, each result stands behind its call."""
    for segment in run.segments:
        for _, visible in visible_prompts(segment):
            waiting: list[ToolCall] = []
            for one in visible:
                if one.role == "tool":
                    assert waiting and (called := waiting.pop(0)) and (called.id, called.name) == (one.tool_call_id, one.name)
                else:
                    assert not waiting
                waiting += one.tool_calls
            assert not waiting
            assert visible[-1].role != "assistant"


def check_users_word(episode: Episode) -> None:
    """The request, and whatever the user said later, is visible to the root in every prompt that comes after it."""
    said = {turn.index: turn.observation for turn in episode.turns if turn.action is not None and not turn.action.tool_calls}
    for segment in episode.runs[ROOT].segments:
        for one, visible in visible_prompts(segment):
            taken = [each.turn for each in episode.runs[ROOT].generations[: one.index] if each.turn is not None]
            assert all(word in visible for word in (*episode.opening, *(word for at in taken for word in said.get(at, ()))))


def check_rewrites(run: Run) -> None:
    """Each segment but the first was opened by a rewrite that was declared, with the history that the record has."""
    assert run.segments[0].rewrite is None
    for old, new in zip(run.segments, run.segments[1:], strict=False):
        assert new.rewrite.kind in ("summary", "window", "prune")
        assert new.rewrite.before == Prefix.of(old.messages)
        assert new.rewrite.after == Prefix.of(new.generations[0].given[: new.rewrite.after.messages])
        assert (new.rewrite.summary is not None) == (new.rewrite.kind == "summary")


def check_episode(episode: Episode, log: Sequence[Asked], prompts: Sequence[Sequence[Message]]) -> None:
    """All of it, for an episode of one run."""
    (run,) = episode.runs
    check_tokens(run, log)
    check_prompts(run, prompts)
    check_histories(run)
    check_rewrites(run)
    check_users_word(episode)
    assert contradiction_of_runs(episode) is None
    assert episode.grade is not None and episode.grade.seal == seal(episode)
