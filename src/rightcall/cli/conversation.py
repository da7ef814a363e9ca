"""Lines into turns with a model, and a history that grows by them."""

from argparse import Namespace
from asyncio import Runner
from collections.abc import Callable

from rightcall.cli.lines import next_line
from rightcall.cli.safe import harmless
from rightcall.cli.screen import view_for
from rightcall.cli.session import Session
from rightcall.cli.view import Watch
from rightcall.core.message import Transcript, User
from rightcall.core.usage import Usage
from rightcall.errors import RightcallError

PROMPT = "> "
_LEAVE = "(Ctrl-C once more, or Ctrl-D, to leave)"


class Conversation:
    """What was said, with whom, and what it cost. Every turn runs on the event loop of ``runner``."""

    def __init__(self, session: Session, options: Namespace, runner: Runner) -> None:
        self.session = session
        self.history: Transcript = ()
        self.usage = Usage()
        self.failed = False
        """Whether a turn has ended without an answer, or a command could not be carried out."""
        self._options = options
        self._runner = runner
        self._interrupted = False
        self._begin()

    def hold(self, obey: Callable[["Conversation", str], bool]) -> bool:
        """Take lines until they end; False when somebody interrupts twice in a row.

        ``obey`` carries out a line that begins with a slash, and says whether to go on.
        """
        while True:
            try:
                line = next_line(PROMPT, self._view.people)
                if line is None:
                    return True
                self._interrupted = False
                line = line.strip()
                if line.startswith("/"):
                    if not self._obeyed(obey, line):
                        return True
                elif line:
                    self._turn(line)
            except KeyboardInterrupt:
                self.say("")
                if self._interrupted:
                    return False
                self._interrupted = True
                self.say(_LEAVE)

    def say(self, words: str) -> None:
        """Tell the person something that the model did not say."""
        print(harmless(words), file=self._view.people, flush=True)

    def switch(self, model: str) -> None:
        """Let another model answer from now on."""
        self._runner.run(self.session.switch(model))
        self._begin()

    def _begin(self) -> None:
        self._view = view_for(self._options, self.session.loading)
        self._agent = self.session.agent(self._view)

    def _obeyed(self, obey: Callable[["Conversation", str], bool], line: str) -> bool:
        try:
            return obey(self, line)
        except RightcallError as error:
            self.failed = True
            self.say(f"rightcall: {error}")
            return True

    def _turn(self, prompt: str) -> None:
        watch = Watch(self._view, prompt, self.history)
        events = self._agent.stream(prompt, history=self.history, choice=self.session.choice)
        try:
            summary = self._runner.run(watch.watch(events))
        except KeyboardInterrupt:
            self._interrupted = True
            summary = watch.interrupted()
            self.say(_LEAVE)
        self.usage += summary.usage
        self.failed |= not summary.is_answer
        # A question that nothing came of need not be remembered.
        if not isinstance(summary.transcript[-1], User):
            self.history = summary.transcript
