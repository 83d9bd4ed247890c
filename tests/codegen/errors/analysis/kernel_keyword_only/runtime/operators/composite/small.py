def tan(self, scale, a):
    return self * a * scale


def cot(self, b, *rest, **options):
    return self * b
