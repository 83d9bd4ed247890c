def sin(self):
    return self
