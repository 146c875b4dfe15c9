# Proximal policy optimisation in one file, as such scripts are written: no annotation, everything under the main guard.
import argparse
import random
import time

import gym
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical
from torch.utils.tensorboard import SummaryWriter


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--num-envs", type=int, default=4)
    parser.add_argument("--num-steps", type=int, default=128)
    parser.add_argument("--num-iterations", type=int, default=100)
    parser.add_argument("--update-epochs", type=int, default=4)
    parser.add_argument("--minibatch-size", type=int, default=128)
    parser.add_argument("--save-every", type=int, default=20)
    parser.add_argument("--target-kl", type=float, default=None)
    return parser.parse_args()


def layer_init(layer, std=np.sqrt(2), bias=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias)
    return layer


class Agent(nn.Module):
    def __init__(self, envs):
        super().__init__()
        size = np.array(envs.single_observation_space.shape).prod()
        self.critic = nn.Sequential(layer_init(nn.Linear(size, 64)), nn.Tanh(), layer_init(nn.Linear(64, 1)))
        self.actor = nn.Sequential(layer_init(nn.Linear(size, 64)), nn.Tanh(), layer_init(nn.Linear(64, 4)))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        logits = self.actor(x)
        probs = Categorical(logits=logits, validate_args=False)
        if action is None:
            action = probs.sample()  # stall: HP014 step
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


def explained(y_pred, y_true):
    var = np.var(y_true)
    return np.nan if var == 0 else 1 - np.var(y_true - y_pred) / var


if __name__ == "__main__":
    args = parse_args()
    writer = SummaryWriter("runs/ppo")
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    envs = gym.vector.make("CartPole-v1", args.num_envs)
    agent = Agent(envs).to(device)
    print(agent.critic[0].weight.norm().item())
    optimizer = optim.Adam(agent.parameters(), lr=3e-4, eps=1e-5)

    obs = torch.zeros((args.num_steps, args.num_envs) + envs.single_observation_space.shape).to(device)
    actions = torch.zeros((args.num_steps, args.num_envs)).to(device)
    logprobs = torch.zeros((args.num_steps, args.num_envs)).to(device)
    rewards = torch.zeros((args.num_steps, args.num_envs)).to(device)
    dones = torch.zeros((args.num_steps, args.num_envs)).to(device)
    values = torch.zeros((args.num_steps, args.num_envs)).to(device)

    global_step = 0
    start_time = time.time()
    next_obs, _ = envs.reset(seed=args.seed)
    next_obs = torch.Tensor(next_obs).to(device)
    next_done = torch.zeros(args.num_envs).to(device)

    for iteration in range(1, args.num_iterations + 1):
        for step in range(0, args.num_steps):
            global_step += args.num_envs
            obs[step] = next_obs
            dones[step] = next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
                values[step] = value.flatten()
            actions[step] = action
            logprobs[step] = logprob
            next_obs, reward, terminations, truncations, infos = envs.step(action.cpu().numpy())  # stall: HP002 step
            next_done = np.logical_or(terminations, truncations)
            rewards[step] = torch.tensor(reward).to(device).view(-1)  # stall: HP015 step
            next_obs, next_done = torch.Tensor(next_obs).to(device), torch.Tensor(next_done).to(device)  # stall: HP015 step
            if global_step % 1000 == 0:
                print(f"value={value.mean()}")  # stall: HP009 every-n

        with torch.no_grad():
            next_value = agent.get_value(next_obs).reshape(1, -1)
            advantages = torch.zeros_like(rewards).to(device)
            lastgaelam = 0
            for t in reversed(range(args.num_steps)):
                nextnonterminal = 1.0 - next_done
                delta = rewards[t] + 0.99 * next_value * nextnonterminal - values[t]
                advantages[t] = lastgaelam = delta + 0.95 * nextnonterminal * lastgaelam
            returns = advantages + values

        b_obs = obs.reshape((-1,) + envs.single_observation_space.shape)
        b_inds = np.arange(args.num_steps * args.num_envs)
        clipfracs = []
        for epoch in range(args.update_epochs):
            np.random.shuffle(b_inds)
            for start in range(0, len(b_inds), args.minibatch_size):
                mb_inds = b_inds[start : start + args.minibatch_size]
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb_inds], actions.view(-1)[mb_inds])
                logratio = newlogprob - logprobs.view(-1)[mb_inds]
                ratio = logratio.exp()
                with torch.no_grad():
                    approx_kl = ((ratio - 1) - logratio).mean()
                    clipfracs += [((ratio - 1.0).abs() > 0.2).float().mean().item()]  # stall: HP001 step
                pg_loss = torch.max(-ratio, -torch.clamp(ratio, 0.8, 1.2)).mean()
                v_loss = 0.5 * ((newvalue.view(-1) - returns.view(-1)[mb_inds]) ** 2).mean()
                loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
            if args.target_kl is not None and approx_kl > args.target_kl:  # stall: HP008 epoch
                break

        y_pred, y_true = values.cpu().numpy(), returns.cpu().numpy()  # stall: HP002 epoch
        writer.add_scalar("losses/value_loss", v_loss.item(), global_step)
        writer.add_scalar("losses/explained", explained(y_pred, y_true), global_step)
        if iteration % args.save_every == 0:
            torch.save(agent.state_dict(), "agent.pt")

    envs.close()
    print(rewards.sum().item())
