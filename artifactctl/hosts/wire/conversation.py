"""Many questions over one channel, each in a numbered exchange; asked from any thread, received by one of our own."""

import threading

from artifactctl.hosts.calling import Unanswered
from artifactctl.hosts.probe.frames import FrameReader, Kind, WireFault, packed
from artifactctl.hosts.wire.channel import Channel, ChannelLost, agent_ended
from artifactctl.hosts.wire.question import Question


class Conversation:
    """Sends messages and gives what comes to the question it belongs to. Once lost it stays lost."""

    def __init__(self, channel: Channel, reader: FrameReader, machine: str) -> None:
        self.machine = machine
        self._channel = channel
        self._reader = reader
        self._one_frame = threading.Lock()
        self._guard = threading.Lock()
        self._questions: dict[int, Question] = {}
        self._asked = 0
        self._lost = ""
        self._thread = threading.Thread(target=self._receive, name=f"answers of {machine}", daemon=True)
        self._thread.start()

    @property
    def lost(self) -> str:
        """Why nothing can be asked any more, "" while it can."""
        return self._lost

    def begin(self, request: bytes) -> Question:
        """Ask; Unanswered when the question could not go out, or perhaps not whole."""
        with self._guard:
            if self._lost:
                raise Unanswered(self.machine, self._lost, was_asked=False)
            self._asked += 1
            question = Question(self._asked)
            self._questions[question.number] = question
        self.send(Kind.REQUEST, question, request)
        return question

    def send(self, kind: Kind, question: Question, payload: bytes = b"") -> None:
        """Send a message that belongs to a question; Unanswered when the channel is lost."""
        try:
            self._write(kind, question.number, payload)
        except ChannelLost as lost:
            self._lose(str(lost))
            raise Unanswered(self.machine, str(lost), was_asked=True) from lost

    def forget(self, question: Question) -> None:
        """Whatever still comes for it is nobody's."""
        with self._guard:
            self._questions.pop(question.number, None)

    def close(self) -> None:
        """End the channel and with it the agent; questions under way go without an answer."""
        self._lose("the connection was closed")
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=10)

    def _write(self, kind: Kind, number: int, payload: bytes) -> None:
        for frame in packed(kind, number, payload):
            with self._one_frame:
                self._channel.write(frame)

    def _receive(self) -> None:
        try:
            while True:
                frame = self._reader.next()
                if frame is None:
                    self._lose(agent_ended(self._channel.said()))
                    return
                if frame.kind is Kind.BEAT:
                    self._write(Kind.BEAT, 0, b"")
                    continue
                question = self._questions.get(frame.request)
                if question is not None:
                    question.take(frame)
        except (ChannelLost, WireFault) as fault:
            self._lose(str(fault))

    def _lose(self, reason: str) -> None:
        with self._guard:
            self._lost = self._lost or reason
            waiting = list(self._questions.values())
        for question in waiting:
            question.end(self._lost)
        self._channel.close()
