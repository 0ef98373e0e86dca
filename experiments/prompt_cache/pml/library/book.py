class Book:
    """A book, and who has borrowed it until when."""

    def __init__(self, title, author, pages):
        self.title = title
        self.author = author
        self.pages = pages
        self.reader = None
        self.due = None

    def is_lent(self):
        return self.reader is not None

    def lend(self, reader, due):
        if self.is_lent():
            raise ValueError(f"{self.title} is with {self.reader.name}")
        self.reader = reader
        self.due = due

    def give_back(self):
        self.reader = None
        self.due = None
