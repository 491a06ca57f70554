"""Budgets: rules, what they come to, baselines and configuration."""
