"""The engine that draws from a model in this process: one thread, which draws together what waits together. `draw` knows the tensors."""

import atexit
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from threading import Condition, Thread
from time import monotonic
from typing import Any, TypeAlias, TypeVar

from cowork_gym.core.errors import Blame, CoworkError, Fault, told
from cowork_gym.harness.engines.engine import ContextFull, Drawn, Engine, Sampling
from cowork_gym.harness.policies.local.draw import Request, draw_together

__all__ = ["EngineLog", "LocalEngine"]

EngineLog: TypeAlias = Callable[[Sequence[int], Drawn], None]
"""Is shown each prompt, as the model saw it, and what was drawn."""

_T = TypeVar("_T")
_PATIENCE = 10.0  # seconds that closing waits for a step of the model


class LocalEngine(Engine):
    """A causal language model of transformers. It lives until it is closed, or the process ends; it is a context manager.

    Args:
        model: The model, on its device and in its dtype. Nobody else may use it while answers are drawn, except in `refresh`.
        name: How episodes call it.
        context: The most tokens that a prompt and its answer may have together; by default what the model was made for.
        max_batch: The most answers that are drawn together.
        wait: Seconds that a request waits for others.
        version: Of the weights.
        log: Is shown what the model saw and drew.
    """

    def __init__(
        self, model: Any, *, name: str, context: int | None = None, max_batch: int = 8, wait: float = 0.005, version: str = "0",
        log: EngineLog | None = None,
    ) -> None:
        self.name, self.context = name, context or getattr(model.config, "max_position_embeddings", None)
        self._model, self._vocabulary = model.eval(), model.get_input_embeddings().num_embeddings
        self._max_batch, self._wait, self._version, self._log = max_batch, wait, version, log
        self._jobs: deque[_Answer | _Refresh] = deque()
        self._changed = Condition()
        self._closed, self._spoiled = False, ""
        self._thread: Thread | None = None
        atexit.register(self.close)

    @property
    def version(self) -> str:
        """Of the weights that the next answer will be drawn from."""
        return self._version

    def generate(self, prompt: Sequence[int], sampling: Sampling, *, stop: Sequence[int], seed: int) -> Drawn:
        """One answer, drawn together with others that wait.

        Raises:
            ContextFull: The prompt leaves no room for an answer.
            Fault: The model failed, does not know one of the ids, or the engine is closed.
            ValueError: There is no prompt, or no token is wanted.
        """
        if not prompt or sampling.max_tokens < 1:
            raise ValueError("an answer needs a prompt and room for one token")
        if (strange := max(prompt)) >= self._vocabulary or (strange := min(prompt)) < 0:
            raise self._fault(f"token {strange} is not among the model's {self._vocabulary}: the tokenizer is another model's")
        if self.context is not None:
            if len(prompt) >= self.context:
                raise ContextFull(f"{len(prompt)} tokens, and the model reads {self.context}")
            sampling = replace(sampling, max_tokens=min(sampling.max_tokens, self.context - len(prompt)))
        job = _Answer(Request(tuple(prompt), sampling, frozenset(stop), seed))
        self._put(job)
        return _outcome(job.done)

    def refresh(self, load: Callable[[Any], None], version: str) -> None:
        """Change the weights, after the answers that wait now and before those that come later: each answer is of one version.

        Args:
            load: Changes the model. If it fails, nothing is drawn until another refresh has succeeded.
            version: Of the weights from then on.

        Raises:
            Fault: The engine is closed.
            Exception: Whatever `load` raises.
        """
        job = _Refresh(load, version)
        self._put(job)
        _outcome(job.done)

    def close(self) -> None:
        """End the thread. Who still waits gets a fault. A second call does nothing."""
        atexit.unregister(self.close)
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(_PATIENCE)

    def __enter__(self) -> "LocalEngine":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _put(self, job: "_Answer | _Refresh") -> None:
        with self._changed:
            self._check()
            if self._thread is None or not self._thread.is_alive():  # a fork has none of its parent's threads
                self._thread = Thread(target=self._work, name=self.name, daemon=True)
                self._thread.start()
            self._jobs.append(job)
            self._changed.notify_all()

    def _work(self) -> None:
        while batch := self._next():
            try:
                if isinstance(batch, _Refresh):
                    self._load(batch)
                else:
                    self._draw(batch)
            except BaseException as error:
                for job in [batch] if isinstance(batch, _Refresh) else batch:
                    if not job.done.done():
                        job.done.set_exception(error)

    def _next(self) -> "list[_Answer] | _Refresh | None":
        """A refresh, or answers to draw together; None when the engine is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closed)
            until = monotonic() + self._wait
            while not (self._closed or self._full()) and (left := until - monotonic()) > 0:
                self._changed.wait(left)
            if self._closed:
                while self._jobs:
                    self._jobs.popleft().done.set_exception(self._fault("the engine is closed"))
                return None
            if isinstance(first := self._jobs[0], _Refresh):
                self._jobs.popleft()
                return first
            batch: list[_Answer] = []
            while self._jobs and len(batch) < self._max_batch and isinstance(job := self._jobs[0], _Answer):
                self._jobs.popleft()
                batch.append(job)
            return batch

    def _full(self) -> bool:
        """Whether there is nothing to wait for: a refresh ends a batch."""
        return len(self._jobs) >= self._max_batch or any(isinstance(one, _Refresh) for one in self._jobs)

    def _draw(self, batch: "Sequence[_Answer]") -> None:
        if self._spoiled:
            raise self._fault(f"its weights could not be changed: {self._spoiled}")
        try:
            answers = draw_together(self._model, [job.request for job in batch], self._version, check=self._check)
            for job, drawn in zip(batch, answers, strict=True):
                if self._log is not None:
                    self._log(job.request.prompt, drawn)
                job.done.set_result(drawn)
        except CoworkError:
            raise
        except BaseException as error:
            raise self._fault(told(error)[:300]) from error

    def _load(self, job: "_Refresh") -> None:
        try:
            job.load(self._model)
        except BaseException as error:
            self._spoiled = told(error)[:300]
            raise
        self._model.eval()
        self._version, self._spoiled = job.version, ""
        job.done.set_result(None)

    def _check(self) -> None:
        if self._closed:
            raise self._fault("the engine is closed")

    def _fault(self, text: str) -> Fault:
        return Fault(Blame.MODEL_SERVER, self.name, text)


def _outcome(done: "Future[_T]") -> _T:
    """What a job came to. Each of those that a fault befell gets an exception of its own, since each raises it in its own thread."""
    try:
        return done.result()
    except Fault as fault:
        raise Fault(fault.record.blame, fault.record.where, fault.record.message) from fault


@dataclass(eq=False, slots=True)
class _Answer:
    """A request that waits."""

    request: Request
    done: Future[Drawn] = field(default_factory=Future)


@dataclass(eq=False, slots=True)
class _Refresh:
    """New weights that wait."""

    load: Callable[[Any], None]
    version: str
    done: Future[None] = field(default_factory=Future)
