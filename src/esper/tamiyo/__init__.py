"""The decision-maker: observation features, action masks, the policy network, a rule-based policy."""

from esper.tamiyo.features import SignalTracker as SignalTracker
from esper.tamiyo.features import batch_obs_to_features as batch_obs_to_features
from esper.tamiyo.features import feature_size as feature_size
from esper.tamiyo.heuristic import HeuristicPolicy as HeuristicPolicy
from esper.tamiyo.masks import ActionMasks as ActionMasks
from esper.tamiyo.masks import build_slot_states as build_slot_states
from esper.tamiyo.masks import compute_action_masks as compute_action_masks
from esper.tamiyo.masks import stack_action_masks as stack_action_masks
from esper.tamiyo.network import FactoredRecurrentActorCritic as FactoredRecurrentActorCritic
from esper.tamiyo.network import Hidden as Hidden
from esper.tamiyo.network import PolicyOutput as PolicyOutput
from esper.tamiyo.network import choose_actions as choose_actions
from esper.tamiyo.network import create_policy as create_policy
from esper.tamiyo.network import draw_noise as draw_noise
from esper.tamiyo.network import evaluate_actions as evaluate_actions
