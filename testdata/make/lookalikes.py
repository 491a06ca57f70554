# ruff: noqa: E501, ISC004  blocks are lines of others
"""Write 200 texts that are no HLO but have lines that look like it: testdata/fragments/lookalikes.cases.

    python testdata/make/lookalikes.py

Eight kinds of files that people paste by mistake, 25 of each: an opening, some of the blocks below in a
chosen order, and names, numbers and shapes put in for the words in angle brackets.
"""

import random
import re
from pathlib import Path

TABLE = Path(__file__).parents[1] / "fragments" / "lookalikes.cases"
EACH = 25
NAMES = [
    "x",
    "y",
    "h",
    "out",
    "acc",
    "q",
    "k",
    "v",
    "w1",
    "w2",
    "grads",
    "loss",
    "mask",
    "tmp",
    "hidden",
    "logits",
    "scale",
    "kernel",
    "cache",
    "updates",
    "residual",
    "gate",
    "query",
    "value_states",
    "attn_out",
    "fused",
    "result",
    "total",
]
OPS = [
    "add",
    "multiply",
    "dot",
    "copy",
    "reduce",
    "transpose",
    "reshape",
    "broadcast",
    "convert",
    "select",
    "exponential",
    "tanh",
    "concatenate",
    "slice",
    "gather",
    "scatter",
    "iota",
    "compare",
    "all_gather",
    "sort",
    "pad",
    "negate",
    "maximum",
]
SHAPES = ("4", "8,128", "16,1024", "2,3,4", "128,256", "32,512,64", "1024", "8,8,8")
FILES = [
    "model",
    "train",
    "attention",
    "optimizer",
    "layers",
    "utils",
    "data_loader",
    "moe",
    "rope",
]

