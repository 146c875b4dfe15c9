"""The one list of operations that make the host wait for the device, by method, function and class.

Names only; what a receiver is, is for the callers to know. Sources: PyTorch's documentation ("this function
synchronizes the host with the device"), and the calls of `memcpy_and_sync`, `item` and `nonzero` in ATen.
"""

from __future__ import annotations

from codemods.program.source import words

READS = {
    "item": "one element to the host",
    "cpu": "tensor to the host",
    "tolist": "tensor to Python numbers",
    "numpy": "tensor to a numpy array",
}
"""Methods of a tensor that copy it to the host and wait for the copy."""

SHAPES = words("""
    argwhere bincount combinations coalesce masked_select nonzero to_sparse unique unique_consecutive
""")
"""Methods and functions whose result has as many elements as the data says: the host must count first."""

ANSWERS = frozenset({"allclose", "equal", "is_nonzero"})
"""Methods and functions of tensors that answer with a Python bool."""

CHECKED = words("""
    torch.cholesky torch.inverse torch.lu torch.multinomial torch.normal torch.pinverse
    torch.testing.assert_close torch.linalg.cholesky torch.linalg.cond torch.linalg.eig torch.linalg.eigh
    torch.linalg.eigvals torch.linalg.eigvalsh torch.linalg.inv torch.linalg.lstsq torch.linalg.lu_factor
    torch.linalg.matrix_rank torch.linalg.pinv torch.linalg.solve torch.linalg.svd torch.linalg.svdvals
    torch.linalg.tensorinv torch.linalg.tensorsolve
    torchvision.ops.batched_nms torchvision.ops.boxes.batched_nms torchvision.ops.boxes.nms
    torchvision.ops.nms
""")
"""Functions that look at values or error flags on the host before they return."""

CHECKED_METHODS = frozenset({"cholesky", "inverse", "multinomial", "pinverse"})
"""The same, as methods of a tensor."""

COLLECTIVES = frozenset(
    f"torch.distributed.{name}"
    for name in words("""
    all_gather_object barrier broadcast_object_list gather_object monitored_barrier recv_object_list
    scatter_object_list send_object_list
    """)
)
"""Collectives that the host waits for."""

BARRIERS = frozenset({"barrier", "wait_for_everyone"})
"""Methods of launchers (accelerate, Fabric) that wait for all processes."""

ALLOCATOR = frozenset({"torch.cuda.empty_cache", "torch.accelerator.empty_cache", "torch.xpu.empty_cache"})
"""Functions that give memory back to the driver, which waits for the device."""

SAVERS = frozenset({"pickle.dump", "pickle.dumps", "torch.save", "cloudpickle.dumps", "joblib.dump"})
"""Functions that write tensors, which brings them to the host."""

TRACKERS = words("""
    add_histogram add_histogram_raw add_scalar add_scalars log_metric log_metrics set_postfix
    set_postfix_str
""")
"""Methods of experiment trackers and progress bars that turn what they are given into numbers or text."""

KEEPERS = frozenset({"add_batch"})
"""Methods of metrics that keep what they are given as numbers."""

TRACKER_FUNCTIONS = frozenset({"mlflow.log_metric", "mlflow.log_metrics", "wandb.log"})
"""The same, as functions."""

JOINS = frozenset({"cat", "concat", "concatenate", "hstack", "stack", "vstack"})
"""Functions that put many tensors into one, so that a single copy brings them all to the host."""


def is_fence(name: str) -> bool:
    """Tell whether everything queued before a call of this name is done after it."""
    return name.startswith("synchroni")
