import type { Command } from '../../frame/command';
import { formatRelativeTime } from '../../output/words';
import { readSecret } from '../../parts/input';

const set: Command = {
  words: 'secrets set',
  args: '<key>',
  summary: 'Save a secret for use by runs',
  more: 'The value is read from stdin, or typed without being displayed.',
  async runCommand({ args, muster, terminal }) {
    const key = args[0]!;
    const secret = await muster().secrets.set(key, await readSecret(terminal, `Value of ${key}: `));
    terminal.printResult(secret, `${key} is saved. To pass it to a run, use muster run … --secret ${key}.`);
  },
};

const list: Command = {
  words: 'secrets list',
  summary: 'List the keys of secrets. The values of secrets are never displayed',
  async runCommand({ muster, terminal }) {
    terminal.printTable(
      await muster().secrets.list().toArray(),
      [
        { title: 'KEY', cell: ({ key }) => key },
        { title: 'CHANGED', cell: ({ updatedAt }) => formatRelativeTime(updatedAt) },
      ],
      'There are no secrets.',
    );
  },
};

const remove: Command = {
  words: 'secrets delete',
  args: '<key>',
  summary: 'Delete a secret',
  async runCommand({ args, muster, terminal }) {
    await muster().secrets.delete(args[0]!);
    terminal.printResult({ key: args[0] }, `${args[0]} is deleted.`);
  },
};

export const secretCommands = [set, list, remove];
