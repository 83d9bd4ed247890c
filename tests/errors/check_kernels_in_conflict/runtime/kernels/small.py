<<<<<<< HEAD
def sin(self):
=======
def sin(self, other):
>>>>>>> theirs
    return self
