"""Names that the observer writes about what lives, and that are read again.

Loaded by the program under test under a private name; alone, so that it needn't load what reads them.
"""

MODULE_KINDS = ("params", "buffers")
# The look at the end of the process; what went before is in it, too, as it went.
END = "the end"
# How a tensor's digest was made, as a trace tells it: xxh3 of its bytes on the host, or sums where it is.
HOST, SUMS = "xxh3", "sums"