PYTHON = [
    "def <n>(<a>, <b>):\n    <c> = <op>(<a>, <b>)\n    return <c>",
    "import jax.numpy as jnp\n\n<a> = jnp.<op>(<b>, <c>)\n<b> = <a>.astype(jnp.bfloat16)",
    "<a> = <op>(<b>, <c>, axis=<i>)\n<b> = f32[<i>]\n<c> = f32(<op>(<a>))",
    "class <N>(nn.Module):\n    features: int = <i>\n\n    @nn.compact\n    def __call__(self, <a>):\n"
    "        <a> = nn.Dense(self.features)(<a>)\n        return <op>(<a>, <a>)",
    "with tf.name_scope('<n>'):\n  <a> = tf.<op>(<b>, <c>, name='<op>.<i>')\n  print(<a>.shape)",
    "%timeit <op>(<a>, <b>)\n%matplotlib inline\n<c> = <op>(<a>)",
    "<a> = np.zeros((<shape>), dtype=np.float32)\n<b> = <a>[<i>:] + <op>(<a>, <c>)",
    "assert str(<a>.dtype) == 'f32[<shape>]', f'{<a>} = {<op>(<b>)}'",
    "lowered = jax.jit(<n>).lower(<a>)\nprint(lowered.as_text())\nENTRY = main()\nROOT = tuple(<a>, <b>)",
    ">>> <a> = <op>(<b>)\n>>> <a>\nArray([<i>., 0.], dtype=float32)\n>>> f32 = jnp.float32",
    "torch.manual_seed(<i>)\n<a> = torch.<op>(<b>, <c>)\n<a> = <a>.cuda()",
    "@partial(jax.jit, static_argnums=(<i>,))\ndef <n>(<a>: f32, <b>: bf16) -> f32:\n"
    "    while True:\n        <a> = call(<b>)\n",
]
LOG = [
    "I0812 10:23:<i>.123456   12345 service.cc:152] XLA service 0x55d3 initialized for platform CUDA",
    "2025-08-12 10:23:11.<i> | INFO | step = <i> loss = <f> <a> = <op>(<b>)",
    "W0000 00:00:17<i>.2 77 gpu_timer.cc:114] Skipping the delay kernel, <a> = <f>",
    "[rank<i>] <a> = tensor([<f>, <f>], device='cuda:<i>')",
    "INFO:absl:<a> = f32[<shape>] sharded over data=<i>",
    "E0812 <op>.cc:<i>] Check failed: <a> = <b> (<i> vs. <i>)",
    "step <i>: <a> = <f>, <b> = <f>, copy = <f>s, all-reduce = <f>s",
    "DEBUG:jax._src.dispatch:Finished tracing + transforming <n> for pjit in <f> sec",
    "10:23:11.<i> worker-<i> <op>(<a>) = done (<f>ms)",
    "Epoch <i>/90: 100%|██████████| <i>/<i> [00:<i><00:00, <f>it/s, <a>=<f>]",
    '  File "/home/user/<f1>.py", line <i>, in <n>\n    <a> = <op>(<b>, <c>)\n'
    "TypeError: <op>() got f32[<shape>] and bf16[<shape>]",
    "NCCL INFO Channel 0<i>/0 : <i>[<i>] -> 1[1] via P2P/CUMEM  <a> = <op>",
]
LLVM = [
    "define float @<n>(ptr %<a>, i64 %<b>) {\nentry:\n  %<i> = load float, ptr %<a>, align 4\n"
    "  %<c> = fadd float %<i>, 1.0\n  ret float %<c>\n}",
    "  %<a> = <op> i32 %<b>, %<c>\n  %<b>.<i> = getelementptr inbounds float, ptr %<a>, i64 <i>",
    "  %<a> = call float @llvm.<op>.f32(float %<b>)\n  br label %loop",
    "  %<a> = select i1 %<b>, float %<c>, float 0.0",
    "  %<i> = insertvalue { ptr, i64 } %<a>, i64 <i>, 1\n  %<b> = icmp eq i64 %<i>, 0",
    "@<n> = internal constant [<i> x float] zeroinitializer, align 16",
    "  %<a> = load <8 x float>, ptr %<b>, align 32\n  %<c> = fmul reassoc <8 x float> %<a>, %<a>",
    "  %<a> = phi i64 [ 0, %entry ], [ %<b>, %loop ]\n  %copy = bitcast i32 %<a> to float",
    "loop.<i>:\n  %<a> = tail call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %<b> = shl i32 %<a>, <i>",
    "declare float @__nv_<op>f(float)\nattributes #<i> = { nounwind }",
]
MLIR = [
    "  %<i> = stablehlo.<op> %<a>, %<b> : tensor<4x8xf32>",
    '  %<i> = "stablehlo.<op>"(%<a>, %<b>) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>',
    "  %<a> = arith.addf %<b>, %<c> : f32\n  %<b> = arith.constant <f> : f32",
    "  %<i>:2 = scf.while (%<a> = %<b>) : (i32) -> (i32, f32) {\n    scf.condition(%<c>) %<a> : i32\n  }",
    "  %<a> = memref.load %<b>[%<c>] : memref<<i>xf32>",
    "  %<a> = mhlo.<op> %<b>, %<c> {dimension_numbers = dense<0> : tensor<1xi64>} : tensor<4xf32>",
    "  %<a> = tt.load %<b>, %mask : tensor<128x!tt.ptr<f32>>",
    "  %<a> = linalg.<op> ins(%<b>, %<c> : tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
    "  %<a> = vector.transfer_read %<b>[%c0], %cst : memref<<i>xf32>, vector<8xf32>",
    "  return %<i> : tensor<4x8xf32>",
    '  sdy.mesh @mesh = <["data"=<i>]>\n  %<i> = sdy.sharding_constraint %<a> <@mesh, [{}]>',
]
YAML = [
    "<n>:\n  <a>: f32[<shape>]\n  <b>: <i>\n  op = <op>(<c>)",
    "- name: <op>\n  run: |\n    <a> = <op>(<b>)\n  with:\n    shape: bf16[<shape>]",
    "xla_flags:\n  - --xla_dump_to=dumps/<n>\n  - --xla_gpu_<op>=true",
    'mesh: {data: <i>, model: <i>}\nlayout: "{1,0}"\n<a>: "<op>(<b>)"',
    "resources:\n  limits:\n    nvidia.com/gpu: <i>\n<a> = f32[<shape>]",
    "optimizer: <op>\nlearning_rate: <f>\n<b> : s32[] = <i>",
    "env:\n  ENTRY: main\n  ROOT: tuple(<a>)\n  <N>: <f>",
    "# <a> = f32[<shape>]{1,0} (see the model card)\nhidden_size: <i>",
    "steps:\n  <a>: {type: <op>, dims: [<shape>]}",
]
CPP = [
    "auto <a> = <op>(<b>, <c>);\nfloat <b>[<i>] = {<f>, <f>};",
    "XlaOp <a> = <N>(<b>, <c>);\nShape <b> = ShapeUtil::MakeShape(F32, {<shape>});",
    "int main() {\n  f32 <a>[<i>];\n  <a>[0] = <op>(<b>);\n  return 0;\n}",
    "template <typename T>\nT <op>(T <a>, T <b>) { return <a> = <b>; }",
    "for (int <a> = 0; <a> < <i>; ++<a>) {\n  <b> = f32[<i>] + <op>(<c>);\n}",
    "__global__ void <op>(float* <a>, int n) {\n  int i = threadIdx.x;\n  if (i < n) <a>[i] = tanh(<a>[i]);\n}",
    "HloInstruction* <a> = computation->AddInstruction(\n    HloInstruction::CreateBinary(shape, "
    "HloOpcode::kAdd, <b>, <c>));",
    "EXPECT_EQ(<a>->opcode(), HloOpcode::k<N>);  // <a> = f32[<shape>]",
    'using <n> = std::vector<float>;\nstatic const char* <a> = "<op>";',
    "TF_ASSIGN_OR_RETURN(auto <a>, <op>(<b>));",
    '#define <N>(x) (x = <op>(x))\nextern "C" int <n>;',
]
DIFF = [
    "@@ -<i>,7 +<i>,7 @@ def <n>(<a>):\n     <b> = <op>(<a>)\n-    <c> = add(<a>, <b>)\n"
    "+    <c> = <op>(<a>, <b>)\n     return <c>",
    "@@ -<i> +<i> @@\n-  %<a> = f32[<shape>]{0} negate(f32[<shape>]{0} %<b>)\n"
    "+  %<a> = f32[<shape>]{0} tanh(f32[<shape>]{0} %<b>)",
    "index 0a1b2c3..4d5e6f7 100644\n-<a> = f32[<i>]\n+<a> = bf16[<i>]\n+<b> = convert(<a>)",
    "@@ -<i>,3 +<i>,4 @@\n   auto <a> = <op>(<b>);\n+  auto <c> = f32[<i>];\n-  return <a>;",
    "1c1\n< <a> = <op>(<b>)\n\\ No newline at end of file\n> <a> = <op>(<c>)",
    "<<<<<<< HEAD\n<a> = <op>(<b>)\n=======\n<a> = <op>(<c>)\n>>>>>>> feature/<n>",
    "rename from <f1>.py\nrename to <n>.py\n+++ b/<n>.py",
]
SHELL = [
    "$ <a>=$(<op> <b>)\n$ echo ${<a>} = f32[<i>]",
    'export XLA_FLAGS="--xla_dump_to=dumps/<n> --xla_gpu_autotune_level=<i>"\npython <f1>.py --<a>=<b>',
    "for <a> in $(seq <i>); do\n  <b> = <op> ( $<a> )\ndone",
    '<a>() {\n  local <b>="$1"\n  <op> "$<b>" | grep -n \'f32\\[<i>\\]\' || return 1\n}',
    'if [[ $<a> = "<op>(<b>)" ]]; then exit <i>; fi',
    "awk '{ <a> = copy($<i>); print <a> }' <f1>.txt\nsed -i 's/add(/<op>(/' <f1>.py",
    "user@host:~/<n>$ nvidia-smi --query-gpu=memory.used --format=csv\nmemory.used [MiB]\n<i> MiB",
    "docker run -e <N>=<i> img:<i> bash -c '<a> = <op>(<b>)'",
    "make -j<i> <n>\ng++ -O2 -c <f1>.cc -o <f1>.o\n<f1>.cc:<i>:5: error: <a> = <op>(<b>) is ambiguous",
    "+ <a> = tuple(<b>)\n++ dirname /usr/<n>",
]
OPENINGS = {
    "python": (PYTHON, ("#!/usr/bin/env python3\n", "import jax\n\n", '"""<N> of <n>."""\n\n', "")),
    "log": (LOG, ("", "[2025-08-12] start of <n>\n")),
    "llvm": (LLVM, ("; ModuleID = '<n>'\n", 'source_filename = "<n>"\n', "")),
    "mlir": (
        MLIR,
        (
            "module @jit_<n> {\n",
            "func.func @<n>(%<a>: tensor<4xf32>) {\n",
            "#map = affine_map<(d0) -> (d0)>\n",
        ),
    ),
    "yaml": (YAML, ("---\n", "# <n>.yaml\n", "")),
    "cpp": (CPP, ("#include <vector>\n\n", "// Copyright 2024\n", "namespace <n> {\n")),
    "diff": (
        DIFF,
        ("diff --git a/<f1>.py b/<f1>.py\n--- a/<f1>.py\n+++ b/<f1>.py\n", "Index: <f1>.cc\n", ""),
    ),
    "shell": (SHELL, ("#!/bin/bash\nset -e\n", "", "# <n>.sh\n")),
}


