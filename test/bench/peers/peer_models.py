"""The models of training_bench.py in PyTorch, as the product's configurations describe them."""

from torch import nn
from torch.nn import functional

SHAPES = {"mlp": (784,), "cnn": (1, 28, 28), "resnet18": (3, 32, 32)}


def make_model(name):
    return {"mlp": mlp, "cnn": cnn, "resnet18": ResNet18}[name]()


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def cnn():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, 10))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        y += self.shortcut(x)
        return functional.relu(y, inplace=True)


class ResNet18(nn.Module):
    """He et al., 2016, for images of 32 x 32: a 3 x 3 stem without pooling. 11.17 million parameters, 44.7 MB."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.stages = nn.Sequential(*(
            nn.Sequential(Block(inputs, outputs, stride), Block(outputs, outputs, 1))
            for inputs, outputs, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2))))
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = self.stages(functional.relu(self.bn1(self.conv1(x)), inplace=True))
        return self.fc(functional.adaptive_avg_pool2d(x, 1).flatten(1))
