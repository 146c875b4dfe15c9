"""Weights that stay zero."""

import torch


def keep(model, masks):
    for name, mask in masks.items():
        model.get_parameter(name).data.mul_(mask)


def prune(model, masks, share=0.1):
    for name, weight in model.named_parameters():
        if weight.dim() == 2:
            size = weight.detach().abs()
            masks[name] = size > torch.quantile(size, share)
