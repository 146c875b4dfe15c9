"""Programs of several ranks under examples/, with planted faults: is each named with its rank and step?"""
