"""The order of a job's samples, written a second time from its description in docs/design/architecture.md: a referee must not
use what it judges."""

MASK = (1 << 64) - 1


def split_mix(state):
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = state
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return state, z ^ (z >> 31)


class RandomStream:
    """xoshiro256**, seeded from the seed and the stream's name."""

    def __init__(self, seed, purpose, key):
        state = seed
        words = [len(purpose), *purpose.encode(), len(key), *key]
        for word in words:
            # The hash is both SplitMix's state and, each time, replaced by its output.
            _, state = split_mix(state ^ word)
        self.state = []
        for _ in range(4):
            state, word = split_mix(state)
            self.state.append(word)

    def bits(self):
        s = self.state
        result = rotate((s[1] * 5) & MASK, 7) * 9 & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result

    def below(self, limit):
        accepted = MASK - (MASK % limit + 1) % limit
        while True:
            draw = self.bits()
            if draw <= accepted:
                return draw % limit


def rotate(x, bits):
    return ((x << bits) | (x >> (64 - bits))) & MASK


def epoch_order(seed, epoch, size):
    stream = RandomStream(seed, "sample order", [epoch])
    order = list(range(size))
    for i in range(size, 1, -1):
        j = stream.below(i)
        order[i - 1], order[j] = order[j], order[i - 1]
    return order
