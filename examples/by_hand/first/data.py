"""What is learned from."""

import torch


def draw(inputs, labels):
    rows = torch.randint(len(inputs), (32,))
    return inputs[rows], labels[rows]
