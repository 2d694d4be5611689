import type { Command } from '../frame/command';
import { createUsageError } from '../frame/failure';
import { waitForJobAndPrint } from '../parts/wait-for-job-and-print';
import { findAgentId, isResourceId, findWorkflowId } from '../parts/find';
import { parseTarget, targetOptions } from '../parts/target';
import { parseWholeNumber } from '../parts/numbers';
import { parsePairs, parseVariables } from '../parts/variables';

export const runCommand: Command = {
  words: 'run',
  args: '<workflow>',
  summary: 'Run a workflow on an agent',
  more:
    'With --wait, the log is printed during the run, and the exit code is 0 if the run completes, otherwise 1. ' +
    'The first Ctrl-C cancels the run. The second exits without waiting for it.',
  options: {
    agent: { type: 'string', short: 'a', value: 'AGENT', about: 'Agent to run on; or use --label' },
    ...targetOptions,
    var: { type: 'string', short: 'v', value: 'K=V', multiple: true, about: 'Value of a variable' },
    secret: {
      type: 'string',
      value: 'KEY',
      multiple: true,
      about: 'Key of a vault secret that the script receives as an environment variable',
    },
    wait: { type: 'boolean', short: 'w', about: 'Wait until the run ends' },
    key: {
      type: 'string',
      value: 'KEY',
      multiple: true,
      about: 'Concurrency key; runs with the same key run one at a time',
    },
    account: {
      type: 'string',
      value: 'AS=POOL',
      multiple: true,
      about: 'Pool from which the run borrows an account; the script finds its secrets as AS_USERNAME and so on',
    },
    priority: { type: 'string', value: '0-10', about: 'Priority in the queue; 10 is the highest' },
    retries: { type: 'string', value: 'N', about: 'Maximum number of retries if the run fails' },
    installation: { type: 'string', value: 'ID', about: 'Id of the pack installation to run with' },
  },
  async runCommand(call) {
    const { args, terminal } = call;
    const muster = call.muster();
    const agent = call.text('agent');
    const target = parseTarget(call);
    if (!agent && !target) {
      throw createUsageError(
        '--agent or --label is missing. Specify one of them.',
        'To list the agents, run muster agents list.',
      );
    }
    if (agent && target)
      throw createUsageError('--agent and --label cannot be used together. Specify only one of them.');
    const installation = call.text('installation');
    if (installation && !isResourceId(installation))
      throw createUsageError('--installation must be an id. To list the ids, run muster packs installations.');
    const variables = parseVariables(call.list('var'));
    const secrets = call.list('secret');
    const keys = call.list('key');
    const accounts = call.list('account').flatMap((pair) => Object.entries(parsePairs([pair], 'AS=POOL')));
    const { jobId, status } = await muster.jobs.launch({
      workflowId: await findWorkflowId(muster, args[0]!),
      ...(target ? { target } : { agentId: await findAgentId(muster, agent!) }),
      variables,
      ...(secrets.length ? { vaultKeys: secrets } : {}),
      ...(keys.length ? { concurrencyKeys: keys.map((key) => ({ key })) } : {}),
      ...(accounts.length ? { accounts: accounts.map(([as, pool]) => ({ as, pool })) } : {}),
      ...(call.text('priority') ? { priority: parseWholeNumber(call.text('priority'), 'priority', 0) } : {}),
      ...(call.text('retries') ? { maxRetries: parseWholeNumber(call.text('retries'), 'retries', 0) } : {}),
      ...(installation ? { workflowPackInstallationId: installation } : {}),
    });
    if (!call.flag('wait'))
      return terminal.printResult(
        { jobId, status },
        `${status}: run ${jobId}\nTo wait for its end: muster jobs wait ${jobId}`,
      );
    terminal.printMessage(`run ${jobId}`);
    return waitForJobAndPrint(jobId, { muster, terminal, withLog: true, mayCancel: true });
  },
};
