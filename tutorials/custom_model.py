"""
Write a model
=============

Later.
"""

print(1)
