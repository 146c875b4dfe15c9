"""The specification's home of `ParallelEnvState`; it lives in `simic.training.round_state`.

The half of an env that an engine trains is `tolaria.setup.HostState`.
"""

from esper.simic.training.round_state import ParallelEnvState as ParallelEnvState
