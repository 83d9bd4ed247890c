"""Policy gradients with a baseline: a walker on a line that is to reach a place, in an environment of our own."""

import gradwright as torch
from gradwright import nn


class Line:
    """Places 0 to 10: each step goes left, stays or goes right, and costs the distance to the goal."""

    def __init__(self, walkers: int) -> None:
        self.place = torch.randint(0, 11, (walkers,))
        self.goal = torch.randint(0, 11, (walkers,))

    def seen(self) -> torch.Tensor:
        return torch.stack([self.place, self.goal], dim=1).float() / 10

    def step(self, action: torch.Tensor) -> torch.Tensor:
        self.place = (self.place + action - 1).clamp(0, 10)
        return -(self.place - self.goal).abs().float() / 10


def train(rounds: int = 30, walkers: int = 64, steps: int = 8) -> list[float]:
    """The mean costs of the rounds."""
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 3))
    value = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters()], lr=0.02)
    costs = []
    for _ in range(rounds):
        world = Line(walkers)
        logs, values, rewards = [], [], []
        for _ in range(steps):
            seen = world.seen()
            log_probabilities = policy(seen).log_softmax(dim=1)
            action = torch.multinomial(log_probabilities.detach().exp(), 1).squeeze(1)
            logs.append(log_probabilities.gather(1, action[:, None]).squeeze(1))
            values.append(value(seen).squeeze(1))
            rewards.append(world.step(action))
        returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
        logs, values = torch.stack(logs), torch.stack(values)
        advantage = (returns - values).detach()
        loss = -(logs * advantage).mean() + 0.5 * (returns - values).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        costs.append(-returns[0].mean().item())
    return costs


if __name__ == "__main__":
    print(train())
