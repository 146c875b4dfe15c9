"""A CUDA device that is not there: values on the CPU, tensors that say ``cuda:0``, each sync by its line.

`child`, `result` and `text` run in golden's process; the other modules in the program's.
"""
