"""The decision-maker: observation features, action masks, the policy network, a rule-based policy."""

from esper.tamiyo.features import SignalTracker, batch_obs_to_features, feature_size
from esper.tamiyo.heuristic import HeuristicPolicy
from esper.tamiyo.masks import (
    ActionMasks,
    SlotState,
    build_slot_states,
    compute_action_masks,
    stack_action_masks,
)
from esper.tamiyo.network import (
    FactoredRecurrentActorCritic,
    Hidden,
    PolicyOutput,
    choose_actions,
    create_policy,
    draw_noise,
    evaluate_actions,
    relevance_table,
)

__all__ = [
    "ActionMasks",
    "FactoredRecurrentActorCritic",
    "HeuristicPolicy",
    "Hidden",
    "PolicyOutput",
    "SignalTracker",
    "SlotState",
    "batch_obs_to_features",
    "build_slot_states",
    "choose_actions",
    "compute_action_masks",
    "create_policy",
    "draw_noise",
    "evaluate_actions",
    "feature_size",
    "relevance_table",
    "stack_action_masks",
]
