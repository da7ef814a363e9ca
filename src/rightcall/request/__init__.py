"""One exchange with a model: sends, retries, times, decodes and prices it."""
