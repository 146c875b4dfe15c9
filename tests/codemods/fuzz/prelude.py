"""The beginning of every generated program: printing, fuel that ends it, things to call and enter."""

PRELUDE = """\
fuel = [0]
class Spent(BaseException): pass
class Note(Exception): pass
def show(tag, *values):
    fuel[0] -= 1
    if fuel[0] < 0: raise Spent
    print(tag, *[value if isinstance(value, (int, str)) else type(value).__name__ for value in values])
    return values[0] if values else 0
def call(f, *arguments):
    try: return f(*arguments)
    except (TypeError, NameError) as error: return show('call', type(error).__name__)
def drive(coroutine):
    try:
        while True: coroutine.send(None)
    except StopIteration as stop: return stop.value
class Pause:
    def __await__(self): yield
class Guard:
    def __init__(self, value, swallow=False): self.value, self.swallow = value, swallow
    def __enter__(self): return show('enter', self.value)
    def __exit__(self, kind, *_): return bool(show('exit', kind.__name__ if kind else 0) and self.swallow)
def plain(value):
    if isinstance(value, (list, tuple)): return [plain(item) for item in value]
    return value if isinstance(value, (int, str)) else type(value).__name__
def attempt(f, *arguments):
    fuel[0] = 150
    try:
        result = f(*arguments)
        if hasattr(result, 'send'): result = list(result) if hasattr(result, '__next__') else drive(result)
        print('returned', plain(result))
    except BaseException as error: print('raised', type(error).__name__)
"""
