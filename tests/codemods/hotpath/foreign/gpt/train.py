# Everything at module level, configuration by globals.
import os
import time

import numpy as np
import torch
from model import GPT

out_dir = "out"
eval_interval = 2000
log_interval = 10
eval_iters = 200
gradient_accumulation_steps = 4
batch_size, block_size = 12, 64
max_iters = 600
grad_clip = 1.0
if torch.cuda.is_available():
    device = torch.device("cuda")
else:
    device = torch.device("cpu")
data = np.memmap(os.path.join("data", "train.bin"), dtype=np.uint16, mode="r")


class Config:
    vocab_size, n_embd, n_layer, n_head, block_size = 50304, 384, 6, 6, 64


def get_batch(split):
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([torch.from_numpy((data[i : i + block_size]).astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy((data[i + 1 : i + 1 + block_size]).astype(np.int64)) for i in ix])
    if device == "cuda":
        return x.pin_memory().to(device, non_blocking=True), y.pin_memory().to(device, non_blocking=True)
    return x.to(device, non_blocking=True), y.to(device, non_blocking=True)


@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ["train", "val"]:
        losses = torch.zeros(eval_iters)
        for k in range(eval_iters):
            X, Y = get_batch(split)
            logits, loss = model(X, Y)
            losses[k] = loss.item()  # stall: HP001 step
        out[split] = losses.mean().item()
    model.train()
    return out


model = GPT(Config)
model.to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4)
scaler = torch.cuda.amp.GradScaler(enabled=False)
X, Y = get_batch("train")
t0 = time.time()
iter_num = 0
best = 1e9
while True:
    if iter_num % eval_interval == 0:
        losses = estimate_loss()
        print(f"step {iter_num}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
        best = min(best, losses["val"])
        torch.save({"model": model.state_dict()}, os.path.join(out_dir, "ckpt.pt"))  # stall: HP016 every-n
    for micro_step in range(gradient_accumulation_steps):
        logits, loss = model(X, Y)
        loss = loss / gradient_accumulation_steps
        X, Y = get_batch("train")
        scaler.scale(loss).backward()
    if grad_clip != 0.0:
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
        if norm > 100:  # stall: HP008 step
            print("large gradient")
    scaler.step(optimizer)  # stall: HP014 step
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    if iter_num % log_interval == 0:
        lossf = loss.item() * gradient_accumulation_steps  # stall: HP001 every-n
        print(f"iter {iter_num}: loss {lossf:.4f}, time {(time.time() - t0) * 1000:.2f}ms")
    iter_num += 1
    if iter_num > max_iters:
        break
