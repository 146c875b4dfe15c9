"""Defaults that several packages share."""

from __future__ import annotations

MIN_PRUNE_AGE = 1
"""Epochs a seed must have lived before it may be pruned."""

DEFAULT_EMBARGO_EPOCHS = 5
"""Epochs a slot stays closed after a prune, so that growing and pruning can't alternate."""

DEFAULT_MIN_TRAINING_EPOCHS = 1
"""Epochs in TRAINING before a seed may start to blend."""

DEFAULT_MIN_FOSSILIZE_CONTRIBUTION = 0.01
"""Contribution (fraction of validation accuracy) under which fossilizing earns nothing."""

DEFAULT_GOVERNOR_SENSITIVITY = 6.0
"""Standard deviations above the recent mean at which a validation loss is an outlier."""

DEFAULT_GOVERNOR_ABSOLUTE_THRESHOLD = 12.0
"""Validation loss that is a panic whatever the history says."""

DEFAULT_GOVERNOR_COLLAPSE_RATIO = 0.5
"""A loss above chance level while accuracy fell under this share of its best is a collapse."""

DEFAULT_GOVERNOR_DEATH_PENALTY = 1.0
"""Subtracted from the reward of the step whose host had to be rolled back."""

DEFAULT_GOVERNOR_HISTORY_WINDOW = 20
"""Epochs of loss history that outliers are judged against."""

DEFAULT_GOVERNOR_MIN_HISTORY = 5
"""Epochs of history before an outlier is judged at all."""

DEFAULT_GOVERNOR_MIN_PANICS = 2
"""Consecutive panics before a rollback; NaN and infinity roll back at once."""

HISTORY_LENGTH = 5
"""Epochs of loss and accuracy history that the policy sees."""
