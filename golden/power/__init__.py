"""Whether golden runs notice small mistakes that are planted in the lines they execute."""
