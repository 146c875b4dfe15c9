"""The specification's home of batch operations, which are the engine's: they live in `tolaria.hosts`.

`batch_signals_to_features` is `tamiyo.batch_obs_to_features`, which takes the slots and the device; the
function that takes a run's setup is in the tree that the plans derive.
"""

from esper.tamiyo import batch_obs_to_features as batch_signals_to_features
from esper.tolaria.hosts import process_train_batch, process_val_batch

__all__ = ["batch_signals_to_features", "process_train_batch", "process_val_batch"]
