import type { Command } from '../frame/command';
import { ago } from '../output/words';
import { readSecret } from '../parts/input';

const set: Command = {
  words: 'secrets set',
  args: '<key>',
  summary: 'Keeps a secret that runs may have; its value comes from stdin, or is typed unseen',
  async run({ args, muster, terminal }) {
    const key = args[0]!;
    const secret = await muster().secrets.set(key, await readSecret(terminal, `Value of ${key}: `));
    terminal.show(secret, `${key} is kept. A run gets it with --secret ${key}.`);
  },
};

const list: Command = {
  words: 'secrets list',
  summary: 'The names of secrets; their values are shown to nobody',
  async run({ muster, terminal }) {
    terminal.table(
      await muster().secrets.list().toArray(),
      [
        { title: 'KEY', of: ({ key }) => key },
        { title: 'CHANGED', of: ({ updatedAt }) => ago(updatedAt) },
      ],
      'There is no secret.',
    );
  },
};

const remove: Command = {
  words: 'secrets delete',
  args: '<key>',
  summary: 'Forgets a secret',
  async run({ args, muster, terminal }) {
    await muster().secrets.delete(args[0]!);
    terminal.show({ key: args[0] }, `${args[0]} is gone.`);
  },
};

export const secretCommands = [set, list, remove];
