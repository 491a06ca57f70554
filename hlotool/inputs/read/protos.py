"""How does an HLO proto come to be text, where the package for that is there?"""

from __future__ import annotations

from importlib.util import find_spec

from hlotool.errors import InputError, MissingPackageError
from hlotool.inputs.proto.kind import ProtoHead
from hlotool.source import Source


def is_proto_readable() -> bool:
    """Whether the package protobuf is installed."""
    try:
        return find_spec("google.protobuf") is not None
    except ModuleNotFoundError:  # nothing of google's is
        return False


def print_proto(data: bytes, head: ProtoHead, name: str) -> Source:
    """Return the text of the module in a proto; raise InputError if it is broken.

    With it, on how many devices the proto proves that it runs.
    """
    _expect_package(name, head)
    from hlotool.inputs.proto.counts import prove_counts  # noqa: PLC0415  optional
    from hlotool.inputs.proto.decode import decode_module, print_module  # noqa: PLC0415  optional

    decoded = decode_module(data, head, name)
    counts = prove_counts(decoded.module, decoded.config)
    proto = data if decoded.assignment is not None else None
    return Source(print_module(decoded, name), name, counts=counts, proto=proto)


def print_proto_assignment(data: bytes, head: ProtoHead, name: str) -> Source:
    """Return the text of the buffer assignment in a proto; raise InputError if it has none."""
    _expect_package(name, head)
    from hlotool.inputs.proto.decode import (  # noqa: PLC0415  optional
        decode_module,
        print_assignment,
    )

    text = print_assignment(decode_module(data, head, name), name)
    if text is None:
        raise InputError(f"{name}: this protobuf holds a module, and no buffer assignment.")
    return Source(text, name)


def print_proto_head(data: bytes, head: ProtoHead, name: str) -> str:
    """Return the header line of the module in a proto; raise InputError if it is broken."""
    _expect_package(name, head)
    from hlotool.inputs.proto.decode import decode_module, print_head  # noqa: PLC0415  optional

    return f"{print_head(decode_module(data, head, name))}\n"


def _expect_package(name: str, head: ProtoHead) -> None:
    if not is_proto_readable():
        raise MissingPackageError(
            f"{name}: this is the HLO module {head.module_name!r} as a protobuf, which needs one "
            "more package: pip install 'hlotool[pb]'."
        )
