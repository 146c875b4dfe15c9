# Image classification with meters and a checkpoint, in the manner of example scripts.
import argparse
import shutil

import torch
import torch.nn as nn
import torchvision.datasets as datasets
import torchvision.models as models
import torchvision.transforms as transforms
from meters import AverageMeter, accuracy

best_acc1 = 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--epochs", default=90, type=int)
    parser.add_argument("--print-freq", default=10, type=int)
    args = parser.parse_args()
    main_worker(args)


def main_worker(args):
    global best_acc1
    device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
    model = models.__dict__["resnet18"]()
    model = model.to(device)
    criterion = nn.CrossEntropyLoss().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=30)
    train_dataset = datasets.ImageFolder(args.data, transforms.ToTensor())
    train_loader = torch.utils.data.DataLoader(train_dataset, batch_size=256, shuffle=True, num_workers=4)
    val_loader = torch.utils.data.DataLoader(train_dataset, batch_size=256, num_workers=4)
    print("norm", next(model.parameters()).norm().item())
    for epoch in range(args.epochs):
        train(train_loader, model, criterion, optimizer, epoch, device, args)
        acc1 = validate(val_loader, model, criterion, device, args)
        scheduler.step()
        best_acc1 = max(acc1, best_acc1)  # stall: HP008 epoch
        save_checkpoint({"epoch": epoch + 1, "state_dict": model.state_dict()}, acc1 > best_acc1)


def train(train_loader, model, criterion, optimizer, epoch, device, args):
    losses = AverageMeter("Loss", ":.4e")
    top1 = AverageMeter("Acc@1", ":6.2f")
    model.train()
    for i, (images, target) in enumerate(train_loader):
        images = images.to(device, non_blocking=True)
        target = target.to(device, non_blocking=True)
        output = model(images)
        loss = criterion(output, target)
        acc1, acc5 = accuracy(output, target, topk=(1, 5))
        losses.update(loss.item(), images.size(0))  # stall: HP001 step
        top1.update(acc1[0], images.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % args.print_freq == 0:
            print(f"epoch {epoch} batch {i} loss {loss}")  # stall: HP009 every-n


def validate(val_loader, model, criterion, device, args):
    top1 = AverageMeter("Acc@1", ":6.2f")
    model.eval()
    correct = 0
    with torch.no_grad():
        for i, (images, target) in enumerate(val_loader):
            images = images.to(device)  # stall: HP015 step
            target = target.to(device)  # stall: HP015 step
            output = model(images)
            correct += output.argmax(dim=1).eq(target).sum().item()  # stall: HP001 step
            acc1, acc5 = accuracy(output, target, topk=(1, 5))
            top1.update(acc1[0], images.size(0))
    print("correct", correct)
    return top1.avg


def save_checkpoint(state, is_best):
    torch.save(state, "checkpoint.pth.tar")  # stall: HP016 epoch
    if is_best:  # stall: HP008 epoch
        shutil.copyfile("checkpoint.pth.tar", "model_best.pth.tar")


if __name__ == "__main__":
    main()
