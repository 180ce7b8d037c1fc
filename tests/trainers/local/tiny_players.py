"""A tiny policy with random weights on the micro tasks, and rollouts of it."""

import functools
from typing import Any

import torch
from transformers import set_seed

from cowork_gym.benchmarks.micro.demonstrations import SHORT, demonstrate
from cowork_gym.core.episode import Episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness.engines.engine import Sampling
from cowork_gym.harness.loop import play
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.harness.tokens import JinjaFormat
from cowork_gym.trainers.local.collect import Collector, Form
from cowork_gym.trainers.local.lockstep import Crowd
from cowork_gym.trainers.tiny.model import TinyConfig, TinyForCausalLM
from cowork_gym.trainers.tiny.tokenizer import train_tokenizer

TASKS = {load_task(one).id: load_task(one) for one in SHORT}
FORMS = [Form(task, 1_000_000 + seed) for seed, task in enumerate(TASKS)]


@functools.cache
def tokenizer() -> Any:
    texts = []
    for name in SHORT:
        env = CoworkEnv(load_task(name))
        for seed in range(1, 6):
            episode = play(env, ScriptedPolicy("demonstrator", demonstrate(env.task, seed)), seed=seed)
            texts += [one.content or one.tool_calls[0].arguments for one in episode.messages]
        env.close()
    return train_tokenizer(texts, 400)


def policy(seed: int = 0, **shape: int) -> TinyForCausalLM:
    set_seed(seed)
    size = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2, **shape}
    return TinyForCausalLM(TinyConfig(vocab_size=len(tokenizer()), **size))


def collector(model: Any, **more: Any) -> Collector:
    crowd = Crowd(model, name="tiny", context=512, max_batch=16, version="1")
    return Collector(crowd, JinjaFormat(tokenizer()), TASKS, Sampling(max_tokens=12), **more)


def played(model: Any, n: int = 4, **more: Any) -> list[Episode]:
    torch.set_num_threads(1)
    return collector(model, **more)(FORMS, n, 7)
