"""Presets: the tasks that can be trained, and named settings for a run. Loads neither torch nor the
training loop.
"""

from esper.runtime.tasks import TASKS, get_task_spec, preset_settings

__all__ = ["TASKS", "get_task_spec", "preset_settings"]
