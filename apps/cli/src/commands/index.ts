import type { Command } from '../frame/command';
import { accountCommands } from './vault/accounts';
import { agentCommands } from './agents';
import { alertCommands } from './alerts';
import { batchCommands } from './batch';
import { createCompletionCommand } from './completion';
import { jobCommands } from './jobs';
import { loginCommands } from './login';
import { moneyCommands } from './money';
import { packCommands } from './packs';
import { questionCommands } from './questions';
import { runCommand } from './run';
import { scheduleCommands } from './schedules';
import { secretCommands } from './vault/secrets';
import { webhookCommands } from './webhooks';
import { workerCommands } from './worker';
import { workflowCommands } from './workflows';

/** All commands, in the order in which the help lists them. */
export const commands: readonly Command[] = [
  ...loginCommands,
  runCommand,
  ...jobCommands,
  ...questionCommands,
  ...alertCommands,
  ...batchCommands,
  ...agentCommands,
  ...workflowCommands,
  ...scheduleCommands,
  ...packCommands,
  ...moneyCommands,
  ...secretCommands,
  ...accountCommands,
  ...workerCommands,
  ...webhookCommands,
  createCompletionCommand(() => commands),
];
