class Shelf:
    """A shelf of a library: books by title, at most `room` of them."""

    def __init__(self, name, room):
        self.name = name
        self.room = room
        self.books = {}

    def is_full(self):
        return len(self.books) >= self.room

    def put(self, book):
        if self.is_full():
            raise ValueError(f"shelf {self.name} is full")
        self.books[book.title] = book

    def take(self, title):
        return self.books.pop(title)

    def titles(self):
        return sorted(self.books)
