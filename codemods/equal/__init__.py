"""That nothing else changed: both versions compiled and compared, without a look at how one was written."""
