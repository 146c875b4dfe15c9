"""Names of methods and functions, by what they mean for a value; waits are listed in `waits.py`."""

from __future__ import annotations

import re

from codemods.program.source import words

METADATA = words("""
    backward data_ptr dense_dim dim dim_order element_size get_device has_names is_coalesced
    is_complex is_conj is_contiguous is_distributed is_floating_point is_inference is_neg is_pinned
    is_same_size is_set_to is_shared is_signed ndimension nelement numel register_hook
    requires_grad_hook retain_grad size sparse_dim storage_offset stride untyped_storage
""")
"""Methods of a tensor that answer from what the host knows."""

VIEWS = words("""
    as_strided contiguous detach detach_ diagonal expand expand_as flatten movedim narrow permute
    ravel record_stream requires_grad_ reshape select squeeze squeeze_ swapaxes t transpose type_as
    unflatten unfold unsqueeze unsqueeze_ view view_as
""")
"""Methods that give another view of the same memory: nothing is queued."""

SPLITS = words("""
    chunk hsplit split unbind vsplit
""")
"""Methods that give several views."""

MASKS = words("""
    all any bool eq equal_ ge gt isclose isfinite isin isinf isnan isneginf isposinf le logical_and
    logical_not logical_or logical_xor lt ne not_equal signbit
""")
"""Methods and functions that give a boolean tensor."""

TENSOR_ONLY = words("""
    add_ bfloat16 clamp clamp_ contiguous cuda detach detach_ div_ expand_as fill_ gather half
    index_add_ index_copy_ index_fill_ index_select log_softmax logsumexp masked_fill masked_fill_
    mul_ new_empty new_full new_ones new_tensor new_zeros pin_memory requires_grad_ scatter scatter_
    scatter_add scatter_add_ sigmoid softmax sub_ type_as unsqueeze view_as zero_
""")
"""Methods that only a tensor has: what they are called on is one."""

TENSOR_EVIDENCE = words("""
    backward clamp clamp_ cuda detach detach_ expand_as gather index_select log_softmax logsumexp
    masked_fill masked_fill_ masked_select numel permute requires_grad_ scatter scatter_ scatter_add
    scatter_add_ sigmoid softmax type_as unsqueeze unsqueeze_ view view_as zero_
""")
"""Methods that say that what they are called on is a tensor, also where it comes from nowhere known."""

MODULE_EVIDENCE = words("""
    eval load_state_dict named_children named_modules named_parameters parameters
    register_forward_hook state_dict zero_grad
""")
"""Methods that say that what they are called on is a module (or an optimizer)."""

LAUNCHER = re.compile(r"(?:^|[._])(?:accelerator|fabric)$")
"""Names of what puts a program on its devices."""

MODULE_NAMES = words("""
    actor actor_critic backbone classifier criterion critic ddp_model decoder discriminator encoder
    generator head loss_fn loss_func lossfn model model_engine net network policy_net q_net
    q_network qf1 qf2 student target_net target_network teacher unet value_net
""")
"""Names of what is called like a function and gives tensors."""

WORKING = words("""
    backward copy_ forward optimizer_step step zero_
""")
"""Methods of unknown objects that queue work on the device."""

SETTINGS = words("""
    betas dampening eps initial_lr lr lr_scale max_lr min_lr momentum weight_decay
""")
"""Keys of an optimizer's ``param_groups`` whose values are numbers."""

LOGGING = words("""
    critical debug error exception info log warning
""")
"""Methods of loggers."""

CONSTRUCTORS = words("""
    arange empty empty_strided eye full hann_window linspace logspace ones rand randint randn
    randperm tril_indices triu_indices zeros
""")
"""Functions of torch that make a tensor out of nothing."""

FROM_HOST = words("""
    as_tensor asarray scalar_tensor tensor
""")
"""Functions of torch that make a tensor of what is on the host."""

TORCH_HOST = words("""
    are_deterministic_algorithms_enabled autocast broadcast_shapes can_cast compile_ enable_grad
    finfo get_default_dtype get_num_threads get_rng_state iinfo inference_mode initial_seed
    is_complex is_conj is_floating_point is_grad_enabled is_inference is_inference_mode_enabled
    is_neg is_same_size is_storage is_tensor is_warn_always_enabled manual_seed no_grad numel
    promote_types result_type seed set_default_device set_default_dtype set_float32_matmul_precision
    set_grad_enabled set_num_threads set_printoptions use_deterministic_algorithms
""")
"""Functions of torch that have nothing to do with tensors."""

HOST_BUILTINS = words("""
    bytearray bytes callable delattr dir hasattr hash id input isinstance issubclass memoryview
    object open ord setattr slice type vars
""")
"""Builtins whose result is on the host."""

PLAIN = words("""
    hashlib json math os random re secrets statistics string sys time
""")
"""Modules of the standard library whose functions give numbers and text."""

COMMON = words("""
    abs add all any append apply argmax argmin astype backward children clear clone close contiguous
    copy count cpu cuda decode detach encode eval exp expand extend fill flatten float flush format
    get index insert int item items join keys load_state_dict log long max mean min modules mul
    named_parameters numpy open parameters permute pop prod put read register_buffer remove repeat
    replace reshape reverse round set setdefault shape size sort split squeeze stack state_dict std
    strip sub sum tensor to tolist train transpose type unsqueeze values var view write zero_
    zero_grad
""")
"""Names of methods that too many classes have for a call to be followed by its name."""

RUNNERS = words("""
    apply apply_async call checkpoint imap imap_unordered map map_async run run_in_executor starmap
    step submit to_thread tree_map tree_map_only vmap
""")
"""Functions and methods that run the functions that they are given."""

MODULE_CHAINED = words("""
    apply bfloat16 cpu cuda double eval float half requires_grad_ to train
""")
"""Methods of a module that return the module."""

TORCH_TOOLS = frozenset(
    f"torch.{name}"
    for name in words(
        """
    accelerator amp autograd backends compiler cuda cuda.amp cuda.nvtx distributed multiprocessing random
    """
    )
)
"""Modules of torch whose functions give no tensors."""

TORCH_OTHERS = words("""
    _dynamo _inductor accelerator amp autograd backends compiler cuda distributed export fx hub jit
    multiprocessing onnx package profiler testing utils xpu
""")
"""Packages of torch whose other functions may give anything."""

SIZED = {
    "broadcast_to": 0,
    "chunk": 0,
    "expand": 0,
    "narrow": 0,
    "repeat": 0,
    "reshape": 0,
    "roll": 0,
    "select": 0,
    "split": 0,
    "tile": 0,
    "topk": 0,
    "unflatten": 0,
    "unfold": 0,
    "view": 0,
}
"""Methods whose arguments are numbers: a tensor among them is read."""

NUMBERS = {
    "add": ("alpha",),
    "add_": ("alpha",),
    "addcdiv": ("value",),
    "addcmul": ("value",),
    "addmm": ("alpha", "beta"),
    "chunk": ("chunks",),
    "clip_grad_norm_": ("max_norm", "norm_type"),
    "clip_grad_value_": ("clip_value",),
    "dropout": ("p",),
    "full": ("fill_value",),
    "full_like": ("fill_value",),
    "interpolate": ("size", "scale_factor"),
    "leaky_relu": ("negative_slope",),
    "narrow": ("start", "length"),
    "new_full": ("fill_value",),
    "one_hot": ("num_classes",),
    "pad": ("pad", "value"),
    "roll": ("shifts",),
    "split": ("split_size", "split_size_or_sections"),
    "sub": ("alpha",),
    "topk": ("k",),
}
"""Keywords that take a number: a tensor given by one is read."""
