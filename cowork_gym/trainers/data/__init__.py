"""Training data from sealed episodes: rollouts for reinforcement learning, dialogues and samples for imitation."""

from cowork_gym.trainers.data.anchors import AnchorForm, Clusters, anchor_of, clusters
from cowork_gym.trainers.data.dialogue import Dialogue, Source, Utterance
from cowork_gym.trainers.data.groups import Group, Refill, Sampled, Split, grouped, sample_dynamically, split_complete
from cowork_gym.trainers.data.reading import Counts, RolloutReader
from cowork_gym.trainers.data.recorded import Conversion, group_of, rollout_of
from cowork_gym.trainers.data.rollouts import Boundary, Rollout, Segment, Step, same_tokenizer
from cowork_gym.trainers.data.sample import Sample, Span
from cowork_gym.trainers.data.selection_by_pass import PassRate, TaskSelection, pass_rates, select_tasks
from cowork_gym.trainers.data.staleness import By, fresh, fresh_groups, fresh_tokens, update_of, updates_of
from cowork_gym.trainers.data.steps import Packaging

__all__ = [
    "AnchorForm", "Boundary", "By", "Clusters", "Conversion", "Counts", "Dialogue", "Group", "Packaging", "PassRate", "Refill", "Rollout",
    "RolloutReader", "Sample", "Sampled", "Segment", "Source", "Span", "Split", "Step", "TaskSelection", "Utterance", "anchor_of", "clusters",
    "fresh", "fresh_groups", "fresh_tokens", "group_of", "grouped", "pass_rates", "rollout_of", "same_tokenizer", "sample_dynamically",
    "select_tasks", "split_complete", "update_of", "updates_of",
]