def fill(text: str, choose: random.Random) -> str:
    """Put names, numbers and shapes in for the words in brackets; a, b and c are three names."""
    names = choose.sample(NAMES, 4)
    known = {"a": names[0], "b": names[1], "c": names[2], "n": names[3], "N": names[3].title()}

    def put(match: re.Match[str]) -> str:
        word = match[1]
        made = {
            "op": lambda: choose.choice(OPS), "i": lambda: str(choose.randint(1, 64)),
            "f": lambda: f"{choose.random() * 10:.3f}", "f1": lambda: choose.choice(FILES),
            "shape": lambda: choose.choice(SHAPES),
        }  # fmt: skip
        return known[word] if word in known else made[word]()

    return re.sub(r"<(a|b|c|n|N|op|i|f|f1|shape)>", put, text)


def main() -> None:
    """Write the table."""
    choose = random.Random(32)  # noqa: S311  the same each time
    parts = [
        "Texts that are no HLO and look like it (testdata/make/lookalikes.py): no program is read.\n"
    ]
    for kind, (blocks, openings) in OPENINGS.items():
        for number in range(EACH):
            chosen = choose.sample(blocks, choose.randint(2, min(6, len(blocks))))
            text = "\n".join(fill(block, choose) for block in chosen)
            opening = fill(choose.choice(openings), choose)
            parts.append(f"=== {kind}_{number + 1}\n{opening}{text.rstrip()}\n")
    TABLE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
