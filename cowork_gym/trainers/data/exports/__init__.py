"""Rollouts as rows for other frameworks: plain values that JSON and Parquet can hold."""

from cowork_gym.trainers.data.exports.dressage import dressage_rows
from cowork_gym.trainers.data.exports.skyrl import skyrl_output, skyrl_rows
from cowork_gym.trainers.data.exports.slime import RewardOn, slime_rows

__all__ = ["RewardOn", "dressage_rows", "skyrl_output", "skyrl_rows", "slime_rows"]
