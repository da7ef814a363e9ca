"""``rightcall batch``: a file of prompts in, a line for each out."""

import asyncio
import json
import threading

from batching.vendors import OpenAI, open_for_business
from rightcall.cli.main import main


def test_a_file_of_prompts_comes_out_as_answers_in_order(tmp_path, monkeypatch, capsys):
    vendor, ready, done = OpenAI(), threading.Event(), threading.Event()

    async def serve() -> None:
        async with open_for_business(vendor):
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        ready.wait()
        monkeypatch.setenv("OPENAI_BASE_URL", vendor.url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        file = tmp_path / "prompts.jsonl"
        file.write_text('"one"\n\n{"prompt": "bad", "id": 7}\n')
        words = ["batch", str(file), "-m", "openai:m", "--poll", "0.001"]
        words += ["--journal", str(tmp_path / "runs.jsonl")]
        assert main(words) == 1
        shown = capsys.readouterr()
        assert "batch_0 completed: 1 of 2 done, 1 failed" in shown.err
        assert main(words) == 1
        assert capsys.readouterr().out == shown.out
        assert len(vendor.batches) == 1
        first, second = map(json.loads, shown.out.splitlines())
        assert (first["index"], first["text"], first["stop"]) == (0, "re: one", "end")
        assert (second["id"], second["error"]["kind"]) == (7, "bad_request")
        file.write_text("{}\n")
        assert main(words) == 2
        assert "line 1: write a text in quotes" in capsys.readouterr().err
    finally:
        done.set()
        thread.join()
