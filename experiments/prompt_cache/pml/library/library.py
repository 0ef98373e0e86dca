from datetime import timedelta


class Library:
    """Shelves and readers; lends books for three weeks."""

    LOAN = timedelta(weeks=3)

    def __init__(self, shelves):
        self.shelves = {shelf.name: shelf for shelf in shelves}
        self.readers = {}

    def join(self, reader):
        self.readers[reader.name] = reader

    def find(self, title):
        for shelf in self.shelves.values():
            if title in shelf.books:
                return shelf
        return None

    def lend(self, title, name, today):
        reader = self.readers[name]
        shelf = self.find(title)
        if shelf is None or not reader.may_borrow():
            return False
        book = shelf.take(title)
        book.lend(reader, today + self.LOAN)
        reader.books.append(book)
        return True
