"""Mutation testing: do golden runs notice small mistakes in the lines that they execute?"""
