from torch import nn


def make_model():
    return nn.Sequential(nn.BatchNorm1d(49), nn.Linear(49, 64), nn.ReLU(), nn.Linear(64, 10))
