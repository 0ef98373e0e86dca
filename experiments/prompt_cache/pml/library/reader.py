class Reader:
    """Somebody with a card: may have `most` books at once and pays for late ones."""

    FINE_PER_DAY = 0.25

    def __init__(self, name, most=5):
        self.name = name
        self.most = most
        self.books = []
        self.fines = 0.0

    def may_borrow(self):
        return len(self.books) < self.most and self.fines == 0.0

    def charge(self, days_late):
        self.fines += max(0, days_late) * self.FINE_PER_DAY

    def pay(self, amount):
        self.fines = max(0.0, self.fines - amount)
