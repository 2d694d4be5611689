import type { Command } from '../frame/command';
import { usageFault } from '../frame/failure';
import { attendJob } from '../parts/attend-job';
import { agentId, isId, workflowId } from '../parts/find';
import { wholeNumber } from '../parts/numbers';
import { variablesOf } from '../parts/variables';

export const runCommand: Command = {
  words: 'run',
  args: '<workflow>',
  summary: 'Runs a workflow on an agent',
  more:
    'With --wait its log is shown as it comes, and the exit code is 1 unless it completes. The first Ctrl-C cancels ' +
    'the run, the second leaves.',
  options: {
    agent: { type: 'string', short: 'a', value: 'AGENT', about: 'on which machine' },
    var: { type: 'string', short: 'v', value: 'K=V', multiple: true, about: 'a variable of the workflow' },
    secret: { type: 'string', value: 'KEY', multiple: true, about: 'the name of a secret that it gets' },
    wait: { type: 'boolean', short: 'w', about: 'stays until it ends' },
    key: {
      type: 'string',
      value: 'KEY',
      multiple: true,
      about: 'a concurrency key: one run at a time holds it, others wait',
    },
    priority: { type: 'string', value: '0-10', about: '10 goes first' },
    retries: { type: 'string', value: 'N', about: 'how often it is tried again when it fails' },
    installation: { type: 'string', value: 'ID', about: 'the installation of a pack that it runs with' },
  },
  async run(call) {
    const { args, terminal } = call;
    const muster = call.muster();
    const agent = call.text('agent');
    if (!agent) throw usageFault('--agent is missing.', 'muster agents list shows those that there are.');
    const installation = call.text('installation');
    if (installation && !isId(installation)) throw usageFault('--installation is an id.');
    const variables = variablesOf(call.list('var'));
    const secrets = call.list('secret');
    const keys = call.list('key');
    const { jobId, status } = await muster.jobs.launch({
      workflowId: await workflowId(muster, args[0]!),
      agentId: await agentId(muster, agent),
      variables,
      ...(secrets.length ? { vaultKeys: secrets } : {}),
      ...(keys.length ? { concurrencyKeys: keys.map((key) => ({ key })) } : {}),
      ...(call.text('priority') ? { priority: wholeNumber(call.text('priority'), 'priority', 0) } : {}),
      ...(call.text('retries') ? { maxRetries: wholeNumber(call.text('retries'), 'retries', 0) } : {}),
      ...(installation ? { workflowPackInstallationId: installation } : {}),
    });
    if (!call.flag('wait'))
      return terminal.show({ jobId, status }, `${status}: run ${jobId}\nmuster jobs wait ${jobId}`);
    terminal.say(`run ${jobId}`);
    return attendJob(jobId, { muster, terminal, withLog: true, mayCancel: true });
  },
};
