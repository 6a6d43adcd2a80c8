"""What an ONNX graph is put together from."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Nodes:
    """Operators and constants of a graph, in the order in which they are added."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def add(self, operator: str, *inputs: Any, output: str = "", **attributes: Any) -> str:
        """Add an operator and return its output's name; an input that is no name is a constant."""
        from onnx import helper

        output = output or f"{operator} {len(self.nodes)}"
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(helper.make_node(operator, names, [output], **attributes))
        return output

    def constant(self, values: Any) -> str:
        """Add a constant and return its name."""
        name = f"constant {len(self.constants)}"
        self.constants.append(tensor(name, values))
        return name


def tensor(name: str, values: Any) -> Any:
    """Return an array as ONNX has it."""
    from onnx import numpy_helper

    return numpy_helper.from_array(np.asarray(values), name)
