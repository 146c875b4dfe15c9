"""Classes of other packages: none has type parameters, and calling one gives an object of it."""

from __future__ import annotations

from codemods.program.words import words

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

# What annotations say that is no type of a value, or means something else elsewhere.
NO_TYPES = words("""
    Annotated ClassVar Concatenate Final InitVar LiteralString Never NoReturn NotRequired ParamSpec ReadOnly
    Required Self TypeAlias TypeGuard TypeIs TypeVar TypeVarTuple Unpack
""")
