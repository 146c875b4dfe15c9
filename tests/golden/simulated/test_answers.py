"""Functions of ``torch.cuda`` that tune or tell do nothing; what can't be simulated says so."""

from __future__ import annotations

from pathlib import Path

from tests.golden.simulated.child import counted, seen

ASKED = """
import torch
cuda = torch.cuda
with cuda.nvtx.range("step"):
    cuda.nvtx.range_push("forward")
    cuda.nvtx.mark("here")
    cuda.nvtx.range_pop()
with torch.autograd.profiler.emit_nvtx():
    cuda.profiler.start()
    cuda.profiler.stop()
cuda.set_sync_debug_mode("warn")
assert cuda.get_arch_list() == ["sm_90"] and cuda.get_device_capability(1) == (9, 0)
cuda.manual_seed(5)
state, drawn = cuda.get_rng_state(0), torch.rand(1)
cuda.set_rng_state(state, "cuda:1")
assert cuda.initial_seed() == 5 and cuda.get_rng_state_all()[1].equal(state) and not drawn.is_cuda
with cuda.device_of(torch.ones(1, device="cuda:1")), cuda.device(-1):
    assert cuda.current_device() == 1 and cuda.memory_allocated() == 0 and cuda.max_memory_reserved(1) == 512
cuda.cudart().cudaProfilerStart()
cuda.set_per_process_memory_fraction(0.5)
cuda.reset_accumulated_memory_stats()
cuda.memory._record_memory_history(max_entries=10)
assert cuda.memory_snapshot() == [] and cuda.get_allocator_backend() == "native"
assert cuda.nccl.version() and cuda.default_generators[0].device == torch.device("cuda:0")
assert len(cuda.default_generators) == 2

stream = torch.Stream(device="cuda:1")
assert (stream.device_index, stream.device_type) == (1, 1) and len(cuda.Stream.priority_range()) == 2
with stream:
    assert cuda.current_device() == 1 and torch.ones(1, device="cuda").device.index == 1
assert cuda.current_device() == 0 and isinstance(cuda.device(1), cuda.device)

begin, end = cuda.Event(), torch.Event(device="cuda", enable_timing=True)
stream.record_event(begin)
for (first, last), said in (((begin, end), "created"), ((end, end), "recorded")):
    try:
        first.elapsed_time(last)
    except ValueError as error:
        assert f"Both events must be {said}" in str(error)
    else:
        raise SystemExit("no error")

parallel = torch.nn.DataParallel(torch.nn.Linear(2, 2).cuda(), device_ids=[0, 1])
not_simulated = {
    "torch.cuda.CUDAGraph is": cuda.CUDAGraph,
    "torch.export.export is": lambda: torch.export.export(torch.nn.Linear(2, 2).cuda(), ()),
    "torch.cuda.memory.caching_allocator_alloc (": lambda: cuda.caching_allocator_alloc(512),
    "torch.nn.DataParallel on several devices is": lambda: parallel(torch.ones(4, 2, device="cuda")),
}
for name, call in not_simulated.items():
    try:
        call()
    except (AttributeError, RuntimeError) as error:
        assert str(error).startswith(name) and "not simulated" in str(error), error
    else:
        raise SystemExit(f"no error: {name}")
"""


def test_functions_that_tune_or_tell_do_nothing_and_what_only_a_gpu_can_do_is_an_error(
    tmp_path: Path,
) -> None:
    found = counted(seen(tmp_path, ASKED, devices=2))

    assert {kind for _, kind in found} == {"copy to the device"}
