"""The types of expressions, checked against the schema of what they read, before anything is evaluated.

syntax.py, tree.py, macros.py    an expression read into a tree
types.py, overloads.py           types, and the functions that there are
checker.py, literals.py          the type of an expression, and what is wrong with it
compiling.py                     all of this for an expression
schemas.py, rules.py             types of values from the schema; the rules of a CustomResourceDefinition
ranges.py, costs.py              what an expression costs at most; function_costs.py: calls of libraries

All of it is pure and needs no library. What is not an expression at all is told by the library in the words of Go, by
cluster/apiserver/schema/cel.py.

Tests: tests/cluster/apiserver/schema/typecheck; tests/vectors/cases/cel-types.yaml; function_costs.py, macros.py, ranges.py and
tree.py in test_costs.py there, checker.py, compiling.py, schemas.py, literals.py, overloads.py and syntax.py in test_rules.py.
"""
