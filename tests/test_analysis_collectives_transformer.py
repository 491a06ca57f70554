"""The FSDP × TP transformer: its traffic on paper, from its dimensions, against the dumps.

The dimensions are read off the parameters of the text before optimization, which stand there
unpartitioned; the mesh is fsdp=4, tp=2. With bfloat16 compute (2 bytes), L layers, width d,
feed-forward f, query width q, key and value width k, vocabulary V, batch B, sequence s:

* A layer's weights are q·d (wq), q·d (wo), 2·k·d (wk, wv) and 3·f·d (gate, up, down). TP keeps
  half of them on a device; FSDP keeps a quarter of that, and gathers it for the forward and
  again for the backward pass: S = weights/tp · 2 bytes, n = fsdp, a device sends 3/4 S.
* Their gradients are scattered once: the same S, the same 3/4.
* TP adds up what the two halves of a matrix product made, S = B/fsdp · s · d · 2 bytes, n = tp,
  a device sends 2 · 1/2 S: behind attention and feed-forward in the forward pass, before both
  in the backward pass, and once more behind attention where it is rematerialized: 5 a layer.
* The head, d·V weights, is gathered twice and its gradient scattered, once and not L times;
  the gradient of its input is one more sum over TP.
* The embedding table is V/tp × d/fsdp on a device, and the tokens of the whole batch are looked
  up in it: the rows found are added up over TP (B · s · d/fsdp · 2 bytes), and exchanged over
  FSDP so that each device has whole rows of its own batch (the same size, 3/4 of it); the
  gradient goes back the same way (an exchange; the scatter is local).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from collective_cases import analyze
from transformer_cases import BFLOAT16, FSDP, TP, Dimensions, folder_of, read_dimensions

from hlotool.analysis.collectives.mesh import parse_mesh_axes
from hlotool.analysis.collectives.report import CollectiveOptions, CollectiveReport

MESH = CollectiveOptions(mesh=parse_mesh_axes("fsdp=4,tp=2"))
SMALL = 1 << 20  # token ids, norms, the loss: none of it comes near a mebibyte


def measure(folder: Path) -> CollectiveReport:
    path = next(folder.glob("*after_optimizations.txt"))
    return analyze(path.read_text(encoding="utf-8"), MESH)


def sum_large(report: CollectiveReport) -> Counter[tuple[str, str]]:
    """Add up bytes sent per step by kind and axis, without what is small."""
    found: Counter[tuple[str, str]] = Counter()
    for row in report.rows:
        assert row.sent_bytes_per_step is not None
        if row.sent_bytes_per_step >= SMALL:
            found[row.kind, ",".join(row.axes or ())] += row.sent_bytes_per_step
    return found


def test_the_dimensions() -> None:
    """Read off once by eye, too."""
    folder = folder_of("gpu_h100/transformer_train")
    assert read_dimensions(folder) == Dimensions(8, 1024, 4096, 1024, 512, 32768, 16, 1024)


def test_gpu_sends_what_the_paper_says() -> None:
    folder = folder_of("gpu_h100/transformer_train")
    model = read_dimensions(folder)
    gathered = model.layer_weights // TP * BFLOAT16
    head = model.width * model.vocabulary // TP * BFLOAT16
    in_fsdp = (FSDP - 1) / FSDP
    assert sum_large(measure(folder)) == {
        ("all-gather", "fsdp"): in_fsdp * (2 * model.layers * gathered + 2 * head),
        ("reduce-scatter", "fsdp"): in_fsdp * (model.layers * gathered + head),
        ("all-reduce", "tp"): (5 * model.layers + 1) * model.activation_bytes + model.looked_up,
        ("all-to-all", "fsdp"): in_fsdp * 2 * model.looked_up,
    }


def test_twice_the_batch_on_gpu() -> None:
    """Weights cost the same, activations twice as much.

    The lookup is put together another way: rows are gathered over TP in two halves, which costs
    what the sum did, and the gradient is scattered over TP, which costs half of that.
    """
    folder = folder_of("gpu_h100/transformer_train.batch2x")
    model = read_dimensions(folder)
    small = read_dimensions(folder_of("gpu_h100/transformer_train"))
    assert model.looked_up == 2 * small.looked_up
    gathered = model.layer_weights // TP * BFLOAT16
    head = model.width * model.vocabulary // TP * BFLOAT16
    in_fsdp = (FSDP - 1) / FSDP
    assert sum_large(measure(folder)) == {
        ("all-gather", "fsdp"): in_fsdp * (2 * model.layers * gathered + 2 * head),
        ("reduce-scatter", "fsdp"): in_fsdp * (model.layers * gathered + head),
        ("all-reduce", "tp"): (5 * model.layers + 1) * model.activation_bytes,
        ("all-gather", "tp"): model.looked_up,
        ("reduce-scatter", "tp"): model.looked_up / 2,
        ("all-to-all", "fsdp"): in_fsdp * 2 * model.looked_up,
    }


def test_tpu_sums_the_same_activations() -> None:
    """TPU gathers weights in other ways; what TP adds up is the program's own."""
    folder = folder_of("tpu_v5e/transformer_train")
    model = read_dimensions(folder)
    found = sum_large(measure(folder))
    expected = (5 * model.layers + 1) * model.activation_bytes + model.looked_up
    assert found["all-reduce", "tp"] == expected
    assert found["all-to-all", "fsdp"] == 2 * model.looked_up * (FSDP - 1) / FSDP


def test_cpu_gathers_the_same_weights_at_twice_the_width() -> None:
    """CPU computes bfloat16 in float32, and moves it so."""
    folder = folder_of("cpu/transformer_train")
    model = read_dimensions(folder)
    gathered = model.layer_weights // TP * 4
    head = model.width * model.vocabulary // TP * 4
    found = sum_large(measure(folder))
    assert found["all-gather", "fsdp"] == (FSDP - 1) / FSDP * 2 * (model.layers * gathered + head)
