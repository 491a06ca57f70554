"""What a module costs: arithmetic and memory traffic, as XLA's HloCostAnalysis counts them."""

from hlotool.analysis.cost.cost import Cost
from hlotool.analysis.cost.model import CostModel, measure_costs
from hlotool.analysis.cost.report import CostReport, analyze_cost

__all__ = [
    "Cost",
    "CostModel",
    "CostReport",
    "analyze_cost",
    "measure_costs",
]
