import type { PutAccountBody } from '@muster/sdk';
import type { Command } from '../../frame/command';
import { createUsageError } from '../../frame/failure';
import { formatRelativeTime } from '../../output/words';
import { parseWholeNumber } from '../../parts/numbers';
import { parsePairs } from '../../parts/variables';

const list: Command = {
  words: 'accounts list',
  summary: 'List the accounts (logins at portals that runs borrow) with their status',
  options: { pool: { type: 'string', value: 'POOL', about: 'Only the accounts of this pool' } },
  async runCommand({ text, muster, terminal }) {
    const pool = text('pool');
    terminal.printTable(
      await muster()
        .accounts.list(pool ? { pool } : {})
        .toArray(),
      [
        { title: 'NAME', cell: ({ name }) => name },
        { title: 'POOL', cell: (account) => account.pool },
        { title: 'STATUS', cell: ({ status }) => status },
        { title: 'LIMIT', cell: ({ limit }) => String(limit) },
        {
          title: 'SET ASIDE',
          cell: ({ setAside }) => (setAside ? `${setAside.reason}, ${formatRelativeTime(setAside.since)}` : '-'),
        },
      ],
      'There are no accounts.',
    );
  },
};

const put: Command = {
  words: 'accounts put',
  args: '<name>',
  summary: 'Create or replace an account (admins only)',
  more: 'The values of the account’s secrets are in the vault: save them first with muster secrets set.',
  options: {
    pool: { type: 'string', value: 'POOL', about: 'Pool of the account (required)' },
    secret: {
      type: 'string',
      value: 'NAME=KEY',
      multiple: true,
      about: 'Vault key of a secret, such as password=DD_PASS_1 (required)',
    },
    limit: {
      type: 'string',
      value: 'N',
      about: 'Maximum number of runs that use the account at the same time (default 1)',
    },
    cooldown: {
      type: 'string',
      value: 'SECONDS',
      about: 'Seconds for which no other run gets the account after a run (default 0)',
    },
  },
  async runCommand(call) {
    const { args, terminal } = call;
    const pool = call.text('pool');
    if (!pool) throw createUsageError('--pool is missing. Specify the name of a pool, such as --pool delta-dental.');
    if (call.list('secret').length === 0)
      throw createUsageError('--secret is missing. Specify a vault key, such as --secret password=DD_PASS_1.');
    const body: PutAccountBody = {
      pool,
      vaultKeys: parsePairs(call.list('secret'), 'NAME=KEY'),
      ...(call.text('limit') ? { limit: parseWholeNumber(call.text('limit'), 'limit', 1) } : {}),
      ...(call.text('cooldown') ? { cooldownSeconds: parseWholeNumber(call.text('cooldown'), 'cooldown', 0) } : {}),
    };
    const account = await call.muster().accounts.put(args[0]!, body);
    terminal.printResult(account, `${account.name} is in the pool ${account.pool}: ${account.status}.`);
  },
};

const createEnableCommand = (words: string, enabled: boolean, summary: string): Command => ({
  words: `accounts ${words}`,
  args: '<name>',
  summary,
  async runCommand({ args, muster, terminal }) {
    const account = await muster().accounts.update(args[0]!, { enabled });
    terminal.printResult(account, `${account.name} is ${account.status}.`);
  },
});

const remove: Command = {
  words: 'accounts delete',
  args: '<name>',
  summary: 'Delete an account (admins only). A run that uses the account continues',
  async runCommand({ args, muster, terminal }) {
    await muster().accounts.delete(args[0]!);
    terminal.printResult({ name: args[0] }, `${args[0]} is deleted.`);
  },
};

const uses: Command = {
  words: 'accounts uses',
  args: '<name>',
  summary: 'List the runs that have or had an account, newest first',
  async runCommand({ args, muster, terminal }) {
    terminal.printTable(
      await muster().accounts.uses(args[0]!).toArray(),
      [
        { title: 'RUN', cell: ({ jobId }) => jobId },
        { title: 'AGENT', cell: ({ agentId }) => agentId },
        { title: 'FROM', cell: ({ from }) => from },
        { title: 'TO', cell: ({ to }) => to ?? '-' },
      ],
      'No run has had this account.',
    );
  },
};

export const accountCommands = [
  list,
  put,
  createEnableCommand(
    'enable',
    true,
    'Let runs use an account again, even if a run reported it as unusable (admins only)',
  ),
  createEnableCommand('disable', false, 'Let no further run use an account (admins only)'),
  remove,
  uses,
];
