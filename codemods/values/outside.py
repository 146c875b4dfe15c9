"""Classes and functions of other packages whose types are known without a look at them.

None of the classes has type parameters; calling one gives an object of it.
"""

from __future__ import annotations

from codemods.program.words import words
from codemods.values.types import BOOL, FLOAT, INT, STR, Type, builtin

CLASSES = words("""
    argparse.ArgumentParser argparse.Namespace configparser.ConfigParser datetime.date datetime.datetime
    datetime.timedelta decimal.Decimal fractions.Fraction io.BytesIO io.StringIO logging.Formatter
    pathlib.Path pathlib.PurePath pathlib.PurePosixPath random.Random string.Template threading.Barrier
    threading.Condition threading.Event threading.Thread uuid.UUID
    torch.Generator torch.device torch.amp.GradScaler torch.cuda.Event torch.cuda.Stream
    torch.cuda.amp.GradScaler
    torch.nn.AdaptiveAvgPool2d torch.nn.BCELoss torch.nn.BCEWithLogitsLoss torch.nn.BatchNorm1d
    torch.nn.BatchNorm2d torch.nn.Conv1d torch.nn.Conv2d torch.nn.CrossEntropyLoss torch.nn.Dropout
    torch.nn.Embedding torch.nn.GRU torch.nn.GELU torch.nn.KLDivLoss torch.nn.L1Loss torch.nn.LSTM
    torch.nn.LayerNorm torch.nn.Linear torch.nn.MSELoss torch.nn.MaxPool2d torch.nn.ModuleDict
    torch.nn.ModuleList torch.nn.MultiheadAttention torch.nn.NLLLoss torch.nn.ReLU torch.nn.Sequential
    torch.nn.SmoothL1Loss torch.nn.Tanh torch.nn.TransformerEncoder torch.nn.TransformerEncoderLayer
    torch.nn.parallel.DataParallel torch.nn.parallel.DistributedDataParallel
    torch.optim.ASGD torch.optim.Adadelta torch.optim.Adagrad torch.optim.Adam torch.optim.AdamW
    torch.optim.Adamax torch.optim.LBFGS torch.optim.NAdam torch.optim.RAdam torch.optim.RMSprop
    torch.optim.Rprop torch.optim.SGD torch.optim.lr_scheduler.CosineAnnealingLR
    torch.optim.lr_scheduler.ExponentialLR torch.optim.lr_scheduler.LambdaLR
    torch.optim.lr_scheduler.MultiStepLR torch.optim.lr_scheduler.OneCycleLR
    torch.optim.lr_scheduler.ReduceLROnPlateau torch.optim.lr_scheduler.StepLR
    torch.utils.tensorboard.SummaryWriter
""")
CLASSES |= {
    f"builtins.{name}" for name in ("bool", "bytes", "complex", "float", "int", "object", "range", "str")
}

TENSOR = Type("torch.Tensor")
_GIVE: dict[Type, str] = {
    BOOL: """
    builtins.callable builtins.hasattr builtins.isinstance builtins.issubclass os.path.exists os.path.isdir
    os.path.isfile torch.cuda.is_available
    """,
    INT: """
    builtins.hash builtins.id builtins.len builtins.ord os.getpid time.perf_counter_ns time.time_ns
    torch.cuda.device_count torch.distributed.get_rank torch.distributed.get_world_size
    """,
    FLOAT: "random.random time.monotonic time.perf_counter time.process_time time.time",
    STR: "builtins.chr builtins.repr os.getcwd time.strftime",
    Type("datetime.datetime"): "datetime.datetime.now",
    Type("logging.Logger"): "logging.getLogger",
    TENSOR: """
    torch.abs torch.arange torch.as_tensor torch.cat torch.cos torch.empty torch.empty_like torch.exp
    torch.eye torch.from_numpy torch.full torch.full_like torch.linspace torch.log torch.matmul torch.ones
    torch.ones_like torch.rand torch.rand_like torch.randint torch.randn torch.randn_like torch.randperm
    torch.relu torch.sigmoid torch.sin torch.sqrt torch.stack torch.tanh torch.tensor torch.zeros
    torch.zeros_like
    """,
}
RESULTS = {name: kind for kind, names in _GIVE.items() for name in words(names)}

# Methods, by class, of which the result is known.
METHODS: dict[tuple[str, str], Type] = {
    ("argparse.ArgumentParser", "parse_args"): Type("argparse.Namespace"),
    ("builtins.str", "format"): STR,
    ("builtins.str", "join"): STR,
    ("builtins.str", "lower"): STR,
    ("builtins.str", "split"): builtin("list", STR),
    ("builtins.str", "strip"): STR,
    ("builtins.str", "upper"): STR,
}

# Methods by which a tensor gives a tensor.
TENSOR_METHODS = words("""
    abs argmax argmin argsort bool ceil clamp clone contiguous cos cpu cuda cumsum detach div double
    exp expand flatten float floor gather half index_select int log log_softmax long masked_fill
    matmul mean mm mul neg permute pow relu repeat requires_grad_ reshape round sigmoid sin softmax
    sqrt square squeeze std sub sum tanh to transpose unsqueeze var view view_as zero_
""")
MODULE_CLASS = "torch.nn.Module"
# Methods by which a module gives itself.
GIVES_ITSELF = words("bfloat16 cpu cuda double eval float half requires_grad_ to to_empty train type xpu")

# Decorators behind which a function returns what it says.
TRANSPARENT = words("""
    abc.abstractmethod builtins.classmethod builtins.staticmethod functools.cache functools.lru_cache
    torch.compiler.disable torch.enable_grad torch.inference_mode torch.no_grad typing.final typing.override
    typing_extensions.override
""")
PROPERTIES = frozenset(["builtins.property", "functools.cached_property", "abc.abstractproperty"])

# What annotations say that is no type of a value, or means something else elsewhere.
NO_TYPES = words("""
    Annotated ClassVar Concatenate Final InitVar LiteralString Never NoReturn NotRequired ParamSpec ReadOnly
    Required Self TypeAlias TypeGuard TypeIs TypeVar TypeVarTuple Unpack
""")
